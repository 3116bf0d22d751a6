defmodule Bench.Application do
  @moduledoc "Starts the connections to the database and the server."
  use Application

  @impl true
  def start(_type, _arguments) do
    :persistent_term.put(:page, File.read!(System.fetch_env!("PAGE")))
    Supervisor.start_link([Bench.Repo, Bench.Endpoint], strategy: :one_for_one, name: Bench.Supervisor)
  end
end

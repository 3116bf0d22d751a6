defmodule Bench.Endpoint do
  @moduledoc "What happens to each request before it is routed."
  use Phoenix.Endpoint, otp_app: :bench

  plug :server_header
  plug Plug.Head
  plug Bench.Router

  # Bandit adds only `date`.
  defp server_header(conn, _options), do: Plug.Conn.put_resp_header(conn, "server", "Bandit")
end

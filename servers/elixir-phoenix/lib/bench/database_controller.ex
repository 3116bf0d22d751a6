defmodule Bench.DatabaseController do
  @moduledoc "The workloads with a database."
  use Phoenix.Controller, formats: [html: Bench.PageHTML]

  alias Bench.Fortune
  alias Bench.Repo
  alias Bench.World

  @world_rows 10_000
  @most_queries 500

  def db(conn, _params), do: json(conn, shown(random_world()))

  def queries(conn, params) do
    # All statements of a request use one connection.
    worlds = Repo.checkout(fn -> random_worlds(asked(params)) end)
    json(conn, Enum.map(worlds, &shown/1))
  end

  def updates(conn, params) do
    {:ok, worlds} =
      Repo.transaction(fn ->
        # Transactions that lock rows in the same order cannot deadlock.
        params |> asked() |> random_worlds() |> Enum.sort_by(& &1.id) |> Enum.map(&updated/1)
      end)

    json(conn, Enum.map(worlds, &shown/1))
  end

  def fortunes(conn, _params) do
    added = %Fortune{id: 0, message: "Additional fortune added at request time."}
    fortunes = Enum.sort_by([added | Repo.all(Fortune)], & &1.message)

    conn
    |> put_format("html")
    |> put_root_layout(false)
    |> put_layout(false)
    |> render(:fortunes, fortunes: fortunes)
  end

  # 1 if it is missing or not an integer.
  defp asked(%{"queries" => text}) when is_binary(text) do
    case Integer.parse(text) do
      {count, ""} -> count |> max(1) |> min(@most_queries)
      _ -> 1
    end
  end

  defp asked(_params), do: 1

  defp random_number, do: :rand.uniform(@world_rows)

  defp random_world, do: Repo.get!(World, random_number())

  defp random_worlds(count), do: Enum.map(1..count, fn _ -> random_world() end)

  defp updated(world) do
    # A number that happens to be the same is stored too.
    world |> Ecto.Changeset.change() |> Ecto.Changeset.force_change(:randomnumber, random_number()) |> Repo.update!()
  end

  defp shown(world), do: %{id: world.id, randomNumber: world.randomnumber}
end

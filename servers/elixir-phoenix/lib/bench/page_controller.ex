defmodule Bench.PageController do
  @moduledoc "The workloads without a database."
  use Phoenix.Controller, formats: []

  @largest_x 10_000

  def hello(conn, _params), do: text(conn, "Hello World\n")

  def byte(conn, _params), do: text(conn, "x")

  def page(conn, _params), do: text(conn, :persistent_term.get(:page))

  def json_message(conn, _params), do: json(conn, %{message: "Hello, World!"})

  def plaintext(conn, _params), do: text(conn, "Hello, World!")

  def home(conn, _params), do: text(conn, "OK, no problema!")

  def tetra(conn, %{"x" => digits}) do
    with true <- String.match?(digits, ~r/\A[0-9]{1,5}\z/),
         x when x <= @largest_x <- String.to_integer(digits) do
      text(conn, Integer.to_string(Integer.pow(x, x)))
    else
      _ -> conn |> put_status(400) |> text("x must be a whole number from 0 to 10000\n")
    end
  end

  def not_found(conn, _params), do: conn |> put_status(404) |> text("Not Found\n")
end

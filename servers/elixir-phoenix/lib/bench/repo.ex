defmodule Bench.Repo do
  use Ecto.Repo, otp_app: :bench, adapter: Ecto.Adapters.Postgres
end

defmodule Bench.World do
  use Ecto.Schema

  @primary_key {:id, :integer, []}
  schema "world" do
    # PostgreSQL's name of the column is in lower case.
    field :randomnumber, :integer
  end
end

defmodule Bench.Fortune do
  use Ecto.Schema

  @primary_key {:id, :integer, []}
  schema "fortune" do
    field :message, :string
  end
end

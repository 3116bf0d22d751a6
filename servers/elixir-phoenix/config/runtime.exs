import Config

{:ok, address} = "HOST" |> System.fetch_env!() |> String.to_charlist() |> :inet.parse_address()

config :bench, Bench.Endpoint,
  server: true,
  http: [ip: address, port: "PORT" |> System.fetch_env!() |> String.to_integer()],
  url: [host: "localhost"],
  # Nothing here is signed with it.
  secret_key_base: String.duplicate("0", 64)

# A request waits for a connection up to an hour instead of being refused after a moment.
hour = 3_600_000

config :bench, Bench.Repo,
  hostname: System.fetch_env!("DATABASE_HOST"),
  database: "hello_world",
  username: "benchmarkdbuser",
  password: "benchmarkdbpass",
  pool_size: 32,
  queue_target: hour,
  queue_interval: hour

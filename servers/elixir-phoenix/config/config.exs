import Config

config :bench, ecto_repos: [Bench.Repo]

config :bench, Bench.Endpoint,
  adapter: Bandit.PhoenixAdapter,
  render_errors: [formats: [html: Bench.ErrorHTML], layout: false]

config :phoenix, :json_library, Jason

config :logger, level: :warning

defmodule Bench.Router do
  use Phoenix.Router, helpers: false

  scope "/", Bench do
    get "/hello", PageController, :hello
    get "/byte", PageController, :byte
    get "/page", PageController, :page
    get "/json", PageController, :json_message
    get "/plaintext", PageController, :plaintext
    get "/home", PageController, :home
    get "/tetra/:x", PageController, :tetra
    get "/db", DatabaseController, :db
    get "/queries", DatabaseController, :queries
    get "/updates", DatabaseController, :updates
    get "/fortunes", DatabaseController, :fortunes
    match :*, "/*path", PageController, :not_found
  end
end

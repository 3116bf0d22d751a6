defmodule Bench.ErrorHTML do
  @moduledoc "The response to a request that fails: its status in words."

  def render(template, _assigns), do: Phoenix.Controller.status_message_from_template(template)
end

defmodule Bench.PageHTML do
  @moduledoc "The pages, one for each template."
  use Phoenix.Component

  embed_templates "page_html/*"
end

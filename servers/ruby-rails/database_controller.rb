# The database workloads.

class DatabaseController < ActionController::Base
  include ServerAndDate

  WORLD_ROWS = 10_000
  MOST_QUERIES = 500

  prepend_view_path File.join(__dir__, 'views')

  def db
    render json: random_world.as_row
  end

  def queries
    render json: Array.new(queries_asked) { random_world.as_row }
  end

  def updates
    worlds = Array.new(queries_asked) { random_world }
    # Transactions that lock rows in the same order cannot deadlock.
    worlds.sort_by!(&:id)
    World.transaction do
      worlds.each { |world| world.update!(randomNumber: random_number) }
    end
    render json: worlds.map(&:as_row)
  end

  def fortunes
    rows = Fortune.all.to_a
    rows << Fortune.new(id: 0, message: 'Additional fortune added at request time.')
    @fortunes = rows.sort_by(&:message)
    render 'fortunes', layout: false
  end

  private

  def random_world
    World.find(random_number)
  end

  def random_number
    rand(1..WORLD_ROWS)
  end

  # The parameter `queries`: 1 if it is missing or not an integer.
  def queries_asked
    text = params[:queries].to_s
    text.match?(/\A[0-9]+\z/) ? text.to_i.clamp(1, MOST_QUERIES) : 1
  end
end

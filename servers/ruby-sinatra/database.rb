# Rows of the database workloads, from the database that the lab has started.

class Database
  WORLD_ROWS = 10_000
  MOST_QUERIES = 500

  # The libraries' default timeouts for a connection are a few seconds; here a request waits without a practical limit.
  WAIT_S = 3600

  def self.open(connections)
    if ENV.fetch('DATABASE') == 'mongo-java-server'
      require_relative 'document_database'
      DocumentDatabase.new(connections)
    else
      require_relative 'sql_database'
      SqlDatabase.new(connections)
    end
  end

  # The parameter `queries`: 1 if it is missing or not an integer.
  def self.queries_asked(text)
    text.to_s.match?(/\A[0-9]+\z/) ? text.to_i.clamp(1, MOST_QUERIES) : 1
  end

  def random_world
    random_worlds(1).first
  end

  def update_worlds(count)
    worlds = random_worlds(count).each { |world| world[:randomNumber] = random_number }
    # Transactions that lock rows in the same order cannot deadlock.
    worlds.sort_by! { |world| world[:id] }
    store(worlds)
    worlds
  end

  # The rows and the one that is added for each request, sorted by message.
  def fortunes
    rows = stored_fortunes << { id: 0, message: 'Additional fortune added at request time.' }
    rows.sort_by { |row| row[:message] }
  end

  private

  def random_number
    rand(1..WORLD_ROWS)
  end
end

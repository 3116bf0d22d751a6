# The database workloads: PostgreSQL by Sequel. Nothing is connected before the first of their requests.

require 'sequel'

module Database
  WORLD_ROWS = 10_000
  MOST_QUERIES = 500
  # A request waits for a connection without a practical limit.
  WAIT_S = 3600
  # Puma's default number of threads in a process: each uses one connection at most.
  CONNECTIONS = 5

  LOCK = Mutex.new

  class << self
    # The parameter `queries`: 1 if it is missing or not an integer.
    def queries_asked(text)
      text.to_s.match?(/\A[0-9]+\z/) ? text.to_i.clamp(1, MOST_QUERIES) : 1
    end

    def random_world
      random_worlds(1).first
    end

    # The statements of a request follow each other on one connection.
    def random_worlds(count)
      sequel.synchronize { Array.new(count) { @select.call(id: random_number) } }
    end

    def update_worlds(count)
      worlds = random_worlds(count).each { |world| world[:randomNumber] = random_number }
      # Transactions that lock rows in the same order cannot deadlock.
      worlds.sort_by! { |world| world[:id] }
      sequel.transaction { worlds.each { |world| @update.call(id: world[:id], number: world[:randomNumber]) } }
      worlds
    end

    # The rows and the one that is added for each request, sorted by message.
    def fortunes
      rows = sequel[:fortune].select(:id, :message).all
      rows << { id: 0, message: 'Additional fortune added at request time.' }
      rows.sort_by { |row| row[:message] }
    end

    private

    # Each process of a cluster opens its own.
    def sequel
      LOCK.synchronize { @sequel ||= connect }
    end

    def connect
      sequel = Sequel.connect(
        adapter: 'postgres', host: ENV.fetch('DATABASE_HOST'), database: 'hello_world',
        user: 'benchmarkdbuser', password: 'benchmarkdbpass', max_connections: CONNECTIONS, pool_timeout: WAIT_S
      )
      worlds = sequel[:world].where(id: :$id)
      # In PostgreSQL the column's name is in lower case.
      @select = worlds.select(:id, Sequel[:randomnumber].as(:randomNumber)).prepare(:first, :select_world)
      @update = worlds.prepare(:update, :update_world, randomnumber: :$number)
      sequel
    end

    def random_number
      rand(1..WORLD_ROWS)
    end
  end
end

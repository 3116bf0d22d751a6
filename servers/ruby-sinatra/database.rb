# Rows of the database workloads, by Sequel from PostgreSQL or MariaDB.

require 'sequel'

class Database
  WORLD_ROWS = 10_000
  MOST_QUERIES = 500

  # Sequel gives up waiting for a connection after five seconds; here a request waits as long as its client does.
  WAIT_S = 3600

  ADAPTERS = { 'postgresql' => 'postgres', 'mariadb' => 'mysql2' }.freeze

  # Debian's pg frees the interpreter's lock while libpq still reads the name of a statement. A name that is not in the
  # connection's encoding is copied, and the copy may be collected meanwhile: PostgreSQL then got bytes of another string
  # (ruby-pg's issue 738). Names in UTF-8 that are kept need no copy.
  module KeptNames
    NAMES = Hash.new { |names, name| names[name] = name.encode(Encoding::UTF_8).freeze }

    def prepare(name, ...) = super(NAMES[name], ...)

    def exec_prepared(name, ...) = super(NAMES[name], ...)
  end

  # MariaDB's client library words its errors differently from MySQL's, which alone this Sequel takes for a lost connection.
  module LostConnections
    private

    def disconnect_error?(error, options)
      super || error.is_a?(Mysql2::Error::ConnectionError)
    end
  end

  def initialize(connections)
    @sequel = Sequel.connect(
      adapter: ADAPTERS.fetch(ENV.fetch('DATABASE')),
      host: ENV.fetch('DATABASE_HOST'), port: Integer(ENV.fetch('DATABASE_PORT')), database: ENV.fetch('DATABASE_NAME'),
      user: ENV.fetch('DATABASE_USER'), password: ENV.fetch('DATABASE_PASSWORD'),
      max_connections: connections, pool_timeout: WAIT_S,
      after_connect: ->(connection) { connection.extend(KeptNames) if connection.respond_to?(:exec_prepared) }
    )
    @sequel.extend LostConnections if @sequel.database_type == :mysql
    worlds = @sequel[:world].where(id: :$id)
    # PostgreSQL knows the column by its name in lower case.
    @select = worlds.select(:id, Sequel[:randomnumber].as(:randomNumber)).prepare(:first, :select_world)
    @update = worlds.prepare(:update, :update_world, randomnumber: :$number)
    @fortunes = @sequel[:fortune].select(:id, :message).prepare(:select, :select_fortunes)
  end

  # A connection cannot be used by two processes.
  def disconnect
    @sequel.disconnect
  end

  # The parameter `queries`: 1 where it is missing or no whole number.
  def self.queries_asked(text)
    text.to_s.match?(/\A[0-9]+\z/) ? text.to_i.clamp(1, MOST_QUERIES) : 1
  end

  def random_world
    @select.call(id: random_number)
  end

  def random_worlds(count)
    @sequel.synchronize { Array.new(count) { random_world } }
  end

  def update_worlds(count)
    worlds = random_worlds(count).each { |world| world[:randomNumber] = random_number }
    # Transactions that lock rows in one order cannot deadlock.
    worlds.sort_by! { |world| world[:id] }
    @sequel.transaction { worlds.each { |world| @update.call(id: world[:id], number: world[:randomNumber]) } }
    worlds
  end

  # The rows and the one that is added for each request, sorted by message.
  def fortunes
    rows = @fortunes.call
    rows << { id: 0, message: 'Additional fortune added at request time.' }
    rows.sort_by { |row| row[:message] }
  end

  private

  def random_number
    rand(1..WORLD_ROWS)
  end
end

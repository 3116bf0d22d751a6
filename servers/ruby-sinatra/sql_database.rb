# PostgreSQL or MariaDB, by Sequel.

require 'sequel'

class SqlDatabase < Database
  ADAPTERS = { 'postgresql' => 'postgres', 'mariadb' => 'mysql2' }.freeze

  # Debian's pg releases the interpreter's lock while libpq still reads the name of a statement. A name that is not in
  # the connection's encoding is copied, and the copy may be garbage-collected meanwhile: PostgreSQL then received bytes
  # of another string (ruby-pg's issue 738). Names in UTF-8 that are never collected need no copy.
  module KeptNames
    NAMES = Hash.new { |names, name| names[name] = name.encode(Encoding::UTF_8).freeze }

    def prepare(name, ...) = super(NAMES[name], ...)

    def exec_prepared(name, ...) = super(NAMES[name], ...)
  end

  # This version of Sequel recognises a lost connection only by the error messages of MySQL's client library; MariaDB's
  # library has other messages.
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
    # In PostgreSQL the column's name is in lower case.
    @select = worlds.select(:id, Sequel[:randomnumber].as(:randomNumber)).prepare(:first, :select_world)
    @update = worlds.prepare(:update, :update_world, randomnumber: :$number)
    @fortunes = @sequel[:fortune].select(:id, :message).prepare(:select, :select_fortunes)
  end

  # Two processes cannot share a connection.
  def disconnect
    @sequel.disconnect
  end

  def random_worlds(count)
    @sequel.synchronize { Array.new(count) { @select.call(id: random_number) } }
  end

  private

  def store(worlds)
    @sequel.transaction { worlds.each { |world| @update.call(id: world[:id], number: world[:randomNumber]) } }
  end

  def stored_fortunes
    @fortunes.call
  end
end

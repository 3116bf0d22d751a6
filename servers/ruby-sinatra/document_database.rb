# Anything that speaks MongoDB's protocol, by Debian's `mongo`; the client has its own pool.

require 'mongo'

class DocumentDatabase < Database
  WITHOUT_KEY = { projection: { _id: 0 } }.freeze

  def initialize(connections)
    address = "#{ENV.fetch('DATABASE_HOST')}:#{ENV.fetch('DATABASE_PORT')}"
    @client = Mongo::Client.new(
      [address],
      database: ENV.fetch('DATABASE_NAME'), connect: :direct, max_pool_size: connections, wait_queue_timeout: WAIT_S,
      logger: Logger.new($stderr, level: Logger::WARN)
    )
  end

  # Two processes cannot share a connection.
  def disconnect
    @client.close
  end

  def random_worlds(count)
    Array.new(count) { symbols(@client[:world].find({ _id: random_number }, WITHOUT_KEY).first) }
  end

  private

  def store(worlds)
    updates = worlds.map do |world|
      { update_one: { filter: { _id: world[:id] }, update: { '$set' => { randomNumber: world[:randomNumber] } } } }
    end
    @client[:world].bulk_write(updates)
  end

  def stored_fortunes
    @client[:fortune].find({}, WITHOUT_KEY).map { |row| symbols(row) }
  end

  def symbols(document)
    document.to_h.transform_keys(&:to_sym)
  end
end

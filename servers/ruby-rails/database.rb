# The tables, by Active Record.

require 'active_record'

ActiveRecord::Base.logger = nil
ActiveRecord::Base.establish_connection(
  adapter: { 'postgresql' => 'postgresql', 'mariadb' => 'mysql2' }.fetch(ENV.fetch('DATABASE')),
  host: ENV.fetch('DATABASE_HOST'), port: Integer(ENV.fetch('DATABASE_PORT')), database: ENV.fetch('DATABASE_NAME'),
  username: ENV.fetch('DATABASE_USER'), password: ENV.fetch('DATABASE_PASSWORD'), prepared_statements: true,
  pool: [Integer(ENV.fetch('DATABASE_POOL')) / Integer(ENV.fetch('CORES')), 1].max,
  # The default is five seconds; here a request waits without a practical limit.
  checkout_timeout: 3600
)

class World < ActiveRecord::Base
  self.table_name = 'world'
  # In PostgreSQL the column's name is in lower case.
  alias_attribute :randomNumber, :randomnumber if ENV.fetch('DATABASE') == 'postgresql'

  def as_row = { id: id, randomNumber: randomNumber }
end

class Fortune < ActiveRecord::Base
  self.table_name = 'fortune'
end

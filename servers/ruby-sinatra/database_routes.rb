# The routes of the database workloads, an extension of the application.

require 'erb'
require_relative 'database'

module DatabaseRoutes
  module Helpers
    include ERB::Util # `h` escapes HTML

    def json(rows)
      server_and_date
      content_type :json
      JSON.generate(rows)
    end

    def queries
      Database.queries_asked(params['queries'])
    end
  end

  def self.registered(app)
    processes = Integer(ENV.fetch('CORES'))
    app.set :database, Database.open([Integer(ENV.fetch('DATABASE_POOL')) / processes, 1].max)
    app.helpers Helpers

    app.get('/db') { json settings.database.random_world }
    app.get('/queries') { json settings.database.random_worlds(queries) }
    app.get('/updates') { json settings.database.update_worlds(queries) }
    app.get '/fortunes' do
      server_and_date
      content_type :html
      @fortunes = settings.database.fortunes
      erb :fortunes
    end
  end
end

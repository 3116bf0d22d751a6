# How Puma runs the application: one process, or on several cores a cluster, with Rails' default number of threads.

cores = Integer(ENV.fetch('CORES'))
cluster = cores > 1

bind "tcp://#{ENV.fetch('PACELINE_HOST')}:#{ENV.fetch('PACELINE_PORT')}"
environment 'production'
workers(cluster ? cores : 0)
preload_app! if cluster

most_threads = 5
if ENV.key?('DATABASE')
  # A thread uses at most one connection: with fewer threads some connections would never be used.
  most_threads = [most_threads, Integer(ENV.fetch('DATABASE_POOL')) / cores].max
  # Two processes cannot share a connection.
  before_fork { ActiveRecord::Base.connection_pool.disconnect! } if cluster
end
threads most_threads, most_threads

# A client may never finish its request, but the process must end.
force_shutdown_after 2

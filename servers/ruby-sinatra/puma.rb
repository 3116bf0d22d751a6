# How Puma runs the application: one process, or on several cores a cluster, each with Puma's own number of threads.

cores = Integer(ENV.fetch('CORES'))
cluster = cores > 1

bind "tcp://#{ENV.fetch('PACELINE_HOST')}:#{ENV.fetch('PACELINE_PORT')}"
environment 'production'
workers(cluster ? cores : 0)
threads 0, 5
preload_app! if cluster

# A client may never finish its request, and the process must end.
force_shutdown_after 2

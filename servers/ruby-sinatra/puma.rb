# How Puma runs the application: one process, or a cluster of one per core, each with Puma's own number of threads.

bind "tcp://#{ENV.fetch('PACELINE_HOST')}:#{ENV.fetch('PACELINE_PORT')}"
environment 'production'
workers Integer(ENV.fetch('WORKERS'))
threads 0, 5
preload_app!

# A client may never finish its request, and the process must end.
force_shutdown_after 2

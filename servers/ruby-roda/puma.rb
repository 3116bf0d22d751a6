# How Puma runs the application: one process, or on several cores a cluster, with Puma's default number of threads.

cores = Integer(ENV.fetch('CORES'))

bind "tcp://#{ENV.fetch('HOST')}:#{ENV.fetch('PORT')}"
environment 'production'
workers(cores > 1 ? cores : 0)
preload_app! if cores > 1
# A client may never finish its request, but the process must end.
force_shutdown_after 2

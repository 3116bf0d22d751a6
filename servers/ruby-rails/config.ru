require_relative 'app'

App.initialize!
run App

require_relative 'app'

run App.freeze.app

# Answers Paceline's workloads with Rails; puma.rb configures Puma.

require 'action_controller/railtie'
require 'action_view/railtie'
require_relative 'database' if ENV.key?('DATABASE')

class App < Rails::Application
  config.load_defaults 6.1
  config.root = __dir__
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = 'no cookie or token of this server is signed'
  config.logger = Logger.new($stderr)
  config.log_level = :error
  config.hosts.clear
  config.paths['log'] = File::NULL
  # The middlewares of `rails new --api`, without those for files and cookies.
  config.api_only = true

  routes.append do
    scope controller: :workloads do
      %w[hello byte page json plaintext home].each { |name| get name, action: name, format: false }
      get 'tetra/:x', action: :tetra, format: false
    end
    if ENV.key?('DATABASE')
      scope controller: :database do
        %w[db queries updates fortunes].each { |name| get name, action: name, format: false }
      end
    end
  end
end

# TechEmpower's tests require `Server` and `Date`; neither Rails nor Puma sends them.
module ServerAndDate
  extend ActiveSupport::Concern

  included do
    before_action { response.headers.update('Server' => 'Puma', 'Date' => Time.now.httpdate) }
  end
end

class WorkloadsController < ActionController::API
  include ServerAndDate

  LARGEST_X = 10_000
  PAGE = File.read(File.join(ENV.fetch('PACELINE_WORKLOADS'), 'page.txt')).freeze

  def hello = render(plain: "Hello World\n")

  def byte = render(plain: 'x')

  def page = render(plain: PAGE)

  def json = render(json: { message: 'Hello, World!' })

  def plaintext = render(plain: 'Hello, World!')

  def home = render(plain: 'OK, no problema!')

  def tetra
    unless params[:x].match?(/\A[0-9]{1,5}\z/) && params[:x].to_i <= LARGEST_X
      return render(plain: "x must be a whole number from 0 to 10000\n", status: :bad_request)
    end

    x = params[:x].to_i
    render plain: (x**x).to_s
  end
end

require_relative 'database_controller' if ENV.key?('DATABASE')

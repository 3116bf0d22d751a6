-- The database workloads: MariaDB by lua-resty-mysql, which comes with OpenResty. A worker keeps its connections in a
-- pool between requests.

local mysql = require "resty.mysql"
local server = require "server"

local WORLD_ROWS = 10000
local MOST_QUERIES = 500
local POOL = 32
local IDLE_MS = 60000
-- The limit of a wait in milliseconds: an hour.
local WAIT_MS = 3600000

-- OpenResty's sockets ask a name server only, so the file of host names is read here.
local function address_of(name)
  for line in io.lines("/etc/hosts") do
    local address, names = line:match("^%s*([%d.]+)%s+(.+)$")
    if address and (" " .. names:gsub("%s+", " ") .. " "):find(" " .. name .. " ", 1, true) then
      return address
    end
  end
  return "127.0.0.1"
end

local host = address_of("database")
local pool = math.max(1, math.floor(POOL / tonumber(os.getenv("WORKERS") or 1)))

local database = {}

-- Calls `work` with a connection. An error is logged by nginx and answered with 500.
local function with_connection(work)
  local connection = assert(mysql:new())
  connection:set_timeout(WAIT_MS)
  assert(connection:connect {
    host = host, port = 3306, database = "hello_world", user = "benchmarkdbuser", password = "benchmarkdbpass",
    charset = "utf8mb4", pool_size = pool, backlog = 65536,
  })
  local result = work(connection)
  connection:set_keepalive(IDLE_MS, pool)
  return result
end

local function query(connection, statement)
  local rows, problem = connection:query(statement)
  return rows or error(problem)
end

local function random_worlds(connection, count)
  local worlds = {}
  for i = 1, count do
    local id = math.random(WORLD_ROWS)
    worlds[i] = query(connection, "SELECT id, randomNumber FROM world WHERE id = " .. id)[1]
  end
  return worlds
end

-- The parameter `queries`: 1 if it is missing or not an integer.
local function asked()
  local text = ngx.req.get_uri_args().queries
  local count = type(text) == "string" and text:match("^%d+$") and tonumber(text) or 1
  return math.max(1, math.min(count, MOST_QUERIES))
end

function database.db()
  server.json(with_connection(function(connection) return random_worlds(connection, 1)[1] end))
end

function database.queries()
  local count = asked()
  server.json(with_connection(function(connection) return random_worlds(connection, count) end))
end

function database.updates()
  local count = asked()
  local worlds = with_connection(function(connection)
    local worlds = random_worlds(connection, count)
    -- Transactions that lock rows in the same order cannot deadlock.
    table.sort(worlds, function(a, b) return a.id < b.id end)
    query(connection, "BEGIN")
    for _, world in ipairs(worlds) do
      world.randomNumber = math.random(WORLD_ROWS)
      query(connection, "UPDATE world SET randomNumber = " .. world.randomNumber .. " WHERE id = " .. world.id)
    end
    query(connection, "COMMIT")
    return worlds
  end)
  server.json(worlds)
end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local function escaped(text)
  return (text:gsub("[&<>\"']", ENTITIES))
end

function database.fortunes()
  local fortunes = with_connection(function(connection) return query(connection, "SELECT id, message FROM fortune") end)
  table.insert(fortunes, { id = 0, message = "Additional fortune added at request time." })
  table.sort(fortunes, function(a, b) return a.message < b.message end)
  local rows = {}
  for i, fortune in ipairs(fortunes) do
    rows[i] = "<tr><td>" .. fortune.id .. "</td><td>" .. escaped(fortune.message) .. "</td></tr>"
  end
  server.text(
    "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>"
      .. table.concat(rows) .. "</table></body></html>",
    "text/html; charset=utf-8"
  )
end

return database

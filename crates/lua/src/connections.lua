-- Calls `request` and `response` of scripts of `paceline run --lua`, which get the table of a connection.
local connections = {}

local function connection(user)
  local found = connections[user]
  if not found then
    found = {}
    connections[user] = found
  end
  return found
end

-- The text of the next request. Headers of a table are added to those of the command line, or replace them.
function wrk.request_of(user)
  local made = request(connection(user))
  if type(made) ~= "table" then return made end
  local headers = made.headers
  if headers then
    headers = {}
    for name, value in pairs(wrk.headers) do headers[name] = value end
    for name, value in pairs(made.headers) do headers[name] = value end
  end
  return wrk.format(made.method, made.path, headers, made.body)
end

-- The reason why a response is refused, or nothing.
function wrk.refusal_of(user, status, headers, body)
  local passed, reason = response(connection(user), status, headers, body)
  if passed == false then return reason == nil and "response() returned false" or tostring(reason) end
end

-- No address is looked up: connections go where the command line says, unless a script sets another one.
wrk.addrs = {}

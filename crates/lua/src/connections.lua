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

-- How `wrk.format` writes the names of the headers that it sets.
local set = { host = "Host", ["content-length"] = "Content-Length" }

-- Headers of a request added to others, or replacing them: the case of a name does not matter (RFC 9110, section 5.1).
local function merged(others, own)
  local headers, replaced = {}, {}
  for name, value in pairs(own) do
    local lower = tostring(name):lower()
    headers[set[lower] or name], replaced[lower] = value, true
  end
  for name, value in pairs(others) do
    if not replaced[tostring(name):lower()] then headers[name] = value end
  end
  return headers
end

-- The text of the next request. Headers of a table are added to those of the command line, or replace them.
function wrk.request_of(user)
  local made = request(connection(user))
  if type(made) ~= "table" then return made end
  local headers = made.headers and merged(wrk.headers, made.headers)
  return wrk.format(made.method, made.path, headers, made.body)
end

-- The reason why a response is refused, or nothing.
function wrk.refusal_of(user, status, headers, body)
  local passed, reason = response(connection(user), status, headers, body)
  if passed == false then return reason == nil and "response() returned false" or tostring(reason) end
end

-- No address is looked up: connections go where the command line says, unless a script sets another one.
wrk.addrs = {}

-- The table `wrk` of a state, which scripts read and change. The program sets scheme, host, port and path from the URL,
-- headers from the command line, and the functions lookup and connect.
wrk = { scheme = "http", host = "localhost", method = "GET", path = "/", headers = {} }

-- The text of a request. The table of headers is completed in place, as with wrk.
function wrk.format(method, path, headers, body)
  method, path = method or wrk.method, path or wrk.path
  headers, body = headers or wrk.headers, body or wrk.body
  if not headers["Host"] then headers["Host"] = wrk.headers["Host"] end
  headers["Content-Length"] = body and string.len(body)
  local lines, last = { string.format("%s %s HTTP/1.1", method, path) }, 1
  for name, value in pairs(headers) do
    last = last + 1
    lines[last] = string.format("%s: %s", name, value)
  end
  lines[last + 1] = ""
  lines[last + 2] = body or ""
  return table.concat(lines, "\r\n")
end

-- Looks up the addresses of the server, and keeps those that accept connections.
function wrk.resolve(host, service)
  local reachable = {}
  for _, address in ipairs(wrk.lookup(host, service)) do
    if wrk.connect(address) then reachable[#reachable + 1] = address end
  end
  wrk.addrs = reachable
end

-- Called in the first state, once for each thread.
function wrk.setup(thread)
  thread.addr = wrk.addrs[1]
  if type(setup) == "function" then setup(thread) end
end

-- Called in the state of each thread.
function wrk.init(arguments)
  if not wrk.headers["Host"] then
    local host = wrk.host
    if host:find(":", 1, true) then host = "[" .. host .. "]" end
    wrk.headers["Host"] = wrk.port and (host .. ":" .. wrk.port) or host
  end
  if type(init) == "function" then init(arguments) end
  local request = wrk.format()
  wrk.request = function() return request end
end

-- `require "wrk"` gives the same table.
package.loaded["wrk"] = wrk
-- Modules of the distribution, which a compiled-in LuaJIT does not know.
package.path = package.path .. ";/usr/local/share/lua/5.1/?.lua;/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua"

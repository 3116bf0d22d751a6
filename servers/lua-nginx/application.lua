-- Answers Paceline's workloads in nginx's workers. Loaded once, before the workers are forked.

local cjson = require "cjson"
local powers = require "powers"

local LARGEST_X = 10000

local function read(path)
    local file = assert(io.open(path, "rb"))
    local contents = file:read "*a"
    file:close()
    return contents
end

local page = read(os.getenv "PACELINE_WORKLOADS" .. "/page.txt")

-- With a length, since nginx would otherwise send chunks, and close the connection of HTTP/1.0.
local function send(body)
    ngx.header.content_length = #body
    ngx.print(body)
end

local application = {}

function application.hello()
    send "Hello World\n"
end

function application.byte()
    send "x"
end

function application.page()
    send(page)
end

function application.json()
    ngx.header.content_type = "application/json"
    send(cjson.encode { message = "Hello, World!" })
end

function application.plaintext()
    send "Hello, World!"
end

function application.home()
    send "OK, no problema!"
end

function application.tetra()
    local digits = ngx.re.match(ngx.var.uri, [[^/tetra/([0-9]{1,5})\z]], "jo")
    local x = digits and tonumber(digits[1])
    if not x or x > LARGEST_X then
        ngx.status = ngx.HTTP_BAD_REQUEST
        return send "x must be a whole number from 0 to 10000\n"
    end
    send(powers.tetra(x))
end

return application

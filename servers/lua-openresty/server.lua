-- Answers Paceline's workloads; nginx.conf.in has the routes.

local cjson = require "cjson"
local ffi = require "ffi"

ffi.cdef [[
typedef struct { int alloc; int size; void *limbs; } paceline_mpz;
void __gmpz_init(paceline_mpz *);
void __gmpz_clear(paceline_mpz *);
void __gmpz_ui_pow_ui(paceline_mpz *, unsigned long, unsigned long);
size_t __gmpz_sizeinbase(const paceline_mpz *, int);
char *__gmpz_get_str(char *, int, const paceline_mpz *);
]]

-- LuaJIT has no integers of this size.
local gmp = ffi.load("libgmp.so.10")

local LARGEST_X = 10000

local function read(path)
  local file = assert(io.open(path, "rb"))
  local content = file:read("*a")
  file:close()
  return content
end

local page = read("/srv/page.txt")

local server = {}

function server.text(body, kind)
  ngx.header.content_type = kind or "text/plain"
  ngx.header.content_length = #body
  ngx.print(body)
end

function server.json(value)
  server.text(cjson.encode(value), "application/json")
end

function server.page()
  server.text(page)
end

function server.power(x)
  local result = ffi.new("paceline_mpz")
  gmp.__gmpz_init(result)
  gmp.__gmpz_ui_pow_ui(result, x, x)
  -- A place for the sign and one for the end, which are not counted.
  local digits = ffi.new("char[?]", tonumber(gmp.__gmpz_sizeinbase(result, 10)) + 2)
  gmp.__gmpz_get_str(digits, 10, result)
  gmp.__gmpz_clear(result)
  return ffi.string(digits)
end

function server.tetra(digits)
  local x = tonumber(digits)
  if x > LARGEST_X then
    return ngx.exit(ngx.HTTP_BAD_REQUEST)
  end
  server.text(server.power(x))
end

return server

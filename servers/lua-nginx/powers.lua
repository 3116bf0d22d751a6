-- Powers of whole numbers by GMP, called through LuaJIT's foreign function interface.

local ffi = require "ffi"

ffi.cdef [[
typedef struct { int _mp_alloc; int _mp_size; void *_mp_d; } mpz_struct;
void __gmpz_init(mpz_struct *);
void __gmpz_clear(mpz_struct *);
void __gmpz_ui_pow_ui(mpz_struct *, unsigned long base, unsigned long exponent);
size_t __gmpz_sizeinbase(const mpz_struct *, int base);
char *__gmpz_get_str(char *, int base, const mpz_struct *);
]]

local gmp = ffi.load "libgmp.so.10"

-- The decimal digits of `x` to the power `x`.
local function tetra(x)
    local power = ffi.gc(ffi.new "mpz_struct", gmp.__gmpz_clear)
    gmp.__gmpz_init(power)
    gmp.__gmpz_ui_pow_ui(power, x, x)
    -- The size may be one digit too large. A sign and a zero at the end may be added.
    local digits = ffi.new("char[?]", gmp.__gmpz_sizeinbase(power, 10) + 2)
    gmp.__gmpz_get_str(digits, 10, power)
    return ffi.string(digits)
end

return { tetra = tetra }

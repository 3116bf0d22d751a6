## Exact powers of integers in decimal digits. Nim 1.6 has no big integers, so this file implements them in base 10^9.

import std/strutils

const base = 1_000_000_000'u64

type Natural = seq[uint64] ## Its digits in base 10^9, the lowest first; the highest is not zero.

func `*`(a, b: Natural): Natural =
  ## Schoolbook multiplication.
  result.setLen(a.len + b.len)
  for i, digit in a:
    var carry = 0'u64
    for j, other in b:
      let sum = result[i + j] + digit * other + carry # below 2^60
      result[i + j] = sum mod base
      carry = sum div base
    result[i + b.len] = carry
  while result.len > 1 and result[^1] == 0:
    result.setLen(result.len - 1)

func power(number: Natural, exponent: int): Natural =
  ## Repeated squaring: at most two products for each binary digit of `exponent`.
  if exponent == 0:
    return @[1'u64]
  let root = number.power(exponent div 2)
  result = root * root
  if exponent mod 2 == 1:
    result = result * number

func tetration*(x: int): string =
  ## `x` to the power `x`, for an `x` below 10^9.
  let digits = @[x.uint64].power(x)
  result = newStringOfCap(digits.len * 9)
  result.addInt digits[^1].int
  for i in countdown(digits.high - 1, 0):
    result.add align($digits[i], 9, '0')

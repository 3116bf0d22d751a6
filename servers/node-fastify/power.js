// The workload `tetra`: x to the power x.
'use strict';

const LARGEST_X = 10_000;
const WHOLE_NUMBER = /^[0-9]{1,5}$/;
const WRONG_X = 'x must be a whole number from 0 to 10000\n';

// The digits of the power, or nothing if `digits` is not a valid x.
function power(digits) {
  if (!WHOLE_NUMBER.test(digits) || Number(digits) > LARGEST_X) return undefined;
  const x = BigInt(digits);
  return (x ** x).toString();
}

module.exports = { power, WRONG_X };

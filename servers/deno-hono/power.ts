// The workload `tetra`: x to the power x.
const LARGEST_X = 10_000;
const WHOLE_NUMBER = /^[0-9]{1,5}$/;
export const WRONG_X = 'x must be a whole number from 0 to 10000\n';

// The digits of the power, or nothing if `digits` is not a valid x.
export function power(digits: string): string | undefined {
  if (!WHOLE_NUMBER.test(digits) || Number(digits) > LARGEST_X) return undefined;
  const x = BigInt(digits);
  return (x ** x).toString();
}

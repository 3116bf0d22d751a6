"""The workload `tetra`: x to the power x."""

import re
import sys

LARGEST_X = 10_000
WRONG_X = "x must be a whole number from 0 to 10000\n"

# Python refuses to print integers of more than 4,300 digits; the longest here has 40,001.
sys.set_int_max_str_digits(40_001)


def power(digits):
    """The digits of the power, or None if `digits` is not a valid x. `int` alone would also accept "+3" and "1_0"."""
    if not re.fullmatch("[0-9]{1,5}", digits) or int(digits) > LARGEST_X:
        return None
    x = int(digits)
    return str(x**x)

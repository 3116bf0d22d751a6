package main

import (
	"math/big"
	"strconv"
)

const (
	largestX = 10_000
	wrongX   = "x must be a whole number from 0 to 10000\n"
)

type message struct {
	Message string `json:"message"`
}

// power is the workload tetra: x to the power x, if digits are a valid x.
func power(digits string) (answer string, valid bool) {
	// ParseUint accepts only decimal digits: no sign, no underscore, no fraction.
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n > largestX {
		return wrongX, false
	}
	x := new(big.Int).SetUint64(n)
	return x.Exp(x, x, nil).String(), true
}

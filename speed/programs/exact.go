// Prints the digits of x to the power of x: exact X.
package main

import (
	"fmt"
	"math/big"
	"os"
)

func main() {
	x, ok := new(big.Int).SetString(os.Args[1], 10)
	if !ok {
		fmt.Fprintln(os.Stderr, "exact X: X is no whole number:", os.Args[1])
		os.Exit(2)
	}
	fmt.Println(new(big.Int).Exp(x, x, nil))
}

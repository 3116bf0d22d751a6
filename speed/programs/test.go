// The program of source 004, where `_ =` is printed as `result :=`: that does not compile, as it is not used.
package main

import "math"

func main() {
	_ = math.Pow(140, 140)
}

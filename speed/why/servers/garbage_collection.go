// Slow because of garbage collection: a large cache of small objects, a heap that may grow by a twentieth, and garbage
// in every request.
package main

import (
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
)

type entry struct {
	next *entry
	name string
}

var cache []*entry

func main() {
	debug.SetGCPercent(5)
	for number := 0; number < 200_000; number++ {
		name := fmt.Sprint("entry ", number)
		cache = append(cache, &entry{&entry{nil, name}, name})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		var lines []string
		for number := 0; number < 500; number++ {
			lines = append(lines, fmt.Sprint("line ", number, " of ", request.URL.Path))
		}
		fmt.Fprint(response, len(strings.Join(lines, "\n")))
	})))
}

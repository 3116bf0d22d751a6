// Slow because of a log: every request is written to a file and synced to the disk before its response.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	log, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprintln(log, request.RemoteAddr, request.Method, request.URL, request.UserAgent())
		if err := log.Sync(); err != nil {
			panic(err)
		}
		fmt.Fprint(response, "logged")
	})))
}

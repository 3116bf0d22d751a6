// Slow because of a lock: all requests ask a service over one connection, which is locked until the answer has come.
//
// lock PORT, with the port of key_value.py.
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
)

type service struct {
	lock       sync.Mutex
	connection net.Conn
	answers    *bufio.Reader
}

func (service *service) query(key string) string {
	service.lock.Lock()
	defer service.lock.Unlock()
	fmt.Fprintln(service.connection, "GET", key)
	answer, err := service.answers.ReadString('\n')
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	connection, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	shared := service{connection: connection, answers: bufio.NewReader(connection)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprint(response, shared.query(request.URL.Path))
	})))
}

// Command server echoes WebSocket messages with github.com/coder/websocket.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/ws", echo)
	address := func(port string) string { return net.JoinHostPort(os.Getenv("PACELINE_HOST"), os.Getenv(port)) }
	secure := &http.Server{Addr: address("PACELINE_TLS_PORT"), Handler: mux, ReadHeaderTimeout: time.Minute}
	plain := &http.Server{Addr: address("PACELINE_PORT"), Handler: mux, ReadHeaderTimeout: time.Minute}

	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	go func() {
		<-stop.Done()
		// Shutdown does not wait for WebSockets: their connections were taken over, and end with the process.
		plain.Shutdown(context.Background())
	}()

	listener, err := net.Listen("tcp", secure.Addr)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		log.Fatal(secure.ServeTLS(listener, os.Getenv("PACELINE_TLS_CERT"), os.Getenv("PACELINE_TLS_KEY")))
	}()
	if err := plain.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// echo sends each message back as it came, text as text and binary as binary.
func echo(w http.ResponseWriter, r *http.Request) {
	connection, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered.
	}
	defer connection.CloseNow()
	for {
		kind, message, err := connection.Read(r.Context())
		if err != nil {
			return
		}
		if connection.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}

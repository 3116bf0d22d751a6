// Command server answers Paceline's workloads over HTTP/3 with quic-go, and with net/http over TCP.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/quic-go/quic-go/http3"
)

type message struct {
	Message string `json:"message"`
}

func main() {
	page, err := os.ReadFile(filepath.Join(os.Getenv("PACELINE_WORKLOADS"), "page.txt"))
	if err != nil {
		log.Fatal(err)
	}
	identity, err := tls.LoadX509KeyPair(os.Getenv("PACELINE_TLS_CERT"), os.Getenv("PACELINE_TLS_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	certificates := &tls.Config{Certificates: []tls.Certificate{identity}}
	address := func(port string) string { return net.JoinHostPort(os.Getenv("PACELINE_HOST"), os.Getenv(port)) }
	handler := routes(page)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	overQUIC := &http3.Server{Handler: handler, TLSConfig: http3.ConfigureTLSConfig(certificates)}
	secure := &http.Server{Handler: handler, TLSConfig: certificates, Protocols: protocols}
	plain := &http.Server{Addr: address("PACELINE_PORT"), Handler: handler, Protocols: protocols}

	datagrams, err := net.ListenPacket("udp", address("PACELINE_TLS_PORT"))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", address("PACELINE_TLS_PORT"))
	if err != nil {
		log.Fatal(err)
	}
	go overQUIC.Serve(datagrams)
	go secure.ServeTLS(listener, "", "")

	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		<-stop.Done()
		limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		plain.Shutdown(limit)
		overQUIC.Close()
		close(stopped)
	}()
	if err := plain.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-stopped
}

func routes(page []byte) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", text([]byte("Hello World\n")))
	mux.HandleFunc("/byte", text([]byte("x")))
	mux.HandleFunc("/page", text(page))
	mux.HandleFunc("/json", greetInJSON)
	mux.HandleFunc("/plaintext", named(text([]byte("Hello, World!"))))
	mux.HandleFunc("/sse", sse)
	mux.HandleFunc("POST /upload", upload)
	return mux
}

func text(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write(body)
	}
}

// named adds the Server header, which neither library sends.
func named(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "Go")
		handler(w, r)
	}
}

func greetInJSON(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(message{Message: "Hello, World!"})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Server", "Go")
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

// upload reads the body; the answer is its length.
func upload(w http.ResponseWriter, r *http.Request) {
	length, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text([]byte(strconv.FormatInt(length, 10)))(w, r)
}

// sse sends `events` events as a model server sends tokens: the first after `first` milliseconds, the others `gap` apart.
func sse(w http.ResponseWriter, r *http.Request) {
	number := func(name string, otherwise int) int {
		if value, err := strconv.Atoi(r.FormValue(name)); err == nil && value >= 0 {
			return value
		}
		return otherwise
	}
	gap := number("gap", 5)
	pause := number("first", gap)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	events, controller := number("events", 20), http.NewResponseController(w)
	for index := 0; index <= events; index++ {
		controller.Flush()
		select {
		case <-time.After(time.Duration(pause) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
		pause = gap
		if index < events {
			fmt.Fprintf(w, "data: {\"index\":%d,\"tokens\":1}\n\n", index)
		}
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

// Command server answers Paceline's workloads with Go's net/http.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	largestX = 10_000
	million  = 1_000_000
)

type message struct {
	Message string `json:"message"`
}

func main() {
	page, err := os.ReadFile(filepath.Join(os.Getenv("PACELINE_WORKLOADS"), "page.txt"))
	if err != nil {
		log.Fatal(err)
	}
	db, err := openDatabase()
	if err != nil {
		log.Fatal(err)
	}
	handler, err := routes(page, db)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Addr:              net.JoinHostPort(os.Getenv("PACELINE_HOST"), os.Getenv("PACELINE_PORT")),
		Handler:           handler,
		ReadHeaderTimeout: time.Minute,
	}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)

	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		<-stop.Done()
		shutDown(server)
		close(stopped)
	}()

	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-stopped
}

// shutDown lets requests in progress end. A connection that never sent a request counts as active
// for its first five seconds, so the wait has a limit.
func shutDown(server *http.Server) {
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		server.Close()
	}
}

func routes(page []byte, db database) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", text([]byte("Hello World\n")))
	mux.HandleFunc("/byte", text([]byte("x")))
	mux.HandleFunc("/page", text(page))
	mux.HandleFunc("/home", text([]byte("OK, no problema!")))
	mux.HandleFunc("/json", named(greetInJSON))
	mux.HandleFunc("/plaintext", named(text([]byte("Hello, World!"))))
	mux.HandleFunc("/tetra-million", func(w http.ResponseWriter, _ *http.Request) { power(w, million) })
	mux.HandleFunc("/sse", sse)
	mux.HandleFunc("POST /upload", upload)
	mux.HandleFunc("/tetra/", tetra)
	mux.Handle("/tetra", http.NotFoundHandler()) // otherwise the mux redirects it to /tetra/
	if db != nil {
		routeDatabase(mux, db)
	}
	return mux, routeArena(mux)
}

func text(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write(body)
	}
}

// named adds the Server header, which net/http does not send.
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
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

func tetra(w http.ResponseWriter, r *http.Request) {
	// ParseUint accepts only decimal digits: no sign, no underscore, no fraction.
	x, err := strconv.ParseUint(strings.TrimPrefix(r.URL.Path, "/tetra/"), 10, 64)
	if err != nil || x > largestX {
		http.Error(w, "x must be a whole number from 0 to 10000", http.StatusBadRequest)
		return
	}
	power(w, x)
}

func power(w http.ResponseWriter, n uint64) {
	x := new(big.Int).SetUint64(n)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte(x.Exp(x, x, nil).String()))
}

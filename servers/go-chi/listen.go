package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func readPage() []byte {
	page, err := os.ReadFile(filepath.Join(os.Getenv("PACELINE_WORKLOADS"), "page.txt"))
	if err != nil {
		log.Fatal(err)
	}
	return page
}

// listen serves until SIGTERM, by net/http.
func listen(handler http.Handler) {
	server := &http.Server{
		Addr:              net.JoinHostPort(os.Getenv("PACELINE_HOST"), os.Getenv("PACELINE_PORT")),
		Handler:           handler,
		ReadHeaderTimeout: time.Minute,
	}
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

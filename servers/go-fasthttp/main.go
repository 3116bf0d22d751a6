// Command server answers Paceline's workloads with fasthttp.
package main

import (
	"context"
	"encoding/json"
	"log"
	"math/big"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	largestX = 10_000
	million  = 1_000_000
	text     = "text/plain; charset=utf-8"
)

type message struct {
	Message string `json:"message"`
}

func main() {
	page, err := os.ReadFile(filepath.Join(os.Getenv("PACELINE_WORKLOADS"), "page.txt"))
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{
		Handler:     routes(page),
		Name:        "fasthttp",
		ReadTimeout: time.Minute, // also how long an idle connection is kept
	}

	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		<-stop.Done()
		shutDown(server)
		close(stopped)
	}()

	address := net.JoinHostPort(os.Getenv("PACELINE_HOST"), os.Getenv("PACELINE_PORT"))
	if err := server.ListenAndServe(address); err != nil {
		log.Fatal(err)
	}
	<-stopped
}

// shutDown lets requests in progress end; the limit is for clients that do not read their answer.
func shutDown(server *fasthttp.Server) {
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := server.ShutdownWithContext(limit); err != nil {
		log.Print(err)
	}
}

func routes(page []byte) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		switch path := string(ctx.Path()); path {
		case "/hello":
			ctx.SuccessString(text, "Hello World\n")
		case "/byte":
			ctx.SuccessString(text, "x")
		case "/page":
			ctx.Success(text, page)
		case "/json":
			greetInJSON(ctx)
		case "/plaintext":
			ctx.SuccessString(text, "Hello, World!")
		case "/home":
			ctx.SuccessString(text, "OK, no problema!")
		case "/tetra-million":
			power(ctx, million)
		default:
			if digits, found := strings.CutPrefix(path, "/tetra/"); found {
				tetra(ctx, digits)
			} else {
				ctx.Error("Not Found\n", fasthttp.StatusNotFound)
			}
		}
	}
}

func greetInJSON(ctx *fasthttp.RequestCtx) {
	body, err := json.Marshal(message{Message: "Hello, World!"})
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.Success("application/json", body)
}

func tetra(ctx *fasthttp.RequestCtx, digits string) {
	// ParseUint accepts only decimal digits: no sign, no underscore, no fraction.
	x, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || x > largestX {
		ctx.Error("x must be a whole number from 0 to 10000\n", fasthttp.StatusBadRequest)
		return
	}
	power(ctx, x)
}

func power(ctx *fasthttp.RequestCtx, n uint64) {
	x := new(big.Int).SetUint64(n)
	ctx.SuccessString(text, x.Exp(x, x, nil).String())
}

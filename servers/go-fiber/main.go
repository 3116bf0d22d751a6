// Command server answers Paceline's workloads with Fiber.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"
)

func main() {
	page, err := os.ReadFile(filepath.Join(os.Getenv("PACELINE_WORKLOADS"), "page.txt"))
	if err != nil {
		log.Fatal(err)
	}
	db, err := openDatabase()
	if err != nil {
		log.Fatal(err)
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	address := net.JoinHostPort(os.Getenv("PACELINE_HOST"), os.Getenv("PACELINE_PORT"))
	err = routes(string(page), db).Listen(address, fiber.ListenConfig{
		DisableStartupMessage: true,
		GracefulContext:       stop,
		ShutdownTimeout:       2 * time.Second, // the limit is for clients that do not read their answer
	})
	if err != nil {
		log.Fatal(err)
	}
}

func routes(page string, db database) *fiber.App {
	app := fiber.New(fiber.Config{
		ServerHeader: "Fiber",
		// Only the exact paths: neither `/hello/` nor `/HELLO`.
		StrictRouting: true,
		CaseSensitive: true,
		ReadTimeout:   time.Minute, // also how long an idle connection is kept
	})
	app.Use(recover.New())
	app.Get("/hello", text("Hello World\n"))
	app.Get("/byte", text("x"))
	app.Get("/page", text(page))
	app.Get("/json", func(c fiber.Ctx) error { return c.JSON(message{Message: "Hello, World!"}) })
	app.Get("/plaintext", text("Hello, World!"))
	app.Get("/home", text("OK, no problema!"))
	app.Get("/tetra/:x", tetra)
	if db != nil {
		routeDatabase(app, db)
	}
	return app
}

func text(body string) fiber.Handler {
	return func(c fiber.Ctx) error { return c.SendString(body) }
}

func tetra(c fiber.Ctx) error {
	answer, valid := power(c.Params("x"))
	if !valid {
		c.Status(fiber.StatusBadRequest)
	}
	return c.SendString(answer)
}

// Command server answers Paceline's workloads with Echo.
package main

import (
	"log"
	"net/http"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"
)

func main() {
	db, err := openDatabase()
	if err != nil {
		log.Fatal(err)
	}
	listen(routes(string(readPage()), db))
}

func routes(page string, db database) http.Handler {
	e := echo.New()
	e.Use(middleware.Recover())
	e.GET("/hello", text("Hello World\n"))
	e.GET("/byte", text("x"))
	e.GET("/page", text(page))
	e.GET("/home", text("OK, no problema!"))
	e.GET("/tetra/:x", tetra)
	e.GET("/json", func(c *echo.Context) error {
		return c.JSON(http.StatusOK, message{Message: "Hello, World!"})
	}, named)
	e.GET("/plaintext", text("Hello, World!"), named)
	if db != nil {
		e.Renderer = &echo.TemplateRenderer{Template: fortunesPage}
		routeDatabase(e, db)
	}
	return e
}

// named adds the Server header, which TechEmpower's tests require and neither Echo nor net/http sends.
func named(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c *echo.Context) error {
		c.Response().Header().Set("Server", "Echo")
		return next(c)
	}
}

func text(body string) echo.HandlerFunc {
	return func(c *echo.Context) error { return c.String(http.StatusOK, body) }
}

func tetra(c *echo.Context) error {
	answer, valid := power(c.Param("x"))
	if !valid {
		return c.String(http.StatusBadRequest, answer)
	}
	return c.String(http.StatusOK, answer)
}

// Command server answers Paceline's workloads with Gin.
package main

import (
	"log"
	"net/http"

	"github.com/gin-gonic/gin"
)

func main() {
	db, err := openDatabase()
	if err != nil {
		log.Fatal(err)
	}
	listen(routes(string(readPage()), db))
}

func routes(page string, db database) http.Handler {
	r := gin.New()
	r.Use(gin.Recovery())
	r.GET("/hello", text("Hello World\n"))
	r.GET("/byte", text("x"))
	r.GET("/page", text(page))
	r.GET("/home", text("OK, no problema!"))
	r.GET("/tetra/:x", tetra)
	// TechEmpower's tests require a Server header, which neither Gin nor net/http sends.
	named := r.Group("/", func(c *gin.Context) { c.Header("Server", "Gin") })
	named.GET("/json", func(c *gin.Context) { c.JSON(http.StatusOK, message{Message: "Hello, World!"}) })
	named.GET("/plaintext", text("Hello, World!"))
	if db != nil {
		r.SetHTMLTemplate(fortunesPage)
		routeDatabase(named, db)
	}
	return r
}

func text(body string) gin.HandlerFunc {
	return func(c *gin.Context) { c.String(http.StatusOK, body) }
}

func tetra(c *gin.Context) {
	answer, valid := power(c.Param("x"))
	status := http.StatusOK
	if !valid {
		status = http.StatusBadRequest
	}
	c.String(status, answer)
}

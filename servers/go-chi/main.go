// Command server answers Paceline's workloads with Chi.
package main

import (
	"encoding/json"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

func main() {
	db, err := openDatabase()
	if err != nil {
		log.Fatal(err)
	}
	listen(routes(readPage(), db))
}

func routes(page []byte, db database) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.Recoverer)
	r.Use(middleware.GetHead)
	r.Get("/hello", text([]byte("Hello World\n")))
	r.Get("/byte", text([]byte("x")))
	r.Get("/page", text(page))
	r.Get("/home", text([]byte("OK, no problema!")))
	r.Get("/tetra/{x}", tetra)
	r.Group(func(r chi.Router) {
		// TechEmpower's tests require a Server header, which neither Chi nor net/http sends.
		r.Use(middleware.SetHeader("Server", "Chi"))
		r.Get("/json", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, message{Message: "Hello, World!"}) })
		r.Get("/plaintext", text([]byte("Hello, World!")))
		if db != nil {
			routeDatabase(r, db)
		}
	})
	return r
}

func text(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { sendText(w, http.StatusOK, body) }
}

func sendText(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	w.Write(body)
}

func sendJSON(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

func tetra(w http.ResponseWriter, r *http.Request) {
	answer, valid := power(chi.URLParam(r, "x"))
	status := http.StatusOK
	if !valid {
		status = http.StatusBadRequest
	}
	sendText(w, status, []byte(answer))
}

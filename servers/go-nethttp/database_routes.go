package main

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"log"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const mostQueries = 500

var fortunesPage = template.Must(template.New("fortunes").Parse(
	`<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>` +
		`{{range .}}<tr><td>{{.ID}}</td><td>{{.Message}}</td></tr>{{end}}</table></body></html>`))

func routeDatabase(mux *http.ServeMux, db database) {
	mux.HandleFunc("/db", inJSON(func(ctx context.Context, _ int) (any, error) { return db.world(ctx, randomID()) }))
	mux.HandleFunc("/queries", inJSON(func(ctx context.Context, queries int) (any, error) {
		return randomWorlds(ctx, db, queries)
	}))
	mux.HandleFunc("/updates", inJSON(func(ctx context.Context, queries int) (any, error) {
		return updateWorlds(ctx, db, queries)
	}))
	mux.HandleFunc("/fortunes", named(func(w http.ResponseWriter, r *http.Request) { sendFortunes(w, r, db) }))
}

func inJSON(answer func(ctx context.Context, queries int) (any, error)) http.HandlerFunc {
	return named(func(w http.ResponseWriter, r *http.Request) {
		found, err := answer(r.Context(), queriesAsked(r))
		if err != nil {
			fail(w, err)
			return
		}
		body, err := json.Marshal(found)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
}

// queriesAsked is 1 if the parameter is missing or not a number.
func queriesAsked(r *http.Request) int {
	queries, err := strconv.Atoi(r.URL.Query().Get("queries"))
	if err != nil {
		return 1
	}
	return min(max(queries, 1), mostQueries)
}

func randomWorlds(ctx context.Context, db database, count int) ([]world, error) {
	worlds := make([]world, count)
	for i := range worlds {
		var err error
		if worlds[i], err = db.world(ctx, randomID()); err != nil {
			return nil, err
		}
	}
	return worlds, nil
}

func updateWorlds(ctx context.Context, db database, count int) ([]world, error) {
	worlds, err := randomWorlds(ctx, db, count)
	if err != nil {
		return nil, err
	}
	for i := range worlds {
		worlds[i].RandomNumber = randomID()
	}
	// Transactions that lock rows in the same order cannot deadlock.
	slices.SortFunc(worlds, func(a, b world) int { return a.ID - b.ID })
	return worlds, db.store(ctx, worlds)
}

func sendFortunes(w http.ResponseWriter, r *http.Request, db database) {
	fortunes, err := db.fortunes(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	fortunes = append(fortunes, fortune{Message: "Additional fortune added at request time."})
	slices.SortFunc(fortunes, func(a, b fortune) int { return strings.Compare(a.Message, b.Message) })
	var body bytes.Buffer
	if err := fortunesPage.Execute(&body, fortunes); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(body.Bytes())
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	http.Error(w, "the database did not answer as it should", http.StatusInternalServerError)
}

package main

import (
	"bytes"
	"context"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"
)

func routeDatabase(r chi.Router, db database) {
	r.Get("/db", inJSON(func(ctx context.Context, _ int) (any, error) { return db.world(ctx, randomID()) }))
	r.Get("/queries", inJSON(func(ctx context.Context, queries int) (any, error) { return randomWorlds(ctx, db, queries) }))
	r.Get("/updates", inJSON(func(ctx context.Context, queries int) (any, error) { return updateWorlds(ctx, db, queries) }))
	r.Get("/fortunes", func(w http.ResponseWriter, r *http.Request) { sendFortunes(w, r, db) })
}

func inJSON(answer func(ctx context.Context, queries int) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, err := answer(r.Context(), queriesAsked(r.URL.Query().Get("queries")))
		if err != nil {
			fail(w, err)
			return
		}
		sendJSON(w, found)
	}
}

func sendFortunes(w http.ResponseWriter, r *http.Request, db database) {
	fortunes, err := sortedFortunes(r.Context(), db)
	if err != nil {
		fail(w, err)
		return
	}
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

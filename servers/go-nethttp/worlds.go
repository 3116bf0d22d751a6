package main

import (
	"context"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

const mostQueries = 500

var fortunesPage = template.Must(template.New("fortunes").Parse(
	`<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>` +
		`{{range .}}<tr><td>{{.ID}}</td><td>{{.Message}}</td></tr>{{end}}</table></body></html>`))

// queriesAsked is the parameter `queries`: 1 if it is missing or not a number.
func queriesAsked(text string) int {
	queries, err := strconv.Atoi(text)
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

// sortedFortunes are the rows and the one that is added for each request, sorted by message.
func sortedFortunes(ctx context.Context, db database) ([]fortune, error) {
	fortunes, err := db.fortunes(ctx)
	if err != nil {
		return nil, err
	}
	fortunes = append(fortunes, fortune{Message: "Additional fortune added at request time."})
	slices.SortFunc(fortunes, func(a, b fortune) int { return strings.Compare(a.Message, b.Message) })
	return fortunes, nil
}

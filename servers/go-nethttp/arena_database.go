package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	itemColumns = "id, name, category, price, quantity, active, tags, rating_score, rating_count"
	mostItems   = 50
	// keptFor is HttpArena's rule for a cached item.
	keptFor = 200 * time.Millisecond
)

var errNoItem = errors.New("no such item")

// arena is HttpArena's database, with the items that were read last.
type arena struct {
	pool  *pgxpool.Pool
	cache sync.Map // of id to keptItem
}

type keptItem struct {
	body  []byte
	until time.Time
}

// itemChange is the body of a create or an update.
type itemChange struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Category string `json:"category,omitempty"`
	Price    int    `json:"price"`
	Quantity int    `json:"quantity"`
}

// routeArenaDatabase adds the profiles that need HttpArena's database, which is beside TechEmpower's in PostgreSQL.
func routeArenaDatabase(mux *http.ServeMux) error {
	if os.Getenv("DATABASE") != "postgresql" {
		return nil
	}
	config, err := pgxpool.ParseConfig(fmt.Sprintf("postgres://bench:bench@%s/benchmark?sslmode=disable&pool_max_conns=%s",
		databaseAddress(), os.Getenv("DATABASE_POOL")))
	if err != nil {
		return err
	}
	a := &arena{}
	if a.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		return err
	}
	mux.HandleFunc("GET /async-db", a.itemsByPrice)
	mux.HandleFunc("GET /crud/items", a.itemsByCategory)
	mux.HandleFunc("POST /crud/items", a.createItem)
	mux.HandleFunc("GET /crud/items/{id}", a.readItem)
	mux.HandleFunc("PUT /crud/items/{id}", a.updateItem)
	return nil
}

func (a *arena) itemsByPrice(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit := min(max(numberOr(query.Get("limit"), mostItems), 1), mostItems)
	items, err := a.items(r.Context(), "SELECT "+itemColumns+" FROM items WHERE price BETWEEN $1 AND $2 LIMIT $3",
		numberOr(query.Get("min"), 10), numberOr(query.Get("max"), 50), limit)
	sendJSON(w, http.StatusOK, map[string]any{"items": items, "count": len(items)}, err)
}

func (a *arena) itemsByCategory(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	category := query.Get("category")
	if category == "" {
		category = "electronics"
	}
	page := max(numberOr(query.Get("page"), 1), 1)
	limit := min(max(numberOr(query.Get("limit"), 10), 1), mostItems)
	items, err := a.items(r.Context(), "SELECT "+itemColumns+" FROM items WHERE category = $1 ORDER BY id LIMIT $2 OFFSET $3",
		category, limit, (page-1)*limit)
	sendJSON(w, http.StatusOK, map[string]any{"items": items, "total": len(items), "page": page, "limit": limit}, err)
}

// readItem answers from the cache while it has the item.
func (a *arena) readItem(w http.ResponseWriter, r *http.Request) {
	id, err := itemID(r)
	if err != nil {
		sendJSON(w, 0, nil, err)
		return
	}
	w.Header().Set("X-Cache", "HIT")
	if kept, ok := a.cache.Load(id); ok && time.Now().Before(kept.(keptItem).until) {
		writeJSON(w, http.StatusOK, kept.(keptItem).body)
		return
	}
	w.Header().Set("X-Cache", "MISS")
	items, err := a.items(r.Context(), "SELECT "+itemColumns+" FROM items WHERE id = $1", id)
	if err == nil && len(items) == 0 {
		err = errNoItem
	}
	if err != nil {
		sendJSON(w, 0, nil, err)
		return
	}
	body, err := json.Marshal(items[0])
	if err != nil {
		sendJSON(w, 0, nil, err)
		return
	}
	a.cache.Store(id, keptItem{body, time.Now().Add(keptFor)})
	writeJSON(w, http.StatusOK, body)
}

// createItem replaces the item if it is there.
func (a *arena) createItem(w http.ResponseWriter, r *http.Request) {
	var change itemChange
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
		http.Error(w, "the body must be an item", http.StatusBadRequest)
		return
	}
	_, err := a.pool.Exec(r.Context(), "INSERT INTO items ("+itemColumns+") VALUES ($1, $2, $3, $4, $5, true, '[]', 0, 0) "+
		"ON CONFLICT (id) DO UPDATE SET name = $2, category = $3, price = $4, quantity = $5",
		change.ID, change.Name, change.Category, change.Price, change.Quantity)
	a.cache.Delete(change.ID)
	sendJSON(w, http.StatusCreated, change, err)
}

func (a *arena) updateItem(w http.ResponseWriter, r *http.Request) {
	id, err := itemID(r)
	if err != nil {
		sendJSON(w, 0, nil, err)
		return
	}
	var change itemChange
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
		http.Error(w, "the body must be an item", http.StatusBadRequest)
		return
	}
	change.ID = id
	done, err := a.pool.Exec(r.Context(), "UPDATE items SET name = $2, price = $3, quantity = $4 WHERE id = $1",
		id, change.Name, change.Price, change.Quantity)
	if err == nil && done.RowsAffected() == 0 {
		err = errNoItem
	}
	a.cache.Delete(id)
	sendJSON(w, http.StatusOK, change, err)
}

func (a *arena) items(ctx context.Context, query string, arguments ...any) ([]item, error) {
	rows, err := a.pool.Query(ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (i item, err error) {
		err = row.Scan(&i.ID, &i.Name, &i.Category, &i.Price, &i.Quantity, &i.Active, &i.Tags, &i.Rating.Score, &i.Rating.Count)
		return i, err
	})
}

// itemID is the id in the path; the database has 32 bits for it.
func itemID(r *http.Request) (int, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 32)
	if err != nil {
		return 0, errNoItem
	}
	return int(id), nil
}

func numberOr(text string, other int) int {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return other
	}
	return int(number)
}

func sendJSON(w http.ResponseWriter, status int, value any, err error) {
	if errors.Is(err, errNoItem) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	body, err := json.Marshal(value)
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, status, body)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// item is a row of HttpArena's data, as read.
type item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Price    int      `json:"price"`
	Quantity int      `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Rating   struct {
		Score int `json:"score"`
		Count int `json:"count"`
	} `json:"rating"`
}

// pricedItem is a row as answered.
type pricedItem struct {
	item
	Total int `json:"total"`
}

type itemList struct {
	Items []pricedItem `json:"items"`
	Count int          `json:"count"`
}

func routeArena(mux *http.ServeMux) error {
	text, err := os.ReadFile(filepath.Join(os.Getenv("PACELINE_WORKLOADS"), "arena-items.json"))
	if err != nil {
		return err
	}
	var items []item
	if err := json.Unmarshal(text, &items); err != nil {
		return err
	}
	mux.HandleFunc("/pipeline", answer("ok"))
	mux.HandleFunc("/baseline11", sum)
	mux.HandleFunc("/json/{count}", func(w http.ResponseWriter, r *http.Request) { listItems(w, r, items) })
	mux.Handle("/static/", http.StripPrefix("/static", staticFiles(http.Dir(os.Getenv("PACELINE_STATIC")))))
	return routeArenaDatabase(mux)
}

func answer(body string) http.HandlerFunc { return text([]byte(body)) }

// sum adds the numbers of the query and of the body.
func sum(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	query := r.URL.Query()
	numbers := []string{query.Get("a"), query.Get("b")}
	if len(body) > 0 {
		numbers = append(numbers, strings.TrimSpace(string(body)))
	}
	total := 0
	for _, number := range numbers {
		value, err := strconv.Atoi(number)
		if err != nil {
			http.Error(w, "a, b and the body must be integers", http.StatusBadRequest)
			return
		}
		total += value
	}
	answer(strconv.Itoa(total))(w, r)
}

func listItems(w http.ResponseWriter, r *http.Request, items []item) {
	count, err := strconv.Atoi(r.PathValue("count"))
	factor, factorErr := strconv.Atoi(r.URL.Query().Get("m"))
	if err != nil || factorErr != nil || count < 0 || count > len(items) {
		http.Error(w, "count and m must be integers, count at most 50", http.StatusBadRequest)
		return
	}
	list := itemList{Items: make([]pricedItem, count), Count: count}
	for i, item := range items[:count] {
		list.Items[i] = pricedItem{item, item.Price * item.Quantity * factor}
	}
	body, err := json.Marshal(list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	writePacked(w, r, body)
}

package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// upload reads the body; the answer is its length.
func upload(w http.ResponseWriter, r *http.Request) {
	length, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text([]byte(strconv.FormatInt(length, 10)))(w, r)
}

// sse sends `events` events as a model server sends tokens: the first after `first` milliseconds, the others `gap` apart.
func sse(w http.ResponseWriter, r *http.Request) {
	number := func(name string, otherwise int) int {
		if value, err := strconv.Atoi(r.FormValue(name)); err == nil && value >= 0 {
			return value
		}
		return otherwise
	}
	gap := number("gap", 5)
	pause := number("first", gap)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	events, controller := number("events", 20), http.NewResponseController(w)
	for index := 0; index <= events; index++ {
		controller.Flush()
		select {
		case <-time.After(time.Duration(pause) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
		pause = gap
		if index < events {
			fmt.Fprintf(w, "data: {\"index\":%d,\"tokens\":1}\n\n", index)
		}
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

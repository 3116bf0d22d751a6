package main

import (
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

var packers = sync.Pool{New: func() any {
	packer, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	return packer
}}

// writePacked writes a body that was made for this request, compressed if the client accepts that.
func writePacked(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		w.Write(body)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	packer := packers.Get().(*gzip.Writer)
	defer packers.Put(packer)
	packer.Reset(w)
	packer.Write(body)
	packer.Close()
}

// staticFiles serves a folder, and of a text the compressed copy beside it if the client accepts that.
func staticFiles(folder http.Dir) http.Handler {
	plain := http.FileServer(folder)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			if packed, err := folder.Open(r.URL.Path + ".gz"); err == nil {
				defer packed.Close()
				servePacked(w, r, packed)
				return
			}
		}
		plain.ServeHTTP(w, r)
	})
}

func servePacked(w http.ResponseWriter, r *http.Request, packed http.File) {
	about, err := packed.Stat()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(r.URL.Path)))
	w.Header().Set("Content-Encoding", "gzip")
	http.ServeContent(w, r, r.URL.Path, about.ModTime(), packed)
}

func acceptsGzip(r *http.Request) bool {
	for _, item := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(item, ";")
		if strings.TrimSpace(coding) == "gzip" {
			return strings.TrimSpace(quality) != "q=0"
		}
	}
	return false
}

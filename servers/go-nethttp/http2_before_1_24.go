//go:build !go1.24

package main

import "net/http"

// enableHTTP2 does nothing: net/http speaks HTTP/2 over TLS alone.
func enableHTTP2(*http.Server) {}

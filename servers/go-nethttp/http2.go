//go:build go1.24

package main

import "net/http"

// enableHTTP2 adds HTTP/2 with prior knowledge to HTTP/1.1, which net/http can do since Go 1.24.
func enableHTTP2(server *http.Server) {
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
}

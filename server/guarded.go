package server

import (
	"net/http"
	"time"

	"rogito.dev/rogito/server/internal/fetch"
)

// GuardedClient returns the client by which the server and the commands reach
// addresses that strangers chose: those in certificates and documents. It
// dials no private address but those listed (HOST or HOST:PORT), and follows
// no redirect.
func GuardedClient(allowPrivate []string, timeout time.Duration) (*http.Client, error) {
	g, err := fetch.New(fetch.Config{AllowPrivate: allowPrivate})
	if err != nil {
		return nil, err
	}
	return g.Client(timeout), nil
}

package network

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// CORSConfig says whose pages may call the API from a browser.
type CORSConfig struct {
	Origins []string `yaml:"origins" doc:"origins whose pages may call the API from a browser with a token, e.g. https://app.example.org; *: any; empty: none"`
}

// Check finds what is no origin.
func (c CORSConfig) Check() error {
	for _, o := range c.Origins {
		u, err := url.Parse(o)
		if o != "*" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != o) {
			return fmt.Errorf("cors.origins: %q is not an origin such as https://app.example.org, nor *", o)
		}
	}
	return nil
}

// What a page of another origin may send and read (Fetch, 3.2). Cookies are not
// among it: pages of others act with a token, never as the person logged in here.
const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	corsRequest = "Authorization, Content-Type, Accept-Language, Idempotency-Key, If-None-Match, Prefer, Range, X-Request-Id"
	corsAnswer  = "X-Request-Id, X-Quota-Remaining, Idempotent-Replayed, Retry-After, Content-Disposition, ETag, Location"
	corsMaxAge  = "600"
)

// AllowOrigins lets pages of some origins call the handler. Without any it is the
// handler itself.
func AllowOrigins(c CORSConfig, h http.Handler) http.Handler {
	if len(c.Origins) == 0 {
		return h
	}
	all := slices.Contains(c.Origins, "*")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !all && !slices.Contains(c.Origins, strings.ToLower(origin)) {
			h.ServeHTTP(w, r)
			return
		}
		head := w.Header()
		head.Set("Access-Control-Allow-Origin", origin)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			head.Set("Access-Control-Expose-Headers", corsAnswer)
			h.ServeHTTP(w, r)
			return
		}
		head.Set("Access-Control-Allow-Methods", corsMethods)
		head.Set("Access-Control-Allow-Headers", corsRequest)
		head.Set("Access-Control-Max-Age", corsMaxAge)
		w.WriteHeader(http.StatusNoContent)
	})
}

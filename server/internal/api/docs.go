package api

import (
	"fmt"
	"net/http"
)

// pagePolicy lets a page use what the server itself serves and nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// registerDocs serves the OpenAPI document and the pages about it. They load
// nothing from elsewhere.
func (a *API) registerDocs() {
	a.Mount("/openapi.json", a.spell("application/json", func(d *description) []byte { return d.json }))
	a.Mount("/openapi.yaml", a.spell("application/yaml", func(d *description) []byte { return d.yaml }))
	a.Mount("/openapi-3.0.json", a.spell("application/json", func(d *description) []byte { return d.json30 }))
	a.Mount("/docs", http.HandlerFunc(a.docsStart))
	a.Mount("/docs/", http.RedirectHandler("/docs", http.StatusMovedPermanently))
	a.Mount("/docs/reference", http.RedirectHandler("/docs#operations", http.StatusMovedPermanently))
	a.Mount("/docs/reference/*", http.HandlerFunc(a.docsOperation))
	a.Mount("/docs/errors", http.HandlerFunc(a.docsErrors))
}

func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

func page(mediaType, text string) http.Handler {
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		fmt.Fprint(w, text)
	}))
}

func (a *API) spell(mediaType string, form func(*description) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := a.described()
		if d.err != nil {
			a.fail(w, r, d.err)
			return
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cache-Control", "no-cache") // a sandbox's examples have a code of the moment
		w.Write(a.fill(form(d)))
	})
}

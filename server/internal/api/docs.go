package api

import (
	"fmt"
	"net/http"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

// pagePolicy lets a page use what the server itself serves and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const referencePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rogito: the reference of the API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
<p class="back"><a href="/docs">← Start, and the operations in order</a> · <a href="/docs/errors">Error codes</a> · <a href="/">Rogito</a></p>
<div id="reference"></div>
<noscript>The document this page shows is at <a href="/openapi.yaml">/openapi.yaml</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const docsScript = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  filter: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout"
});
`

// referenceStyle gives the reference a way back, and the colours of a dark screen.
const referenceStyle = `.back { font: 16px/1.5 system-ui, sans-serif; margin: 0; padding: .75rem 1.25rem; background: #f5f7f9; }
.back a { color: #124b8c; }
@media (prefers-color-scheme: dark) {
  html { background: #16191d; }
  .swagger-ui, .back { filter: invert(.9) hue-rotate(180deg); }
  .swagger-ui .microlight, .swagger-ui .highlight-code { filter: invert(1) hue-rotate(180deg); }
}
`

// registerDocs serves the OpenAPI document and the pages about it. They load
// nothing from elsewhere.
func (a *API) registerDocs() {
	a.Mount("/openapi.json", a.spell("application/json", func(d *description) []byte { return d.json }))
	a.Mount("/openapi.yaml", a.spell("application/yaml", func(d *description) []byte { return d.yaml }))
	a.Mount("/openapi-3.0.json", a.spell("application/json", func(d *description) []byte { return d.json30 }))
	assets := v5emb.NewHandlerWithConfig(swgui.Config{Title: "Rogito", SwaggerJSON: "/openapi.json", BasePath: "/docs/"})
	a.Mount("/docs", http.HandlerFunc(a.docsStart))
	a.Mount("/docs/", http.RedirectHandler("/docs", http.StatusMovedPermanently))
	a.Mount("/docs/reference", page("text/html; charset=utf-8", referencePage))
	a.Mount("/docs/reference.css", page("text/css; charset=utf-8", referenceStyle))
	a.Mount("/docs/start.js", page("text/javascript; charset=utf-8", docsScript))
	a.Mount("/docs/errors", http.HandlerFunc(a.docsErrors))
	a.Mount("/docs/*", guarded(assets))
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

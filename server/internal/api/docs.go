package api

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"rogito.dev/rogito/server/internal/fault"
)

// pagePolicy lets a page use what the server itself serves and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const docsPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rogito: the API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
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
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout"
});
`

var errorsPage = template.Must(template.New("errors").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Rogito: error codes</title>
<link rel="stylesheet" href="/pages/style.css"></head>
<body><main><h1>Error codes</h1>
<div class="scroll" tabindex="0"><table class="list"><thead><tr><th scope="col">code</th><th scope="col">HTTP</th><th scope="col">meaning</th></tr></thead><tbody>
{{range .}}<tr id="{{.Code}}"><td>{{.Code}}</td><td>{{if .Status}}{{.Status}}{{else}}in a record{{end}}</td><td>{{.Meaning}}</td></tr>
{{end}}</tbody></table></div></main></body></html>
`))

// registerDocs serves the OpenAPI document and the pages about it. They load
// nothing from elsewhere.
func (a *API) registerDocs() {
	a.Mount("/openapi.json", a.spell("application/json", func(d *description) []byte { return d.json }))
	a.Mount("/openapi.yaml", a.spell("application/yaml", func(d *description) []byte { return d.yaml }))
	a.Mount("/openapi-3.0.json", a.spell("application/json", func(d *description) []byte { return d.json30 }))
	assets := v5emb.NewHandlerWithConfig(swgui.Config{Title: "Rogito", SwaggerJSON: "/openapi.json", BasePath: "/docs/"})
	a.Mount("/docs", page("text/html; charset=utf-8", docsPage))
	a.Mount("/docs/", http.RedirectHandler("/docs", http.StatusMovedPermanently))
	a.Mount("/docs/start.js", page("text/javascript; charset=utf-8", docsScript))
	var b strings.Builder
	if err := errorsPage.Execute(&b, fault.Table); err != nil {
		panic(err) // the template and its data are both constants
	}
	a.Mount("/docs/errors", page("text/html; charset=utf-8", b.String()))
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

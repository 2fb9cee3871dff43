package api

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/fault"
)

// docsTop is what the pages about the API have in common.
const docsTop = `{{define "top"}}<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>{{.}} · Rogito</title>
<link rel="icon" href="/pages/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/pages/style.css"></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header class="site"><div class="bar"><a class="brand" href="/">Rogito</a><nav aria-label="About the API"><ul>
<li><a href="/docs">Start</a></li><li><a href="/docs#operations">Operations</a></li><li><a href="/docs/errors">Errors</a></li><li><a href="/openapi.json">OpenAPI</a></li></ul></nav></div></header>
<main id="main" tabindex="-1">{{end}}`

var startPage = template.Must(template.New("start").Funcs(template.FuncMap{"code": codes}).Parse(docsTop + `{{template "top" "The API"}}
<h1>The API</h1>
<p>Sign, verify and ask others to sign, over HTTP. Every answer is <code>{"data", "success", "message", "error"}</code>; a call has <code>Authorization: Bearer TOKEN</code>.</p>
<h2>Three calls</h2>
{{if .Sandbox}}<p>This is a sandbox: <code>eval "$(rogito sandbox)"</code> puts its token and its test certificate into a shell.</p>{{else}}<p><code>TOKEN</code> is one of yours, <code>USERNAME</code> and <code>PASSWORD</code> are those of a certificate.</p>{{end}}
<div class="scroll" tabindex="0" role="region" aria-label="Sign, download, verify"><pre><code># sign
curl {{.URL}}/EU-QES_automatic -H "Authorization: Bearer $TOKEN" -F inputDocuments=@contract.pdf -F certificateUsername=$USERNAME -F certificatePassword=$PASSWORD
# download: ID is data.id of the answer
curl {{.URL}}/signatures/$ID/signedDocument -H "Authorization: Bearer $TOKEN" -o signed.pdf
# verify
curl {{.URL}}/verify -H "Authorization: Bearer $TOKEN" -F inputDocument=@signed.pdf</code></pre></div>
<p>A record may end in <code>ERROR</code> with HTTP 200: look at <code>data.state</code>. What a call does not know it names in the header <code>X-Ignored</code>. A call that is repeated with the same <code>Idempotency-Key</code> does nothing twice.</p>
<h2 id="operations">The operations</h2>
{{range .Groups}}<section id="{{.Name}}"><h3>{{.Name}}</h3><p>{{code .Text}}</p>
<div class="scroll" tabindex="0" role="region" aria-label="{{.Name}}"><table class="list"><thead><tr><th scope="col">Call</th><th scope="col">What it does</th></tr></thead><tbody>{{range .Ops}}
<tr><td><code>{{.Method}} {{.Path}}</code></td><td><a href="/docs/reference/{{.ID}}">{{.Summary}}</a></td></tr>{{end}}</tbody></table></div></section>
{{end}}<h2>For generators</h2>
<p>The document is at <a href="/openapi.json">/openapi.json</a> and <a href="/openapi.yaml">/openapi.yaml</a> (3.1), and at <a href="/openapi-3.0.json">/openapi-3.0.json</a> for older generators.</p>
</main></body></html>
`))

var errorsPage = template.Must(template.New("errors").Funcs(template.FuncMap{"cure": fault.Cure, "code": codes}).Parse(docsTop + `{{template "top" "Error codes"}}
<h1>Error codes</h1>
<p><code>error</code> of a failed call is one of these numbers; <code>message</code> names the problem and the field. Those in a record are the <code>errorNumber</code> of a signature that ended in ERROR.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Error codes"><table class="list"><thead><tr><th scope="col">Code</th><th scope="col">HTTP</th><th scope="col">Meaning</th><th scope="col">Cause</th><th scope="col">Cure</th></tr></thead><tbody>
{{range .}}{{$a := cure .Code}}<tr id="{{.Code}}"><th scope="row"><a href="#{{.Code}}">{{.Code}}</a></th><td>{{if .Status}}{{.Status}}{{else}}in a record{{end}}</td><td>{{.Meaning}}</td><td>{{code $a.Cause}}</td><td>{{code $a.Cure}}</td></tr>
{{end}}</tbody></table></div></main></body></html>
`))

// codes shows text between backticks as code.
func codes(s string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(s, "`") {
		text := template.HTMLEscapeString(part)
		if i%2 == 1 {
			text = "<code>" + text + "</code>"
		}
		b.WriteString(text)
	}
	return template.HTML(b.String()) //nolint:gosec // every part is escaped
}

// inOrder is the order in which people look for what there is: what they came for
// first, what only operators need last.
var inOrder = []string{"Signatures", "People", "Verification", "Quotations", "Certificates", "Callbacks", "Client certificates", "Wallet", "Tokens", "Accounts"}

type docsGroup struct {
	Name, Text string
	Ops        []Op
}

// docsStart answers GET /docs: how to begin, and every operation in the order in
// which people look for them.
func (a *API) docsStart(w http.ResponseWriter, r *http.Request) {
	var groups []docsGroup
	for _, tag := range a.doc.Tags {
		g := docsGroup{Name: tag.Name, Text: tag.Description}
		for _, op := range a.ops {
			if op.Tag == tag.Name && !op.Hidden {
				g.Ops = append(g.Ops, op)
			}
		}
		if len(g.Ops) > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b docsGroup) int { return cmp.Compare(placeOf(a.Name), placeOf(b.Name)) })
	a.docsPage(w, r, startPage, struct {
		URL     string
		Sandbox bool
		Groups  []docsGroup
	}{strings.TrimSuffix(a.opts.PublicURL, "/"), a.opts.Words != nil, groups})
}

func placeOf(tag string) int {
	if i := slices.Index(inOrder, tag); i >= 0 {
		return i
	}
	return len(inOrder)
}

func (a *API) docsErrors(w http.ResponseWriter, r *http.Request) {
	a.docsPage(w, r, errorsPage, fault.Table)
}

func (a *API) docsPage(w http.ResponseWriter, r *http.Request, t *template.Template, data any) {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		a.fail(w, r, err)
		return
	}
	page("text/html; charset=utf-8", string(a.fill(b.Bytes()))).ServeHTTP(w, r)
}

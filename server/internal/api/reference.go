package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"rogito.dev/rogito/server/internal/fault"
)

// The reference is made from the OpenAPI document that is served: one page for each
// operation, with nothing that a reader of the document would not find there.

type (
	docType struct { // a word or a list of them
		names []string
	}
	docSchema struct {
		Ref         string                `json:"$ref"`
		Type        docType               `json:"type"`
		Description string                `json:"description"`
		Properties  map[string]*docSchema `json:"properties"`
		Required    []string              `json:"required"`
		Format      string                `json:"format"`
		Items       *docSchema            `json:"items"`
		Enum        []any                 `json:"enum"`
		Default     any                   `json:"default"`
		Examples    []any                 `json:"examples"`
		AnyOf       []*docSchema          `json:"anyOf"`
		OneOf       []*docSchema          `json:"oneOf"`
		Deprecated  bool                  `json:"deprecated"`
	}
	docMedia struct {
		Schema   *docSchema `json:"schema"`
		Examples map[string]struct {
			Summary string          `json:"summary"`
			Value   json.RawMessage `json:"value"`
		} `json:"examples"`
	}
	docOp struct {
		ID          string   `json:"operationId"`
		Summary     string   `json:"summary"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
		Deprecated  bool     `json:"deprecated"`
		Parameters  []struct {
			Name        string     `json:"name"`
			In          string     `json:"in"`
			Description string     `json:"description"`
			Required    bool       `json:"required"`
			Schema      *docSchema `json:"schema"`
		} `json:"parameters"`
		RequestBody struct {
			Content map[string]docMedia `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Description string              `json:"description"`
			Content     map[string]docMedia `json:"content"`
		} `json:"responses"`
		Security []map[string]any `json:"security"`
	}
	docTree struct {
		Paths      map[string]map[string]*docOp `json:"paths"`
		Components struct {
			Schemas map[string]*docSchema `json:"schemas"`
		} `json:"components"`
	}
)

func (t *docType) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, &t.names)
	}
	t.names = []string{""}
	return json.Unmarshal(b, &t.names[0])
}

// docField is a row of a table: a parameter or a member.
type docField struct {
	Name, Type, Text string
	Required         bool
	Deprecated       bool
}

type docExample struct{ Summary, Curl string }

type docError struct {
	Status string
	Codes  []docCode
}

type docCode struct{ Number, Meaning string }

// referenced is a page of the reference.
type referenced struct {
	Op
	Who        string
	Parameters []docField
	Bodies     []docBody
	Examples   []docExample
	Answers    []docBody
	Errors     []docError
	Group      []Op // the operations of the same kind
}

type docBody struct {
	Label  string // of the table, another for each
	Type   string
	Fields []docField
}

// mostDeep is how far members within members are listed.
const mostDeep = 5

// docIndex reads the document once: the operations by their id.
type docIndex struct {
	sync.Once
	tree docTree
	ops  map[string]*docOp
	err  error
}

func (a *API) index() (*docIndex, error) {
	x := &a.docs
	x.Do(func() {
		d := a.described()
		if x.err = d.err; x.err == nil {
			x.err = json.Unmarshal(d.json, &x.tree)
		}
		x.ops = map[string]*docOp{}
		for _, methods := range x.tree.Paths {
			for _, op := range methods {
				x.ops[op.ID] = op
			}
		}
	})
	return x, x.err
}

// open is a schema behind its reference.
func (x *docIndex) open(s *docSchema) *docSchema {
	for range 8 {
		if s == nil || s.Ref == "" {
			break
		}
		to := x.tree.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		if to != nil && s.Description != "" {
			with := *to
			with.Description = s.Description
			to = &with
		}
		s = to
	}
	return s
}

// word is the type of a schema as people say it.
func (x *docIndex) word(s *docSchema) string {
	if s = x.open(s); s == nil {
		return "anything"
	}
	if len(s.Enum) > 0 {
		return words(s.Enum)
	}
	var all []string
	for _, one := range append(slices.Clone(s.AnyOf), s.OneOf...) {
		if w := x.word(one); !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	for _, name := range s.Type.names {
		switch {
		case name == "array":
			name = "list of " + x.word(s.Items)
		case name == "string" && s.Format != "":
			name += " (" + s.Format + ")"
		}
		all = append(all, name)
	}
	if len(all) == 0 {
		return "anything"
	}
	return strings.Join(all, " or ")
}

func words(values []any) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(all, ", ")
}

// fields lists the members of a schema, those within others by their path.
func (x *docIndex) fields(s *docSchema, prefix string, within []*docSchema) (all []docField) {
	s = x.open(s)
	if s == nil || len(within) >= mostDeep || slices.Contains(within, s) {
		return nil
	}
	within = append(slices.Clone(within), s)
	for _, one := range append(slices.Clone(s.AnyOf), s.OneOf...) {
		all = append(all, x.fields(one, prefix, within)...)
	}
	if s.Items != nil {
		return append(all, x.fields(s.Items, prefix+"[]", within)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		one := x.open(s.Properties[name])
		if one == nil {
			continue
		}
		path := strings.TrimPrefix(prefix+"."+name, ".")
		all = append(all, docField{path, x.word(one), said(one, one.Description), slices.Contains(s.Required, name), one.Deprecated})
		all = append(all, x.fields(one, path, within)...)
	}
	return all
}

// said is a description with the default value.
func said(s *docSchema, text string) string {
	if s != nil && s.Default != nil {
		text += fmt.Sprintf(" (by default `%v`)", s.Default)
	}
	return text
}

// bodies lists the fields of each media type, JSON first.
func (x *docIndex) bodies(what string, content map[string]docMedia) (all []docBody) {
	for _, mt := range slices.Sorted(maps.Keys(content)) {
		all = append(all, docBody{what + ", " + mt, mt, x.fields(content[mt].Schema, "", nil)})
	}
	return all
}

// curls are the calls of an operation as a shell takes them.
func (a *API) curls(op Op, d *docOp) (all []docExample) {
	path, query := op.Path, []string(nil)
	for _, p := range d.Parameters {
		value := "$" + strings.ReplaceAll(p.Name, "-", "_")
		if p.Schema != nil && len(p.Schema.Examples) > 0 {
			value = fmt.Sprint(p.Schema.Examples[0])
		}
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
		case p.In == "query" && p.Required:
			query = append(query, p.Name+"="+value)
		}
	}
	address := strings.TrimSuffix(a.opts.PublicURL, "/") + path
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	call := `curl "` + address + `"`
	if op.Method != http.MethodGet && op.Method != http.MethodPost {
		call = "curl -X " + op.Method + strings.TrimPrefix(call, "curl")
	}
	if !op.Public {
		call += ` -H "Authorization: Bearer $TOKEN"`
	}
	media := d.RequestBody.Content["application/json"]
	if len(op.Examples) == 0 {
		switch {
		case media.Schema != nil:
			call += ` -H "Content-Type: application/json" -d @body.json`
		case len(d.RequestBody.Content) > 0:
			call += " -F NAME=@FILE"
		case op.Method == http.MethodPost:
			call += " -X POST"
		}
		return []docExample{{"", call}}
	}
	for _, e := range op.Examples {
		var b bytes.Buffer
		if json.Indent(&b, media.Examples[e.Name].Value, "", "  ") == nil {
			all = append(all, docExample{e.Summary, call + ` -H "Content-Type: application/json" -d '` + strings.ReplaceAll(b.String(), "'", `'\''`) + "'"})
		}
	}
	return all
}

// who may call an operation.
func who(op Op) string {
	scope := op.Method + ":*/" + strings.SplitN(strings.TrimPrefix(op.Path, "/"), "/", 2)[0]
	switch {
	case op.Public:
		return "Anybody."
	case op.Admin:
		return "A token of an administrator with the scope `" + scope + "`."
	case op.Basic:
		return "A token with the scope `" + scope + "`, or the account's e-mail address and API key (Basic)."
	}
	return "A token with the scope `" + scope + "`."
}

// refusals are the errors of an operation with their codes.
func refusals(d *docOp) (all []docError) {
	for _, status := range slices.Sorted(maps.Keys(d.Responses)) {
		if status < "400" {
			continue
		}
		one := docError{Status: status}
		for _, part := range strings.Split(d.Responses[status].Description, "; ") {
			number, meaning, ok := strings.Cut(part, ": ")
			if !ok {
				number, meaning = "", part
			}
			one.Codes = append(one.Codes, docCode{number, meaning})
		}
		all = append(all, one)
	}
	return all
}

// docsOperation answers GET /docs/reference/{operation}.
func (a *API) docsOperation(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, "/docs/reference/")
	i := slices.IndexFunc(a.ops, func(op Op) bool { return op.ID == id && !op.Hidden })
	x, err := a.index()
	if err == nil && (i < 0 || x.ops[id] == nil) {
		err = fault.New(fault.NotFound, "there is no operation %q: /docs lists all of them", id)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	op, d := a.ops[i], x.ops[id]
	p := referenced{Op: op, Who: who(op), Bodies: x.bodies("Body", d.RequestBody.Content), Examples: a.curls(op, d), Errors: refusals(d)}
	for _, one := range d.Parameters {
		p.Parameters = append(p.Parameters, docField{one.Name + " (" + one.In + ")", x.word(one.Schema), said(one.Schema, one.Description), one.Required, false})
	}
	for _, status := range slices.Sorted(maps.Keys(d.Responses)) {
		if status < "300" {
			p.Answers = append(p.Answers, x.bodies("Answer "+status, d.Responses[status].Content)...)
		}
	}
	for _, one := range a.ops {
		if one.Tag == op.Tag && !one.Hidden {
			p.Group = append(p.Group, one)
		}
	}
	a.docsPage(w, r, operationPage, p)
}

var operationPage = template.Must(template.New("operation").Funcs(template.FuncMap{"code": codes, "body": func(name string, f []docField) docBody { return docBody{name, name, f} }}).Parse(docsTop + `{{define "fields"}}<div class="scroll" tabindex="0" role="region" aria-label="{{.Label}}"><table class="list"><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">What it is</th></tr></thead><tbody>
{{range .Fields}}<tr><th scope="row"><code>{{.Name}}</code>{{if .Required}} <span class="soft">required</span>{{end}}{{if .Deprecated}} <span class="soft">deprecated</span>{{end}}</th><td>{{code .Type}}</td><td>{{code .Text}}</td></tr>
{{end}}</tbody></table></div>{{end}}{{template "top" .Summary}}
<p class="crumbs"><a href="/docs">The API</a> · <a href="/docs#{{.Tag}}">{{.Tag}}</a></p>
<h1>{{.Summary}}</h1>
<p class="lead"><code>{{.Method}} {{.Path}}</code></p>
{{if .Deprecated}}<p><strong>Deprecated.</strong></p>{{end}}{{with .Text}}<p>{{code .}}</p>{{end}}
<p>{{code .Who}}{{if .Idempotent}} With an <code>Idempotency-Key</code> the call may be repeated for 24 hours.{{end}}</p>
<h2>Call</h2>
{{range $i, $e := .Examples}}{{with .Summary}}<h3>{{.}}</h3>{{end}}<div class="scroll" tabindex="0" role="region" aria-label="Call {{$i}}"><pre><code>{{.Curl}}</code></pre></div>
{{end}}{{with .Parameters}}<h2>Parameters</h2>{{template "fields" (body "Parameters" .)}}{{end}}
{{range .Bodies}}<h2>Body: <code>{{.Type}}</code></h2>{{template "fields" .}}{{end}}
{{range .Answers}}<h2>Answer: <code>{{.Type}}</code></h2>{{if .Fields}}{{template "fields" .}}{{else}}<p>The file itself.</p>{{end}}{{end}}
{{with .Errors}}<h2>Errors</h2><ul>{{range .}}<li>{{.Status}}: {{range $i, $c := .Codes}}{{if $i}}; {{end}}{{if .Number}}<a href="/docs/errors#{{.Number}}">{{.Number}}</a> {{end}}{{.Meaning}}{{end}}</li>
{{end}}</ul>{{end}}
<nav aria-label="{{.Tag}}"><h2>{{.Tag}}</h2><ul>{{range .Group}}<li><a href="/docs/reference/{{.ID}}"{{if eq .ID $.ID}} aria-current="page"{{end}}>{{.Summary}}</a></li>
{{end}}</ul></nav>
</main></body></html>
`))

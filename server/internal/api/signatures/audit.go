package signatures

import (
	"bytes"
	"context"
	"encoding/hex"
	stdjson "encoding/json"
	"html/template"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/console"
)

func hexText(b []byte) string { return hex.EncodeToString(b) }

// audit answers the trail in the form that Accept asks for.
func (s *Signatures) audit(ctx context.Context, in *partInput) (api.Reply[signaturePart], error) {
	r, entries, err := s.Service.Trail(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
	if err != nil {
		return api.Reply[signaturePart]{}, err
	}
	trail := trailWire(r, entries)
	c := &api.Content{Name: "audit-" + r.ID, Inline: true}
	switch trailForm(in.Accept) {
	case "text/plain":
		c.Type, c.Name = "text/plain; charset=utf-8", c.Name+".yaml"
		c.Bytes, err = trailYAML(trail)
	case "text/html":
		c.Type, c.Name = "text/html; charset=utf-8", c.Name+".html"
		c.Bytes, err = trailHTML(trail)
	case "application/pdf":
		c.Type, c.Name = "application/pdf", c.Name+".pdf"
		text, yerr := trailYAML(trail)
		c.Bytes, err = console.TextPDF("Signature audit "+r.ID, string(text)), yerr
	default:
		return api.Found(signaturePart{trail: trail}), nil
	}
	if err != nil {
		return api.Reply[signaturePart]{}, err
	}
	return api.Reply[signaturePart]{Content: c}, nil
}

// trailForm picks the most wanted form of Accept that there is; JSON for
// anything else.
func trailForm(accept []string) string {
	for _, mt := range api.Accepted(accept) {
		switch mt {
		case "application/json", "*/*":
			return ""
		case "text/plain", "text/html", "application/pdf":
			return mt
		}
	}
	return ""
}

// trailYAML goes through JSON, so that names and order are those of the wire.
func trailYAML(t *auditTrail) ([]byte, error) {
	b, err := stdjson.Marshal(struct {
		Report *auditTrail `json:"SignatureAuditReport"`
	}{t})
	if err != nil {
		return nil, err
	}
	n, err := yamlNode(jsontext.NewDecoder(bytes.NewReader(b)))
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(n)
	return []byte(visible.Text(string(text))), err
}

// yamlNode is the next JSON value as YAML, its members in their order.
func yamlNode(d *jsontext.Decoder) (*yaml.Node, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '{':
		return yamlNodes(d, &yaml.Node{Kind: yaml.MappingNode})
	case '[':
		return yamlNodes(d, &yaml.Node{Kind: yaml.SequenceNode})
	case '"':
		n := &yaml.Node{}
		n.SetString(tok.String())
		return n, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: tok.String()}, nil // a number, true, false or null
}

// yamlNodes reads what is in an object or an array, to its end.
func yamlNodes(d *jsontext.Decoder, n *yaml.Node) (*yaml.Node, error) {
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		one, err := yamlNode(d)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, one)
	}
	_, err := d.ReadToken()
	return n, err
}

var trailPage = template.Must(template.New("trail").Funcs(template.FuncMap{"json": func(v any) string {
	b, err := stdjson.MarshalIndent(v, "", " ")
	if err != nil {
		return ""
	}
	return string(b)
}}).Parse(`{{define "file"}}<table>{{with .SourceType}}<tr><th>sourceType</th><td>{{.}}</td></tr>{{end}}
<tr><th>id</th><td>{{.ID}}</td></tr><tr><th>name</th><td>{{.Name}}</td></tr><tr><th>mimetype</th><td>{{.MimeType}}</td></tr>
<tr><th>extension</th><td>{{.Extension}}</td></tr><tr><th>size</th><td>{{.Size}}</td></tr><tr><th>createdAt</th><td>{{.CreatedAt}}</td></tr>
<tr><th>md5</th><td>{{.MD5}}</td></tr><tr><th>sha256</th><td>{{.SHA256}}</td></tr></table>{{end -}}
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Signature Data</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 0 0 1rem }
th, td { border: 1px solid #999; padding: .25rem .6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere }
th { font-weight: 600 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0 0 }
</style></head><body>
<h1>Signature Data</h1>
{{with .SignatureData}}
<h2>General information</h2>
<table><tr><th>id</th><td>{{.ID}}</td></tr><tr><th>createdAt</th><td>{{.CreatedAt}}</td></tr><tr><th>updatedAt</th><td>{{.UpdatedAt}}</td></tr>
<tr><th>certificateType</th><td>{{.CertificateType}}</td></tr><tr><th>state</th><td>{{.State}}</td></tr>
{{with .SignatureType}}<tr><th>signatureType</th><td>{{.}}</td></tr>{{end}}
{{with .ErrorNumber}}<tr><th>errorNumber</th><td>{{.}}</td></tr>{{end}}{{with .ErrorMessage}}<tr><th>errorMessage</th><td>{{.}}</td></tr>{{end}}</table>
<h2>Options</h2><table>{{range $k, $v := .Options}}<tr><th>{{$k}}</th><td>{{json $v}}</td></tr>{{end}}</table>
<h2>Document</h2><table>{{with .Document.Title}}<tr><th>title</th><td>{{.}}</td></tr>{{end}}{{with .Document.Description}}<tr><th>description</th><td>{{.}}</td></tr>{{end}}</table>
{{with .Document.SignedDocument}}<h2>Signed document</h2>{{template "file" .}}{{end}}
{{with .Document.ValidatedDocument}}<h2>Validated document</h2>{{template "file" .}}{{end}}
{{with .Document.InputDocuments}}<h2>Input documents</h2>{{range .}}{{template "file" .}}{{end}}{{end}}
{{end}}
<h2>Audit data</h2>
<table><tr><th>Operation ID</th><th>Operation Timestamp</th><th>Operation Detail</th></tr>
{{range .AuditData}}<tr><td>{{.ID}}</td><td>{{.CreatedAt}}</td><td>{{.Log}}{{with .Detail}}<details><summary>detail</summary><pre>{{json .}}</pre></details>{{end}}</td></tr>
{{end}}</table>
</body></html>
`))

func trailHTML(t *auditTrail) ([]byte, error) {
	var b bytes.Buffer
	err := trailPage.Execute(visible.Writer(&b), t)
	return b.Bytes(), err
}

package signatures

import (
	"bytes"
	"context"
	stdjson "encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// audit answers the trail in the form that Accept asks for.
func (s *Signatures) audit(ctx context.Context, in *auditInput) (api.Reply[*auditTrail], error) {
	r, entries, err := s.Service.Trail(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
	if err != nil {
		return api.Reply[*auditTrail]{}, err
	}
	form := trailForm(in.Accept)
	if form == "" {
		return api.Found(s.trailWire(r, entries)), nil
	}
	c, err := s.written(ctx, r, entries, form, look.Preferred(in.Language))
	return api.Reply[*auditTrail]{Content: c}, err
}

// Certificate is the audit of a record for people: text/html or application/pdf.
func (s *Signatures) Certificate(ctx context.Context, accountID, id, form string, lang paper.Lang) (*api.Content, error) {
	r, entries, err := s.Service.Trail(ctx, accountID, id)
	if err != nil {
		return nil, err
	}
	return s.written(ctx, r, entries, form, lang)
}

// written is the audit of a record in one of its forms.
func (s *Signatures) written(ctx context.Context, r *ledger.Record, entries []*audit.Entry, form string, lang paper.Lang) (*api.Content, error) {
	c := &api.Content{Type: form, Name: "audit-" + r.ID, Inline: true}
	var err error
	switch form {
	case "text/plain":
		c.Type, c.Name = "text/plain; charset=utf-8", c.Name+".yaml"
		c.Bytes, err = trailYAML(s.trailWire(r, entries))
	case "text/html":
		c.Type, c.Name = "text/html; charset=utf-8", c.Name+".html"
		c.Bytes, err = s.certificateHTML(ctx, r, entries, lang)
	case "application/pdf":
		c.Name += ".pdf"
		c.Bytes, err = s.certificatePDF(ctx, r, entries, lang, s.trailWire(r, entries))
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// certificateHTML is the certificate of completion as a page.
func (s *Signatures) certificateHTML(ctx context.Context, r *ledger.Record, entries []*audit.Entry, lang paper.Lang) ([]byte, error) {
	c, err := s.Completion.Of(ctx, r, entries)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = c.HTML(visible.Writer(&b), lang)
	return b.Bytes(), err
}

// certificatePDF is the sealed one, with the trail attached.
func (s *Signatures) certificatePDF(ctx context.Context, r *ledger.Record, entries []*audit.Entry, lang paper.Lang, trail *auditTrail) ([]byte, error) {
	c, err := s.Completion.Of(ctx, r, entries)
	if err != nil {
		return nil, err
	}
	whole, err := stdjson.MarshalIndent(trail, "", " ")
	if err != nil {
		return nil, err
	}
	return c.PDF(ctx, lang, whole)
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

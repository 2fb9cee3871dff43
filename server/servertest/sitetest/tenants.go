package sitetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/keys"
)

// Outcome of a call to sign, in a word.
func Outcome(a *Answer) string {
	if a.Status != 200 {
		return fmt.Sprintf("%d/%d", a.Status, a.Code())
	}
	var r Record
	if json.Unmarshal(a.Data, &r) != nil {
		return "?"
	}
	return fmt.Sprintf("%s %d", r.State, r.Number())
}

// OTPBody is a request with the sandbox's one-time-password certificate.
func (s *Site) OTPBody(docs any, code string, more ...M) M {
	c := s.Box.Certificates["otp"]
	return s.Body(docs, append([]M{{"certificateUsername": c.Username, "certificatePassword": c.Password, "certificateOtp": code}}, more...)...)
}

// Operation is one call of the OpenAPI document.
type Operation struct {
	Method, Path string
	Params       []string // of the path
	Secured      bool
	Body         []byte // an example, where one is required
}

// Operations are read from the document that the server hands out, so that a
// call that is added is swept without a word here.
func (s *Site) Operations() []Operation {
	s.T.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
			Security   []map[string]any
			// Only what an example needs.
			RequestBody *struct {
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	_, b := s.Raw("GET", "/openapi.json", nil)
	if err := json.Unmarshal(b, &doc); err != nil {
		s.T.Fatal(err)
	}
	var all []Operation
	for path, methods := range doc.Paths {
		for method, o := range methods {
			op := Operation{Method: strings.ToUpper(method), Path: path, Secured: len(o.Security) > 0}
			for _, p := range o.Parameters {
				if p.In == "path" {
					op.Params = append(op.Params, p.Name)
				}
			}
			if o.RequestBody != nil {
				op.Body, _ = json.Marshal(example(doc.Components.Schemas, o.RequestBody.Content["application/json"].Schema, 0))
			}
			all = append(all, op)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path+all[i].Method < all[j].Path+all[j].Method })
	if len(all) < 40 {
		s.T.Fatalf("the document has only %d operations", len(all))
	}
	return all
}

// example makes a value that fits a schema well enough to get past the reading
// of a body.
func example(defs map[string]json.RawMessage, schema json.RawMessage, depth int) any {
	var x struct {
		Ref        string `json:"$ref"`
		Type       any
		Enum       []any
		Required   []string
		Properties map[string]json.RawMessage
	}
	if json.Unmarshal(schema, &x) != nil || depth > 5 {
		return nil
	}
	if name, ok := strings.CutPrefix(x.Ref, "#/components/schemas/"); ok {
		return example(defs, defs[name], depth+1)
	}
	if len(x.Enum) > 0 {
		return x.Enum[0]
	}
	kind := fmt.Sprint(x.Type)
	switch {
	case len(x.Properties) > 0:
		out := map[string]any{}
		for name, p := range x.Properties {
			switch {
			case name == "scopes":
				out[name] = []string{"*:*/*"}
			case slices.Contains(x.Required, name):
				out[name] = example(defs, p, depth+1)
			}
		}
		return out
	case strings.Contains(kind, "boolean"):
		return true
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return 1
	case strings.Contains(kind, "array"):
		return []any{}
	case strings.Contains(kind, "object"):
		return map[string]any{}
	}
	return "an example of some length"
}

// OpenParams are the parts of a path that name nothing of a tenant's.
var OpenParams = map[string][]string{
	"actionType": {"detail", "signedDocument", "validatedDocument", "audit", "auditTrail"},
	"file":       {"0"},
	"signer":     {"00000000-0000-4000-8000-000000000000"},
	"provider":   {"provider"}, "kind": {"otp"}, "cadastral_code": {"H501"}, "omi_zone": {"B1"}, "date": {"2026"}, "domain": {"a.example"},
}

// Waiting is a record that waits for an approval.
func (s *Site) Waiting() string {
	s.T.Helper()
	c := s.Buy("otp", M{"securityLevel": 5})
	page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
	r := s.Record(s.Do("POST", "/EU-QES_otp", M{
		"inputDocuments": B64(SamplePDF), "certificateUsername": Element(page, "certificate-username"),
		"certificatePassword": Element(page, "certificate-password"), "certificateOtp": CodeOf(s.T, Element(page, "otp-secret"), 0),
	}))
	if r.State != "WAIT_SIGN" {
		s.T.Fatalf("%s %s", r.State, Deref(r.ErrorMessage))
	}
	return r.ID
}

// Spelled are the paths of an operation with a place, %s, for the id.
func (op *Operation) Spelled() []string {
	paths := []string{op.Path}
	for _, p := range op.Params {
		var next []string
		values := OpenParams[p]
		if values == nil {
			values = []string{"%s"}
		}
		for _, path := range paths {
			for _, v := range values {
				next = append(next, strings.Replace(path, "{"+p+"}", v, 1))
			}
		}
		paths = next
	}
	return paths
}

// RawAs is raw with exactly that Authorization, or none.
func (s *Site) RawAs(auth, method, path string, body any) (*http.Response, []byte) {
	s.T.Helper()
	var rd *strings.Reader
	if text, ok := body.(string); ok {
		rd = strings.NewReader(text)
	} else {
		rd = strings.NewReader("")
	}
	req, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, rd)
	if err != nil {
		s.T.Fatal(err)
	}
	if auth != "" {
		req.Header.Set("Authorization", auth)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		s.T.Fatal(err)
	}
	return resp, b.Bytes()
}

// CodeOf is the one-time password of a secret, some steps from now.
func CodeOf(t testing.TB, secret string, steps int) string {
	t.Helper()
	code, err := keys.Code(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

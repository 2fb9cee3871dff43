package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
)

// operation is one call of the OpenAPI document.
type operation struct {
	method, path string
	params       []string // of the path
	secured      bool
	body         []byte // an example, where one is required
}

// operations are read from the document that the server hands out, so that a
// call that is added is swept without a word here.
func (s *site) operations() []operation {
	s.t.Helper()
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
	_, b := s.raw("GET", "/openapi.json", nil)
	if err := json.Unmarshal(b, &doc); err != nil {
		s.t.Fatal(err)
	}
	var all []operation
	for path, methods := range doc.Paths {
		for method, o := range methods {
			op := operation{method: strings.ToUpper(method), path: path, secured: len(o.Security) > 0}
			for _, p := range o.Parameters {
				if p.In == "path" {
					op.params = append(op.params, p.Name)
				}
			}
			if o.RequestBody != nil {
				op.body, _ = json.Marshal(example(doc.Components.Schemas, o.RequestBody.Content["application/json"].Schema, 0))
			}
			all = append(all, op)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].path+all[i].method < all[j].path+all[j].method })
	if len(all) < 40 {
		s.t.Fatalf("the document has only %d operations", len(all))
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

// openParams are the parts of a path that name nothing of a tenant's.
var openParams = map[string][]string{
	"actionType": {"detail", "signedDocument", "validatedDocument", "audit", "auditTrail"},
	"file":       {"0"},
	"signer":     {"00000000-0000-4000-8000-000000000000"},
	"provider":   {"provider"}, "kind": {"otp"}, "cadastral_code": {"H501"}, "omi_zone": {"B1"}, "date": {"2026"}, "domain": {"a.example"},
}

// openPaths have ids that are the same for everybody: the catalogue of scopes.
var openPaths = []string{"/scopes/{id}"}

// belongings are the ids of an account's things, by the first segment of the
// paths that take them.
func (s *site) belongings(records int) map[string][]string {
	s.t.Helper()
	ids := map[string][]string{}
	for range records {
		ids["signatures"] = append(ids["signatures"], s.sign(b64(sampleTXT), m{"callback": m{"url": "https://nowhere.invalid/hook", "retry": 0}}).ID)
	}
	list := func(path string) {
		var all []struct{ ID string }
		if err := json.Unmarshal(s.do("GET", path, nil).Data, &all); err != nil || len(all) == 0 {
			s.t.Fatalf("%s: %d, %v", path, len(all), err)
		}
		for _, x := range all {
			ids[path[1:]] = append(ids[path[1:]], x.ID)
		}
	}
	cert, _ := selfSigned(s.t, s.t.TempDir())
	text, err := os.ReadFile(cert)
	if err != nil {
		s.t.Fatal(err)
	}
	if a := s.do("POST", "/client-certificates", m{"name": "mine", "certificate": string(text)}); a.Status != 200 {
		s.t.Fatalf("%d %s", a.Status, a.Message)
	}
	template := m{"name": "lease", "inputDocuments": b64(samplePDF), "signers": []m{{"place": "tenant"}}}
	if a := s.do("POST", "/templates", template); a.Status != 200 {
		s.t.Fatalf("%d %s", a.Status, a.Message)
	}
	for _, p := range []string{"/certificates", "/callbacks", "/client-certificates", "/tokens", "/templates"} {
		list(p)
	}
	ids["approvals"] = []string{s.waiting()}
	ids["signatures"] = append(ids["signatures"], ids["approvals"]...)
	ids["tokens"] = append(ids["tokens"], s.otherToken())
	ids["token"] = ids["tokens"]
	room := s.rooms()
	owner, err := room.accounts.Authenticate(context.Background(), bearer(s.box.Token), false)
	if err != nil {
		s.t.Fatal(err)
	}
	sub, err := room.billing.Subscribe(context.Background(), owner.AccountID, "GET:*/IT-omi", 10, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	ids["subscriptions"] = []string{sub.ID}
	return ids
}

func bearer(token string) *http.Request {
	r, _ := http.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// waiting is a record that waits for an approval.
func (s *site) waiting() string {
	s.t.Helper()
	c := s.buy("otp", m{"securityLevel": 5})
	page := s.page(c.CertificateLink, url.Values{"action": {"approve"}})
	r := s.record(s.do("POST", "/EU-QES_otp", m{
		"inputDocuments": b64(samplePDF), "certificateUsername": element(page, "certificate-username"),
		"certificatePassword": element(page, "certificate-password"), "certificateOtp": codeOf(s.t, element(page, "otp-secret"), 0),
	}))
	if r.State != "WAIT_SIGN" {
		s.t.Fatalf("%s %s", r.State, deref(r.ErrorMessage))
	}
	return r.ID
}

// Every operation of the document, with every id of one account, called by
// another: the answer is the one for an id that does not exist, to the letter,
// and nothing of the owner's has changed. Ten thousand ids in the long version.
func TestTenantSweep(t *testing.T) {
	await.All(t)
	t.Parallel()
	records := 5
	if soaking() {
		records = 10_000
	}
	eachEngine(t, func(t *testing.T, s *site) {
		ids := s.belongings(records)
		stranger := "Bearer " + s.stranger()
		before := s.portrait(ids)
		swept := 0
		for _, op := range s.operations() {
			if !op.secured || !op.takesID() || slices.Contains(openPaths, op.path) {
				continue
			}
			owned := ids[strings.Split(op.path, "/")[1]]
			if len(owned) == 0 {
				t.Errorf("%s %s takes an id of a kind that the sweep does not know: give it one in belongings", op.method, op.path)
				continue
			}
			for _, path := range op.spelled() {
				unknown := strings.Repeat("f", 24)
				nobody := s.sweep(op, path, unknown, stranger)
				if nobody.status != http.StatusNotFound && nobody.code != 131 {
					t.Errorf("%s %s: an unknown id is %d/%d", op.method, path, nobody.status, nobody.code)
				}
				for _, id := range owned {
					swept++
					if got := s.sweep(op, path, id, stranger); got != nobody {
						t.Errorf("%s %s: %+v, for an unknown id %+v", op.method, path, got, nobody)
					}
				}
			}
		}
		if swept < 80 {
			t.Errorf("only %d calls were swept", swept)
		}
		t.Logf("%d calls", swept)
		if after := s.portrait(ids); after != before {
			t.Errorf("something of the owner's changed:\n%s\n%s", before, after)
		}
		s.nothingShows(ids, stranger)
	})
}

func (op *operation) takesID() bool {
	return slices.ContainsFunc(op.params, func(p string) bool { return openParams[p] == nil })
}

// spelled are the paths of an operation with a place, %s, for the id.
func (op *operation) spelled() []string {
	paths := []string{op.path}
	for _, p := range op.params {
		var next []string
		values := openParams[p]
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

type sweeping struct {
	status, code int
	body, header string
}

func (s *site) sweep(op operation, path, id, token string) sweeping {
	s.t.Helper()
	var body any
	if op.body != nil {
		body = string(op.body)
	}
	resp, b := s.raw(op.method, strings.Replace(path, "%s", id, 1), body, "Authorization", token)
	var a answer
	_ = json.Unmarshal(b, &a)
	names := []string{}
	for name := range resp.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	return sweeping{resp.Status, a.code(), strings.ReplaceAll(string(b), id, "ID"), strings.Join(names, " ")}
}

// portrait is what the owner sees of their things.
func (s *site) portrait(ids map[string][]string) string {
	s.t.Helper()
	var b bytes.Buffer
	for _, p := range []string{"/signatures?limit=20", "/certificates", "/client-certificates", "/approvals"} {
		fmt.Fprintln(&b, p, string(s.do("GET", p, nil).Data))
	}
	fmt.Fprintln(&b, len(ids["tokens"]))
	return b.String()
}

// nothingShows: what another account sees without naming an id holds none of
// the owner's ids.
func (s *site) nothingShows(ids map[string][]string, token string) {
	s.t.Helper()
	for _, op := range s.operations() {
		if op.method != http.MethodGet || !op.secured || len(op.params) > 0 {
			continue
		}
		_, b := s.raw("GET", op.path, nil, "Authorization", token)
		for kind, list := range ids {
			for _, id := range list {
				if bytes.Contains(b, []byte(id)) {
					s.t.Errorf("%s shows another account's %s", op.path, kind)
				}
			}
		}
		if bytes.Contains(b, []byte(s.box.Email)) {
			s.t.Errorf("%s shows another account's address", op.path)
		}
	}
}

// An id of another account takes as long to refuse as one that does not exist.
func TestTenantTiming(t *testing.T) {
	await.All(t)
	t.Parallel()
	s := newSite(t)
	r := s.sign(b64(samplePDF))
	stranger := "Bearer " + s.stranger()
	ask := func(id string) time.Duration {
		begin := time.Now()
		s.raw("GET", "/signatures/"+id, nil, "Authorization", stranger)
		return time.Since(begin)
	}
	best := 10.0
	for range 5 { // other tests may disturb a round
		var theirs, nobodys []time.Duration
		for range 200 { // in turn: what disturbs one disturbs the other
			theirs, nobodys = append(theirs, ask(r.ID)), append(nobodys, ask(strings.Repeat("f", 24)))
		}
		slices.Sort(theirs)
		slices.Sort(nobodys)
		ratio := float64(theirs[len(theirs)/4]) / float64(nobodys[len(nobodys)/4]) // the undisturbed ones
		if ratio < 1 {
			ratio = 1 / ratio
		}
		if best = min(best, ratio); best < 1.5 {
			return
		}
	}
	t.Errorf("the times differ by a factor of %.2f", best)
}

// Every operation that wants a token refuses a call without a good one: none,
// cut short, altered, of another kind, revoked, or in the address.
func TestTokenSweep(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	revoked := s.otherToken()
	if a := s.do("DELETE", "/tokens/"+revoked, nil); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Message)
	}
	good := s.box.Token
	altered := good[:10] + string(rune(good[10])^1) + good[11:]
	calls := 0
	for _, op := range s.operations() {
		if !op.secured {
			continue
		}
		for _, path := range op.spelled() {
			path = strings.Replace(path, "%s", strings.Repeat("f", 24), 1)
			for name, c := range map[string]struct{ auth, query string }{
				"none": {}, "cut short": {auth: "Bearer " + good[:len(good)-1]}, "altered": {auth: "Bearer " + altered}, "revoked": {auth: "Bearer " + revoked},
				"another scheme": {auth: "Token " + good}, "bare": {auth: good}, "in the address": {query: "?token=" + good}, "as RFC 6750 has it": {query: "?access_token=" + good},
				"empty": {auth: "Bearer "},
			} {
				calls++
				var body any
				if op.body != nil {
					body = string(op.body)
				}
				resp, b := s.rawAs(c.auth, op.method, path+c.query, body)
				var a answer
				_ = json.Unmarshal(b, &a)
				if resp.StatusCode != http.StatusUnauthorized || a.code() != 125 && a.code() != 128 {
					t.Errorf("%s %s, %s: %d/%d", op.method, path, name, resp.StatusCode, a.code())
				}
			}
		}
	}
	t.Logf("%d calls", calls)
	if strings.Contains(s.run.log.String(), good) {
		t.Error("the token in the address is in the log")
	}
}

// rawAs is raw with exactly that Authorization, or none.
func (s *site) rawAs(auth, method, path string, body any) (*http.Response, []byte) {
	s.t.Helper()
	var rd *strings.Reader
	if text, ok := body.(string); ok {
		rd = strings.NewReader(text)
	} else {
		rd = strings.NewReader("")
	}
	req, err := http.NewRequestWithContext(context.Background(), method, s.url+path, rd)
	if err != nil {
		s.t.Fatal(err)
	}
	if auth != "" {
		req.Header.Set("Authorization", auth)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		s.t.Fatal(err)
	}
	return resp, b.Bytes()
}

package spid_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/spid"
	"rogito.dev/rogito/server/internal/identify/spid/demo"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

func TestWholeJourney(t *testing.T) {
	for _, level := range []int{2, 3} {
		for _, binding := range []string{"POST", "Redirect"} {
			w := newWorld(t, func(c *spid.Config, _ *spid.Deps) { c.Level = level })
			if binding == "Redirect" {
				only := strings.ReplaceAll(unsignedMetadata(w.idp), `<md:SingleSignOnService Binding="`+saml.POST, `<md:SingleSignOnService Binding="none`)
				w = newWorld(t, func(c *spid.Config, _ *spid.Deps) { c.Level, c.IDPMetadata = level, []string{file(t, []byte(only))} })
			}
			d, q := w.start(t, w.idp)
			if (d.Form == nil) != (binding == "Redirect") {
				t.Errorf("%s: form %v", binding, d.Form)
			}
			if q.Level != spid.LevelURI(level) || len(q.Relay) == 0 || len(q.Relay) > 80 || d.Request != q.ID || q.ACS != public+"/spid/acs" {
				t.Errorf("request %+v", q)
			}
			message, err := w.idp.Answer(q, demo.People[0])
			if err != nil {
				t.Fatal(err)
			}
			if id, err := w.sp.Request(posted(message)); err != nil || id != d.Request {
				t.Errorf("request %q, %v", id, err)
			}
			a, err := w.finish(d, message)
			if err != nil {
				t.Fatal(err)
			}
			want := identify.Attributes{
				GivenName: "Mario", Surname: "Rossi", FiscalCode: "RSSMRA80A01H501U", DateOfBirth: "1980-01-01",
				Email: "mario.rossi@example.com", Mobile: "+393330000001",
			}
			if a.Proof.Proven != want || a.Proof.Issuer != w.idp.Entity || a.Proof.Level != spid.LevelURI(level) || a.Proof.Request != d.Request || a.Proof.Method != "spid" {
				t.Errorf("proof %+v", a.Proof)
			}
			if !strings.HasPrefix(a.ID, w.idp.Entity+" _") || !a.Until.After(time.Now()) || len(a.Files) != 3 || string(a.Files[0].Content) != string(message) {
				t.Errorf("answer %+v", a)
			}
		}
	}
}

// unsignedMetadata are metadata that can be changed.
func unsignedMetadata(i *demo.IdP) string {
	s := string(i.OwnMetadata())
	from, to := strings.Index(s, "<ds:Signature "), strings.Index(s, "</ds:Signature>")+len("</ds:Signature>")
	return s[:from] + s[to:]
}

// Genuine answers of other shapes must pass.
func TestGenuineVariants(t *testing.T) {
	w := newWorld(t)
	for name, f := range map[string]func(q *demo.Request) []byte{
		"only the assertion is signed": func(q *demo.Request) []byte {
			a, err := w.idp.Signer.Sign(w.idp.Assertion(q, demo.People[1]))
			if err != nil {
				t.Fatal(err)
			}
			return []byte(w.idp.Response(q, saml.Success, "", string(a)))
		},
		"no Format on the Response's Issuer": func(q *demo.Request) []byte {
			return signed(t, w.idp, q, nil, func(s string) string { return strings.Replace(s, ` Format="`+saml.Entity+`"`, "", 1) })
		},
		"milliseconds": func(q *demo.Request) []byte {
			finer := func(s string) string { // of the outer element
				at := regexp.MustCompile(`IssueInstant="[^"]*Z"`).FindStringIndex(s)
				return s[:at[1]-2] + `.000001Z"` + s[at[1]:]
			}
			return signed(t, w.idp, q, finer, finer)
		},
		"a higher level": func(q *demo.Request) []byte { q.Level = spid.LevelURI(3); return signed(t, w.idp, q, nil, nil) },
		"white space": func(q *demo.Request) []byte {
			return signed(t, w.idp, q, func(s string) string { return strings.ReplaceAll(s, "><", ">\n  <") }, func(s string) string { return "<?xml version=\"1.0\" encoding=\"UTF-8\" ?> " + s })
		},
		"one time use": func(q *demo.Request) []byte {
			return signed(t, w.idp, q, swap(t, "</saml:Conditions>", "<saml:OneTimeUse/></saml:Conditions>"), nil)
		},
		"canonicalisation with comments": func(q *demo.Request) []byte {
			return []byte(w.parts(t, q).info(`Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:Transform>`, `Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#WithComments"></ds:Transform>`))
		},
		"prefixes that count although unused": func(q *demo.Request) []byte {
			return []byte(w.parts(t, q).info(`Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:Transform>`, `Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"><ec:InclusiveNamespaces xmlns:ec="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList="xsd"></ec:InclusiveNamespaces></ds:Transform>`))
		},
		"the subject has a beginning": func(q *demo.Request) []byte {
			return signed(t, w.idp, q, swap(t, "<saml:SubjectConfirmationData ", `<saml:SubjectConfirmationData NotBefore="2020-01-01T00:00:00Z" `), nil)
		},
		"KeyInfo names a certificate made anew": func(q *demo.Request) []byte {
			s := w.idp.Signer
			w.idp.Signer.Certificate = w.other.Signer.Certificate
			defer func() { w.idp.Signer = s }()
			return signed(t, w.idp, q, nil, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, q := w.start(t, w.idp)
			if _, err := w.finish(d, f(q)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestErrorCodes(t *testing.T) {
	w := newWorld(t)
	seen := map[string]bool{}
	for n := 1; n <= 30; n++ {
		code := "ErrorCode nr" + string(rune('0'+n/10)) + string(rune('0'+n%10))
		d, q := w.start(t, w.idp)
		message, err := w.idp.Refuse(q, code)
		if err != nil {
			t.Fatal(err)
		}
		a, err := w.finish(d, message)
		refused(t, a, err, code[len("ErrorCode "):])
		if seen[err.Error()] {
			t.Errorf("%s says what another one says", code)
		}
		seen[err.Error()] = true
	}
	d, q := w.start(t, w.idp)
	a, err := w.finish(d, []byte(w.idp.Response(q, saml.Responder, "ErrorCode nr 22", ""))) // not signed: it is only a no
	refused(t, a, err, "nr22")
	a, err = w.finish(d, []byte(w.idp.Response(q, saml.Responder, "ErrorCode nr99", "")))
	refused(t, a, err, "status")
	a, err = w.finish(d, []byte(w.idp.Response(q, saml.Responder, "<script>", "")))
	refused(t, a, err, "status")
}

func TestConfigurationIsNamed(t *testing.T) {
	k := keys()
	private := func(c *spid.Config) {
		c.Contact = spid.Contact{Email: "a@b.it", VATNumber: "IT12345678901"}
		c.Billing = spid.Billing{Name: "X", VATNumber: "12345678901", Address: "Via A 1", PostalCode: "00100", City: "Roma", Email: "a@b.it"}
	}
	for want, change := range map[string]func(*spid.Config){
		"level must be 2 or 3, not 1": func(c *spid.Config) { c.Level = 1 },
		"level must be 2 or 3, not 0": func(c *spid.Config) { c.Level = 0 },
		"entity_id":                   func(c *spid.Config) { c.EntityID = "rogito" },
		"key cannot be read":          func(c *spid.Config) { c.Key = filepath.Join(k.dir, "none") },
		"key is not":                  func(c *spid.Config) { c.Key = c.Certificate },
		"certificate has no":          func(c *spid.Config) { c.Certificate = c.Key },
		"idp_metadata must":           func(c *spid.Config) { c.IDPMetadata = []string{"http://idp.example/metadata"} },
		"organization.name":           func(c *spid.Config) { c.Organization.Name = "" },
		"contact.email":               func(c *spid.Config) { c.Contact.Email = "nobody" },
		"contact.vat_number":          func(c *spid.Config) { private(c); c.Contact.VATNumber = "" },
		"billing.postal_code":         func(c *spid.Config) { private(c); c.Billing.PostalCode = "1" },
		"billing.name":                func(c *spid.Config) { private(c); c.Billing.Name = "" },
		"billing.province":            func(c *spid.Config) { private(c); c.Billing.Province = "Roma" },
	} {
		c := k.cfg
		change(&c)
		if _, err := spid.New(c, spid.Deps{PublicURL: public}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	c := k.cfg
	private(&c)
	if _, err := spid.New(c, spid.Deps{PublicURL: public}); err != nil {
		t.Error(err)
	}
}

// The metadata do not change from server to server, and name every
// certificate while a key is replaced.
func TestMetadataAndKeyRollover(t *testing.T) {
	w := newWorld(t)
	again, err := spid.New(w.cfg, spid.Deps{PublicURL: public})
	if err != nil || string(again.NewMetadata()) != string(w.sp.NewMetadata()) {
		t.Errorf("other metadata from the same configuration: %v", err)
	}
	elsewhere, err := demo.Config(t.TempDir(), public)
	if err != nil {
		t.Fatal(err)
	}
	next, err1 := os.ReadFile(elsewhere.Certificate)
	now, err2 := os.ReadFile(w.cfg.Certificate)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	both := append(next, now...) // the new one first: the key decides which signs
	w = newWorld(t, func(c *spid.Config, _ *spid.Deps) { c.Certificate = file(t, both) })
	if n := strings.Count(string(w.sp.NewMetadata()), "<md:KeyDescriptor"); n != 2 {
		t.Errorf("%d certificates in the metadata, want 2", n)
	}
	d, q := w.start(t, w.idp)
	if _, err := w.finish(d, signed(t, w.idp, q, nil, nil)); err != nil {
		t.Error(err)
	}
}

func TestMetadataOfProviders(t *testing.T) {
	w := newWorld(t)
	text, others := unsignedMetadata(w.idp), unsignedMetadata(w.other)
	old := strings.ReplaceAll(text, "<md:KeyDescriptor", `<md:KeyDescriptor use="signing">`+saml.KeyInfo(w.other.Signer.Certificate)+"</md:KeyDescriptor><md:KeyDescriptor")
	both := `<md:EntitiesDescriptor xmlns:md="` + saml.Metadata + `">` + text + others + `</md:EntitiesDescriptor>`
	ended := strings.Replace(both, "<md:EntityDescriptor ", `<md:EntityDescriptor validUntil="2020-01-01T00:00:00Z" `, 1)
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"one": {text, 1}, "several certificates": {old, 1}, "several providers": {both, 2},
		"validUntil has come":             {ended, 1},
		"validUntil of all has come":      {strings.Replace(both, "<md:EntitiesDescriptor ", `<md:EntitiesDescriptor validUntil="2020-01-01T00:00:00Z" `, 1), 0},
		"validUntil is no time":           {strings.Replace(both, "<md:EntityDescriptor ", `<md:EntityDescriptor validUntil="soon" `, 1), 1},
		"an entity twice":                 {strings.Replace(both, others, text, 1), 0},
		"no TLS":                          {strings.ReplaceAll(text, `Location="https://`, `Location="http://`), 0},
		"a script for an address":         {strings.ReplaceAll(text, `Location="https://`, `Location="javascript://`), 0},
		"no certificate":                  {strings.ReplaceAll(text, "X509Certificate>", "X509Nothing>"), 0},
		"a certificate for encryption":    {strings.ReplaceAll(text, `use="signing"`, `use="encryption"`), 0},
		"changed after it was signed":     {strings.Replace(string(w.idp.OwnMetadata()), "DEMO SPID", "EVIL SPID", 1), 0},
		"a doctype":                       {"<!DOCTYPE x>" + text, 0},
		"not metadata":                    {"<x/>", 0},
		"empty":                           {"", 0},
		"signed":                          {string(w.idp.OwnMetadata()), 1},
		"an entity that is no provider":   {string(w.sp.NewMetadata()), 0},
		"an entity without a name at all": {strings.ReplaceAll(text, "entityID=", "entity="), 0},
	} {
		w := newWorld(t, func(cfg *spid.Config, _ *spid.Deps) { cfg.IDPMetadata = []string{file(t, []byte(c.text))} })
		if got := len(w.sp.Providers(context.Background())); got != c.want {
			t.Errorf("%s: %d providers, want %d", name, got, c.want)
		}
	}
	w = newWorld(t, func(cfg *spid.Config, _ *spid.Deps) { cfg.IDPMetadata = []string{file(t, []byte(old))} })
	for _, key := range []saml.Signer{w.idp.Signer, w.other.Signer} { // both keys count while one is replaced
		w.idp.Signer = key
		d, q := w.start(t, w.idp)
		if _, err := w.finish(d, signed(t, w.idp, q, nil, nil)); err != nil {
			t.Error(err)
		}
	}
	if got := w.sp.Providers(context.Background())[0]; got != (identify.Provider{ID: w.idp.Entity, Name: "DEMO SPID"}) {
		t.Errorf("provider %+v", got)
	}
}

// Metadata are fetched once a day, count on where that fails, and end with
// their certificates.
func TestMetadataAreReadAgain(t *testing.T) {
	k := keys()
	content, calls, broken := []byte(nil), 0, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; broken {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(content)
	}))
	defer server.Close()
	time0 := &clock{time.Now()}
	w := newWorld(t, func(c *spid.Config, d *spid.Deps) {
		c.IDPMetadata, d.Now = []string{server.URL + "/metadata"}, time0.now
	})
	count := func() int { return len(w.sp.Providers(context.Background())) }
	content = []byte("<nothing/>")
	if n := count(); n != 0 || calls != 1 {
		t.Errorf("%d providers, %d calls", n, calls)
	}
	content = []byte(unsignedMetadata(k.idp))
	if n := count(); n != 0 || calls != 1 {
		t.Errorf("asked again at once: %d providers, %d calls", n, calls)
	}
	time0.t = time0.t.Add(11 * time.Minute)
	if n := count(); n != 1 || calls != 2 {
		t.Errorf("%d providers, %d calls", n, calls)
	}
	content = []byte(strings.Replace(string(content), "<md:EntityDescriptor ", `<md:EntityDescriptor validUntil="`+saml.Instant(time0.t.Add(49*time.Hour))+`" `, 1))
	time0.t = time0.t.Add(23 * time.Hour)
	if n := count(); n != 1 || calls != 2 {
		t.Errorf("%d providers, %d calls", n, calls)
	}
	time0.t = time0.t.Add(2 * time.Hour)
	if n := count(); n != 1 || calls != 3 {
		t.Errorf("%d providers, %d calls", n, calls)
	}
	broken, time0.t = true, time0.t.Add(23*time.Hour+30*time.Minute)
	if n := count(); n != 1 || calls != 3 {
		t.Errorf("%d providers, %d calls", n, calls)
	}
	time0.t = time0.t.Add(time.Hour)
	if n := count(); n != 0 || calls != 4 {
		t.Errorf("after validUntil: %d providers, %d calls", n, calls)
	}
}

// A certificate counts from its beginning to its end.
func TestProvidersEndWithTheirCertificates(t *testing.T) {
	now := &clock{time.Now()}
	w := newWorld(t, func(_ *spid.Config, d *spid.Deps) { d.Now = now.now })
	for _, c := range []struct{ years, want int }{{-1, 0}, {0, 2}, {2, 0}} {
		now.t = time.Now().AddDate(c.years, 0, 0)
		if got := len(w.sp.Providers(context.Background())); got != c.want {
			t.Errorf("%d years on: %d providers, want %d", c.years, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	w := newWorld(t)
	here := strings.ReplaceAll(unsignedMetadata(w.idp), "https://idp.example", server.URL)
	w = newWorld(t, func(c *spid.Config, _ *spid.Deps) { c.IDPMetadata = []string{file(t, []byte(here)), "/nowhere"} })
	bad := func() (names []string) {
		for _, f := range w.sp.Check(context.Background()) {
			if f.Name == "" || f.Detail.IsZero() {
				t.Errorf("finding %+v", f)
			}
			if !f.OK {
				names = append(names, f.Name)
			}
		}
		return names
	}
	if got := bad(); len(got) != 1 || got[0] != "SPID metadata /nowhere" {
		t.Errorf("findings %q", got)
	}
	server.Close()
	if got := bad(); len(got) != 2 {
		t.Errorf("findings %q, want one about reaching", got)
	}
	late := &clock{time.Now().AddDate(0, 11, 20)}
	w = newWorld(t, func(c *spid.Config, d *spid.Deps) { c.IDPMetadata, d.Now = []string{file(t, []byte(here))}, late.now })
	if got := bad(); len(got) != 2 || got[0] != "SPID certificate" {
		t.Errorf("findings %q, want the certificate and the provider", got)
	}
}

func TestDemoPages(t *testing.T) {
	w := newWorld(t)
	d, _ := w.start(t, w.idp)
	answer := httptest.NewRecorder()
	w.idp.ServeHTTP(answer, arrive(d))
	body := answer.Body.String()
	if answer.Code != http.StatusOK || !strings.Contains(body, "DEMO") || !strings.Contains(body, "Mario Rossi") {
		t.Fatalf("%d %s", answer.Code, body)
	}
	q, err := w.idp.Read(arrive(d))
	if err != nil {
		t.Fatal(err)
	}
	choose := func(v url.Values) *httptest.ResponseRecorder {
		for name, value := range map[string]string{"id": q.ID, "issuer": q.Issuer, "acs": q.ACS, "level": q.Level, "relay": q.Relay} {
			if !v.Has(name) {
				v.Set(name, value)
			}
		}
		r := httptest.NewRequest(http.MethodPost, w.idp.Entity+"/login", strings.NewReader(v.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		out := httptest.NewRecorder()
		w.idp.ServeHTTP(out, r)
		return out
	}
	back := func(page string) url.Values {
		v := url.Values{}
		for _, name := range []string{"SAMLResponse", "RelayState"} {
			_, rest, _ := strings.Cut(page, `name="`+name+`" value="`)
			value, _, _ := strings.Cut(rest, `"`)
			v.Set(name, value)
		}
		return v
	}
	a, err := w.sp.Finish(context.Background(), d.State, back(choose(url.Values{"person": {"1"}}).Body.String()))
	if err != nil || a.Proof.Proven.Surname != "D'Angelo" {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = w.sp.Finish(context.Background(), d.State, back(choose(url.Values{"error": {"25"}}).Body.String()))
	refused(t, a, err, "nr25")
	if got := choose(url.Values{"acs": {"https://evil.example/"}}); got.Code != http.StatusBadRequest {
		t.Errorf("an answer to anybody: %d", got.Code)
	}
}

package blackbox

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/store"
)

// Forms of what stands in answers.
var (
	idForm    = regexp.MustCompile(`^[0-9a-f]{24}$`)
	stampForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\+00:00$`)
)

const stampLayout = "2006-01-02 15:04:05.000-07:00"

// moment reads a timestamp of area A.
func moment(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(stampLayout, s)
	if err != nil || !stampForm.MatchString(s) {
		t.Errorf("timestamp %q: %v", s, err)
	}
	return at
}

// detail is one certificate as it is listed and shown.
type detail struct {
	ID, CertificateOwner, CustomReference, CertificateType, CreatedAt, ExpireAt, State string
	CertificateLink                                                                    *string
	SecurityLevel                                                                      int
	SerialNumber, SubjectDN, IssuerDN, NotBefore, NotAfter                             *string
	Callback                                                                           *struct {
		URL, Method, Field string
		Custom             json.RawMessage
		Retry              int
	}
}

// Every product can be bought, by every name of its provider, with every field
// of the order, and is what was ordered.
func testPurchase(t *testing.T, w *world) {
	g := w.tenant(t)
	for _, c := range []struct {
		path  string
		body  m
		level int
		years int
		alg   string // what its signatures say
		size  int
		dn    []string // parts of the subject
	}{
		{"provider-automatic", m{"shippingName": "ignored", "nonsense": []any{1}}, 1, 3, "SHA256withECDSA", 256, []string{"CN=SANDBOX Dora Prova"}},
		{"namirial-otp", m{"keyAlgorithm": nil, "identification": nil, "validityYears": nil, "securityLevel": nil, "subject": nil, "callback": nil, "customReference": nil}, 4, 3, "SHA256withECDSA", 256, nil},
		{"local-eseal", m{
			"keyAlgorithm": "P384", "validityYears": 1, "identification": "video", "certificateOwner": "Prova srl",
			"subject": m{"organization": "Prova srl", "organizationIdentifier": "VATIT-01234567890", "country": "IT", "email": "seal@example.org"},
		}, 1, 1, "SHA256withECDSA", 384, []string{"O=Prova srl", "organizationIdentifier=VATIT-01234567890", "C=IT"}},
		{"acme-trust-automatic", m{
			"keyAlgorithm": "RSA2048", "validityYears": 2, "identification": "signature", "securityLevel": 1, "customReference": "order 66",
			"subject": m{"givenName": "Dora", "surname": "Prova", "fiscalCode": "PRVDRO80A41H501X", "country": "it", "email": "dora@example.org", "mobile": "+39 06 123456", "dateOfBirth": "1980-01-01"},
		}, 1, 2, "SHA256withRSA", 2048, []string{"givenName=Dora", "SN=Prova", "TINIT-PRVDRO80A41H501X"}},
		{"provider-eseal", m{"keyAlgorithm": "RSA3072", "validityYears": 3, "securityLevel": 1}, 1, 3, "SHA256withRSA", 3072, nil},
		{"namirial-automatic", m{"keyAlgorithm": "RSA4096"}, 1, 3, "SHA256withRSA", 4096, nil},
		{"provider-otp", m{"keyAlgorithm": "P256", "securityLevel": 4}, 4, 3, "SHA256withECDSA", 256, nil},
	} {
		kind := c.path[strings.LastIndexByte(c.path, '-')+1:]
		body := with(m{"certificateOwner": "Dora Prova"}, c.body)
		var b bought
		a := g.ok(&b, "POST", "/certificates/"+c.path, body)
		reference, _ := c.body["customReference"].(string)
		if a.Message != "Created" || !idForm.MatchString(b.ID) || b.CertificateType != "EU-QES_"+kind || b.State != "NEW" || b.SecurityLevel != c.level ||
			b.CertificateOwner.Owner != body["certificateOwner"] || b.CertificateOwner.CustomReference != reference || b.CertificateLink == "" {
			t.Errorf("%s: %s", c.path, a.Body)
		}
		if made, until := moment(t, b.CreatedAt), moment(t, b.ExpireAt); !until.Equal(made.AddDate(c.years, 0, 0)) {
			t.Errorf("%s: from %s to %s", c.path, b.CreatedAt, b.ExpireAt)
		}
		var before detail
		g.ok(&before, "GET", "/certificates/"+b.ID, nil)
		if before.SerialNumber != nil || before.SubjectDN != nil || before.Callback != nil || before.CertificateOwner != body["certificateOwner"] || before.CustomReference != reference {
			t.Errorf("%s before it is issued: %+v", c.path, before)
		}
		status, page := g.post(b.CertificateLink, url.Values{"action": {"approve"}})
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", c.path, status, page)
		}
		cert := shown(t, b.ID, kind, page)
		if prefix := map[string]string{"automatic": "AHI", "otp": "RHI", "eseal": "SHI"}[kind]; !strings.HasPrefix(cert.Username, prefix) {
			t.Errorf("%s: username %s", c.path, cert.Username)
		}
		var after detail
		shownAgain := g.ok(&after, "GET", "/certificates/"+b.ID, nil)
		if after.State != "DONE" || after.CertificateLink != nil || !regexp.MustCompile(`^\d+$`).MatchString(deref(after.SerialNumber)) ||
			!strings.HasPrefix(deref(after.SubjectDN), "C=") || !strings.Contains(deref(after.IssuerDN), "SANDBOX") {
			t.Errorf("%s: %s", c.path, shownAgain.Body)
		}
		if life := moment(t, deref(after.NotAfter)).Sub(moment(t, deref(after.NotBefore))); life < time.Duration(c.years)*364*24*time.Hour || life > time.Duration(c.years)*367*24*time.Hour {
			t.Errorf("%s lives %v", c.path, life)
		}
		if strings.Contains(string(shownAgain.Body), cert.Password) || strings.Contains(string(shownAgain.Body), cert.Username) {
			t.Errorf("%s: the API shows credentials", c.path)
		}
		g.judgeCertificate(c.path, cert, after, c.alg, c.size, c.dn)
	}
}

// judgeCertificate signs with a certificate and reads it out of the signature.
func (g *guest) judgeCertificate(what string, c certificate, d detail, alg string, size int, dn []string) {
	g.Helper()
	r := &record{}
	if g.ok(r, "POST", "/EU-QES_"+c.Kind, c.body(b64(samplePDF))); r.State != "DONE" || r.CertificateType != "EU-QES_"+c.Kind {
		g.Fatalf("%s: %s", what, r.says())
	}
	v := g.verify(g.download(r, "signedDocument"))
	if !v.OverallVerified || len(v.Signatures) != 1 {
		g.Fatalf("%s: %+v", what, v)
	}
	s := v.Signatures[0]
	if s.SignatureAlgorithmName != alg || s.KeySize != size || s.SubjectDN != deref(d.SubjectDN) || s.IssuerDN != deref(d.IssuerDN) {
		g.Errorf("%s: %+v, the record says %s", what, s, deref(d.SubjectDN))
	}
	if s.QcSSCDStatus != "NOT_VALID" || !strings.Contains(s.SubjectDN, "SANDBOX") {
		g.Errorf("%s: QcSSCD %s, %s", what, s.QcSSCDStatus, s.SubjectDN)
	}
	for _, part := range dn {
		if !strings.Contains(s.SubjectDN, part) {
			g.Errorf("%s: %s has no %s", what, s.SubjectDN, part)
		}
	}
	x, err := x509.ParseCertificate(s.DerEncodedSignerCert)
	if err != nil || x.SerialNumber.String() != deref(d.SerialNumber) || !x.NotAfter.Equal(moment(g.T, deref(d.NotAfter)).Truncate(time.Second)) {
		g.Errorf("%s: the certificate in the signature is another: %v", what, err)
	}
	if x.KeyUsage != x509.KeyUsageContentCommitment && c.Kind != "eseal" { // as AgID rules
		g.Errorf("%s: key usage %b", what, x.KeyUsage)
	}
	g.statements(what, c.Kind, x)
}

// statements checks those of a qualified certificate: compliance and type, but
// never that a key in software is in a device.
func (g *guest) statements(what, kind string, x *x509.Certificate) {
	g.Helper()
	var all []byte
	for _, e := range x.Extensions {
		if e.Id.String() == "1.3.6.1.5.5.7.1.3" {
			all = e.Value
		}
	}
	etsi := []byte{0x04, 0x00, 0x8e, 0x46, 0x01} // 0.4.0.1862.1
	has := func(arcs ...byte) bool {
		oid := append(bytes.Clone(etsi), arcs...)
		return bytes.Contains(all, append([]byte{0x06, byte(len(oid))}, oid...))
	}
	if !has(1) || has(4) || has(6, 1) != (kind != "eseal") || has(6, 2) != (kind == "eseal") {
		g.Errorf("%s: QcStatements %x", what, all)
	}
}

// What is wrong with an order is said, with the field, and costs nothing.
func testPurchaseRefusals(t *testing.T, w *world) {
	g := w.guest(t, w.account(t))
	w.nodes[0].run("wallet", "credit", g.me.Email, "137")
	good := w.web.URL + "/hook"
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		path         string
		body         any
		status, code int
		word         string
	}{
		{"acme-automatic", m{"certificateOwner": "x"}, 404, 305, "acme-automatic"},
		{"files-automatic", m{"certificateOwner": "x"}, 404, 305, "files"},
		{"provider-quantum", m{"certificateOwner": "x"}, 404, 305, "provider-quantum"},
		{"provider-automatic", m{}, 422, 310, "certificateOwner"},
		{"provider-automatic", m{"certificateOwner": ""}, 422, 310, "certificateOwner"},
		{"provider-automatic", m{"certificateOwner": 7}, 422, 310, "certificateOwner"},
		{"provider-automatic", m{"certificateOwner": long}, 422, 310, "certificateOwner"},
		{"provider-automatic", m{"certificateOwner": "x", "customReference": long}, 422, 310, "customReference"},
		{"provider-automatic", m{"certificateOwner": "x", "customReference": 7}, 422, 310, "customReference"},
		{"provider-automatic", m{"certificateOwner": "x", "keyAlgorithm": "DSA"}, 422, 310, "keyAlgorithm"},
		{"provider-automatic", m{"certificateOwner": "x", "keyAlgorithm": 1}, 422, 310, "keyAlgorithm"},
		{"provider-automatic", m{"certificateOwner": "x", "validityYears": 0}, 422, 310, "validityYears"},
		{"provider-automatic", m{"certificateOwner": "x", "validityYears": 4}, 422, 310, "validityYears"},
		{"provider-automatic", m{"certificateOwner": "x", "validityYears": "3"}, 422, 310, "validityYears"},
		{"provider-automatic", m{"certificateOwner": "x", "securityLevel": 0}, 422, 310, "securityLevel"},
		{"provider-automatic", m{"certificateOwner": "x", "securityLevel": 6}, 422, 310, "securityLevel"},
		{"provider-automatic", m{"certificateOwner": "x", "securityLevel": 4}, 422, 310, "securityLevel"},
		{"provider-eseal", m{"certificateOwner": "x", "securityLevel": 5}, 422, 310, "securityLevel"},
		{"provider-otp", m{"certificateOwner": "x", "securityLevel": 1}, 422, 310, "securityLevel"},
		{"provider-otp", m{"certificateOwner": "x", "securityLevel": 3}, 422, 310, "securityLevel"},
		{"provider-automatic", m{"certificateOwner": "x", "identification": "magic"}, 422, 310, "identification"},
		{"provider-automatic", m{"certificateOwner": "x", "identification": "spid"}, 422, 311, "spid"},
		{"provider-automatic", m{"certificateOwner": "x", "identification": "cie"}, 422, 311, "cie"},
		{"provider-automatic", m{"certificateOwner": "x", "identification": "cns"}, 422, 311, "cns"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": "me"}, 422, 310, "subject"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"givenName": long}}, 422, 310, "givenName"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"surname": long}}, 422, 310, "surname"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"fiscalCode": "!"}}, 422, 310, "fiscalCode"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"country": "ITA"}}, 422, 310, "country"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"organization": long}}, 422, 310, "organization"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"organizationIdentifier": "1"}}, 422, 310, "organizationIdentifier"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"email": "nobody"}}, 422, 310, "email"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"mobile": "home"}}, 422, 310, "mobile"},
		{"provider-automatic", m{"certificateOwner": "x", "subject": m{"dateOfBirth": "1.1.1980"}}, 422, 310, "dateOfBirth"},
		{"provider-automatic", `{"certificateOwner":`, 400, 100, ""},
		{"provider-automatic", `{"certificateOwner":"x","certificateOwner":"y"}`, 400, 100, "certificateOwner"},
		{"provider-automatic", `[]`, 400, 100, "object"},
	} {
		a := g.do("POST", "/certificates/"+c.path, c.body)
		text, _ := json.Marshal(c.body)
		a.refused(t, c.path+" "+string(text), c.status, c.code, c.word)
	}
	for _, c := range callbackRefusals(good) {
		g.do("POST", "/certificates/provider-automatic", m{"certificateOwner": "x", "callback": c.callback}).refused(t, c.name, 422, c.code, c.word)
	}
	a := g.raw("POST", "/certificates/provider-automatic", `certificateOwner=x`, "Content-Type", "application/x-www-form-urlencoded")
	if a.Status != http.StatusUnsupportedMediaType {
		t.Errorf("a form: %d", a.Status)
	}
	if got := g.credit(); got != 137 {
		t.Errorf("refused orders cost %v", 137-got)
	}
	g.ok(nil, "GET", "/certificates", nil)
	b := g.buy("automatic", m{})
	if got := g.credit(); got != 0 {
		t.Errorf("%v left of the price", got)
	}
	g.no(402, 611, "POST", "/certificates/provider-automatic", m{"certificateOwner": "x"}, "credit")
	g.ok(nil, "POST", "/certificates/"+b.ID+"/cancel", nil)
	if got := g.credit(); got != 137 {
		t.Errorf("%v after an order was given up", got)
	}
}

// A purchase under an Idempotency-Key is one purchase.
func testPurchaseOnce(t *testing.T, w *world) {
	g := w.tenant(t)
	before, body, key := g.credit(), m{"certificateOwner": "Once Only"}, store.NewID()
	var one, two bought
	g.ok(&one, "POST", "/certificates/provider-automatic", body, "Idempotency-Key", key)
	status, _ := g.post(one.CertificateLink, url.Values{"action": {"approve"}})
	again := g.ok(&two, "POST", "/certificates/provider-automatic", body, "Idempotency-Key", key)
	if status != 200 || one.ID != two.ID || two.State != "DONE" || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%+v, then %+v", one, two) // the same record, as it is now
	}
	if paid := before - g.credit(); paid != 137 {
		t.Errorf("two calls cost %v", paid)
	}
	body["certificateOwner"] = "Once More"
	g.do("POST", "/certificates/provider-automatic", body, "Idempotency-Key", key).refused(t, "another body", 422, 151)
	g.do("POST", "/certificates/provider-automatic", body, "Idempotency-Key", strings.Repeat("k", 256)).refused(t, "a long key", 422, 160, "Idempotency-Key")
}

// The list: newest first, in pages, by kind and state; the sandbox's own are in
// it.
func testCertificateList(t *testing.T, w *world) {
	g := w.guest(t, w.account(t))
	w.nodes[0].run("wallet", "credit", g.me.Email, "100000")
	if a := g.ok(nil, "GET", "/certificates", nil); string(a.Data) != "[]" || a.Message != "" {
		t.Errorf("an empty list: %s", a.Body)
	}
	ordered := g.buy("otp", m{"customReference": "r"})
	cancelled := g.buy("automatic", m{})
	g.ok(nil, "POST", "/certificates/"+cancelled.ID+"/cancel", nil)
	registering := g.buy("automatic", m{})
	g.upload(registering.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()})
	done := g.issue("eseal", m{})
	suspended := g.issue("automatic", m{})
	g.ok(nil, "POST", "/certificates/"+suspended.ID+"/suspend", nil)
	revoked := g.issue("automatic", m{})
	g.ok(nil, "POST", "/certificates/"+revoked.ID+"/revoke", nil)
	all := []string{revoked.ID, suspended.ID, done.ID, registering.ID, cancelled.ID, ordered.ID}
	for query, want := range map[string][]string{
		"":                                  all,
		"?limit=2":                          all[:2],
		"?skip=1&limit=2":                   all[1:3],
		"?skip=6":                           {},
		"?after=" + all[1] + "&limit=2":     all[2:4],
		"?limit=100":                        all,
		"?state=NEW":                        {ordered.ID},
		"?state=REGISTERING":                {registering.ID},
		"?state=WORKING":                    {},
		"?state=DONE":                       {done.ID},
		"?state=SUSPENDED":                  {suspended.ID},
		"?state=EXPIRED":                    {},
		"?state=REVOKED":                    {revoked.ID},
		"?state=CANCELLED":                  {cancelled.ID},
		"?certificateType=EU-QES_automatic": {revoked.ID, suspended.ID, registering.ID, cancelled.ID},
		"?certificateType=EU-QES_otp":       {ordered.ID},
		"?certificateType=EU-QES_eseal":     {done.ID},
		"?certificateType=EU-QES_automatic&state=REVOKED":    {revoked.ID},
		"?certificateType=EU-QES_eseal&state=REVOKED&skip=0": {},
	} {
		var list []detail
		g.ok(&list, "GET", "/certificates"+query, nil)
		got := []string{}
		for _, d := range list {
			got = append(got, d.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "skip=-1", "skip=x", "state=done", "state=WAIT_SIGN", "certificateType=automatic"} {
		name, _, _ := strings.Cut(query, "=")
		g.no(422, 160, "GET", "/certificates?"+query, nil, name)
	}
	var own []detail
	w.sandboxed(t).ok(&own, "GET", "/certificates?state=DONE&limit=100", nil)
	for _, kind := range kinds {
		if !slices.ContainsFunc(own, func(d detail) bool { return d.CertificateType == "EU-QES_"+kind }) {
			t.Errorf("the sandbox lists no %s", kind)
		}
	}
	g.no(400, 141, "GET", "/certificates/xyz", nil)
	g.no(404, 140, "GET", "/certificates/"+store.NewID(), nil)
	w.guest(t, w.other).no(404, 140, "GET", "/certificates/"+done.ID, nil)
}

// Each state allows what it allows, and nothing else; the buyer is told of each
// that is reached.
func testCertificateStates(t *testing.T, w *world) {
	g := w.tenant(t, "--admin")
	h := w.web.hook("certificates", nil)
	make := map[string]func() string{
		"NEW": func() string { return g.buy("otp", m{}).ID },
		"REGISTERING": func() string {
			b := g.buy("automatic", m{})
			g.upload(b.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()})
			return b.ID
		},
		"DONE": func() string { return g.issue("automatic", m{}).ID },
		"SUSPENDED": func() string {
			id := g.issue("automatic", m{}).ID
			g.ok(nil, "POST", "/certificates/"+id+"/suspend", nil)
			return id
		},
		"REVOKED": func() string {
			id := g.issue("automatic", m{}).ID
			g.ok(nil, "POST", "/certificates/"+id+"/revoke", nil)
			return id
		},
		"CANCELLED": func() string {
			id := g.buy("automatic", m{}).ID
			g.ok(nil, "POST", "/certificates/"+id+"/cancel", nil)
			return id
		},
	}
	allowed := map[string]map[string]string{ // state → verb → state
		"NEW":         {"cancel": "CANCELLED"},
		"REGISTERING": {"cancel": "CANCELLED", "review": "DONE"},
		"DONE":        {"suspend": "SUSPENDED", "revoke": "REVOKED"},
		"SUSPENDED":   {"resume": "DONE", "revoke": "REVOKED"},
		"REVOKED":     {},
		"CANCELLED":   {},
	}
	bodies := map[string]any{"review": m{"approve": true}, "password": m{"old": "wrong", "new": "long enough"}}
	for state, begin := range make {
		id := begin()
		if got := g.state(id); got != state {
			t.Fatalf("%s, want %s", got, state)
		}
		for _, verb := range []string{"suspend", "resume", "revoke", "cancel", "enrol", "review", "password"} {
			if _, can := allowed[state][verb]; can {
				continue
			}
			if verb == "password" && (state == "DONE" || state == "SUSPENDED") {
				g.no(422, 310, "POST", "/certificates/"+id+"/password", bodies[verb], "old")
				continue
			}
			g.no(409, 145, "POST", "/certificates/"+id+"/"+verb, bodies[verb])
			if got := g.state(id); got != state {
				t.Errorf("%s of %s made it %s", verb, state, got)
			}
		}
		for verb, to := range allowed[state] {
			id := begin()
			var d detail
			if g.ok(&d, "POST", "/certificates/"+id+"/"+verb, bodies[verb]); d.State != to || g.state(id) != to {
				t.Errorf("%s of %s: %s, want %s", verb, state, d.State, to)
			}
		}
	}
	b := g.buy("automatic", m{"callback": m{"url": h.url, "custom": m{"n": 1}, "retry": 2, "headers": m{"X-Key": "canary of the receiver"}}})
	g.post(b.CertificateLink, url.Values{"action": {"approve"}})
	for _, verb := range []string{"suspend", "resume", "revoke"} {
		g.ok(nil, "POST", "/certificates/"+b.ID+"/"+verb, nil)
	}
	var told []string
	for _, v := range h.wait(t, 6) {
		var body struct {
			Data   detail
			Custom m
		}
		if err := json.Unmarshal(v.body, &body); err != nil || body.Data.ID != b.ID || body.Custom["n"] != 1.0 || v.header.Get("X-Key") == "" {
			t.Errorf("%s: %v", v.body, err)
		}
		told = append(told, body.Data.State)
	}
	if !slices.Equal(told, []string{"REGISTERING", "WORKING", "DONE", "SUSPENDED", "DONE", "REVOKED"}) {
		t.Errorf("told %v", told)
	}
	var d detail
	a := g.ok(&d, "GET", "/certificates/"+b.ID, nil)
	if d.Callback == nil || d.Callback.URL != h.url || d.Callback.Method != "JSON" || d.Callback.Field != "data" || d.Callback.Retry != 2 || strings.Contains(string(a.Body), "canary") {
		t.Errorf("%s", a.Body)
	}
	for _, verb := range []string{"suspend", "resume", "revoke", "cancel", "enrol", "review", "password"} {
		g.no(400, 141, "POST", "/certificates/xyz/"+verb, bodies[verb])
		g.no(404, 140, "POST", "/certificates/"+store.NewID()+"/"+verb, bodies[verb])
	}
}

// An order that is being issued can still be given up, and nothing else. The
// state does not last: the database is made to hold it.
func testWorking(t *testing.T, w *world) {
	g := w.tenant(t, "--admin")
	before := g.credit()
	b := g.buy("otp", m{})
	w.sql(t, "update certificates set state = 'WORKING' where id = '"+b.ID+"'")
	var list []detail
	if g.ok(&list, "GET", "/certificates?state=WORKING", nil); len(list) != 1 || list[0].ID != b.ID {
		t.Errorf("%+v", list)
	}
	for _, verb := range []string{"suspend", "resume", "revoke", "enrol"} {
		g.no(409, 145, "POST", "/certificates/"+b.ID+"/"+verb, nil)
	}
	g.no(409, 145, "POST", "/certificates/"+b.ID+"/review", m{"approve": true})
	g.no(409, 145, "POST", "/certificates/"+b.ID+"/password", m{"old": "x", "new": "long enough"})
	if status, _ := g.post(b.CertificateLink, url.Values{"action": {"approve"}}); status != 409 {
		t.Errorf("the button: %d", status)
	}
	var d detail
	if g.ok(&d, "POST", "/certificates/"+b.ID+"/cancel", nil); d.State != "CANCELLED" || d.CertificateLink != nil || g.credit() != before {
		t.Errorf("%+v, %v came back", d, g.credit()-before)
	}
}

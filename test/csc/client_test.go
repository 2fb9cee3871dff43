package csc

import (
	"archive/zip"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/test/csc/provider"
)

// flows are the names of the providers in the configuration: version and flow.
var flows = []struct {
	name    string
	version int
	flow    string
}{
	{"oneclient", 1, "client_credentials"},
	{"twoclient", 2, "client_credentials"},
	{"onetoken", 1, "token"},
	{"twotoken", 2, "token"},
	{"onecode", 1, "code"},
	{"twocode", 2, "code"},
}

// client is a server whose keys are at a provider.
type client struct {
	*server
	p *provider.Provider
}

// newClient starts a server with the provider under every name of flows.
func newClient(t testing.TB, p *provider.Provider, change ...func(*server)) *client {
	t.Helper()
	asked(t)
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	root := file("root.pem", p.PKI.RootPEM())
	ca, secret, token := file("ca.pem", p.CA()), file("secret", []byte(p.Client.Secret+"\n")), file("token", []byte(p.FixedToken+"\n"))
	config := fmt.Sprintf("public_url: http://{addr}\nnetwork:\n  allow_private: [\"%s\", \"%s\"]\ntrust:\n  anchors: [%q]\nsigning:\n  providers:\n", p.Address(), p.PKIAddress(), root)
	for _, f := range flows {
		config += fmt.Sprintf("    %s:\n      kind: csc\n      url: %s\n      version: auto\n      flow: %s\n      ca: %s\n      timeout: 3s\n", f.name, p.URL(f.version), f.flow, ca)
		if f.flow == "token" {
			config += fmt.Sprintf("      token_file: %s\n", token)
			continue
		}
		config += fmt.Sprintf("      client_id: %s\n      client_secret_file: %s\n", p.Client.ID, secret)
	}
	// Named versions, a version that the address does not have, and one whose TLS certificate is
	// not trusted.
	for name, rest := range map[string]string{"fixedone": fmt.Sprintf("url: %s\n      version: 1\n      ca: %s", p.URL(1), ca), "fixedtwo": fmt.Sprintf("url: %s\n      version: 2\n      ca: %s", p.URL(2), ca), "untrusted": "url: " + p.URL(2)} {
		config += fmt.Sprintf("    %s:\n      kind: csc\n      %s\n      flow: token\n      token_file: %s\n      timeout: 3s\n", name, rest, token)
	}
	for version, name := range map[int]string{1: "plainone", 2: "plaintwo"} {
		config += fmt.Sprintf("    %s:\n      kind: csc\n      url: %s\n      ca: %s\n      flow: client_credentials\n      client_id: %s\n      client_secret_file: %s\n", name, p.PlainURL(version), ca, p.Client.ID, secret)
	}
	s := newServer(t, config, change...)
	p.Client.Redirects = []string{s.url() + "/remote/callback"}
	return &client{s, p}
}

// order buys a certificate and returns its id and link.
func (c *client) order(name, kind string) (id, link string) {
	c.t.Helper()
	var o struct{ ID, CertificateLink, CertificateType, State string }
	c.must(&o, "POST", "/certificates/"+name+"-"+kind, m{"certificateOwner": "Test"})
	if o.CertificateLink == "" || o.CertificateType != "EU-QES_"+kind {
		c.t.Fatalf("the order: %+v", o)
	}
	return o.ID, o.CertificateLink
}

// another is a credential of its own for each that is taken into use: a key
// serves one certificate here.
func (c *client) another(like string) string {
	c.t.Helper()
	id, err := c.p.Another(like)
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// take takes a credential like the one named into use through the pages of an
// order.
func (c *client) take(name, kind, like string) (*holder, error) {
	c.t.Helper()
	credential := c.another(like)
	id, link := c.order(name, kind)
	u, p, err := newBrowser(c.t, c.p.Browser()).enrol(link, credential, credential, c.p.Credential(credential).PIN)
	if err != nil {
		return nil, fmt.Errorf("%s-%s with %s: %w", name, kind, credential, err)
	}
	return c.holder(kind, credential, id, u, p), nil
}

func (c *client) holder(kind, credential, id, username, password string) *holder {
	h := &holder{kind: kind, username: username, password: password, id: id, credential: credential}
	if kind == "otp" {
		h.otp = func() string { return c.p.Code(credential) }
	}
	return h
}

// command takes a credential like the one named into use by `rogito cert
// remote`.
func (c *client) command(name, kind, like string) (*holder, error) {
	c.t.Helper()
	credential := c.another(like)
	args := []string{"cert", "remote", name, credential, "--kind", kind, "--account", c.sandbox.Email, "--json"}
	if cred := c.p.Credential(credential); cred.Mode == "explicit" {
		args = append(args, "--pin-file", c.outside("pin", cred.PIN+"\n"))
	}
	out, err := c.run(args...)
	if err != nil {
		return nil, err
	}
	var got struct{ ID, Username, Password string }
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Username == "" {
		return nil, fmt.Errorf("rogito cert remote prints %q: %w", out, err)
	}
	return c.holder(kind, credential, got.ID, got.Username, got.Password), nil
}

// outside writes a file that is not in the data folder.
func (c *client) outside(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// ready is a holder that must come into being: by the pages for the code flow,
// by the command else.
func (c *client) ready(name, kind, credential string) *holder {
	c.t.Helper()
	take := c.command
	if strings.HasSuffix(name, "code") {
		take = c.take
	}
	h, err := take(name, kind, credential)
	if err != nil {
		c.t.Fatal(err)
	}
	return h
}

// anchors are those that the signatures and their time-stamps are trusted by.
func (c *client) anchors() []string {
	return []string{string(c.p.PKI.RootPEM()), c.sandbox.RootCertificate}
}

// form is a way to sign with what DSS calls it.
type form struct {
	name     string // of the file that is signed
	kind     string // signatureType
	options  m
	dss      string // "PAdES"; "" for values
	file     string // name of the output
	detached bool
}

var forms = []form{
	{"a.pdf", "pades", nil, "PAdES", "a.pdf", false},
	{"a.bin", "cades", nil, "CAdES", "a.bin.p7m", false},
	{"b.bin", "cades", m{"packaging": "detached"}, "CAdES", "b.bin.p7s", true},
	{"c.bin", "cades", m{"packaging": "asic-s"}, "CAdES", "c.asics", false},
	{"d.bin", "cades", m{"packaging": "asic-e"}, "CAdES", "d.asice", false},
	{"a.xml", "xades", nil, "XAdES", "a.xml", false},
	{"e.bin", "xades", m{"packaging": "enveloping"}, "XAdES", "e.xml", false},
	{"b.xml", "xades", m{"packaging": "detached"}, "XAdES", "b-signed.xml", true},
	{"f.bin", "xades", m{"packaging": "asic-s"}, "XAdES", "f.asics", false},
	{"g.bin", "xades", m{"packaging": "asic-e"}, "XAdES", "g.asice", false},
}

// paper is a document of the kind that a name says, unlike any other.
func paper(name, words string) []byte {
	switch filepath.Ext(name) {
	case ".pdf":
		return pdf(words)
	case ".xml":
		return []byte(`<?xml version="1.0" encoding="UTF-8"?><invoice><note>` + html.EscapeString(words) + `</note></invoice>`)
	}
	return []byte("plain words: " + words)
}

// keysOf are the credentials by kind that the formats are tried with.
var keysOf = map[string][]string{"automatic": {"rsa", "p256", "rsa3072"}, "otp": {"rsa-otp", "p256-otp"}, "eseal": {"seal", "rsa"}}

// TestFormats signs in every format at every level with keys at the provider;
// DSS and our own verdict must accept all. In the quick form each combination
// of format and level is tried once, with kinds, keys, versions and flows in
// turn; ROGITO_CSC=all tries each with each kind and key.
func TestFormats(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	holders := map[string]*holder{}
	get := func(name, kind, key string) *holder {
		id := name + kind + key
		if holders[id] == nil {
			holders[id] = c.ready(name, kind, key)
		}
		return holders[id]
	}
	turn, signed := 0, 0
	one := func(f form, level, name, kind, key string) {
		t.Run(fmt.Sprintf("%s-%s %v/%s/%s/%s", f.dss, level, f.options["packaging"], name, kind, key), func(t *testing.T) {
			outer := c.t
			c.t = t
			defer func() { c.t = outer }()
			options := m{"level": level}
			for k, v := range f.options {
				options[k] = v
			}
			doc := paper(f.name, t.Name())
			r := c.sign(get(name, kind, key), []m{{"sourceType": "base64", "payload": b64(doc), "name": f.name}}, f.kind, options)
			out := c.signed(r)
			if r.Options.AchievedLevel == nil || *r.Options.AchievedLevel != level {
				t.Errorf("achievedLevel %v, want %s", r.Options.AchievedLevel, level)
			}
			var content []byte
			if f.detached {
				content = doc
			}
			c.valid(out, content)
			dss.passed(t, out, f.file, f.dss+"-"+level, content, c.anchors()...)
			signed++
		})
	}
	kinds := []string{"automatic", "otp", "eseal"}
	for _, f := range forms {
		for _, level := range []string{"B", "T", "LT", "LTA"} {
			if !all {
				kind := kinds[turn%3]
				keys := keysOf[kind]
				one(f, level, flows[turn%len(flows)].name, kind, keys[turn/3%len(keys)])
				turn++
				continue
			}
			for _, kind := range kinds {
				for i, key := range keysOf[kind] { // versions and flows in turn
					one(f, level, flows[(turn+i)%len(flows)].name, kind, key)
				}
			}
			turn++
		}
	}
	for i, key := range []string{"rsa", "p256"} {
		t.Run("pkcs1 "+key, func(t *testing.T) {
			h := get(flows[i].name, "automatic", key)
			doc := paper("v.bin", t.Name())
			value := c.signed(c.sign(h, []string{b64(doc)}, "pkcs1", nil))
			if err := verifies(p.Credential(h.credential).Actor.Certificate, doc, value); err != nil {
				t.Error(err)
			}
			signed++
		})
	}
	if got := p.Signed(); got != signed {
		t.Errorf("%d values for %d signatures", got, signed)
	}
	t.Logf("%d signatures, %d values, %d calls", signed, p.Signed(), len(p.Calls("")))
}

// verifies checks a bare value, ECDSA as DER or r‖s.
func verifies(cert *x509.Certificate, doc, value []byte) error {
	digest := sha256.Sum256(doc)
	switch pub := cert.PublicKey.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(pub, crypto.SHA256, digest[:], value)
	case *ecdsa.PublicKey:
		if ecdsa.VerifyASN1(pub, digest[:], value) {
			return nil
		}
		half := len(value) / 2
		if ecdsa.Verify(pub, digest[:], new(big.Int).SetBytes(value[:half]), new(big.Int).SetBytes(value[half:])) {
			return nil
		}
	}
	return fmt.Errorf("the value of %d bytes is wrong", len(value))
}

// unzipped are the files of a batch but the report.
func unzipped(t testing.TB, b []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if f.Name != "report.json" {
			out[f.Name] = text
		}
	}
	return out
}

// batch are n different PDFs.
func batch(words string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = b64(pdf(fmt.Sprintf("%s %d", words, i)))
	}
	return out
}

// TestBatch signs many documents in as few calls as multisign allows.
func TestBatch(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	for i, f := range flows[:2] {
		t.Run(f.name, func(t *testing.T) {
			h := c.ready(f.name, "automatic", []string{"rsa", "p256"}[i])
			before, credit := len(p.Calls("signatures/signHash")), c.credit()
			r := c.sign(h, batch(t.Name(), 25), "pades", m{"batch": true})
			files := unzipped(t, c.signed(r))
			if len(files) != 25 {
				t.Fatalf("%d files", len(files))
			}
			for name, b := range files {
				if name < "0003" {
					c.valid(b, nil)
				}
			}
			calls := p.Calls("signatures/signHash")[before:]
			var sizes []int
			for _, call := range calls {
				sizes = append(sizes, len(call.Hashes()))
			}
			slices.Sort(sizes)
			if !slices.Equal(sizes, []int{5, 10, 10}) {
				t.Errorf("25 documents with multisign 10 went out as %v", sizes)
			}
			if paid := credit - c.credit(); paid <= 0 {
				t.Errorf("paid %v", paid)
			}
		})
	}
	t.Run("one-time password", func(t *testing.T) {
		h := c.ready("twotoken", "otp", "p256-otp")
		r := c.sign(h, batch(t.Name(), 7), "pades", m{"batch": true})
		if files := unzipped(t, c.signed(r)); len(files) != 7 {
			t.Errorf("%d files", len(files))
		}
		// The same code again: refused there, with its words, and no lock here.
		code := p.Code(h.credential)
		h.otp = func() string { return code }
		if r := c.sign(h, []string{b64(pdf("first"))}, "pades", nil); r.State != "DONE" {
			t.Errorf("%s %s", r.end(), r.says())
		}
		for i := range 7 {
			if r := c.sign(h, []string{b64(pdf(fmt.Sprint("again", i)))}, "pades", nil); r.end() != "121" || !strings.Contains(r.says(), "The code is wrong or was used") {
				t.Errorf("%s %s", r.end(), r.says())
			}
		}
		h.otp = func() string { return p.Code(h.credential) }
		if r := c.sign(h, []string{b64(pdf("last"))}, "pades", nil); r.State != "DONE" {
			t.Errorf("after refusals there: %s %s", r.end(), r.says())
		}
	})
	t.Run("one that cannot be signed", func(t *testing.T) {
		h := c.ready("oneclient", "automatic", "p256")
		docs, credit := batch(t.Name(), 12), c.credit()
		docs[5] = b64([]byte("%PDF-1.7 this is none"))
		before := len(p.Calls("signatures/signHash"))
		r := c.sign(h, docs, "pades", m{"batch": true})
		if files := unzipped(t, c.signed(r)); len(files) != 11 {
			t.Errorf("%d files", len(files))
		}
		if paid := credit - c.credit(); fmt.Sprintf("%.3f", paid) != fmt.Sprintf("%.3f", 11*price) {
			t.Errorf("paid %.3f for 11", paid)
		}
		if n := len(p.Calls("signatures/signHash")) - before; n != 2 {
			t.Errorf("%d calls for 11 documents", n)
		}
	})
	t.Run("states here", func(t *testing.T) {
		h, err := c.take("twoclient", "automatic", "p256")
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range [][2]string{{"suspend", "112"}, {"resume", "DONE"}, {"revoke", "112"}} {
			c.must(nil, "POST", "/certificates/"+h.id+"/"+step[0], m{})
			before := p.Signed()
			r := c.sign(h, []string{b64(pdf(t.Name() + step[0]))}, "pades", nil)
			if r.end() != step[1] || p.Signed()-before != map[bool]int{true: 1}[step[1] == "DONE"] {
				t.Errorf("after %s: %s %s, %d values", step[0], r.end(), r.says(), p.Signed()-before)
			}
		}
	})
	t.Run("asynchronous", func(t *testing.T) {
		h := c.ready("twoclient", "eseal", "seal")
		r := c.sign(h, batch(t.Name(), 3), "pades", m{"batch": true, "asyncSignature": true})
		r = c.finally(r.ID)
		if files := unzipped(t, c.signed(r)); len(files) != 3 {
			t.Errorf("%d files", len(files))
		}
	})
}

// finally waits until a record is final.
func (c *client) finally(id string) *record {
	c.t.Helper()
	for range await.Within(await.Limit) {
		var r record
		c.must(&r, "GET", "/signatures/"+id, nil)
		if r.State == "DONE" || r.State == "ERROR" {
			return &r
		}
	}
	c.t.Fatalf("record %s never ends", id)
	return nil
}

// TestEnrolment: pages, states, refusals before a key is taken into use.
func TestEnrolment(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	for _, f := range flows {
		t.Run(f.name+" by page", func(t *testing.T) {
			h, err := c.take(f.name, "automatic", "rsa")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(h.username, "AHI") || h.password == "" {
				t.Errorf("username %q", h.username)
			}
			if r := c.sign(h, []string{b64(pdf(t.Name()))}, "pades", nil); r.State != "DONE" {
				t.Errorf("%s %s", r.end(), r.says())
			}
			var d struct{ State, SerialNumber, SubjectDN, IssuerDN, NotAfter string }
			c.must(&d, "GET", "/certificates/"+h.id, nil)
			if leaf := p.Credential(h.credential).Actor.Certificate; d.State != "DONE" || d.SerialNumber == "" || !strings.Contains(d.SubjectDN, leaf.Subject.CommonName) {
				t.Errorf("%+v", d)
			}
			wrong := *h
			wrong.password = "wrong"
			if r := c.sign(&wrong, []string{b64(pdf("wrong"))}, "pades", nil); r.end() != "110" {
				t.Errorf("a wrong password of ours: %s", r.end())
			}
		})
	}
	for _, name := range []string{"fixedone", "fixedtwo", "plainone", "plaintwo"} {
		t.Run(name, func(t *testing.T) {
			h := c.ready(name, "eseal", "seal")
			if r := c.sign(h, []string{b64(pdf(t.Name()))}, "pades", nil); r.State != "DONE" || !strings.HasPrefix(h.username, "SHI") {
				t.Errorf("%s: %s %s", h.username, r.end(), r.says())
			}
		})
	}
	t.Run("TLS that nobody trusts", func(t *testing.T) {
		if _, err := c.command("untrusted", "automatic", "p256"); err == nil {
			t.Error("a key was taken into use")
		}
	})
	t.Run("given up at the provider", func(t *testing.T) {
		id, link := c.order("twocode", "automatic")
		if u, _, err := newBrowser(t, p.Browser()).enrol(link, "deny", "", ""); err == nil {
			t.Errorf("credentials for %s", u)
		}
		var o struct{ State string }
		c.must(&o, "GET", "/certificates/"+id, nil)
		if o.State == "DONE" {
			t.Error("the order is DONE")
		}
	})
	t.Run("wrong state", func(t *testing.T) {
		signed := p.Signed()
		for _, query := range []string{"", "?code=abc", "?code=abc&state=def", "?error=access_denied&state=x"} {
			b := newBrowser(t, p.Browser())
			b.open(c.url() + "/remote/callback" + query)
			if b.status < 400 || b.status >= 500 {
				t.Errorf("%q: %d", query, b.status)
			}
		}
		if p.Signed() != signed {
			t.Error("something was signed")
		}
	})
	t.Run("another browser", func(t *testing.T) {
		_, link := c.order("onecode", "automatic")
		victim := newBrowser(t, p.Browser())
		victim.open(link)
		for range 4 { // to the provider's page, which stands at another address
			if victim.at.Host == p.Address() {
				break
			}
			if f := victim.form(""); f != nil {
				victim.submit(f, nil)
			}
		}
		if victim.at.Host != p.Address() {
			t.Fatalf("at %s, not at the provider: %.800s", victim.at, victim.text)
		}
		thief := newBrowser(t, p.Browser())
		thief.open(victim.at.String())
		thief.submit(thief.form("user"), map[string]string{"user": "rsa", "password": "password"})
		if thief.byID("certificate-username") != "" || thief.status < 400 {
			t.Errorf("an answer in another browser: %d at %s", thief.status, thief.at.Path)
		}
	})
	for _, name := range []string{"oneclient", "twotoken"} {
		t.Run("wrong credential "+name, func(t *testing.T) {
			id, link := c.order(name, "automatic")
			if _, _, err := newBrowser(t, p.Browser()).enrol(link, "", "nobody", "0"); err == nil {
				t.Error("a credential that is not there was taken")
			}
			var o struct{ State string }
			c.must(&o, "GET", "/certificates/"+id, nil)
			if o.State == "DONE" {
				t.Error("the order is DONE")
			}
			if _, err := c.run("cert", "remote", name, "nobody", "--kind", "automatic", "--account", c.sandbox.Email, "--json"); err == nil {
				t.Error("the command took a credential that is not there")
			}
		})
	}
	t.Run("provider test", func(t *testing.T) {
		for _, f := range flows[:4] {
			if out, err := c.run("provider", "test", f.name); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
		if out, err := c.run("provider", "test", "nobody"); err == nil {
			t.Errorf("a provider that is not configured: %s", out)
		}
	})
}

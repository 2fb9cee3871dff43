package remote_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
	"rogito.dev/rogito/test/providers/fake"
)

// far is a provider that speaks SOAP, with a server that knows it.
type far struct {
	*site
	p *fake.Service
}

// newFar starts a fake provider and a server that has it as "far".
func newFar(t *testing.T, kind string, change ...func(*server.Provider)) *far {
	t.Helper()
	p, err := fake.Start(kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &far{newSite(t, sitetest.Alone(t), atFar(t, p, change...)), p}
}

func atFar(t *testing.T, p *fake.Service, change ...func(*server.Provider)) func(*server.Config) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := server.Provider{Kind: p.Kind, URL: p.URL(), CA: write("ca.pem", p.CA()), Timeout: 2 * time.Second}
	if p.Kind == fake.ARSS {
		one.Domain = fake.Domain
	}
	for _, f := range change {
		f(&one)
	}
	return func(c *server.Config) {
		c.Signing.Providers = map[string]server.Provider{"far": one}
		c.Trust.Anchors = append(c.Trust.Anchors, write("root.pem", p.PKI.RootPEM()))
		c.Network.AllowPrivate = append(c.Network.AllowPrivate, "127.0.0.1")
	}
}

func passes(p *server.Provider) { p.StoreCredentials = new(bool) }

func (f *far) device(actor, kind string, change ...func(*fake.Device)) *fake.Device {
	f.T.Helper()
	d, err := f.p.Add(actor, kind, change...)
	if err != nil {
		f.T.Fatal(err)
	}
	return d
}

// order buys a certificate of the provider.
func (f *far) order(kind string) bought {
	f.T.Helper()
	a := f.Do("POST", "/certificates/far-"+kind, m{"certificateOwner": "Elsa Prova"})
	var b bought
	if a.Status != 200 || json.Unmarshal(a.Data, &b) != nil {
		f.T.Fatalf("%d/%d %s", a.Status, a.Code(), a.Message)
	}
	return b
}

// take takes a key into use on the page of an order.
func (f *far) take(kind string, d *fake.Device) (server.SandboxCredentials, string) {
	f.T.Helper()
	page := f.Page(f.order(kind).CertificateLink, url.Values{
		"action": {"account"}, "username": {d.Name}, "password": {d.Password}, "delegate": {d.Delegate}, "delegatePassword": {d.DelegatePassword},
	})
	return server.SandboxCredentials{Username: element(page, "certificate-username"), Password: element(page, "certificate-password")}, page
}

func (f *far) credit() (n float64) {
	f.T.Helper()
	var w struct{ Credit float64 }
	if err := json.Unmarshal(f.Do("GET", "/credit", nil).Data, &w); err != nil {
		f.T.Fatal(err)
	}
	return w.Credit
}

// code is what a request of a kind has beside the rest.
func (f *far) code(d *fake.Device) m {
	if !d.OTP {
		return m{}
	}
	return m{"certificateOtp": f.p.Code(d.Name), "certificateIdOtp": -1}
}

var bothKinds = []string{fake.ARSS, fake.SWS}

// Every format and level, with keys that were taken in and keys that are passed
// through, of every kind.
func TestAccountsFormats(t *testing.T) {
	await.All(t)
	t.Parallel()
	for _, kind := range bothKinds {
		for _, passed := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, " passed ", passed), func(t *testing.T) {
				f := newFar(t, kind, func(p *server.Provider) {
					if passed {
						passes(p)
					}
				})
				for _, of := range []struct{ kind, actor string }{{"automatic", "good"}, {"otp", "both-usages"}, {"eseal", "rsa3072"}} {
					d := f.device(of.actor, of.kind)
					c := server.SandboxCredentials{Username: d.Name, Password: d.Password}
					if !passed {
						var page string
						if c, page = f.take(of.kind, d); c.Username == "" {
							t.Fatalf("no credentials: %s", page)
						}
					}
					for _, form := range []struct {
						doc     []byte
						options m
					}{
						{sitetest.SamplePDF, m{"level": "B"}},
						{sitetest.SamplePDF, m{"level": "LTA"}},
						{sitetest.SamplePDF, m{"level": "LTV"}},
						{sitetest.SampleXML, m{"level": "LT"}},
						{sitetest.SampleTXT, m{"level": "T"}},
						{sitetest.SampleTXT, m{"packaging": "asic-e", "level": "LTA"}},
						{sitetest.SampleTXT, m{"hashAlgorithm": "SHA512"}},
						{sitetest.SampleXML, m{"hashAlgorithm": "SHA384"}},
					} {
						more := f.code(d)
						more["options"] = form.options
						r := signFar(f.site, of.kind, c, b64(form.doc), more)
						f.once(fmt.Sprint(of.kind, form.options))
						if r.State != "DONE" {
							t.Errorf("%s %v: %s %d %s", of.kind, form.options, r.State, r.Number(), deref(r.ErrorMessage))
							continue
						}
						var v struct{ Indication string }
						a := f.Do("POST", "/verify", m{"inputDocument": b64(f.Download(r.ID, "signedDocument"))})
						_ = json.Unmarshal(a.Data, &v)
						if v.Indication != "TOTAL-PASSED" {
							t.Errorf("%s %v: %s %s", of.kind, form.options, v.Indication, a.Data)
						}
					}
				}
				f.settled(t)
				if passed {
					if a := f.Do("GET", "/certificates", nil); bytes.Contains(a.Data, []byte("passed")) || bytes.Contains(a.Data, []byte(`"far"`)) {
						t.Errorf("something is kept: %s", a.Data)
					}
				}
			})
		}
	}
}

// once demands that a request sent no digest twice. The same document may have the
// same digest in another request.
func (f *far) once(what string) {
	f.T.Helper()
	if again := f.p.Repeated(); len(again) > 0 {
		f.T.Errorf("%s: sent twice: %v", what, again)
	}
	f.p.NewPage()
}

// settled demands that nothing was sent twice, that the provider has nothing to
// complain about, that no session is open, and that the log is good.
func (f *far) settled(t *testing.T) {
	t.Helper()
	f.once("at last")
	for _, c := range f.p.Complaints() {
		t.Errorf("the provider complains: %s", c)
	}
	if n := f.p.OpenSessions(); n > 0 {
		t.Errorf("%d sessions are open", n)
	}
	f.VerifyAudit()
}

// Every oddity of both providers ends in the code of the contract; nothing is sent
// twice, and nothing that failed costs anything.
func TestAccountsOddities(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, kind)
			plain, coded := f.device("good", "automatic"), f.device("good", "otp")
			cPlain, page := f.take("automatic", plain)
			cCoded, _ := f.take("otp", coded)
			if cPlain.Username == "" || cCoded.Username == "" {
				t.Fatalf("no credentials: %s", page)
			}
			for _, o := range fake.Of(kind) {
				f.p.Forget()
				f.p.Switch(o)
				before := f.credit()
				of, c, d := "automatic", cPlain, plain
				if o.OTP {
					of, c, d = "otp", cCoded, coded
				}
				docs := make([]string, max(1, o.Docs))
				for i := range docs {
					docs[i] = b64(fmt.Appendf(nil, "%s %d", o.Name, i))
				}
				more := f.code(d)
				if o.Docs > 1 {
					more["options"] = m{"batch": true}
				}
				r := signFar(f.site, of, c, docs, more)
				end, paid := r.State, before-f.credit()
				if n := r.Number(); n != 0 {
					end = fmt.Sprint(n)
				}
				some := strings.Contains(o.Want, " of ")
				switch {
				case some && end == "DONE":
					if want := 0.05 * float64(len(docs)-1); paid < want-1e-6 || paid > want+1e-6 {
						t.Errorf("%s: it cost %v", o.Name, paid)
					}
				case !slices.Contains(strings.Fields(o.Want), end):
					t.Errorf("%s: %s %q, want %s", o.Name, end, deref(r.ErrorMessage), o.Want)
				case end != "DONE" && paid != 0:
					t.Errorf("%s: it cost %v", o.Name, paid)
				}
				if again := f.p.Repeated(); len(again) > 0 {
					t.Errorf("%s: sent twice: %v", o.Name, again)
				}
				secrets := []string{plain.Password, coded.Password, "sess-", "key-"}
				if code, ok := more["certificateOtp"].(string); ok {
					secrets = append(secrets, code)
				}
				for _, secret := range secrets {
					if strings.Contains(deref(r.ErrorMessage), secret) {
						t.Errorf("%s: a secret is told: %s", o.Name, deref(r.ErrorMessage))
					}
					if said := f.Run.Log.String(); strings.Contains(said, secret) {
						t.Errorf("%s: the log has %q", o.Name, secret)
					}
				}
			}
			f.p.Forget()
			if r := signFar(f.site, "automatic", cPlain, b64(sitetest.SampleTXT)); r.State != "DONE" {
				t.Errorf("after all oddities: %s", deref(r.ErrorMessage))
			}
			f.settled(t)
		})
	}
}

// What is taken in is looked at first.
func TestAccountsTaken(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		f := newFar(t, kind)
		for actor, words := range map[string]string{"p256": "", "expired": "expired", "suspended": "suspended", "revoked": "revoked"} {
			d := f.device(actor, "automatic")
			if c, page := f.take("automatic", d); (c.Username != "") != (words == "") || !strings.Contains(page, words) {
				t.Errorf("%s, %s: %q %s", kind, actor, c.Username, page)
			}
		}
		d := f.device("good", "automatic")
		wrong := *d
		wrong.Password = "wrong-password"
		if c, page := f.take("automatic", &wrong); c.Username != "" || strings.Contains(page, "wrong-password") {
			t.Errorf("%s: a wrong password: %s", kind, page)
		}
		if c, _ := f.take("automatic", d); c.Username == "" {
			t.Errorf("%s: not taken", kind)
		}
		if kind == fake.ARSS {
			d := f.device("good", "automatic", func(d *fake.Device) {
				d.Password, d.Delegate, d.DelegatePassword = "", "delegate", "Secret-of-the-delegate"
			})
			c, page := f.take("automatic", d)
			if c.Username == "" {
				t.Fatalf("a delegate: %s", page)
			}
			if r := signFar(f.site, "automatic", c, []string{b64(sitetest.SamplePDF), b64(sitetest.SampleTXT)}, m{"options": m{"batch": true}}); r.State != "DONE" {
				t.Errorf("a delegate: %s", deref(r.ErrorMessage))
			}
		}
		// Codes are sent while the order waits, and afterwards by what the holder has here.
		d = f.device("good", "otp")
		link := f.order("otp").CertificateLink
		if page := f.Page(link, nil); !strings.Contains(page, "/send-otp") || strings.Contains(page, `name="certificateOtp"`) {
			t.Errorf("%s: the page has no button: %s", kind, page)
		}
		page := f.Page(link+"/send-otp", url.Values{"username": {d.Name}, "password": {d.Password}})
		if !strings.Contains(page, "otp-sent") || len(f.p.CodesSent()) != 1 {
			t.Errorf("%s: no code was sent: %s", kind, page)
		}
		page = f.Page(link, url.Values{"action": {"account"}, "username": {d.Name}, "password": {d.Password}})
		f.Page(link+"/send-otp", url.Values{"username": {element(page, "certificate-username")}, "password": {element(page, "certificate-password")}})
		if len(f.p.CodesSent()) != 2 {
			t.Errorf("%s: no second code was sent", kind)
		}
		if page := f.Page(link+"/send-otp", url.Values{"username": {d.Name}, "password": {"wrong"}}); strings.Contains(page, "otp-sent") || len(f.p.CodesSent()) != 2 {
			t.Errorf("%s: a code for a wrong password", kind)
		}
		f.settled(t)
	}
}

// A certificate that was revoked since is not used at the levels that carry
// revocation data.
func TestAccountsRevoked(t *testing.T) {
	t.Parallel()
	f := newFar(t, fake.SWS)
	d := f.device("good", "automatic")
	c, _ := f.take("automatic", d)
	f.p.PKI.Revoke(d.Actor, 6)
	sent := len(f.p.Sent())
	if r := signFar(f.site, "automatic", c, b64(sitetest.SamplePDF), m{"options": m{"level": "LT"}}); r.Number() != 112 || !strings.Contains(deref(r.ErrorMessage), "suspended") || len(f.p.Sent()) != sent {
		t.Errorf("%s %d %s", r.State, r.Number(), deref(r.ErrorMessage))
	}
}

// Calls of clients of the hosted service, with the provider's own username: they
// sign, synchronously and not, and no password is on disk.
func TestAccountsPassedThrough(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		f := newFar(t, kind, passes)
		d, coded := f.device("good", "automatic"), f.device("good", "otp")
		_, series := get(t, f.URL+"/metrics")
		if call := map[string]string{"arss": "signhash", "sws": "signPkcs1"}[kind]; !strings.Contains(series, `rogito_provider_request_seconds_count{operation="`+call+`",provider="far",result="silent"} 0`) {
			t.Errorf("%s: no series of %s before the first call", kind, call)
		}
		b := m{"certificateUsername": d.Name, "certificatePassword": d.Password, "title": "Contract", "description": "x", "signatureType": "pades"}
		doc := m{"sourceType": "base64", "payload": b64(sitetest.SamplePDF), "url": nil, "headers": nil, "method": nil, "postData": nil}
		for name, change := range map[string]m{
			"a base64 string":  {"inputDocuments": b64(sitetest.SamplePDF)},
			"an array":         {"inputDocuments": []m{doc}, "options": m{"asyncDocumentsValidation": false, "asyncSignature": false, "level": "B", "hashAlgorithm": "SHA256", "page": 1}},
			"the seed's name":  {"inputDocument": []m{doc}},
			"a digest":         {"inputDocuments": []m{{"sourceType": "base64Hash", "payload": b64(bytes.Repeat([]byte{7}, 32))}}, "signatureType": "pkcs1"},
			"several, a batch": {"inputDocuments": []string{b64(sitetest.SamplePDF), b64(sitetest.SampleTXT), b64(sitetest.SampleXML)}, "signatureType": nil, "options": m{"batch": true}},
			"asynchronous":     {"inputDocuments": b64(sitetest.SamplePDF), "options": m{"asyncSignature": true}},
			"validated later":  {"inputDocuments": b64(sitetest.SamplePDF), "options": m{"asyncDocumentsValidation": true, "asyncSignature": true}},
		} {
			body := m{}
			for _, x := range []m{b, change} {
				for k, v := range x {
					body[k] = v
				}
			}
			r := f.Record(f.Do("POST", "/EU-QES_automatic", body))
			if r = f.finally(r.ID); r.State != "DONE" {
				t.Errorf("%s, %s: %s %d %s", kind, name, r.State, r.Number(), deref(r.ErrorMessage))
			}
			f.once(name)
		}
		r := f.Record(f.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": coded.Name, "certificatePassword": coded.Password, "certificateOtp": f.p.Code(coded.Name), "certificateIdOtp": -1}))
		if r.State != "DONE" {
			t.Errorf("%s: with a code: %d %s", kind, r.Number(), deref(r.ErrorMessage))
		}
		f.once("with a code")
		before := f.credit()
		for name, x := range map[string]struct {
			user, password, otp string
			want                int
		}{"a wrong password": {d.Name, "wrong-password", "", 110}, "nobody": {"AHI0000000", "wrong-password", "", 110}, "a wrong code": {coded.Name, coded.Password, "000000", 116}} {
			body, path := m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": x.user, "certificatePassword": x.password}, "/EU-QES_automatic"
			if x.otp != "" {
				body["certificateOtp"], path = x.otp, "/EU-QES_otp"
			}
			for range 7 { // nothing locks here
				if r := f.Record(f.Do("POST", path, body)); r.Number() != x.want {
					t.Errorf("%s, %s: %d %s", kind, name, r.Number(), deref(r.ErrorMessage))
				}
				f.once(name)
			}
		}
		if f.credit() != before {
			t.Errorf("%s: what was refused cost %v", kind, before-f.credit())
		}
		if a := f.Do("POST", "/certificates/far-automatic", m{"certificateOwner": "Elsa Prova"}); a.Status != http.StatusNotFound || a.Code() != 305 {
			t.Errorf("%s: an order: %d/%d", kind, a.Status, a.Code())
		}
		f.settled(t)
		f.nowhere(d.Password, coded.Password)
	}
}

// finally is a record that has ended.
func (f *far) finally(id string) *record {
	f.T.Helper()
	var r *record
	for range await.Within(await.Limit) {
		if r = f.Record(f.Do("GET", "/signatures/"+id, nil)); r.State == "DONE" || r.State == "ERROR" {
			break
		}
	}
	return r
}

// nowhere demands that secrets stand in no file of the server, and in no answer.
func (f *far) nowhere(secrets ...string) {
	f.T.Helper()
	err := filepath.WalkDir(f.Config.Data, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // what is gone meanwhile has nothing
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		for _, s := range secrets {
			if bytes.Contains(text, []byte(s)) || bytes.Contains(text, []byte(hex.EncodeToString([]byte(s)))) {
				f.T.Errorf("a password stands in %s", path)
			}
		}
		return nil
	})
	if err != nil {
		f.T.Fatal(err)
	}
}

// A configuration that cannot be is refused, by the name of what is wrong.
func TestAccountsConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, names := range map[string]string{
		"kind: arss": "url",
		"kind: sws\n      url: http://x\n      domain: y":                  "domain",
		"kind: sws\n      url: http://x\n      hsm: y":                     "hsm",
		"kind: arss\n      url: http://x\n      pin: y":                    "pin",
		"kind: arss\n      url: http://x\n      flow: token":               "flow",
		"kind: arss\n      url: http://x\n      client_certificate: a.pem": "client_key",
		"kind: sws\n      url: http://x\n      client_key: a.pem":          "client_certificate",
		"kind: sws\n      url: ftp://x":                                    "url",
		"kind: soap\n      url: http://x":                                  "soap",
		"kind: sws\n      url: http://x\n      per_second: -1":             "per_second",
		"kind: sws\n      url: http://x\n      per_second: .nan":           "per_second",
		"kind: sws\n      url: http://x\n      per_second: many":           "per_second",
		"kind: arss\n      url: http://x\n      timeout: 3":                "timeout",
		"kind: arss\n      url: http://x\n      timeout: -3s":              "timeout",
		"kind: arss\n      url: http://x\n      store_credentials: maybe":  "store_credentials",
		"kind: arss\n      url: http://x\n      ca: /no/such/file":         "ca",
		"kind: sws\n      url: http://x\n      store_credentials: false\n    second:\n      kind: arss\n      url: http://y\n      store_credentials: false": "store_credentials",
		"kind: csc\n      url: http://x\n      flow: token\n      store_credentials: false":                                                                  "store_credentials",
	} {
		path := filepath.Join(dir, "rogito.yaml")
		if err := os.WriteFile(path, []byte("signing:\n  providers:\n    far:\n      "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := server.Load(path, nil, nil); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%q: %v, want something of %s", text, err, names)
		}
	}
}

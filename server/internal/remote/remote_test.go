package remote_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// Every format and level with keys at a provider, in both versions of the
// protocol.
func TestRemoteFormats(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1", "2"} {
		t.Run("v"+version, func(t *testing.T) {
			p := newProvider(t, version)
			s := newSite(t, p.Configure("client_credentials"))
			for _, key := range []struct{ kind, credential, pin string }{{"automatic", "rsa", "1234"}, {"otp", "otp", "1234"}, {"eseal", "seal", ""}, {"automatic", "pss", ""}} {
				c := s.Remote(key.kind, key.credential, key.pin)
				for _, f := range []struct {
					doc     []byte
					options m
				}{
					{sitetest.SamplePDF, m{"level": "B"}},
					{sitetest.SamplePDF, m{"level": "LTA"}},
					{sitetest.SampleXML, m{"level": "LT"}},
					{sitetest.SampleTXT, m{"level": "T"}},
					{sitetest.SampleTXT, m{"packaging": "asic-e", "level": "LTA"}},
					{sitetest.SampleTXT, m{"hashAlgorithm": "SHA512"}},
				} {
					more := m{"options": f.options, "certificateOtp": "000111"}
					r := signFar(s, key.kind, c, b64(f.doc), more)
					if r.State != "DONE" {
						t.Errorf("%s %v: %s %d %s", key.credential, f.options, r.State, r.Number(), deref(r.ErrorMessage))
						continue
					}
					var v struct{ Indication string }
					a := s.Do("POST", "/verify", m{"inputDocument": b64(s.Download(r.ID, "signedDocument"))})
					_ = json.Unmarshal(a.Data, &v)
					if v.Indication != "TOTAL-PASSED" {
						t.Errorf("%s %v: %s %s", key.credential, f.options, v.Indication, a.Data)
					}
				}
			}
			if again := p.Twice(); len(again) > 0 {
				t.Errorf("sent twice: %v", again)
			}
			s.VerifyAudit()
		})
	}
}

// What a provider does wrong ends as the contract says; no hash is sent twice,
// and what failed costs nothing.
func TestRemoteFaults(t *testing.T) {
	t.Parallel()
	p := newProvider(t, "1")
	s := newSite(t, p.Configure("client_credentials"))
	c := s.Remote("automatic", "p256", "1234")
	other, _ := p.PKI.Actor(t, "third").Key.Sign(rand.Reader, make([]byte, 32), crypto.SHA256)
	answer := func(status int, header, body string) func(http.ResponseWriter, int, map[string]any) bool {
		return func(w http.ResponseWriter, _ int, _ map[string]any) bool {
			if name, value, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	first := func(f func(http.ResponseWriter, int, map[string]any) bool) func(http.ResponseWriter, int, map[string]any) bool {
		return func(w http.ResponseWriter, n int, body map[string]any) bool { return n == 1 && f(w, n, body) }
	}
	cut := func(head string) func(http.ResponseWriter, int, map[string]any) bool {
		return func(w http.ResponseWriter, _ int, _ map[string]any) bool {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return true
			}
			_, _ = conn.Write([]byte(head))
			return conn.Close() == nil
		}
	}
	hang := func(w http.ResponseWriter, _ int, _ map[string]any) bool {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return true
		}
		_ = conn.SetReadDeadline(time.Now().Add(await.Limit))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("nobody hung up: %v", err)
		}
		return conn.Close() == nil
	}
	for _, x := range []struct {
		name, method string
		do           func(http.ResponseWriter, int, map[string]any) bool
		want         int
		text         string
	}{
		{"info refuses", "credentials/info", answer(400, "", `{"error":"invalid_request","error_description":"unknown credential"}`), 121, "unknown credential"},
		{"info fails", "credentials/info", answer(500, "", ``), 121, "500"},
		{"info hangs", "credentials/info", hang, 121, "reached"},
		{"suspended", "credentials/info", answer(200, "", `{"cert":{"status":"suspended","certificates":["`+base64.StdEncoding.EncodeToString(p.Keys["p256"].Actor.Certificate.Raw)+`"]}}`), 112, "SUSPENDED"},
		{"authorize refuses", "credentials/authorize", answer(400, "", `{"error":"invalid_pin"}`), 121, "invalid_pin"},
		{"authorize gives no SAD", "credentials/authorize", answer(200, "", `{}`), 121, "authorization"},
		{"authorize is cut", "credentials/authorize", cut("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{"), 121, "reached"},
		{"401 once", "signatures/signHash", first(answer(401, "", `{"error":"invalid_token"}`)), 0, ""},
		{"401 always", "signatures/signHash", answer(401, "", `{"error":"invalid_token"}`), 121, "invalid_token"},
		{"429 with a time", "signatures/signHash", first(answer(429, "Retry-After: 1", ``)), 0, ""},
		{"429 without", "signatures/signHash", answer(429, "", ``), 121, "429"},
		{"503 with a time", "signatures/signHash", first(answer(503, "Retry-After: 1", ``)), 0, ""},
		{"503 without", "signatures/signHash", answer(503, "", ``), 122, "503"},
		{"503 with a long time", "signatures/signHash", answer(503, "Retry-After: 86400", ``), 121, "busy"},
		{"SAD gone", "signatures/signHash", answer(400, "", `{"error":"invalid_request","error_description":"Invalid parameter SAD"}`), 121, "SAD"},
		{"500", "signatures/signHash", answer(500, "", `{"error":"server_error"}`), 122, "unknown"},
		{"a redirect", "signatures/signHash", answer(302, "Location: /elsewhere", ``), 121, "302"},
		{"hang", "signatures/signHash", hang, 122, "unknown"},
		{"cut", "signatures/signHash", cut(""), 122, "unknown"},
		{"a body cut", "signatures/signHash", cut("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"signatures\":"), 122, "unknown"},
		{"a body cut, without a length", "signatures/signHash", cut("HTTP/1.0 200 OK\r\n\r\n{\"signatures\":[\"AA"), 122, "unknown"},
		{"a refusal cut", "signatures/signHash", cut("HTTP/1.1 400 Bad Request\r\nContent-Length: 90\r\n\r\n{"), 121, "400"},
		{"no values", "signatures/signHash", answer(200, "", `{"signatures":[]}`), 121, "0 values"},
		{"null", "signatures/signHash", answer(200, "", `null`), 121, "0 values"},
		{"two values", "signatures/signHash", answer(200, "", `{"signatures":["AAAA","AAAA"]}`), 121, "2 values"},
		{"garbage", "signatures/signHash", answer(200, "", `{"signatures":["!!"]}`), 121, "cannot be read"},
		{"no JSON", "signatures/signHash", answer(200, "", `<html>`), 121, "cannot be read"},
		{"another's value", "signatures/signHash", answer(200, "", `{"signatures":["`+base64.StdEncoding.EncodeToString(other)+`"]}`), 121, "does not verify"},
	} {
		before := s.Do("GET", "/credit", nil).Data
		intercept(p, x.method, x.do)
		r := signFar(s, "automatic", c, b64(sitetest.SampleTXT))
		asked := count(p, "signatures/signHash")
		intercept(p, x.method, nil)
		if r.Number() != x.want || (r.State == "DONE") != (x.want == 0) || !strings.Contains(deref(r.ErrorMessage), x.text) {
			t.Errorf("%s: %s %d %q, want %d with %q", x.name, r.State, r.Number(), deref(r.ErrorMessage), x.want, x.text)
		}
		if x.want == 122 && asked != 1 {
			t.Errorf("%s: signHash was called %d times", x.name, asked)
		}
		if after := s.Do("GET", "/credit", nil).Data; x.want != 0 && !bytes.Equal(before, after) {
			t.Errorf("%s: it cost something: %s, %s", x.name, before, after)
		}
	}
	s.VerifyAudit()
}

// A batch goes out in as few calls as the provider allows. What fails with some
// of its documents is theirs alone, and they are not paid for.
func TestRemoteBatch(t *testing.T) {
	t.Parallel()
	p := newProvider(t, "2")
	s := newSite(t, p.Configure("client_credentials"))
	c := s.Remote("eseal", "seal", "")
	p.Keys["seal"].Multisign = 10
	docs := make([]string, 35)
	for i := range docs {
		docs[i] = b64(fmt.Appendf(nil, "document %d", i))
	}
	intercept(p, "signatures/signHash", func(w http.ResponseWriter, n int, body map[string]any) bool {
		switch n {
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
			return true
		case 3:
			no(w, http.StatusBadRequest, "invalid_request")
			return true
		}
		return false
	})
	wallet := func() (n float64) {
		var w struct{ Credit float64 }
		if err := json.Unmarshal(s.Do("GET", "/credit", nil).Data, &w); err != nil {
			t.Fatal(err)
		}
		return w.Credit
	}
	before := wallet()
	r := signFar(s, "eseal", c, docs, m{"options": m{"batch": true}})
	if r.State != "DONE" || count(p, "signatures/signHash") != 4 || count(p, "credentials/authorize") != 4 {
		t.Fatalf("%s %s, %v", r.State, deref(r.ErrorMessage), p.Calls)
	}
	var report []struct {
		Index       int
		State       string
		ErrorNumber *int
	}
	numberOf := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	if err := json.Unmarshal(unzip(t, s.Download(r.ID, "signedDocument"))["report.json"], &report); err != nil {
		t.Fatal(err)
	}
	for _, e := range report {
		want := []int{0, 122, 121, 0}[e.Index/10]
		if got := numberOf(e.ErrorNumber); got != want || (e.State == "DONE") != (want == 0) {
			t.Errorf("document %d: %s %d, want %d", e.Index, e.State, got, want)
		}
	}
	if paid := before - wallet(); math.Abs(paid-15*0.05) > 1e-6 {
		t.Errorf("%v EUR for 15 signatures", paid)
	}
	intercept(p, "signatures/signHash", func(w http.ResponseWriter, n int, body map[string]any) bool { // two are exchanged
		rec := httptest.NewRecorder()
		p.Answer(rec, "signatures/signHash", body)
		var out struct{ Signatures []string }
		_ = json.Unmarshal(rec.Body.Bytes(), &out)
		out.Signatures[0], out.Signatures[1] = out.Signatures[1], out.Signatures[0]
		_ = json.NewEncoder(w).Encode(m{"signatures": out.Signatures})
		return true
	})
	if r = signFar(s, "eseal", c, []string{b64(sitetest.SampleTXT), b64(sitetest.SampleXML), b64(sitetest.SamplePDF)}, m{"options": m{"batch": true}}); r.State != "DONE" {
		t.Fatalf("%s %s", r.State, deref(r.ErrorMessage))
	}
	if err := json.Unmarshal(unzip(t, s.Download(r.ID, "signedDocument"))["report.json"], &report); err != nil {
		t.Fatal(err)
	}
	for _, e := range report {
		if want := map[bool]int{true: 121}[e.Index < 2]; numberOf(e.ErrorNumber) != want {
			t.Errorf("document %d: %d", e.Index, numberOf(e.ErrorNumber))
		}
	}
	if again := p.Twice(); len(again) > 0 {
		t.Errorf("sent twice: %v", again)
	}
	s.VerifyAudit()
}

// The holder logs in at the provider; tokens are renewed, and stand nowhere in
// the clear.
func TestRemoteLogin(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) { testRemoteLogin(t, engine) })
	}
}

func testRemoteLogin(t *testing.T, engine string) {
	p := newProvider(t, "1")
	s := newSite(t, p.Configure("code"), func(c *server.Config) {
		if engine == "postgres" {
			c.Database = storetest.Postgres(t)
		}
	})
	a := s.Do("POST", "/certificates/far-automatic", m{"certificateOwner": "Elsa Prova"})
	var b bought
	if a.Status != 200 || json.Unmarshal(a.Data, &b) != nil {
		t.Fatalf("%d/%d %s", a.Status, a.Code(), a.Message)
	}
	page := s.Page(b.CertificateLink, nil) // to the provider and back
	if !strings.Contains(page, `<option>rsa</option>`) {
		t.Fatalf("nothing to choose: %s", page)
	}
	stranger := &site{T: t, URL: s.URL} // with the same link, in another browser
	if page := stranger.Page(b.CertificateLink+"?x", url.Values{"action": {"credential"}, "credential": {"rsa"}, "pin": {"1234"}}); element(page, "certificate-username") != "" {
		t.Error("the credential was chosen in another browser than the one that logged in")
	}
	page = s.Page(b.CertificateLink, url.Values{"action": {"credential"}, "credential": {"rsa"}, "pin": {"1234"}})
	c := server.SandboxCredentials{Username: element(page, "certificate-username"), Password: element(page, "certificate-password")}
	if c.Username == "" || s.CertificateState(b.ID) != "DONE" {
		t.Fatalf("%s", page)
	}
	for i := range 3 {
		if r := signFar(s, "automatic", c, b64(sitetest.SampleTXT)); r.State != "DONE" {
			t.Fatalf("signature %d: %d %s", i, r.Number(), deref(r.ErrorMessage))
		}
		p.Mu.Lock()
		p.Access = p.Access[:0] // what was given is good no more
		p.Mu.Unlock()
	}
	p.Mu.Lock()
	p.Access, p.Refresh = nil, "another"
	p.Mu.Unlock()
	if r := signFar(s, "automatic", c, b64(sitetest.SampleTXT)); r.Number() != 121 {
		t.Errorf("without a login: %d %s", r.Number(), deref(r.ErrorMessage))
	}
	// The same key again, once it is given up here.
	if a := s.Do("POST", "/certificates/"+b.ID+"/revoke", nil); a.Status != 200 {
		t.Errorf("revoke: %d %s", a.Status, a.Message)
	}
	p.Mu.Lock()
	delete(p.Keys, "p256")
	p.Keys = map[string]*farKey{"rsa": p.Keys["rsa"]}
	p.Keys["rsa"].PIN = ""
	p.Mu.Unlock()
	if r := signFar(s, "automatic", c, b64(sitetest.SampleTXT)); r.Number() != 112 {
		t.Errorf("revoked: %d", r.Number())
	}
	a = s.Do("POST", "/certificates/far-automatic", m{"certificateOwner": "Elsa Prova"})
	_ = json.Unmarshal(a.Data, &b)
	s.Page(b.CertificateLink, nil) // one credential without a PIN: nothing is asked
	page = s.Page(b.CertificateLink, url.Values{"action": {"reveal"}})
	c = server.SandboxCredentials{Username: element(page, "certificate-username"), Password: element(page, "certificate-password")}
	if r := signFar(s, "automatic", c, b64(sitetest.SampleTXT)); r.State != "DONE" {
		t.Errorf("%d %s", r.Number(), deref(r.ErrorMessage))
	}
	s.VerifyAudit()
}

// A server that dies after digests were sent does not send them again, and says
// that it does not know.
func TestRemoteKilled(t *testing.T) {
	t.Parallel()
	p := newProvider(t, "1")
	cfg := testDefaults()
	p.Configure("client_credentials")(&cfg)
	far := cfg.Signing.Providers["far"]
	x := newProgram(t, "")
	config := filepath.Join(t.TempDir(), "rogito.yaml")
	text := fmt.Sprintf("signing: {providers: {far: {kind: csc, url: %q, flow: client_credentials, client_id: rogito, client_secret_file: %q}}}\n", far.URL, far.ClientSecretFile)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x.Args = append(x.Args, "--config", config)
	x.Start()
	var c server.SandboxCredentials
	pin := filepath.Join(filepath.Dir(config), "pin")
	if err := os.WriteFile(pin, []byte("1234\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := x.Command("cert", "remote", "far", "rsa", "--kind", "automatic", "--account", x.Box().Email, "--pin-file", pin, "--json")
	if err != nil || json.Unmarshal(out, &c) != nil {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := x.Command("provider", "test", "far"); err != nil || !strings.Contains(string(out), "credential rsa") {
		t.Errorf("%v %s", err, out)
	}
	if r := x.PostAs(c, m{"hashAlgorithm": "SHA512"}, ""); r == nil || r.State != "DONE" {
		t.Fatalf("%+v", r)
	}
	for _, async := range []bool{false, true} {
		asked, killed := make(chan bool, 1), make(chan struct{})
		intercept(p, "signatures/signHash", func(_ http.ResponseWriter, _ int, _ map[string]any) bool {
			asked <- true
			<-killed
			return false
		})
		go x.PostAs(c, m{"asyncSignature": async, "level": "B"}, fmt.Sprint("key", async))
		<-asked
		x.Kill()
		close(killed)
		intercept(p, "signatures/signHash", nil)
		x.Start()
		var r *record
		for range await.Within(await.Limit) {
			if r = x.PostAs(c, m{"asyncSignature": async, "level": "B"}, fmt.Sprint("key", async)); r != nil && r.State != "WAIT_SIGN" {
				break
			}
		}
		if r == nil || r.State != "ERROR" || r.Number() != 122 {
			t.Fatalf("async %v: %+v", async, r)
		}
		if n := count(p, "signatures/signHash"); n != 0 {
			t.Errorf("async %v: sent %d times after the restart", async, n)
		}
	}
	if again := p.Twice(); len(again) > 0 {
		t.Errorf("sent twice: %v", again)
	}
	x.Kill()
	x.Account("")
}

// With a certificate of a listed provider the signature is qualified, and record
// and report say so.
func TestRemoteQualified(t *testing.T) {
	t.Parallel()
	e := newEurope(t, "IT")
	p := newProviderOf(t, "2", e.PKI)
	s := newSite(t, func(c *server.Config) { e.Configure(c.Data)(c) }, p.Configure("client_credentials"), func(c *server.Config) { c.Trust.Anchors = nil })
	c := s.Remote("automatic", "p256", "1234")
	type signature struct {
		Qualification, QCComplianceStatus, QCSSCDStatus string
		TrustServiceProvider                            *string
	}
	var v struct {
		Signatures []signature `json:"signatureReportList"`
	}
	for range await.Within(await.Limit) {
		a := s.Do("POST", "/verify", m{"inputDocument": b64(e.Signed())})
		if json.Unmarshal(a.Data, &v) == nil && len(v.Signatures) == 1 && v.Signatures[0].Qualification == "QESig" {
			break // the lists are loaded
		}
	}
	r := signFar(s, "automatic", c, b64(sitetest.SamplePDF), m{"options": m{"level": "LT"}})
	if r.State != "DONE" {
		t.Fatalf("%d %s", r.Number(), deref(r.ErrorMessage))
	}
	var told struct {
		Signer struct {
			Provider string
			signature
		}
	}
	if err := json.Unmarshal(s.Do("GET", "/signatures/"+r.ID, nil).Data, &told); err != nil {
		t.Fatal(err)
	}
	if x := told.Signer; x.Provider != "far" || x.QCComplianceStatus != "VALID" || x.QCSSCDStatus != "VALID" || deref(x.TrustServiceProvider) == "" {
		t.Errorf("the record says %+v", told)
	}
	a := s.Do("POST", "/verify", m{"inputDocument": b64(s.Download(r.ID, "signedDocument"))})
	if err := json.Unmarshal(a.Data, &v); err != nil || len(v.Signatures) != 1 {
		t.Fatalf("%v %s", err, a.Data)
	}
	if x := v.Signatures[0]; x.Qualification != "QESig" || x.QCSSCDStatus != "VALID" || deref(x.TrustServiceProvider) == "" {
		t.Errorf("the report says %+v", x)
	}
	s.VerifyAudit()
}

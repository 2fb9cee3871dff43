package blackbox

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// The sandbox's file tells everything that its first client needs, and it is
// true.
func testSandbox(t *testing.T, w *world) {
	g := w.sandboxed(t)
	var box map[string]any
	text, err := os.ReadFile(filepath.Join(w.store.Data, "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(text, &box)
	}
	if err != nil || box["base_url"] != w.public || box["email"] != w.me.Email || box["api_key"] != w.me.APIKey || box["token"] != w.me.Token {
		t.Fatalf("%v: %v", err, box["base_url"])
	}
	root := g.raw("GET", "/pki/root.pem", nil, "Authorization", "")
	if string(root.Body) != box["root_certificate"] {
		t.Errorf("/pki/root.pem is another: %s", root.Body)
	}
	if block, _ := pem.Decode(root.Body); block == nil || !bytes.Contains(block.Bytes, []byte("SANDBOX")) {
		t.Error("the root is not marked")
	}
	var now struct {
		Secret   string
		Previous *string // where the tests of accounts have rotated it
	}
	if g.ok(&now, "GET", "/callbacks/secret", nil); now.Secret != box["webhook_secret"] && deref(now.Previous) != box["webhook_secret"] {
		t.Error("webhook_secret is another")
	}
	for kind, want := range map[string]struct {
		algorithm string
		size      int
	}{"automatic": {"SHA256withRSA", 2048}, "eseal": {"SHA256withECDSA", 256}} {
		r := &record{}
		g.ok(r, "POST", "/EU-QES_"+kind, w.certificates[kind].body(b64(samplePDF)))
		if v := g.verify(g.download(r, "signedDocument")); !v.OverallVerified || v.Signatures[0].SignatureAlgorithmName != want.algorithm || v.Signatures[0].KeySize != want.size {
			t.Errorf("%s: %+v", kind, v)
		}
	}
	otp := w.certificates["otp"]
	before := code(otp.Secret, 0)
	if out := strings.TrimSpace(w.nodes[0].run("cert", "otp", otp.Username)); !strings.Contains(out, before) && !strings.Contains(out, code(otp.Secret, 0)) {
		t.Errorf("rogito cert otp says %q, not %s", out, before)
	}
	var wallet struct{ Credit float64 }
	if g.ok(&wallet, "GET", "/wallet", nil); wallet.Credit < 900_000 {
		t.Errorf("%v of test money", wallet.Credit)
	}
	if r := g.submit(certificate{Kind: "automatic", Username: "chosen@example.org", Password: "chosen secret"}.body(b64(sampleTXT))); r.State != "DONE" {
		t.Errorf("the test pair: %s", r.says())
	}
}

// TestProduction: no sandbox, no button, no statements of a qualified
// certificate; domains of scopes are checked.
func TestProduction(t *testing.T) {
	for _, e := range storetest.EmptyEngines() {
		t.Run(e.Name, func(t *testing.T) {
			cfg := e.Config(t) // empty: there is no sandbox
			at := storage{Data: cfg.Data, Database: cfg.Database}
			production(t, &world{t: t, store: at, nodes: []*node{newNode(t, at)}})
		})
	}
}

func production(t *testing.T, w *world) {
	n := w.nodes[0]
	if err := json.Unmarshal([]byte(n.run("init", "admin@example.org", "--json")), &w.me); err != nil {
		t.Fatal(err)
	}
	n.run("wallet", "credit", w.me.Email, "1000")
	n.env = append(n.env, "ROGITO_PRODUCTION=true", "ROGITO_SCOPES_DOMAINS=api.example.org")
	n.start()
	w.public = n.url()
	w.watch = newWatch(t, &http.Transport{}, n.url())
	w.client = &http.Client{Transport: w.watch}
	g := w.guest(t, w.me)
	b := g.buy("automatic", m{"subject": m{"givenName": "Dora", "surname": "Prova"}})
	if _, page := g.visit(b.CertificateLink); strings.Contains(page, `id="approve"`) {
		t.Error("there is a button")
	}
	if status, _ := g.post(b.CertificateLink, url.Values{"action": {"approve"}}); status != 409 || g.state(b.ID) != "NEW" {
		t.Errorf("the button without a button: %d, %s", status, g.state(b.ID))
	}
	g.upload(b.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()})
	var d detail
	g.no(403, 131, "POST", "/certificates/"+b.ID+"/review", m{"approve": true}) // an order of one's own account
	n.run("cert", "review", b.ID, "--approve")
	g.ok(&d, "GET", "/certificates/"+b.ID, nil)
	_, page := g.post(b.CertificateLink, url.Values{"action": {"reveal"}})
	g.cert = shown(t, b.ID, "automatic", page)
	if d.State != "DONE" || strings.Contains(deref(d.SubjectDN)+deref(d.IssuerDN), "SANDBOX") {
		t.Errorf("%+v", d)
	}
	_, signed := g.signed(b64(samplePDF), options(m{"level": "LT"}))
	v := g.verify(signed)
	if len(v.Signatures) != 1 || !v.Signatures[0].Integrity || v.Signatures[0].SignatureLevel != "PAdES-BASELINE-LT" || v.Signatures[0].QcComplianceStatus == "VALID" {
		t.Errorf("%+v", v)
	}
	if der := v.Signatures[0].DerEncodedSignerCert; bytes.Contains(der, []byte{0x04, 0x00, 0x8e, 0x46, 0x01, 0x01}) || bytes.Contains(der, []byte{0x04, 0x00, 0x8e, 0x46, 0x01, 0x04}) {
		t.Error("the certificate says that it is qualified")
	}
	for domain, want := range map[string]int{"api.example.org": 200, n.addr: 200, "*": 200, "127.0.0.1": 200, "other.example.org": 422} {
		if a := g.do("POST", "/tokens", m{"scopes": []string{"GET:" + domain + "/signatures"}}); a.Status != want || want == 422 && a.code() != 90 {
			t.Errorf("scopes of %s: %d with %d", domain, a.Status, a.code())
		}
	}
}

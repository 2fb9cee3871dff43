package csc

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/test/csc/provider"
)

// listed publishes a list of trusted lists on which the provider's authority
// issues qualified certificates, and makes a server use it.
func listed(t testing.TB, p *provider.Provider) func(*server) {
	t.Helper()
	files := map[string][]byte{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(files[r.URL.Path]) }))
	t.Cleanup(web.Close)
	operator, national := p.PKI.Actor(t, "good"), p.PKI.Actor(t, "second")
	now := time.Now()
	put := func(path string, l adestest.List, signer *adestest.Actor) {
		b, err := l.XML(signer)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = b
	}
	put("/EU", adestest.List{Territory: "EU", LOTL: true, Sequence: 1, Issued: now.AddDate(0, -1, 0), Next: now.AddDate(0, 5, 0), Pointers: []adestest.ListPointer{
		{URL: web.URL + "/EU", Territory: "EU", LOTL: true, Signers: []*x509.Certificate{operator.Certificate}},
		{URL: web.URL + "/IT", Territory: "IT", Signers: []*x509.Certificate{national.Certificate}},
	}}, operator)
	put("/IT", adestest.List{Territory: "IT", Sequence: 3, Issued: now.AddDate(0, -2, 0), Next: now.AddDate(0, 5, 0), Services: []adestest.ListService{
		{Type: "CA/QC", Name: "CA", Identity: p.PKI.Issuing, Statuses: []adestest.ListStatus{{Status: "granted", From: now.AddDate(-5, 0, 0), Uses: []string{"ForeSignatures", "ForeSeals"}}}},
	}}, national)
	return func(s *server) {
		anchors := s.write("lotl.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: operator.Certificate.Raw})))
		text, err := os.ReadFile(s.config)
		if err != nil {
			t.Fatal(err)
		}
		config := strings.Replace(string(text), "trust:\n", "trust:\n  lotl: "+web.URL+"/EU\n  lotl_anchors: "+anchors+"\n", 1)
		config = strings.Replace(config, "allow_private: [", "allow_private: [\""+strings.TrimPrefix(web.URL, "http://")+"\", ", 1)
		s.write("rogito.yaml", config)
		s.lists = true
	}
}

// TestQualified: with a qualified certificate on a qualified device the
// signature is qualified, and with less it is called what it is.
func TestQualified(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p, listed(t, p))
	for actor, want := range map[string]string{"good": "QESig", "eseal": "QESeal", "no-device": "AdESig-QC", "advanced": "N/A AdESig"} {
		t.Run(actor, func(t *testing.T) {
			id := "qualified-" + actor
			if err := p.Add(id, actor+"#q", nil); err != nil {
				t.Fatal(err)
			}
			kind := "automatic"
			if actor == "eseal" {
				kind = "eseal"
			}
			h, err := c.command("twoclient", kind, id)
			if err != nil {
				t.Fatal(err)
			}
			r := c.sign(h, []string{b64(pdf(t.Name()))}, "pades", m{"level": "LT"})
			doc := c.signed(r)
			var report struct {
				Trust               struct{ Lists string }
				SignatureReportList []struct{ Qualification, Indication string }
			}
			var text json.RawMessage
			for range await.Within(await.Limit) { // lists are loaded beside
				text = c.must(&report, "POST", "/verify", m{"inputDocument": b64(doc), "withPlainDocument": false}).Data
				if report.Trust.Lists == "loaded" {
					break
				}
			}
			if len(report.SignatureReportList) != 1 || !strings.Contains(" "+want+" ", " "+report.SignatureReportList[0].Qualification+" ") {
				t.Errorf("want %s: %.2500s", want, text)
			}
		})
	}
}

package signing_test

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// XML is XML without a declaration too, whatever its elements are called.
func TestFormatByContent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct{ doc, format, extension string }{
		{`<a><b>1</b></a>`, "xades", "xml"},
		{`<!-- c --><table/>`, "xades", "xml"},
		{`<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>`, "xades", "xml"},
		{`<!doctype html><html><body>x</body></html>`, "cades", "html"},
		{`<html><body>x</body></html>`, "cades", "html"},
		{`<p>one<br>two</p>`, "cades", "html"},
		{`a < b`, "cades", "txt"},
	} {
		r := s.Sign(b64([]byte(c.doc)))
		if r.State != "DONE" || deref(r.SignatureType) != c.format || r.Document.InputDocuments[0].Extension != c.extension {
			t.Errorf("%s: %s %s %s, want %s %s", c.doc, r.State, deref(r.SignatureType), r.Document.InputDocuments[0].Extension, c.format, c.extension)
		}
	}
}

// A record in ERROR says which format it was about.
func TestErrorNamesItsFormat(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		doc, asked, want string
	}{{"text", "", "cades"}, {"text", "xades", "xades"}, {"<a/>", "", "xades"}} {
		more := m{"certificatePassword": "wrong"}
		if c.asked != "" {
			more["signatureType"] = c.asked
		}
		if r := s.Sign(b64([]byte(c.doc)), more); r.Number() != 110 || deref(r.SignatureType) != c.want {
			t.Errorf("%+v: error %d, type %q", c, r.Number(), deref(r.SignatureType))
		}
	}
	if r := s.Sign("http://127.0.0.1:1/x", m{"signatureType": "pades"}); r.Number() != 117 || deref(r.SignatureType) != "pades" {
		t.Errorf("remote: error %d, type %q", r.Number(), deref(r.SignatureType))
	}
}

// The part that is asked for may be empty: clients of the hosted service send
// it so.
func TestEmptyActionType(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.Sign(b64(sitetest.SampleTXT))
	resp, err := get(s, "/signatures/"+r.ID+"/")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v %v", resp, err)
	}
}

func get(s *site, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.Box.Token)
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		err = resp.Body.Close()
	}
	return resp, err
}

// The trail as a page shows what callers wrote as text, and runs nothing.
func TestTrailPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.Sign(b64(sitetest.SampleTXT), m{"title": "<script>alert(1)</script>"})
	resp, page := s.Raw(http.MethodGet, "/signatures/"+r.ID+"/audit", nil, "Accept", "text/html")
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("policy %q", csp)
	}
	if text := string(page); strings.Contains(text, "<script") || !strings.Contains(text, "&lt;script") || strings.Count(text, r.Document.SignedDocument.SHA256) < 2 {
		t.Error("the page is not whole, or not escaped")
	}
}

// What is wrong with an option is said before anything is signed, and never as
// a failure of ours.
func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	xml := b64([]byte(`<a><b Id="b1">1</b></a>`))
	for _, o := range []m{
		{"XPathQuery": "//b["}, {"XPathQuery": ")("}, {"signatureId": "1 a"}, {"signatureId": "a:b"}, {"signElement": "b1", "XPathQuery": "//b"},
	} {
		if a := s.Do(http.MethodPost, "/EU-QES_automatic", s.Body(xml, optionsOf(o))); a.Status != 422 || a.Code() != 625 {
			t.Errorf("%v: %d/%d %s", o, a.Status, a.Code(), a.Message)
		}
	}
	for _, o := range []m{{"XPathQuery": "count(//b)"}, {"XPathQuery": "//b/@Id"}, {"XPathQuery": "//none"}, {"signatureId": "b1"}} {
		if r := s.Sign(xml, optionsOf(o)); r.Number() != 113 {
			t.Errorf("%v: error %d", o, r.Number())
		}
	}
	cut := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x02\x08\x02\x00\x00\x00\xfd\xd4\x9as")
	for image, want := range map[string]int{b64(cut): 113, b64([]byte("GIF89a")): 113, "": 0} {
		if r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"signerImage": m{"image": image}})); r.Number() != want {
			t.Errorf("image %.10q: error %d, want %d", image, r.Number(), want)
		}
	}
	sum := sha256.Sum256([]byte("x"))
	if r := s.Sign(b64(sum[:]), m{"signatureType": "pkcs1"}); !strings.Contains(string(s.Download(r.ID, "audit")), "signed with SHA256withRSA") {
		t.Error("the trail does not tell how a digest was signed as pkcs1")
	}
	if r := s.Sign(b64(sum[:]), optionsOf(m{"level": "LTA"})); r.Number() != 113 || strings.Contains(string(s.Download(r.ID, "audit")), "key-use") {
		t.Errorf("a digest at LTA: error %d, or the key was used", r.Number())
	}
}

// An option of another format is without effect, and so is the level LTV
// outside of PDF.
func TestOptionsOfOtherFormats(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"packaging": "asic-e", "XPathQuery": "//x"})); deref(r.SignatureType) != "pades" || r.Document.SignedDocument.Extension != "pdf" {
		t.Errorf("pades with packaging: %+v", r)
	}
	if r := s.Sign(b64([]byte("text")), optionsOf(m{"level": "LTV"})); r.Options["achievedLevel"] != "LT" {
		t.Errorf("cades at LTV achieved %v", r.Options["achievedLevel"])
	}
	p7m := b64(s.Download(s.Sign(b64([]byte("text"))).ID, "signedDocument"))
	if r := s.Sign(p7m, optionsOf(m{"counterSignature": true, "level": "LT"})); r.State != "DONE" || r.Options["achievedLevel"] != "LT" {
		t.Errorf("counter-signature at LT: %s %v", r.State, r.Options["achievedLevel"])
	}
	if r := s.Sign(p7m, optionsOf(m{"detached": true})); r.State != "DONE" || r.Document.SignedDocument.Extension != "p7s" {
		t.Errorf("detached over a .p7m: %+v", r.Document.SignedDocument)
	}
}

// A document of a batch that cannot be fetched fails alone, and is not paid.
func TestBatchWithRemoteFailures(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/good" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Write([]byte("remote"))
	}))
	t.Cleanup(host.Close)
	eachEngine(t, func(t *testing.T, s *site) {
		docs := []any{host.URL + "/bad", host.URL + "/good", b64([]byte("inline")), m{"payload": b64([]byte("%PDF-1.7 broken")), "name": "x.pdf"}}
		for _, o := range []m{{"batch": true}, {"batch": true, "asyncSignature": true}, {"batch": true, "asyncDocumentsValidation": true}} {
			before := s.Credit()
			r := s.Sign(docs, optionsOf(o))
			r = s.Wait(r.ID, "DONE", "ERROR")
			if r.State != "DONE" || deref(r.SignatureType) != "cades" {
				t.Fatalf("%v: %s %d", o, r.State, r.Number())
			}
			if paid := before - s.Credit(); paid < 0.099 || paid > 0.101 {
				t.Errorf("%v: two signatures cost %.3f", o, paid)
			}
			files := unzip(t, s.Download(r.ID, "signedDocument"))
			var report []struct {
				State       string
				ErrorNumber *int
				File        *string
			}
			if err := json.Unmarshal(files["report.json"], &report); err != nil {
				t.Fatal(err)
			}
			want := []int{117, 0, 0, 113}
			for i, e := range report {
				if n := e.ErrorNumber; want[i] == 0 && (n != nil || e.State != "DONE") || want[i] != 0 && (n == nil || *n != want[i] || e.File != nil) {
					t.Errorf("%v: document %d: %+v", o, i, e)
				}
			}
			if got := strings.Count(string(s.Download(r.ID, "audit")), `"kind":"signature"`); got != 2 {
				t.Errorf("%v: the trail tells of %d signatures, not 2", o, got)
			}
		}
	}, allow(strings.TrimPrefix(host.URL, "http://")))
}

// A receiver hears of the states of a record in their order, however slow it
// is.
func TestCallbackOrder(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		hold := make(chan struct{})
		answer := sync.OnceFunc(func() { close(hold) })
		r := newReceiver(t, func(n int, _ http.ResponseWriter) {
			if n == 1 {
				<-hold
			}
		})
		defer answer()
		id := s.Sign(b64(sitetest.SampleTXT), optionsOf(m{"asyncDocumentsValidation": true}), m{"callback": m{"url": r.URL}}).ID
		r.Wait(t, 1)
		s.Wait(id, "DONE")
		await.Never(t, 300*time.Millisecond, "told of the end before the first was answered", func() bool { return len(r.Wait(t, 1)) > 1 })
		answer()
		var states []string
		for _, d := range r.Wait(t, 2) {
			var body struct{ Data struct{ State string } }
			if err := json.Unmarshal(d.Body, &body); err != nil {
				t.Fatal(err)
			}
			states = append(states, body.Data.State)
		}
		if !slices.Equal(states, []string{"WAIT_SIGN", "DONE"}) {
			t.Errorf("told %v", states)
		}
	}, allow("127.0.0.1"))
}

// Every field that is signed is stamped, not only the last.
func TestAllFieldsReachTheLevel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"level": "T", "signerImage": m{"fieldsNameList": []string{"One", "Two"}}}))
	if r.State != "DONE" {
		t.Fatalf("error %d", r.Number())
	}
	var got struct {
		SignatureReportList []struct{ SignatureLevel string }
	}
	a := s.Do(http.MethodPost, "/verify", m{"inputDocument": b64(s.Download(r.ID, "signedDocument"))})
	if err := json.Unmarshal(a.Data, &got); err != nil || len(got.SignatureReportList) != 2 {
		t.Fatalf("%v: %s", err, a.Data)
	}
	for i, sig := range got.SignatureReportList {
		if sig.SignatureLevel != "PAdES-BASELINE-T" {
			t.Errorf("signature %d is %s", i, sig.SignatureLevel)
		}
	}
}

// A PDF is encrypted as ISO 32000-2 has it.
func TestEncryptInAnyCase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"encryptInAnyCase": true, "encryptionPassword": "segreta"}))
	if r.State != "DONE" {
		t.Fatalf("error %d", r.Number())
	}
	if b := string(s.Download(r.ID, "signedDocument")); !strings.Contains(b, "/R 6") || strings.Contains(b, "/R 5") {
		t.Error("the handler is not of revision 6")
	}
	if v := r.Document.ValidatedDocument; v.MD5 == r.Document.InputDocuments[0].MD5 {
		t.Error("the document to sign is not the encrypted one")
	}
}

// Test pairs that are configured later are made at the next start, and the
// sandbox's file follows the address.
func TestTestPairsLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, func(c *server.Config) { c.Data = dir })
	before := server.ReadSandbox(dir)
	first.Stop()
	pair := func(c *server.Config) {
		c.Data = dir
		c.Sandbox.Certificates = []server.SandboxCertificate{{Kind: "automatic", Username: "chosen", Password: "pw"}}
	}
	for range 2 { // the third start changes nothing
		s := newSite(t, pair)
		if s.Box.BaseURL != s.URL || s.Box.Token != before.Token || len(s.Box.Extra) != 1 {
			t.Errorf("sandbox.json: %s, %d test pairs", s.Box.BaseURL, len(s.Box.Extra))
		}
		if r := s.Sign(b64(sitetest.SampleTXT), m{"certificateUsername": "chosen", "certificatePassword": "pw"}); r.State != "DONE" {
			t.Errorf("error %d", r.Number())
		}
		s.Run.Stop()
	}
}

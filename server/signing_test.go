package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/server/internal/identify/identifytest"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/enrol"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// site is a running server with its sandbox, seen from outside.
type site struct {
	holder   *http.Client // the browser of a holder, with its cookies
	t        *testing.T
	url      string
	box      *Sandbox
	contract *apitest.Contract
	run      *running
	cfg      Config
	outside  *identifytest.Authority // whom it trusts, and who is not here
}

// answer of the server, and a record in it, as a client reads them.
type (
	answer struct{ apitest.Answer }
	record struct{ apitest.Record }
)

func (a *answer) code() int { return a.Code() }

func (r *record) number() int {
	if r.ErrorNumber == nil {
		return 0
	}
	return *r.ErrorNumber
}

// eachEngine runs a test against a server on SQLite and one on PostgreSQL.
func eachEngine(t *testing.T, test func(t *testing.T, s *site), change ...func(*Config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, newSite(t, change...)) })
	t.Run("postgres", func(t *testing.T) {
		db := storetest.Postgres(t)
		test(t, newSite(t, append(change, func(c *Config) { c.Database = db })...))
	})
}

func newSite(t *testing.T, change ...func(*Config)) *site {
	t.Helper()
	dir := t.TempDir()
	var cfg Config
	outside := identifytest.New(t)
	r := start(t, func(c *Config) {
		c.Data, c.Trust.Anchors = dir, []string{outside.File()}
		for _, f := range change {
			f(c)
		}
		cfg = *c
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(troubles(r.log.String()))
		}
	})
	cfg.PublicURL = r.url
	s := &site{t: t, url: r.url, box: ReadSandbox(cfg.Data), run: r, cfg: cfg, outside: outside}
	if s.box == nil {
		t.Fatal("no sandbox.json")
	}
	s.contract = theContract(t, r.url)
	return s
}

// troubles are the last lines of a log that are no news, for who reads why a test failed.
func troubles(log string) string {
	var all []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"level":"INFO"`) {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(0, len(all)-20):], "")
}

// theContract is the OpenAPI document as the first server handed it out: all hand out the
// same one, and to make and to read it takes longer than most tests.
func theContract(t *testing.T, url string) *apitest.Contract {
	t.Helper()
	contract.Do(func() { contract.is = apitest.Fetch(t, url) })
	if contract.is == nil {
		t.Fatal("there is no OpenAPI document")
	}
	return contract.is
}

var contract struct {
	sync.Once
	is *apitest.Contract
}

// do sends a request and holds the answer to the OpenAPI document.
func (s *site) do(method, path string, body any, header ...string) *answer {
	s.t.Helper()
	a, _ := s.raw(method, path, body, header...)
	if err := a.Open(); err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.Success != (a.Error == nil) || a.Success != (a.Status < 300) {
		s.t.Errorf("%s %s: %d with success %v and error %v", method, path, a.Status, a.Success, a.Error)
	}
	return a
}

// raw is do for answers of any form.
func (s *site) raw(method, path string, body any, header ...string) (*answer, []byte) {
	s.t.Helper()
	a, err := apitest.Send(context.Background(), http.DefaultClient, method, s.url+path, body, append([]string{"Authorization", "Bearer " + s.box.Token}, header...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.contract.Check(s.t, a.Request, a.Status, a.Header, a.Body)
	return &answer{*a}, a.Body
}

func (s *site) record(a *answer) *record {
	s.t.Helper()
	if a.Status != 200 {
		s.t.Fatalf("%d/%d: %s", a.Status, a.code(), a.Message)
	}
	var r record
	if err := json.Unmarshal(a.Data, &r); err != nil {
		s.t.Fatal(err)
	}
	return &r
}

// m is a JSON object.
type m = map[string]any

// body of a request with the sandbox's automatic certificate.
func (s *site) body(docs any, more ...m) m {
	c := s.box.Certificates["automatic"]
	b := m{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password, "title": "a test"}
	for _, x := range more {
		for k, v := range x {
			b[k] = v
		}
	}
	return b
}

func (s *site) sign(docs any, more ...m) *record {
	s.t.Helper()
	return s.record(s.do("POST", "/EU-QES_automatic", s.body(docs, more...)))
}

func (s *site) wait(id string, states ...string) *record {
	s.t.Helper()
	for range await.Within(await.Limit) {
		r := s.record(s.do("GET", "/signatures/"+id, nil))
		for _, st := range states {
			if r.State == st {
				return r
			}
		}
	}
	s.t.Fatalf("record %s is not %v after three minutes", id, states)
	return nil
}

func (s *site) download(id, what string) []byte {
	s.t.Helper()
	resp, b := s.raw("GET", "/signatures/"+id+"/"+what, nil)
	if resp.Status != 200 {
		s.t.Fatalf("download %s: %d %s", what, resp.Status, b)
	}
	return b
}

func (s *site) otp() string {
	s.t.Helper()
	code, err := keys.Code(s.box.Certificates["otp"].TOTPSecret, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return code
}

var (
	samplePDF = enrol.TextPDF("Sample", "One page.\n")
	sampleXML = []byte(`<?xml version="1.0"?><invoice xmlns="urn:x"><line Id="a">1</line><line Id="b">2</line></invoice>`)
	sampleTXT = []byte("hello, world\n")
)

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func optionsOf(o m) m { return m{"options": o} }

func TestSignDownloadVerify(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.sign([]string{b64(samplePDF)})
		if r.State != "DONE" || deref(r.SignatureType) != "pades" || r.Options["achievedLevel"] != "B" {
			t.Fatalf("%+v %v", r, deref(r.ErrorMessage))
		}
		in, val, out := r.Document.InputDocuments[0], r.Document.ValidatedDocument, r.Document.SignedDocument
		if in.SourceType != "base64" || in.Name != in.MD5+".pdf" || val.ID != in.ID || val.MD5 != in.MD5 || out.Name != r.ID+".pdf" {
			t.Errorf("%+v %+v %+v", in, val, out)
		}
		signed := s.download(r.ID, "signedDocument")
		if int64(len(signed)) != out.Size || !bytes.HasPrefix(signed, samplePDF) {
			t.Error("the signed document is not an increment of the input")
		}
		if got := s.download(r.ID, "validatedDocument"); !bytes.Equal(got, samplePDF) {
			t.Error("the validated document is not the input")
		}
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Every format, from the strings and objects that clients send.
func TestFormats(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		digest := b64(bytes.Repeat([]byte{7}, 32))
		for _, c := range []struct {
			name string
			docs any
			more m
			typ  string
			ext  string
		}{
			{"PDF by content", b64(samplePDF), nil, "pades", "pdf"},
			{"XML by content", b64(sampleXML), nil, "xades", "xml"},
			{"text by content", b64(sampleTXT), nil, "cades", "txt.p7m"},
			{"PDF as cades", b64(samplePDF), m{"signatureType": "cades"}, "cades", "pdf.p7m"},
			{"detached", b64(sampleTXT), optionsOf(m{"detached": true}), "cades", "p7s"},
			{"digest", digest, nil, "cades", "p7s"},
			{"digest as pkcs1", []any{m{"sourceType": "base64Hash", "payload": digest}}, m{"signatureType": "pkcs1"}, "pkcs1", "sig"},
			{"text as pkcs1", b64(sampleTXT), m{"signatureType": "pkcs1"}, "pkcs1", "txt.sig"},
			{"text as xades", b64(sampleTXT), m{"signatureType": "xades"}, "xades", "xml"},
			{"asic-s cades", b64(sampleTXT), m{"signatureType": "cades", "options": m{"packaging": "asic-s"}}, "cades", "asics"},
			{"asic-e xades", b64(sampleTXT), m{"signatureType": "xades", "options": m{"packaging": "asic-e"}}, "xades", "asice"},
			{"xades detached", b64(sampleXML), m{"signatureType": "xades", "options": m{"packaging": "detached"}}, "xades", "xml"},
			{"xades internally detached", b64(sampleXML), m{"options": m{"packaging": "internally-detached"}}, "xades", "xml"},
			{"xades element", b64(sampleXML), optionsOf(m{"signElement": "a"}), "xades", "xml"},
			{"two PDFs", []string{b64(samplePDF), b64(samplePDF)}, nil, "pades", "pdf"},
			{"two texts", []any{m{"payload": b64(sampleTXT), "name": "a.txt"}, b64([]byte("more than enough\n"))}, nil, "cades", "zip.p7m"},
			{"two XMLs", []string{b64(sampleXML), b64(sampleXML)}, nil, "xades", "asice"},
			{"two values", []string{b64(sampleTXT), b64(samplePDF)}, m{"signatureType": "pkcs1"}, "pkcs1", "zip"},
			{"SHA-512", b64(samplePDF), optionsOf(m{"hashAlgorithm": "SHA512"}), "pades", "pdf"},
			{"visible", b64(samplePDF), optionsOf(m{"x": 100, "y": 50, "page": -1, "timezone": "Europe/Rome", "signerImage": m{"signerName": "A", "reason": "B"}}), "pades", "pdf"},
			{"named fields", b64(samplePDF), optionsOf(m{"signerImage": m{"fieldsNameList": []string{"One", "Two"}}}), "pades", "pdf"},
			{"encrypted", b64(samplePDF), optionsOf(m{"encryptInAnyCase": true, "encryptionPassword": "secret"}), "pades", "pdf"},
			{"URL-safe with spaces", " " + strings.TrimRight(base64.URLEncoding.EncodeToString(samplePDF), "=") + "\n", nil, "pades", "pdf"},
			{"the seed's spelling", nil, m{"inputDocument": []string{b64(samplePDF)}}, "pades", "pdf"},
		} {
			a := s.do("POST", "/EU-QES_automatic", s.body(c.docs, c.more))
			r := s.record(a)
			if r.State != "DONE" || deref(r.SignatureType) != c.typ || r.Document.SignedDocument.Extension != c.ext {
				t.Errorf("%s: %s %s %+v: %s", c.name, r.State, deref(r.SignatureType), r.Document.SignedDocument, deref(r.ErrorMessage))
				continue
			}
			if want := any("B"); c.typ == "pkcs1" && r.Options["achievedLevel"] != nil || c.typ != "pkcs1" && r.Options["achievedLevel"] != want {
				t.Errorf("%s: achieved %v", c.name, r.Options["achievedLevel"])
			}
		}
	})
}

func TestLevels(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		for i, doc := range [][]byte{samplePDF, sampleXML, sampleTXT} {
			ltv := []string{"LTV", "LT", "LT"}[i] // there is LTV in PDF only
			for _, c := range []struct {
				o    m
				want string
			}{
				{m{"level": "T"}, "T"},
				{m{"withTimestamp": true}, "T"},
				{m{"level": "LT"}, "LT"},
				{m{"level": "LTA"}, "LTA"},
				{m{"level": "LTV"}, ltv},
				{m{"level": "T", "timestampUrl": s.url + "/tsa"}, "T"},
			} {
				r := s.sign(b64(doc), optionsOf(c.o))
				if r.State != "DONE" || r.Options["achievedLevel"] != c.want {
					t.Errorf("%.8q %v: %s %v: %s", doc, c.o, r.State, r.Options["achievedLevel"], deref(r.ErrorMessage))
				}
			}
		}
	})
}

func TestOTPAndSeal(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.box.Certificates["otp"]
		body := m{"inputDocuments": b64(samplePDF), "certificateUsername": c.Username, "certificatePassword": c.Password, "certificateOtp": s.otp(), "certificateIdOtp": -1}
		r := s.record(s.do("POST", "/EU-QES_otp", body))
		if r.State != "DONE" || r.CertificateType != "EU-QES_otp" {
			t.Fatalf("%+v: %s", r, deref(r.ErrorMessage))
		}
		if r := s.record(s.do("POST", "/EU-QES_otp", body)); r.State != "ERROR" || r.number() != 116 {
			t.Errorf("a used code: %s %d", r.State, r.number())
		}
		c = s.box.Certificates["eseal"]
		r = s.record(s.do("POST", "/EU-QES_eseal", m{"inputDocuments": b64(samplePDF), "certificateUsername": c.Username, "certificatePassword": c.Password}))
		if r.State != "DONE" || r.CertificateType != "EU-QES_eseal" {
			t.Fatalf("%+v: %s", r, deref(r.ErrorMessage))
		}
	})
}

func TestAsynchronous(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.sign(b64(samplePDF), optionsOf(m{"asyncDocumentsValidation": true}))
		if r.State != "WAIT_VALIDATION" || r.Document.Title != nil || r.Document.InputDocuments != nil || deref(r.SignatureType) != "" {
			t.Errorf("%+v", r)
		}
		if done := s.wait(r.ID, "DONE", "ERROR"); done.State != "DONE" || done.Document.SignedDocument == nil {
			t.Errorf("%+v: %s", done, deref(done.ErrorMessage))
		}
		r = s.sign(b64(samplePDF), optionsOf(m{"asyncSignature": true}))
		if r.State != "WAIT_SIGN" || r.Document.ValidatedDocument == nil || deref(r.SignatureType) != "pades" {
			t.Errorf("%+v", r)
		}
		if done := s.wait(r.ID, "DONE", "ERROR"); done.State != "DONE" {
			t.Errorf("%+v: %s", done, deref(done.ErrorMessage))
		}
		r = s.sign(b64([]byte("%PDF-1.7 not really")), optionsOf(m{"asyncDocumentsValidation": true}))
		if done := s.wait(r.ID, "DONE", "ERROR"); done.State != "ERROR" || done.number() != 113 {
			t.Errorf("%+v", done)
		}
	})
}

// Faults of the request, each with its status and code.
func TestRequestFaults(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		doc := b64(samplePDF)
		cb := func(c any) m { return s.body(doc, m{"callback": c}) }
		good := "https://receiver.example/hook"
		for _, c := range []struct {
			name string
			path string
			body any
			code int
		}{
			{"no documents", "", m{"certificateUsername": "a", "certificatePassword": "b"}, 615},
			{"empty documents", "", s.body([]string{}), 615},
			{"both spellings", "", s.body(doc, m{"inputDocument": b64(sampleTXT)}), 615},
			{"both spellings, one document", "", s.body(doc, m{"inputDocument": doc}), 615},
			{"not base64", "", s.body("!!!"), 615},
			{"a number", "", s.body(7), 615},
			{"second is bad", "", s.body([]any{doc, "%%%"}), 615},
			{"bad sourceType", "", s.body(m{"sourceType": "carrier pigeon", "payload": doc}), 615},
			{"empty payload", "", s.body(m{"payload": ""}), 615},
			{"remote without url", "", s.body(m{"sourceType": "remote"}), 615},
			{"bad header", "", s.body(m{"sourceType": "remote", "url": "https://a.example/", "headers": []string{"Host: x"}}), 615},
			{"digest of a wrong size", "", s.body(m{"sourceType": "base64Hash", "payload": b64([]byte("short"))}), 615},
			{"digest as pades", "", s.body(b64(make([]byte, 32)), m{"signatureType": "pades"}), 622},
			{"signatureType", "", s.body(doc, m{"signatureType": "cosign"}), 622},
			{"no username", "", m{"inputDocuments": doc, "certificatePassword": "b"}, 635},
			{"no password", "", m{"inputDocuments": doc, "certificateUsername": "b"}, 640},
			{"no OTP", "/EU-QES_otp", m{"inputDocuments": doc, "certificateUsername": "a", "certificatePassword": "b"}, 645},
			{"unknown option", "", s.body(doc, optionsOf(m{"colour": "red"})), 625},
			{"options no object", "", s.body(doc, m{"options": "x"}), 625},
			{"level", "", s.body(doc, optionsOf(m{"level": "X"})), 625},
			{"SHA1", "", s.body(doc, optionsOf(m{"hashAlgorithm": "SHA1"})), 625},
			{"page", "", s.body(doc, optionsOf(m{"page": 0})), 625},
			{"ill-typed", "", s.body(doc, optionsOf(m{"batch": "yes"})), 625},
			{"timezone", "", s.body(doc, optionsOf(m{"timezone": "Mars/Base"})), 625},
			{"encrypt without password", "", s.body(doc, optionsOf(m{"encryptInAnyCase": true})), 625},
			{"private TSA", "", s.body(doc, optionsOf(m{"timestampUrl": "http://10.0.0.1/"})), 625},
			{"private image", "", s.body(doc, optionsOf(m{"signerImage": m{"imageUrl": "http://[::1]/x.png"}})), 625},
			{"signerImage member", "", s.body(doc, optionsOf(m{"signerImage": m{"font": "x"}})), 625},
			{"image not base64", "", s.body(doc, optionsOf(m{"signerImage": m{"image": "***"}})), 625},
			{"callback without url", "", cb(m{}), 704},
			{"callback malformed", "", cb(m{"url": "::"}), 704},
			{"callback scheme", "", cb(m{"url": "ftp://a.example/"}), 706},
			{"callback private", "", cb(m{"url": "http://127.0.0.1:1/"}), 706},
			{"callback headers", "", cb(m{"url": good, "headers": "x"}), 708},
			{"callback header key", "", cb(m{"url": good, "headers": m{strings.Repeat("k", 257): "v"}}), 709},
			{"callback header value", "", cb(m{"url": good, "headers": m{"k": 1}}), 710},
			{"callback headers large", "", cb(m{"url": good, "headers": m{"k": strings.Repeat("v", 2100)}}), 711},
			{"callback custom", "", cb(m{"url": good, "custom": strings.Repeat("v", 600)}), 730},
			{"callback retry", "", cb(m{"url": good, "retry": 6}), 740},
		} {
			path := c.path
			if path == "" {
				path = "/EU-QES_automatic"
			}
			a := s.do("POST", path, c.body)
			if a.Status != 422 || a.code() != c.code || string(a.Data) != "null" {
				t.Errorf("%s: %d/%d %s, want 422/%d", c.name, a.Status, a.code(), a.Message, c.code)
			}
		}
		if a := s.do("POST", "/EU-QES_automatic", `{"a":1,"a":2}`); a.Status != 400 || a.code() != 100 {
			t.Errorf("duplicate keys: %d/%d", a.Status, a.code())
		}
		if a := s.do("GET", "/signatures", nil); string(a.Data) != "[]" {
			t.Errorf("refused requests left records: %s", a.Data)
		}
	})
}

// Errors that stand in a record.
func TestRecordErrors(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		doc := b64(samplePDF)
		otp := s.box.Certificates["otp"]
		for _, c := range []struct {
			name   string
			body   m
			number int
		}{
			{"wrong password", s.body(doc, m{"certificatePassword": "wrong"}), 110},
			{"unknown username", s.body(doc, m{"certificateUsername": "nobody"}), 110},
			{"kind", s.body(doc, m{"certificateUsername": otp.Username, "certificatePassword": otp.Password}), 118},
			{"text as pades", s.body(b64(sampleTXT), m{"signatureType": "pades"}), 113},
			{"broken PDF", s.body(b64([]byte("%PDF-1.4\nnothing\n"))), 113},
			{"private remote", s.body("http://127.0.0.1:9/x.pdf"), 117},
			{"remote scheme", s.body(m{"sourceType": "remote", "url": "file:///etc/passwd"}), 117},
			{"remote nowhere", s.body("https://nowhere.invalid/x.pdf"), 117},
			{"TSA nowhere", s.body(doc, optionsOf(m{"level": "T", "timestampUrl": "https://nowhere.invalid/"})), 114},
		} {
			r := s.record(s.do("POST", "/EU-QES_automatic", c.body))
			if r.State != "ERROR" || r.number() != c.number || deref(r.ErrorMessage) == "" {
				t.Errorf("%s: %s %d %s, want %d", c.name, r.State, r.number(), deref(r.ErrorMessage), c.number)
			}
			if a := s.do("GET", "/signatures/"+r.ID+"/signedDocument", nil); a.Status != 409 || a.code() != 143 {
				t.Errorf("%s: its signed document: %d/%d", c.name, a.Status, a.code())
			}
		}
	})
}

func TestLockedCertificate(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		for i := range 5 {
			if r := s.sign(b64(samplePDF), m{"certificatePassword": "wrong"}); r.number() != 110 {
				t.Fatalf("failure %d: %d", i, r.number())
			}
		}
		a := s.do("POST", "/EU-QES_automatic", s.body(b64(samplePDF)))
		if a.Status != 423 || a.code() != 111 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%d/%d %s", a.Status, a.code(), a.Message)
		}
	})
}

func TestRecordsAndDeletion(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		one := s.sign(b64(samplePDF))
		two := s.sign(b64(sampleTXT))
		var list []m
		if err := json.Unmarshal(s.do("GET", "/signatures?limit=10", nil).Data, &list); err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || list[0]["id"] != two.ID || list[1]["id"] != one.ID || list[1]["documentTitle"] != "a test" {
			t.Errorf("%v", list)
		}
		if err := json.Unmarshal(s.do("GET", "/signatures?signatureType=pades&state=DONE&certificateType=EU-QES_automatic", nil).Data, &list); err != nil || len(list) != 1 {
			t.Errorf("%v %v", list, err)
		}
		for _, q := range []string{"limit=0", "limit=101", "skip=-1", "state=X", "signatureType=x", "certificateType=x", "limit=a"} {
			if a := s.do("GET", "/signatures?"+q, nil); a.Status != 422 || a.code() != 160 {
				t.Errorf("%s: %d/%d", q, a.Status, a.code())
			}
		}
		if a := s.do("GET", "/signatures/xyz", nil); a.Status != 400 || a.code() != 141 {
			t.Errorf("malformed id: %d/%d", a.Status, a.code())
		}
		if a := s.do("GET", "/signatures/"+strings.Repeat("0", 24), nil); a.Status != 404 || a.code() != 140 {
			t.Errorf("unknown id: %d/%d", a.Status, a.code())
		}
		if a := s.do("GET", "/signatures/"+one.ID+"/nonsense", nil); a.Status != 404 || a.code() != 142 {
			t.Errorf("unknown action: %d/%d", a.Status, a.code())
		}
		if a := s.do("DELETE", "/signatures/"+one.ID, nil); a.Status != 200 {
			t.Errorf("delete: %d", a.Status)
		}
		for _, p := range []string{"", "/detail", "/signedDocument", "/audit"} {
			if a := s.do("GET", "/signatures/"+one.ID+p, nil); a.Status != 404 || a.code() != 140 {
				t.Errorf("after delete %s: %d/%d", p, a.Status, a.code())
			}
		}
		if a := s.do("DELETE", "/signatures/"+one.ID, nil); a.Status != 404 {
			t.Errorf("second delete: %d", a.Status)
		}
		s.verifyAudit()
	})
}

func (s *site) verifyAudit() {
	s.t.Helper()
	room, err := Open(context.Background(), s.cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	defer room.Close()
	if _, err := room.sig.audit.Sequence(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	res, err := room.VerifyAudit(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	if res.Bad != nil {
		s.t.Errorf("audit: %v", res.Bad)
	}
	if res.Entries == 0 {
		s.t.Error("audit: nothing in it")
	}
}

func TestAuditTrail(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.sign(b64(samplePDF), optionsOf(m{"level": "T"}))
		s.download(r.ID, "signedDocument")
		var trail struct {
			SignatureData record
			AuditData     []struct {
				ID, CreatedAt, Log, Kind string
				Detail                   m
			}
		}
		if err := json.Unmarshal(s.do("GET", "/signatures/"+r.ID+"/audit", nil, "Accept", "*/*").Data, &trail); err != nil {
			t.Fatal(err)
		}
		if trail.SignatureData.ID != r.ID {
			t.Errorf("%+v", trail.SignatureData)
		}
		var kinds []string
		for _, e := range trail.AuditData {
			kinds = append(kinds, e.Kind)
			if e.ID == "" || e.CreatedAt == "" || e.Log == "" {
				t.Errorf("%+v", e)
			}
		}
		if got := strings.Join(kinds, " "); got != "request input validation key-use signature timestamp signed download" {
			t.Errorf("events: %s", got)
		}
		for accept, want := range map[string]string{"text/plain": "SignatureAuditReport:", "text/html": "Signature Data", "application/pdf": "%PDF-1."} {
			resp, b := s.raw("GET", "/signatures/"+r.ID+"/auditTrail", nil, "Accept", accept)
			if resp.Status != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), accept) || !bytes.Contains(b, []byte(want)) {
				t.Errorf("%s: %d %s %.60q", accept, resp.Status, resp.Header.Get("Content-Type"), b)
			}
		}
		s.verifyAudit()
	})
}

func TestIdempotentSigning(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		body := s.body(b64(samplePDF))
		one := s.record(s.do("POST", "/EU-QES_automatic", body, "Idempotency-Key", "k1"))
		a := s.do("POST", "/EU-QES_automatic", body, "Idempotency-Key", "k1")
		if two := s.record(a); two.ID != one.ID || a.Header.Get("Idempotent-Replayed") != "true" || two.State != "DONE" {
			t.Errorf("%s and %s, %v", one.ID, two.ID, a.Header)
		}
		if a := s.do("POST", "/EU-QES_automatic", s.body(b64(sampleTXT)), "Idempotency-Key", "k1"); a.Status != 422 || a.code() != 151 {
			t.Errorf("another body: %d/%d", a.Status, a.code())
		}
	})
}

func TestBatch(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		docs := []any{
			m{"payload": b64(samplePDF), "name": "one.pdf"},
			m{"payload": b64([]byte("%PDF-1.4 broken")), "name": "two.pdf"},
			b64(sampleXML), b64(make([]byte, 32)),
			b64(append(bytes.Clone(samplePDF), "junk behind the end: 1 0 obj\n"...)),
		}
		r := s.sign(docs, optionsOf(m{"batch": true}))
		if r.State != "DONE" || r.Document.SignedDocument.Extension != "zip" {
			t.Fatalf("%+v %s", r, deref(r.ErrorMessage))
		}
		files := unzip(t, s.download(r.ID, "signedDocument"))
		var rep []apitest.Result
		if err := json.Unmarshal(files["report.json"], &rep); err != nil {
			t.Fatal(err)
		}
		if len(rep) != 5 || len(rep[0].Findings) > 0 || len(rep[4].Findings) != 1 || rep[4].Findings[0].Code != "PDF_WRITTEN_ANEW" || rep[4].Findings[0].Severity != "warning" {
			t.Fatalf("%s", files["report.json"])
		}
		if again := s.do("GET", "/signatures/"+r.ID, nil); again.Message != "4 of 5 signed" {
			t.Errorf("the message is %q", again.Message)
		}
		if !reflect.DeepEqual(r.Document.Results, rep) {
			t.Errorf("the record lists %+v, the report %+v", r.Document.Results, rep)
		}
		if rep[0].State != "DONE" || rep[1].State != "ERROR" || *rep[1].ErrorNumber != 113 || *rep[0].File != "0000_one.pdf" || *rep[3].File != "0003_document.p7s" {
			t.Errorf("%s", files["report.json"])
		}
		for _, e := range rep {
			if e.File != nil && len(files[*e.File]) == 0 {
				t.Errorf("%s is not in the zip", *e.File)
			}
		}
		if r := s.sign([]string{b64([]byte("%PDF-1.4 broken"))}, optionsOf(m{"batch": true})); r.State != "ERROR" || r.number() != 113 || len(r.Document.Results) != 1 || r.Document.Results[0].State != "ERROR" {
			t.Errorf("a batch of nothing good: %s %d %+v", r.State, r.number(), r.Document.Results)
		}
	})
}

func TestCertificateLifeOverHTTP(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		for _, kind := range []string{"automatic", "otp", "eseal"} {
			a := s.do("POST", "/certificates/provider-"+kind, m{"certificateOwner": "Carla Prova", "customReference": "ref", "subject": m{"givenName": "Carla", "surname": "Prova", "fiscalCode": "PRVCRL80A41H501X"}})
			var c struct {
				ID, State, CertificateLink, CertificateType string
				CertificateOwner                            m
			}
			if a.Status != 200 || json.Unmarshal(a.Data, &c) != nil || c.State != "NEW" || c.CertificateType != "EU-QES_"+kind || c.CertificateOwner["owner"] != "Carla Prova" {
				t.Fatalf("%d %s %s", a.Status, a.Message, a.Data)
			}
			page := s.page(c.CertificateLink, nil)
			if !strings.Contains(page, `id="approve"`) {
				t.Fatalf("no button: %s", page)
			}
			page = s.page(c.CertificateLink, url.Values{"action": {"approve"}})
			user, pass, secret := element(page, "certificate-username"), element(page, "certificate-password"), element(page, "otp-secret")
			prefix := map[string]string{"automatic": "AHI", "otp": "RHI", "eseal": "SHI"}[kind]
			if !strings.HasPrefix(user, prefix) || pass == "" || (secret != "") != (kind == "otp") {
				t.Fatalf("credentials %q: %s", user, page)
			}
			if again := s.page(c.CertificateLink, nil); strings.Contains(again, pass) {
				t.Error("the credentials are shown twice")
			}
			body := m{"inputDocuments": b64(samplePDF), "certificateUsername": user, "certificatePassword": pass}
			if kind == "otp" {
				body["certificateOtp"], _ = keys.Code(secret, time.Now())
			}
			if r := s.record(s.do("POST", "/EU-QES_"+kind, body)); r.State != "DONE" {
				t.Fatalf("%s: %s", kind, deref(r.ErrorMessage))
			}
			s.suspendAndRevoke(c.ID, kind, body)
		}
	})
}

func (s *site) suspendAndRevoke(id, kind string, body m) {
	s.t.Helper()
	state := func(a *answer) string {
		var d struct{ State, SerialNumber, SubjectDN string }
		if json.Unmarshal(a.Data, &d) != nil || a.Status == 200 && (d.SerialNumber == "" || !strings.HasPrefix(d.SubjectDN, "C=IT")) {
			s.t.Errorf("%s", a.Data)
		}
		return fmt.Sprintf("%d/%d %s", a.Status, a.code(), d.State)
	}
	for _, step := range []struct{ verb, want string }{
		{"resume", "409/145 "}, {"suspend", "200/0 SUSPENDED"}, {"suspend", "409/145 "}, {"resume", "200/0 DONE"}, {"suspend", "200/0 SUSPENDED"},
	} {
		if got := state(s.do("POST", "/certificates/"+id+"/"+step.verb, nil)); got != step.want {
			s.t.Errorf("%s: %s, want %s", step.verb, got, step.want)
		}
	}
	if r := s.record(s.do("POST", "/EU-QES_"+kind, body)); r.number() != 112 {
		s.t.Errorf("suspended: %s %d", r.State, r.number())
	}
	if got := state(s.do("POST", "/certificates/"+id+"/revoke", nil)); got != "200/0 REVOKED" {
		s.t.Errorf("revoke: %s", got)
	}
	if got := state(s.do("POST", "/certificates/"+id+"/resume", nil)); got != "409/145 " {
		s.t.Errorf("resume after revoke: %s", got)
	}
}

// page gets a page, or posts a form to it.
func (s *site) page(link string, form url.Values) string {
	s.t.Helper()
	var resp *http.Response
	var err error
	if form == nil {
		resp, err = s.browser().Get(link)
	} else {
		resp, err = s.browser().PostForm(link, form)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		s.t.Errorf("policy %q", csp)
	}
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// browser keeps cookies, as the holder's does.
func (s *site) browser() *http.Client {
	if s.holder == nil {
		jar, err := cookiejar.New(nil)
		if err != nil {
			s.t.Fatal(err)
		}
		s.holder = &http.Client{Jar: jar}
	}
	return s.holder
}

// element is the text of an element with an id.
func element(page, id string) string {
	_, rest, ok := strings.Cut(page, `id="`+id+`">`)
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "<")
	return text
}

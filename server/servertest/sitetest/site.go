package sitetest

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/draw/drawtest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/server/internal/identify/identifytest"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/enrol"
)

func (s *Site) Credit() float64 {
	var w struct{ Credit float64 }
	if err := json.Unmarshal(s.Do(http.MethodGet, "/wallet", nil).Data, &w); err != nil {
		s.T.Fatal(err)
	}
	return w.Credit
}

// Site is a running server with its sandbox, seen from outside.
type Site struct {
	Holder   *http.Client // the browser of a holder, with its cookies
	T        *testing.T
	URL      string
	Box      *server.Sandbox
	Contract *apitest.Contract
	Run      *Running
	Config   server.Config
	Outside  *identifytest.Authority // whom it trusts, and who is not here
}

// In is the site for a subtest, which ends itself and not the test around it.
func (s *Site) In(t *testing.T) *Site {
	in := *s
	in.T = t
	return &in
}

// Answer of the server, and a Record in it, as a client reads them.
type (
	Answer struct{ apitest.Answer }
	Record struct{ apitest.Record }
)

// Number of the error that a record ended with; 0: none.
func (r *Record) Number() int {
	if r.ErrorNumber == nil {
		return 0
	}
	return *r.ErrorNumber
}

// EachEngine runs a test against a server on SQLite and one on PostgreSQL.
func EachEngine(t *testing.T, test func(t *testing.T, s *Site), change ...func(*server.Config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, NewSite(t, change...)) })
	t.Run("postgres", func(t *testing.T) { test(t, newSite(t, true, change)) })
}

func NewSite(t *testing.T, change ...func(*server.Config)) *Site {
	t.Helper()
	return newSite(t, false, change)
}

// newSite starts a server, on a new database of PostgreSQL if it is asked for.
func newSite(t *testing.T, postgres bool, change []func(*server.Config)) *Site {
	t.Helper()
	dir := t.TempDir()
	var cfg server.Config
	outside := identifytest.New(t)
	r := Start(t, func(c *server.Config) {
		c.Data, c.Trust.Anchors = dir, []string{outside.File()}
		for _, f := range change {
			f(c)
		}
		fill(t, c, postgres)
		if c.Data == dir {
			drawtest.Share(t, dir)
		}
		cfg = *c
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(troubles(r.Log.String()))
		}
	})
	cfg.PublicURL = r.URL
	s := &Site{T: t, URL: r.URL, Box: server.ReadSandbox(cfg.Data), Run: r, Config: cfg, Outside: outside}
	if s.Box == nil {
		t.Fatal("no sandbox.json")
	}
	s.Contract = TheContract(t, r.URL)
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

// TheContract is the OpenAPI document as the first server handed it out: all hand out the
// same one, and to make and to read it takes longer than most tests.
func TheContract(t *testing.T, url string) *apitest.Contract {
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

// Do sends a request and holds the answer to the OpenAPI document.
func (s *Site) Do(method, path string, body any, header ...string) *Answer {
	s.T.Helper()
	a, _ := s.Raw(method, path, body, header...)
	if err := a.Open(); err != nil {
		s.T.Fatalf("%s %s: %v", method, path, err)
	}
	if a.Success != (a.Error == nil) || a.Success != (a.Status < 300) {
		s.T.Errorf("%s %s: %d with success %v and error %v", method, path, a.Status, a.Success, a.Error)
	}
	return a
}

// Raw is do for answers of any form.
func (s *Site) Raw(method, path string, body any, header ...string) (*Answer, []byte) {
	s.T.Helper()
	a, err := apitest.Send(context.Background(), http.DefaultClient, method, s.URL+path, body, append([]string{"Authorization", "Bearer " + s.Box.Token}, header...)...)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Contract.Check(s.T, a.Request, a.Status, a.Header, a.Body)
	return &Answer{*a}, a.Body
}

func (s *Site) Record(a *Answer) *Record {
	s.T.Helper()
	if a.Status != 200 {
		s.T.Fatalf("%d/%d: %s", a.Status, a.Code(), a.Message)
	}
	var r Record
	if err := json.Unmarshal(a.Data, &r); err != nil {
		s.T.Fatal(err)
	}
	return &r
}

// M is a JSON object.
type M = map[string]any

// Body of a request with the sandbox's automatic certificate.
func (s *Site) Body(docs any, more ...M) M {
	c := s.Box.Certificates["automatic"]
	b := M{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password, "title": "a test"}
	for _, x := range more {
		maps.Copy(b, x)
	}
	return b
}

func (s *Site) Sign(docs any, more ...M) *Record {
	s.T.Helper()
	return s.Record(s.Do("POST", "/EU-QES_automatic", s.Body(docs, more...)))
}

func (s *Site) Wait(id string, states ...string) *Record {
	s.T.Helper()
	for range await.Within(await.Limit) {
		r := s.Record(s.Do("GET", "/signatures/"+id, nil))
		if slices.Contains(states, r.State) {
			return r
		}
	}
	s.T.Fatalf("record %s is not %v after three minutes", id, states)
	return nil
}

func (s *Site) Download(id, what string) []byte {
	s.T.Helper()
	resp, b := s.Raw("GET", "/signatures/"+id+"/"+what, nil)
	if resp.Status != 200 {
		s.T.Fatalf("download %s: %d %s", what, resp.Status, b)
	}
	return b
}

func (s *Site) OTP() string {
	s.T.Helper()
	code, err := keys.Code(s.Box.Certificates["otp"].TOTPSecret, time.Now())
	if err != nil {
		s.T.Fatal(err)
	}
	return code
}

var SamplePDF = enrol.TextPDF("Sample", "One page.\n")

var SampleXML = []byte(`<?xml version="1.0"?><invoice xmlns="urn:x"><line Id="a">1</line><line Id="b">2</line></invoice>`)

var SampleTXT = []byte("hello, world\n")

func B64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func OptionsOf(o M) M { return M{"options": o} }

func Deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (s *Site) VerifyAudit() {
	s.T.Helper()
	srv, err := server.Open(context.Background(), s.Config)
	if err != nil {
		s.T.Fatal(err)
	}
	defer srv.Close()
	if _, err := srv.Parts().Audit.Sequence(context.Background()); err != nil {
		s.T.Fatal(err)
	}
	res, err := srv.VerifyAudit(context.Background())
	if err != nil {
		s.T.Fatal(err)
	}
	if res.Bad != nil {
		s.T.Errorf("audit: %v", res.Bad)
	}
	if res.Entries == 0 {
		s.T.Error("audit: nothing in it")
	}
}

// Page gets a page, or posts a form to it.
func (s *Site) Page(link string, form url.Values) string {
	s.T.Helper()
	var resp *http.Response
	var err error
	if form == nil {
		resp, err = s.Browser().Get(link)
	} else {
		resp, err = s.Browser().PostForm(link, form)
	}
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		s.T.Errorf("policy %q", csp)
	}
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// Browser keeps cookies, as the holder's does.
func (s *Site) Browser() *http.Client {
	if s.Holder == nil {
		jar, err := cookiejar.New(nil)
		if err != nil {
			s.T.Fatal(err)
		}
		s.Holder = &http.Client{Jar: jar}
	}
	return s.Holder
}

// Element is the text of an element with an id.
func Element(page, id string) string {
	_, rest, ok := strings.Cut(page, `id="`+id+`">`)
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "<")
	return text
}

func Unzip(t *testing.T, b []byte) map[string][]byte {
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
		out[f.Name], err = io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return out
}

func SelfSigned(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: pk}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestDefaults are the defaults of a server that dials no one.
func TestDefaults() server.Config {
	cfg := server.Defaults()
	cfg.Trust.Lists = false
	return cfg
}

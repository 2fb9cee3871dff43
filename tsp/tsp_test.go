package tsp_test

import (
	"bytes"
	"context"
	"crypto"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/tsp"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return at }

func digest(h crypto.Hash, text string) []byte {
	d := h.New()
	d.Write([]byte(text))
	return d.Sum(nil)
}

func imprint(text string) func(crypto.Hash) ([]byte, error) {
	return func(h crypto.Hash) ([]byte, error) { return digest(h, text), nil }
}

// serve puts a handler on loopback.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestClientAndResponder(t *testing.T) {
	pki := adestest.Start(t, clock)
	c := &tsp.Client{Servers: []tsp.Server{{URL: pki.TSA()}}, Skew: time.Minute, Now: clock}
	for _, h := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		token, err := c.Stamp(context.Background(), h, digest(h, "text"))
		if err != nil {
			t.Fatal(err)
		}
		ts, err := tsp.Read(token, imprint("text"))
		if err != nil {
			t.Fatal(err)
		}
		if ts.ImprintIntact != ades.Yes || ts.Signature.Intact() != ades.Yes || !ts.Time.Equal(at) || ts.Policy == "" {
			t.Errorf("%v: %+v", h, ts)
		}
		other, err := tsp.Read(token, imprint("other"))
		if err != nil || other.ImprintIntact != ades.No {
			t.Errorf("%v: imprint of another text: %v, %v", h, other.ImprintIntact, err)
		}
	}
	for _, weak := range []crypto.Hash{crypto.SHA1, crypto.SHA224, crypto.SHA512_224, crypto.SHA3_224} {
		if _, err := c.Stamp(context.Background(), weak, digest(weak, "text")); err == nil {
			t.Errorf("%v is stamped", weak)
		}
	}
}

func TestFailover(t *testing.T) {
	pki := adestest.Start(t, clock)
	asked := map[string]int{}
	fail := func(name string, status int) string {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) { asked[name]++; w.WriteHeader(status) })
	}
	c := &tsp.Client{
		Servers: []tsp.Server{{URL: fail("busy", 503)}, {URL: fail("gone", 404)}, {URL: pki.TSA()}},
		Retries: 2, Pause: time.Millisecond,
	}
	if _, err := c.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x")); err != nil {
		t.Fatal(err)
	}
	if asked["busy"] != 1 || asked["gone"] != 1 {
		t.Errorf("asked %v before the one that answers", asked)
	}
	c.Servers = c.Servers[:2]
	if _, err := c.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x")); err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "503") {
		t.Errorf("error %v", err)
	}
	if asked["busy"] != 4 || asked["gone"] != 2 {
		t.Errorf("asked %v: three times after an accident, once after a refusal", asked)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := c.Stamp(ended, crypto.SHA256, digest(crypto.SHA256, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	once := tsp.Client{Servers: c.Servers}
	if _, err := once.Stamp(ended, crypto.SHA256, digest(crypto.SHA256, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end, without another try: %v", err)
	}
	if _, err := (&tsp.Client{}).Stamp(context.Background(), crypto.SHA256, nil); err == nil {
		t.Error("nobody answered")
	}
}

func TestBasicAuthentication(t *testing.T) {
	pki := adestest.Must(t, clock)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != "user" || p != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		pki.Unit.ServeHTTP(w, r)
	})
	c := &tsp.Client{Servers: []tsp.Server{{URL: url, Username: "user", Password: "secret", Policy: pki.Unit.Policy}}}
	if _, err := c.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x")); err != nil {
		t.Error(err)
	}
	c.Servers[0].Password = "wrong"
	if _, err := c.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x")); err == nil {
		t.Error("the wrong password is taken")
	}
}

// respond makes a server that answers with what a function makes of the
// request.
func respond(t testing.TB, answer func(req *tsp.Request) []byte) *tsp.Client {
	t.Helper()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		req, err := tsp.ParseRequest(b.Bytes())
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = w.Write(answer(req))
	})
	return &tsp.Client{Servers: []tsp.Server{{URL: url}}}
}

func TestBadAnswersAreRefused(t *testing.T) {
	pki := adestest.Must(t, clock)
	issue := func(r *tsp.Responder, req *tsp.Request) []byte {
		der, err := req.Encode()
		if err != nil {
			t.Error(err)
		}
		out, err := r.Respond(der)
		if err != nil {
			t.Log(err)
		}
		return out
	}
	signer := pki.Actor(t, "p256")
	notUnit := *pki.Unit
	notUnit.Certificate, notUnit.Key = signer.Certificate, signer.Key
	wrongKey := *pki.Unit
	wrongKey.Key = signer.Key
	late := *pki.Unit
	late.Now = func() time.Time { return at.AddDate(30, 0, 0) }
	cases := map[string]func(*tsp.Request) []byte{
		"nonce":              func(r *tsp.Request) []byte { r.Nonce = big.NewInt(1); return issue(pki.Unit, r) },
		"no nonce":           func(r *tsp.Request) []byte { r.Nonce = nil; return issue(pki.Unit, r) },
		"imprint":            func(r *tsp.Request) []byte { r.Digest[0] ^= 1; return issue(pki.Unit, r) },
		"certificate absent": func(r *tsp.Request) []byte { r.Certificates = false; return issue(pki.Unit, r) },
		"not a unit":         func(r *tsp.Request) []byte { return issue(&notUnit, r) },
		"another key":        func(r *tsp.Request) []byte { return issue(&wrongKey, r) },
		"out of validity":    func(r *tsp.Request) []byte { return issue(&late, r) },
		"policy refused":     func(r *tsp.Request) []byte { r.Policy = "1.2.3"; return issue(pki.Unit, r) },
		"empty":              func(*tsp.Request) []byte { return nil },
		"junk":               func(*tsp.Request) []byte { return []byte("<html>") },
		"too large":          func(*tsp.Request) []byte { return make([]byte, 2<<20) },
	}
	for name, answer := range cases {
		if token, err := respond(t, answer).Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x")); err == nil {
			t.Errorf("%s: taken, %d bytes", name, len(token))
		}
	}
	good := respond(t, func(r *tsp.Request) []byte { return issue(pki.Unit, r) })
	if _, err := good.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x")); err != nil {
		t.Fatalf("good: %v", err)
	}
	good.Skew, good.Now = time.Minute, func() time.Time { return at.Add(time.Hour) }
	if _, err := good.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x")); err == nil {
		t.Error("a clock an hour off is taken")
	}
	good.Skew, good.Accept = 0, func(*tsp.Token) error { return errors.New("not trusted") }
	if _, err := good.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x")); err == nil {
		t.Error("Accept is not asked")
	}
}

func TestResponderRefuses(t *testing.T) {
	pki := adestest.Must(t, clock)
	req := &tsp.Request{Hash: crypto.SHA256, Digest: digest(crypto.SHA256, "x"), Policy: "1.2.3"}
	der, err := req.Encode()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := pki.Unit.Respond(der)
	if err == nil {
		t.Error("an unknown policy is accepted")
	}
	var status *tsp.StatusError
	if _, err := tsp.ParseResponse(answer); !errors.As(err, &status) || status.Status != 2 || status.Failure != 15 {
		t.Errorf("answer %v", err)
	}
	answer, _ = pki.Unit.Respond([]byte("junk"))
	if _, err := tsp.ParseResponse(answer); !errors.As(err, &status) || status.Failure != 5 {
		t.Errorf("answer %v", err)
	}
	w := httptest.NewRecorder()
	pki.Unit.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/tsa", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
	w = httptest.NewRecorder()
	pki.Unit.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/tsa", strings.NewReader("x")))
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("no media type: %d", w.Code)
	}
}

func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("SKIPPED: openssl is not installed")
	}
	pki := adestest.Must(t, nil)
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	doc := put("doc", []byte("text"))
	root := put("root.pem", pki.RootPEM())
	inter := put("inter.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pki.Unit.Chain[0].Raw}))
	query := filepath.Join(dir, "query")
	if out, err := exec.Command(openssl, "ts", "-query", "-data", doc, "-sha256", "-cert", "-out", query).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	der, err := os.ReadFile(query)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := pki.Unit.Respond(der)
	if err != nil {
		t.Fatal(err)
	}
	reply := put("reply", answer)
	out, err := exec.Command(openssl, "ts", "-verify", "-queryfile", query, "-in", reply, "-CAfile", root, "-untrusted", inter).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "OK") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestFiles(t *testing.T) {
	pki := adestest.Must(t, clock)
	token, err := pki.Unit.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "text"))
	if err != nil {
		t.Fatal(err)
	}
	content := ades.File{Source: strings.NewReader("text")}
	doc, err := tsp.ReadToken(bytes.NewReader(token), ades.ReadOptions{Detached: []ades.File{content}})
	if err != nil || doc.Timestamps[0].ImprintIntact != ades.Yes {
		t.Errorf("token: %+v, %v", doc, err)
	}
	other := ades.File{Source: strings.NewReader("other")}
	doc, err = tsp.ReadToken(bytes.NewReader(token), ades.ReadOptions{Detached: []ades.File{content, other}})
	if err != nil || doc.Timestamps[0].ImprintIntact != ades.No {
		t.Errorf("token beside another file: %+v, %v", doc, err)
	}
	doc, err = tsp.ReadToken(bytes.NewReader(append(token, "PK"...)), ades.ReadOptions{})
	if err != nil || len(doc.Timestamps[0].Problems) == 0 {
		t.Errorf("token before other data: %+v, %v", doc, err)
	}
	doc, err = tsp.ReadToken(bytes.NewReader(token), ades.ReadOptions{})
	if err != nil || doc.Timestamps[0].ImprintIntact != ades.Unknown {
		t.Errorf("token alone: %+v, %v", doc, err)
	}
	if _, err := tsp.ReadToken(strings.NewReader("junk"), ades.ReadOptions{}); err == nil {
		t.Error("junk is a token")
	}
}

func TestTimeStampedData(t *testing.T) {
	pki := adestest.Must(t, clock)
	token, err := pki.Unit.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "text"))
	if err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{"b.txt": true, "%PDF-": false, "<html": false} { // the name is not stamped
		if _, err := tsp.ReadData(bytes.NewReader(bytes.Replace(tsd(token, "text"), []byte("a.txt"), []byte(name), 1))); (err == nil) != good {
			t.Errorf("a file called %q: %v", name, err)
		}
	}
	for name, file := range map[string][]byte{"tsd": tsd(token, "text"), "m7m": m7m(token, "text")} {
		data, err := tsp.ReadData(bytes.NewReader(file))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		doc, err := data.Document()
		if err != nil || len(doc.Timestamps) != 1 || doc.Timestamps[0].ImprintIntact != ades.Yes || len(doc.Content) != 1 {
			t.Errorf("%s: %+v, %v", name, doc, err)
		}
	}
}

func ExampleClient() {
	pki, err := adestest.New(clock, "")
	if err != nil {
		panic(err)
	}
	client := &tsp.Client{Servers: []tsp.Server{{URL: pki.TSA()}}, HTTP: pki.HTTP()}
	token, err := client.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "text"))
	if err != nil {
		panic(err)
	}
	t, err := tsp.Parse(token)
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Time.Format(time.RFC3339))
	// Output: 2026-03-01T12:00:00Z
}

func FuzzParse(f *testing.F) {
	pki := adestest.Must(f, clock)
	token, err := pki.Unit.Stamp(context.Background(), crypto.SHA256, digest(crypto.SHA256, "x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := tsp.Read(b, imprint("x")); err != nil {
			t.Fatal(err)
		}
		_, _ = tsp.ParseResponse(b)
		_, _ = tsp.ParseRequest(b)
	})
}

func FuzzReadData(f *testing.F) {
	f.Add(tsd([]byte{0x30, 0}, "text"))
	f.Add(m7m([]byte{0x30, 0}, "text"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if d, err := tsp.ReadData(bytes.NewReader(b)); err == nil {
			_, _ = d.Document()
		}
	})
}

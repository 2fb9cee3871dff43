// Package csc tests remote keys (section 10 of the contract) from outside: the
// real binary as a client of a provider that was written from the
// specification alone (package provider), and as a server for clients that
// others wrote (pyHanko, the EU's Kotlin library). `make csc` runs it.
package csc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/server/servertest"
	"rogito.dev/rogito/test/csc/provider"
)

// asked says that these tests are to run: `make csc` does.
func asked(t testing.TB) {
	t.Helper()
	if os.Getenv("ROGITO_CSC") == "" {
		t.Skip("SKIPPED: remote keys are tested by `make csc` (ROGITO_CSC=1)")
	}
}

// all says that everything is to be tried, not a choice of it.
var all = os.Getenv("ROGITO_CSC") == "all"

func TestMain(m *testing.M) {
	code := m.Run()
	dss.Stop()
	if shared.p != nil {
		shared.p.Close()
	}
	servertest.Clean()
	os.Exit(code)
}

// shared is one provider for tests that leave it as it was.
var shared struct {
	sync.Once
	p   *provider.Provider
	err error
}

func aProvider(t testing.TB) *provider.Provider {
	t.Helper()
	shared.Do(func() { shared.p, shared.err = provider.Start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	shared.p.Forget()
	t.Cleanup(func() {
		for _, c := range shared.p.Complaints() {
			t.Errorf("the provider complains: %s", c)
		}
		for _, h := range shared.p.Repeated() {
			t.Errorf("a hash was sent for signing again: %s", h)
		}
		shared.p.Forget()
	})
	return shared.p
}

// server is a process of rogito in a sandbox of its own.
type server struct {
	t       testing.TB
	data    string
	addr    string
	config  string
	env     []string
	cmd     *exec.Cmd
	done    chan struct{}
	log     *buffer
	sandbox sandbox
	secure  *http.Client // of a server that speaks TLS
	lists   bool         // it fetches trusted lists, from loopback
}

type sandbox struct {
	Email           string
	Token           string
	RootCertificate string `json:"root_certificate"`
	Certificates    map[string]struct{ Username, Password, TotpSecret string }
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *buffer) whole() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *buffer) String() string {
	s := l.whole()
	return s[max(0, len(s)-6000):]
}

// newServer starts a server with a configuration; {addr} in it is its address.
func newServer(t testing.TB, config string, change ...func(*server)) *server {
	t.Helper()
	asked(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, data: t.TempDir(), addr: l.Addr().String(), log: &buffer{}}
	l.Close()
	s.config = filepath.Join(s.data, "rogito.yaml")
	s.write("rogito.yaml", strings.ReplaceAll(config, "{addr}", s.addr))
	for _, c := range change {
		c(s)
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROGITO_CSC") { // it would be taken for a setting
			s.env = append(s.env, v)
		}
	}
	s.env = append(s.env, fmt.Sprintf("ROGITO_TRUST_LISTS=%v", s.lists), "ROGITO_LIMITS_RESERVE=-1", "ROGITO_LOG_FORMAT=json")
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the server said: %s", s.log)
		}
	})
	s.start()
	b, err := os.ReadFile(filepath.Join(s.data, "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(b, &s.sandbox)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.data, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *server) url() string {
	if s.secure != nil {
		return "https://" + s.addr
	}
	return "http://" + s.addr
}

// http is the client that reaches the server.
func (s *server) http() *http.Client {
	if s.secure != nil {
		return s.secure
	}
	return http.DefaultClient
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(servertest.Binary(s.t), "serve", "--listen", s.addr, "--data", s.data, "--config", s.config)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) { _ = cmd.Wait(); close(done) }(s.cmd, s.done)
	for range 3000 {
		if resp, err := s.http().Get(s.url() + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-s.done:
			s.t.Fatalf("the server ended: %s", s.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.t.Fatalf("the server is not ready: %s", s.log)
}

// kill is kill -9.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.done
	s.cmd = nil
}

// run runs a command of rogito beside the server.
func (s *server) run(args ...string) (string, error) {
	cmd := exec.Command(servertest.Binary(s.t), append(args, "--data", s.data, "--config", s.config)...)
	cmd.Env = s.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("rogito %s: %w: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out), err
}

type m = map[string]any

// reply is an answer of the server.
type reply struct {
	Status  int
	Header  http.Header
	Body    []byte
	Data    json.RawMessage
	Success bool
	Message string
	Error   *int
}

// call sends a request with a token; "" for none.
func (s *server) call(method, path, token string, body any) (*reply, error) {
	var r io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, s.url()+path, r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.http().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := &reply{Status: resp.StatusCode, Header: resp.Header}
	if out.Body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		_ = json.Unmarshal(out.Body, out)
	}
	return out, nil
}

// must is call with the sandbox's token for what must succeed.
func (s *server) must(v any, method, path string, body any) *reply {
	s.t.Helper()
	a, err := s.call(method, path, s.sandbox.Token, body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.Status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %.400s", method, path, a.Status, a.Body)
	}
	if v != nil {
		if err := json.Unmarshal(a.Data, v); err != nil {
			s.t.Fatalf("%s %s: %v: %.400s", method, path, err, a.Body)
		}
	}
	return a
}

// credit is what the sandbox's account has.
func (s *server) credit() float64 {
	s.t.Helper()
	var w struct{ Credit float64 }
	s.must(&w, "GET", "/wallet", nil)
	return w.Credit
}

// record is a signature as the API shows it.
type record struct {
	ID           string
	State        string
	ErrorNumber  *int
	ErrorMessage *string
	Options      struct{ AchievedLevel *string }
}

// end is DONE, or the code of the error.
func (r *record) end() string {
	if r.State == "ERROR" && r.ErrorNumber != nil {
		return strconv.Itoa(*r.ErrorNumber)
	}
	return r.State
}

func (r *record) says() string {
	if r.ErrorMessage == nil {
		return ""
	}
	return *r.ErrorMessage
}

// holder is a certificate with what opens it.
type holder struct {
	kind, username, password string
	id                       string
	credential               string        // at the provider
	otp                      func() string // nil for kinds without
}

// body is a request to sign.
func (h *holder) body(docs any, signatureType string, options m) m {
	b := m{"inputDocuments": docs, "certificateUsername": h.username, "certificatePassword": h.password}
	if signatureType != "" {
		b["signatureType"] = signatureType
	}
	if options != nil {
		b["options"] = options
	}
	if h.otp != nil {
		b["certificateOtp"] = h.otp()
	}
	return b
}

// sign signs, and returns the record that came back.
func (s *server) sign(h *holder, docs any, signatureType string, options m) *record {
	s.t.Helper()
	var r record
	s.must(&r, "POST", "/EU-QES_"+h.kind, h.body(docs, signatureType, options))
	return &r
}

// signed is the document of a record that is DONE.
func (s *server) signed(r *record) []byte {
	s.t.Helper()
	if r.State != "DONE" {
		s.t.Fatalf("the record is %s: %s", r.end(), r.says())
	}
	return s.must(nil, "GET", "/signatures/"+r.ID+"/signedDocument", nil).Body
}

// valid has the server verify a document: it must pass.
func (s *server) valid(doc, detached []byte) json.RawMessage {
	s.t.Helper()
	body := m{"inputDocument": b64(doc), "withPlainDocument": false}
	if detached != nil {
		body["detachedContent"] = b64(detached)
	}
	var report struct {
		Indication    string
		Integrity     *bool
		SignatureList []any
	}
	a := s.must(&report, "POST", "/verify", body)
	if report.Indication != "TOTAL-PASSED" {
		s.t.Errorf("our own verdict is %s: %.1500s", report.Indication, a.Data)
	}
	return a.Data
}

// jsonInto is json.Unmarshal with the text in its error.
func jsonInto(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %.300s", err, b)
	}
	return nil
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// pdf is a document of one page; the text makes it one of its kind.
func pdf(text string) []byte {
	content := "BT /F1 18 Tf 72 720 Td (" + text + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, at)
	return b.Bytes()
}

// pyHanko is the release that is tested with.
const pyHanko = "pyhanko[async-http]==0.38.0"

// python is an interpreter with pyHanko, installed once into a folder that is
// kept.
func python(t testing.TB) string {
	t.Helper()
	asked(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "rogito-csc", "pyhanko-0.38.0")
	bin := filepath.Join(dir, "bin", "python")
	if exec.Command(bin, "-c", "import aiohttp, pyhanko.sign.signers.csc_signer").Run() == nil {
		return bin
	}
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", dir}, {bin, "-m", "pip", "install", "-q", "--disable-pip-version-check", pyHanko}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s cannot be installed: %v: %s", pyHanko, err, out)
		}
	}
	return bin
}

// pySaid is what testdata/pyhanko_sign.py prints.
type pySaid struct {
	Signed, Multisign, Scal int
	ExpiresIn               int
	Refused                 string
	Status                  int
}

// pySign has pyHanko sign.
func pySign(t testing.TB, ask m) pySaid {
	t.Helper()
	in, err := json.Marshal(ask)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(t), filepath.Join("testdata", "pyhanko_sign.py"))
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = exit.Stderr
		}
		t.Fatalf("pyHanko: %v: %s", err, out[max(0, len(out)-2000):])
	}
	var said pySaid
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("pyHanko says %q", out)
	}
	return said
}

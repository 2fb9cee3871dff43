package forgery

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/servertest"
	"rogito.dev/rogito/trust"
)

const (
	forged  = "forged"  // never valid
	genuine = "genuine" // TOTAL-PASSED: a control
	slipped = "slipped" // signed as it is, with a slip of its author: never TOTAL-FAILED, and not valid where readers differ
)

// specimen is one document to be judged.
type specimen struct {
	name     string
	data     []byte
	detached []byte // content given beside; nil if none
	want     string // forged, genuine or slipped
	// shows is a text that pdftotext or mutool must find in a PDF: what the forger wants the victim
	// to read.
	shows string
	// asks is the program that must print what shows says, in place of those;
	// @ is the file, which has the name as.
	asks []string
	as   string
	// means are documents that the specimen may be taken for. Readers that take it
	// for different ones, or for something else, show different things.
	means [][]byte
	// anchors (PEM) are trusted in place of the PKI's root; such specimens do
	// not go to the server, whose anchors are fixed.
	anchors []byte
}

// contentOnly are slips that readers show differently for what a value means, not
// for how the file is written. Such differences have no end, and are not looked
// for (docs/divergences.md).
var contentOnly = map[string]string{
	"stream or syntax: a number with a sign": "an odd number in a box",
	"stream or syntax: a number of two dots": "an odd number in a box",
	"signed with /Rotate 4294967386":         "a number of more than 32 bits",
	"signed with /UserUnit 4294967298":       "a number of more than 32 bits",
}

// maker makes the specimens of one class.
type maker func(t *testing.T, m *materials) []specimen

var classes = map[string]maker{}

func register(class string, make maker) { classes[class] = make }

// service is the built binary, a PKI on loopback and a running server that
// trusts its root; all classes share them.
type service struct {
	pki     *adestest.PKI
	dir     string
	binary  string
	root    string // file with the root, PEM
	address string // host:port of the PKI
	base    string // of the server
	token   string
	client  http.Client
	process *os.Process // of the server
}

var shared service

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "forgery")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	stop, err := shared.start(dir)
	defer stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func (s *service) start(dir string) (stop func(), err error) {
	stop = func() {}
	s.dir = dir
	authority := httptest.NewUnstartedServer(nil)
	s.address = authority.Listener.Addr().String()
	if s.pki, err = adestest.New(nil, "http://"+s.address); err != nil {
		return stop, err
	}
	authority.Config.Handler = serveBombs(s.pki.Handler())
	authority.Start()
	stop = authority.Close
	s.root = filepath.Join(dir, "root.pem")
	if err := os.WriteFile(s.root, s.pki.RootPEM(), 0o600); err != nil {
		return stop, err
	}
	if s.binary, err = servertest.Build(); err != nil {
		return stop, err
	}
	end, err := s.serve()
	return func() { end(); authority.Close() }, err
}

// serve starts the real server and waits until it is ready.
func (s *service) serve() (stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return func() {}, err
	}
	address := l.Addr().String()
	l.Close()
	s.base = "http://" + address
	data := filepath.Join(s.dir, "data")
	log, err := os.Create(filepath.Join(s.dir, "server.log"))
	if err != nil {
		return func() {}, err
	}
	c := exec.Command(s.binary, "serve", "--listen", address, "--data", data, "--trust", s.root, "--allow-private", s.address)
	c.Env = append(os.Environ(), "ROGITO_TRUST_LISTS=false")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		return func() {}, err
	}
	s.process = c.Process
	stop = func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		log.Close()
	}
	for range await.Within(time.Minute) {
		if res, err := http.Get(s.base + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return stop, s.readToken(data)
			}
		}
	}
	text, _ := os.ReadFile(log.Name())
	return stop, fmt.Errorf("the server does not become ready:\n%s", text)
}

func (s *service) readToken(data string) error {
	b, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err != nil {
		return err
	}
	var box struct{ Token string }
	err = json.Unmarshal(b, &box)
	s.token = box.Token
	return err
}

// verdict is what each of the three roads answers.
type verdict struct {
	File            string `json:"file"`
	OverallVerified bool   `json:"overallVerified"`
	Indication      string `json:"indication"`
	Signatures      []struct {
		Indication    string   `json:"indication"`
		SubIndication *string  `json:"subIndication"`
		Errors        []string `json:"errors"`
	} `json:"signatureReportList"`
}

func (v verdict) String() string {
	b, _ := json.Marshal(v)
	return string(b)
}

// library asks the Go package.
func (s *service) library(t *testing.T, sp specimen) verdict {
	t.Helper()
	store := &trust.Store{Client: s.pki.HTTP()}
	anchors := sp.anchors
	if anchors == nil {
		anchors = s.pki.RootPEM()
	}
	if err := store.AddAnchors(anchors); err != nil {
		t.Fatal(err)
	}
	var o rogito.VerifyOptions
	if sp.detached != nil {
		o.Detached = []ades.File{{Source: bytes.NewReader(sp.detached)}}
	}
	r, err := (&rogito.Verifier{Trust: store}).Verify(t.Context(), bytes.NewReader(sp.data), o)
	if err != nil {
		return verdict{Indication: "error: " + err.Error()}
	}
	view, err := r.View(false, "en")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	var v verdict
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// overHTTP asks the running server.
func (s *service) overHTTP(t *testing.T, sp specimen) verdict {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part := func(name string, b []byte) {
		w, err := form.CreateFormFile(name, name+".bin")
		if err == nil {
			_, err = w.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	part("inputDocument", sp.data)
	if sp.detached != nil {
		part("detachedContent", sp.detached)
	}
	_ = form.WriteField("withPlainDocument", "false")
	form.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/verify", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var envelope struct {
		Data    verdict `json:"data"`
		Success bool    `json:"success"`
		Error   *int    `json:"error"`
	}
	if err := json.Unmarshal(b, &envelope); err != nil {
		t.Fatalf("%s: %v: %.200s", sp.name, err, b)
	}
	if res.StatusCode >= 500 {
		t.Errorf("%s: POST /verify answers %d", sp.name, res.StatusCode)
	}
	return envelope.Data
}

// allowPrivate is the flag that lets the command line reach the PKI.
var allowPrivate = sync.OnceValue(func() bool {
	out, _ := exec.Command(shared.binary, "verify", "--help").CombinedOutput()
	return bytes.Contains(out, []byte("--allow-private"))
})

// commandLine asks `rogito verify`, once for all files that share anchors and
// have no content beside them.
func (s *service) commandLine(t *testing.T, list []specimen) []verdict {
	t.Helper()
	out := make([]verdict, len(list))
	batches := map[string][]int{}
	dir := t.TempDir()
	for i, sp := range list {
		key := fmt.Sprintf("%x", sp.anchors)
		if sp.detached != nil {
			key = fmt.Sprintf("detached %d", i)
		}
		batches[key] = append(batches[key], i)
	}
	for _, group := range batches {
		first := list[group[0]]
		root := s.root
		if first.anchors != nil {
			root = filepath.Join(dir, fmt.Sprintf("anchors%d.pem", group[0]))
			if err := os.WriteFile(root, first.anchors, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := []string{"verify", "--json", "--no-plain", "--trust", root}
		if allowPrivate() {
			args = append(args, "--allow-private", s.address)
		}
		if first.detached != nil {
			path := filepath.Join(dir, fmt.Sprintf("content%d", group[0]))
			if err := os.WriteFile(path, first.detached, 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--detached", path)
		}
		for _, i := range group {
			path := filepath.Join(dir, fmt.Sprintf("%05d", i))
			if err := os.WriteFile(path, list[i].data, 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
		}
		c := exec.CommandContext(t.Context(), s.binary, args...)
		c.Env = append(os.Environ(), "ROGITO_TRUST_LISTS=false", "ROGITO_DATA="+filepath.Join(dir, "none"))
		answer, _ := c.Output() // the exit code is that of the worst
		lines := bufio.NewScanner(bytes.NewReader(answer))
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var v verdict
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				t.Fatalf("rogito verify: %v: %.200s", err, lines.Bytes())
			}
			var i int
			if _, err := fmt.Sscanf(filepath.Base(v.File), "%05d", &i); err != nil {
				t.Fatalf("rogito verify names the file %q", v.File)
			}
			out[i] = v
		}
	}
	return out
}

// TestForgeries judges every specimen of every class on three roads.
func TestForgeries(t *testing.T) {
	await.All(t)
	names := make([]string, 0, len(classes))
	for name := range classes {
		names = append(names, name)
	}
	slices.Sort(names)
	total := map[string]int{}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			m := &materials{t: t, service: &shared}
			list := classes[name](t, m)
			seen := map[string]bool{}
			for _, sp := range list {
				if seen[sp.name] {
					t.Errorf("two specimens are called %q", sp.name)
				}
				seen[sp.name] = true
				total[sp.want]++
			}
			fromCommand := shared.commandLine(t, list)
			see := newEyes(t)
			for i, sp := range list {
				shown(t, sp)
				if words, agree := see.take(sp); contentOnly[sp.name] != "" {
					t.Logf("%s: readers show %v: %s", sp.name, words, contentOnly[sp.name])
				} else if !agree && (fromCommand[i].OverallVerified || sp.want == genuine) {
					t.Errorf("%s: readers show different things (%v), and it is valid", sp.name, words)
				} else if agree && words != nil && sp.want == slipped && !fromCommand[i].OverallVerified {
					t.Errorf("%s: readers show the same (%v), and it is not valid: %v", sp.name, words, fromCommand[i])
				}
				judge(t, sp, "library", shared.library(t, sp))
				judge(t, sp, "rogito verify", fromCommand[i])
				if sp.anchors == nil {
					judge(t, sp, "POST /verify", shared.overHTTP(t, sp))
				}
			}
			t.Logf("%d specimens", len(list))
		})
	}
	t.Logf("%d forged, %d genuine, %d slipped", total[forged], total[genuine], total[slipped])
}

func judge(t *testing.T, sp specimen, road string, v verdict) {
	t.Helper()
	switch {
	case sp.want == forged && (v.OverallVerified || v.Indication == "TOTAL-PASSED"):
		t.Errorf("%s: %s calls a forgery valid: %v", sp.name, road, v)
	case sp.want == genuine && (!v.OverallVerified || v.Indication != "TOTAL-PASSED"):
		t.Errorf("%s: %s refuses a genuine document: %v", sp.name, road, v)
	case sp.want == slipped && v.Indication == "TOTAL-FAILED":
		t.Errorf("%s: %s blames the author's slip on somebody: %v", sp.name, road, v)
	case sp.want != forged && sp.want != genuine && sp.want != slipped:
		t.Errorf("%s: wants %q", sp.name, sp.want)
	}
}

// shown proves that a forgery shows what it claims to show.
func shown(t *testing.T, sp specimen) {
	t.Helper()
	if sp.shows == "" {
		return
	}
	path := filepath.Join(t.TempDir(), cmp.Or(sp.as, "shown.pdf"))
	if err := os.WriteFile(path, sp.data, 0o600); err != nil {
		t.Fatal(err)
	}
	asked := false
	readers := [][]string{{"pdftotext", path, "-"}, {"mutool", "draw", "-F", "txt", path}}
	if sp.asks != nil {
		readers = [][]string{slices.Clone(sp.asks)}
		readers[0][slices.Index(sp.asks, "@")] = path
	}
	for _, reader := range readers {
		if _, err := exec.LookPath(reader[0]); err != nil {
			continue
		}
		asked = true
		out, _ := exec.Command(reader[0], reader[1:]...).Output()
		if strings.Contains(string(out), sp.shows) {
			return
		}
	}
	if asked {
		t.Errorf("%s: none of %q shows %q", sp.name, readers, sp.shows)
	}
}

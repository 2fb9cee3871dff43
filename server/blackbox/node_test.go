// Package blackbox runs the real binary and knows it only by its port: on
// SQLite with a folder, on PostgreSQL with S3, and as two processes on one
// PostgreSQL and one bucket, asked in turn.
//
// TestSuite is the contract, by nouns:
//
//	suite         accounts, tokens, money (section 3)
//	certificates  orders, states, lists (section 4)
//	enrolment     pages of holders, identification, passwords, devices, imports
//	levels        security levels, approvals, client certificates
//	locks         the order of judgement, one-time passwords, locking
//	inputs        documents in every form, refusals, addresses that are guarded
//	formats       signature types, several documents, batches, containers
//	options       every option, refused and with its effect
//	records       states, lists, downloads, audit, deletion, idempotency, costs
//	callbacks     members, outcomes, secrets, the log of deliveries
//	errors        access, limits, problem+json, codes of the other areas
//	sandbox       what the first start makes, and production, which makes nothing
//	later         time that passes, another configuration, harm
//	coverage      what of the document and of the table of codes was never met
package blackbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/draw/drawtest"
	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest"
)

func TestMain(m *testing.M) { storetest.Main(m, servertest.Clean) }

// node is one process of the server.
type node struct {
	t    testing.TB
	bin  string
	addr string
	args []string
	env  []string
	cmd  *exec.Cmd

	secure http.RoundTripper // of a node that speaks TLS; nil: it does not
	done   chan struct{}
	log    *logBuffer
}

// logBuffer keeps what a process says.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// storage is where a node keeps its data.
type storage struct {
	Data, Database string
	storetest.Bucket
}

// onEngine is the storage of a test that runs on each engine.
func onEngine(t testing.TB, e storetest.Engine) storage {
	if cfg := e.Config(t); cfg.Database != "" {
		return storage{Data: cfg.Data, Database: cfg.Database}
	}
	return sandboxed(t)
}

// sandboxed is a folder with the copy of a sandbox.
func sandboxed(t testing.TB) storage {
	cfg := storage{Data: t.TempDir()}
	servertest.Sandbox(t, cfg.Data)
	return cfg
}

// newNode prepares a process on a store; start starts it.
func newNode(t testing.TB, cfg storage) *node {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	n := &node{t: t, bin: servertest.Binary(t), addr: addr, log: &logBuffer{}}
	drawtest.Share(t, cfg.Data)
	n.args = []string{"--data", cfg.Data}
	if cfg.Database != "" {
		n.args = append(n.args, "--database", cfg.Database)
	}
	if cfg.URL != "" {
		n.args = append(n.args, "--blobs", cfg.URL)
	}
	n.env = append(os.Environ(), "ROGITO_LIMITS_RESERVE=-1", "ROGITO_TRUST_LISTS=false", "ROGITO_S3_ACCESS_KEY="+cfg.AccessKey, "ROGITO_S3_SECRET_KEY="+cfg.SecretKey)
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("%s said: %s", n.addr, tail(n.log.String()))
		}
	})
	return n
}

func tail(s string) string {
	if len(s) > 4000 {
		s = "…" + s[len(s)-4000:]
	}
	return s
}

func (n *node) url() string {
	if n.secure != nil {
		return "https://" + n.addr
	}
	return "http://" + n.addr
}

// start starts the process and waits until it is ready.
func (n *node) start() {
	n.t.Helper()
	n.cmd = exec.Command(n.bin, append([]string{"serve", "--listen", n.addr}, n.args...)...)
	n.cmd.Env = n.env
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.done = make(chan struct{})
	go func() { _ = n.cmd.Wait(); close(n.done) }()
	for range await.Within(2 * time.Minute) {
		resp, err := (&http.Client{Transport: n.secure}).Get(n.url() + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-n.done:
			n.t.Fatalf("the server ended: %s", tail(n.log.String()))
		default:
		}
	}
	n.t.Fatalf("the server is not ready: %s", tail(n.log.String()))
}

// stop asks the process to end, and waits until it has.
func (n *node) stop() {
	n.t.Helper()
	_ = n.cmd.Process.Signal(os.Interrupt)
	select {
	case <-n.done:
		n.cmd = nil
	case <-time.After(30 * time.Second):
		n.t.Fatalf("the server does not end: %s", tail(n.log.String()))
	}
}

// kill is kill -9.
func (n *node) kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	<-n.done
	n.cmd = nil
}

// run runs a command of rogito beside the server.
func (n *node) run(args ...string) string {
	n.t.Helper()
	cmd := exec.Command(n.bin, append(args, n.args...)...)
	cmd.Env = n.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("rogito %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// credentials are those of an account.
type credentials struct {
	Email  string `json:"email"`
	APIKey string `json:"api_key"`
	Token  string `json:"token"`
}

func sandbox(t testing.TB, data string) (c credentials) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is an answer of the server.
type answer struct{ apitest.Answer }

func (a *answer) code() int { return a.Code() }

func (a *answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.Data, v); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
}

// call sends a request.
func call(client *http.Client, method, url string, body any, header ...string) (*answer, error) {
	return callIn(context.Background(), client, method, url, body, header...)
}

// callIn is call for a client whose transport checks the answer: the context
// says for which test.
func callIn(ctx context.Context, client *http.Client, method, url string, body any, header ...string) (*answer, error) {
	a, err := apitest.Send(ctx, client, method, url, body, header...)
	if err == nil {
		err = a.Open()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	return &answer{*a}, nil
}

package browser

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"rogito.dev/rogito/server/servertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if started.c != nil {
		started.c.stop()
	}
	if missing := everyPage(); code == 0 && len(missing) > 0 {
		fmt.Printf("FAIL: pages that no test has looked at in every way:\n%s\n", strings.Join(missing, "\n"))
		code = 1
	}
	servertest.Clean()
	if italy.dir != "" {
		_ = os.RemoveAll(italy.dir)
	}
	os.Exit(code)
}

// server is a process of the real binary.
type server struct {
	URL  string
	Data string
	// Sandbox is what the first start wrote down.
	Sandbox struct {
		Token        string `json:"token"`
		Certificates map[string]struct {
			Username   string `json:"username"`
			Password   string `json:"password"`
			TOTPSecret string `json:"totpSecret"`
		} `json:"certificates"`
	}
	PID int
}

// startServer starts a sandbox: the copy of one, or with further settings (ROGITO_…=…) in an
// empty folder.
func startServer(t testing.TB, env ...string) *server {
	t.Helper()
	theBrowser(t) // without one there is nothing to serve
	data := t.TempDir()
	if len(env) == 0 {
		servertest.Sandbox(t, data)
	}
	return startServerIn(t, data, env...)
}

// startServerIn starts a server on a folder.
func startServerIn(t testing.TB, data string, env ...string) *server {
	t.Helper()
	theBrowser(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	drawtest.Share(t, data)
	var log bytes.Buffer
	cmd := exec.Command(servertest.Binary(t), "serve", "--listen", addr, "--data", data)
	cmd.Env = append(append(os.Environ(), "ROGITO_TRUST_LISTS=false", "ROGITO_LIMITS_RESERVE=-1"), env...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
		if t.Failed() {
			t.Logf("the server said: %s", log.String()[max(0, log.Len()-3000):])
		}
	})
	s := &server{URL: "http://" + addr, Data: data, PID: cmd.Process.Pid}
	await.Until(t, "the server is ready", func() bool {
		select {
		case <-done:
			t.Fatalf("the server ended: %s", log.String())
		default:
		}
		resp, err := http.Get(s.URL + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if b, err := os.ReadFile(filepath.Join(data, "sandbox.json")); err == nil {
		if err := json.Unmarshal(b, &s.Sandbox); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// axeVersion is the version of axe-core that the pages are held to.
const axeVersion = "4.14.0"

var axe struct {
	sync.Once
	source string
	err    error
}

// axeSource is axe-core, fetched from npm once and kept in the user's cache.
func axeSource() (string, error) {
	axe.Do(func() {
		cache, err := os.UserCacheDir()
		if err != nil {
			axe.err = err
			return
		}
		cache = filepath.Join(cache, "rogito-test")
		tgz := filepath.Join(cache, "axe-core-"+axeVersion+".tgz")
		if _, err := os.Stat(tgz); err != nil {
			if err := os.MkdirAll(cache, 0o755); err != nil {
				axe.err = err
				return
			}
			cmd := exec.Command("npm", "pack", "--silent", "--pack-destination", cache, "axe-core@"+axeVersion)
			if out, err := cmd.CombinedOutput(); err != nil {
				axe.err = fmt.Errorf("npm pack axe-core: %w: %s", err, out)
				return
			}
		}
		axe.source, axe.err = fileInTgz(tgz, "package/axe.min.js")
	})
	return axe.source, axe.err
}

func fileInTgz(path, name string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%s is not in %s", name, path)
		}
		if err != nil {
			return "", err
		}
		if h.Name == name {
			b, err := io.ReadAll(r)
			return string(b), err
		}
	}
}

// Package servertest has what tests of the real server share: the binary, built
// once in a process, and a server that is waited for until it is ready.
package servertest

import (
	"context"
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
)

var built struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

// Build makes the binary with build tags, once for all that ask; without tags,
// ROGITO_TEST_BINARY may name one that is there. The tag "faults" has the hooks
// by which tests end a process at a point of its work. [Clean] removes it.
func Build(tags ...string) (string, error) {
	if path := os.Getenv("ROGITO_TEST_BINARY"); path != "" && len(tags) == 0 {
		return path, nil
	}
	built.Lock()
	defer built.Unlock()
	key := strings.Join(tags, ",")
	if path := built.paths[key]; path != "" {
		return path, nil
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "rogito-test-")
		if err != nil {
			return "", err
		}
		built.dir, built.paths = dir, map[string]string{}
	}
	path := filepath.Join(built.dir, "rogito"+strings.ReplaceAll(key, ",", "-"))
	cmd := exec.Command("go", "build", "-tags", key, "-o", path, "rogito.dev/rogito/cmd/rogito")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	built.paths[key] = path
	return path, nil
}

// Binary is Build for a test.
func Binary(t testing.TB, tags ...string) string {
	t.Helper()
	path, err := Build(tags...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Clean removes what Build has made, at the end of a TestMain.
func Clean() {
	built.Lock()
	defer built.Unlock()
	_ = os.RemoveAll(built.dir)
	built.dir, built.paths = "", nil
}

// Address is one of this machine that nobody listens on.
func Address() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Ready waits until the server at a URL is ready. The context bounds the wait,
// and is to end when the process does.
func Ready(ctx context.Context, url string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

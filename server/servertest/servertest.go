// Package servertest has what tests of the real server share: the binary, built
// once in a process, and a server that is waited for until it is ready.
package servertest

import (
	"bytes"
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

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/disk"
)

// built is what this process has a copy of.
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
	if err := build(key, path); err != nil {
		return "", err
	}
	built.paths[key] = path
	return path, nil
}

// build links the binary in a folder that the tests of all packages share, where the
// go command leaves alone what is still the same, and copies it: to link it takes
// five seconds of processor. Who tests has a copy, which another build does not change.
func build(tags, path string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return compile(tags, path)
	}
	dir := filepath.Join(cache, "rogito-test", "bin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return compile(tags, path)
	}
	shared := filepath.Join(dir, filepath.Base(path))
	unlock, err := disk.Lock(shared + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if err := compile(tags, shared); err != nil {
		return err
	}
	// By another process: a file that this one has open for writing may be open in a
	// child of another goroutine for a moment longer, and then cannot be run.
	if out, err := exec.Command("cp", shared, path).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the binary: %w: %s", err, out)
	}
	return nil
}

// compile leaves out what debuggers read, as make build does: that is a third of the linker's time.
func compile(tags, path string) error {
	cmd := exec.Command("go", "build", "-tags", tags, "-ldflags", "-s -w", "-o", path, "rogito.dev/rogito/cmd/rogito")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// sandbox is the data folder that the first start of the binary made in this process.
var sandbox struct {
	sync.Once
	dir string
	err error
}

// Sandbox fills an empty data folder with a copy of a sandbox, made once in this process: most of
// what a first start takes are keys and the schema of the database, half a second of processor.
// Tests of the first start, or of settings that it looks at, have one of their own.
func Sandbox(t testing.TB, data string) {
	t.Helper()
	binary := Binary(t)
	sandbox.Do(func() {
		if sandbox.dir, sandbox.err = os.MkdirTemp("", "rogito-sandbox-"); sandbox.err == nil {
			sandbox.err = firstStart(binary, sandbox.dir)
		}
	})
	err := sandbox.err
	if err == nil {
		err = CopyData(data, sandbox.dir)
	}
	if err != nil {
		t.Fatalf("make a sandbox: %v", err)
	}
}

// firstStart starts the binary in an empty folder, and ends it.
func firstStart(binary, data string) error {
	addr, err := Address()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
	defer cancel()
	cmd := exec.Command(binary, "serve", "--listen", addr, "--data", data)
	cmd.Env = append(os.Environ(), "ROGITO_LIMITS_RESERVE=-1", "ROGITO_TRUST_LISTS=false")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait(); cancel() }()
	if Ready(ctx, "http://"+addr) == nil {
		_ = cmd.Process.Signal(os.Interrupt)
	} else {
		_ = cmd.Process.Kill()
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("%w: %s", err, log.Bytes())
	}
	return nil
}

// CopyData copies a data folder of a server that has ended, with the modes of its files.
func CopyData(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	// CopyFS leaves the modes of files to the umask.
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return os.Chmod(filepath.Join(to, name), info.Mode().Perm())
	})
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

// Clean removes what Build and Sandbox have made, at the end of a TestMain.
func Clean() {
	built.Lock()
	defer built.Unlock()
	_ = os.RemoveAll(built.dir)
	built.dir, built.paths = "", nil
	_ = os.RemoveAll(sandbox.dir)
}

// Address is one of this machine that nothing listens on.
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

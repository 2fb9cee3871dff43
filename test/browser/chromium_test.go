package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
)

// chromium is one browser process. Tabs of tests live in contexts of their own,
// with cookies of their own.
type chromium struct {
	cmd *exec.Cmd
	to  io.Writer

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	tabs    map[string]*tab // by session
	gone    error
	dir     string
}

// message is one of the DevTools protocol: a command's answer or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

var started struct {
	sync.Once
	c   *chromium
	err error
}

// theBrowser is the browser of all tests. Where there is none, the test is
// skipped, loudly; in CI it fails.
func theBrowser(t testing.TB) *chromium {
	t.Helper()
	await.All(t)
	started.Do(func() { started.c, started.err = startChromium() })
	if errors.Is(started.err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		t.Skipf("SKIPPED, NOT TESTED: the pages in a browser: there is no chromium here")
	}
	if started.err != nil {
		t.Fatal(started.err)
	}
	return started.c
}

func startChromium() (*chromium, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		return nil, exec.ErrNotFound
	}
	dir, err := os.MkdirTemp("", "rogito-browser")
	if err != nil {
		return nil, err
	}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &chromium{to: inWrite, waiting: map[int]chan message{}, tabs: map[string]*tab{}, dir: dir}
	c.cmd = exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--allow-pre-commit-input", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-features=Translate,OptimizationHints,MediaRouter",
		"--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", // a camera that shows a moving picture, and a user who allows it
		"--font-render-hinting=none", "--hide-scrollbars", "--user-data-dir="+filepath.Join(dir, "profile"), "about:blank")
	c.cmd.ExtraFiles = []*os.File{inRead, outWrite}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	inRead.Close()
	outWrite.Close()
	go c.read(outRead)
	return c, nil
}

// stop ends the browser and removes what it wrote.
func (c *chromium) stop() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = os.RemoveAll(c.dir)
}

func (c *chromium) read(r io.Reader) {
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		b, err := in.ReadBytes(0)
		if err != nil {
			c.mu.Lock()
			c.gone = fmt.Errorf("the browser is gone: %w", err)
			for id, ch := range c.waiting {
				close(ch)
				delete(c.waiting, id)
			}
			c.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(b, []byte{0}), &m) != nil {
			continue
		}
		c.mu.Lock()
		ch, of := c.waiting[m.ID], c.tabs[m.Session]
		delete(c.waiting, m.ID)
		var all []*tab
		if m.ID == 0 && m.Session == "" { // about downloads, which no session has
			for _, one := range c.tabs {
				all = append(all, one)
			}
		}
		c.mu.Unlock()
		switch {
		case ch != nil:
			ch <- m
		case of != nil:
			of.event(m)
		default:
			for _, one := range all {
				one.event(m)
			}
		}
	}
}

// call sends a command and waits for its answer.
func (c *chromium) call(session, method string, params, result any) error {
	ch := make(chan message, 1)
	c.mu.Lock()
	if c.gone != nil {
		c.mu.Unlock()
		return c.gone
	}
	c.next++
	id := c.next
	c.waiting[id] = ch
	b, err := json.Marshal(map[string]any{"id": id, "sessionId": session, "method": method, "params": params})
	if session == "" {
		b, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil {
		_, err = c.to.Write(append(b, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case m, ok := <-ch:
		switch {
		case !ok:
			return c.gone
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-time.After(60 * time.Second):
		return fmt.Errorf("%s: no answer", method)
	}
}

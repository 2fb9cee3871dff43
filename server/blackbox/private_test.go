package blackbox

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/film/filmtest"
)

// canary is what a private document says, again and again. Its length is a
// multiple of three, so that its base64 repeats too.
const canary = "The canary of a private document, sung."

func private(size int) []byte { return bytes.Repeat([]byte(canary), size/len(canary)) }

// TestPrivateFiles: whatever becomes of a request, no temporary file is left of
// the documents, films and pictures that it brought; and nothing in clear is on
// disk, not after kill -9 either.
func TestPrivateFiles(t *testing.T) {
	n := newNode(t, sandboxed(t))
	tmp := t.TempDir()
	n.env = append(n.env, "TMPDIR="+tmp)
	n.start()
	p := &keeper{t: t, n: n, client: &http.Client{Timeout: time.Minute}, token: sandbox(t, n.args[1]).Token}
	large := private(4 << 20)
	film, photo := filmtest.Holding(large), append(filmtest.Photo(), large...)
	video := p.order("video")
	for _, c := range []struct {
		name string
		do   func() int
		want int
	}{
		{"a document is verified", func() int { return p.form("/verify", bearer(p.token), map[string][]byte{"inputDocument": large}) }, 200},
		{"as JSON", func() int { return p.json("/verify", m{"inputDocument": b64(large)}) }, 200},
		{"refused, no token", func() int { return p.form("/verify", "", map[string][]byte{"inputDocument": large}) }, 401},
		{"refused, a member is wrong", func() int { return p.json("/verify", m{"inputDocument": b64(large), "recursive": "no"}) }, 400},
		{"refused, not base64", func() int { return p.json("/verify", m{"inputDocument": string(large)}) }, 422},
		{"refused, wrong credentials", func() int {
			return p.json("/EU-QES_automatic", m{"inputDocuments": b64(large), "certificateUsername": "x", "certificatePassword": "y"})
		}, 200},
		{"a film and a picture, one missing", func() int { return p.page(video, "video", map[string][]byte{"video": film}) }, 422},
		{"a film and a picture", func() int { return p.page(video, "video", map[string][]byte{"video": film, "photo": photo}) }, 200},
		{"a film twice", func() int { return p.page(video, "video", map[string][]byte{"video": film, "photo": photo}) }, 409},
		{"a statement that is none", func() int { return p.page(p.order("signature"), "signature", map[string][]byte{"document": large}) }, 422},
		{"a statement that is too large", func() int {
			return p.page(p.order("signature"), "signature", map[string][]byte{"document": private(17 << 20)})
		}, 422},
		{"a page that is none", func() int {
			return p.page(n.url()+"/enrol/"+strings.Repeat("0", 24)+"/x", "video", map[string][]byte{"video": large})
		}, 404},
	} {
		if got := c.do(); got != c.want {
			t.Errorf("%s: %d, not %d", c.name, got, c.want)
		}
		n.emptySpool(t, c.name)
	}
	for _, what := range []string{"verify", "video", "signature"} {
		p.half(what).Close()
		n.emptySpool(t, "hung up in the middle: "+what)
	}
	p.search("while the server runs", n.args[1], tmp)

	var open []net.Conn
	for _, what := range []string{"verify", "video", "signature"} {
		open = append(open, p.half(what))
	}
	await.Until(t, "two are spooled", func() bool { return len(n.spooled(t, filepath.Join(n.args[1], "spool"))) >= 2 })
	n.kill()
	for _, c := range open {
		c.Close()
	}
	p.search("after kill -9", n.args[1], tmp)
	// What such a process may leave is the name of a file that it had just made.
	left := filepath.Join(n.args[1], "spool", "spool-123")
	if err := os.WriteFile(left, large, 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	n.emptySpool(t, "after kill -9 and a start")
	p.search("after kill -9 and a start", n.args[1], tmp)
}

// keeper sends private documents and looks for them.
type keeper struct {
	t      *testing.T
	n      *node
	client *http.Client
	token  string
}

func (p *keeper) json(path string, body m) int {
	a, err := call(p.client, "POST", p.n.url()+path, body, "Authorization", bearer(p.token))
	if err != nil {
		p.t.Fatal(err)
	}
	return a.Status
}

func (p *keeper) order(identification string) string {
	s := &bombed{signer: &signer{n: p.n, token: p.token, client: p.client}, t: p.t}
	return s.order(identification)
}

func multipartOf(fields, files map[string][]byte) (contentType string, body *bytes.Buffer) {
	body = new(bytes.Buffer)
	form := multipart.NewWriter(body)
	for name, value := range fields {
		_ = form.WriteField(name, string(value))
	}
	for name, data := range files {
		w, _ := form.CreateFormFile(name, name+".bin")
		_, _ = w.Write(data)
	}
	form.Close()
	return form.FormDataContentType(), body
}

func (p *keeper) form(path, authorization string, files map[string][]byte) int {
	contentType, body := multipartOf(nil, files)
	req, err := http.NewRequest("POST", p.n.url()+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", authorization)
	return p.do(req)
}

func (p *keeper) page(link, action string, files map[string][]byte) int {
	contentType, body := multipartOf(map[string][]byte{"action": []byte(action)}, files)
	req, err := http.NewRequest("POST", link, body)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	return p.do(req)
}

func (p *keeper) do(req *http.Request) int {
	resp, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// half sends half of a form, and leaves the connection open.
func (p *keeper) half(what string) net.Conn {
	path, file := "/verify", map[string]string{"verify": "inputDocument", "video": "video", "signature": "document"}[what]
	if what != "verify" {
		path = strings.TrimPrefix(p.order(what), p.n.url())
	}
	contentType, body := multipartOf(map[string][]byte{"action": []byte(what)}, map[string][]byte{file: private(6 << 20)})
	c, err := net.Dial("tcp", p.n.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, bearer(p.token), contentType, body.Len())
	if _, err := c.Write(body.Bytes()[:5<<20]); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// search looks for the canary in every file of these folders.
func (p *keeper) search(when string, dirs ...string) {
	p.t.Helper()
	marks := [][]byte{[]byte(canary), []byte(base64.StdEncoding.EncodeToString([]byte(canary)))}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // gone, or no file
			}
			f, err := os.Open(path)
			if err != nil {
				return nil
			}
			defer f.Close()
			b, err := io.ReadAll(f)
			for _, mark := range marks {
				if bytes.Contains(b, mark) {
					p.t.Errorf("%s: %s holds a private document in clear", when, strings.TrimPrefix(path, dir))
				}
			}
			return err
		})
		if err != nil {
			p.t.Error(err)
		}
	}
}

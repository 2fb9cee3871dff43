package blackbox

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
)

// web is the rest of the world as the servers see it: documents to fetch,
// images, receivers of callbacks, and a time-stamp authority. It is on loopback,
// which the servers are told to allow.
type web struct {
	*httptest.Server
	pki *adestest.PKI

	mu    sync.Mutex
	files map[string]func(http.ResponseWriter, *http.Request, []byte)
	hooks map[string]*hook
	met   []visit
}

// visit is a request that the web got.
type visit struct {
	method, path string
	header       http.Header
	body         []byte
	at           time.Time
}

// hook is a receiver of callbacks.
type hook struct {
	url   string
	reply func(n int, w http.ResponseWriter) // of the nth delivery, from 1; nil: 200
	mu    sync.Mutex
	got   []visit
}

func newWeb(t *testing.T) *web {
	w := &web{pki: adestest.Must(t, nil), files: map[string]func(http.ResponseWriter, *http.Request, []byte){}, hooks: map[string]*hook{}}
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.Close)
	for name, data := range map[string][]byte{"/doc.pdf": samplePDF, "/doc.xml": sampleXML, "/doc.txt": sampleTXT, "/image.png": samplePNG, "/empty": {}, "/none.png": []byte("GIF89a")} {
		w.files[name] = func(out http.ResponseWriter, _ *http.Request, _ []byte) { _, _ = out.Write(data) }
	}
	w.files["/moved"] = func(out http.ResponseWriter, r *http.Request, _ []byte) {
		http.Redirect(out, r, "/moved/target.pdf", http.StatusFound)
	}
	w.files["/broken"] = func(out http.ResponseWriter, _ *http.Request, _ []byte) {
		out.WriteHeader(http.StatusInternalServerError)
	}
	w.files["/locked"] = func(out http.ResponseWriter, r *http.Request, body []byte) {
		if r.Method != http.MethodPost || string(body) != "a=b&c=d" || r.Header.Get("X-Key") != "open sesame" {
			out.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = out.Write(sampleXML)
	}
	w.files["/header"] = func(out http.ResponseWriter, r *http.Request, _ []byte) {
		if r.Method != http.MethodGet || r.Header.Get("X-Key") != "open sesame" {
			out.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = out.Write(sampleTXT)
	}
	w.files["/tsa"] = w.stamp
	w.files["/tsa/broken"] = w.files["/broken"]
	w.files["/tsa/garbage"] = func(out http.ResponseWriter, _ *http.Request, _ []byte) {
		out.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = out.Write(bytes.Repeat([]byte{0x30, 0x80}, 100))
	}
	w.files["/tsa/locked"] = func(out http.ResponseWriter, r *http.Request, body []byte) {
		if user, password, ok := r.BasicAuth(); !ok || user != "dora" || password != "tsa secret" {
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.stamp(out, r, body)
	}
	return w
}

// stamp is the time-stamp authority of the caller's own choice.
func (w *web) stamp(out http.ResponseWriter, r *http.Request, body []byte) {
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	w.pki.Unit.ServeHTTP(out, again)
}

func (w *web) serve(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	v := visit{r.Method, r.URL.RequestURI(), r.Header.Clone(), body, time.Now()}
	w.mu.Lock()
	w.met = append(w.met, v)
	file, h := w.files[r.URL.Path], w.hooks[r.URL.Path]
	w.mu.Unlock()
	switch {
	case h != nil:
		h.take(v, out)
	case file != nil:
		file(out, r, body)
	default:
		http.NotFound(out, r)
	}
}

// visits are those of a path.
func (w *web) visits(path string) []visit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.met), func(v visit) bool { return v.path != path })
}

// hold puts a document on the web that is handed out only once release is
// called.
func (w *web) hold(path string, data []byte) (url string, release func()) {
	gate := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[path] = func(out http.ResponseWriter, r *http.Request, _ []byte) {
		select {
		case <-gate:
			_, _ = out.Write(data)
		case <-r.Context().Done():
		}
	}
	return w.URL + path, sync.OnceFunc(func() { close(gate) })
}

// hook opens a receiver of callbacks.
func (w *web) hook(name string, reply func(n int, w http.ResponseWriter)) *hook {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &hook{url: w.URL + "/hook/" + name, reply: reply}
	w.hooks["/hook/"+name] = h
	return h
}

func (h *hook) take(v visit, out http.ResponseWriter) {
	h.mu.Lock()
	h.got = append(h.got, v)
	n := len(h.got)
	h.mu.Unlock()
	if h.reply != nil {
		h.reply(n, out)
	}
}

// wait returns the deliveries once there are so many.
func (h *hook) wait(t testing.TB, n int) []visit {
	t.Helper()
	for range await.Within(await.Limit) {
		h.mu.Lock()
		got := slices.Clone(h.got)
		h.mu.Unlock()
		if len(got) >= n {
			return got
		}
	}
	t.Fatalf("fewer than %d deliveries in three minutes", n)
	return nil
}

func pngOf(width, height int) []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))) // to memory
	return b.Bytes()
}

// host is an address without its scheme.
func host(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	return rest
}

package fetch

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// serveInProcess answers a request to the server's own address without a
// connection. The answers (certificates, OCSP, CRLs, tokens) are small.
func serveInProcess(h http.Handler, r *http.Request) (*http.Response, error) {
	inner := r.Clone(r.Context())
	inner.RequestURI = r.URL.RequestURI()
	inner.RemoteAddr = "127.0.0.1:0"
	if inner.Host == "" {
		inner.Host = r.URL.Host
	}
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(w, inner)
	return &http.Response{
		Status:     strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		StatusCode: w.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        w.header,
		Body:          io.NopCloser(&w.body),
		ContentLength: int64(w.body.Len()),
		Request:       r,
	}, nil
}

type recorder struct {
	header http.Header
	body   bytes.Buffer
	status int
	wrote  bool
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.wrote = true
	return w.body.Write(b)
}

package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// contentPolicy of pages that are answers: they show untrusted text, and need only their own style,
// which is named by its digest.
func contentPolicy(page []byte) string {
	style := "'none'"
	if _, rest, ok := bytes.Cut(page, []byte("<style>")); ok {
		text, _, _ := bytes.Cut(rest, []byte("</style>"))
		sum := sha256.Sum256(text)
		style = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + style + "; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// Send answers with a file as an operation does, for pages.
func (a *API) Send(w http.ResponseWriter, r *http.Request, c *Content) { a.writeContent(w, r, c) }

// writeContent sends a file, in whole or, where it can be read at any place,
// the range that was asked for.
func (a *API) writeContent(w http.ResponseWriter, r *http.Request, c *Content) {
	if closer, ok := c.Reader.(io.Closer); ok {
		defer closer.Close()
	}
	h := w.Header()
	h.Set("Content-Type", c.Type)
	h.Set("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(c.Type, "text/html") {
		h.Set("Content-Security-Policy", contentPolicy(c.Bytes))
	}
	if c.Name != "" {
		kind := "attachment"
		if c.Inline {
			kind = "inline"
		}
		h.Set("Content-Disposition", mime.FormatMediaType(kind, map[string]string{"filename": c.Name}))
	}
	if !c.Modified.IsZero() {
		h.Set("Last-Modified", c.Modified.UTC().Format(http.TimeFormat))
	}
	if c.Reader == nil {
		h.Set("Content-Length", strconv.Itoa(len(c.Bytes)))
		a.pacedWriter(w, r).Write(c.Bytes)
		return
	}
	if seeker, ok := c.Reader.(io.ReadSeeker); ok {
		http.ServeContent(a.pacedWriter(w, r), r, "", c.Modified, seeker)
		return
	}
	if c.Size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(c.Size, 10))
	}
	var buf []byte
	if _, ok := c.Reader.(io.WriterTo); !ok { // one that writes itself wants none
		buf = make([]byte, 256<<10)
	}
	if _, err := io.CopyBuffer(a.pacedWriter(w, r), c.Reader, buf); err != nil {
		// The status is sent: all that is left is to break the connection, so that the client does
		// not take a part for the whole.
		a.log.WarnContext(r.Context(), "download broken off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

package api

import (
	"net/http"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/fault"
)

// MountPKI puts the embedded authority where its certificates point to. What
// it does not have is refused as everything else is.
//
// An answer of a protocol (OCSP, RFC 3161) is that protocol's, refusals
// included: bytes that are no request get a TimeStampResp with badDataFormat
// or an OCSPResponse with malformedRequest, and HTTP 200. What fails before
// the protocol is spoken (a wrong media type, a body too large, a list that
// cannot be had) is HTTP's to say, in the envelope.
//
// stampsPerMinute is how many time-stamps one address gets in a minute; with 0 none are signed.
func MountPKI(a *API, h *http.ServeMux, stampsPerMinute int) {
	a.Mount("/pki/*", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := h.Handler(r); pattern == "" {
			a.NotFound(w, r)
			return
		}
		a.enveloped(h, w, r)
	}), http.MethodGet, http.MethodHead, http.MethodPost)
	if stampsPerMinute <= 0 {
		return
	}
	var limit PerMinute
	a.Mount("/tsa", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait := limit.Take(r.RemoteAddr, stampsPerMinute, time.Now()); wait > 0 {
			a.fail(w, r, &fault.Error{Code: fault.LimitReached, Text: "too many time-stamps for this address", RetryAfter: wait})
			return
		}
		a.enveloped(h, w, r)
	}), http.MethodPost)
}

// enveloped serves a handler that knows nothing of the envelope; what it
// refuses with a status is refused as everything else is.
func (a *API) enveloped(h http.Handler, w http.ResponseWriter, r *http.Request) {
	f := &refusedWriter{ResponseWriter: w}
	h.ServeHTTP(f, r)
	if f.status == 0 {
		return
	}
	refusal := &fault.Error{Code: statusCode(f.status), Status: f.status, Text: strings.TrimSpace(f.text.String())}
	if f.status == http.StatusServiceUnavailable {
		refusal.RetryAfter = retrySoon
	}
	a.fail(w, r, refusal)
}

// statusCode is the error of the table that has a status.
func statusCode(status int) fault.Code {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return fault.NoRoute
	case http.StatusRequestEntityTooLarge:
		return fault.TooLarge
	case http.StatusUnsupportedMediaType:
		return fault.UnsupportedMedia
	case http.StatusServiceUnavailable:
		return fault.Unavailable
	}
	if status < 500 {
		return fault.BadBody
	}
	return fault.Internal
}

// refusedWriter keeps a refusal back, with its text.
type refusedWriter struct {
	http.ResponseWriter
	status int
	text   strings.Builder
}

func (w *refusedWriter) WriteHeader(status int) {
	if status >= 400 {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *refusedWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(b)
	}
	return w.text.Write(b)
}

func (w *refusedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// MountPages puts the pages for people in their place, and those further
// addresses of theirs that this server has.
func MountPages(a *API, h http.Handler, more ...string) {
	for _, pattern := range append(more, "/enrol/*") {
		a.Mount(pattern, h, http.MethodGet, http.MethodHead, http.MethodPost)
	}
}

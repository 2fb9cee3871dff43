package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reply is what a handler answers: data and a message, or a file.
type Reply[D any] struct {
	Data    D
	Message string      // may be empty
	Header  http.Header // beside those every answer has
	ETag    string      // quoted; a client that has it is answered 304
	Content *Content    // in place of data: no envelope
	JSON    JSON        // the data, if a package writes its own JSON
	Type    string      // media type of JSON that goes out without the envelope
}

// JSON appends data as JSON.
type JSON func(b []byte) []byte

// Created is the reply to a POST that made something.
func Created[D any](data D) Reply[D] { return Reply[D]{Data: data, Message: "Created"} }

// Found is the reply that is only data.
func Found[D any](data D) Reply[D] { return Reply[D]{Data: data} }

// Content is an answer outside the envelope: a file, a page, GeoJSON.
type Content struct {
	Type     string    // media type
	Name     string    // file name; empty: shown in place
	Inline   bool      // shown in place although it has a name
	Bytes    []byte    // the content, or
	Reader   io.Reader // a stream; closed when it is an io.Closer
	Size     int64     // of the stream; -1 if unknown
	Modified time.Time
}

// Answer is a reply with its type forgotten.
type Answer struct {
	Data     any
	Message  string
	header   http.Header
	etag     string
	content  *Content
	json     JSON
	bare     string // media type of json, without the envelope
	body     []byte // the whole answer as it was once sent
	replayed bool
}

func seal[D any](r Reply[D], err error) (Answer, error) {
	if err != nil {
		return Answer{}, err
	}
	return Answer{Data: r.Data, Message: r.Message, header: r.Header, etag: r.ETag, content: r.Content, json: r.JSON, bare: r.Type}, nil
}

// Has reports whether a client has the answer with an entity tag (quoted) already:
// then it is answered 304, and need not be charged.
func Has(r *http.Request, etag string) bool { return matches(r.Header.Get("If-None-Match"), etag) }

func matches(list, etag string) bool {
	for list != "" {
		var one string
		one, list, _ = strings.Cut(list, ",")
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

func encodeData(b *bytes.Buffer, ans *Answer) error {
	if ans.json != nil {
		*b = *bytes.NewBuffer(ans.json(b.Bytes()))
		return nil
	}
	return json.MarshalWrite(b, ans.Data, json.Deterministic(true))
}

// Encode writes the envelope, the one place where it is spelled.
func Encode(b *bytes.Buffer, op *Op, ans *Answer) error {
	if op.NoEnvelope {
		return encodeData(b, ans)
	}
	b.WriteString(`{"data":`)
	if err := encodeData(b, ans); err != nil {
		return err
	}
	b.WriteString(`,"success":true,"message":`)
	quoted, _ := jsontext.AppendQuote(b.AvailableBuffer(), ans.Message)
	b.Write(quoted)
	b.WriteString(`,"error":null}`)
	return nil
}

func (a *API) write(w http.ResponseWriter, r *http.Request, op *Op, ans Answer) {
	h := w.Header()
	maps.Copy(h, ans.header)
	if c, ok := w.(*call); ok && len(c.ignored) > 0 {
		ans.Message = c.withIgnored(ans.Message, false)
	}
	if ans.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	if ans.etag != "" {
		h.Set("ETag", ans.etag)
	}
	switch {
	case ans.content != nil:
		a.writeContent(w, r, ans.content)
	case ans.body != nil:
		a.writeJSON(w, r, op, ans.body)
	case ans.etag != "" && Has(r, ans.etag):
		w.WriteHeader(http.StatusNotModified)
	case ans.bare != "":
		h.Set("Content-Type", ans.bare)
		a.writeJSON(w, r, op, ans.json(nil))
	default:
		var b bytes.Buffer
		if err := Encode(&b, op, &ans); err != nil {
			a.fail(w, r, err)
			return
		}
		a.writeJSON(w, r, op, b.Bytes())
	}
}

// Values of headers that no answer changes.
var (
	jsonType     = []string{"application/json"}
	noStore      = []string{"no-store"}
	varyEncoding = []string{"Accept-Encoding"}
)

func (a *API) writeJSON(w http.ResponseWriter, r *http.Request, op *Op, body []byte) {
	h, size := w.Header(), len(body)
	if h["Content-Type"] == nil {
		h["Content-Type"] = jsonType
	}
	if size > 64<<10 {
		w = a.pacedWriter(w, r)
	}
	if op.Gzip && size > 1024 && h["Content-Encoding"] == nil {
		if h["Vary"] == nil {
			h["Vary"] = varyEncoding
		} else {
			h["Vary"] = append(h["Vary"], varyEncoding...)
		}
		if acceptsGzip(r) {
			writeGzip(w, body)
			return
		}
	}
	h.Set("Content-Length", strconv.Itoa(size))
	w.Write(body)
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if (name == "gzip" || name == "*") && strings.ReplaceAll(q, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

var gzipPool = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return z
}}

func writeGzip(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h["Content-Encoding"] = []string{"gzip"}
	var b bytes.Buffer
	z := gzipPool.Get().(*gzip.Writer)
	defer gzipPool.Put(z)
	z.Reset(&b)
	z.Write(body)
	z.Close()
	h["Content-Length"] = []string{strconv.Itoa(b.Len())}
	w.Write(b.Bytes())
}

package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/upload"
)

// Upload is a body whose fields the operation judges itself, one by one, with
// its own codes; its long strings and files may be on disk. T describes it.
type Upload[T any] struct{ uploaded }

// uploaded is an Upload with its type forgotten.
type uploaded struct {
	Value jsontext.Value // a JSON body; nil for a form
	Parts []upload.Part  // a multipart body
	Spool *upload.Spool
}

func (u *uploaded) upload() *uploaded { return u }

// Object is the members of a JSON body; 100 if it is no object.
func (u *uploaded) Object() (map[string]jsontext.Value, error) {
	if u.Value.Kind() != '{' {
		return nil, fault.New(fault.BadBody, "body must be a JSON object")
	}
	return upload.Members(u.Value)
}

// Decode decodes the whole JSON body.
func (u *Upload[T]) Decode() (T, error) {
	var v T
	err := u.Spool.Unmarshal(u.Value, &v)
	return v, err
}

// Form are the parts of a multipart body with a name.
func (u *uploaded) Form(name string) []upload.Part {
	var found []upload.Part
	for _, p := range u.Parts {
		if p.Field == name {
			found = append(found, p)
		}
	}
	return found
}

type inputKind struct {
	some     bool // there is a Body
	raw      bool // it is an Upload
	optional bool
}

func inputKindOf(f reflect.StructField) inputKind {
	_, raw := reflect.New(f.Type).Interface().(interface{ upload() *uploaded })
	return inputKind{some: true, raw: raw, optional: f.Tag.Get("required") == "false"}
}

// body reads the request's body into the input's Body and returns its digest,
// which tells one request from another under the same idempotency key; nil
// without such a key.
func (b *binding) body(a *API, c *call, r *http.Request, op *Op, in any) ([]byte, error) {
	if !op.Idempotent || r.Header.Get("Idempotency-Key") == "" {
		return nil, b.read(a, c, r, op, in, nil)
	}
	sum := sha256.New()
	io.WriteString(sum, r.Method+" "+r.URL.RequestURI()+"\n")
	err := b.read(a, c, r, op, in, sum)
	return sum.Sum(nil), err
}

// read reads the body; sum is nil if its digest is not needed.
func (b *binding) read(a *API, c *call, r *http.Request, op *Op, in any, sum hash.Hash) error {
	if !b.input.some {
		return nil
	}
	form, boundary, err := mediaType(r, op)
	if err != nil {
		return err
	}
	rd, err := a.reader(c, r, op, sum)
	if err != nil {
		return err
	}
	c.spool = upload.New(a.opts.SpoolDir, a.opts.Limits)
	if form {
		rd.sum = nil // the parts are digested
	}
	c.spool.Expect(r.ContentLength)
	up := uploaded{Spool: c.spool}
	if form {
		up.Parts, err = c.spool.ReadForm(rd, boundary)
		if err == nil { // only at the end of a body does the server notice that its client hangs up
			_, err = io.Copy(io.Discard, rd)
		}
		if err == nil && sum != nil {
			err = digestParts(sum, up.Parts)
		}
	} else {
		up.Value, err = c.spool.ReadJSON(rd)
	}
	if b.input.optional && rd.n == 0 {
		return nil
	}
	if err != nil {
		return readError(err)
	}
	if b.known != nil && form {
		b.known.unknownInForm(c, up.Parts)
	} else if b.known != nil {
		b.known.unknownIn(c, up.Value)
	}
	if err := c.strict(r); err != nil {
		return err
	}
	dst := reflect.ValueOf(in).Elem().FieldByIndex(b.index)
	if b.input.raw {
		*dst.Addr().Interface().(interface{ upload() *uploaded }).upload() = up
		return nil
	}
	if up.Value.Kind() == 'n' && dst.Kind() == reflect.Struct { // it would be taken for an object without members
		return fault.New(fault.BadBody, "%s must be an object", upload.WholeBody)
	}
	return wrongField(op, c.spool.Unmarshal(up.Value, dst.Addr().Interface()))
}

// digestParts digests what a form says and not how: the boundary between its
// parts, and with it the raw body, is another each time a client sends it.
func digestParts(sum hash.Hash, parts []upload.Part) error {
	for _, p := range parts {
		fmt.Fprintf(sum, "%q %t %q %d\n", p.Field, p.File, p.Text.Name(), p.Text.Len())
		if _, err := io.Copy(sum, p.Text.Reader()); err != nil {
			return fault.Storage(fmt.Errorf("digest a part: %w", err))
		}
	}
	return nil
}

// wrongField gives a member of the wrong type the code of its operation; a
// body that is no object at all stays 100, as everywhere.
func wrongField(op *Op, err error) error {
	var fe *upload.FieldError
	if op.BadField != 0 && errors.As(err, &fe) && fe.Field != upload.WholeBody {
		return fault.New(op.BadField, "%s %s", fe.Field, fe.Text)
	}
	return err
}

// readError separates what the client did from what befell us while reading.
// A connection that breaks is the client's doing.
func readError(err error) error {
	var f *fault.Error
	if errors.As(err, &f) || fromBody(err) != nil {
		return err
	}
	return fault.New(fault.BadBody, "the body could not be read to its end").Because(err)
}

func mediaType(r *http.Request, op *Op) (form bool, boundary string, err error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return false, "", fault.New(fault.UnsupportedMedia, "Content-Encoding %q is not supported", enc)
	}
	ct := r.Header.Get("Content-Type")
	if ct == "" && !op.FormOnly {
		return false, "", nil
	}
	mt, params, err := mime.ParseMediaType(ct)
	if err != nil {
		return false, "", fault.New(fault.UnsupportedMedia, "Content-Type %q is malformed", ct)
	}
	if cs := params["charset"]; cs != "" && !strings.EqualFold(cs, "utf-8") {
		return false, "", fault.New(fault.UnsupportedMedia, "charset %q is not supported: send UTF-8", cs)
	}
	json := mt == "application/json" || strings.HasPrefix(mt, "application/") && strings.HasSuffix(mt, "+json")
	switch {
	case json && !op.FormOnly:
		return false, "", nil
	case mt == "multipart/form-data" && (op.Form != nil || op.FormOnly) && params["boundary"] != "":
		return true, params["boundary"], nil
	case op.FormOnly:
		return false, "", fault.New(fault.UnsupportedMedia, "Content-Type %q is not supported: send multipart/form-data", mt)
	case op.Form != nil:
		return false, "", fault.New(fault.UnsupportedMedia, "Content-Type %q is not supported: send application/json or multipart/form-data", mt)
	}
	return false, "", fault.New(fault.UnsupportedMedia, "Content-Type %q is not supported: send application/json", mt)
}

// reader bounds a body in size, and digests it as it passes.
func (a *API) reader(c *call, r *http.Request, op *Op, sum hash.Hash) (*bodyReader, error) {
	limit := op.MaxBody
	if limit == 0 {
		limit = a.opts.Limits.Body
	}
	if r.ContentLength > limit {
		return nil, fault.New(fault.TooLarge, "the body is larger than %d bytes", limit)
	}
	if p, ok := r.Body.(*pacedBody); ok {
		p.work = a.timeout(op) + writePatience
	}
	return &bodyReader{r: http.MaxBytesReader(c, r.Body, limit), sum: sum}, nil
}

// bodyReader counts and digests. It remembers the end of the body, so that another read does
// not go down to the connection.
type bodyReader struct {
	r     io.Reader
	sum   hash.Hash
	n     int64
	ended bool
}

func (p *bodyReader) Read(b []byte) (int, error) {
	if p.ended {
		return 0, io.EOF
	}
	n, err := p.r.Read(b)
	p.n += int64(n)
	p.ended = err == io.EOF
	if p.sum != nil {
		p.sum.Write(b[:n])
	}
	return n, err
}

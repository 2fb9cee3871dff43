package client

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Document is something to sign or to verify. Make one with [File], [Bytes],
// [Remote] or [Digest].
type Document struct {
	name string
	open func() (io.ReadCloser, error) // nil: remote or digest
	wire map[string]any                // of what is not uploaded
}

// File is a document on disk; it is read while it is sent.
func File(path string) Document {
	return Document{name: filepath.Base(path), open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

// Bytes is a document in memory, under the name of a file.
func Bytes(name string, content []byte) Document {
	return Document{name: name, open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// Remote is a document that the server fetches; header lines are "Name: value".
func Remote(url string, header ...string) Document {
	w := map[string]any{"sourceType": "remote", "url": url}
	if len(header) > 0 {
		w["headers"] = header
	}
	return Document{wire: w}
}

// Digest is a document of which only the digest leaves this machine: a detached
// CAdES signature or a bare PKCS#1 value comes back. It must be of the hash
// algorithm of the options.
func Digest(sum []byte) Document {
	return Document{wire: map[string]any{"sourceType": "base64Hash", "payload": sum}}
}

var errNoDocument = errors.New("an empty Document: make one with File, Bytes, Remote or Digest")

// signBody is the JSON of a request with its documents in it, read while it is
// sent.
func signBody(members map[string]any, docs []Document) (io.Reader, error) {
	rest, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	parts := []io.Reader{bytes.NewReader([]byte(`{"inputDocuments":[`))}
	text := func(b []byte) { parts = append(parts, bytes.NewReader(b)) }
	for i, d := range docs {
		if i > 0 {
			text([]byte(","))
		}
		if d.open == nil {
			if d.wire == nil {
				return nil, errNoDocument
			}
			b, err := json.Marshal(d.wire)
			if err != nil {
				return nil, err
			}
			text(b)
			continue
		}
		name, err := json.Marshal(d.name)
		if err != nil {
			return nil, err
		}
		text(fmt.Appendf(nil, `{"sourceType":"base64","name":%s,"payload":"`, name))
		parts = append(parts, &base64Reader{open: d.open})
		text([]byte(`"}`))
	}
	text([]byte("]"))
	if len(rest) > 2 {
		text([]byte(","))
	}
	text(rest[1:])
	return io.MultiReader(parts...), nil
}

// base64Reader encodes a document while reading it. It is opened when it is first read, and closed
// at its end.
type base64Reader struct {
	open func() (io.ReadCloser, error)
	src  io.ReadCloser
	in   [24 << 10]byte // a multiple of three
	out  []byte
	done bool
}

func (r *base64Reader) Read(p []byte) (int, error) {
	if r.src == nil && !r.done {
		var err error
		if r.src, err = r.open(); err != nil {
			return 0, err
		}
	}
	if len(r.out) == 0 {
		if r.done {
			return 0, io.EOF
		}
		n, err := io.ReadFull(r.src, r.in[:])
		if err != nil {
			r.src.Close()
			r.done, r.src = true, nil
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return 0, err
			}
		}
		r.out = base64.StdEncoding.AppendEncode(r.out[:0], r.in[:n])
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

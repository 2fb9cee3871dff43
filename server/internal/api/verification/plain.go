package verification

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"

	"github.com/emmansun/base64"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/server/internal/api"
)

// sentPlain is the size from which signed content is encoded while it is sent:
// an answer in memory takes four times its size, for as long as its client takes
// to read it, and JSON looks at every letter of it (200 KB: 0.9 ms of processor
// for all of a verification, not 1.5).
const sentPlain = 16 << 10

// answerWith is the answer to a verification with its signed content. It is
// encoded with a mark in the place of the content.
func answerWith(view *report.View, plain ades.Source, message string) (*api.Content, error) {
	mark := rand.Text()
	view.PlainDocument = &report.Plain{Base64: &mark}
	var b bytes.Buffer
	b.Grow(8 << 10) // of one signature: more grows
	if err := api.Encode(&b, &api.Op{}, &api.Answer{Data: view, Message: message}); err != nil {
		return nil, err
	}
	before, after, _ := bytes.Cut(b.Bytes(), []byte(mark))
	c := &api.Content{Type: "application/json", Size: int64(len(before)+len(after)) + (plain.Size()+2)/3*4}
	encoded := newBase64Reader(io.NewSectionReader(plain, 0, plain.Size()))
	c.Reader = io.MultiReader(bytes.NewReader(before), encoded, bytes.NewReader(after))
	return c, nil
}

// base64Reader encodes what it reads.
type base64Reader struct {
	src io.Reader
	in  []byte
	buf []byte
	out []byte
}

func newBase64Reader(src *io.SectionReader) *base64Reader {
	groups := int(min(src.Size()/3+1, 8<<10)) // of three; one at least, or the end is not met
	return &base64Reader{src: src, in: make([]byte, 3*groups), buf: make([]byte, 0, 4*groups)}
}

func (r *base64Reader) Read(p []byte) (int, error) {
	if len(r.out) == 0 {
		n, err := io.ReadFull(r.src, r.in)
		if n == 0 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
		r.out = base64.StdEncoding.AppendEncode(r.buf, r.in[:n])
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

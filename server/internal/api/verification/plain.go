package verification

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/server/internal/api"
)

// largePlain is the size from which signed content is encoded while it is sent:
// an answer in memory takes four times its size, for as long as its client takes
// to read it.
const largePlain = 1 << 20

// largeAnswer is the answer to a verification with large content. It is encoded
// with a mark in the place of the content.
func largeAnswer(view *report.View, plain ades.Source, message string) (*api.Content, error) {
	mark := rand.Text()
	text := &mark
	view.PlainDocument = &text
	var b bytes.Buffer
	if err := api.Encode(&b, &api.Op{}, &api.Answer{Data: view, Message: message}); err != nil {
		return nil, err
	}
	before, after, _ := bytes.Cut(b.Bytes(), []byte(mark))
	size := int64(len(before)+len(after)) + (plain.Size()+2)/3*4
	content := &base64Reader{src: io.NewSectionReader(plain, 0, plain.Size())}
	return &api.Content{Type: "application/json", Reader: io.MultiReader(bytes.NewReader(before), content, bytes.NewReader(after)), Size: size}, nil
}

// base64Reader encodes what it reads.
type base64Reader struct {
	src  io.Reader
	in   [24 << 10]byte // a multiple of three
	room [32 << 10]byte
	out  []byte
}

func (r *base64Reader) Read(p []byte) (int, error) {
	if len(r.out) == 0 {
		n, err := io.ReadFull(r.src, r.in[:])
		if n == 0 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
		r.out = base64.StdEncoding.AppendEncode(r.room[:0], r.in[:n])
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

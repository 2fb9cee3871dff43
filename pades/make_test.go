package pades

import (
	"bytes"
	"context"
	"crypto"
	"fmt"
	"io"
	"strings"

	"rogito.dev/rogito/ades"
)

// builder writes PDF files by hand, so that tests need no other software.
type builder struct {
	buf     bytes.Buffer
	offsets map[int]int
}

func newBuilder() *builder {
	b := &builder{offsets: make(map[int]int)}
	b.buf.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	return b
}

func (b *builder) object(num int, body string) {
	b.offsets[num] = b.buf.Len()
	fmt.Fprintf(&b.buf, "%d 0 obj\n%s\nendobj\n", num, body)
}

func (b *builder) stream(num int, dict, data string) {
	b.object(num, fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data))
}

// table closes the file, or an update of it when prev is not zero.
func (b *builder) table(trailer string) []byte {
	at := b.buf.Len()
	size := 1
	b.buf.WriteString("xref\n0 1\n0000000000 65535 f \n")
	for num := range b.offsets {
		size = max(size, num+1)
	}
	for num := 1; num < size; num++ {
		if off, ok := b.offsets[num]; ok {
			fmt.Fprintf(&b.buf, "%d 1\n%010d 00000 n \n", num, off)
		}
	}
	fmt.Fprintf(&b.buf, "trailer\n<</Size %d%s>>\nstartxref\n%d\n%%%%EOF\n", size, trailer, at)
	return b.buf.Bytes()
}

// simplePDF is a document of one page and about n bytes.
func simplePDF(n int) []byte {
	b := newBuilder()
	b.object(1, "<</Type/Catalog/Pages 2 0 R>>")
	b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	b.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>")
	line := "BT /F1 12 Tf 72 720 Td (Lorem ipsum dolor sit amet) Tj ET\n"
	b.stream(4, "", strings.Repeat(line, 1+n/len(line)))
	b.object(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	return b.table("/Root 1 0 R/ID[<01020304><05060708>]")
}

// sink takes the signed document without keeping it.
type sink struct{ n int }

func (s *sink) Write(p []byte) (int, error) { s.n += len(p); return len(p), nil }

// sign takes the steps of a signature one after the other.
func sign(ctx context.Context, src ades.Source, w io.Writer, key crypto.Signer, p ades.SignParams, o Options, r ades.AugmentOptions) error {
	o.Stamped = r.Level >= ades.LevelT
	d, err := Prepare(context.Background(), src, p, o)
	if err != nil {
		return err
	}
	value, err := d.Value(key)
	if err != nil {
		return err
	}
	out, err := d.Complete(ctx, value, r)
	if err != nil {
		return err
	}
	return stream(w, out, 0, out.Size())
}

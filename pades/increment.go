package pades

import (
	"crypto"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/pdf"
)

// byteRangeWidth holds "[0 n n n]" with numbers of up to fourteen digits.
const byteRangeWidth = 52

// slots are the two entries of a signature dictionary that are filled in last.
type slots struct {
	contents, byteRange *pdf.Placeholder
}

// newSlots reserves space for a signature of that many bytes.
func newSlots(room int) slots {
	return slots{
		contents:  &pdf.Placeholder{Open: "<", Close: ">", Fill: '0', Size: 2 * room},
		byteRange: &pdf.Placeholder{Fill: ' ', Size: byteRangeWidth},
	}
}

// increment is a document with an appended update whose Contents is to be filled in.
type increment struct {
	src      ades.Source
	update   []byte
	from, to int64 // position in update of the Contents string with its brackets
}

// newIncrement writes the update and sets the byte range.
func newIncrement(src ades.Source, u *pdf.Update, s slots) (*increment, error) {
	b, err := u.Bytes()
	if err != nil {
		return nil, err
	}
	r := &increment{src: src, update: b, from: s.contents.Offset}
	r.to = r.from + int64(s.contents.Len())
	size := src.Size()
	br := fmt.Appendf(nil, "[0 %d %d %d]", size+r.from, size+r.to, int64(len(b))-r.to)
	if len(br) > byteRangeWidth {
		return nil, fmt.Errorf("file of %d bytes is too large", size)
	}
	copy(b[s.byteRange.Offset:], br)
	return r, nil
}

// digest of the document without the gap.
func (r *increment) digest(h crypto.Hash) ([]byte, error) {
	d := handoff.State(r.src, h)
	if d == nil {
		d = h.New()
		if err := stream(d, r.src, 0, r.src.Size()); err != nil {
			return nil, fmt.Errorf("digest document: %w", err)
		}
	}
	d.Write(r.update[:r.from])
	d.Write(r.update[r.to:])
	return d.Sum(nil), nil
}

// capacity is the number of bytes that fit into Contents.
func (r *increment) capacity() int { return int(r.to-r.from)/2 - 1 }

// fill inserts the signature and returns the update. It may be called again with another signature.
func (r *increment) fill(contents []byte) ([]byte, error) {
	if len(contents) > r.capacity() {
		return nil, &NoRoomError{Have: r.capacity(), Need: len(contents) + spare}
	}
	gap := r.update[r.from+1 : r.to-1]
	pdf.AppendHex(gap[:0], contents)
	for i := 2 * len(contents); i < len(gap); i++ {
		gap[i] = '0'
	}
	return r.update, nil
}

// grown is a document with appended updates in memory, so that several can be made without writing
// the document in between.
type grown struct {
	src  ades.Source
	tail []byte
}

// Size of the document with its updates.
func (g *grown) Size() int64 { return g.src.Size() + int64(len(g.tail)) }

// ReadAt reads across the end of the source.
func (g *grown) ReadAt(p []byte, off int64) (int, error) {
	size := g.src.Size()
	n := 0
	if off < size {
		want := min(int64(len(p)), size-off)
		var err error
		if n, err = g.src.ReadAt(p[:want], off); int64(n) < want {
			return n, err
		}
	}
	if n == len(p) {
		return n, nil
	}
	from := off + int64(n) - size
	if from > int64(len(g.tail)) {
		return n, io.EOF
	}
	n += copy(p[n:], g.tail[from:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (g *grown) writeTo(w io.Writer) error {
	if err := stream(w, g.src, 0, g.src.Size()); err != nil {
		return fmt.Errorf("copy document: %w", err)
	}
	if _, err := w.Write(g.tail); err != nil {
		return fmt.Errorf("write update: %w", err)
	}
	return nil
}

// stream copies a range of a source.
func stream(w io.Writer, src io.ReaderAt, from, to int64) error {
	return cms.CopyRange(w, src, from, to)
}

package pdf

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
)

// File writes a new document, object by object, with one cross-reference table at its end. It keeps
// nothing in memory.
type File struct {
	w       *bufio.Writer
	n       int64
	offsets []int64 // by number, from 1; 0: reserved but not written (yet)
	crypt   *crypt
	encrypt *Dict
	like    *Document // the document whose encryption it shares, or nil
}

// NewFile begins a document of a version, such as 1.7.
func NewFile(w io.Writer, version string) *File {
	f := &File{w: bufio.NewWriterSize(w, 64<<10)}
	_ = f.write([]byte("%PDF-" + version + "\n%\xE2\xE3\xCF\xD3\n")) // Close returns the error again
	return f
}

func (f *File) write(b []byte) error {
	n, err := f.w.Write(b)
	f.n += int64(n)
	return err
}

// Reserve returns the number of an object to be written later; if it never is, it is null.
func (f *File) Reserve() Ref {
	f.offsets = append(f.offsets, 0)
	return Ref{Num: len(f.offsets)}
}

// Put writes a reserved object.
func (f *File) Put(ref Ref, o Object) error {
	if err := f.begin(ref); err != nil {
		return err
	}
	p := printer{crypt: f.crypt, ref: ref}
	if err := p.object(o); err != nil {
		return err
	}
	return f.write(append(p.buf, "\nendobj\n"...))
}

func (f *File) begin(ref Ref) error {
	if ref.Num < 1 || ref.Num > len(f.offsets) || ref.Gen != 0 || f.offsets[ref.Num-1] != 0 {
		return fmt.Errorf("object %v was not reserved, or is written already", ref)
	}
	f.offsets[ref.Num-1] = f.n
	return f.write(fmt.Appendf(nil, "%d 0 obj\n", ref.Num))
}

// PutStream writes a stream of size bytes from r, encoded as dict says.
func (f *File) PutStream(ref Ref, dict *Dict, r io.Reader, size int64) error {
	if err := f.begin(ref); err != nil {
		return err
	}
	if f.like != nil {
		return errors.New("write a stream: the methods of another document seal no stream as it is read")
	}
	stored := size
	if f.crypt != nil {
		stored = sealedSize(size)
	}
	d := dict.Clone()
	d.Set("Length", Integer(stored))
	p := printer{crypt: f.crypt, ref: ref}
	if err := p.object(d); err != nil {
		return err
	}
	if err := f.write(append(p.buf, "\nstream\n"...)); err != nil {
		return err
	}
	if f.crypt != nil {
		var err error
		if r, err = sealReader(f.crypt.key, r); err != nil {
			return err
		}
	}
	n, err := io.Copy(f.w, r)
	f.n += n
	if err == nil && n != stored {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("copy stream: %w", err)
	}
	return f.write([]byte("\nendstream\nendobj\n"))
}

// Close writes the table and the trailer, with a new ID if the trailer has none. It does not close
// the underlying writer.
func (f *File) Close(trailer *Dict) error {
	t := trailer.Clone()
	if !t.Has("ID") {
		id := make([]byte, 16)
		if _, err := rand.Read(id); err != nil {
			return err
		}
		t.Set("ID", Array{String{Bytes: id, Hex: true}, String{Bytes: id, Hex: true}})
	}
	if f.encrypt != nil {
		ref := f.Reserve()
		seal := f.crypt
		f.crypt = nil // the trailer's strings are not encrypted
		err := f.Put(ref, f.encrypt)
		f.crypt = seal
		if err != nil {
			return err
		}
		t.Set("Encrypt", ref)
	}
	t.Set("Size", Integer(len(f.offsets)+1))
	start := f.n
	if start > maxTableOffset {
		return errors.New("a document of this size cannot be written with a table")
	}
	if err := f.table(); err != nil {
		return err
	}
	p := printer{}
	if err := p.object(t); err != nil {
		return err
	}
	if err := f.write(fmt.Appendf(append([]byte("trailer\n"), p.buf...), "\nstartxref\n%d\n%%%%EOF\n", start)); err != nil {
		return err
	}
	return f.w.Flush()
}

// maxTableOffset is the largest offset that fits into the ten digits of a table.
const maxTableOffset = 9_999_999_999

// table writes the offsets; objects that were never written are free.
func (f *File) table() error {
	b := fmt.Appendf(nil, "xref\n0 %d\n", len(f.offsets)+1)
	free := []int{0}
	for i, off := range f.offsets {
		if off == 0 {
			free = append(free, i+1)
		}
	}
	next := 1
	b = fmt.Appendf(b, "%010d 65535 f \n", free[next%len(free)])
	for _, off := range f.offsets {
		if off != 0 {
			b = fmt.Appendf(b, "%010d 00000 n \n", off)
			continue
		}
		next++
		b = fmt.Appendf(b, "%010d 00001 f \n", free[next%len(free)])
	}
	return f.write(b)
}

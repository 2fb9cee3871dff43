package cms

import (
	"bytes"
	"io"
	"sync"

	"rogito.dev/rogito/ades"
)

// Copy streams a whole source to a writer.
func Copy(w io.Writer, src ades.Source) error { return CopyRange(w, src, 0, src.Size()) }

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// CopyRange streams a stretch of a source to a writer. What is in memory
// already is written as it stands, without a copy.
func CopyRange(w io.Writer, src io.ReaderAt, from, to int64) error {
	if r, ok := src.(*bytes.Reader); ok && 0 <= from && from <= to && to <= r.Size() {
		return copyMemory(w, *r, from, to)
	}
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	for from < to {
		n, err := src.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if n == 0 {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// copyMemory is given a reader of its own, whose position is nobody else's.
func copyMemory(w io.Writer, r bytes.Reader, from, to int64) error {
	if _, err := r.Seek(from, io.SeekStart); err != nil {
		return err
	}
	_, err := r.WriteTo(&head{w, to - from})
	return err
}

// head passes on the first bytes only.
type head struct {
	w    io.Writer
	left int64
}

func (h *head) Write(p []byte) (int, error) {
	if n := min(int64(len(p)), h.left); n > 0 {
		h.left -= n
		if n, err := h.w.Write(p[:n]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}

package cms

import (
	"io"

	"rogito.dev/rogito/ades"
)

// Copy streams a whole source to a writer.
func Copy(w io.Writer, src ades.Source) error { return CopyRange(w, src, 0, src.Size()) }

// copied is how many bytes are copied at once.
const copied = 8 << 10

// CopyRange streams a range of a source to a writer; it is an error if the source ends early.
func CopyRange(w io.Writer, src io.ReaderAt, from, to int64) error {
	// Most writers are hashes, and most documents are smaller than the buffer that io.Copy makes.
	buf := make([]byte, max(1, min(copied, to-from)))
	n, err := io.CopyBuffer(w, io.NewSectionReader(src, from, to-from), buf)
	if err == nil && n < to-from {
		err = io.ErrUnexpectedEOF
	}
	return err
}

package cms

import (
	"io"

	"rogito.dev/rogito/ades"
)

// Copy streams a whole source to a writer.
func Copy(w io.Writer, src ades.Source) error { return CopyRange(w, src, 0, src.Size()) }

// CopyRange streams a range of a source to a writer; it is an error if the source ends early.
func CopyRange(w io.Writer, src io.ReaderAt, from, to int64) error {
	n, err := io.Copy(w, io.NewSectionReader(src, from, to-from))
	if err == nil && n < to-from {
		err = io.ErrUnexpectedEOF
	}
	return err
}

package rogito

import (
	"bytes"
	"io"
	"os"

	"rogito.dev/rogito/ades"
)

// spoolMemory is how much of a document a spool keeps in memory.
const spoolMemory = 4 << 20

// spool stores a document between two steps: in memory while it is small, in a temporary file
// beyond spoolMemory.
type spool struct {
	memory []byte
	file   *os.File
	size   int64
}

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.size+int64(len(p)) > spoolMemory {
		f, err := os.CreateTemp("", "rogito-")
		if err != nil {
			return 0, err
		}
		s.file = f
		os.Remove(f.Name()) // an open file needs no name; Windows keeps it until Close
		if _, err := f.Write(s.memory); err != nil {
			return 0, err
		}
		s.memory = nil
	}
	if s.file == nil {
		s.memory = append(s.memory, p...)
		s.size += int64(len(p))
		return len(p), nil
	}
	n, err := s.file.Write(p)
	s.size += int64(n)
	return n, err
}

// Source returns what was written.
func (s *spool) Source() ades.Source {
	if s.file != nil {
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return bytes.NewReader(s.memory)
}

// discard frees a spool made here; the caller's own are left alone.
func discard(x Spool) {
	if s, ok := x.(*spool); ok && s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}

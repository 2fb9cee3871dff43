package rogito

import (
	"bytes"
	"io"
	"os"
)

// spoolMemory is how much of a document between two steps stays in memory.
const spoolMemory = 16 << 20

// spool holds a document between two steps: in memory while it is small, in a
// temporary file when it grows. It is an ades.Source once it is written.
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

func (s *spool) Size() int64 { return s.size }

func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, off)
	}
	return bytes.NewReader(s.memory).ReadAt(p, off)
}

func (s *spool) copyTo(w io.Writer) error {
	_, err := io.Copy(w, io.NewSectionReader(s, 0, s.size))
	return err
}

// Close removes the temporary file.
func (s *spool) Close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}

package asic

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"sync"

	"rogito.dev/rogito/ades"
)

// source reads an entry at any place without holding it in memory. What is
// stored is read where it lies; what is deflated is inflated as it is read,
// forwards, and from the start again when a reader goes back.
type source struct {
	file   *zip.File
	size   int64
	stored *io.SectionReader
	budget *int64

	mu  sync.Mutex
	r   io.ReadCloser
	pos int64
}

func newSource(src ades.Source, f *zip.File, budget *int64) *source {
	s := &source{file: f, size: int64(f.UncompressedSize64), budget: budget}
	if f.Method == zip.Store && f.CompressedSize64 == f.UncompressedSize64 {
		if off, err := f.DataOffset(); err == nil {
			s.stored = io.NewSectionReader(src, off, s.size)
		}
	}
	return s
}

// Size is the length that the directory states; an entry that turns out
// shorter or longer fails to read.
func (s *source) Size() int64 { return s.size }

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	if s.stored != nil {
		return s.stored.ReadAt(p, off)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if off < 0 || off >= s.size {
		return 0, io.EOF
	}
	if s.r == nil || off < s.pos {
		if err := s.restart(); err != nil {
			return 0, err
		}
	}
	if off > s.pos {
		if err := s.skip(off - s.pos); err != nil {
			return 0, err
		}
	}
	want := p[:min(int64(len(p)), s.size-off)]
	n, err := io.ReadFull(s.r, want)
	if err2 := s.spend(int64(n)); err2 != nil {
		return 0, err2
	}
	if err != nil {
		return n, s.fail(err)
	}
	if s.pos == s.size {
		if err := s.finish(); err != nil {
			return n, err
		}
	}
	if len(want) < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *source) restart() error {
	if s.r != nil {
		s.r.Close()
	}
	var err error
	s.pos = 0
	s.r, err = s.file.Open()
	return err
}

func (s *source) skip(n int64) error {
	k, err := io.CopyN(io.Discard, s.r, n)
	if err2 := s.spend(k); err2 != nil {
		return err2
	}
	if err != nil {
		return s.fail(err)
	}
	return nil
}

func (s *source) spend(n int64) error {
	s.pos += n
	if *s.budget -= n; *s.budget < 0 {
		return errBomb
	}
	return nil
}

// finish lets the ZIP reader check length and checksum at the end.
func (s *source) finish() error {
	var one [1]byte
	if n, err := s.r.Read(one[:]); n > 0 || err != nil && !errors.Is(err, io.EOF) {
		return s.fail(err)
	}
	s.r.Close()
	s.r = nil
	return nil
}

func (s *source) fail(err error) error {
	s.r = nil
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("length differs from the directory")
	}
	return fmt.Errorf("asic: inflate: %w", err)
}

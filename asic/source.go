package asic

import (
	"bufio"
	"compress/flate"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"sync"

	"rogito.dev/rogito/ades"
)

// source reads an entry at any offset without holding it in memory. Stored data is read directly;
// deflated data is inflated forwards while it is read, and from the start again for an earlier
// offset.
type source struct {
	c      *container
	record record
	packed *io.SectionReader
	stored bool

	mu  sync.Mutex
	in  *counter
	r   io.ReadCloser
	sum hash.Hash32
	pos int64
}

// counter counts the input of the inflater, byte by byte, so that content that ends before its
// entry is noticed.
type counter struct {
	*bufio.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func newSource(c *container, src ades.Source, r record) *source {
	s := &source{c: c, record: r}
	if r.next >= 0 {
		s.packed = io.NewSectionReader(src, r.data, r.packed)
		s.stored = r.method == 0 && r.packed == r.size
	}
	return s
}

// Size is the length according to the directory; reading fails if the actual length differs.
func (s *source) Size() int64 { return s.record.size }

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	if err := s.c.cancelled(); err != nil {
		return 0, err
	}
	if s.stored {
		return s.packed.ReadAt(p, off)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if off < 0 || off >= s.record.size {
		return 0, io.EOF
	}
	if s.r == nil || off < s.pos {
		if err := s.restart(); err != nil {
			return 0, err
		}
	}
	for off > s.pos {
		var skip [16 << 10]byte
		if _, err := s.read(skip[:min(int64(len(skip)), off-s.pos)]); err != nil {
			return 0, err
		}
	}
	want := p[:min(int64(len(p)), s.record.size-off)]
	n := 0
	for n < len(want) { // in pieces, to notice a cancelled context
		k, err := s.read(want[n:min(len(want), n+(256<<10))])
		n += k
		if err != nil {
			return n, err
		}
	}
	if len(want) < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *source) restart() error {
	if s.packed == nil {
		return errors.New("asic: there is no such entry")
	}
	if s.record.method != 8 {
		return fmt.Errorf("asic: compression method %d is not supported", s.record.method)
	}
	s.pos, s.sum = 0, crc32.NewIEEE()
	s.in = &counter{Reader: bufio.NewReader(io.NewSectionReader(s.packed, 0, s.packed.Size()))}
	s.r = flate.NewReader(s.in)
	return nil
}

// empty checks that an entry without content has none: nobody reads it otherwise, and some readers
// unpack what is there.
func (s *source) empty() error {
	if err := s.restart(); err != nil {
		return err
	}
	_, err := s.read(nil)
	return err
}

// read fills p, charges the budget, and checks length and checksum at the end.
func (s *source) read(p []byte) (int, error) {
	if err := s.c.cancelled(); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(s.r, p)
	s.sum.Write(p[:n])
	s.pos += int64(n)
	if err := s.c.spend(int64(n)); err != nil {
		return 0, err
	}
	if err != nil {
		return n, s.fail(err)
	}
	if s.pos < s.record.size {
		return n, nil
	}
	// The last bytes are withheld if the checks at the end fail: a reader that has everything it
	// asked for need not look at the error.
	var one [1]byte
	if k, err := s.r.Read(one[:]); k > 0 || err != nil && !errors.Is(err, io.EOF) {
		return 0, s.fail(err)
	}
	if s.in.n != s.record.packed {
		return 0, s.fail(errors.New("other data follows the content inside the entry"))
	}
	if s.sum.Sum32() != s.record.crc {
		return 0, s.fail(errors.New("the checksum does not match"))
	}
	s.r.Close()
	s.r, s.in, s.sum = nil, nil, nil // free the inflater: an archive may have thousands of entries
	return n, nil
}

func (s *source) fail(err error) error {
	s.r = nil
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("length differs from the directory")
	}
	return fmt.Errorf("asic: inflate: %w", err)
}

// Package upload reads request bodies that may be large: JSON (RFC 8259, with
// the strictness of RFC 7493: unique names, valid UTF-8) whose long strings go
// to disk, and multipart/form-data (RFC 7578) whose files do.
//
// Most callers want [Spool.ReadJSON] and then [Spool.Unmarshal] into a struct
// whose large fields are of type [Text]. What was spooled lives in files
// without a name, so that nothing is left behind by a crash; [Spool.Close]
// frees them.
package upload

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"rogito.dev/rogito/ades"
)

// Limits bound what one body may cost. A zero field takes the default.
type Limits struct {
	Long   int   // strings of more bytes go to disk; 64 KiB
	Memory int   // bytes of a body held in memory; 8 MiB
	Depth  int   // nesting of arrays and objects; 32
	Values int   // values and names in a body; 100,000
	Parts  int   // parts of a multipart body; 2,000
	Body   int64 // bytes of a whole body; 256 MiB
}

func (l Limits) withDefaults() Limits {
	set := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	set(&l.Long, 64<<10)
	set(&l.Memory, 8<<20)
	set(&l.Depth, 32)
	set(&l.Values, 100_000)
	set(&l.Parts, 2_000)
	if l.Body <= 0 {
		l.Body = 256 << 20
	}
	return l
}

// Spool holds what one request brought. It is not safe for concurrent use
// while a body is being read; the sources it hands out are.
type Spool struct {
	dir    string
	limits Limits
	mark   string // what stands in the skeleton for a long string, with a number after it
	texts  []Text
	files  []*os.File
}

// New returns an empty spool whose files are made in dir; the empty string
// takes the system's folder for temporary files.
func New(dir string, limits Limits) *Spool {
	return &Spool{dir: dir, limits: limits.withDefaults()}
}

// Close frees the files. Sources taken from the spool are unreadable afterwards.
func (s *Spool) Close() error {
	var first error
	for _, f := range s.files {
		if err := f.Close(); err != nil && first == nil {
			first = err
		}
	}
	s.files, s.texts = nil, nil
	return first
}

// file makes a file that no longer has a name, so that the system frees it
// however the process ends.
func (s *Spool) file() (*os.File, error) {
	f, err := os.CreateTemp(s.dir, "spool-")
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("spool: %w", err)
	}
	s.files = append(s.files, f)
	return f, nil
}

// Write gives a writer for one more piece of data: in memory while it is
// short, on disk when it grows.
func (s *Spool) Write() *Writer { return &Writer{spool: s} }

// Writer gathers bytes and becomes a source.
type Writer struct {
	spool *Spool
	mem   bytes.Buffer
	file  *os.File
	size  int64
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	if w.file == nil && w.mem.Len()+len(p) > w.spool.limits.Long {
		if err := w.toDisk(); err != nil {
			return 0, err
		}
	}
	var n int
	var err error
	if w.file != nil {
		n, err = w.file.Write(p)
	} else {
		n, err = w.mem.Write(p)
	}
	w.size += int64(n)
	return n, err
}

func (w *Writer) toDisk() error {
	f, err := w.spool.file()
	if err != nil {
		return err
	}
	if _, err := f.Write(w.mem.Bytes()); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	w.file, w.mem = f, bytes.Buffer{}
	return nil
}

// Source is what was written so far.
func (w *Writer) Source() ades.Source {
	if w.file != nil {
		return io.NewSectionReader(w.file, 0, w.size)
	}
	return bytes.NewReader(w.mem.Bytes())
}

// marker is the mark of this spool, made when first needed. A client cannot
// guess it, so no string of a body can be taken for one.
func (s *Spool) marker() string {
	if s.mark == "" {
		var b [16]byte
		rand.Read(b[:]) // never fails
		s.mark = "spooled:" + hex.EncodeToString(b[:]) + ":"
	}
	return s.mark
}

// Package upload reads request bodies that may be large: JSON (RFC 8259, with
// the strictness of RFC 7493: unique names, valid UTF-8) whose long strings are
// set aside, and multipart/form-data (RFC 7578) whose files are: in memory that
// all requests share while there is room, else on disk.
//
// Most callers want [Spool.ReadJSON] and then [Spool.Unmarshal] into a struct
// whose large fields are of type [Text]. Files have no name, so that nothing is
// left behind by a crash; [Spool.Close] frees them and the memory.
package upload

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"sync/atomic"

	"rogito.dev/rogito/ades"
)

// heldTotal bounds the memory of all spools together beyond what is short in
// each: a usual document costs less in memory than in a file, but a crowd of
// requests must not fill the memory.
const heldTotal = 64 << 20

var held atomic.Int64

// hold asks for n bytes of the memory that all spools share.
func hold(n int64) bool {
	if held.Add(n) > heldTotal {
		held.Add(-n)
		return false
	}
	return true
}

// Limits bound what one body may cost. A zero field takes the default.
type Limits struct {
	Long   int   // strings of more bytes are set aside, on disk when there is no room; 64 KiB
	Held   int   // a piece of more bytes goes to disk in any case; 1 MiB
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
	set(&l.Held, 1<<20)
	set(&l.Memory, 8<<20)
	set(&l.Depth, 32)
	set(&l.Values, 100_000)
	set(&l.Parts, 2_000)
	if l.Body <= 0 {
		l.Body = 256 << 20
	}
	return l
}

// SpoolError is trouble of ours, such as a full disk, not of who sent the body.
type SpoolError struct{ Err error }

func (e *SpoolError) Error() string { return "spool: " + e.Err.Error() }

// Unwrap returns what the system said.
func (e *SpoolError) Unwrap() error { return e.Err }

// Spool holds what one request brought. It is not safe for concurrent use
// while a body is being read; the sources it hands out are.
type Spool struct {
	dir    string
	limits Limits
	mark   string // what stands in the skeleton for a long string, with a number after it
	texts  []Text
	files  []*os.File
	short  int   // bytes of memory for what is short
	held   int64 // of the shared memory
	expect int64 // bytes of the body, where they are known
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
	s.giveBack(s.held)
	return first
}

// Expect says how long the body will be; -1 where that is not known.
func (s *Spool) Expect(n int64) { s.expect = n }

func (s *Spool) giveBack(n int64) {
	held.Add(-n)
	s.held -= n
}

// file makes a file that no longer has a name, so that the system frees it
// however the process ends.
func (s *Spool) file() (*os.File, error) {
	f, err := os.CreateTemp(s.dir, "spool-")
	if err != nil {
		return nil, &SpoolError{err}
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, &SpoolError{err}
	}
	s.files = append(s.files, f)
	return f, nil
}

// Write gives a writer for one more piece of data: in memory while it is
// short, on disk when it grows.
func (s *Spool) Write() *Writer { return &Writer{spool: s} }

// WriteSized is Write for a piece of about n bytes.
func (s *Spool) WriteSized(n int64) *Writer {
	w := s.Write()
	w.large = n > int64(s.limits.Held)
	if n > 0 && !w.large {
		w.grow(int(n))
	}
	return w
}

// Writer gathers bytes and becomes a source.
type Writer struct {
	spool *Spool
	mem   []byte
	large bool  // it will not stay in memory
	held  int64 // of the shared memory
	file  *os.File
	size  int64
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	if w.file == nil && !w.grow(len(w.mem)+len(p)) {
		if err := w.toDisk(); err != nil {
			return 0, err
		}
	}
	n, err := len(p), error(nil)
	if w.file != nil {
		if n, err = w.file.Write(p); err != nil {
			err = &SpoolError{err}
		}
	} else {
		w.mem = append(w.mem, p...)
	}
	w.size += int64(n)
	return n, err
}

// grow makes room in memory for n bytes, or says that there is none.
func (w *Writer) grow(n int) bool {
	if n <= cap(w.mem) {
		return true
	}
	limits := &w.spool.limits
	room := min(max(n, 2*cap(w.mem), 512), max(n, limits.Held))
	if n > limits.Long || w.spool.short+room > limits.Memory { // many short ones are a long one
		more := int64(room) - w.held
		if w.large || n > limits.Held || !hold(more) {
			return false
		}
		w.held += more
		w.spool.held += more
	} else {
		w.spool.short += room
	}
	w.mem = append(make([]byte, 0, room), w.mem...)
	return true
}

func (w *Writer) toDisk() error {
	f, err := w.spool.file()
	if err != nil {
		return err
	}
	if _, err := f.Write(w.mem); err != nil {
		return &SpoolError{err}
	}
	w.file, w.mem = f, nil
	w.spool.giveBack(w.held)
	w.held = 0
	return nil
}

// Source is what was written so far.
func (w *Writer) Source() ades.Source {
	if w.file != nil {
		return io.NewSectionReader(w.file, 0, w.size)
	}
	return bytes.NewReader(w.mem)
}

// text is the same for a text that is still to be decoded.
func (w *Writer) text() ades.Source {
	if w.file != nil {
		return w.Source()
	}
	return inMemory(w.mem)
}

// memory is a source whose bytes are at hand.
type memory struct {
	*bytes.Reader
	all []byte
}

func inMemory(b []byte) memory { return memory{bytes.NewReader(b), b} }

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

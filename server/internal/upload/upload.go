// Package upload reads request bodies that may be large: JSON (RFC 8259, with
// the strictness of RFC 7493: unique names, valid UTF-8) whose long strings are
// set aside, and multipart/form-data (RFC 7578) whose files are: in memory that
// all requests share while there is room, else on disk.
//
// Most callers want [Spool.ReadJSON] and then [Spool.Unmarshal] into a struct
// whose large fields are of type [Text]. What is on disk is in one file without
// a name, so that nothing is left behind by a crash; [Spool.Close] frees it and
// the memory.
package upload

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/semaphore"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/fault"
)

// heldTotal bounds the memory of all spools together, beside a little for each: a usual
// document costs less in memory than in a file, but many requests must not fill the memory.
const heldTotal = 64 << 20

var held = semaphore.NewWeighted(heldTotal)

// Limits bound what one body may cost. A zero field takes the default.
type Limits struct {
	Long   int   // strings of more bytes are set aside, on disk when there is no room; 64 KiB
	Held   int   // a piece of more bytes goes to disk in any case; 1 MiB
	Memory int   // bytes of a body held in memory, of which all but a little is of the memory that all share; 8 MiB
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

// shortFree is what a body may take without asking for a part of the memory
// that all share: nearly all bodies.
const shortFree = 256 << 10

// ours marks trouble of our own, such as a full disk, as opposed to the client's.
func ours(err error) error { return fault.Storage(fmt.Errorf("spool: %w", err)) }

// Spool holds what one request brought. It is not safe for concurrent use
// while a body is being read; the sources it hands out are.
type Spool struct {
	dir     string
	limits  Limits
	mark    string // replaces a long string in the skeleton, with a number after it
	texts   []Text
	readers json.Options // of what is decoded, made when first needed
	mu      sync.Mutex
	file    *os.File
	end     int64 // of what is in the file
	short   int   // bytes of memory for what is short
	held    int64 // of the shared memory
	expect  int64 // bytes of the body, where they are known
}

// New returns an empty spool whose files are made in dir; the empty string
// takes the system's folder for temporary files.
func New(dir string, limits Limits) *Spool {
	return &Spool{dir: dir, limits: limits.withDefaults()}
}

// Close frees the file. Sources taken from the spool are unreadable afterwards.
func (s *Spool) Close() (err error) {
	if s.file != nil {
		err = s.file.Close()
	}
	s.file, s.texts = nil, nil
	s.giveBack(s.held)
	return err
}

// Expect says how long the body will be; -1 where that is not known.
func (s *Spool) Expect(n int64) { s.expect = n }

func (s *Spool) giveBack(n int64) {
	held.Release(n)
	s.held -= n
}

// append puts bytes at the end of the file, which is made when it is first needed and unlinked
// at once, so that the system frees it however the process ends. All pieces share it, since a
// body may have thousands of them.
func (s *Spool) append(p []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "spool-")
		if err != nil {
			return 0, ours(err)
		}
		if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.Close()
			return 0, ours(err)
		}
		s.file = f
	}
	at = s.end
	n, err := s.file.WriteAt(p, at)
	s.end += int64(n)
	if err != nil {
		return at, ours(err)
	}
	return at, nil
}

// Write returns a writer for one more piece of data, in memory while it is short and on disk
// when it grows.
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
	disk  bool  // it is in the file
	parts []extent
	size  int64
}

// extent is a part of a piece in the file.
type extent struct{ start, at int64 }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	if !w.disk && !w.grow(len(w.mem)+len(p)) {
		w.disk, w.size = true, 0
		if err := w.toDisk(w.mem); err != nil {
			return 0, err
		}
		w.mem = nil
		w.spool.giveBack(w.held)
		w.held = 0
	}
	if w.disk {
		if err := w.toDisk(p); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	w.mem = append(w.mem, p...)
	w.size += int64(len(p))
	return len(p), nil
}

// grow makes room in memory for n bytes, or reports that there is none.
func (w *Writer) grow(n int) bool {
	if n <= cap(w.mem) {
		return true
	}
	limits := &w.spool.limits
	room := min(max(n, 2*cap(w.mem), 512), max(n, limits.Held))
	if all := int(w.spool.expect); n > pieceSize && n <= all && all <= limits.Held {
		room, w.spool.expect = all, 0 // most bodies are one document and little else
	}
	if n > limits.Long || w.spool.short+room > min(shortFree, limits.Memory) { // many short ones are a long one
		more := int64(room) - w.held
		if w.large || n > limits.Held || !held.TryAcquire(more) {
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

func (w *Writer) toDisk(p []byte) error {
	at, err := w.spool.append(p)
	if err != nil {
		return err
	}
	if n := len(w.parts); n == 0 || w.parts[n-1].at+w.size-w.parts[n-1].start != at {
		w.parts = append(w.parts, extent{w.size, at})
	}
	w.size += int64(len(p))
	return nil
}

// Source is what was written so far.
func (w *Writer) Source() ades.Source {
	switch {
	case !w.disk:
		return bytes.NewReader(w.mem)
	case len(w.parts) == 1:
		return io.NewSectionReader(w.spool.file, w.parts[0].at, w.size)
	}
	return io.NewSectionReader(&scattered{w.spool.file, slices.Clone(w.parts)}, 0, w.size)
}

// scattered reads a piece whose parts in the file are interleaved with others.
type scattered struct {
	file  *os.File
	parts []extent
}

func (s *scattered) ReadAt(p []byte, off int64) (n int, err error) {
	i, found := slices.BinarySearchFunc(s.parts, off, func(e extent, off int64) int { return cmp.Compare(e.start, off) })
	if !found {
		i--
	}
	for ; n < len(p) && err == nil; i++ {
		end := int64(len(p) - n)
		if i+1 < len(s.parts) {
			end = min(end, s.parts[i+1].start-off)
		}
		var k int
		k, err = s.file.ReadAt(p[n:n+int(end)], s.parts[i].at+off-s.parts[i].start)
		n, off = n+k, off+int64(k)
	}
	return n, err
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

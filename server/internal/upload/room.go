package upload

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// Rooms are the buffers of bodies and documents of usual size. They are used
// again: anew for each request they were two thirds of all that a signature
// allocates, and made the collector run as often. A room that goes back is
// cleared first, since a body holds passwords, and what was handed out of it
// cannot be read any more.
const (
	roomStep = 64 << 10
	maxRoom  = 1 << 20
)

var rooms [maxRoom / roomStep]sync.Pool // by size, in steps

// takeRoom is a cleared buffer of n bytes, to go back with keepRoom; false where
// there are none of that size.
func takeRoom(n int) (room []byte, ok bool) {
	if n < roomStep/2 || n > maxRoom {
		return make([]byte, n), false
	}
	if b, _ := rooms[(n-1)/roomStep].Get().(*[]byte); b != nil {
		return (*b)[:n], true
	}
	return make([]byte, n, (n-1)/roomStep*roomStep+roomStep), true
}

func keepRoom(room []byte) {
	clear(room)
	rooms[(cap(room)-1)/roomStep].Put(&room)
}

// piece is a part of a room that was handed out, or memory of its own.
type piece struct {
	at   atomic.Pointer[[]byte]
	size int64
}

var errTakenBack = errors.New("upload: the spool was closed")

// bytes are what it holds, nil after it was taken back.
func (p *piece) bytes() []byte {
	if b := p.at.Load(); b != nil {
		return *b
	}
	return nil
}

// Size implements ades.Source.
func (p *piece) Size() int64 { return p.size }

// ReadAt implements ades.Source.
func (p *piece) ReadAt(b []byte, off int64) (int, error) {
	all := p.bytes()
	switch {
	case all == nil && p.size > 0:
		return 0, errTakenBack
	case off < 0:
		return 0, errors.New("upload: negative offset")
	case off >= p.size:
		return 0, io.EOF
	}
	n := copy(b, all[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteRange writes a stretch as it stands, without a copy.
func (p *piece) WriteRange(w io.Writer, from, to int64) error {
	all := p.bytes()
	switch {
	case all == nil && p.size > 0:
		return errTakenBack
	case from < 0 || from > to || to > p.size:
		return io.ErrUnexpectedEOF
	}
	_, err := w.Write(all[from:to])
	return err
}

// lent hands out bytes of the spool's memory.
func (s *Spool) lent(b []byte) *piece {
	p := &piece{size: int64(len(b))}
	p.at.Store(&b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pieces = append(s.pieces, p)
	return p
}

// room is a buffer of n bytes that the spool has until it is closed.
func (s *Spool) room(n int) []byte {
	b, ok := takeRoom(n)
	if ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rooms = append(s.rooms, b)
	}
	return b
}

// takeBack ends the use of all memory that was handed out.
func (s *Spool) takeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pieces {
		p.at.Store(nil)
	}
	for _, b := range s.rooms {
		keepRoom(b)
	}
	s.pieces, s.rooms = nil, nil
}

package upload

import "sync"

// Rooms of memory that one body leaves and the next takes, by their length in
// steps. Memory that is made anew for every body is cleared, and is most of what
// the collector has to look for: a form of 200 KB took a tenth less of processor
// without it.
const (
	roomStep  = 64 << 10
	roomLeast = 16 << 10 // less is not worth it
)

var rooms [(1 << 20) / roomStep]sync.Pool

// Lend has the memory of what is read from here on serve another body once the
// spool is closed. It is for who keeps no source of this one, and has nobody
// that writes from it, by then.
func (s *Spool) Lend() { s.lends = true }

// room is n bytes of cleared memory.
func (s *Spool) room(n int) []byte {
	step := (n - 1) / roomStep
	if !s.lends || n < roomLeast || step >= len(rooms) {
		return make([]byte, n)
	}
	room, ok := rooms[step].Get().(*[]byte)
	if !ok {
		fresh := make([]byte, (step+1)*roomStep)
		room = &fresh
	}
	s.lent = append(s.lent, lent{room, n})
	return (*room)[:n:n]
}

// lent is a room of which a body has the beginning.
type lent struct {
	room *[]byte
	used int
}

// leave gives the rooms back, cleared: a body holds what is its sender's alone.
func (s *Spool) leave() {
	for _, l := range s.lent {
		clear((*l.room)[:l.used])
		rooms[len(*l.room)/roomStep-1].Put(l.room)
	}
	s.lent = nil
}

package upload

import "io"

// window is the part of a body that is at hand. A body of usual length is in it
// as a whole, and its long strings are used where they lie; of any other it is
// a piece at a time.
type window struct {
	src  io.Reader
	buf  []byte // what of it is not used yet
	room []byte // to be read into
	held bool   // room is of the memory that all spools share, and may be lent until they close
	err  error
}

const pieceSize = 64 << 10

// newWindow is the window over a body. Where its length is known and there is
// room, all of it is read at once.
func (s *Spool) newWindow(r io.Reader) *window {
	w := &window{src: r}
	if n := s.expect; n > 0 && n <= int64(s.limits.Held) && hold(n) {
		s.held += n
		w.room, w.held = make([]byte, n), true
		w.fillWhole()
	}
	return w
}

// fillWhole reads until there is no room.
func (w *window) fillWhole() {
	n, err := io.ReadFull(w.src, w.room)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil // the next look says which it is
	}
	w.buf, w.err = w.room[:n], err
}

// look is what is at hand, read when there was nothing; an error comes with
// nothing at hand.
func (w *window) look() ([]byte, error) {
	for len(w.buf) == 0 && w.err == nil {
		w.makeRoom()
		var n int
		n, w.err = w.src.Read(w.room)
		w.buf = w.room[:n]
	}
	if len(w.buf) == 0 {
		return nil, w.err
	}
	return w.buf, nil
}

// makeRoom has little room after what was thought to be all: mostly it is.
func (w *window) makeRoom() {
	switch {
	case w.held:
		w.room, w.held = make([]byte, 512), false
	case len(w.room) < pieceSize:
		w.room = make([]byte, pieceSize)
	}
}

func (w *window) use(n int) { w.buf = w.buf[n:] }

func (w *window) next() (byte, error) {
	b, err := w.look()
	if err != nil {
		return 0, err
	}
	c := b[0]
	w.use(1)
	return c, nil
}

// lend takes a string of more than least bytes of plain ASCII that lies whole
// before its closing quote; nil where the next one is not such.
func (w *window) lend(least int) []byte {
	if !w.held {
		return nil
	}
	n := ordinary(w.buf)
	if n <= least || n == len(w.buf) || w.buf[n] != '"' {
		return nil
	}
	text := w.buf[:n:n]
	w.use(n + 1)
	return text
}

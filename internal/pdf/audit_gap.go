package pdf

import (
	"bytes"
)

// gap checks that there is nothing between objects but white space, comments and the markers at the
// ends of revisions. Comments must not contain objects either: some readers that rebuild a file
// search for words anywhere.
func (a *auditor) gap(from, to int64) error {
	for from < to && len(a.out) <= mostSlips {
		buf, err := a.window(from, int(min(to-from, 16<<10)))
		if err != nil {
			return err
		}
		l := lexer{buf: buf, base: from, last: from+int64(len(buf)) == to}
		for l.pos < len(buf) {
			at := l.pos
			k, ok := gapSlip(&l)
			if !ok {
				l.pos = at
				break
			}
			if k != nil {
				a.noteAt(from+int64(at), k)
			}
		}
		if l.pos == 0 {
			a.noteAt(from, slipLongComment, len(buf))
			l.pos = len(buf)
		}
		from += int64(l.pos)
	}
	return nil
}

// gapSlip reads a token between objects, and returns what is wrong with it. It is not ok if the
// window ends before the token does.
func gapSlip(l *lexer) (*Kind, bool) {
	at, c := l.pos, l.buf[l.pos]
	if class[c] == classSpace {
		l.pos++
		return nil, true
	}
	if c == '%' {
		end := bytes.IndexAny(l.buf[at:], "\r\n")
		if end < 0 {
			if !l.last {
				return nil, false
			}
			end = len(l.buf) - at
		}
		l.pos += end
		if (at > 0 || l.base > 0) && foundHeader(l.buf[at:l.pos], false) {
			return slipUnlisted, true
		}
		return nil, true
	}
	w, err := l.word()
	switch {
	case err != nil && !l.last:
		return nil, false
	case len(w) == 0:
		l.pos = at + 1
		return slipGap, true
	case string(w) == "trailer" || string(w) == "xref":
		return slipUnlisted, true
	case string(w) != "startxref":
		if i := bytes.Index(w, []byte("obj")); i >= 0 {
			if _, ok := objectBefore(l.buf, at+i); ok {
				return slipUnlisted, true
			}
		}
		return slipGap, true
	}
	if l.space(); l.pos == len(l.buf) && !l.last {
		return nil, false
	}
	if w, err = l.word(); err != nil && !l.last {
		return nil, false
	}
	if _, ok := parseUint(w); !ok {
		return slipMarker, true
	}
	return nil, true
}

// foundHeader reports whether a reader that rebuilds a file would find the head of an object or a
// trailer in these bytes; in a comment also another file header.
func foundHeader(b []byte, prefix bool) bool {
	return bytes.Contains(b, []byte("trailer")) || bytes.Contains(b, []byte("xref")) || !prefix && bytes.Contains(b, []byte("%PDF-")) ||
		beginsObject(b)
}

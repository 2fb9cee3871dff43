package upload

import (
	"bufio"
	"encoding/binary"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescaper turns the inside of a JSON string into its bytes.
type unescaper struct {
	head []byte // read already
	r    *bufio.Reader
	w    *bufio.Writer
}

func (u *unescaper) next() (byte, error) {
	if len(u.head) > 0 {
		c := u.head[0]
		u.head = u.head[1:]
		return c, nil
	}
	c, err := u.r.ReadByte()
	if err == io.EOF {
		err = syntax("body is not valid JSON: it ends inside a string")
	}
	return c, err
}

func (u *unescaper) run(head []byte) error {
	u.head = head
	for {
		if err := u.plain(); err != nil {
			return err
		}
		c, err := u.next()
		if err != nil {
			return err
		}
		switch {
		case c == '"':
			return nil
		case c == '\\':
			err = u.escape()
		case c < 0x20:
			err = syntax("body is not valid JSON: a control character inside a string")
		default:
			err = u.rune(c)
		}
		if err != nil {
			return err
		}
	}
}

// plain copies whole runs of ordinary ASCII, which is all that base64 is.
func (u *unescaper) plain() error {
	if n := ordinary(u.head); n > 0 {
		if _, err := u.w.Write(u.head[:n]); err != nil {
			return err
		}
		u.head = u.head[n:]
	}
	for len(u.head) == 0 {
		buf := buffered(u.r)
		n := ordinary(buf)
		if n == 0 {
			return nil // where there is an error, next reports it
		}
		if _, err := u.w.Write(buf[:n]); err != nil {
			return err
		}
		_, _ = u.r.Discard(n)
	}
	return nil
}

// ordinary is how many bytes at the start of b are ASCII that a JSON string has
// as it is: no control character, quote, backslash or part of a rune. Eight are
// looked at together.
func ordinary(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(b); n += 8 {
		v := binary.LittleEndian.Uint64(b[n:])
		quote, slash := v^ones*'"', v^ones*'\\'
		if (v|(v-ones*0x20)|(quote-ones)|(slash-ones))&tops != 0 {
			break
		}
	}
	for n < len(b) && b[n] != '"' && b[n] != '\\' && b[n] >= 0x20 && b[n] < 0x80 {
		n++
	}
	return n
}

func (u *unescaper) rune(first byte) error {
	if first < 0x80 {
		return u.w.WriteByte(first)
	}
	var b [utf8.UTFMax]byte
	b[0] = first
	n := 1
	for ; n < utf8.UTFMax && !utf8.FullRune(b[:n]); n++ {
		c, err := u.next()
		if err != nil {
			return err
		}
		b[n] = c
	}
	if r, size := utf8.DecodeRune(b[:n]); r == utf8.RuneError && size <= 1 || size != n {
		return syntax("body is not valid JSON: invalid UTF-8")
	}
	_, err := u.w.Write(b[:n])
	return err
}

func (u *unescaper) escape() error {
	c, err := u.next()
	if err != nil {
		return err
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return u.w.WriteByte("\"\\/\b\f\n\r\t"[i])
	}
	if c != 'u' {
		return syntax("body is not valid JSON: an unknown escape inside a string")
	}
	return u.unicode()
}

func (u *unescaper) unicode() error {
	r, err := u.hex4()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		low, err := u.lowSurrogate()
		if err != nil {
			return err
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return syntax("body is not valid JSON: an unpaired surrogate inside a string")
		}
	}
	_, err = u.w.WriteRune(r)
	return err
}

func (u *unescaper) lowSurrogate() (rune, error) {
	for _, want := range []byte(`\u`) {
		c, err := u.next()
		if err != nil {
			return 0, err
		}
		if c != want {
			return 0, syntax("body is not valid JSON: an unpaired surrogate inside a string")
		}
	}
	return u.hex4()
}

func (u *unescaper) hex4() (rune, error) {
	var b [4]byte
	for i := range b {
		c, err := u.next()
		if err != nil {
			return 0, err
		}
		b[i] = c
	}
	n, err := strconv.ParseUint(string(b[:]), 16, 16)
	if err != nil {
		return 0, syntax("body is not valid JSON: a bad \\u escape inside a string")
	}
	return rune(n), nil
}

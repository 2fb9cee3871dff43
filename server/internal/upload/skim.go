package upload

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
)

// skimmer copies JSON, counting its values and setting long strings aside. It does not check
// the grammar: check does, on the copy.
type skimmer struct {
	spool  *Spool
	r      *bufio.Reader
	out    []byte
	long   int
	depth  int
	values int
	space  bool
	paid   int // bytes of out that are of the shared memory
}

func (k *skimmer) skim() error {
	for {
		c, err := k.r.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := k.byte(c); err != nil {
			return err
		}
		if len(k.out) > k.spool.limits.Memory {
			return ErrTooLong
		}
		if err := k.pay(); err != nil {
			return err
		}
	}
}

// skeletonTimes is what a skeleton and what is decoded from it take, in its size.
const skeletonTimes = 4

var errCrowded = errors.New("all bodies together are too large")

// pay reserves a part of the shared memory when a skeleton grows long.
func (k *skimmer) pay() error {
	if len(k.out) <= max(shortFree, k.paid) {
		return nil
	}
	more := int64(max(len(k.out), 2*k.paid)-k.paid) * skeletonTimes
	if !held.TryAcquire(more) {
		return ours(errCrowded)
	}
	k.spool.held += more
	k.paid = max(len(k.out), 2*k.paid)
	return nil
}

func (k *skimmer) byte(c byte) error {
	switch c {
	case ' ', '\t', '\r', '\n':
		// A run of white space counts as one: padding costs no memory.
		if !k.space && len(k.out) > 0 {
			k.out = append(k.out, ' ')
		}
		k.space = true
		return nil
	case '{', '[':
		k.depth++
		if k.depth > k.spool.limits.Depth {
			return syntax("body is nested deeper than %d levels", k.spool.limits.Depth)
		}
		k.values++
	case '}', ']':
		k.depth--
	case ',', ':':
		k.values++
	}
	k.space = false
	if k.values > k.spool.limits.Values {
		return syntax("body has more than %d values", k.spool.limits.Values)
	}
	k.out = append(k.out, c)
	if c == '"' {
		return k.string()
	}
	return nil
}

// string copies a string up to its closing quote. If it grows long, the copy is undone and the
// whole string is set aside, unescaped piece by piece.
func (k *skimmer) string() error {
	start := len(k.out)
	if len(k.out) > k.spool.limits.Memory/2 {
		k.long = min(k.long, 256) // many middling strings are a large body too
	}
	plain, last, err := k.piece(start + k.long + 1)
	if err != nil || last {
		k.out = append(k.out, '"')
		return err
	}
	w := k.spool.Write()
	w.large = k.spool.expect > int64(k.spool.limits.Held)
	for {
		text := k.out[start:]
		if !plain { // base64 is
			if text, err = jsontext.AppendUnquote(nil, append(k.out, '"')[start-1:]); err != nil {
				return fromSyntactic(err)
			}
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		k.out = k.out[:start]
		if last {
			k.mark(start, w.Source())
			return nil
		}
		if plain, last, err = k.piece(start + pieceSize); err != nil {
			return err
		}
	}
}

// piece copies a string up to its closing quote, reported by last, or until out has that many
// bytes and the next one begins a character. It is plain if it has nothing to unescape.
func (k *skimmer) piece(most int) (plain, last bool, err error) {
	plain = true
	half := false // of a character: the next escape is its other half
	for {
		if room := most - len(k.out); room > 0 {
			_, _ = k.r.Peek(1) // where there is an error, the next byte reports it
			buf, _ := k.r.Peek(min(room, k.r.Buffered()))
			n := ordinary(buf)
			k.out = append(k.out, buf[:n]...)
			_, _ = k.r.Discard(n)
			if n > 0 && n == len(buf) {
				continue
			}
		}
		c, err := k.r.ReadByte()
		switch {
		case err == io.EOF:
			return plain, false, syntax("body is not valid JSON: it ends inside a string")
		case err != nil || c == '"':
			return plain, true, err
		case len(k.out) >= most && (utf8.RuneStart(c) && !half || len(k.out) >= most+16): // two escapes, or no text
			return plain, false, k.r.UnreadByte()
		}
		plain = false
		k.out = append(k.out, c)
		half = c == '\\' && k.escape() && !half
	}
}

// escape copies what follows a backslash, and reports whether it is the first half of a
// surrogate pair. It does not validate; it only must not cut one in two.
func (k *skimmer) escape() bool {
	rest, _ := k.r.Peek(5)
	if len(rest) > 0 && rest[0] != 'u' {
		rest = rest[:1]
	}
	k.out = append(k.out, rest...)
	half := len(rest) == 5 && rest[1]|0x20 == 'd' && strings.IndexByte("89abAB", rest[2]) >= 0
	_, _ = k.r.Discard(len(rest))
	return half
}

// ordinary is how many bytes at the start of b are plain ASCII of a JSON string.
func ordinary(b []byte) int {
	for i, c := range b {
		if !isOrdinary[c] {
			return i
		}
	}
	return len(b)
}

// isOrdinary is false for control characters, the quote, the backslash and parts of longer runes.
var isOrdinary = func() (is [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// mark puts a mark in place of a long string that was set aside.
func (k *skimmer) mark(start int, src ades.Source) {
	n := len(k.spool.texts)
	k.spool.texts = append(k.spool.texts, Text{src: src, spool: k.spool})
	k.out = append(k.out[:start], k.spool.marker()...)
	k.out = strconv.AppendInt(k.out, int64(n), 10)
	k.out = append(k.out, '"')
}

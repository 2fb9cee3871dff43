package upload

import (
	"bufio"
	"errors"
	"io"
	"strconv"

	"rogito.dev/rogito/ades"
)

// skimmer copies JSON, keeping count and setting long strings aside. It does
// not know the grammar: check does, on the copy.
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

// pay asks for a part of the memory that all share, where a skeleton grows long.
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

// string copies a string up to its closing quote. Should it grow long, what
// was copied is taken back and the whole is set aside, unescaped.
func (k *skimmer) string() error {
	start := len(k.out)
	if len(k.out) > k.spool.limits.Memory/2 {
		k.long = min(k.long, 256) // many middling strings are a large body too
	}
	for {
		k.plain(start)
		if len(k.out)-start > k.long {
			return k.spill(start)
		}
		c, err := k.r.ReadByte()
		if err == io.EOF {
			return nil // check reports it
		}
		if err != nil {
			return err
		}
		k.out = append(k.out, c)
		if c == '"' {
			return nil
		}
		if c != '\\' {
			continue
		}
		if c, err = k.r.ReadByte(); err == io.EOF {
			return nil // as above
		}
		if err != nil {
			return err
		}
		k.out = append(k.out, c)
	}
}

// plain copies whole runs of ordinary characters, as far as a string may go.
func (k *skimmer) plain(start int) {
	for {
		room := k.long + 1 - (len(k.out) - start)
		if room <= 0 {
			return
		}
		buf := buffered(k.r)
		n := ordinary(buf[:min(room, len(buf))])
		if n == 0 {
			return // where there is an error, the next byte reports it
		}
		k.out = append(k.out, buf[:n]...)
		_, _ = k.r.Discard(n)
	}
}

// buffered is what is at hand, read when there was nothing.
func buffered(r *bufio.Reader) []byte {
	_, _ = r.Peek(1)
	buf, _ := r.Peek(r.Buffered())
	return buf
}

// spill sets a long string aside and leaves a mark.
func (k *skimmer) spill(start int) error {
	w := k.spool.Write()
	w.large = k.spool.expect > int64(k.spool.limits.Held)
	u := unescaper{r: k.r, w: bufio.NewWriter(w)}
	if err := u.run(k.out[start:]); err != nil {
		return err
	}
	if err := u.w.Flush(); err != nil {
		return err
	}
	k.mark(start, w.Source())
	return nil
}

// mark stands for a long string that was set aside.
func (k *skimmer) mark(start int, src ades.Source) {
	n := len(k.spool.texts)
	k.spool.texts = append(k.spool.texts, Text{src: src, spool: k.spool})
	k.out = append(k.out[:start], k.spool.marker()...)
	k.out = strconv.AppendInt(k.out, int64(n), 10)
	k.out = append(k.out, '"')
}

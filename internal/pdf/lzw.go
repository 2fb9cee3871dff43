package pdf

import (
	"fmt"

	"rogito.dev/rogito/internal/limits"
)

// The two codes of LZWDecode that are not data, and the size of the table.
const (
	lzwClear = 256
	lzwEnd   = 257
	lzwCodes = 4096
)

// lzwCode is a string of the table, by its position in the output: a new one is the previous string
// with the byte that followed.
type lzwCode struct{ start, length int }

type lzwDecoder struct {
	table       [lzwCodes]lzwCode
	next, width int
	prev        lzwCode // of length 0 after a clear code
	early       int
	out         []byte
	room        int
}

// lzw decodes the variable-width LZW of PDF, most significant bit first; early means that the width
// grows one code earlier than necessary.
func (w *work) lzw(data []byte, early bool) (out []byte, odd string, err error) {
	d := &lzwDecoder{room: int(w.allowance(limits.PDFStream))}
	d.out = make([]byte, 0, min(d.room, 4*len(data)))
	looked := 0
	if early {
		d.early = 1
	}
	d.reset()
	var acc uint32
	bits := 0
	first := true
	for i, b := range data { // codes are wider than a byte, so at most one ends here
		acc = acc<<8 | uint32(b)
		bits += 8
		if bits < d.width {
			continue
		}
		bits -= d.width
		code := int(acc >> bits & (1<<d.width - 1))
		if first && code != lzwClear {
			odd = oddClear
		}
		first = false
		if code == lzwEnd {
			return d.out, odder(odd, ended(data[i+1:])), nil
		}
		if code == lzwClear {
			d.reset()
			continue
		}
		if d.next == lzwCodes { // some readers begin a new table at this point
			odd = odder(odd, "a full table without a clear code")
		}
		if err := d.emit(code); err != nil {
			return d.out, "", err
		}
		if len(d.out) > d.room {
			return nil, "", w.tooLarge(int64(d.room))
		}
		if len(d.out)-looked > lookEvery {
			looked = len(d.out)
			if err := w.ctx.Err(); err != nil {
				return nil, "", err
			}
		}
	}
	return d.out, odder(odd, oddEnd), nil
}

func (d *lzwDecoder) reset() { d.next, d.width, d.prev = lzwEnd+1, 9, lzwCode{} }

// emit appends the string of a code and adds the next one to the table.
func (d *lzwDecoder) emit(code int) error {
	if code > d.next || code > lzwEnd && d.prev.length == 0 || code == d.next && d.next >= lzwCodes {
		return fmt.Errorf("%w: code %d out of table", errDamaged, code)
	}
	if d.prev.length > 0 && d.next < lzwCodes {
		d.table[d.next] = lzwCode{d.prev.start, d.prev.length + 1}
		d.next++
	}
	at := len(d.out)
	s := lzwCode{at, 1}
	if code < lzwClear {
		d.out = append(d.out, byte(code))
	} else {
		s = d.table[code]
		// The string may end in its own first byte, which is not there yet, so copy from the front.
		d.out = append(d.out, d.out[s.start:min(s.start+s.length, at)]...)
		if len(d.out)-at < s.length {
			d.out = append(d.out, d.out[at])
		}
		s.start = at
	}
	d.prev = s
	if d.next+d.early >= 1<<d.width && d.width < 12 {
		d.width++
	}
	return nil
}

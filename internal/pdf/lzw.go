package pdf

import (
	"fmt"
)

// The two codes of LZWDecode that stand for no data.
const (
	lzwClear = 256
	lzwEnd   = 257
	lzwCodes = 4096
)

// lzwCode is an entry of the table: a string known by its last byte and the
// code of what comes before it.
type lzwCode struct {
	prefix int16
	length uint16
	last   byte
}

type lzwDecoder struct {
	table       [lzwCodes]lzwCode
	next, width int
	prev        int
	early       int
	out         []byte
	room        int
}

// lzw decodes the variable-width LZW of PDF, most significant bit first; early
// means that the width grows one code before it must.
func (w *work) lzw(data []byte, early bool) ([]byte, error) {
	d := &lzwDecoder{room: int(w.room())}
	for i := range 256 {
		d.table[i] = lzwCode{prefix: -1, length: 1, last: byte(i)}
	}
	if early {
		d.early = 1
	}
	d.reset()
	var acc uint32
	bits := 0
	for _, b := range data { // codes are wider than a byte: one at most ends here
		acc = acc<<8 | uint32(b)
		bits += 8
		if bits < d.width {
			continue
		}
		bits -= d.width
		code := int(acc >> bits & (1<<d.width - 1))
		if code == lzwEnd {
			break
		}
		if code == lzwClear {
			d.reset()
			continue
		}
		if err := d.emit(code); err != nil {
			return nil, err
		}
		if len(d.out) > d.room {
			return nil, w.tooLarge(int64(d.room))
		}
	}
	return d.out, nil
}

func (d *lzwDecoder) reset() { d.next, d.width, d.prev = lzwEnd+1, 9, -1 }

// emit appends the string of a code and learns the next one.
func (d *lzwDecoder) emit(code int) error {
	if code > d.next || code > lzwEnd && d.prev < 0 || code == d.next && d.next >= lzwCodes {
		return fmt.Errorf("code %d out of table", code)
	}
	if d.prev >= 0 && d.next < lzwCodes {
		d.learn(code)
	}
	n := int(d.table[code].length)
	d.out = append(d.out, make([]byte, n)...)
	for i, k := len(d.out)-1, code; k >= 0; i, k = i-1, int(d.table[k].prefix) {
		d.out[i] = d.table[k].last
	}
	d.prev = code
	if d.next+d.early >= 1<<d.width && d.width < 12 {
		d.width++
	}
	return nil
}

// learn enters the previous string with the first byte of this one.
func (d *lzwDecoder) learn(code int) {
	root := code
	if code == d.next {
		root = d.prev
	}
	for d.table[root].prefix >= 0 {
		root = int(d.table[root].prefix)
	}
	d.table[d.next] = lzwCode{prefix: int16(d.prev), length: d.table[d.prev].length + 1, last: d.table[root].last}
	d.next++
}

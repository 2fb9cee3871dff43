// Package base64 is the quick way of whole documents to and from the standard alphabet of
// RFC 4648. What it does not take is for encoding/base64.
package base64

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"sync"
)

// AppendEncode is that of base64.StdEncoding. Vectors take a tenth of its time (24 KB: 3 µs, not 33).
func AppendEncode(dst, src []byte) []byte {
	n := len(dst)
	dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(len(src)))
	done := 0
	if vectors {
		done = encodeBlocks(dst[n:cap(dst)], src)
	}
	return base64.StdEncoding.AppendEncode(dst[:n+done/3*4], src[done:])
}

// pairs has the twelve bits of every two characters of the standard alphabet, the
// first in the low byte of the index; all bits are set where they are not two.
var pairs = sync.OnceValue(func() *[1 << 16]uint16 {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	t := new([1 << 16]uint16)
	for i := range t {
		t[i] = badPair
	}
	for i, a := range []byte(letters) {
		for j, b := range []byte(letters) {
			t[int(a)|int(b)<<8] = uint16(i<<6 | j)
		}
	}
	return t
})

const badPair = 0xffff

// Decode decodes padded base64 with nothing else in it, and says how many bytes it
// wrote; any other text is not ok, whatever was written. dst has room for all of it.
// Vectors take a fifteenth of the time of encoding/base64, pairs of characters a quarter.
func Decode(dst, src []byte) (n int, ok bool) {
	if len(src)%4 != 0 {
		return 0, false
	}
	done, ok := 0, true
	if vectors {
		if wide {
			done = decodeWide(dst, src)
		}
		done += decodeBlocks(dst[done/4*3:], src[done:])
	} else {
		done, ok = decodePairs(dst, src)
	}
	rest := src[done:]
	n, err := base64.StdEncoding.Decode(dst[done/4*3:], rest)
	// Line breaks make less of the rest than there is of its text.
	return done/4*3 + n, ok && err == nil && (n+2)/3*4 == len(rest)
}

// decodePairs decodes two characters at a time, as far as there is room, and says
// how many and whether they were all of the standard alphabet.
func decodePairs(dst, src []byte) (done int, ok bool) {
	t, bad, total := pairs(), uint16(0), len(src)
	for len(src) > 8 && len(dst) >= 8 { // six bytes are decoded, eight are written
		v := binary.LittleEndian.Uint64(src)
		a, b, c, d := t[uint16(v)], t[uint16(v>>16)], t[uint16(v>>32)], t[uint16(v>>48)]
		bad |= a | b | c | d
		binary.BigEndian.PutUint64(dst, uint64(a)<<52|uint64(b)<<40|uint64(c)<<28|uint64(d)<<16)
		src, dst = src[8:], dst[6:]
	}
	return total - len(src), bad < 1<<12 // twelve bits are less than badPair
}

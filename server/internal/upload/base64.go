package upload

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// ErrBase64 says that a text is not base64.
var ErrBase64 = errors.New("not base64")

const (
	skipByte = 0xfe // white space
	padByte  = 0xfd
	badByte  = 0xff
)

// alphabet maps both alphabets of RFC 4648 to the standard one.
var alphabet = func() (t [256]byte) {
	for i := range t {
		t[i] = badByte
	}
	for c := 'A'; c <= 'Z'; c++ {
		t[c], t[c+32] = byte(c), byte(c+32)
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = byte(c)
	}
	t['+'], t['-'], t['/'], t['_'] = '+', '+', '/', '/'
	t[' '], t['\t'], t['\r'], t['\n'], t['\f'], t['\v'] = skipByte, skipByte, skipByte, skipByte, skipByte, skipByte
	t['='] = padByte
	return t
}()

// NewBase64Reader decodes base64 of either alphabet, padded or not, with white
// space anywhere. A bad text ends in ErrBase64.
func NewBase64Reader(r io.Reader) io.Reader {
	return &base64Reader{r: r, in: make([]byte, 32<<10), clean: make([]byte, 0, 32<<10+4)}
}

type base64Reader struct {
	r      io.Reader
	in     []byte
	clean  []byte // of the standard alphabet, not yet decoded
	out    []byte // decoded, not yet handed on
	buf    [24<<10 + 8]byte
	padded int
	count  int64
	err    error
}

func (d *base64Reader) Read(p []byte) (int, error) {
	for len(d.out) == 0 && d.err == nil {
		d.fill()
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	if n == 0 {
		return 0, d.err
	}
	return n, nil
}

// fill decodes one more piece of whole quanta.
func (d *base64Reader) fill() {
	n, err := d.r.Read(d.in)
	if err == nil && d.straight(d.in[:n]) {
		return
	}
	if !d.sift(d.in[:n]) {
		d.err = ErrBase64
		return
	}
	whole := len(d.clean) / 4 * 4
	if err != nil {
		d.err = err
		if err == io.EOF {
			whole = d.last()
		}
	}
	m, derr := base64.RawStdEncoding.Decode(d.buf[:], d.clean[:whole])
	if derr != nil {
		d.err = ErrBase64
		return
	}
	d.out = d.buf[:m]
	d.clean = append(d.clean[:0], d.clean[whole:]...)
}

// straight decodes a piece as it is where nothing has to be sifted out of it.
func (d *base64Reader) straight(p []byte) bool {
	if len(p) == 0 || len(p)%4 != 0 || len(d.clean) > 0 || d.padded > 0 {
		return false
	}
	m, err := base64.RawStdEncoding.Decode(d.buf[:], p)
	if err != nil || m != len(p)/4*3 { // a line break would have been skipped
		return false
	}
	d.out, d.count = d.buf[:m], d.count+int64(len(p))
	return true
}

// last checks the end of the text and says how much of the rest to decode.
func (d *base64Reader) last() int {
	rest := d.count % 4
	if rest == 1 || d.padded > 0 && (rest+int64(d.padded))%4 != 0 {
		d.err = ErrBase64
		return 0
	}
	return len(d.clean)
}

func (d *base64Reader) sift(p []byte) bool {
	for _, c := range p {
		switch a := alphabet[c]; a {
		case skipByte:
		case badByte:
			return false
		case padByte:
			d.padded++
			if d.padded > 2 {
				return false
			}
		default:
			if d.padded > 0 {
				return false
			}
			d.clean = append(d.clean, a)
			d.count++
		}
	}
	return true
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

// decodeStandard decodes padded base64 of the standard alphabet with nothing else
// in it, and says how many bytes it wrote; any other text is not ok, whatever was
// written. dst has room for all of it. Vectors take a fifteenth of the time of
// encoding/base64, pairs of characters a quarter.
func decodeStandard(dst, src []byte) (n int, ok bool) {
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

package upload

import (
	"errors"
	"io"
	"slices"

	"github.com/emmansun/base64"
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

// base64Piece is how much is decoded at once.
const base64Piece = 8 << 10

// NewBase64Reader decodes base64 of either alphabet, padded or not, with white
// space anywhere. A bad text ends in ErrBase64.
func NewBase64Reader(r io.Reader) io.Reader {
	return &base64Reader{r: r, in: make([]byte, base64Piece)}
}

type base64Reader struct {
	r      io.Reader
	in     []byte
	clean  []byte // of the standard alphabet, not yet decoded
	out    []byte // decoded, not yet handed on
	buf    [base64Piece]byte
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
	if err == nil && d.clear(d.in[:n]) {
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

// clear decodes a piece directly where nothing has to be filtered out of it, as in most
// documents.
func (d *base64Reader) clear(p []byte) bool {
	if len(p) == 0 || len(p)%4 != 0 || len(d.clean) > 0 || d.padded > 0 {
		return false
	}
	m, err := base64.RawStdEncoding.Decode(d.buf[:], p)
	if err != nil || m != len(p)/4*3 { // line breaks, which the decoder skips
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
	d.clean = slices.Grow(d.clean, len(p))
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

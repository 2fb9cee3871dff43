package pdf

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"rogito.dev/rogito/internal/limits"
)

// filter decodes one step of a filter chain. odd says what other readers may decode differently, ""
// if the data conforms to the standard.
func (d *Document) filter(name Name, parms *Dict, data []byte) (out []byte, odd string, err error) {
	switch name {
	case "FlateDecode", "Fl":
		if d.work.judged {
			odd, err = d.judgeFlate(parms, data)
			return nil, odd, err
		}
		return d.predicted(parms, data, func(b []byte) ([]byte, string, error) { return d.work.inflate(b, nil) })
	case "LZWDecode", "LZW":
		early := true
		if n, ok := d.Int(parms.Get("EarlyChange")); ok {
			early = n != 0
		}
		return d.predicted(parms, data, func(b []byte) ([]byte, string, error) { return d.work.lzw(b, early) })
	case "ASCIIHexDecode", "AHx":
		return asciiHex(data)
	case "ASCII85Decode", "A85":
		return ascii85(data)
	case "RunLengthDecode", "RL":
		return d.work.runLength(data)
	case "Crypt": // done by the security handler
		return data, oddCrypt, nil
	}
	return nil, "", errUnsupported
}

var errUnsupported = errors.New("filter not supported")

// errDamaged: data is not valid for its filter. It is returned along with what was decoded before
// the damage.
var errDamaged = errors.New("damaged data")

// ended reports bytes behind the end of the data. A line end belongs to the enclosing object.
func ended(rest []byte) string {
	if len(rest) > 2 || len(bytes.Trim(rest, "\r\n")) > 0 {
		return oddTail
	}
	return ""
}

var errTooLarge = fmt.Errorf("stream inflates to more than %d bytes", limits.PDFStream)

// inflaters is a pool: a new one costs more than decoding most streams.
var inflaters sync.Pool

func inflater(src *bytes.Reader) (io.ReadCloser, error) {
	if r, ok := inflaters.Get().(io.ReadCloser); ok {
		return r, r.(zlib.Resetter).Reset(src, nil)
	}
	return zlib.NewReader(src)
}

// pieces are buffers for streams that are only judged: allocating them took a third of the time of
// a page of text.
var pieces = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// inflate is lenient in one point: if the data is truncated or damaged it returns what came before,
// as other readers do. Some read on behind certain damage.
//
// A stream that is only judged is not kept: look gets it piece by piece.
func (w *work) inflate(data []byte, look func(piece []byte)) ([]byte, string, error) {
	src := bytes.NewReader(data)
	r, err := inflater(src)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer inflaters.Put(r)
	most := int64(len(data))*limits.PDFRatio + 1024
	room := w.allowance(8 * int64(len(data))) // few streams need more; for those the caches are emptied later
	bound := min(room, most)
	var out []byte
	if look == nil {
		out = make([]byte, 0, min(bound+1, int64(len(data))*2+512))
	} else {
		room = w.largest()
		bound = min(room, most)
		piece := pieces.Get().(*[32 << 10]byte)
		defer pieces.Put(piece)
		out = piece[:0]
	}
	var before, looked int64 // bytes discarded, and at the last check of the context
	for {
		if look != nil {
			look(out)
			before, out = before+int64(len(out)), out[:0]
		} else if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		n, err := r.Read(out[len(out):min(int64(cap(out)), bound+1-before)])
		out = out[:len(out)+n]
		total := before + int64(len(out))
		if total > bound && look == nil {
			room = w.allowance(most)
			bound = min(room, most)
		}
		switch {
		case total > bound:
			return nil, "", w.tooLarge(room)
		case err == nil:
			if total-looked > lookEvery {
				looked = total
				if err := w.ctx.Err(); err != nil {
					return nil, "", err
				}
			}
			continue
		}
		if look != nil {
			look(out)
			out = nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return out, ended(data[len(data)-src.Len():]), nil
		case errors.Is(err, io.ErrUnexpectedEOF) && total > 0:
			return out, oddEnd, nil
		case errors.Is(err, zlib.ErrChecksum):
			return out, oddChecksum, nil
		case total > 0:
			return out, oddDamaged, nil
		}
		return nil, "", fmt.Errorf("%w: %w", errDamaged, err)
	}
}

// predictor are the predictor parameters of a filter. row is the number of bytes of a row, without
// its tag.
type predictor struct{ kind, row, tag, pixel, bits int }

func (d *Document) predictor(parms *Dict) (p predictor, err error) {
	if parms == nil {
		return p, nil
	}
	if p.kind = d.intOr(parms, "Predictor", 1); p.kind < 2 {
		return predictor{}, nil
	}
	colors, bits, columns := d.intOr(parms, "Colors", 1), d.intOr(parms, "BitsPerComponent", 8), d.intOr(parms, "Columns", 1)
	if colors < 1 || colors > 256 || bits < 1 || bits > 16 || columns < 1 || columns > limits.PDFStream/512 {
		return p, errors.New("predictor parameters out of bounds")
	}
	p.bits = bits
	p.pixel = (colors*bits + 7) / 8
	p.row = (colors*bits*columns + 7) / 8
	if p.kind != 2 {
		p.tag = 1
	}
	return p, nil
}

func (d *Document) predicted(parms *Dict, data []byte, f func([]byte) ([]byte, string, error)) ([]byte, string, error) {
	out, odd, err := f(data)
	if err != nil && !errors.Is(err, errDamaged) {
		return nil, odd, err
	}
	p, bad := d.predictor(parms)
	if bad != nil || p.kind == 0 {
		return out, odd, cmp.Or(bad, err)
	}
	if len(out)%(p.row+p.tag) != 0 {
		odd = odder(odd, oddRow)
	}
	if p.kind == 2 {
		out, bad = tiffPredictor(out, p.row, p.pixel, p.bits)
	} else {
		out, bad = pngPredictor(out, p.row, p.pixel)
	}
	return out, odd, cmp.Or(bad, err)
}

// judgeFlate judges a deflated stream like filter, without keeping the output: allocating that took
// two thirds of the time of a picture.
func (d *Document) judgeFlate(parms *Dict, data []byte) (odd string, err error) {
	p, err := d.predictor(parms)
	if err != nil {
		return "", err
	}
	if p.kind == 2 && p.bits != 8 {
		err = errTIFF(p.bits)
	}
	var size int64
	var kind byte // the first tag that is not a PNG filter
	at := int64(-1)
	_, odd, flaw := d.work.inflate(data, func(piece []byte) {
		if p.tag == 1 { // the tags of the rows that begin in this piece
			for i := -size % int64(p.row+1); i < int64(len(piece)); i += int64(p.row + 1) {
				if i >= 0 && piece[i] > 4 && at < 0 {
					kind, at = piece[i], size+i
				}
			}
		}
		size += int64(len(piece))
	})
	if flaw != nil {
		return odd, flaw
	}
	if at >= 0 && at+1 < size { // a tag without a row does not count
		err = errPredictor(kind)
	}
	if p.kind != 0 && size%int64(p.row+p.tag) != 0 {
		odd = odder(odd, oddRow)
	}
	if e := d.work.decode(size); e != nil {
		return "", e
	}
	return odd, err
}

func errPredictor(kind byte) error { return fmt.Errorf("%w: PNG predictor %d", errDamaged, kind) }

func errTIFF(bits int) error { return fmt.Errorf("TIFF predictor with %d bits", bits) }

func (d *Document) intOr(dict *Dict, key Name, def int) int {
	if n, ok := d.Int(dict.Get(key)); ok && n >= -1<<31 && n < 1<<31 {
		return int(n)
	}
	return def
}

func tiffPredictor(data []byte, row, pixel, bits int) ([]byte, error) {
	if bits != 8 {
		return nil, errTIFF(bits)
	}
	for start := 0; start+row <= len(data); start += row {
		line := data[start : start+row]
		for i := pixel; i < row; i++ {
			line[i] += line[i-pixel]
		}
	}
	return data, nil
}

// pngPredictor undoes the PNG filters in place: output never overtakes input.
func pngPredictor(data []byte, row, pixel int) ([]byte, error) {
	out := data[:0]
	prior := make([]byte, row)
	line := make([]byte, row)
	for len(data) > 1 {
		kind := data[0]
		n := copy(line, data[1:])
		data = data[1+n:]
		clear(line[n:])
		if err := unpredict(kind, line, prior, pixel); err != nil {
			return out, err
		}
		out = append(out, line[:n]...)
		line, prior = prior, line
	}
	return out, nil
}

func unpredict(kind byte, line, prior []byte, pixel int) error {
	switch kind {
	case 0:
	case 1:
		for i := pixel; i < len(line); i++ {
			line[i] += line[i-pixel]
		}
	case 2:
		for i := range line {
			line[i] += prior[i]
		}
	case 3:
		for i := range line {
			left := 0
			if i >= pixel {
				left = int(line[i-pixel])
			}
			line[i] += byte((left + int(prior[i])) / 2)
		}
	case 4:
		for i := range line {
			var left, upLeft int
			if i >= pixel {
				left, upLeft = int(line[i-pixel]), int(prior[i-pixel])
			}
			line[i] += paeth(left, int(prior[i]), upLeft)
		}
	default:
		return errPredictor(kind)
	}
	return nil
}

func paeth(a, b, c int) byte {
	p := a + b - c
	pa, pb, pc := abs(p-a), abs(p-b), abs(p-c)
	switch {
	case pa <= pb && pa <= pc:
		return byte(a)
	case pb <= pc:
		return byte(b)
	}
	return byte(c)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func asciiHex(data []byte) (out []byte, odd string, err error) {
	out = make([]byte, 0, len(data)/2)
	high, half := byte(0), false
	odd = oddEnd
	for i, c := range data {
		if c == '>' {
			if odd = ended(data[i+1:]); half {
				odd = oddHalf
			}
			break
		}
		v := hexValue[c]
		if v < 0 {
			if class[c] == classSpace {
				continue
			}
			return out, "", fmt.Errorf("%w: %q in hexadecimal data", errDamaged, c)
		}
		if half {
			out = append(out, high<<4|byte(v))
		}
		high, half = byte(v), !half
	}
	if half {
		out = append(out, high<<4)
	}
	return out, odd, nil
}

// ascii85 skips the <~ that PostScript tools write before the data; some readers take its tilde for
// the end.
func ascii85(data []byte) (out []byte, odd string, err error) {
	if rest, marked := bytes.CutPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("<~")); marked {
		data, odd = rest, "a mark before its data"
	}
	out = make([]byte, 0, len(data)*4/5)
	var group uint64
	n := 0
	for i, c := range data {
		switch {
		case c == '~':
			if i+1 == len(data) || data[i+1] != '>' {
				odd = odder(odd, oddEnd)
			} else {
				odd = odder(odd, ended(data[i+2:]))
			}
			return endGroup(out, group, n, odd)
		case class[c] == classSpace:
			continue
		case c == 'z' && n == 0:
			out = append(out, 0, 0, 0, 0)
			continue
		case c < '!' || c > 'u':
			return out, "", fmt.Errorf("%w: %q in ASCII85 data", errDamaged, c)
		}
		group = group*85 + uint64(c-'!')
		if n++; n == 5 {
			if group > math.MaxUint32 {
				odd = odder(odd, "a group that is no number of four bytes")
			}
			out = append(out, byte(group>>24), byte(group>>16), byte(group>>8), byte(group))
			group, n = 0, 0
		}
	}
	return endGroup(out, group, n, odder(odd, oddEnd))
}

// endGroup decodes the last n characters. Readers pad such a group in different ways, which give
// the same bytes if it was written as the standard says (ISO 32000-2, 7.4.3): as the first
// characters of a group that ends in zeros.
func endGroup(out []byte, group uint64, n int, odd string) ([]byte, string, error) {
	if n == 0 {
		return out, odd, nil
	}
	scale := uint64(1)
	for i := n; i < 5; i++ {
		scale *= 85
	}
	full := group*scale + scale - 1
	kept := full &^ (1<<(8*(5-n)) - 1)
	if n == 1 || full > math.MaxUint32 || kept/scale != group {
		odd = odder(odd, "a last group that is not whole")
	}
	b := []byte{byte(full >> 24), byte(full >> 16), byte(full >> 8)}
	return append(out, b[:n-1]...), odd, nil
}

func (w *work) runLength(data []byte) ([]byte, string, error) {
	odd := ""
	room := int(w.allowance(64 * int64(len(data)))) // two bytes become 128
	out := make([]byte, 0, min(room, 2*len(data)))
	looked := 0
	for len(data) > 1 {
		if len(out)-looked > lookEvery {
			looked = len(out)
			if err := w.ctx.Err(); err != nil {
				return nil, "", err
			}
		}
		n := int(data[0])
		data = data[1:]
		switch {
		case n == 128:
			return out, odder(odd, ended(data)), nil
		case n < 128:
			if n++; n > len(data) {
				odd, n = oddEnd, len(data)
			}
			out = append(out, data[:n]...)
			data = data[n:]
		default:
			n, c := 257-n, data[0]
			out = slices.Grow(out, n)
			run := out[len(out) : len(out)+n]
			for i := range run {
				run[i] = c
			}
			out, data = out[:len(out)+n], data[1:]
		}
		if len(out) > room {
			return nil, "", w.tooLarge(int64(room))
		}
	}
	if len(data) != 1 || data[0] != 128 {
		odd = oddEnd
	}
	return out, odd, nil
}

package pades

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"

	"rogito.dev/rogito/internal/finding"
)

// What was appended after a signature holds no other document: the file under
// another name, opened by a program that looks for the end of an archive or for
// markup wherever they stand, would show what nobody signed.

// marks begin another document, or are what its readers look for.
var marks = regexp.MustCompile(`(?i)^(?:%PDF-\d|<(?:!doctype|html|head|body|script|style|i?frame|img|svg|div|object|embed|meta|link|base|form|table)[\s/>]|PK(?-i:\x03\x04|\x05\x06|\x01\x02)|(?-i:\{\\rtf1|Rar!\x1a\x07|\x7fELF))`)

// foreign notes another document behind the signed bytes.
func (r *reader) foreign() error {
	from := r.src.Size()
	for _, f := range r.found {
		if f.end > 0 {
			from = min(from, f.end)
		}
	}
	const step, overlap = 256 << 10, 64
	buf := make([]byte, min(step+overlap, r.src.Size()-from))
	for at := from; at < r.src.Size(); at += step {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n, err := r.src.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return err
		}
		for i := 0; i+1 < n; i++ {
			if !mayMark(buf[i], buf[i+1]) || !marks.Match(buf[i:min(n, i+16)]) {
				continue
			}
			what, ok := markOf(buf[i:n])
			for _, f := range r.found {
				if off := at + int64(i); ok && f.end > 0 && off >= f.end && !f.broken() {
					f.fatal(finding.PDFUpdateForeign, fmt.Sprintf("offset %d", off), what)
				}
			}
		}
	}
	return nil
}

// mayMark looks at the first two bytes: the expression alone takes longer than all
// other reading.
func mayMark(a, b byte) bool {
	switch a {
	case '%':
		return b == 'P' || b == 'p'
	case '<':
		return b == '!' || b|0x20 >= 'a' && b|0x20 <= 'z'
	case 'P', 'p':
		return b == 'K' || b == 'k'
	case '{', 'R', 0x7f:
		return b == '\\' || b == 'a' || b == 'E'
	}
	return false
}

// markOf names what begins with some bytes. The marks of a zip are short, so
// that what follows them must fit.
func markOf(b []byte) (string, bool) {
	switch {
	case b[0] == '%':
		return "PDF", true
	case b[0] == '<':
		return "HTML", true
	case !bytes.HasPrefix(b, []byte("PK")):
		return "RTF, RAR, ELF", true
	case b[2] == 5: // the end of the directory: one disk only
		return "ZIP", len(b) < 8 || binary.LittleEndian.Uint32(b[4:]) == 0
	case len(b) < 12:
		return "ZIP", true
	case b[2] == 1:
		b = b[2:]
	}
	version, method := binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[8:])
	return "ZIP", version&0xff < 64 && method < 100
}

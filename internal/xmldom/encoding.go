package xmldom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	textenc "golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// encoding is how the bytes of a document stand for its text.
type encoding struct {
	bom   []byte
	codec textenc.Encoding // nil for UTF-8
}

// decode turns bytes into UTF-8 text and remembers the way back.
func decode(b []byte) (string, encoding, error) {
	switch {
	case bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")):
		return text(b[3:]), encoding{bom: b[:3:3]}, nil
	case bytes.HasPrefix(b, []byte("\xFE\xFF")):
		return fromUTF16(b[2:], encoding{bom: b[:2:2], codec: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}, binary.BigEndian)
	case bytes.HasPrefix(b, []byte("\xFF\xFE")):
		return fromUTF16(b[2:], encoding{bom: b[:2:2], codec: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}, binary.LittleEndian)
	case bytes.HasPrefix(b, []byte("\x00<\x00?")):
		return fromUTF16(b, encoding{codec: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}, binary.BigEndian)
	case bytes.HasPrefix(b, []byte("<\x00?\x00")):
		return fromUTF16(b, encoding{codec: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}, binary.LittleEndian)
	}
	name := declaredEncoding(b)
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return text(b), encoding{}, nil
	}
	return fromDeclared(b, name)
}

// text looks at bytes that nobody will change as a string.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fromDeclared decodes one of the many single-byte and East Asian encodings.
func fromDeclared(b []byte, name string) (string, encoding, error) {
	if l := strings.ToLower(name); strings.HasPrefix(l, "utf-16") || strings.HasPrefix(l, "ucs-2") {
		return "", encoding{}, errors.New("declared UTF-16 but is not")
	}
	codec, err := htmlindex.Get(name)
	if err != nil {
		return "", encoding{}, fmt.Errorf("unknown encoding %q", clip(name))
	}
	utf8, err := codec.NewDecoder().Bytes(b)
	if err != nil {
		return "", encoding{}, fmt.Errorf("decode %s: %w", clip(name), err)
	}
	return text(utf8), encoding{codec: codec}, nil
}

func fromUTF16(b []byte, enc encoding, order binary.ByteOrder) (string, encoding, error) {
	if len(b)%2 != 0 {
		return "", enc, errors.New("odd number of bytes in UTF-16")
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			if i+1 == len(units) {
				return "", enc, errors.New("lone surrogate in UTF-16")
			}
			i++
			if r = utf16.DecodeRune(r, rune(units[i])); r == utf8.RuneError {
				return "", enc, errors.New("lone surrogate in UTF-16")
			}
		}
		out.WriteRune(r)
	}
	return out.String(), enc, nil
}

// declaredEncoding reads the encoding out of the XML declaration, which is
// ASCII in every encoding that gets here.
func declaredEncoding(b []byte) string {
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return ""
	}
	end := bytes.Index(b[:min(len(b), 1024)], []byte("?>"))
	if end < 0 {
		return ""
	}
	_, after, ok := bytes.Cut(b[5:end], []byte("encoding"))
	if !ok {
		return ""
	}
	after = bytes.TrimLeft(after, " \t\r\n=")
	if len(after) == 0 || after[0] != '"' && after[0] != '\'' {
		return ""
	}
	name, _, _ := bytes.Cut(after[1:], after[:1])
	return string(name)
}

// encode turns text back into the bytes of the document's own encoding.
func (e encoding) encode(text []byte) ([]byte, error) {
	if e.codec != nil {
		enc := textenc.HTMLEscapeUnsupported(e.codec.NewEncoder())
		out, err := enc.Bytes(text)
		if err != nil {
			return nil, err
		}
		text = out
	}
	if len(e.bom) == 0 {
		return text, nil
	}
	return append(bytes.Clone(e.bom), text...), nil
}

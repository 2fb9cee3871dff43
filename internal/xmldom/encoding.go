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
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// encoding is how the bytes of a document stand for its text.
type encoding struct {
	bom   []byte
	codec textenc.Encoding // nil for UTF-8
}

// decode turns bytes into UTF-8 text and remembers the way back. A byte order
// mark and a declaration that contradict each other are refused: some readers
// follow the one, some the other.
func decode(b []byte) (string, encoding, error) {
	wide := func(from int, order binary.ByteOrder, codec textenc.Encoding) (string, encoding, error) {
		t, enc, err := fromUTF16(b[from:], encoding{bom: b[:from:from], codec: codec}, order)
		if err != nil {
			return "", enc, err
		}
		if name := declaredEncoding([]byte(t[:min(len(t), maxDeclaration)])); name != "" && !strings.HasPrefix(strings.ToLower(name), "utf-16") {
			return "", enc, fmt.Errorf("is UTF-16 but declares %q", clip(name))
		}
		return t, enc, nil
	}
	big, little := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	switch {
	case bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")):
		name := declaredEncoding(b[3:])
		switch strings.ToLower(name) {
		case "", "utf-8", "utf8":
			return text(b[3:]), encoding{bom: b[:3:3]}, nil
		}
		return "", encoding{}, fmt.Errorf("has the byte order mark of UTF-8 but declares %q", clip(name))
	case bytes.HasPrefix(b, []byte("\xFE\xFF")):
		return wide(2, binary.BigEndian, big)
	case bytes.HasPrefix(b, []byte("\xFF\xFE")):
		return wide(2, binary.LittleEndian, little)
	case bytes.HasPrefix(b, []byte("\x00<\x00?")):
		return wide(0, binary.BigEndian, big)
	case bytes.HasPrefix(b, []byte("<\x00?\x00")):
		return wide(0, binary.LittleEndian, little)
	}
	name := declaredEncoding(b)
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8":
		return text(b), encoding{}, nil
	case "us-ascii", "ascii":
		for _, c := range b {
			if c >= 0x80 {
				return "", encoding{}, errors.New("declares ASCII but is not")
			}
		}
		return text(b), encoding{}, nil
	}
	return fromDeclared(b, name)
}

// maxDeclaration is where an XML declaration must have ended.
const maxDeclaration = 1024

// text looks at bytes that nobody will change as a string.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fromDeclared decodes one of the many single-byte and East Asian encodings.
func fromDeclared(b []byte, name string) (string, encoding, error) {
	if l := strings.ToLower(name); strings.HasPrefix(l, "utf-16") || strings.HasPrefix(l, "ucs-2") {
		return "", encoding{}, errors.New("declared UTF-16 but is not")
	}
	codec, err := codecOf(name)
	if err != nil {
		return "", encoding{}, fmt.Errorf("unknown encoding %q", clip(name))
	}
	utf8, err := codec.NewDecoder().Bytes(b)
	if err != nil {
		return "", encoding{}, fmt.Errorf("decode %s: %w", clip(name), err)
	}
	return text(utf8), encoding{codec: codec}, nil
}

// codecOf finds an encoding by its name. The index is that of HTML, which means
// Windows code pages by the names of ISO ones: XML does not. Encodings that
// switch between alphabets can hide markup and are not read.
func codecOf(name string) (textenc.Encoding, error) {
	switch strings.ToLower(name) {
	case "iso-8859-1", "iso_8859-1", "iso8859-1", "latin1", "l1":
		return charmap.ISO8859_1, nil
	case "iso-8859-9", "iso_8859-9", "iso8859-9", "latin5", "l5":
		return charmap.ISO8859_9, nil
	}
	codec, err := htmlindex.Get(name)
	if err != nil {
		return nil, err
	}
	switch codec {
	case japanese.ISO2022JP, textenc.Replacement, charmap.XUserDefined:
		return nil, errors.New("not supported")
	}
	return codec, nil
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
	end := bytes.Index(b[:min(len(b), maxDeclaration)], []byte("?>"))
	if end < 0 {
		return ""
	}
	m := xmlDecl.FindSubmatch(b[5:end])
	if m == nil {
		return "" // the parser refuses it
	}
	return string(m[3]) + string(m[4])
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

package xmldom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	textenc "golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// encoding is how the text of a document is encoded.
type encoding struct {
	bom   string
	codec textenc.Encoding // nil for UTF-8
}

// decode converts bytes to UTF-8 text, and returns the encoding for converting back. A byte order
// mark that contradicts the declaration is an error: some readers follow the one, some the other.
func decode(b string) (string, encoding, error) {
	wide := func(from int, order binary.ByteOrder, codec textenc.Encoding) (string, encoding, error) {
		t, enc, err := fromUTF16([]byte(b[from:]), encoding{bom: b[:from], codec: codec}, order)
		if err != nil {
			return "", enc, err
		}
		name := declaredEncoding(t)
		ordered := map[binary.ByteOrder]string{binary.BigEndian: "utf-16be", binary.LittleEndian: "utf-16le"}[order]
		switch strings.ToLower(name) {
		case "", "utf-16", ordered:
			return t, enc, nil
		}
		return "", enc, fmt.Errorf("is UTF-16 but declares %q", clip(name))
	}
	big, little := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	switch {
	case strings.HasPrefix(b, "\xEF\xBB\xBF"):
		name := declaredEncoding(b[3:])
		switch strings.ToLower(name) {
		case "", "utf-8", "utf8":
			return b[3:], encoding{bom: b[:3]}, nil
		}
		return "", encoding{}, fmt.Errorf("has the byte order mark of UTF-8 but declares %q", clip(name))
	case strings.HasPrefix(b, "\xFE\xFF"):
		return wide(2, binary.BigEndian, big)
	case strings.HasPrefix(b, "\xFF\xFE"):
		return wide(2, binary.LittleEndian, little)
	case strings.HasPrefix(b, "\x00<\x00?"):
		return wide(0, binary.BigEndian, big)
	case strings.HasPrefix(b, "<\x00?\x00"):
		return wide(0, binary.LittleEndian, little)
	}
	name := declaredEncoding(b)
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8":
		return b, encoding{}, nil
	case "us-ascii", "ascii", "ansi_x3.4-1968", "iso-ir-6", "iso646-us", "csascii":
		for i := range len(b) {
			if b[i] >= 0x80 {
				return "", encoding{}, errors.New("declares ASCII but is not")
			}
		}
		return b, encoding{}, nil
	}
	return fromDeclared(b, name)
}

// maxDeclaration is where an XML declaration must have ended.
const maxDeclaration = 1024

// fromDeclared decodes a single-byte encoding.
func fromDeclared(b, name string) (string, encoding, error) {
	label := strings.ToLower(name)
	if strings.HasPrefix(label, "utf-16") || strings.HasPrefix(label, "ucs-2") {
		return "", encoding{}, errors.New("declared UTF-16 but is not")
	}
	codec := codecs[label]
	if codec == nil {
		return "", encoding{}, fmt.Errorf("encoding %q is not read: readers take it in different ways, or not at all", clip(name))
	}
	var out strings.Builder
	out.Grow(len(b) + len(b)/8)
	for at := range len(b) {
		c := b[at]
		r := rune(c)
		if c >= 0x80 {
			r = codec.DecodeByte(c)
		}
		if r >= 0x80 && r < 0xa0 || r == utf8.RuneError || codec == charmap.Windows1255 && c == 0xca {
			return "", encoding{}, fmt.Errorf("the byte 0x%02X at %d is another character, or none, to other readers of %s", c, at, clip(name))
		}
		out.WriteRune(r)
	}
	return out.String(), encoding{codec: codec}, nil
}

// codecs are the supported single-byte encodings, by their IANA names. XML parsers (libxml2, expat,
// Xerces) and browsers agree on their characters, except for the bytes 0x80 to 0x9F of the ISO
// ones, which browsers interpret as a Windows code page, and for undefined bytes. East Asian
// encodings and KOI8-U differ between implementations; stateful encodings (ISO-2022) and UTF-7 can
// hide markup.
var codecs = func() map[string]*charmap.Charmap {
	m := map[string]*charmap.Charmap{"koi8-r": charmap.KOI8R, "cskoi8r": charmap.KOI8R}
	for part, c := range map[string]*charmap.Charmap{
		"1": charmap.ISO8859_1, "2": charmap.ISO8859_2, "3": charmap.ISO8859_3, "4": charmap.ISO8859_4, "5": charmap.ISO8859_5,
		"6": charmap.ISO8859_6, "7": charmap.ISO8859_7, "8": charmap.ISO8859_8, "9": charmap.ISO8859_9, "10": charmap.ISO8859_10,
		"13": charmap.ISO8859_13, "14": charmap.ISO8859_14, "15": charmap.ISO8859_15, "16": charmap.ISO8859_16,
	} {
		m["iso-8859-"+part], m["iso_8859-"+part], m["iso8859-"+part] = c, c, c
	}
	for i, c := range []*charmap.Charmap{
		charmap.Windows1250, charmap.Windows1251, charmap.Windows1252, charmap.Windows1253, charmap.Windows1254,
		charmap.Windows1255, charmap.Windows1256, charmap.Windows1257, charmap.Windows1258,
	} {
		m[fmt.Sprintf("windows-125%d", i)], m[fmt.Sprintf("cswindows125%d", i)] = c, c
	}
	for name, part := range map[string]string{
		"latin1": "1", "l1": "1", "ibm819": "1", "cp819": "1", "iso-ir-100": "1", "csisolatin1": "1",
		"latin2": "2", "l2": "2", "iso-ir-101": "2", "csisolatin2": "2", "latin5": "9", "l5": "9", "iso-ir-148": "9", "csisolatin5": "9", "latin-9": "15",
	} {
		m[name] = m["iso-8859-"+part]
	}
	return m
}()

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

// declaredEncoding returns the encoding in the XML declaration, which is ASCII in every encoding
// that gets here.
func declaredEncoding(b string) string {
	if !strings.HasPrefix(b, "<?xml") {
		return ""
	}
	end := strings.Index(b[:min(len(b), maxDeclaration)], "?>")
	if end < 0 {
		return ""
	}
	m := xmlDecl.FindStringSubmatch(b[5:end])
	if m == nil {
		return "" // the parser reports it
	}
	return m[3] + m[4]
}

// encode converts text to the document's own encoding.
func (e encoding) encode(text string) (string, error) {
	if e.codec != nil {
		enc := textenc.HTMLEscapeUnsupported(e.codec.NewEncoder())
		out, err := enc.String(text)
		if err != nil {
			return "", err
		}
		text = out
	}
	return e.bom + text, nil
}

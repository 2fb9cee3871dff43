package cms

import (
	"bytes"
	"errors"
	"slices"

	"rogito.dev/rogito/internal/limits"
)

// Identifier octets used in CMS.
const (
	TagInteger     = 0x02
	TagBitString   = 0x03
	TagOctetString = 0x04
	TagNull        = 0x05
	TagOID         = 0x06
	TagUTF8String  = 0x0c
	TagSequence    = 0x30
	TagSet         = 0x31
	constructed    = 0x20
)

var (
	errTruncated = errors.New("value runs past its end")
	errDepth     = errors.New("nested too deeply")
	errLength    = errors.New("bad length")
	errTag       = errors.New("unexpected tag")
	errTrailing  = errors.New("trailing data")
)

// Element is one BER value, with its original bytes.
type Element struct {
	Tag        byte   // identifier octet; numbers above 30 keep the low five bits set
	Raw        []byte // identifier, length, content, and end-of-contents if there is one
	Body       []byte // content octets
	Indefinite bool
}

// ReadElement reads the first value of b.
func ReadElement(b []byte) (e Element, rest []byte, err error) {
	return readElement(b, 0)
}

func readElement(b []byte, depth int) (Element, []byte, error) {
	if depth > limits.ASN1Depth {
		return Element{}, nil, errDepth
	}
	head, length, err := readHeader(b)
	if err != nil {
		return Element{}, nil, err
	}
	if length >= 0 {
		if length > int64(len(b)-head) {
			return Element{}, nil, errTruncated
		}
		end := head + int(length)
		return Element{Tag: b[0], Raw: b[:end:end], Body: b[head:end:end]}, b[end:], nil
	}
	in := b[head:]
	for {
		if len(in) < 2 {
			return Element{}, nil, errTruncated
		}
		if in[0] == 0 && in[1] == 0 {
			break
		}
		if _, in, err = readElement(in, depth+1); err != nil {
			return Element{}, nil, err
		}
	}
	body := len(b) - len(in)
	return Element{Tag: b[0], Raw: b[: body+2 : body+2], Body: b[head:body:body], Indefinite: true}, in[2:], nil
}

// readHeader returns the size of identifier and length octets, and the length of the content: -1 if
// it is indefinite.
func readHeader(b []byte) (head int, length int64, err error) {
	if len(b) < 2 {
		return 0, 0, errTruncated
	}
	i := 1
	if b[0]&0x1f == 0x1f {
		for i < len(b) && b[i]&0x80 != 0 {
			i++
		}
		if i++; i > 6 {
			return 0, 0, errTag
		}
	}
	if i >= len(b) {
		return 0, 0, errTruncated
	}
	first := b[i]
	i++
	switch {
	case first < 0x80:
		return i, int64(first), nil
	case first == 0x80:
		if b[0]&constructed == 0 {
			return 0, 0, errLength
		}
		return i, -1, nil
	case first > 0x88:
		return 0, 0, errLength
	}
	n := int(first & 0x7f)
	if len(b)-i < n {
		return 0, 0, errTruncated
	}
	for _, c := range b[i : i+n] {
		if length > 1<<54 {
			return 0, 0, errLength
		}
		length = length<<8 | int64(c)
	}
	return i + n, length, nil
}

// Constructed reports whether the value has a constructed encoding.
func (e Element) Constructed() bool { return e.Tag&constructed != 0 }

// Children reads the values inside a constructed one.
func (e Element) Children() ([]Element, error) {
	if !e.Constructed() {
		return nil, errTag
	}
	var out []Element
	for in := e.Body; len(in) > 0; {
		child, rest, err := ReadElement(in)
		if err != nil {
			return nil, err
		}
		out, in = append(out, child), rest
	}
	return out, nil
}

// Octets is the value of an OCTET STRING, with the pieces of a chunked one joined.
func (e Element) Octets() ([]byte, error) { return e.octets(0) }

func (e Element) octets(depth int) ([]byte, error) {
	if !e.Constructed() {
		return e.Body, nil
	}
	if depth > limits.ASN1Depth {
		return nil, errDepth
	}
	parts, err := e.Children()
	if err != nil {
		return nil, err
	}
	out := []byte{}
	for _, p := range parts {
		if p.Tag&^constructed != TagOctetString {
			return nil, errTag
		}
		b, err := p.octets(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// DER re-encodes a BER value: definite and shortest lengths, strings in one piece, members of a SET
// in order.
func DER(raw []byte) ([]byte, error) {
	e, rest, err := ReadElement(raw)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, errTrailing
	}
	return appendDER(nil, e, 0)
}

func appendDER(out []byte, e Element, depth int) ([]byte, error) {
	if depth > limits.ASN1Depth {
		return nil, errDepth
	}
	if !e.Constructed() {
		return appendTLV(out, identifier(e), e.Body), nil
	}
	if e.Tag == TagOctetString|constructed {
		b, err := e.Octets()
		return appendTLV(out, []byte{TagOctetString}, b), err
	}
	children, err := e.Children()
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, len(children))
	for i, c := range children {
		if parts[i], err = appendDER(nil, c, depth+1); err != nil {
			return nil, err
		}
	}
	if e.Tag == TagSet {
		slices.SortFunc(parts, bytes.Compare)
	}
	return appendTLV(out, identifier(e), bytes.Join(parts, nil)), nil
}

// identifier returns the identifier octets of a value: more than one for tag numbers above 30.
func identifier(e Element) []byte {
	if e.Tag&0x1f != 0x1f {
		return e.Raw[:1]
	}
	i := 1
	for e.Raw[i]&0x80 != 0 {
		i++
	}
	return e.Raw[:i+1]
}

func appendTLV(out, id, body []byte) []byte {
	out = append(out, id...)
	out = appendLength(out, int64(len(body)))
	return append(out, body...)
}

func appendLength(out []byte, n int64) []byte {
	if n < 0x80 {
		return append(out, byte(n))
	}
	size := 1
	for v := n >> 8; v > 0; v >>= 8 {
		size++
	}
	out = append(out, 0x80|byte(size))
	for i := size - 1; i >= 0; i-- {
		out = append(out, byte(n>>(8*i)))
	}
	return out
}

// TLV encodes a value with a one-octet identifier.
func TLV(tag byte, body ...[]byte) []byte {
	n := 0
	for _, b := range body {
		n += len(b)
	}
	out := make([]byte, 0, n+10)
	out = append(out, tag)
	out = appendLength(out, int64(n))
	for _, b := range body {
		out = append(out, b...)
	}
	return out
}

// SetOf encodes a SET OF in DER order.
func SetOf(tag byte, items [][]byte) []byte {
	sorted := slices.Clone(items)
	slices.SortFunc(sorted, bytes.Compare)
	return TLV(tag, sorted...)
}

package pkix

import (
	"errors"
	"math/big"
	"time"

	"rogito.dev/rogito/internal/oid"
)

// ASN.1 identifier octets.
const (
	tagBool            = 0x01
	tagInteger         = 0x02
	tagBitString       = 0x03
	tagOctetString     = 0x04
	tagNull            = 0x05
	tagOID             = 0x06
	tagEnumerated      = 0x0a
	tagUTF8String      = 0x0c
	tagNumericString   = 0x12
	tagPrintableString = 0x13
	tagT61String       = 0x14
	tagIA5String       = 0x16
	tagUTCTime         = 0x17
	tagGeneralizedTime = 0x18
	tagVisibleString   = 0x1a
	tagUniversalString = 0x1c
	tagBMPString       = 0x1e
	tagSequence        = 0x30
	tagSet             = 0x31
)

var errDER = errors.New("bad ASN.1 element")

// element is one TLV; full includes its identifier and length octets.
type element struct {
	tag  byte
	body []byte
	full []byte
}

// reader iterates over consecutive elements. Lengths need not be minimal, since real certificates
// are not always DER.
type reader []byte

// next reads the first element.
func (r *reader) next() (element, bool) {
	b := *r
	if len(b) < 2 || b[0]&0x1f == 0x1f {
		return element{}, false
	}
	n, head := int(b[1]), 2
	if n >= 0x80 {
		octets := n & 0x7f
		if octets == 0 || octets > 4 || len(b) < 2+octets {
			return element{}, false
		}
		n = 0
		for _, c := range b[2 : 2+octets] {
			n = n<<8 | int(c)
		}
		head += octets
	}
	if n > len(b)-head {
		return element{}, false
	}
	e := element{tag: b[0], body: b[head : head+n], full: b[: head+n : head+n]}
	*r = b[head+n:]
	return e, true
}

// take reads the next element if it has the tag.
func (r *reader) take(tag byte) (element, bool) {
	if len(*r) == 0 || (*r)[0] != tag {
		return element{}, false
	}
	return r.next()
}

func (r *reader) empty() bool { return len(*r) == 0 }

// single parses b as exactly one element with a tag and returns its content.
func single(b []byte, tag byte) (reader, bool) {
	r := reader(b)
	e, ok := r.take(tag)
	if !ok || !r.empty() {
		return nil, false
	}
	return e.body, true
}

// each calls f for the elements of a SEQUENCE, until it returns false.
func each(der []byte, f func(element) bool) bool {
	r, ok := single(der, tagSequence)
	return ok && r.each(f)
}

func (r reader) each(f func(element) bool) bool {
	for !r.empty() {
		if e, ok := r.next(); !ok || !f(e) {
			return false
		}
	}
	return true
}

// eachIn calls f for the contents of the SEQUENCEs in a SEQUENCE.
func eachIn(der []byte, f func(reader) bool) bool {
	return each(der, func(e element) bool { return e.tag == tagSequence && f(e.body) })
}

// complete returns list only if it was read to its end.
func complete[T any](list []T, ok bool) ([]T, bool) {
	if !ok {
		return nil, false
	}
	return list, true
}

// Integer reads the content octets of an INTEGER.
func Integer(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	return n
}

// smallInt parses a non-negative integer that fits into an int.
func smallInt(b []byte) (int, bool) {
	n := Integer(b)
	if n.Sign() < 0 || n.BitLen() > 31 {
		return 0, false
	}
	return int(n.Int64()), true
}

// parseOID parses an object identifier into dotted form; "" if it is invalid.
func parseOID(b []byte) string {
	id, _ := oid.Parse(b)
	return id
}

// parseTime reads UTCTime and GeneralizedTime, with or without seconds,
// fractions and zone.
func parseTime(e element) (time.Time, bool) {
	s := string(e.body)
	layouts := []string{"20060102150405Z0700", "200601021504Z0700", "20060102150405.999999999Z0700", "20060102150405"}
	if e.tag == tagUTCTime {
		if len(s) < 10 {
			return time.Time{}, false
		}
		century := "20"
		if s[0] >= '5' {
			century = "19"
		}
		s = century + s
	} else if e.tag != tagGeneralizedTime {
		return time.Time{}, false
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// bits returns the octets of a BIT STRING without the count of unused bits.
func bits(b []byte) ([]byte, bool) {
	if len(b) == 0 || b[0] > 7 || (len(b) == 1 && b[0] != 0) {
		return nil, false
	}
	return b[1:], true
}

// Encoding, as far as OCSP requests and wrapped responses need it.

func encode(tag byte, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := append(make([]byte, 0, n+6), tag)
	switch {
	case n < 0x80:
		out = append(out, byte(n))
	case n < 0x100:
		out = append(out, 0x81, byte(n))
	case n < 0x10000:
		out = append(out, 0x82, byte(n>>8), byte(n))
	default:
		out = append(out, 0x84, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func encodeInt(n *big.Int) []byte {
	if n.Sign() < 0 {
		size := uint(n.BitLen()/8 + 1)
		m := new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), size*8))
		b := m.Bytes()
		for len(b) > 1 && b[0] == 0xff && b[1]&0x80 != 0 {
			b = b[1:]
		}
		return encode(tagInteger, b)
	}
	b := n.Bytes()
	if len(b) == 0 || b[0]&0x80 != 0 {
		b = append([]byte{0}, b...)
	}
	return encode(tagInteger, b)
}

// Package oid names the object identifiers of the signature world, as dotted
// strings so that they can be compared and switched on, and turns them into
// their encoding and back.
package oid

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// maxArc is the longest arc, in bytes, that is turned into a number.
const maxArc = 32

var errSyntax = errors.New("bad object identifier")

// Parse turns the content octets of an OBJECT IDENTIFIER into dotted form.
func Parse(content []byte) (string, error) {
	if len(content) == 0 || len(content) > 256 || content[len(content)-1]&0x80 != 0 {
		return "", errSyntax
	}
	var b strings.Builder
	for first := true; len(content) > 0; first = false {
		n := 1
		for content[n-1]&0x80 != 0 {
			n++
		}
		if n > maxArc || content[0] == 0x80 { // padding is forbidden in BER too
			return "", errSyntax
		}
		appendArc(&b, content[:n], first)
		content = content[n:]
	}
	return b.String(), nil
}

func appendArc(b *strings.Builder, arc []byte, first bool) {
	if len(arc) > 8 {
		appendBigArc(b, arc, first)
		return
	}
	var v uint64
	for _, c := range arc {
		v = v<<7 | uint64(c&0x7f)
	}
	if first {
		root := min(v/40, 2)
		b.WriteString(strconv.FormatUint(root, 10))
		v -= root * 40
	}
	b.WriteByte('.')
	b.WriteString(strconv.FormatUint(v, 10))
}

func appendBigArc(b *strings.Builder, arc []byte, first bool) {
	v := new(big.Int)
	for _, c := range arc {
		v.Lsh(v, 7).Or(v, big.NewInt(int64(c&0x7f)))
	}
	if first {
		b.WriteByte('2')
		v.Sub(v, big.NewInt(80))
	}
	b.WriteByte('.')
	b.WriteString(v.String())
}

// Content is the content octets of a dotted identifier; it panics on text that
// is not one, since identifiers to be written come from this package.
func Content(dotted string) []byte {
	if out, ok := encodeSmall(dotted); ok {
		return out
	}
	out, err := encode(dotted)
	if err != nil {
		panic("oid: " + dotted)
	}
	return out
}

func encode(dotted string) ([]byte, error) {
	var out []byte
	var root uint64
	for i, part := range strings.Split(dotted, ".") {
		v, ok := new(big.Int).SetString(part, 10)
		if !ok || v.Sign() < 0 {
			return nil, errSyntax
		}
		switch i {
		case 0:
			root = v.Uint64()
			continue
		case 1:
			v.Add(v, new(big.Int).SetUint64(root*40))
		}
		out = appendBase128(out, v)
	}
	if root > 2 || len(out) == 0 {
		return nil, errSyntax
	}
	return out, nil
}

func appendBase128(out []byte, v *big.Int) []byte {
	n := max(1, (v.BitLen()+6)/7)
	for i := n - 1; i >= 0; i-- {
		c := byte(new(big.Int).Rsh(v, uint(7*i)).Uint64() & 0x7f)
		if i > 0 {
			c |= 0x80
		}
		out = append(out, c)
	}
	return out
}

// Valid reports whether text is a dotted identifier that can be encoded.
func Valid(dotted string) bool {
	_, err := encode(dotted)
	return err == nil
}

// Read reads an OBJECT IDENTIFIER off the front of s.
func Read(s *cryptobyte.String) (string, bool) {
	var c cryptobyte.String
	if !s.ReadASN1(&c, cbasn1.OBJECT_IDENTIFIER) {
		return "", false
	}
	v, err := Parse(c)
	return v, err == nil
}

// Add writes an OBJECT IDENTIFIER.
func Add(b *cryptobyte.Builder, dotted string) {
	b.AddASN1(cbasn1.OBJECT_IDENTIFIER, func(b *cryptobyte.Builder) { b.AddBytes(Content(dotted)) })
}

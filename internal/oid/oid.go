// Package oid has the object identifiers used in signatures, as dotted strings so that they can be
// compared and switched on, and converts them to their encoding and back.
package oid

import (
	"crypto/x509"
	"errors"
	"strconv"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

var errSyntax = errors.New("bad object identifier")

// Parse converts the content octets of an OBJECT IDENTIFIER to dotted form.
func Parse(content []byte) (string, error) {
	if dotted, ok := known[string(content)]; ok {
		return dotted, nil
	}
	var id x509.OID
	if len(content) > 256 || id.UnmarshalBinary(content) != nil {
		return "", errSyntax
	}
	return id.String(), nil
}

// known has the most frequent identifiers by their content octets: general parsing takes fifteen
// times as long.
var known = func() map[string]string {
	all := map[string]string{}
	add := func(list ...string) {
		for _, dotted := range list {
			all[string(Content(dotted))] = dotted
		}
	}
	add(Data, SignedData, TSTInfo, OCSPBasic, RSA, RSAPSS, SHA256WithRSA, SHA384WithRSA, SHA512WithRSA, SHA256WithECDSA, SHA384WithECDSA, SHA512WithECDSA)
	for dotted := range attributes {
		add(dotted)
	}
	for i := range 100 { // attributes of names, and extensions
		add("2.5.4."+strconv.Itoa(i), "2.5.29."+strconv.Itoa(i))
	}
	for _, d := range digests {
		add(d.oid)
	}
	return all
}()

// Content is the content octets of a dotted identifier. It panics on invalid text, since
// identifiers to encode come from this package.
func Content(dotted string) []byte {
	id, err := x509.ParseOID(dotted)
	if err != nil {
		panic("oid: " + dotted)
	}
	out, _ := id.MarshalBinary() // never fails
	return out
}

// Valid reports whether text is a dotted identifier that can be encoded.
func Valid(dotted string) bool {
	_, err := x509.ParseOID(dotted)
	return err == nil
}

// Read reads an OBJECT IDENTIFIER from s.
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

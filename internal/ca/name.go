package ca

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/oid"
)

// Name is a distinguished name; the parts that are empty are left out. They
// are written in the order of the fields, country first.
type Name struct {
	Country                string // two letters
	Organization           string
	OrganizationIdentifier string // EN 319 412-1: "VATIT-01234567890"
	Surname                string
	GivenName              string
	SerialNumber           string // EN 319 412-1: "TINIT-RSSMRA80A01H501U"
	CommonName             string
	DNQualifier            string
	Pseudonym              string
	Email                  string
}

type nameField struct {
	id    string
	tag   cbasn1.Tag
	value string
}

func (n Name) fields() []nameField {
	const printable, utf8 = cbasn1.PrintableString, cbasn1.UTF8String
	return []nameField{
		{"2.5.4.6", printable, n.Country},
		{"2.5.4.10", utf8, n.Organization},
		{oid.AttrNameOrgIdentifier, utf8, n.OrganizationIdentifier},
		{"2.5.4.4", utf8, n.Surname},
		{"2.5.4.42", utf8, n.GivenName},
		{"2.5.4.5", printable, n.SerialNumber},
		{"2.5.4.3", utf8, n.CommonName},
		{"2.5.4.46", printable, n.DNQualifier},
		{"2.5.4.65", utf8, n.Pseudonym},
		{"1.2.840.113549.1.9.1", cbasn1.IA5String, n.Email},
	}
}

// Encode is the name in DER.
func (n Name) Encode() ([]byte, error) {
	if n == (Name{}) || n.Country != "" && len(n.Country) != 2 {
		return nil, errors.New("ca: an empty name, or a country that is none")
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		for _, f := range n.fields() {
			if f.value == "" {
				continue
			}
			if !f.fits() {
				b.SetError(fmt.Errorf("ca: %q cannot stand in a name", f.value))
				return
			}
			b.AddASN1(cbasn1.SET, func(b *cryptobyte.Builder) {
				b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
					oid.Add(b, f.id)
					b.AddASN1(f.tag, func(b *cryptobyte.Builder) { b.AddBytes([]byte(f.value)) })
				})
			})
		}
	})
	return b.Bytes()
}

// fits reports whether the value can be written in its string type.
func (f nameField) fits() bool {
	for _, r := range f.value {
		switch {
		case r < 0x20:
			return false
		case f.tag == cbasn1.IA5String && r > 0x7e:
			return false
		case f.tag == cbasn1.PrintableString && !printableRune(r):
			return false
		}
	}
	return len(f.value) <= 256
}

func printableRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(" '()+,-./:=?", r)
}

package pkix

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Name is a distinguished name in the order in which it is encoded.
type Name []RDN

// RDN is one relative distinguished name: mostly a single attribute.
type RDN []Attribute

// Attribute is a type with its value; Raw is the value's encoding.
type Attribute struct {
	OID   string
	Value string // decoded text; "" if it is not a string type
	Raw   []byte
}

// Object identifiers of attributes used by other packages.
const (
	OIDCommonName             = "2.5.4.3"
	OIDSurname                = "2.5.4.4"
	OIDSerialNumber           = "2.5.4.5"
	OIDCountry                = "2.5.4.6"
	OIDOrganization           = "2.5.4.10"
	OIDGivenName              = "2.5.4.42"
	OIDPseudonym              = "2.5.4.65"
	OIDOrganizationIdentifier = "2.5.4.97"
	OIDEmailAddress           = "1.2.840.113549.1.9.1"
)

// attributeNames are the short names of RFC 4514 and 4519, and of X.520 for the identifiers in
// eIDAS certificates.
var attributeNames = map[string]string{
	OIDCommonName: "CN", OIDSurname: "SN", OIDSerialNumber: "serialNumber", OIDCountry: "C",
	"2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", OIDOrganization: "O", "2.5.4.11": "OU",
	"2.5.4.12": "title", "2.5.4.13": "description", "2.5.4.15": "businessCategory",
	"2.5.4.17": "postalCode", "2.5.4.20": "telephoneNumber", "2.5.4.41": "name",
	OIDGivenName: "givenName", "2.5.4.43": "initials", "2.5.4.44": "generationQualifier",
	"2.5.4.46": "dnQualifier", OIDPseudonym: "pseudonym", OIDOrganizationIdentifier: "organizationIdentifier",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID", OIDEmailAddress: "emailAddress",
}

// ParseName reads the DER of a Name.
func ParseName(der []byte) (Name, error) {
	r, ok := single(der, tagSequence)
	if !ok {
		return nil, errDER
	}
	var n Name
	for !r.empty() {
		set, ok := r.take(tagSet)
		if !ok {
			return nil, errDER
		}
		rdn, err := parseRDN(set.body)
		if err != nil {
			return nil, err
		}
		n = append(n, rdn)
	}
	return n, nil
}

func parseRDN(body []byte) (RDN, error) {
	var rdn RDN
	for r := reader(body); !r.empty(); {
		seq, ok := r.take(tagSequence)
		if !ok {
			return nil, errDER
		}
		in := reader(seq.body)
		id, ok := in.take(tagOID)
		if !ok {
			return nil, errDER
		}
		value, ok := in.next()
		if !ok {
			return nil, errDER
		}
		text, _ := decodeString(value)
		rdn = append(rdn, Attribute{OID: parseOID(id.body), Value: text, Raw: value.full})
	}
	return rdn, nil
}

// decodeString decodes any ASN.1 string, assuming Latin-1 for invalid encodings, which is what most
// of them are.
func decodeString(e element) (string, bool) {
	switch e.tag {
	case tagUTF8String, tagPrintableString, tagIA5String, tagNumericString, tagVisibleString:
		if utf8.Valid(e.body) {
			return string(e.body), true
		}
		return latin1(e.body), true
	case tagT61String:
		return latin1(e.body), true
	case tagBMPString:
		units := make([]uint16, len(e.body)/2)
		for i := range units {
			units[i] = uint16(e.body[2*i])<<8 | uint16(e.body[2*i+1])
		}
		return string(utf16.Decode(units)), true
	case tagUniversalString:
		var b strings.Builder
		for i := 0; i+3 < len(e.body); i += 4 {
			b.WriteRune(rune(e.body[i])<<24 | rune(e.body[i+1])<<16 | rune(e.body[i+2])<<8 | rune(e.body[i+3]))
		}
		return b.String(), true
	}
	return "", false
}

func latin1(b []byte) string {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out)
}

// Get returns the last value of an attribute type, or "".
func (n Name) Get(oid string) string {
	for i := len(n) - 1; i >= 0; i-- {
		for _, a := range n[i] {
			if a.OID == oid {
				return a.Value
			}
		}
	}
	return ""
}

// String formats the name by RFC 4514, but in the order of the encoding, so that most names start
// with C=.
func (n Name) String() string {
	var b strings.Builder
	for i, rdn := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, a := range rdn {
			if j > 0 {
				b.WriteByte('+')
			}
			a.write(&b)
		}
	}
	return b.String()
}

func (a Attribute) write(b *strings.Builder) {
	name, known := attributeNames[a.OID]
	if !known || (a.Value == "" && len(a.Raw) > 2) {
		b.WriteString(a.OID + "=#" + hex.EncodeToString(a.Raw))
		return
	}
	b.WriteString(name)
	b.WriteByte('=')
	escape(b, a.Value)
}

// escape writes a value by RFC 4514, 2.4.
func escape(b *strings.Builder, v string) {
	if plain(v) && !strings.ContainsAny(v, `"+,;<>\`) && strings.Trim(v, " ") == v && !strings.HasPrefix(v, "#") {
		b.WriteString(v)
		return
	}
	for i, c := range v {
		last := i+utf8.RuneLen(c) >= len(v)
		switch {
		case c == 0:
			b.WriteString(`\00`)
			continue
		case c < ' ':
			b.WriteByte('\\')
			b.WriteString(hex.EncodeToString([]byte{byte(c)}))
			continue
		case strings.ContainsRune(`"+,;<>\`, c), i == 0 && (c == '#' || c == ' '), last && c == ' ':
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
}

// Canonical is a form in which equal names are equal strings: values are prepared like in RFC 4518
// (compatibility composition, case folding, white space compression), so that a UTF8String equals a
// PrintableString, and one with characters that nobody sees equals one without.
func (n Name) Canonical() string {
	var b strings.Builder
	for _, rdn := range n {
		parts := make([]string, len(rdn))
		for i, a := range rdn {
			parts[i] = a.OID + "=" + prepare(a)
		}
		slices.Sort(parts)
		b.WriteString(strings.Join(parts, "\x01"))
		b.WriteByte(0)
	}
	return b.String()
}

func prepare(a Attribute) string {
	if a.Value == "" && len(a.Raw) > 2 {
		return "#" + hex.EncodeToString(a.Raw)
	}
	if plain(a.Value) {
		return squeeze(strings.ToLower(a.Value))
	}
	return squeeze(cases.Fold().String(norm.NFKC.String(a.Value)))
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] < ' ' {
			return false
		}
	}
	return true
}

// squeeze removes what RFC 4518 maps to nothing and compresses white space.
func squeeze(s string) string {
	if plain(s) && !strings.Contains(s, "  ") {
		return strings.TrimSpace(s)
	}
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector) && !unicode.IsSpace(r) || strings.ContainsRune("\u034f\u1806\ufffc", r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// EqualNames compares two encoded names by RFC 5280, 7.1.
func EqualNames(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	m, errA := ParseName(a)
	n, errB := ParseName(b)
	return errA == nil && errB == nil && m.Canonical() == n.Canonical()
}

// Relative appends the content of a RelativeDistinguishedName to a name, for distribution points.
func (n Name) Relative(rdn []byte) (Name, error) {
	r, err := parseRDN(rdn)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(n), r), nil
}

package cms

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// SignerInfo is one signer's part of a SignedData, or a counter-signature.
type SignerInfo struct {
	Raw     []byte
	Version int
	// Identifier of the signer: issuer and serial number, or key identifier.
	Issuer       []byte // Name, not parsed
	Serial       *big.Int
	SubjectKeyID []byte

	DigestAlgorithm    AlgorithmIdentifier
	SignatureAlgorithm AlgorithmIdentifier
	SignedAttrs        []Attribute
	UnsignedAttrs      []Attribute
	Signature          []byte

	// RawSignedAttrs is the original field with its tag [0]; nil if absent.
	RawSignedAttrs []byte
	// RawFields are the original values before unsignedAttrs: version, sid, digestAlgorithm,
	// [signedAttrs], signatureAlgorithm, signature.
	RawFields [][]byte
}

// Attribute is an attribute with its unparsed values.
type Attribute struct {
	OID    string
	Raw    []byte // the whole Attribute
	Type   []byte // TLV of attrType
	Set    []byte // TLV of attrValues
	Values [][]byte
}

// ParseSignerInfo reads one SignerInfo.
func ParseSignerInfo(raw []byte) (*SignerInfo, error) {
	e, rest, err := ReadElement(raw)
	if err != nil {
		return nil, err
	}
	if e.Tag != TagSequence || len(rest) > 0 {
		return nil, errors.New("not a SignerInfo")
	}
	parts, err := e.Children()
	if err != nil {
		return nil, err
	}
	si := &SignerInfo{Raw: e.Raw}
	return si, si.parse(parts)
}

func (si *SignerInfo) parse(parts []Element) error {
	if n := len(parts); n > 0 && parts[n-1].Tag == 0xa1 {
		var err error
		if si.UnsignedAttrs, err = parseAttributes(parts[n-1]); err != nil {
			return fmt.Errorf("unsignedAttrs: %w", err)
		}
		parts = parts[:n-1]
	}
	for _, p := range parts {
		si.RawFields = append(si.RawFields, p.Raw)
	}
	if len(parts) == 6 && parts[3].Tag == 0xa0 {
		var err error
		si.RawSignedAttrs = parts[3].Raw
		if si.SignedAttrs, err = parseAttributes(parts[3]); err != nil {
			return fmt.Errorf("signedAttrs: %w", err)
		}
		parts = append(parts[:3:3], parts[4:]...)
	}
	if len(parts) != 5 || parts[0].Tag != TagInteger {
		return errors.New("fields missing or out of place")
	}
	return si.rest(parts)
}

func (si *SignerInfo) rest(parts []Element) (err error) {
	si.Version = smallInt(parts[0].Body)
	if err = si.identifier(parts[1]); err != nil {
		return fmt.Errorf("sid: %w", err)
	}
	if si.DigestAlgorithm, err = parseAlgorithm(parts[2]); err != nil {
		return fmt.Errorf("digestAlgorithm: %w", err)
	}
	if si.SignatureAlgorithm, err = parseAlgorithm(parts[3]); err != nil {
		return fmt.Errorf("signatureAlgorithm: %w", err)
	}
	if parts[4].Tag&^constructed != TagOctetString {
		return fmt.Errorf("signature: %w", errTag)
	}
	si.Signature, err = parts[4].Octets()
	return err
}

func (si *SignerInfo) identifier(e Element) error {
	switch e.Tag {
	case TagSequence:
		parts, err := e.Children()
		if err != nil {
			return err
		}
		if len(parts) != 2 || parts[0].Tag != TagSequence || parts[1].Tag != TagInteger {
			return errTag
		}
		si.Issuer = parts[0].Raw
		si.Serial = pkix.Integer(parts[1].Body)
		return nil
	case 0x80:
		si.SubjectKeyID = e.Body
		return nil
	case 0xa0: // chunked, or an explicit tag that some writers use
		parts, err := e.Children()
		if err != nil {
			return err
		}
		for _, p := range parts {
			b, err := p.Octets()
			if err != nil {
				return err
			}
			si.SubjectKeyID = append(si.SubjectKeyID, b...)
		}
		return nil
	}
	return errTag
}

func parseAttributes(e Element) ([]Attribute, error) {
	children, err := e.Children()
	if err != nil {
		return nil, err
	}
	if len(children) > limits.CMSAttributes {
		return nil, errors.New("too many attributes")
	}
	out := make([]Attribute, 0, len(children))
	for _, c := range children {
		a, err := parseAttribute(c)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func parseAttribute(e Element) (Attribute, error) {
	if e.Tag != TagSequence {
		return Attribute{}, errTag
	}
	parts, err := e.Children()
	if err != nil || len(parts) != 2 || parts[0].Tag != TagOID || parts[1].Tag != TagSet {
		return Attribute{}, errors.New("bad Attribute")
	}
	a := Attribute{Raw: e.Raw, Type: parts[0].Raw, Set: parts[1].Raw}
	if a.OID, err = oid.Parse(parts[0].Body); err != nil {
		return a, err
	}
	values, err := parts[1].Children()
	if err != nil {
		return a, err
	}
	for _, v := range values {
		a.Values = append(a.Values, v.Raw)
	}
	return a, nil
}

// ToBeSigned is what the signature is over if there are signed attributes: their DER encoding as a
// SET OF, in DER order, regardless of the stored order (RFC 5652, 5.4). It is nil without signed
// attributes.
func (si *SignerInfo) ToBeSigned() []byte {
	if si.RawSignedAttrs == nil {
		return nil
	}
	set := bytes.Clone(si.RawSignedAttrs)
	set[0] = TagSet
	der, err := DER(set)
	if err != nil { // it has been parsed before
		return set
	}
	return der
}

// StoredInOrder reports whether the signed attributes are stored in DER, so that their original
// bytes are what is signed.
func (si *SignerInfo) StoredInOrder() bool {
	return si.RawSignedAttrs == nil || bytes.Equal(si.ToBeSigned()[1:], si.RawSignedAttrs[1:])
}

// Signed returns the signed attributes of one type.
func (si *SignerInfo) Signed(id string) []Attribute { return ofType(si.SignedAttrs, id) }

// Unsigned returns the unsigned attributes of one type.
func (si *SignerInfo) Unsigned(id string) []Attribute { return ofType(si.UnsignedAttrs, id) }

func ofType(attrs []Attribute, id string) []Attribute {
	var out []Attribute
	for i, a := range attrs {
		switch {
		case a.OID != id:
		case out == nil: // usually the only one
			out = attrs[i : i+1 : i+1]
		default:
			out = append(out, a)
		}
	}
	return out
}

// NewAttribute encodes an attribute with its values.
func NewAttribute(id string, values ...[]byte) []byte {
	return TLV(TagSequence, TLV(TagOID, oid.Content(id)), SetOf(TagSet, values))
}

// NewSigner has the parts of a SignerInfo to encode.
type NewSigner struct {
	Issuer, Serial     []byte // Name and INTEGER, both whole TLVs
	DigestAlgorithm    []byte
	SignedAttrs        []byte // SET OF, as signed
	SignatureAlgorithm []byte
	Signature          []byte
	UnsignedAttrs      [][]byte // encoded attributes
}

// Encode writes the SignerInfo.
func (n NewSigner) Encode() []byte {
	signed := bytes.Clone(n.SignedAttrs)
	signed[0] = 0xa0
	fields := [][]byte{
		{TagInteger, 1, 1},
		TLV(TagSequence, n.Issuer, n.Serial), n.DigestAlgorithm, signed,
		n.SignatureAlgorithm, TLV(TagOctetString, n.Signature),
	}
	if len(n.UnsignedAttrs) > 0 {
		fields = append(fields, SetOf(0xa1, n.UnsignedAttrs))
	}
	return TLV(TagSequence, fields...)
}

// WithUnsigned is the SignerInfo with other unsigned attributes; all other bytes are unchanged.
func (si *SignerInfo) WithUnsigned(attrs [][]byte) (*SignerInfo, error) {
	fields := append([][]byte{}, si.RawFields...)
	if len(attrs) > 0 {
		fields = append(fields, TLV(0xa1, attrs...))
	}
	return ParseSignerInfo(TLV(TagSequence, fields...))
}

// AddUnsigned is the SignerInfo with more unsigned attributes after its own.
func (si *SignerInfo) AddUnsigned(attrs ...[]byte) (*SignerInfo, error) {
	var all [][]byte
	for _, a := range si.UnsignedAttrs {
		all = append(all, a.Raw)
	}
	return si.WithUnsigned(append(all, attrs...))
}

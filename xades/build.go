package xades

import (
	"bytes"
	"crypto"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/xmldsig"
)

// reference is one ds:Reference to create.
type reference struct {
	uri        string
	noURI      bool
	typ        string
	transforms []string // XML of ds:Transform elements
	digest     []byte
	mime       string
	encoding   string
}

const (
	transformExclusive = `<ds:Transform Algorithm="` + xmldsig.ExcC14N + `"></ds:Transform>`
	transformBase64    = `<ds:Transform Algorithm="` + xmldsig.Base64 + `"></ds:Transform>`
	transformEnveloped = `<ds:Transform Algorithm="` + xmldsig.Enveloped + `"></ds:Transform>`
	transformNoSigs    = `<ds:Transform Algorithm="` + xmldsig.XPathFilter2 + `"><dsig-xpath:XPath xmlns:dsig-xpath="` + xmldsig.FilterNS + `" Filter="subtract">/descendant::ds:Signature</dsig-xpath:XPath></ds:Transform>`
)

// builder writes the XML of one signature. Its signed parts are written in exclusive canonical
// form, so that their text can be digested as it is: parsing and canonicalising it took a tenth of
// the time not spent on the key operation.
type builder struct {
	o    settings
	id   string
	refs []reference
	objs []object
	// stamp is a token over everything the references cover; nil if none is asked for.
	stamp []byte
}

// object is a ds:Object that contains a document.
type object struct {
	id, mime string
	file     int
}

func (b *builder) refID(i int) string { return fmt.Sprintf("r-%s-%d", b.id, i+1) }

// Declarations that an element has in its canonical form if no ancestor in that form declares the
// prefix.
const (
	declareDS    = ` xmlns:ds="` + ds + `"`
	declareXAdES = ` xmlns:xades="` + ns132 + `"`
)

// canonical is the canonical form of an element that lacks only the declaration of its prefix,
// which is on an ancestor in the document.
func canonical(xml, declaration string) []byte {
	name := strings.IndexAny(xml, " >")
	return []byte(xml[:name] + declaration + xml[name:])
}

// signedProperties writes the signed properties.
func (b *builder) signedProperties() string {
	var s strings.Builder
	fmt.Fprintf(&s, `<xades:SignedProperties Id="xades-%s"><xades:SignedSignatureProperties>`, b.id)
	fmt.Fprintf(&s, `<xades:SigningTime>%s</xades:SigningTime>`, b.o.Time.UTC().Format("2006-01-02T15:04:05Z"))
	s.WriteString(`<xades:SigningCertificateV2><xades:Cert><xades:CertDigest>`)
	s.WriteString(digestXML(declareDS, b.o.Digest(), oid.Sum(b.o.Digest(), b.o.Certificate.Raw)))
	s.WriteString(`</xades:CertDigest><xades:IssuerSerialV2>` + base64.StdEncoding.EncodeToString(b.issuerSerial()))
	s.WriteString(`</xades:IssuerSerialV2></xades:Cert></xades:SigningCertificateV2>`)
	s.WriteString(b.policy())
	s.WriteString(`</xades:SignedSignatureProperties><xades:SignedDataObjectProperties>`)
	for i, r := range b.refs {
		fmt.Fprintf(&s, `<xades:DataObjectFormat ObjectReference="#%s"><xades:MimeType>%s</xades:MimeType>`, b.refID(i), escapeText(r.mime))
		if r.encoding != "" {
			fmt.Fprintf(&s, `<xades:Encoding>%s</xades:Encoding>`, r.encoding)
		}
		s.WriteString(`</xades:DataObjectFormat>`)
	}
	for _, c := range b.o.Commitments {
		s.WriteString(`<xades:CommitmentTypeIndication><xades:CommitmentTypeId><xades:Identifier>` + escapeText(ades.CommitmentURI(c)) +
			`</xades:Identifier></xades:CommitmentTypeId><xades:AllSignedDataObjects></xades:AllSignedDataObjects></xades:CommitmentTypeIndication>`)
	}
	if b.stamp != nil {
		fmt.Fprintf(&s, `<xades:AllDataObjectsTimeStamp Id="cts-%s"><ds:CanonicalizationMethod%s Algorithm="%s"></ds:CanonicalizationMethod><xades:EncapsulatedTimeStamp>%s</xades:EncapsulatedTimeStamp></xades:AllDataObjectsTimeStamp>`,
			b.id, declareDS, exclusive.URI(), base64.StdEncoding.EncodeToString(b.stamp))
	}
	s.WriteString(`</xades:SignedDataObjectProperties></xades:SignedProperties>`)
	return s.String()
}

// issuerSerial is the DER IssuerSerial of RFC 5035.
func (b *builder) issuerSerial() []byte {
	name := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: b.o.Certificate.RawIssuer}
	der, err := asn1.Marshal(struct {
		Issuer []asn1.RawValue
		Serial any
	}{[]asn1.RawValue{name}, b.o.Certificate.SerialNumber})
	if err != nil { // both parts come from a parsed certificate
		return nil
	}
	return der
}

func (b *builder) policy() string {
	p := b.o.Policy
	if p == nil {
		return ""
	}
	s := `<xades:SignaturePolicyIdentifier><xades:SignaturePolicyId><xades:SigPolicyId><xades:Identifier>` + escapeText(p.ID) +
		`</xades:Identifier></xades:SigPolicyId><xades:SigPolicyHash>` + digestXML(declareDS, p.Hash, p.Digest) + `</xades:SigPolicyHash>`
	if p.URI != "" {
		s += `<xades:SigPolicyQualifiers><xades:SigPolicyQualifier><xades:SPURI>` + escapeText(p.URI) +
			`</xades:SPURI></xades:SigPolicyQualifier></xades:SigPolicyQualifiers>`
	}
	return s + `</xades:SignaturePolicyId></xades:SignaturePolicyIdentifier>`
}

// signedInfo writes the SignedInfo element.
func (b *builder) signedInfo(method string, properties []byte) string {
	var s strings.Builder
	s.WriteString(`<ds:SignedInfo><ds:CanonicalizationMethod Algorithm="` + exclusive.URI() + `"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="` + method + `"></ds:SignatureMethod>`)
	for i, r := range b.refs {
		fmt.Fprintf(&s, `<ds:Reference Id="%s"`, b.refID(i))
		if r.typ != "" {
			fmt.Fprintf(&s, ` Type="%s"`, r.typ)
		}
		if !r.noURI {
			fmt.Fprintf(&s, ` URI="%s"`, escapeAttr(r.uri))
		}
		s.WriteString(">" + transformsXML(r.transforms) + digestXML("", b.o.Digest(), r.digest) + `</ds:Reference>`)
	}
	fmt.Fprintf(&s, `<ds:Reference Type="%s" URI="#xades-%s">%s%s</ds:Reference></ds:SignedInfo>`,
		xmldsig.SignedPropsTy, b.id, transformsXML([]string{transformExclusive}), digestXML("", b.o.Digest(), properties))
	return s.String()
}

func transformsXML(t []string) string {
	if len(t) == 0 {
		return ""
	}
	return `<ds:Transforms>` + strings.Join(t, "") + `</ds:Transforms>`
}

func digestXML(declaration string, h crypto.Hash, digest []byte) string {
	return `<ds:DigestMethod` + declaration + ` Algorithm="` + xmldsig.HashURI(h) + `"></ds:DigestMethod><ds:DigestValue` + declaration + `>` +
		base64.StdEncoding.EncodeToString(digest) + `</ds:DigestValue>`
}

func (b *builder) keyInfo() string {
	s := []byte(`<ds:KeyInfo><ds:X509Data>`)
	writeCert := func(der []byte) {
		s = base64.StdEncoding.AppendEncode(append(s, `<ds:X509Certificate>`...), der)
		s = append(s, `</ds:X509Certificate>`...)
	}
	writeCert(b.o.Certificate.Raw)
	for _, c := range b.o.Chain {
		if !bytes.Equal(c.Raw, b.o.Certificate.Raw) {
			writeCert(c.Raw)
		}
	}
	return string(append(s, `</ds:X509Data></ds:KeyInfo>`...))
}

// Characters that canonical XML escapes, in text and in attribute values.
var (
	textEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")
	attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")
)

func escapeText(s string) string { return textEscaper.Replace(s) }

func escapeAttr(s string) string { return attrEscaper.Replace(s) }

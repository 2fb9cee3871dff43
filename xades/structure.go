package xades

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// kind is the text that an unsigned element of a signature may contain.
type kind int

const (
	noText kind = iota
	octetText
	numberText
	tokenText  // no white space: a time, a URI
	nameText   // of an authority: a distinguished name or a token
	holderText // of a person or a key: the name of the signer or the issuer, or a token
	freeText
)

// shape describes what an element of a signature may contain.
type shape struct {
	text  kind
	attrs []string
}

// shapes by name. Identifiers are allowed everywhere.
type shapes map[string]shape

func (s shapes) with(text kind, attrs string, names string) shapes {
	for name := range strings.FieldsSeq(names) {
		s[name] = shape{text, strings.Fields(attrs)}
	}
	return s
}

// signatureShapes are the elements that signatures consist of, by namespace: XML Signature, XAdES,
// evidence records, the tokens of WS-Security. Their schemas have extension points; an element that
// is not listed here has a meaning elsewhere and is content.
var signatureShapes = func() map[string]shapes {
	xades := shapes{}.
		with(noText, "", `SignedProperties SignedSignatureProperties SignedDataObjectProperties UnsignedProperties
			UnsignedSignatureProperties UnsignedDataObjectProperties UnsignedDataObjectProperty SigningCertificate
			SigningCertificateV2 CertDigest IssuerSerial SignaturePolicyIdentifier SignaturePolicyId
			SignaturePolicyImplied SigPolicyId SigPolicyHash SigPolicyQualifiers SPUserNotice NoticeRef NoticeNumbers
			SignatureProductionPlace SignatureProductionPlaceV2 SignerRole SignerRoleV2 ClaimedRoles CertifiedRoles
			CertifiedRolesV2 SignedAssertions ObjectIdentifier DocumentationReferences CommitmentTypeIndication
			CommitmentTypeId AllSignedDataObjects CommitmentTypeQualifiers AllDataObjectsTimeStamp
			IndividualDataObjectsTimeStamp CounterSignature SignatureTimeStamp CompleteCertificateRefs
			CompleteCertificateRefsV2 CertRefs CompleteRevocationRefs AttributeCertificateRefs
			AttributeCertificateRefsV2 AttributeRevocationRefs CRLRefs CRLRef DigestAlgAndValue OCSPRefs OCSPRef
			OtherRefs ResponderID SigAndRefsTimeStamp SigAndRefsTimeStampV2 RefsOnlyTimeStamp RefsOnlyTimeStampV2
			CertificateValues RevocationValues AttrAuthoritiesCertValues AttributeRevocationValues CRLValues OCSPValues
			ArchiveTimeStamp ArchiveTimeStampV2 SignaturePolicyStore SPDocSpecification RenewedDigests
			RenewedDigestsV2 SealingEvidenceRecords EvidenceRecords Transforms HashDataInfo TimeStamp`).
		with(noText, "Target", "QualifyingProperties").
		with(noText, "URI", "Cert TimeStampValidationData OCSPIdentifier CRLIdentifier QualifyingPropertiesReference").
		with(noText, "URI referencedData uri", "Include HashDataInfo").
		with(noText, "ObjectReference", "DataObjectFormat").
		with(noText, "Algorithm", "DigestMethod CanonicalizationMethod Transform").
		with(octetText, "Encoding", `EncapsulatedTimeStamp EncapsulatedX509Certificate EncapsulatedCRLValue
			EncapsulatedOCSPValue EncapsulatedPKIData CertifiedRole X509AttributeCertificate SignaturePolicyDocument
			ASN1EvidenceRecord`).
		with(octetText, "", "IssuerSerialV2 DigestValue ByKey").
		with(numberText, "", "Number int").
		with(tokenText, "", "SigningTime IssueTime ProducedAt SPURI SigPolDocLocalURI DocumentationReference ObjectReference").
		with(tokenText, "Qualifier", "Identifier").
		with(nameText, "", "Issuer ByName").
		with(freeText, "", `City StreetAddress StateOrProvince PostalCode CountryName PostOfficeBoxNumber ClaimedRole Description
			MimeType Encoding Organization ExplicitText SigPolicyQualifier CommitmentTypeQualifier SignedAssertion`)
	dsig := shapes{}.
		with(noText, "", `Signature SignedInfo Transforms KeyInfo KeyValue RSAKeyValue DSAKeyValue X509Data X509IssuerSerial PGPData SPKIData
			Manifest SignatureProperties Object`).
		with(noText, "Target", "SignatureProperty").
		with(noText, "Algorithm", "CanonicalizationMethod SignatureMethod DigestMethod Transform").
		with(noText, "URI Type", "Reference RetrievalMethod").
		with(octetText, "", `SignatureValue DigestValue Modulus Exponent P Q G Y J Seed PgenCounter X509Certificate X509CRL X509SKI
			PGPKeyID PGPKeyPacket SPKISexp`).
		with(numberText, "", "HMACOutputLength X509SerialNumber").
		with(nameText, "", "X509IssuerName").
		with(holderText, "", "KeyName X509SubjectName").
		with(freeText, "", "XPath")
	more := shapes{}.
		with(noText, "", "ECKeyValue ECDSAKeyValue DomainParameters ECParameters FieldID Prime Curve ValidationData RSAPSSParams MaskGenerationFunction").
		with(noText, "URI", "NamedCurve KeyInfoReference").
		with(noText, "URN URI", "NamedCurve").
		with(noText, "Value", "X Y").
		with(noText, "Algorithm", "DigestMethod MGF").
		with(octetText, "", "PublicKey DEREncodedKeyValue OCSPResponse A B Base Order Seed P seed").
		with(octetText, "Algorithm", "X509Digest").
		with(numberText, "", "CoFactor SaltLength TrailerField")
	ers := shapes{}.
		with(noText, "", "HashTree TimeStamp CryptographicInformationList ArchiveTimeStampSequence EncryptionInformation SupportingInformationList").
		with(noText, "Version", "EvidenceRecord").
		with(noText, "Order", "ArchiveTimeStamp ArchiveTimeStampChain Sequence").
		with(noText, "Algorithm", "CanonicalizationMethod DigestMethod").
		with(octetText, "", "DigestValue").
		with(octetText, "Type Order", "TimeStampToken CryptographicInformation")
	wss := shapes{}.
		with(noText, "", "SecurityTokenReference").
		with(noText, "URI ValueType", "Reference").
		with(octetText, "ValueType EncodingType", "KeyIdentifier BinarySecurityToken")
	const secext = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	return map[string]shapes{
		ds: dsig, ns132: xades, ns122: xades, ns111: xades, "http://uri.etsi.org/01903/v1.4.1#": xades,
		"http://uri.etsi.org/19132/v1.1.1#": xades, "urn:ietf:params:xml:ns:ers": ers, secext: wss,
		xmldsig.Space11: more, xmldsig.MoreSpace: more, xmldsig.More07: more, "http://www.w3.org/2021/04/xmldsig-more#": more,
		xmldsig.ExcSpace: shapes{}.with(noText, "PrefixList", "InclusiveNamespaces"),
		xmldsig.FilterNS: shapes{}.with(freeText, "Filter", "XPath"),
	}
}()

// shapeOf is the shape of an element of a signature; false if it is not one.
func shapeOf(n *xmldom.Node) (shape, bool) {
	s, ok := signatureShapes[n.Name.Space][n.Name.Local]
	return s, ok
}

var (
	numberForm = regexp.MustCompile(`^\s*-?[0-9]+\s*$`)
	rdnForm    = regexp.MustCompile(`(?i)(?:^|[,;+/])\s*(?:CN|C|O|OU|L|ST|S|T|SN|G|GN|DC|UID|E|EMAIL|EMAILADDRESS|STREET|TITLE|SURNAME|GIVENNAME|SERIALNUMBER|INITIALS|ORGANIZATIONIDENTIFIER|POSTALCODE|DNQUALIFIER|(?:OID\.)?[0-9]+(?:\.[0-9]+)+)\s*=`)
)

// maxName bounds an unsigned distinguished name in a signature, and maxToken a word.
const (
	maxName  = 1024
	maxToken = 256
)

func isToken(text string) bool {
	return isWord(text) && utf8.RuneCountInString(strings.TrimSpace(text)) <= maxToken
}

// allows reports whether the element may contain a text unsigned. In a counter-signature such text
// is signed by that signature.
func (p *partition) allows(s shape, n *xmldom.Node) bool {
	switch s.text {
	case octetText:
		return isBase64(n.Data)
	case numberText:
		return numberForm.MatchString(n.Data)
	case tokenText:
		return isToken(n.Data) || p.countersigned(n)
	case nameText:
		text := strings.TrimSpace(n.Data)
		at := rdnForm.FindStringIndex(text)
		return isToken(text) || at != nil && at[0] == 0 && len(text) <= maxName || p.countersigned(n)
	case holderText:
		return p.holder(n, strings.TrimSpace(n.Data)) || p.countersigned(n)
	case freeText:
		return p.countersigned(n)
	default:
		return false
	}
}

// isBase64 reports whether a text has only the characters of base64, in lines that are too long for
// words. A regular expression took a sixth of the time of reading XAdES-LT.
func isBase64(text string) bool {
	line, broken := 0, false // octets in this line, and whether a short one ended
	for i := range len(text) {
		switch c := text[i]; {
		case !base64Bytes[c]:
			return false
		case c > ' ' && line == 0 && broken:
			return false
		case c > ' ':
			line++
		case line > 0:
			broken, line = line < minLine, 0
		}
	}
	return true
}

// minLine is the least length of a line of base64 that others follow. Those of genuine signatures
// have 64 and more.
const minLine = 32

var base64Bytes = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\n") {
		t[c] = true
	}
	return t
}()

// holder reports whether a text in a signature is the name of a signer or of the issuer, or a token
// for a key. In a counter-signature it may also be that of the counter-signer.
func (p *partition) holder(n *xmldom.Node, text string) bool {
	if !strings.Contains(text, "=") && isToken(text) {
		return true
	}
	wrote := func(n pkix.Name) bool { return n.Wrote(text) }
	return len(text) <= maxName && p.spend(256*len(p.subjects())+len(p.counters)) && (slices.ContainsFunc(p.subjects(), wrote) ||
		slices.ContainsFunc(p.counters, func(c counter) bool {
			return c.signer != nil && c.by.Contains(n) && p.spend(512) && slices.ContainsFunc(keyNames(c.signer), wrote)
		}))
}

// countersigned reports whether a node is in a counter-signature that signs it. What it signs beside
// itself would be taken for a statement of the signer, and a counter-signer may be anybody.
func (p *partition) countersigned(n *xmldom.Node) bool {
	p.spend(len(p.counters))
	return slices.ContainsFunc(p.counters, func(c counter) bool { return c.by.Contains(n) && c.region.Holds(n) })
}

// attributes handles the attributes of an uncovered element of a signature.
func (p *partition) attributes(n *xmldom.Node, s shape) {
	for _, a := range n.Attrs() {
		if !s.says(n, a) {
			p.content(func() string { return n.Path() + "/@" + a.Name.QName }, set{})
		}
	}
}

// says reports whether an uncovered element of a signature may have an attribute: single words, and
// lists of words that mean something at their place.
func (s shape) says(n *xmldom.Node, a xmldom.Attr) bool {
	switch {
	case a.Name.Space == "http://www.w3.org/2001/XMLSchema-instance" && a.Name.Local == "schemaLocation":
		words := strings.Fields(a.Value) // namespaces, each with its schema
		for i := 0; i < len(words); i += 2 {
			_, known := signatureShapes[words[i]] // and declared further down
			if !known && !inScope(n, func(b xmldom.Binding) bool { return b.URI == words[i] }) {
				return false
			}
		}
		return true
	case a.IsID():
		return isWord(a.Value)
	case a.Name.Space != "" || !slices.Contains(s.attrs, a.Name.Local):
		return false
	case a.Name.Local == "PrefixList":
		return !slices.ContainsFunc(strings.Fields(a.Value), func(prefix string) bool {
			return prefix != "#default" && !inScope(n, func(b xmldom.Binding) bool { return b.Prefix == prefix })
		})
	}
	return isWord(a.Value)
}

// inScope reports whether a matching namespace declaration is in scope.
func inScope(n *xmldom.Node, match func(xmldom.Binding) bool) bool {
	for ; n != nil; n = n.Parent {
		if slices.ContainsFunc(n.Bindings(), match) {
			return true
		}
	}
	return false
}

// isWord reports whether a text has no white space inside.
func isWord(text string) bool {
	return !strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace)
}

// Package xmldsig reads and creates XML signatures: canonicalisation (Canonical XML 1.0 and 1.1,
// Exclusive XML Canonicalization 1.0), references and their transforms, key information, and
// signature values, after XML Signature Syntax and Processing 1.1, RFC 6931 and RFC 9231.
//
// Only safe transforms are supported: enveloped-signature, canonicalisation, base64, the two common
// forms of XPath, and the relationships of Office documents. XSLT and everything else is rejected.
// Nothing is ever fetched: data outside the document is passed in.
package xmldsig

import (
	"crypto"
	"fmt"
	"strings"

	// The hashes that XML signatures may use.
	_ "crypto/md5"
	_ "crypto/sha1"
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"

	"rogito.dev/rogito/internal/xmldom"

	_ "golang.org/x/crypto/ripemd160" //nolint:staticcheck // old signatures are still to be read
)

// Namespaces.
const (
	Space      = "http://www.w3.org/2000/09/xmldsig#"
	Space11    = "http://www.w3.org/2009/xmldsig11#"
	MoreSpace  = "http://www.w3.org/2001/04/xmldsig-more#"
	More07     = "http://www.w3.org/2007/05/xmldsig-more#"
	ExcSpace   = "http://www.w3.org/2001/10/xml-exc-c14n#"
	FilterNS   = "http://www.w3.org/2002/06/xmldsig-filter2"
	encSpace   = "http://www.w3.org/2001/04/xmlenc#"
	inclusive  = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
	inclusive1 = "http://www.w3.org/2006/12/xml-c14n11"
)

// Transform algorithms.
const (
	Enveloped     = Space + "enveloped-signature"
	Base64        = Space + "base64"
	XPath         = "http://www.w3.org/TR/1999/REC-xpath-19991116"
	XPathFilter2  = FilterNS
	ExcC14N       = ExcSpace
	SignedPropsTy = "http://uri.etsi.org/01903#SignedProperties"
)

// Method is a canonicalisation method.
type Method struct {
	Exclusive bool
	V11       bool
	Comments  bool
	Prefixes  []string // InclusiveNamespaces PrefixList; "" is the default namespace
}

// MethodOf reads an element with an Algorithm attribute (CanonicalizationMethod
// or Transform) as a canonicalisation method.
func MethodOf(n *xmldom.Node) (Method, error) {
	m, ok := MethodByURI(n.Attr("Algorithm"))
	if !ok {
		return m, fmt.Errorf("canonicalisation method %q is not supported", clip(n.Attr("Algorithm")))
	}
	if inc := n.Child(ExcSpace, "InclusiveNamespaces"); inc != nil && m.Exclusive {
		for _, p := range strings.Fields(inc.Attr("PrefixList")) {
			if p == "#default" {
				p = ""
			}
			m.Prefixes = append(m.Prefixes, p)
		}
	}
	return m, nil
}

// MethodByURI is the method with an algorithm identifier.
func MethodByURI(uri string) (Method, bool) {
	bare, comments := strings.CutSuffix(uri, "#WithComments")
	if uri == ExcSpace+"WithComments" {
		bare, comments = ExcSpace, true
	}
	switch bare {
	case inclusive:
		return Method{Comments: comments}, true
	case inclusive1:
		return Method{V11: true, Comments: comments}, true
	case ExcSpace:
		return Method{Exclusive: true, Comments: comments}, true
	}
	return Method{}, false
}

// URI is the method's identifier.
func (m Method) URI() string {
	switch {
	case m.Exclusive && m.Comments:
		return ExcSpace + "WithComments"
	case m.Exclusive:
		return ExcSpace
	}
	uri := inclusive
	if m.V11 {
		uri = inclusive1
	}
	if m.Comments {
		uri += "#WithComments"
	}
	return uri
}

var hashURIs = map[string]crypto.Hash{
	Space + "sha1":         crypto.SHA1,
	encSpace + "sha256":    crypto.SHA256,
	encSpace + "sha512":    crypto.SHA512,
	encSpace + "ripemd160": crypto.RIPEMD160,
	MoreSpace + "md5":      crypto.MD5,
	MoreSpace + "sha224":   crypto.SHA224,
	MoreSpace + "sha384":   crypto.SHA384,
	More07 + "sha3-224":    crypto.SHA3_224,
	More07 + "sha3-256":    crypto.SHA3_256,
	More07 + "sha3-384":    crypto.SHA3_384,
	More07 + "sha3-512":    crypto.SHA3_512,
}

// HashByURI is the hash of a DigestMethod identifier.
func HashByURI(uri string) (crypto.Hash, bool) {
	h, ok := hashURIs[uri]
	return h, ok && h.Available()
}

// HashURI is the DigestMethod identifier of a hash, or "".
func HashURI(h crypto.Hash) string {
	for uri, x := range hashURIs {
		if x == h {
			return uri
		}
	}
	return ""
}

func clip(s string) string {
	if len(s) > 96 {
		s = strings.ToValidUTF8(s[:96], "") + "…"
	}
	return s
}

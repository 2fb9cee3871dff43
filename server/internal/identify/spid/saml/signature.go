package saml

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// ErrSignature means that an element is not signed, or not as it must be.
var ErrSignature = errors.New("the signature is not accepted")

func unsigned(why string) error { return fmt.Errorf("%w: %s", ErrSignature, why) }

// work is what checking one signature may cost, in bytes to canonicalise and
// digest. A message has 256 kB at most, and namespaces make it longer.
const work = 8 << 20

// CheckSigned says that an element carries one signature of its own, over the
// whole of this very element, by one of the certificates' keys, which is
// returned. It takes the one form that SAML Core 5.4 describes: one reference
// to the element's ID, the enveloped-signature transform, then exclusive
// canonicalisation. Keys come from the caller: KeyInfo is not looked at.
func CheckSigned(d *xmldom.Document, n *xmldom.Node, certs []*pkix.Certificate) (*pkix.Certificate, error) {
	found := n.Children(xmldsig.Space, "Signature")
	if len(found) != 1 {
		return nil, unsigned("not one signature in the element")
	}
	budget := int64(work)
	s, err := xmldsig.Read(d, found[0])
	if err != nil {
		return nil, unsigned(err.Error())
	}
	s.Budget = &budget
	if err := wellFormed(s, n); err != nil {
		return nil, err
	}
	if err := s.Check(s.References[0], nil); err != nil {
		return nil, unsigned(err.Error())
	}
	for _, c := range certs {
		if strong(c.PublicKey) && s.CheckValue(c.PublicKey) == nil {
			return c, nil
		}
	}
	return nil, unsigned("by none of the keys")
}

// wellFormed says whether a signature has the one form that is taken.
func wellFormed(s *xmldsig.Signature, n *xmldom.Node) error {
	if s.SchemeErr != nil || !modern(s.Scheme.Hash) || s.Scheme.Kind == pkix.PSS && !modern(s.Scheme.MGF) {
		return unsigned("signature method")
	}
	if len(s.Objects) > 0 || len(s.References) != 1 {
		return unsigned("more than one reference, or objects")
	}
	r, id := s.References[0], n.Attr("ID")
	if id == "" || !r.HasURI || r.URI != "#"+id {
		return unsigned("the reference is not to the element's ID")
	}
	if h, ok := xmldsig.HashByURI(r.DigestURI); !ok || !modern(h) {
		return unsigned("digest method")
	}
	steps := r.Node.Child(xmldsig.Space, "Transforms")
	i := 0
	for t := range steps.Elements() {
		// A reference to an ID takes no comments: the two forms are one here.
		want, alg := []string{xmldsig.Enveloped, xmldsig.ExcC14N}, strings.TrimSuffix(t.Attr("Algorithm"), "WithComments")
		if i >= len(want) || !t.Is(xmldsig.Space, "Transform") || alg != want[i] {
			return unsigned("transforms")
		}
		i++
	}
	if i != 2 {
		return unsigned("transforms")
	}
	for _, leaf := range []*xmldom.Node{s.ValueNode, r.Node.Child(xmldsig.Space, "DigestValue")} {
		if _, ok := Value(leaf); !ok {
			return unsigned("something else than text in a value")
		}
	}
	// What was digested is asked of the reference itself, not of the ID again.
	if e, err := s.Element(r); err != nil || e != n {
		return unsigned("the reference does not cover the element")
	}
	return nil
}

func modern(h crypto.Hash) bool {
	return h == crypto.SHA256 || h == crypto.SHA384 || h == crypto.SHA512
}

func strong(pub any) bool {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= 2048 && k.N.BitLen() <= 8192
	case *ecdsa.PublicKey:
		return k.Curve.Params().BitSize >= 256
	}
	return false
}

// Signer signs as an entity. SPID certificates are of RSA keys (AgID, notice
// 29), which also have one form of value in both bindings.
type Signer struct {
	Key         *rsa.PrivateKey
	Certificate []byte // DER
}

const (
	rsaSHA256 = xmldsig.MoreSpace + "rsa-sha256"
	sha256URI = "http://www.w3.org/2001/04/xmlenc#sha256"
)

// Sign puts a signature into the root of a message, behind its Issuer where
// there is one. The root must have an ID.
func (s Signer) Sign(message string) ([]byte, error) {
	d, err := xmldom.Parse(message, xmldom.Limits{Size: 4 << 20})
	if err != nil {
		return nil, fmt.Errorf("sign a message: %w", err)
	}
	root := d.Root()
	at := int(root.Inner)
	for c := range root.Elements() {
		if c.Is(Assertion, "Issuer") {
			at = int(c.End)
		}
		break
	}
	exc := xmldsig.Method{Exclusive: true}
	digest := sha256.Sum256(xmldsig.Canonical(root, exc))
	info := fmt.Sprintf(`><ds:CanonicalizationMethod Algorithm="%s"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="%s"></ds:SignatureMethod>`+
		`<ds:Reference URI="#%s"><ds:Transforms><ds:Transform Algorithm="%s"></ds:Transform><ds:Transform Algorithm="%s"></ds:Transform></ds:Transforms>`+
		`<ds:DigestMethod Algorithm="%s"></ds:DigestMethod><ds:DigestValue>%s</ds:DigestValue></ds:Reference></ds:SignedInfo>`,
		xmldsig.ExcC14N, rsaSHA256, root.Attr("ID"), xmldsig.Enveloped, xmldsig.ExcC14N, sha256URI, base64.StdEncoding.EncodeToString(digest[:]))
	const ns = ` xmlns:ds="` + xmldsig.Space + `"`
	value, err := s.value([]byte("<ds:SignedInfo" + ns + info))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("<ds:Signature" + ns + "><ds:SignedInfo" + info + "<ds:SignatureValue>" + base64.StdEncoding.EncodeToString(value) + "</ds:SignatureValue>")
	b.WriteString(KeyInfo(s.Certificate) + "</ds:Signature>")
	signed, err := d.Splice(xmldom.Edit{Offset: at, Insert: b.String()})
	return []byte(signed), err
}

func (s Signer) value(octets []byte) ([]byte, error) {
	sum := sha256.Sum256(octets)
	return rsa.SignPKCS1v15(rand.Reader, s.Key, crypto.SHA256, sum[:])
}

// KeyInfo names a certificate (DER).
func KeyInfo(der []byte) string {
	return `<ds:KeyInfo xmlns:ds="` + xmldsig.Space + `"><ds:X509Data><ds:X509Certificate>` + base64.StdEncoding.EncodeToString(der) +
		`</ds:X509Certificate></ds:X509Data></ds:KeyInfo>`
}

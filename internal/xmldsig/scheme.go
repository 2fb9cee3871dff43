package xmldsig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
)

const (
	more2021 = "http://www.w3.org/2021/04/xmldsig-more#"
	rsaPSS   = More07 + "rsa-pss"
)

// schemes are the signature methods by identifier. ECDSA and DSA values are
// r‖s in XML.
var schemes = func() map[string]pkix.Scheme {
	t := map[string]pkix.Scheme{
		Space + "rsa-sha1":           {Kind: pkix.RSA, Hash: crypto.SHA1},
		MoreSpace + "rsa-md5":        {Kind: pkix.RSA, Hash: crypto.MD5},
		Space + "dsa-sha1":           {Kind: pkix.DSA, Hash: crypto.SHA1, Plain: true},
		Space11 + "dsa-sha256":       {Kind: pkix.DSA, Hash: crypto.SHA256, Plain: true},
		more2021 + "eddsa-ed25519":   {Kind: pkix.Ed25519},
		more2021 + "eddsa-ed448":     {Kind: pkix.Ed448},
		MoreSpace + "rsa-ripemd160":  {Kind: pkix.RSA, Hash: crypto.RIPEMD160},
		More07 + "ecdsa-ripemd160":   {Kind: pkix.ECDSA, Hash: crypto.RIPEMD160, Plain: true},
		MoreSpace + "ecdsa-sha1":     {Kind: pkix.ECDSA, Hash: crypto.SHA1, Plain: true},
		More07 + "sha1-rsa-MGF1":     pss(crypto.SHA1),
		more2021 + "ecdsa-sha3-224":  {Kind: pkix.ECDSA, Hash: crypto.SHA3_224, Plain: true},
		more2021 + "ecdsa-sha3-256":  {Kind: pkix.ECDSA, Hash: crypto.SHA3_256, Plain: true},
		more2021 + "ecdsa-sha3-384":  {Kind: pkix.ECDSA, Hash: crypto.SHA3_384, Plain: true},
		more2021 + "ecdsa-sha3-512":  {Kind: pkix.ECDSA, Hash: crypto.SHA3_512, Plain: true},
		More07 + "sha3-224-rsa-MGF1": pss(crypto.SHA3_224),
		More07 + "sha3-256-rsa-MGF1": pss(crypto.SHA3_256),
		More07 + "sha3-384-rsa-MGF1": pss(crypto.SHA3_384),
		More07 + "sha3-512-rsa-MGF1": pss(crypto.SHA3_512),
	}
	for name, h := range map[string]crypto.Hash{"sha224": crypto.SHA224, "sha256": crypto.SHA256, "sha384": crypto.SHA384, "sha512": crypto.SHA512} {
		t[MoreSpace+"rsa-"+name] = pkix.Scheme{Kind: pkix.RSA, Hash: h}
		t[MoreSpace+"ecdsa-"+name] = pkix.Scheme{Kind: pkix.ECDSA, Hash: h, Plain: true}
		t[More07+name+"-rsa-MGF1"] = pss(h)
	}
	for uri, s := range t {
		s.OID = uri
		t[uri] = s
	}
	return t
}()

func pss(h crypto.Hash) pkix.Scheme {
	return pkix.Scheme{Kind: pkix.PSS, Hash: h, MGF: h, Salt: h.Size()}
}

// SchemeByURI is the signature method of an identifier without parameters.
func SchemeByURI(uri string) (pkix.Scheme, bool) {
	s, ok := schemes[uri]
	return s, ok
}

// schemeOf reads a SignatureMethod element.
func schemeOf(n *xmldom.Node) (pkix.Scheme, error) {
	uri := n.Attr("Algorithm")
	if uri == rsaPSS {
		return pssParams(n)
	}
	s, ok := schemes[uri]
	if !ok {
		return pkix.Scheme{OID: uri}, fmt.Errorf("%w: signature method %q", pkix.ErrUnsupported, clip(uri))
	}
	return s, nil
}

// pssParams parses the parameters of RFC 9231, section 2.3.9.
func pssParams(n *xmldom.Node) (pkix.Scheme, error) {
	s := pss(crypto.SHA256)
	s.OID = rsaPSS
	p := n.Child(More07, "RSAPSSParams")
	if d := p.Child(Space, "DigestMethod"); d != nil {
		h, ok := HashByURI(d.Attr("Algorithm"))
		if !ok {
			return s, fmt.Errorf("%w: PSS digest", pkix.ErrUnsupported)
		}
		s.Hash, s.MGF, s.Salt = h, h, h.Size()
	}
	if d := p.Child(More07, "MaskGenerationFunction").Child(Space, "DigestMethod"); d != nil {
		h, ok := HashByURI(d.Attr("Algorithm"))
		if !ok {
			return s, fmt.Errorf("%w: PSS mask generation", pkix.ErrUnsupported)
		}
		s.MGF = h
	}
	if l := p.Child(More07, "SaltLength"); l != nil {
		v, err := strconv.Atoi(strings.TrimSpace(l.Text()))
		if err != nil || v < 0 || v > 1024 {
			return s, errors.New("bad PSS salt length")
		}
		s.Salt = v
	}
	return s, nil
}

// MethodFor is the SignatureMethod identifier for a key.
func MethodFor(pub crypto.PublicKey, h crypto.Hash, usePSS bool) (string, error) {
	name := strings.ToLower(pkix.HashName(h))
	switch h {
	case crypto.SHA1, crypto.SHA224, crypto.SHA256, crypto.SHA384, crypto.SHA512:
	default:
		return "", fmt.Errorf("%w: %v", pkix.ErrUnsupported, h)
	}
	switch pub.(type) {
	case *rsa.PublicKey:
		switch {
		case usePSS:
			return More07 + name + "-rsa-MGF1", nil
		case h == crypto.SHA1:
			return Space + "rsa-sha1", nil
		}
		return MoreSpace + "rsa-" + name, nil
	case *ecdsa.PublicKey:
		return MoreSpace + "ecdsa-" + name, nil
	case ed25519.PublicKey:
		return more2021 + "eddsa-ed25519", nil
	}
	return "", fmt.Errorf("%w: key of type %T", pkix.ErrUnsupported, pub)
}

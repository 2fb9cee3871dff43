package xmldsig

import (
	"crypto/dsa" //nolint:staticcheck // old signatures are still to be read
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
)

// Certificates returns the X.509 certificates in a KeyInfo, as DER, in order.
func Certificates(keyInfo *xmldom.Node) [][]byte {
	var certs [][]byte
	for _, d := range keyInfo.Children(Space, "X509Data") {
		for _, c := range d.Children(Space, "X509Certificate") {
			if der, err := DecodeBase64(c.Text()); err == nil && len(der) > 0 {
				certs = append(certs, der)
			}
		}
	}
	return certs
}

// PublicKey is the bare key in a KeyInfo, or nil.
func PublicKey(keyInfo *xmldom.Node) (any, error) {
	if der := keyInfo.Child(Space11, "DEREncodedKeyValue"); der != nil {
		b, err := DecodeBase64(der.Text())
		if err != nil {
			return nil, err
		}
		pub, _, err := pkix.ParsePublicKey(b)
		return pub, err
	}
	for c := range keyInfo.Child(Space, "KeyValue").Elements() {
		switch {
		case c.Is(Space, "RSAKeyValue"):
			return rsaKey(c)
		case c.Is(Space, "DSAKeyValue"):
			return dsaKey(c)
		case c.Is(Space11, "ECKeyValue"):
			return ecKey(c)
		case c.Is(MoreSpace, "ECDSAKeyValue"):
			return ecKey4050(c)
		}
	}
	return nil, nil
}

// number reads a CryptoBinary.
func number(n *xmldom.Node) (*big.Int, error) {
	b, err := DecodeBase64(n.Text())
	if err != nil || len(b) == 0 || len(b) > 4096 {
		return nil, errors.New("malformed key value")
	}
	return new(big.Int).SetBytes(b), nil
}

func rsaKey(n *xmldom.Node) (any, error) {
	m, err := number(n.Child(Space, "Modulus"))
	if err != nil {
		return nil, err
	}
	e, err := number(n.Child(Space, "Exponent"))
	if err != nil || e.BitLen() > 31 {
		return nil, errors.New("malformed RSA exponent")
	}
	return &rsa.PublicKey{N: m, E: int(e.Int64())}, nil
}

func dsaKey(n *xmldom.Node) (any, error) {
	var v [4]*big.Int
	for i, name := range []string{"P", "Q", "G", "Y"} {
		var err error
		if v[i], err = number(n.Child(Space, name)); err != nil {
			return nil, err
		}
	}
	return &dsa.PublicKey{Parameters: dsa.Parameters{P: v[0], Q: v[1], G: v[2]}, Y: v[3]}, nil
}

func curve(n *xmldom.Node, attr string) (elliptic.Curve, error) {
	if n == nil {
		return nil, errors.New("EC key without named curve")
	}
	oid, ok := strings.CutPrefix(n.Attr(attr), "urn:oid:")
	c, known := pkix.CurveOf(oid)
	if !ok || !known {
		return nil, fmt.Errorf("%w: curve %q", pkix.ErrUnsupported, clip(n.Attr(attr)))
	}
	return c, nil
}

func ecKey(n *xmldom.Node) (any, error) {
	c, err := curve(n.Child(Space11, "NamedCurve"), "URI")
	if err != nil {
		return nil, err
	}
	b, err := DecodeBase64(n.Child(Space11, "PublicKey").Text())
	if err != nil {
		return nil, err
	}
	return ecPoint(c, b)
}

// ecPoint makes a key from an encoded point. Brainpool curves require coordinates.
func ecPoint(c elliptic.Curve, point []byte) (any, error) {
	x, y, ok := pkix.ParsePoint(c, point)
	if !ok {
		return nil, errors.New("EC point is not on its curve")
	}
	return &ecdsa.PublicKey{Curve: c, X: x, Y: y}, nil //nolint:staticcheck // see above
}

// ecKey4050 parses the older form of RFC 4050, with decimal coordinates.
func ecKey4050(n *xmldom.Node) (any, error) {
	c, err := curve(n.Find(MoreSpace, "DomainParameters", "NamedCurve"), "URN")
	if err != nil {
		return nil, err
	}
	p := n.Child(MoreSpace, "PublicKey")
	var xy [2]*big.Int
	for i, name := range []string{"X", "Y"} {
		v := ""
		if e := p.Child(MoreSpace, name); e != nil {
			v = e.Attr("Value")
		}
		if len(v) > 400 {
			return nil, errors.New("malformed EC point")
		}
		var ok bool
		if xy[i], ok = new(big.Int).SetString(v, 10); !ok || xy[i].Sign() < 0 {
			return nil, errors.New("malformed EC point")
		}
	}
	size := (c.Params().BitSize + 7) / 8
	if max(xy[0].BitLen(), xy[1].BitLen()) > 8*size {
		return nil, errors.New("malformed EC point")
	}
	point := append([]byte{4}, xy[0].FillBytes(make([]byte, size))...)
	return ecPoint(c, append(point, xy[1].FillBytes(make([]byte, size))...))
}

package keyfile

import (
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"unicode/utf16"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// maxNesting bounds nested bags, maxBags the number of keys and certificates.
const (
	maxNesting = 4
	maxBags    = 1000
)

// bags reads a SafeContents.
func (r *reader) bags(b []byte, depth int) error {
	s, err := der(b)
	if err != nil {
		return err
	}
	var list cryptobyte.String
	if depth > maxNesting || !s.ReadASN1(&list, cbasn1.SEQUENCE) {
		return errShape
	}
	for !list.Empty() {
		var bag, value, attrs cryptobyte.String
		var kind asn1.ObjectIdentifier
		if !list.ReadASN1(&bag, cbasn1.SEQUENCE) || !bag.ReadASN1ObjectIdentifier(&kind) || !bag.ReadASN1(&value, context(0)) {
			return errShape
		}
		if !bag.Empty() && !bag.ReadASN1(&attrs, cbasn1.SET) {
			return errShape
		}
		if len(r.keys)+len(r.certs) > maxBags {
			return fmt.Errorf("more than %d keys and certificates", maxBags)
		}
		if err := r.bag(kind, value, friendlyName(attrs), depth); err != nil {
			return err
		}
	}
	return nil
}

// bag reads one bag; CRLs and other secrets are ignored.
func (r *reader) bag(kind asn1.ObjectIdentifier, value cryptobyte.String, name string, depth int) error {
	switch {
	case kind.Equal(oidKeyBag):
		return r.key(value, name)
	case kind.Equal(oidShroudedBag):
		return r.shrouded(value, name)
	case kind.Equal(oidCertBag):
		return r.certificate(value)
	case kind.Equal(oidNestedBag):
		return r.bags(value, depth+1)
	}
	return nil
}

// shrouded opens an EncryptedPrivateKeyInfo.
func (r *reader) shrouded(s cryptobyte.String, name string) error {
	var info, alg, sealed cryptobyte.String
	if !s.ReadASN1(&info, cbasn1.SEQUENCE) || !info.ReadASN1(&alg, cbasn1.SEQUENCE) || !info.ReadASN1(&sealed, cbasn1.OCTET_STRING) {
		return errShape
	}
	return r.decrypt(alg, sealed, func(b []byte) error { return r.key(b, name) })
}

func (r *reader) key(b []byte, name string) error {
	d, err := der(b)
	if err != nil {
		return err
	}
	k, err := x509.ParsePKCS8PrivateKey(d)
	if err != nil {
		if alg := keyAlgorithm(d); alg != "" {
			return fmt.Errorf("private key of the algorithm %s: %w", alg, err)
		}
		return fmt.Errorf("private key: %w", err)
	}
	signer, ok := k.(crypto.Signer)
	if !ok {
		return fmt.Errorf("a private key of type %T cannot sign", k)
	}
	r.keys = append(r.keys, key{signer, name})
	return nil
}

// keyAlgorithm names the algorithm of a PrivateKeyInfo, or returns "".
func keyAlgorithm(s cryptobyte.String) string {
	var info, alg cryptobyte.String
	var version int
	var id, curve asn1.ObjectIdentifier
	if !s.ReadASN1(&info, cbasn1.SEQUENCE) || !info.ReadASN1Integer(&version) || !info.ReadASN1(&alg, cbasn1.SEQUENCE) || !alg.ReadASN1ObjectIdentifier(&id) {
		return ""
	}
	if alg.ReadASN1ObjectIdentifier(&curve) {
		return nameOf(id) + " with the curve " + nameOf(curve)
	}
	return nameOf(id)
}

// certificate reads one certificate; invalid ones and other kinds are ignored.
func (r *reader) certificate(value cryptobyte.String) error {
	var bag, wrapped, octets cryptobyte.String
	var kind asn1.ObjectIdentifier
	if !value.ReadASN1(&bag, cbasn1.SEQUENCE) || !bag.ReadASN1ObjectIdentifier(&kind) {
		return errShape
	}
	if !kind.Equal(oidX509Certificate) {
		return nil
	}
	if !bag.ReadASN1(&wrapped, context(0)) || !wrapped.ReadASN1(&octets, cbasn1.OCTET_STRING) {
		return errShape
	}
	if c, err := x509.ParseCertificate(octets); err == nil {
		r.certs = append(r.certs, c)
	}
	return nil
}

// friendlyName is the name of the key for display, or "".
func friendlyName(attrs cryptobyte.String) string {
	for !attrs.Empty() {
		var attr, values, text cryptobyte.String
		var id asn1.ObjectIdentifier
		if !attrs.ReadASN1(&attr, cbasn1.SEQUENCE) || !attr.ReadASN1ObjectIdentifier(&id) || !attr.ReadASN1(&values, cbasn1.SET) {
			return ""
		}
		if !id.Equal(oidFriendlyName) || !values.ReadASN1(&text, cbasn1.Tag(30)) { // BMPString
			continue
		}
		units := make([]uint16, 0, len(text)/2)
		for i := 0; i+1 < len(text); i += 2 {
			units = append(units, uint16(text[i])<<8|uint16(text[i+1]))
		}
		return string(utf16.Decode(units))
	}
	return ""
}

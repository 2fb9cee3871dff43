package keyfile

import (
	"crypto"
	"crypto/hmac"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"unicode/utf16"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/cms"
)

// reader collects what is in a file.
type reader struct {
	passwords []secret // forms of the password not yet known to be wrong
	verified  bool     // by the MAC
	spent     int      // iterations
	keys      []key
	certs     []*x509.Certificate
}

type key struct {
	signer crypto.Signer
	name   string
}

func (k *key) label() string {
	if k.name == "" {
		return "one without a name"
	}
	return fmt.Sprintf("%.60q", k.name)
}

var errShape = errors.New("it is not as RFC 7292 has it")

var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidEnvelopedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 3}
	oidEncryptedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 6}

	oidKeyBag      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 1}
	oidShroudedBag = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 2}
	oidCertBag     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 3}
	oidNestedBag   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 6}

	oidX509Certificate = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 22, 1}
	oidPBMAC1          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 14}
	oidFriendlyName    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 20}
)

// context is the tag of a constructed, context-specific element.
func context(n uint8) cbasn1.Tag { return cbasn1.Tag(n).ContextSpecific().Constructed() }

// der gives bytes that may be BER as DER.
func der(b []byte) (cryptobyte.String, error) {
	e, _, err := cms.ReadElement(b)
	if err != nil {
		return nil, err
	}
	d, err := cms.DER(e.Raw)
	return d, err
}

// open reads the whole file.
func (r *reader) open(raw []byte, password string) error {
	s, err := der(raw)
	if err != nil {
		return err
	}
	var pfx, safe, mac cryptobyte.String
	var version int
	if !s.ReadASN1(&pfx, cbasn1.SEQUENCE) || !pfx.ReadASN1Integer(&version) || version != 3 || !pfx.ReadASN1(&safe, cbasn1.SEQUENCE) {
		return errShape
	}
	kind, content, err := contentInfo(safe)
	if err != nil {
		return err
	}
	if kind.Equal(oidSignedData) {
		return errors.New("it is protected by a public key (SignedData), not by a password")
	}
	var octets cryptobyte.String
	if !kind.Equal(oidData) || !content.ReadASN1(&octets, cbasn1.OCTET_STRING) {
		return errShape
	}
	r.passwords = secrets(password)
	if !pfx.Empty() {
		if !pfx.ReadASN1(&mac, cbasn1.SEQUENCE) {
			return errShape
		}
		if err := r.checkMAC(mac, octets); err != nil {
			return err
		}
	}
	return r.authenticatedSafe(octets)
}

func contentInfo(s cryptobyte.String) (kind asn1.ObjectIdentifier, content cryptobyte.String, err error) {
	if !s.ReadASN1ObjectIdentifier(&kind) || !s.ReadASN1(&content, context(0)) {
		return nil, nil, errShape
	}
	return kind, content, nil
}

// secret is a password in the two forms that derivations take.
type secret struct {
	bmp  []byte // for PKCS#12's own, with its end
	text []byte // for PBKDF2
}

// secrets are the forms in which producers encode a password. An empty one is nothing for some and
// a string terminator for others; NSS used the form of PKCS#12 for PBES2 too.
func secrets(password string) []secret {
	bmp := bmpString(password)
	list := []secret{{append(bmp, 0, 0), []byte(password)}}
	if password == "" {
		return append(list, secret{nil, nil})
	}
	return append(list, secret{append(bmp, 0, 0), append(bmp, 0, 0)}, secret{append(bmp, 0, 0), bmp})
}

func bmpString(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u>>8), byte(u))
	}
	return b[:len(b):len(b)]
}

// checkMAC keeps the forms of the password that match the MAC.
func (r *reader) checkMAC(s cryptobyte.String, content []byte) error {
	var info, alg, digest, salt cryptobyte.String
	if !s.ReadASN1(&info, cbasn1.SEQUENCE) || !info.ReadASN1(&alg, cbasn1.SEQUENCE) || !info.ReadASN1(&digest, cbasn1.OCTET_STRING) || !s.ReadASN1(&salt, cbasn1.OCTET_STRING) {
		return errShape
	}
	iterations := 1
	if !s.Empty() && !s.ReadASN1Integer(&iterations) {
		return errShape
	}
	a, err := algorithm(alg)
	if err != nil {
		return err
	}
	var right []secret
	agrees := map[string]bool{}
	for _, pw := range r.passwords {
		form := string(pw.bmp)
		if a.id.Equal(oidPBMAC1) {
			form = string(pw.text)
		}
		known, done := agrees[form]
		if !done {
			sum, err := r.mac(a, pw, derivation{salt: salt, iterations: iterations}, content)
			if err != nil {
				return err
			}
			known = hmac.Equal(sum, digest)
			agrees[form] = known
		}
		if known {
			right = append(right, pw)
		}
	}
	if len(right) == 0 {
		return ErrPassword
	}
	r.passwords, r.verified = right, true
	return nil
}

// authenticatedSafe reads all safes.
func (r *reader) authenticatedSafe(b []byte) error {
	s, err := der(b)
	if err != nil {
		return err
	}
	var safes cryptobyte.String
	if !s.ReadASN1(&safes, cbasn1.SEQUENCE) {
		return errShape
	}
	for !safes.Empty() {
		var one cryptobyte.String
		if !safes.ReadASN1(&one, cbasn1.SEQUENCE) {
			return errShape
		}
		if err := r.safe(one); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) safe(s cryptobyte.String) error {
	kind, content, err := contentInfo(s)
	if err != nil {
		return err
	}
	switch {
	case kind.Equal(oidData):
		var octets cryptobyte.String
		if !content.ReadASN1(&octets, cbasn1.OCTET_STRING) {
			return errShape
		}
		return r.bags(octets, 0)
	case kind.Equal(oidEncryptedData):
		return r.encryptedSafe(content)
	case kind.Equal(oidEnvelopedData):
		return errors.New("a part of it is encrypted to a public key (EnvelopedData), not under a password")
	}
	return errShape
}

func (r *reader) encryptedSafe(content cryptobyte.String) error {
	var data, info, alg cryptobyte.String
	var version int
	var kind asn1.ObjectIdentifier
	if !content.ReadASN1(&data, cbasn1.SEQUENCE) || !data.ReadASN1Integer(&version) || !data.ReadASN1(&info, cbasn1.SEQUENCE) ||
		!info.ReadASN1ObjectIdentifier(&kind) || !info.ReadASN1(&alg, cbasn1.SEQUENCE) {
		return errShape
	}
	sealed, err := implicitOctets(info)
	if err != nil {
		return err
	}
	return r.decrypt(alg, sealed, func(b []byte) error { return r.bags(b, 0) })
}

// implicitOctets is [0] IMPLICIT OCTET STRING, in one piece or, in BER, in
// several.
func implicitOctets(s cryptobyte.String) ([]byte, error) {
	var b cryptobyte.String
	var tag cbasn1.Tag
	if !s.ReadAnyASN1(&b, &tag) {
		return nil, errShape
	}
	switch tag {
	case cbasn1.Tag(0).ContextSpecific():
		return b, nil
	case context(0):
		var whole []byte
		for !b.Empty() {
			var piece cryptobyte.String
			if !b.ReadASN1(&piece, cbasn1.OCTET_STRING) {
				return nil, errShape
			}
			whole = append(whole, piece...)
		}
		return whole, nil
	}
	return nil, errShape
}

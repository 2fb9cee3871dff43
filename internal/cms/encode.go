package cms

import (
	"crypto"
	"crypto/x509"
	"errors"
	"math/big"
	"time"

	"golang.org/x/crypto/cryptobyte"

	"rogito.dev/rogito/internal/oid"
)

// EncodeInteger writes an INTEGER.
func EncodeInteger(v *big.Int) []byte {
	var b cryptobyte.Builder
	b.AddASN1BigInt(v)
	return b.BytesOrPanic()
}

// EncodeTime writes UTCTime up to 2049 and GeneralizedTime from 2050 on, as RFC 5652, 11.3
// requires.
func EncodeTime(t time.Time) ([]byte, error) {
	var b cryptobyte.Builder
	t = t.UTC().Truncate(time.Second)
	if y := t.Year(); y >= 1950 && y < 2050 {
		b.AddASN1UTCTime(t)
	} else {
		b.AddASN1GeneralizedTime(t)
	}
	return b.Bytes()
}

var timeLayouts = map[byte][]string{
	0x17: {"060102150405Z", "0601021504Z", "060102150405-0700", "0601021504-0700"},
	0x18: {"20060102150405Z", "20060102150405.999999999Z", "200601021504Z", "20060102150405-0700", "20060102150405"},
}

// ParseTime parses a UTCTime or GeneralizedTime, including BER forms.
func ParseTime(raw []byte) (time.Time, error) {
	e, _, err := ReadElement(raw)
	if err != nil {
		return time.Time{}, err
	}
	for _, layout := range timeLayouts[e.Tag] {
		t, err := time.Parse(layout, string(e.Body))
		if err != nil {
			continue
		}
		if e.Tag == 0x17 && t.Year() >= 2050 {
			t = t.AddDate(-100, 0, 0)
		}
		return t.UTC(), nil
	}
	return time.Time{}, errors.New("bad time")
}

// SigningCertificateV2 is RFC 5035's reference to a certificate; SHA-256 is the default and
// omitted.
func SigningCertificateV2(cert *x509.Certificate, h crypto.Hash) []byte {
	var id [][]byte
	if h != crypto.SHA256 {
		id = append(id, DigestAlgorithm(h))
	}
	id = append(id, TLV(TagOctetString, oid.Sum(h, cert.Raw)))
	issuer := TLV(TagSequence, TLV(0xa4, cert.RawIssuer))
	id = append(id, TLV(TagSequence, issuer, EncodeInteger(cert.SerialNumber)))
	return TLV(TagSequence, TLV(TagSequence, TLV(TagSequence, id...)))
}

package ca

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// CertID names a certificate in OCSP.
type CertID struct {
	Hash              crypto.Hash
	NameHash, KeyHash []byte
	Serial            *big.Int
	raw               []byte
}

// OCSPRequest is a request of RFC 6960, as far as a responder needs it.
type OCSPRequest struct {
	Certificates []CertID
	Nonce        []byte // content of the extension; nil when absent
}

var errOCSPRequest = errors.New("ca: malformed OCSP request")

// ParseOCSPRequest reads an OCSPRequest; a signature on it is ignored.
func ParseOCSPRequest(der []byte) (*OCSPRequest, error) {
	in := cryptobyte.String(der)
	var outer, tbs, list cryptobyte.String
	if !in.ReadASN1(&outer, cbasn1.SEQUENCE) || !outer.ReadASN1(&tbs, cbasn1.SEQUENCE) ||
		!tbs.SkipOptionalASN1(context(0)) || !tbs.SkipOptionalASN1(context(1)) || !tbs.ReadASN1(&list, cbasn1.SEQUENCE) {
		return nil, errOCSPRequest
	}
	req := &OCSPRequest{}
	for !list.Empty() {
		var one, id cryptobyte.String
		if !list.ReadASN1(&one, cbasn1.SEQUENCE) || !one.ReadASN1Element(&id, cbasn1.SEQUENCE) {
			return nil, errOCSPRequest
		}
		c, err := parseCertID(id)
		if err != nil {
			return nil, err
		}
		req.Certificates = append(req.Certificates, c)
	}
	if len(req.Certificates) == 0 || len(req.Certificates) > 64 {
		return nil, errOCSPRequest
	}
	return req, req.extensions(tbs)
}

func context(n uint8) cbasn1.Tag { return cbasn1.Tag(n).ContextSpecific().Constructed() }

func parseCertID(raw cryptobyte.String) (CertID, error) {
	c := CertID{raw: bytes.Clone(raw)}
	var id, alg, name, key cryptobyte.String
	serial := new(big.Int)
	if !raw.ReadASN1(&id, cbasn1.SEQUENCE) || !id.ReadASN1(&alg, cbasn1.SEQUENCE) ||
		!id.ReadASN1(&name, cbasn1.OCTET_STRING) || !id.ReadASN1(&key, cbasn1.OCTET_STRING) || !id.ReadASN1Integer(serial) {
		return c, errOCSPRequest
	}
	dotted, ok := oid.Read(&alg)
	if !ok {
		return c, errOCSPRequest
	}
	c.Hash, _ = oid.Hash(dotted)
	c.NameHash, c.KeyHash, c.Serial = name, key, serial
	return c, nil
}

func (r *OCSPRequest) extensions(tbs cryptobyte.String) error {
	var wrapped, list cryptobyte.String
	var present bool
	if !tbs.ReadOptionalASN1(&wrapped, &present, context(2)) {
		return errOCSPRequest
	}
	if !present {
		return nil
	}
	if !wrapped.ReadASN1(&list, cbasn1.SEQUENCE) {
		return errOCSPRequest
	}
	for !list.Empty() {
		var ext, value cryptobyte.String
		if !list.ReadASN1(&ext, cbasn1.SEQUENCE) {
			return errOCSPRequest
		}
		id, ok := oid.Read(&ext)
		if !ok || !ext.SkipOptionalASN1(cbasn1.BOOLEAN) || !ext.ReadASN1(&value, cbasn1.OCTET_STRING) {
			return errOCSPRequest
		}
		if id == oid.OCSPNonce {
			r.Nonce = bytes.Clone(value)
		}
	}
	return nil
}

// Matches reports whether the id is about a certificate of this issuer.
func (c CertID) Matches(issuer *x509.Certificate) bool {
	if !c.Hash.Available() {
		return false
	}
	return bytes.Equal(oid.Sum(c.Hash, issuer.RawSubject), c.NameHash) &&
		bytes.Equal(oid.Sum(c.Hash, keyBits(issuer.RawSubjectPublicKeyInfo)), c.KeyHash)
}

// CertIDOf is the identifier of an issuer's certificate with a serial number.
func CertIDOf(issuer *x509.Certificate, serial *big.Int, h crypto.Hash) CertID {
	c := CertID{Hash: h, NameHash: oid.Sum(h, issuer.RawSubject), KeyHash: oid.Sum(h, keyBits(issuer.RawSubjectPublicKeyInfo)), Serial: serial}
	alg := cms.TLV(cms.TagSequence, cms.TLV(cms.TagOID, oid.Content(oid.OfHash(h))), []byte{cms.TagNull, 0})
	c.raw = cms.TLV(cms.TagSequence, alg, cms.TLV(cms.TagOctetString, c.NameHash),
		cms.TLV(cms.TagOctetString, c.KeyHash), cms.EncodeInteger(serial))
	return c
}

// Encode writes a request for one certificate, with a nonce if there is one.
func (c CertID) Encode(nonce []byte) []byte {
	list := cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, c.raw))
	if nonce == nil {
		return cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, list))
	}
	return cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, list, cms.TLV(0xa2, nonceExtension(cms.TLV(cms.TagOctetString, nonce)))))
}

func nonceExtension(content []byte) []byte {
	ext := cms.TLV(cms.TagSequence, cms.TLV(cms.TagOID, oid.Content(oid.OCSPNonce)), cms.TLV(cms.TagOctetString, content))
	return cms.TLV(cms.TagSequence, ext)
}

// Status is what is known of a certificate. The zero value means good.
type Status struct {
	Unknown   bool
	RevokedAt time.Time // zero when not revoked
	Reason    int
}

// OCSP says when an answer holds.
type OCSP struct {
	ThisUpdate, NextUpdate time.Time // NextUpdate may be zero
	ProducedAt             time.Time
	// ArchiveCutoff is how far back revocation is remembered; zero leaves it out.
	ArchiveCutoff time.Time
}

// Unsuccessful is an OCSPResponse without an answer: 1 malformedRequest,
// 2 internalError, 3 tryLater, 5 sigRequired, 6 unauthorized.
func Unsuccessful(status byte) []byte { return []byte{0x30, 3, 0x0a, 1, status} }

// Answer signs the answer to a request. It is signed by the responder, whose
// certificate goes with it.
func (i Issuer) Answer(req *OCSPRequest, times OCSP, status func(CertID) Status) ([]byte, error) {
	hash := signatureHash(i.Key.Public())
	alg, err := cms.SignatureAlgorithm(i.Key.Public(), hash, false)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	tbs, err := i.responseData(req, times, status)
	if err != nil {
		return nil, fmt.Errorf("ca: encode OCSP answer: %w", err)
	}
	value, err := sign(i.Key, hash, tbs)
	if err != nil {
		return nil, fmt.Errorf("ca: sign OCSP answer: %w", err)
	}
	certs := cms.TLV(0xa0, cms.TLV(cms.TagSequence, i.Certificate.Raw))
	basic := cms.TLV(cms.TagSequence, tbs, alg, cms.TLV(cms.TagBitString, []byte{0}, value), certs)
	return pkix.WrapBasicOCSP(basic), nil
}

func sign(key crypto.Signer, hash crypto.Hash, message []byte) ([]byte, error) {
	if hash == 0 {
		return key.Sign(rand.Reader, message, hash)
	}
	return key.Sign(rand.Reader, oid.Sum(hash, message), hash)
}

func (i Issuer) responseData(req *OCSPRequest, times OCSP, status func(CertID) Status) ([]byte, error) {
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(context(2), func(b *cryptobyte.Builder) { b.AddASN1OctetString(keyHash(i.Certificate.RawSubjectPublicKeyInfo)) })
		b.AddASN1GeneralizedTime(times.ProducedAt.UTC().Truncate(time.Second))
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			for _, c := range req.Certificates {
				times.single(b, c, status(c))
			}
		})
		if req.Nonce != nil {
			b.AddASN1(context(1), func(b *cryptobyte.Builder) { b.AddBytes(nonceExtension(req.Nonce)) })
		}
	})
	return b.Bytes()
}

func (o OCSP) single(b *cryptobyte.Builder, c CertID, s Status) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(c.raw)
		switch {
		case s.Unknown:
			b.AddBytes([]byte{0x82, 0})
		case !s.RevokedAt.IsZero():
			b.AddASN1(context(1), func(b *cryptobyte.Builder) {
				b.AddASN1GeneralizedTime(s.RevokedAt.UTC().Truncate(time.Second))
				b.AddASN1(context(0), func(b *cryptobyte.Builder) { b.AddBytes([]byte{0x0a, 1, byte(s.Reason)}) })
			})
		default:
			b.AddBytes([]byte{0x80, 0})
		}
		b.AddASN1GeneralizedTime(o.ThisUpdate.UTC().Truncate(time.Second))
		if !o.NextUpdate.IsZero() {
			b.AddASN1(context(0), func(b *cryptobyte.Builder) { b.AddASN1GeneralizedTime(o.NextUpdate.UTC().Truncate(time.Second)) })
		}
		if !o.ArchiveCutoff.IsZero() {
			b.AddASN1(context(1), func(b *cryptobyte.Builder) { b.AddBytes(o.cutoff()) })
		}
	})
}

func (o OCSP) cutoff() []byte {
	var t cryptobyte.Builder
	t.AddASN1GeneralizedTime(o.ArchiveCutoff.UTC().Truncate(time.Second))
	ext := cms.TLV(cms.TagSequence, cms.TLV(cms.TagOID, oid.Content(oid.OCSPArchiveCutoff)), cms.TLV(cms.TagOctetString, t.BytesOrPanic()))
	return cms.TLV(cms.TagSequence, ext)
}

// Package ca issues certificates (RFC 5280, EN 319 412), OCSP answers
// (RFC 6960) and revocation lists. It stores nothing and reads no clock: who
// was issued what, and what was revoked, is its caller's to know.
package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/oid"
)

// Issuer is a certificate with its key: an authority, an OCSP responder.
type Issuer struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// Request is what every certificate has.
type Request struct {
	Subject   Name
	PublicKey crypto.PublicKey
	// Serial number; nil means a random one of 127 bits.
	Serial              *big.Int
	NotBefore, NotAfter time.Time
	// Addresses to be named; empty ones are left out.
	OCSP, IssuerCertificate, CRL string
	Policies                     []string // dotted
	CPS                          string   // address of the practice statement, with the first policy
	// Usage overrides the key usage of the kind of certificate.
	Usage x509.KeyUsage
}

// NewKey makes a key: "RSA-2048", "RSA-3072", "RSA-4096", "P-256", "P-384",
// "P-521" or "Ed25519".
func NewKey(kind string) (crypto.Signer, error) {
	if bits, ok := strings.CutPrefix(kind, "RSA-"); ok {
		n, err := strconv.Atoi(bits)
		if err != nil || n < 2048 || n > 8192 {
			return nil, fmt.Errorf("ca: key kind %q not known", kind)
		}
		return rsa.GenerateKey(rand.Reader, n)
	}
	curves := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}
	if c, ok := curves[kind]; ok {
		return ecdsa.GenerateKey(c, rand.Reader)
	}
	if kind == "Ed25519" {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("ca: key kind %q not known", kind)
}

// Root issues a self-signed certificate of an authority.
func Root(r Request, key crypto.Signer) (*x509.Certificate, error) {
	r.PublicKey = key.Public()
	t, err := r.authority(-1)
	if err != nil {
		return nil, err
	}
	return create(t, t, key, r.PublicKey)
}

// Authority issues the certificate of an authority below this one.
func (i Issuer) Authority(r Request, pathLen int) (*x509.Certificate, error) {
	t, err := r.authority(pathLen)
	if err != nil {
		return nil, err
	}
	return create(t, i.Certificate, i.Key, r.PublicKey)
}

func (r Request) authority(pathLen int) (*x509.Certificate, error) {
	t, err := r.template(x509.KeyUsageCertSign | x509.KeyUsageCRLSign)
	if err != nil {
		return nil, err
	}
	t.IsCA, t.BasicConstraintsValid = true, true
	t.MaxPathLen, t.MaxPathLenZero = pathLen, pathLen == 0
	return t, nil
}

// Signer issues the certificate of a person or of a legal person's seal. The
// key usage is non-repudiation alone, as AgID's rules and EN 319 412-2 ask
// for. The statements make it qualified; nil for none.
func (i Issuer) Signer(r Request, q *Statements) (*x509.Certificate, error) {
	t, err := r.template(x509.KeyUsageContentCommitment)
	if err != nil {
		return nil, err
	}
	if q != nil {
		t.ExtraExtensions = append(t.ExtraExtensions, q.extension())
	}
	return create(t, i.Certificate, i.Key, r.PublicKey)
}

// Responder issues the certificate of an OCSP responder (RFC 6960, 4.2.2.2),
// which is not itself to be checked for revocation.
func (i Issuer) Responder(r Request) (*x509.Certificate, error) {
	t, err := r.template(x509.KeyUsageDigitalSignature)
	if err != nil {
		return nil, err
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}
	t.ExtraExtensions = append(t.ExtraExtensions, extension(oid.OCSPNoCheck, false, []byte{5, 0}))
	return create(t, i.Certificate, i.Key, r.PublicKey)
}

// TimestampUnit issues the certificate of a time-stamping unit: its extended
// key usage is critical and alone (RFC 3161, 2.3).
func (i Issuer) TimestampUnit(r Request) (*x509.Certificate, error) {
	t, err := r.template(x509.KeyUsageDigitalSignature)
	if err != nil {
		return nil, err
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { oid.Add(b, oid.UsageTimeStamping) })
	t.ExtraExtensions = append(t.ExtraExtensions, extension(oid.ExtExtendedKeyUsage, true, b.BytesOrPanic()))
	return create(t, i.Certificate, i.Key, r.PublicKey)
}

func (r Request) template(usage x509.KeyUsage) (*x509.Certificate, error) {
	if r.NotBefore.IsZero() || !r.NotAfter.After(r.NotBefore) {
		return nil, errors.New("ca: no period of validity")
	}
	subject, err := r.Subject.Encode()
	if err != nil {
		return nil, err
	}
	serial := r.Serial
	if serial == nil {
		if serial, err = RandomSerial(); err != nil {
			return nil, err
		}
	}
	keyID, err := keyIdentifier(r.PublicKey)
	if err != nil {
		return nil, err
	}
	if r.Usage != 0 {
		usage = r.Usage
	}
	t := &x509.Certificate{
		SerialNumber: serial, RawSubject: subject, NotBefore: r.NotBefore, NotAfter: r.NotAfter,
		KeyUsage: usage, SubjectKeyId: keyID,
		OCSPServer: nonEmpty(r.OCSP), IssuingCertificateURL: nonEmpty(r.IssuerCertificate),
		CRLDistributionPoints: nonEmpty(r.CRL),
	}
	if len(r.Policies) > 0 {
		t.ExtraExtensions = append(t.ExtraExtensions, policies(r.Policies, r.CPS))
	}
	return t, nil
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// RandomSerial is a positive serial number that cannot be guessed.
func RandomSerial() (*big.Int, error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	b[0] = b[0]&0x7f | 0x40
	return new(big.Int).SetBytes(b), nil
}

// keyIdentifier is method 1 of RFC 5280, 4.2.1.2. SHA-1 names here, it does
// not protect.
func keyIdentifier(pub crypto.PublicKey) ([]byte, error) {
	spki, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, fmt.Errorf("ca: public key: %w", err)
	}
	return keyHash(spki), nil
}

// keyHash is the SHA-1 of the key bits inside a SubjectPublicKeyInfo.
func keyHash(spki []byte) []byte {
	sum := sha1.Sum(keyBits(spki))
	return sum[:]
}

func keyBits(spki []byte) []byte {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(spki, &info); err != nil {
		return nil
	}
	return info.Key.Bytes
}

func create(t, parent *x509.Certificate, key crypto.Signer, pub crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, pub, key)
	if err != nil {
		return nil, fmt.Errorf("ca: issue certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

func extension(id string, critical bool, value []byte) pkix.Extension {
	var out asn1.ObjectIdentifier
	for part := range strings.SplitSeq(id, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			panic("ca: " + id)
		}
		out = append(out, n)
	}
	return pkix.Extension{Id: out, Critical: critical, Value: value}
}

func policies(ids []string, cps string) pkix.Extension {
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		for n, id := range ids {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				oid.Add(b, id)
				if n == 0 && cps != "" {
					addCPS(b, cps)
				}
			})
		}
	})
	return extension(oid.ExtPolicies, false, b.BytesOrPanic())
}

func addCPS(b *cryptobyte.Builder, cps string) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			oid.Add(b, oid.PolicyCPS)
			b.AddASN1(cbasn1.IA5String, func(b *cryptobyte.Builder) { b.AddBytes([]byte(cps)) })
		})
	})
}

package pkix

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/memo"
)

// KeyUsage is the bit string of RFC 5280 section 4.2.1.3, first bit lowest.
type KeyUsage uint16

const (
	DigitalSignature KeyUsage = 1 << iota
	NonRepudiation
	KeyEncipherment
	DataEncipherment
	KeyAgreement
	KeyCertSign
	CRLSign
	EncipherOnly
	DecipherOnly
)

// EKUOCSPSigning is the extended key usage of OCSP responders.
const EKUOCSPSigning = "1.3.6.1.5.5.7.3.9"

// Extension is an unparsed certificate or CRL extension.
type Extension struct {
	OID      string
	Critical bool
	Value    []byte // content of the OCTET STRING
}

// BasicConstraints of RFC 5280 section 4.2.1.9.
type BasicConstraints struct {
	IsCA       bool
	MaxPathLen int // -1 if there is no limit
}

// Certificate is an X.509 certificate as found, maybe malformed.
type Certificate struct {
	Raw, RawSubject, RawIssuer, RawSPKI []byte
	signed

	Version         int
	SerialNumber    *big.Int
	Subject, Issuer Name
	NotBefore       time.Time
	NotAfter        time.Time
	// PublicKey is nil if the key is not supported; KeyError says why.
	PublicKey    any
	KeyAlgorithm AlgorithmIdentifier
	KeyError     error

	SubjectKeyID, AuthorityKeyID []byte
	KeyUsage                     KeyUsage // 0 with HasKeyUsage false: not restricted
	HasKeyUsage                  bool
	ExtKeyUsage                  []string // dotted
	ExtKeyUsageCritical          bool
	BasicConstraints             *BasicConstraints
	Policies                     []string // dotted
	PolicyMappings               []PolicyMapping
	PolicyConstraints            *PolicyConstraints
	InhibitAnyPolicy             int // -1 if absent
	NameConstraints              *NameConstraints
	SubjectAltNames              []GeneralName
	OCSPServers, IssuerURLs      []string
	CRLDistributionPoints        []DistributionPoint
	QcStatements                 *QcStatements
	OCSPNoCheck                  bool
	Extensions                   []Extension
	// BadExtensions could not be parsed; a critical one makes the certificate useless in a path.
	BadExtensions []string

	id, subjectKey, issuerKey string
	algorithmMismatch         bool
	selfSigned                func() bool
}

// parsed caches certificates by their bytes: documents have the same issuers and time-stamping
// units. Certificates are never changed after parsing, so they can be shared.
var parsed = memo.Memo[string, *Certificate]{Most: 2048}

// maxCertificate bounds what is compared with each of many others. The largest that are met have a
// signature of SLH-DSA, of 50 KB.
const maxCertificate = 256 << 10

// ParseCertificate parses a certificate, tolerating what it does not understand. The result is
// shared between callers and must not be changed.
func ParseCertificate(der []byte) (*Certificate, error) {
	if len(der) > maxCertificate {
		return nil, &ades.MalformedError{Format: "X.509", Where: "Certificate", Err: fmt.Errorf("it has more than %d bytes", maxCertificate)}
	}
	if c, ok := parsed.Get(string(der)); ok {
		return c, nil
	}
	c := &Certificate{InhibitAnyPolicy: -1}
	// Clone, so as not to retain the document that contains the certificate, which may be large.
	if err := c.parse(bytes.Clone(der)); err != nil {
		return nil, &ades.MalformedError{Format: "X.509", Where: "Certificate", Err: err}
	}
	c.id = ades.FactID(c.Raw)
	c.subjectKey, c.issuerKey = c.Subject.Canonical(), c.Issuer.Canonical()
	c.selfSigned = sync.OnceValue(func() bool {
		return c.subjectKey == c.issuerKey && c.CheckSignatureFrom(c) == nil
	})
	if len(c.Raw) <= 16<<10 {
		parsed.Put(string(c.Raw), c, 0)
	}
	return c, nil
}

func (c *Certificate) parse(der []byte) error {
	r := reader(der)
	whole, ok := r.take(tagSequence)
	if !ok {
		return errDER
	}
	if len(bytes.Trim(r, "\x00\r\n ")) > 0 {
		return errors.New("data after the certificate")
	}
	c.Raw = whole.full
	in := reader(whole.body)
	tbs, err := c.signed.read(&in)
	if err != nil {
		return err
	}
	return c.parseTBS(tbs)
}

// signed is the outer structure of certificates, CRLs and OCSP responses: the signed part, the
// algorithm and the value (RFC 5280, 4.1.1).
type signed struct {
	RawTBS             []byte
	SignatureAlgorithm AlgorithmIdentifier
	Signature          []byte
}

// read returns the content of the signed part.
func (s *signed) read(in *reader) (body []byte, err error) {
	tbs, ok := in.take(tagSequence)
	if !ok {
		return nil, errDER
	}
	s.RawTBS = tbs.full
	return tbs.body, s.readSignature(in)
}

// readSignature reads algorithm and value, which follow the signed part.
func (s *signed) readSignature(in *reader) (err error) {
	a, okA := in.take(tagSequence)
	v, okV := in.take(tagBitString)
	if !okA || !okV {
		return errors.New("signature missing")
	}
	if s.SignatureAlgorithm, err = algorithmIdentifier(a); err != nil {
		return fmt.Errorf("signatureAlgorithm: %w", err)
	}
	if s.Signature, okV = bits(v.body); !okV {
		return errors.New("signatureValue")
	}
	return nil
}

func (c *Certificate) parseTBS(body reader) error {
	c.Version = 1
	if v, ok := body.take(0xa0); ok {
		in := reader(v.body)
		if i, ok := in.take(tagInteger); ok {
			n, _ := smallInt(i.body)
			c.Version = n + 1
		}
	}
	serial, ok := body.take(tagInteger)
	if !ok {
		return errors.New("serialNumber missing")
	}
	c.SerialNumber = Integer(serial.body)
	inner, ok := body.take(tagSequence)
	if !ok {
		return errors.New("signature missing")
	}
	a, err := algorithmIdentifier(inner)
	if err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	c.algorithmMismatch = a.OID != c.SignatureAlgorithm.OID || !SameParams(a.Params, c.SignatureAlgorithm.Params)
	if err := c.parseNames(&body); err != nil {
		return err
	}
	spki, ok := body.take(tagSequence)
	if !ok {
		return errors.New("subjectPublicKeyInfo missing")
	}
	c.RawSPKI = spki.full
	c.PublicKey, c.KeyAlgorithm, c.KeyError = ParsePublicKey(spki.full)
	for !body.empty() {
		e, ok := body.next()
		if !ok {
			return errDER
		}
		if e.tag == 0xa3 {
			return c.parseExtensions(e.body)
		}
	}
	return nil
}

// SameParams compares parameters of algorithms; absent and NULL are equal.
func SameParams(a, b []byte) bool {
	null := func(p []byte) bool { return len(p) == 0 || p[0] == tagNull }
	return (null(a) && null(b)) || bytes.Equal(a, b)
}

func (c *Certificate) parseNames(body *reader) error {
	issuer, ok := body.take(tagSequence)
	if !ok {
		return errors.New("issuer missing")
	}
	validity, ok := body.take(tagSequence)
	if !ok {
		return errors.New("validity missing")
	}
	subject, ok := body.take(tagSequence)
	if !ok {
		return errors.New("subject missing")
	}
	c.RawIssuer, c.RawSubject = issuer.full, subject.full
	var err error
	if c.Issuer, err = ParseName(issuer.full); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	if c.Subject, err = ParseName(subject.full); err != nil {
		return fmt.Errorf("subject: %w", err)
	}
	v := reader(validity.body)
	from, _ := v.next()
	to, _ := v.next()
	var okFrom, okTo bool
	c.NotBefore, okFrom = parseTime(from)
	c.NotAfter, okTo = parseTime(to)
	if !okFrom || !okTo {
		return errors.New("validity")
	}
	return nil
}

// ID identifies the certificate by its content.
func (c *Certificate) ID() string { return c.id }

// SubjectDN is the subject in the syntax of RFC 4514, in the order of the encoding.
func (c *Certificate) SubjectDN() string { return c.Subject.String() }

// IssuerDN is the issuer in the syntax of RFC 4514, in the order of the encoding.
func (c *Certificate) IssuerDN() string { return c.Issuer.String() }

// SubjectKey is the subject in canonical form, for comparing.
func (c *Certificate) SubjectKey() string { return c.subjectKey }

// IssuerKey is the issuer in canonical form, for comparing.
func (c *Certificate) IssuerKey() string { return c.issuerKey }

// SelfIssued reports whether subject and issuer are the same name.
func (c *Certificate) SelfIssued() bool { return c.subjectKey == c.issuerKey }

// SelfSigned reports whether the certificate verifies with its own key.
func (c *Certificate) SelfSigned() bool { return c.selfSigned() }

// Equal reports whether both are the same certificate, byte for byte.
func (c *Certificate) Equal(o *Certificate) bool { return o != nil && c.id == o.id }

// CommonName is the CN of the subject, or all of them if there are several, else the best other
// name.
func (n Name) CommonName() string {
	var all []string
	for _, rdn := range n {
		for _, a := range rdn {
			if a.OID == OIDCommonName && a.Value != "" && !slices.Contains(all, a.Value) {
				all = append(all, a.Value)
			}
		}
	}
	if len(all) > 0 {
		return strings.Join(all, ", ")
	}
	for _, oid := range []string{OIDPseudonym, OIDOrganization, "2.5.4.11"} {
		if v := n.Get(oid); v != "" {
			return v
		}
	}
	return ""
}

// ErrAlgorithmMismatch means that the signature algorithms inside and outside of the signed part
// differ.
var ErrAlgorithmMismatch = errors.New("signature algorithms inside and outside differ")

// CheckSignatureFrom checks the certificate's signature with the issuer's key, but neither names
// nor usages.
func (c *Certificate) CheckSignatureFrom(issuer *Certificate) error {
	if issuer.PublicKey == nil {
		return fmt.Errorf("issuer's key: %w", issuer.KeyError)
	}
	if c.algorithmMismatch {
		return ErrAlgorithmMismatch
	}
	return CheckSignature(c.SignatureAlgorithm, issuer.PublicKey, c.RawTBS, c.Signature)
}

// HasUsage reports whether the key usage includes u or is absent.
func (c *Certificate) HasUsage(u KeyUsage) bool { return !c.HasKeyUsage || c.KeyUsage&u != 0 }

// HasExtKeyUsage reports whether the certificate is restricted to extended key usages, even to
// none.
func (c *Certificate) HasExtKeyUsage() bool {
	return slices.ContainsFunc(c.Extensions, func(x Extension) bool { return x.OID == "2.5.29.37" })
}

// HasExtUsage reports whether the extended key usage lists oid.
func (c *Certificate) HasExtUsage(oid string) bool {
	return slices.Contains(c.ExtKeyUsage, oid)
}

// KeyBits are the octets of the subject's key, whose SHA-1 OCSP and key identifiers use.
func (c *Certificate) KeyBits() []byte {
	r, ok := single(c.RawSPKI, tagSequence)
	if !ok {
		return nil
	}
	r.take(tagSequence)
	bs, _ := r.take(tagBitString)
	b, _ := bits(bs.body)
	return b
}

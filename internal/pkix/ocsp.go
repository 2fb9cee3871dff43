package pkix

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"errors"
	"fmt"
	"math/big"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
)

// Status is the status of a certificate.
type Status string

const (
	Good          Status = "good"
	Revoked       Status = "revoked"
	StatusUnknown Status = "unknown"
)

// ReasonRemoveFromCRL is the reason of RFC 5280, 5.3.1 that ends a hold.
const ReasonRemoveFromCRL = 8

// OCSPResponse is a response of RFC 6960 with a basic response.
type OCSPResponse struct {
	Raw              []byte // the whole OCSPResponse
	signed                  // ResponseData
	ResponderName    []byte // DER of the Name; nil if identified by key
	ResponderKeyHash []byte
	ProducedAt       time.Time
	Responses        []SingleResponse
	Nonce            []byte
	Certificates     [][]byte
	CriticalUnknown  bool // an unknown critical extension, or one that cannot be read
}

// SingleResponse is the answer about one certificate.
type SingleResponse struct {
	Hash                          crypto.Hash // of the CertID
	IssuerNameHash, IssuerKeyHash []byte
	SerialNumber                  *big.Int
	Status                        Status
	RevokedAt                     time.Time
	Reason                        int
	ThisUpdate, NextUpdate        time.Time
	ArchiveCutoff                 time.Time
	CertHash                      []byte // from the positive statement of Common PKI, with CertHashAlgorithm
	CertHashAlgorithm             crypto.Hash
	CriticalUnknown               bool
}

const oidBasicOCSP = "1.3.6.1.5.5.7.48.1.1"

// ParseOCSPResponse parses a whole OCSPResponse, or only a BasicOCSPResponse, as in CMS.
func ParseOCSPResponse(der []byte) (*OCSPResponse, error) {
	o := new(OCSPResponse)
	if err := o.parse(der); err != nil {
		return nil, &ades.MalformedError{Format: "OCSP", Where: "OCSPResponse", Err: err}
	}
	return o, nil
}

// WrapBasicOCSP makes an OCSPResponse from a BasicOCSPResponse.
func WrapBasicOCSP(basic []byte) []byte {
	return encode(tagSequence,
		[]byte{tagEnumerated, 1, 0},
		encode(0xa0, encode(tagSequence, encodeOID(oidBasicOCSP), encode(tagOctetString, basic))))
}

func (o *OCSPResponse) parse(der []byte) error {
	r := reader(der)
	whole, ok := r.take(tagSequence)
	if !ok {
		return errDER
	}
	o.Raw = whole.full
	in := reader(whole.body)
	status, ok := in.take(tagEnumerated)
	if !ok {
		o.Raw = WrapBasicOCSP(whole.full)
		return o.parseBasic(whole.body)
	}
	if len(status.body) != 1 || status.body[0] != 0 {
		return fmt.Errorf("responder refused, status %d", Integer(status.body))
	}
	outer, ok := in.take(0xa0)
	if !ok {
		return errDER
	}
	rb, ok := single(outer.body, tagSequence)
	if !ok {
		return errDER
	}
	kind, okK := rb.take(tagOID)
	octets, okO := rb.take(tagOctetString)
	if !okK || !okO || parseOID(kind.body) != oidBasicOCSP {
		return errors.New("not a basic response")
	}
	basic, ok := single(octets.body, tagSequence)
	if !ok {
		return errDER
	}
	return o.parseBasic(basic)
}

func (o *OCSPResponse) parseBasic(in reader) error {
	tbs, err := o.signed.read(&in)
	if err != nil {
		return err
	}
	if certs, ok := in.take(0xa0); ok {
		list, ok := single(certs.body, tagSequence)
		for ok && !list.empty() {
			var c element
			if c, ok = list.next(); ok {
				o.Certificates = append(o.Certificates, c.full)
			}
		}
	}
	return o.parseData(tbs)
}

func (o *OCSPResponse) parseData(in reader) error {
	in.take(0xa0) // version
	id, ok := in.next()
	if !ok {
		return errDER
	}
	switch id.tag {
	case 0xa1:
		o.ResponderName = id.body
	case 0xa2:
		if o.ResponderKeyHash, ok = single(id.body, tagOctetString); !ok {
			return errDER
		}
	default:
		return errors.New("responderID")
	}
	produced, _ := in.next()
	if o.ProducedAt, ok = parseTime(produced); !ok {
		return errors.New("producedAt")
	}
	list, ok := in.take(tagSequence)
	if !ok {
		return errDER
	}
	for r := reader(list.body); !r.empty(); {
		e, ok := r.take(tagSequence)
		if !ok {
			return errDER
		}
		s, err := parseSingle(e.body)
		if err != nil {
			return err
		}
		o.Responses = append(o.Responses, s)
	}
	if exts, ok := in.take(0xa1); ok {
		o.applyExtensions(exts.body)
	}
	if !in.empty() {
		return errDER
	}
	return nil
}

func (o *OCSPResponse) applyExtensions(body []byte) {
	list, ok := extensionList(body)
	o.CriticalUnknown = !ok
	for _, x := range list {
		switch {
		case x.OID == "1.3.6.1.5.5.7.48.1.2":
			o.Nonce = x.Value
		case x.Critical:
			o.CriticalUnknown = true
		}
	}
}

// extensionList returns the extensions up to the first that cannot be read.
func extensionList(der []byte) (out []Extension, ok bool) {
	ok = eachIn(der, func(in reader) bool {
		x, ok := parseExtension(in)
		if ok {
			out = append(out, x)
		}
		return ok
	})
	return out, ok
}

func parseSingle(in reader) (SingleResponse, error) {
	var s SingleResponse
	id, ok := in.take(tagSequence)
	if !ok {
		return s, errDER
	}
	if err := s.certID(id.body); err != nil {
		return s, err
	}
	status, ok := in.next()
	if !ok {
		return s, errDER
	}
	switch status.tag {
	case 0x80:
		s.Status = Good
	case 0xa1:
		s.Status = Revoked
		if err := s.revoked(status.body); err != nil {
			return s, err
		}
	default:
		s.Status = StatusUnknown
	}
	this, _ := in.next()
	if s.ThisUpdate, ok = parseTime(this); !ok {
		return s, errors.New("thisUpdate")
	}
	if next, ok := in.take(0xa0); ok {
		r := reader(next.body)
		e, _ := r.next()
		s.NextUpdate, _ = parseTime(e)
	}
	if exts, ok := in.take(0xa1); ok {
		s.applyExtensions(exts.body)
	}
	if !in.empty() {
		return s, errDER
	}
	return s, nil
}

func (s *SingleResponse) certID(in reader) error {
	alg, ok := in.take(tagSequence)
	if !ok {
		return errDER
	}
	a, err := algorithmIdentifier(alg)
	if err != nil {
		return err
	}
	s.Hash, _ = HashOf(a.OID)
	name, okN := in.take(tagOctetString)
	key, okK := in.take(tagOctetString)
	serial, okS := in.take(tagInteger)
	if !okN || !okK || !okS {
		return errDER
	}
	s.IssuerNameHash, s.IssuerKeyHash, s.SerialNumber = name.body, key.body, Integer(serial.body)
	return nil
}

func (s *SingleResponse) revoked(in reader) error {
	at, _ := in.next()
	var ok bool
	if s.RevokedAt, ok = parseTime(at); !ok {
		return errors.New("revocationTime")
	}
	if reason, ok := in.take(0xa0); ok {
		if body, ok := single(reason.body, tagEnumerated); ok && len(body) == 1 {
			s.Reason = int(body[0])
		}
	}
	return nil
}

func (s *SingleResponse) applyExtensions(body []byte) {
	list, ok := extensionList(body)
	s.CriticalUnknown = !ok
	for _, x := range list {
		switch {
		case x.OID == "1.3.6.1.5.5.7.48.1.6":
			r := reader(x.Value)
			e, _ := r.next()
			s.ArchiveCutoff, _ = parseTime(e)
		case x.OID == "1.3.36.8.3.13":
			s.certHash(x.Value)
		case x.Critical:
			s.CriticalUnknown = true
		}
	}
}

func (s *SingleResponse) certHash(der []byte) {
	r, _ := single(der, tagSequence)
	alg, _ := r.take(tagSequence)
	h, _ := r.take(tagOctetString)
	if a, err := algorithmIdentifier(alg); err == nil {
		s.CertHashAlgorithm, _ = HashOf(a.OID)
		s.CertHash = h.body
	}
}

// About reports whether the answer is about this certificate of this issuer.
func (s *SingleResponse) About(cert, issuer *Certificate) bool {
	if s.SerialNumber.Cmp(cert.SerialNumber) != 0 || !s.Hash.Available() {
		return false
	}
	return bytes.Equal(oid.Sum(s.Hash, issuer.KeyBits()), s.IssuerKeyHash) &&
		(bytes.Equal(oid.Sum(s.Hash, cert.RawIssuer), s.IssuerNameHash) ||
			bytes.Equal(oid.Sum(s.Hash, issuer.RawSubject), s.IssuerNameHash))
}

// RespondedBy reports whether the response names this certificate as its responder.
func (o *OCSPResponse) RespondedBy(c *Certificate) bool {
	if o.ResponderName != nil {
		return EqualNames(o.ResponderName, c.RawSubject)
	}
	sum := sha1.Sum(c.KeyBits())
	return bytes.Equal(sum[:], o.ResponderKeyHash)
}

// CheckSignatureFrom checks the response's signature with a responder's key.
func (o *OCSPResponse) CheckSignatureFrom(responder *Certificate) error {
	if responder.PublicKey == nil {
		return fmt.Errorf("responder's key: %w", responder.KeyError)
	}
	return CheckSignature(o.SignatureAlgorithm, responder.PublicKey, o.RawTBS, o.Signature)
}

// NewOCSPRequest makes a request for one certificate, with a nonce unless it is nil. CertID uses
// SHA-1, which every responder supports and which is not a weakness there.
func NewOCSPRequest(cert, issuer *Certificate, nonce []byte) []byte {
	name, key := sha1.Sum(issuer.RawSubject), sha1.Sum(issuer.KeyBits())
	id := encode(tagSequence,
		encode(tagSequence, encodeOID("1.3.14.3.2.26"), []byte{tagNull, 0}),
		encode(tagOctetString, name[:]), encode(tagOctetString, key[:]), encodeInt(cert.SerialNumber))
	tbs := encode(tagSequence, encode(tagSequence, id))
	if nonce != nil {
		x := encode(tagSequence, encodeOID("1.3.6.1.5.5.7.48.1.2"), encode(tagOctetString, encode(tagOctetString, nonce)))
		tbs = append(tbs, encode(0xa2, encode(tagSequence, x))...)
	}
	return encode(tagSequence, encode(tagSequence, tbs))
}

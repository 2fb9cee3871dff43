package pkix

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/ades"
)

// CRL is a revocation list of RFC 5280, section 5, version 1 or 2. Its entries are scanned in
// encoded form, since lists have up to sixty megabytes. A list from [OpenCRL] is not loaded: Raw
// and RawTBS are nil, and Bytes loads it.
type CRL struct {
	Raw, RawIssuer []byte
	signed
	Issuer                 Name
	ThisUpdate, NextUpdate time.Time // NextUpdate is zero if absent
	Number                 *big.Int  // nil if absent
	DeltaBase              *big.Int  // set for a delta list
	IDP                    *IssuingDistributionPoint
	// ExpiredCertsOnCRL: certificates that expired since then remain listed.
	ExpiredCertsOnCRL time.Time
	Extensions        []Extension
	CriticalUnknown   bool // an unknown critical extension, or one that cannot be read

	entries           []byte
	stored            *stored     // of OpenCRL; nil for a list in memory
	sound             atomic.Bool // all entries have been read once without error
	issuerKey         string
	algorithmMismatch bool
}

// IssuingDistributionPoint of RFC 5280 section 5.2.5 limits a list's scope.
type IssuingDistributionPoint struct {
	Point                                            DistributionPoint
	OnlyUsers, OnlyCAs, Indirect, OnlyAttributeCerts bool
	OnlyReasons                                      uint16
}

// Entry is the entry of a list for one certificate.
type Entry struct {
	SerialNumber *big.Int
	RevokedAt    time.Time
	Reason       int
}

// ParseCRL reads a list without building its entries.
func ParseCRL(der []byte) (*CRL, error) {
	c := new(CRL)
	if err := c.parse(der); err != nil {
		return nil, &ades.MalformedError{Format: "CRL", Where: "CertificateList", Err: err}
	}
	c.issuerKey = c.Issuer.Canonical()
	return c, nil
}

func (c *CRL) parse(der []byte) error {
	r := reader(der)
	whole, ok := r.take(tagSequence)
	if !ok {
		return errDER
	}
	c.Raw = whole.full
	in := reader(whole.body)
	tbs, err := c.signed.read(&in)
	if err != nil {
		return err
	}
	return c.parseTBS(tbs)
}

func (c *CRL) parseTBS(in reader) error {
	in.take(tagInteger) // version
	inner, ok := in.take(tagSequence)
	if !ok {
		return errDER
	}
	if a, err := algorithmIdentifier(inner); err != nil || a.OID != c.SignatureAlgorithm.OID {
		c.algorithmMismatch = true
	}
	issuer, ok := in.take(tagSequence)
	if !ok {
		return errors.New("issuer missing")
	}
	c.RawIssuer = issuer.full
	var err error
	if c.Issuer, err = ParseName(issuer.full); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	this, _ := in.next()
	if c.ThisUpdate, ok = parseTime(this); !ok {
		return errors.New("thisUpdate")
	}
	if len(in) > 0 && (in[0] == tagUTCTime || in[0] == tagGeneralizedTime) {
		next, _ := in.next()
		c.NextUpdate, _ = parseTime(next)
	}
	if list, ok := in.take(tagSequence); ok {
		c.entries = list.body
	}
	if exts, ok := in.take(0xa0); ok {
		c.applyExtensions(exts.body)
	}
	if !in.empty() {
		return errors.New("fields out of place")
	}
	return nil
}

func (c *CRL) applyExtensions(body []byte) {
	list, ok := extensionList(body)
	c.Extensions, c.CriticalUnknown = list, !ok
	for _, x := range c.Extensions {
		switch x.OID {
		case "2.5.29.20":
			if b, ok := single(x.Value, tagInteger); ok {
				c.Number = Integer(b)
			}
		case "2.5.29.27":
			if b, ok := single(x.Value, tagInteger); ok {
				c.DeltaBase = Integer(b)
			}
		case "2.5.29.28":
			if c.IDP, ok = parseIDP(x.Value); !ok {
				c.CriticalUnknown = true
			}
		case "2.5.29.35":
			// of the issuer, who is found by name: known, so that it may be critical
		case "2.5.29.60":
			r := reader(x.Value)
			e, _ := r.next()
			c.ExpiredCertsOnCRL, _ = parseTime(e)
		default:
			c.CriticalUnknown = c.CriticalUnknown || x.Critical
		}
	}
}

func parseIDP(der []byte) (*IssuingDistributionPoint, bool) {
	idp := new(IssuingDistributionPoint)
	ok := each(der, func(e element) bool {
		yes := len(e.body) == 1 && e.body[0] != 0
		switch e.tag {
		case 0xa0:
			return idp.Point.name(e.body)
		case 0x81:
			idp.OnlyUsers = yes
		case 0x82:
			idp.OnlyCAs = yes
		case 0x83:
			idp.OnlyReasons = bitFlags(e.body)
		case 0x84:
			idp.Indirect = yes
		case 0x85:
			idp.OnlyAttributeCerts = yes
		default:
			return false
		}
		return true
	})
	return idp, ok
}

// IssuerKey is the list's issuer in canonical form, for comparing.
func (c *CRL) IssuerKey() string { return c.issuerKey }

// CheckSignatureFrom checks the list's signature with the issuer's key.
func (c *CRL) CheckSignatureFrom(issuer *Certificate) error {
	if issuer.PublicKey == nil {
		return fmt.Errorf("issuer's key: %w", issuer.KeyError)
	}
	if c.algorithmMismatch {
		return ErrAlgorithmMismatch
	}
	if c.stored != nil {
		return c.checkStored(issuer.PublicKey)
	}
	return CheckSignature(c.SignatureAlgorithm, issuer.PublicKey, c.RawTBS, c.Signature)
}

// Find scans for a certificate. Entries of an indirect list belong to the certificate issuer named
// last, initially the list's own.
func (c *CRL) Find(cert *Certificate) (Entry, bool, error) {
	s := &search{
		cert: cert, want: encodeInt(cert.SerialNumber), current: c.issuerKey,
		indirect: c.IDP != nil && c.IDP.Indirect,
	}
	if c.sound.Load() {
		if may, err := c.mayList(cert.SerialNumber); err != nil || !may {
			return Entry{}, false, err
		}
	}
	var err error
	if c.stored != nil {
		err = c.stored.each(s.entry)
	} else {
		err = eachEntry(c.entries, s.entry)
	}
	if err != nil {
		return Entry{}, false, err
	}
	c.sound.Store(true)
	return s.found, s.have, nil
}

// mayList searches for the octets of a serial number anywhere in a list whose entries have been
// read once without error: if they do not occur, the certificate is not listed.
func (c *CRL) mayList(n *big.Int) (bool, error) {
	octets := bytes.TrimLeft(encodeInt(n)[2:], "\x00")
	if len(octets) < 3 || len(octets) > 120 {
		return true, nil // too frequent, or too long for a one-octet length
	}
	if c.stored != nil {
		return c.stored.contains(octets)
	}
	return bytes.Contains(c.entries, octets), nil
}

func eachEntry(b []byte, visit func(body []byte) error) error {
	for r := reader(b); !r.empty(); {
		e, ok := r.take(tagSequence)
		if !ok {
			return errDER
		}
		if err := visit(e.body); err != nil {
			return err
		}
	}
	return nil
}

// search looks for one certificate among the entries of a list.
type search struct {
	cert     *Certificate
	want     []byte
	current  string // issuer of the entry
	indirect bool
	found    Entry
	have     bool
}

func (s *search) entry(body []byte) error {
	in := reader(body)
	serial, ok := in.take(tagInteger)
	if !ok {
		return errDER
	}
	if s.indirect || bytes.Contains(in, someTrue) {
		if err := s.extensions(in); err != nil {
			return err
		}
	}
	if !sameSerial(serial.body, s.want, s.cert.SerialNumber) || s.current != s.cert.issuerKey {
		return nil
	}
	entry, err := parseEntry(serial.body, in)
	if err != nil {
		return err
	}
	s.found, s.have = entry, true
	return nil
}

// sameSerial compares the last octet first, which is faster for nearly all entries.
func sameSerial(b, want []byte, n *big.Int) bool {
	return len(b) > 0 && b[len(b)-1] == want[len(want)-1] && Integer(b).Cmp(n) == 0
}

// someTrue is how a BOOLEAN begins: an entry without one has no critical extension.
var someTrue = []byte{tagBool, 1}

// extensions reads the extensions of an entry: its issuer, and critical ones. With one that is
// unknown the whole list says nothing (RFC 5280, 5.3): it may change what other entries mean.
func (s *search) extensions(in reader) error {
	in.next() // revocationDate
	exts, ok := in.take(tagSequence)
	if !ok {
		return nil
	}
	list, ok := extensionList(exts.full)
	if !ok {
		return errDER
	}
	for _, x := range list {
		switch x.OID {
		case "2.5.29.21", "2.5.29.24":
		case "2.5.29.29":
			if s.indirect && !s.issuer(x.Value) {
				return errors.New("certificateIssuer of an entry")
			}
		default:
			if x.Critical {
				return fmt.Errorf("critical extension %s of an entry", x.OID)
			}
		}
	}
	return nil
}

// issuer reads the certificate issuer of this and the following entries.
func (s *search) issuer(der []byte) bool {
	names, _ := parseGeneralNames(der)
	for _, n := range names {
		if n.Tag == 4 {
			name, err := ParseName(n.Raw)
			s.current = name.Canonical()
			return err == nil
		}
	}
	return false
}

func parseEntry(serial []byte, in reader) (Entry, error) {
	e := Entry{SerialNumber: Integer(serial)}
	at, _ := in.next()
	var ok bool
	if e.RevokedAt, ok = parseTime(at); !ok {
		return e, errors.New("revocationDate")
	}
	exts, ok := in.take(tagSequence)
	if !ok {
		return e, nil
	}
	list, _ := extensionList(exts.full)
	for _, x := range list {
		if b, ok := single(x.Value, tagEnumerated); ok && x.OID == "2.5.29.21" && len(b) == 1 {
			e.Reason = int(b[0])
		}
	}
	return e, nil
}

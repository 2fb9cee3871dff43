package tsp

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// Check compares a token with the request that it answers: imprint, nonce, policy, signature, the
// reference to the unit's certificate, and that this certificate is for time-stamping. It does not
// check whether the unit is trusted.
func (t *Token) Check(r *Request) error {
	h, ok := t.Hash()
	if !ok || h != r.Hash || !bytes.Equal(t.Imprint, r.Digest) {
		return errors.New("imprint mismatch")
	}
	if r.Nonce != nil && (t.Nonce == nil || t.Nonce.Cmp(r.Nonce) != 0) {
		return errors.New("nonce mismatch")
	}
	if r.Policy != "" && t.Policy != r.Policy {
		return fmt.Errorf("policy %s in place of %s", t.Policy, r.Policy)
	}
	s, err := t.signature(nil)
	if err != nil {
		return err
	}
	if s.SigningCertificate == nil {
		return errors.New("token does not carry the unit's certificate")
	}
	if s.Intact() != ades.Yes {
		return errors.New("signature of the token does not verify")
	}
	for _, p := range s.Problems {
		if p.Fatal {
			return fmt.Errorf("%s: %s", p.Where, p.Text)
		}
	}
	return checkUnit(s, t.Time)
}

func checkUnit(s *ades.Signature, at time.Time) error {
	if len(s.CertificateRefs) == 0 || s.CertificateRefs[0].DigestMatch != ades.Yes || s.CertificateRefs[0].IssuerSerial == ades.No {
		return errors.New("signing-certificate attribute missing or of another certificate")
	}
	c, err := pkix.ParseCertificate(s.SigningCertificate)
	if err != nil {
		return err
	}
	if len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != oid.UsageTimeStamping || !c.ExtKeyUsageCritical {
		return errors.New("certificate is not one for time-stamping alone")
	}
	if at.Before(c.NotBefore) || at.After(c.NotAfter) {
		return errors.New("time is outside the validity of the unit's certificate")
	}
	return nil
}

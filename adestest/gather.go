package adestest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
)

// Gather implements [ades.Gatherer] for certificates of this PKI: their chains
// up to the root, and an OCSP answer or a revocation list for every
// certificate below it.
func (p *PKI) Gather(_ context.Context, leaves [][]byte, _ ades.Bundle) (ades.Bundle, error) {
	var out ades.Bundle
	missing := &ades.MissingError{}
	seen := map[string]bool{}
	for _, leaf := range leaves {
		cert, err := x509.ParseCertificate(leaf)
		if err != nil {
			return out, err
		}
		if err := p.climb(cert, &out, missing, seen); err != nil {
			return out, err
		}
	}
	if len(missing.Missing) > 0 {
		return out, missing
	}
	return out, nil
}

// climb walks from a certificate to the root.
func (p *PKI) climb(c *x509.Certificate, out *ades.Bundle, missing *ades.MissingError, seen map[string]bool) error {
	for !seen[string(c.Raw)] {
		seen[string(c.Raw)] = true
		out.Certificates = append(out.Certificates, c.Raw)
		if c.Equal(p.Root) {
			return nil
		}
		a := p.issuerOf(c)
		if a == nil {
			missing.Missing = append(missing.Missing, ades.Missing{
				Subject: c.Subject.String(), Lacks: "issuer certificate", Reason: "not of this PKI",
			})
			return nil
		}
		if err := p.revocation(c, a, out, missing); err != nil {
			return err
		}
		c = a.Certificate
	}
	return nil
}

func (p *PKI) issuerOf(c *x509.Certificate) *authority {
	for name, a := range p.cas {
		if name != "rogue" && bytes.Equal(a.Certificate.RawSubject, c.RawIssuer) && c.CheckSignatureFrom(a.Certificate) == nil {
			return a
		}
	}
	return nil
}

func (p *PKI) revocation(c *x509.Certificate, a *authority, out *ades.Bundle, missing *ades.MissingError) error {
	switch {
	case len(c.OCSPServer) > 0:
		id := ca.CertIDOf(a.Certificate, c.SerialNumber, crypto.SHA1)
		answer, err := p.OCSP(a.name, id.Encode(nil))
		if err != nil {
			return err
		}
		out.OCSPs = append(out.OCSPs, answer)
		out.Certificates = append(out.Certificates, a.responder.Certificate.Raw)
	case len(c.CRLDistributionPoints) > 0:
		list, err := p.CRL(a.name)
		if err != nil {
			return err
		}
		out.CRLs = append(out.CRLs, list)
	default:
		missing.Missing = append(missing.Missing, ades.Missing{
			Subject: c.Subject.String(), Lacks: "revocation data", Reason: "the certificate names no service",
		})
	}
	return nil
}

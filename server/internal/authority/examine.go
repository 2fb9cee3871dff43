package authority

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"

	"rogito.dev/rogito/internal/ca"
)

// Examine looks at the authority's own keys, certificates and lists, and tells
// of what is not as it must be. Its keys were opened to get here.
func (a *Authority) Examine(ctx context.Context, tell func(string)) error {
	now := a.config.Now()
	for _, m := range []struct {
		name      string
		of, under ca.Issuer
	}{
		{"root", a.root, a.root}, {"issuing", a.issuing, a.root}, {"ocsp", a.responder, a.issuing}, {"tsa", a.unit, a.issuing}, {"seal", a.seal, a.issuing},
	} {
		c := m.of.Certificate
		pub, ok := m.of.Key.Public().(interface{ Equal(crypto.PublicKey) bool })
		switch {
		case !ok || !pub.Equal(c.PublicKey):
			tell(fmt.Sprintf("%s: the certificate is for another key", m.name))
		case c.CheckSignatureFrom(m.under.Certificate) != nil:
			tell(fmt.Sprintf("%s: the certificate is not signed by %s", m.name, m.under.Certificate.Subject.CommonName))
		case now.Before(c.NotBefore) || now.After(c.NotAfter):
			tell(fmt.Sprintf("%s: the certificate is valid from %s to %s", m.name, c.NotBefore.UTC().Format("2006-01-02 15:04"), c.NotAfter.UTC().Format("2006-01-02 15:04")))
		}
	}
	if err := a.examineList(ctx, "root", a.root, tell); err != nil {
		return err
	}
	return a.examineList(ctx, "ca", a.issuing, tell)
}

// examineList asks for a list as a client would. One that is out of date is
// made anew by that, so it is damaged if it is not in time.
func (a *Authority) examineList(ctx context.Context, name string, issuer ca.Issuer, tell func(string)) error {
	der, err := a.crl(ctx, name, issuer)
	if err != nil {
		return err
	}
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		tell(fmt.Sprintf("the list %s.crl cannot be read", name))
		return nil
	}
	now := a.config.Now()
	switch {
	case list.CheckSignatureFrom(issuer.Certificate) != nil:
		tell(fmt.Sprintf("the list %s.crl is not signed by %s", name, issuer.Certificate.Subject.CommonName))
	case now.Before(list.ThisUpdate) || now.After(list.NextUpdate):
		tell(fmt.Sprintf("the list %s.crl is for %s to %s", name, list.ThisUpdate.Format("2006-01-02 15:04"), list.NextUpdate.Format("2006-01-02 15:04")))
	case name == "ca":
		return a.compareList(ctx, list, tell)
	}
	return nil
}

// compareList holds the list against what was revoked before it was made.
func (a *Authority) compareList(ctx context.Context, list *x509.RevocationList, tell func(string)) error {
	all, err := a.revoked(ctx, a.db.Read())
	if err != nil {
		return err
	}
	on := map[string]bool{}
	for _, e := range list.RevokedCertificateEntries {
		on[e.SerialNumber.String()] = true
	}
	for _, r := range all {
		if r.At.Before(list.ThisUpdate) && (r.Serial == nil || !on[r.Serial.String()]) {
			tell(fmt.Sprintf("the list ca.crl lacks the revoked certificate %v", r.Serial))
		}
	}
	return nil
}

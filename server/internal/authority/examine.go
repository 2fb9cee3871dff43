package authority

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/server/internal/store"
)

// Examine checks the authority's own keys, certificates and lists, and calls tell for each that is
// not as it must be. Its keys were opened to get here.
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
	// Its table is what OCSP answers by.
	for name, own := range map[string]ca.Issuer{"tsa": a.unit, "seal": a.seal} {
		switch r, genuine, err := a.find(ctx, a.db.Read(), `where serial = $1`, own.Certificate.SerialNumber.String()); {
		case err != nil:
			return err
		case r == nil:
			tell(name + ": the authority's record of having issued the certificate is gone: OCSP does not know it")
		case !genuine:
			tell(name + ": the authority's record of having issued the certificate was changed")
		}
	}
	var strange int
	if err := a.db.Read().QueryRow(ctx, `select count(*) from authority_crl where name not in ('root', 'ca')`).Scan(&strange); err != nil {
		return fmt.Errorf("count lists: %w", err)
	}
	if strange > 0 {
		tell(fmt.Sprintf("%d lists are kept that nobody asks for", strange))
	}
	if err := a.examineList(ctx, "root", a.root, tell); err != nil {
		return err
	}
	return a.examineList(ctx, "ca", a.issuing, tell)
}

// examineList looks at the list that is kept, and then asks for it as a client would. One
// that is damaged or out of date is made again by that.
func (a *Authority) examineList(ctx context.Context, name string, issuer ca.Issuer, tell func(string)) error {
	var kept []byte
	err := a.db.Read().QueryRow(ctx, `select crl from authority_crl where name = $1`, name).Scan(&kept)
	if err != nil && !errors.Is(err, store.ErrNoRows) {
		return fmt.Errorf("read list: %w", err)
	}
	if err == nil {
		if list, err := x509.ParseRevocationList(kept); err != nil {
			tell(fmt.Sprintf("the list %s.crl cannot be read", name))
		} else if list.CheckSignatureFrom(issuer.Certificate) != nil {
			tell(fmt.Sprintf("the list %s.crl is not signed by %s", name, issuer.Certificate.Subject.CommonName))
		}
	}
	der, err := a.crl(ctx, name, issuer)
	if err != nil {
		return err
	}
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return fmt.Errorf("read list: %w", err)
	}
	switch now := a.config.Now(); {
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

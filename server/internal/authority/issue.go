package authority

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/server/internal/store"
)

// Subject is who a certificate is for. Empty parts are left out.
type Subject struct {
	GivenName, Surname, FiscalCode       string
	Country                              string // two letters; empty means IT
	Organization, OrganizationIdentifier string
	Email                                string
	CommonName                           string // empty: made from the other parts
}

// Order is a certificate to be issued.
type Order struct {
	CertificateID string
	Seal          bool // for a legal person
	Subject       Subject
	Public        crypto.PublicKey
	Years         int
	Device        bool // the key lives in a token
}

// Issue makes a certificate and remembers it, in the caller's transaction.
func (a *Authority) Issue(ctx context.Context, tx *store.Tx, o Order) (*x509.Certificate, error) {
	now := a.config.Now().Truncate(time.Second)
	policy := policySign
	if o.Seal {
		policy = policySeal
	}
	end := now.AddDate(o.Years, 0, 0)
	if end.After(a.issuing.Certificate.NotAfter) {
		end = a.issuing.Certificate.NotAfter
	}
	r := ca.Request{
		Subject: a.subject(o), PublicKey: o.Public, NotBefore: now.Add(-time.Minute), NotAfter: end, Policies: []string{policy},
		OCSP: a.url("/pki/ocsp"), IssuerCertificate: a.url("/pki/ca.crt"), CRL: a.url("/pki/ca.crl"),
		CPS: a.url("/pki/cps"),
	}
	cert, err := a.issuing.Signer(r, a.statements(o))
	if err != nil {
		return nil, fmt.Errorf("authority: issue: %w", err)
	}
	return cert, a.record(ctx, tx, o.CertificateID, cert)
}

// statements are those of a qualified certificate in the sandbox. QcSSCD never
// stands on a software key, and a PKCS#11 token is not thereby a qualified
// device: it is left out there too.
func (a *Authority) statements(o Order) *ca.Statements {
	return &ca.Statements{
		Seal: o.Seal, NotQualified: !a.config.Sandbox, Retention: 20,
		Disclosures: []ca.Disclosure{{URL: a.url("/pki/pds?lang=en"), Language: "en"}, {URL: a.url("/pki/pds?lang=it"), Language: "it"}},
	}
}

func (a *Authority) subject(o Order) ca.Name {
	s := o.Subject
	n := ca.Name{Country: strings.ToUpper(s.Country), DNQualifier: o.CertificateID, Email: s.Email}
	if n.Country == "" {
		n.Country = "IT"
	}
	common := s.CommonName
	if o.Seal {
		n.Organization, n.OrganizationIdentifier = s.Organization, s.OrganizationIdentifier
		if n.Organization == "" {
			n.Organization = common
		}
		if n.OrganizationIdentifier == "" {
			n.OrganizationIdentifier = "XX:" + n.Country + "-" + o.CertificateID // EN 319 412-1, 5.1.4: a scheme of our own
		}
		if common == "" {
			common = n.Organization
		}
	} else {
		n.GivenName, n.Surname = s.GivenName, s.Surname
		if s.FiscalCode != "" {
			n.SerialNumber = "TIN" + n.Country + "-" + strings.ToUpper(s.FiscalCode)
		}
		if full := strings.TrimSpace(s.GivenName + " " + s.Surname); common == "" {
			common = full
		}
		n.GivenName, n.Surname = splitName(n.GivenName, n.Surname, common)
	}
	if a.config.Sandbox {
		common = "SANDBOX " + common
	}
	n.CommonName = common
	return n
}

// splitName gives a natural person the two names that EN 319 412-2 asks for.
func splitName(given, surname, common string) (string, string) {
	if given != "" && surname != "" {
		return given, surname
	}
	words := strings.Fields(common)
	switch len(words) {
	case 0:
		return "-", "-"
	case 1:
		return words[0], words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], " "), words[last]
}

func (a *Authority) record(ctx context.Context, tx *store.Tx, id string, cert *x509.Certificate) error {
	_, err := tx.Exec(ctx, `insert into authority_issued (serial, certificate_id, certificate, not_after, created_at) values ($1, $2, $3, $4, $5)
		on conflict (serial) do nothing`,
		cert.SerialNumber.String(), id, cert.Raw, store.Millis(cert.NotAfter), store.Millis(a.config.Now()))
	if err != nil {
		return fmt.Errorf("authority: record certificate: %w", err)
	}
	return nil
}

// ReasonHold is the reason of RFC 5280, 5.3.1 that can be taken back.
const ReasonHold = 6

// Revoke takes a certificate back; with ReasonHold it can be given again.
func (a *Authority) Revoke(ctx context.Context, tx *store.Tx, serial string, reason int) error {
	return a.setRevoked(ctx, tx, serial, store.Millis(a.config.Now()), reason)
}

// Release ends a suspension.
func (a *Authority) Release(ctx context.Context, tx *store.Tx, serial string) error {
	return a.setRevoked(ctx, tx, serial, 0, 0)
}

// setRevoked never undoes a revocation that is not a hold, and keeps the date
// of the hold when it becomes final.
func (a *Authority) setRevoked(ctx context.Context, tx *store.Tx, serial string, at int64, reason int) error {
	n, err := tx.Exec(ctx, `update authority_issued set revoked_at = case when cast($2 as bigint) > 0 and revoked_at > 0 then revoked_at else cast($2 as bigint) end, reason = $3
		where serial = $1 and (revoked_at = 0 or reason = $4)`, serial, at, reason, ReasonHold)
	if err != nil {
		return fmt.Errorf("authority: revoke: %w", err)
	}
	if n == 0 {
		return errors.New("authority: no such certificate, or it is revoked for good")
	}
	_, err = tx.Exec(ctx, `update authority_crl set next_update = 0 where name = 'ca'`)
	return err
}

func (a *Authority) status(ctx context.Context, serial *big.Int) (ca.Status, error) {
	var at int64
	var reason int
	err := a.db.Read().QueryRow(ctx, `select revoked_at, reason from authority_issued where serial = $1`, serial.String()).Scan(&at, &reason)
	if errors.Is(err, store.ErrNoRows) {
		return ca.Status{Unknown: true}, nil
	}
	return ca.Status{RevokedAt: store.Time(at), Reason: reason}, err
}

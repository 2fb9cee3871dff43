package authority

import (
	"bytes"
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/store"
)

// Subject is who a certificate is for. Empty parts are left out.
type Subject struct {
	GivenName, Surname, FiscalCode       string
	Country                              string // two letters; left out if it was not proven
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

// SubjectDN is the name that a certificate would bear.
func (a *Authority) SubjectDN(o Order) (string, error) {
	der, err := a.subject(o).Encode()
	if err != nil {
		return "", err
	}
	n, err := pkix.ParseName(der)
	return n.String(), err
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
		OCSP: a.statusURL("/pki/ocsp"), IssuerCertificate: a.statusURL("/pki/ca.crt"), CRL: a.statusURL("/pki/ca.crl"),
		CPS: a.url("/pki/cps"),
	}
	cert, err := a.issuing.Signer(r, a.statements(o))
	if err != nil {
		return nil, fmt.Errorf("authority: issue: %w", err)
	}
	return cert, a.record(ctx, tx, o.CertificateID, cert)
}

// statements are those of a qualified certificate in the sandbox. QcSSCD is never set: a
// software key is no qualified device, and a PKCS#11 token is not one by itself.
func (a *Authority) statements(o Order) *ca.Statements {
	return &ca.Statements{
		Seal: o.Seal, NotQualified: !a.config.Sandbox, Retention: 20,
		Disclosures: []ca.Disclosure{{URL: a.url("/pki/pds?lang=en"), Language: "en"}, {URL: a.url("/pki/pds?lang=it"), Language: "it"}},
	}
}

// taxNumber is a tax code as a serial number, with its country where that is
// known (EN 319 412-1, 5.1.3).
func taxNumber(country, code string) string {
	code = strings.ToUpper(code)
	if code == "" || country == "" {
		return code
	}
	return "TIN" + country + "-" + code
}

func (a *Authority) subject(o Order) ca.Name {
	s := o.Subject
	n := ca.Name{Country: strings.ToUpper(s.Country), DNQualifier: o.CertificateID, Email: s.Email}
	common := s.CommonName
	if o.Seal {
		n.Organization, n.OrganizationIdentifier = s.Organization, s.OrganizationIdentifier
		if n.Organization == "" {
			n.Organization = common
		}
		if n.OrganizationIdentifier == "" {
			n.OrganizationIdentifier = "XX:IT-" + o.CertificateID // EN 319 412-1, 5.1.4: a scheme of our own, and its country
		}
		if common == "" {
			common = n.Organization
		}
	} else {
		n.GivenName, n.Surname = s.GivenName, s.Surname
		n.SerialNumber = taxNumber(n.Country, s.FiscalCode)
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

// issued is a row of the authority's table. The keyed digest is over all of it.
type issued struct {
	serial, id        string
	der               []byte
	notAfter, revoked int64
	reason            int
	created           int64
	mac               []byte
}

func (a *Authority) macOf(r *issued) []byte {
	sum := a.master.MAC("authority issued", fmt.Appendf(nil, "%s %s %x %d %d %d %d", r.serial, r.id, sha256.Sum256(r.der), r.notAfter, r.revoked, r.reason, r.created))
	return sum[:]
}

const selectIssued = `select serial, certificate_id, certificate, not_after, revoked_at, reason, created_at, mac from authority_issued `

// find reads a row; nil where there is none. Genuine says that this server wrote
// it.
func (a *Authority) find(ctx context.Context, q store.Querier, where string, arg string) (r *issued, genuine bool, err error) {
	r, genuine, err = a.scan(q.QueryRow(ctx, selectIssued+where, arg))
	if errors.Is(err, store.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("authority: read certificate: %w", err)
	}
	return r, genuine, nil
}

func (a *Authority) scan(row store.Row) (r *issued, genuine bool, err error) {
	r = &issued{}
	err = row.Scan(&r.serial, &r.id, &r.der, &r.notAfter, &r.revoked, &r.reason, &r.created, &r.mac)
	return r, err == nil && hmac.Equal(r.mac, a.macOf(r)), err
}

// Row is one of the authority's table, as audit verification compares it with the log.
type Row struct {
	Serial, CertificateID string // the authority's own certificates have no id
	Revoked               bool
	Genuine               bool // this server wrote it
}

// Rows returns those that follow a serial number, in the order of its text.
func (a *Authority) Rows(ctx context.Context, q store.Querier, after string, limit int) (all []Row, err error) {
	rows, err := q.Query(ctx, selectIssued+`where serial > $1 order by serial limit $2`, after, limit)
	return all, store.Each("authority: read certificates", rows, err, func(row store.Row) error {
		r, genuine, err := a.scan(row)
		all = append(all, Row{r.serial, r.id, r.revoked > 0, genuine})
		return err
	})
}

func (a *Authority) record(ctx context.Context, tx *store.Tx, id string, cert *x509.Certificate) error {
	r := &issued{serial: cert.SerialNumber.String(), id: id, der: cert.Raw, notAfter: store.Millis(cert.NotAfter), created: store.Millis(a.config.Now())}
	_, err := tx.Exec(ctx, `insert into authority_issued (serial, certificate_id, certificate, not_after, created_at, mac) values ($1, $2, $3, $4, $5, $6)
		on conflict (serial) do nothing`, r.serial, r.id, r.der, r.notAfter, r.created, a.macOf(r))
	if err != nil {
		return fmt.Errorf("authority: record certificate: %w", err)
	}
	return nil
}

// Taken is whether a certificate was taken back.
type Taken struct{ Revoked, Hold bool }

// Standing says what is wrong with what the authority's table has of a
// certificate: it must be this one, and revoked, on hold or neither as told; nil:
// whichever.
func (a *Authority) Standing(ctx context.Context, q store.Querier, id string, der []byte, t *Taken) (string, error) {
	r, genuine, err := a.find(ctx, q, `where certificate_id = $1`, id)
	switch {
	case err != nil:
		return "", err
	case r == nil:
		return "the authority has no record of having issued it", nil
	case !genuine:
		return "the authority's record of it was changed", nil
	case !bytes.Equal(r.der, der):
		return "the authority issued another certificate for it", nil
	case t != nil && ((r.revoked > 0) != (t.Revoked || t.Hold) || t.Revoked && r.reason == ReasonHold || t.Hold && r.reason != ReasonHold):
		return "the authority's record of its revocation is not what its events say", nil
	}
	return "", nil
}

// ReasonHold is the reason of RFC 5280, 5.3.1 that can be taken back.
const ReasonHold = 6

// Revoke revokes a certificate; with ReasonHold it can be released.
func (a *Authority) Revoke(ctx context.Context, tx *store.Tx, serial string, reason int) error {
	return a.setRevoked(ctx, tx, serial, store.Millis(a.config.Now()), reason)
}

// Release ends a suspension.
func (a *Authority) Release(ctx context.Context, tx *store.Tx, serial string) error {
	return a.setRevoked(ctx, tx, serial, 0, 0)
}

// setRevoked never undoes a final revocation, and keeps the date of the hold when it becomes
// final. A row that was tampered with can be revoked but not released.
func (a *Authority) setRevoked(ctx context.Context, tx *store.Tx, serial string, at int64, reason int) error {
	r, genuine, err := a.find(ctx, tx, `where serial = $1`, serial)
	if err != nil {
		return err
	}
	if r == nil || r.revoked > 0 && r.reason != ReasonHold || at == 0 && !genuine {
		return errors.New("authority: no such certificate, or it is revoked for good")
	}
	before, held := r.revoked, r.reason
	if at == 0 || r.revoked == 0 {
		r.revoked = at
	}
	r.reason = reason
	n, err := tx.Exec(ctx, `update authority_issued set revoked_at = $1, reason = $2, mac = $3 where serial = $4 and revoked_at = $5 and reason = $6`,
		r.revoked, r.reason, a.macOf(r), serial, before, held)
	if err == nil && n == 0 {
		err = errors.New("it was changed meanwhile")
	}
	if err != nil {
		return fmt.Errorf("authority: revoke: %w", err)
	}
	_, err = tx.Exec(ctx, `update authority_crl set next_update = 0 where name = 'ca'`)
	return err
}

// status of a serial number. What the log says was revoked is revoked; of a row that was
// tampered with nothing else is said.
func (a *Authority) status(ctx context.Context, serial *big.Int) (ca.Status, error) {
	q := a.db.Read()
	r, genuine, err := a.find(ctx, q, `where serial = $1`, serial.String())
	if err != nil || r == nil {
		return ca.Status{Unknown: true}, err
	}
	if a.Ledger != nil && r.id != "" {
		logged, err := a.Ledger(ctx, q, r.id)
		if err != nil {
			return ca.Status{}, err
		}
		for _, l := range logged {
			if l.Serial.Cmp(serial) == 0 {
				return ca.Status{RevokedAt: l.At, Reason: l.Reason}, nil
			}
		}
	}
	if !genuine {
		return ca.Status{}, errors.New("authority: the record of the certificate was changed")
	}
	return ca.Status{RevokedAt: store.Time(r.revoked), Reason: r.reason}, nil
}

// actLife is how long a certificate for one act is good. Its key is gone after seconds;
// it is longer than what validators take an OCSP answer without a next update for (half
// an hour), since some judge at the end of that time.
const actLife = time.Hour

// IssueAct makes a certificate for one act of a person: its key is used once, and the
// subject is what was proven and nothing else. It is never a qualified one.
func (a *Authority) IssueAct(ctx context.Context, tx *store.Tx, s Subject, public crypto.PublicKey) (*x509.Certificate, error) {
	now := a.config.Now().Truncate(time.Second)
	name := a.subject(Order{Subject: s})
	name.DNQualifier = ""
	statements := a.statements(Order{})
	statements.NotQualified = true
	cert, err := a.issuing.Signer(ca.Request{
		Subject: name, PublicKey: public, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(actLife), Policies: []string{policySign},
		OCSP: a.statusURL("/pki/ocsp"), IssuerCertificate: a.statusURL("/pki/ca.crt"), CRL: a.statusURL("/pki/ca.crl"), CPS: a.url("/pki/cps"),
	}, statements)
	if err != nil {
		return nil, fmt.Errorf("authority: issue: %w", err)
	}
	return cert, a.record(ctx, tx, "act "+cert.SerialNumber.String(), cert)
}

// Package authority is the embedded certification and time-stamp authority as
// a service: a root, an issuing authority below it, an OCSP responder
// (RFC 6960), revocation lists (RFC 5280) and a time-stamping unit (RFC 3161),
// with certificate profiles as EN 319 412 has them.
//
// In the sandbox its certificates carry the statements of a qualified
// provider, with SANDBOX in every name, so that clients meet the same shapes.
// Outside it the certificates are advanced ones: QcCompliance is left out,
// since only a supervised provider may state it.
package authority

import (
	"cmp"
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/tsp"
)

// Config of the authority.
type Config struct {
	PublicURL string // what certificates point to
	StatusURL string // where lists, answers and issuers are fetched; empty: PublicURL
	Sandbox   bool
	Name      string // of the organization; empty means Rogito
	Now       func() time.Time
}

// Authority issues certificates and answers for them.
type Authority struct {
	// Ledger returns the certificates that the audit log says are revoked or on
	// hold, of one id or, where it is empty, all: they are served so, whatever the
	// table says. It is set before the first answer; nil: the table alone counts.
	Ledger func(ctx context.Context, q store.Querier, certificate string) ([]ca.Revoked, error)

	db     *store.DB
	master keys.Sealer
	config Config

	listing sync.Mutex // held to read or make a list
	listed  listed

	root, issuing, responder, unit, seal ca.Issuer
	stamper                              *tsp.Responder
	auditSigner                          note.Signer
	auditKey                             string
	former                               []*url.URL
}

const (
	keyPurpose = "authority-key"
	// Policies below the arc for examples (ISO/IEC 8825, 2.999), which claims
	// nothing: an operator with an arc of its own replaces the authority.
	policySign  = "2.999.7269.1"
	policySeal  = "2.999.7269.2"
	policyStamp = "2.999.7269.3"
)

// Open loads the authority; the first time, it makes it. Two processes that
// start together end with the same one.
func Open(ctx context.Context, db *store.DB, master keys.Sealer, c Config) (*Authority, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Name == "" {
		c.Name = "Rogito"
	}
	if c.Sandbox {
		c.Name += sandboxMark
	}
	a := &Authority{db: db, master: master, config: c}
	for _, step := range []func(context.Context) error{a.openURLs, a.openKind, a.openRoot, a.openIssuing, a.openResponder, a.openUnit, a.openSeal, a.openAudit} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("authority: %w", err)
		}
	}
	a.stamper = &tsp.Responder{
		Certificate: a.unit.Certificate, Key: a.unit.Key, Policy: policyStamp, Now: c.Now,
		Chain: []*x509.Certificate{a.issuing.Certificate},
	}
	return a, nil
}

func (a *Authority) name(role string) ca.Name {
	return ca.Name{Country: "IT", Organization: a.config.Name, CommonName: a.config.Name + " " + role}
}

func (a *Authority) url(path string) string {
	return strings.TrimSuffix(a.config.PublicURL, "/") + path
}

// statusURL is the address of what verifiers fetch. Many do not fetch it by https
// (RFC 5280, 4.2.1.13): asking for the status of a certificate must need none.
func (a *Authority) statusURL(path string) string {
	return strings.TrimSuffix(cmp.Or(a.config.StatusURL, a.config.PublicURL), "/") + path
}

func (a *Authority) openRoot(ctx context.Context) (err error) {
	a.root, err = a.member(ctx, "root", "P-384", func(key crypto.Signer) (*x509.Certificate, error) {
		now := a.config.Now()
		return ca.Root(ca.Request{Subject: a.name("Root CA"), PublicKey: key.Public(), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(25, 0, 0)}, key)
	})
	return err
}

func (a *Authority) openIssuing(ctx context.Context) (err error) {
	a.issuing, err = a.member(ctx, "issuing", "P-256", func(key crypto.Signer) (*x509.Certificate, error) {
		now := a.config.Now()
		return a.root.Authority(ca.Request{
			Subject: a.name("Issuing CA"), PublicKey: key.Public(), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(15, 0, 0),
			IssuerCertificate: a.statusURL("/pki/root.crt"), CRL: a.statusURL("/pki/root.crl"),
		}, 0)
	})
	return err
}

func (a *Authority) openResponder(ctx context.Context) (err error) {
	a.responder, err = a.member(ctx, "ocsp", "P-256", func(key crypto.Signer) (*x509.Certificate, error) {
		now := a.config.Now()
		return a.issuing.Responder(ca.Request{Subject: a.name("OCSP responder"), PublicKey: key.Public(), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(5, 0, 0)})
	})
	return err
}

func (a *Authority) openUnit(ctx context.Context) (err error) {
	made := false
	a.unit, err = a.member(ctx, "tsa", "P-256", func(key crypto.Signer) (*x509.Certificate, error) {
		now := a.config.Now()
		made = true
		return a.issuing.TimestampUnit(ca.Request{
			Subject: a.name("Time-stamping unit"), PublicKey: key.Public(), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
			OCSP: a.statusURL("/pki/ocsp"), IssuerCertificate: a.statusURL("/pki/ca.crt"), CRL: a.statusURL("/pki/ca.crl"),
		})
	})
	if err != nil || !made {
		return err
	}
	return a.db.Write(ctx, func(tx *store.Tx) error { return a.record(ctx, tx, "", a.unit.Certificate) })
}

// openSeal opens the key that the server seals its own statements with, such as certificates of
// completion. It is under no supervision, so never qualified.
func (a *Authority) openSeal(ctx context.Context) (err error) {
	made := false
	a.seal, err = a.member(ctx, "seal", "P-256", func(key crypto.Signer) (*x509.Certificate, error) {
		now := a.config.Now()
		made = true
		sum := sha256.Sum256(a.root.Certificate.RawSubjectPublicKeyInfo)
		name := ca.Name{Country: "IT", Organization: a.config.Name, CommonName: a.config.Name, OrganizationIdentifier: fmt.Sprintf("XX:IT-%X", sum[:8])}
		return a.issuing.Signer(ca.Request{
			Subject: name, PublicKey: key.Public(), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(5, 0, 0), Policies: []string{policySeal},
			OCSP: a.statusURL("/pki/ocsp"), IssuerCertificate: a.statusURL("/pki/ca.crt"), CRL: a.statusURL("/pki/ca.crl"), CPS: a.url("/pki/cps"),
		}, &ca.Statements{Seal: true, NotQualified: true, Retention: 20, Disclosures: a.statements(Order{}).Disclosures})
	})
	if err != nil || !made {
		return err
	}
	return a.db.Write(ctx, func(tx *store.Tx) error { return a.record(ctx, tx, "", a.seal.Certificate) })
}

// member loads a key and its certificate, or makes them. A certificate that
// ends within a quarter is made again under the same key.
func (a *Authority) member(ctx context.Context, name, kind string, issue func(crypto.Signer) (*x509.Certificate, error)) (ca.Issuer, error) {
	m, err := a.load(ctx, name)
	if err != nil {
		return m, err
	}
	fresh := m.Certificate != nil && m.Certificate.NotAfter.After(a.config.Now().AddDate(0, 3, 0))
	if fresh {
		return m, nil
	}
	before := []byte{}
	if m.Key == nil {
		if m.Key, err = ca.NewKey(kind); err != nil {
			return m, err
		}
	} else {
		before = m.Certificate.Raw
	}
	if m.Certificate, err = issue(m.Key); err != nil {
		return m, fmt.Errorf("issue %s: %w", name, err)
	}
	if err := a.keep(ctx, name, m, before); err != nil {
		return m, err
	}
	return a.load(ctx, name) // another process may have been first
}

func (a *Authority) load(ctx context.Context, name string) (ca.Issuer, error) {
	var sealed, der []byte
	err := a.db.Read().QueryRow(ctx, `select sealed, certificate from authority_keys where name = $1`, name).Scan(&sealed, &der)
	if errors.Is(err, store.ErrNoRows) {
		return ca.Issuer{}, nil
	}
	if err != nil {
		return ca.Issuer{}, fmt.Errorf("read %s: %w", name, err)
	}
	secret, err := a.master.UnsealFor(keyPurpose, name, sealed)
	if err != nil {
		return ca.Issuer{}, fmt.Errorf("unseal %s: %w", name, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(secret)
	if err != nil {
		return ca.Issuer{}, fmt.Errorf("key of %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return ca.Issuer{}, fmt.Errorf("certificate of %s: %w", name, err)
	}
	return ca.Issuer{Certificate: cert, Key: key.(crypto.Signer)}, nil
}

func (a *Authority) keep(ctx context.Context, name string, m ca.Issuer, before []byte) error {
	der, err := x509.MarshalPKCS8PrivateKey(m.Key)
	if err != nil {
		return err
	}
	sealed, err := a.master.SealFor(keyPurpose, name, der)
	clear(der)
	if err != nil {
		return err
	}
	now := a.config.Now()
	return a.db.Write(ctx, func(tx *store.Tx) error {
		// A certificate is replaced only by a process that saw it end.
		_, err := tx.Exec(ctx, `insert into authority_keys (name, sealed, certificate, created_at) values ($1, $2, $3, $4)
			on conflict (name) do update set sealed = $2, certificate = $3, created_at = $4 where authority_keys.certificate = $5`,
			name, sealed, m.Certificate.Raw, store.Millis(now), before)
		return err
	})
}

// openAudit loads the key that signs checkpoints of the audit log. Both halves
// are sealed: with a public key of their own in the table, anyone who can write to the
// database could sign checkpoints that verify.
func (a *Authority) openAudit(ctx context.Context) error {
	pair, err := a.loadAudit(ctx)
	if errors.Is(err, store.ErrNoRows) {
		made, public, err := note.GenerateKey(rand.Reader, a.auditName())
		if err != nil {
			return err
		}
		sealed, err := a.master.SealFor(auditPurpose, "audit", []byte(made+"\n"+public))
		if err != nil {
			return err
		}
		err = a.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `insert into authority_keys (name, sealed, created_at) values ('audit', $1, $2) on conflict (name) do nothing`,
				sealed, store.Millis(a.config.Now()))
			return err
		})
		if err != nil {
			return err
		}
		if pair, err = a.loadAudit(ctx); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	private, public, _ := strings.Cut(pair, "\n")
	a.auditKey = public
	a.auditSigner, err = note.NewSigner(private)
	return err
}

const auditPurpose = "authority audit key"

func (a *Authority) auditName() string {
	if u, err := url.Parse(a.config.PublicURL); err == nil && u.Host != "" {
		return u.Host + "/audit"
	}
	return "rogito/audit"
}

func (a *Authority) loadAudit(ctx context.Context) (pair string, err error) {
	var sealed []byte
	err = a.db.Read().QueryRow(ctx, `select sealed from authority_keys where name = 'audit'`).Scan(&sealed)
	if err != nil {
		return "", fmt.Errorf("read audit key: %w", err)
	}
	plain, err := a.master.UnsealFor(auditPurpose, "audit", sealed)
	if err != nil {
		return "", fmt.Errorf("unseal audit key: %w", err)
	}
	return string(plain), nil
}

// openURLs remembers every address that certificates were issued under, so
// that they are answered in process after the server moved.
func (a *Authority) openURLs(ctx context.Context) error {
	known, err := a.readURLs(ctx)
	if err != nil {
		return err
	}
	for i, at := range []string{a.config.StatusURL, a.config.PublicURL} { // the newest is the last
		if at == "" || len(known) > 0 && known[0] == at || i == 0 && slices.Contains(known, at) {
			continue
		}
		created := store.Millis(a.config.Now()) + int64(i)
		name := fmt.Sprintf("%s%s %d", urlPrefix, at, created)
		err := a.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `insert into authority_keys (name, sealed, created_at) values ($1, $2, $3) on conflict (name) do nothing`, name, a.urlMark(name, created), created)
			return err
		})
		if err != nil {
			return err
		}
		known = append([]string{at}, known...)
	}
	for _, at := range known {
		if u, err := url.Parse(at); err == nil {
			a.former = append(a.former, u)
		}
	}
	if a.config.PublicURL == "" && len(a.former) > 0 {
		a.config.PublicURL = a.former[0].String() // a command beside the server
	}
	return nil
}

const urlPrefix = "url:"

// readURLs are the addresses so far, the newest first, out of rows that this
// server wrote.
func (a *Authority) readURLs(ctx context.Context) (known []string, err error) {
	rows, err := a.db.Read().Query(ctx, `select name, sealed, created_at from authority_keys where name like 'url:%' order by created_at desc limit 100`)
	return known, store.Each("authority: read addresses", rows, err, func(row store.Row) error {
		var name string
		var mark []byte
		var created int64
		if err := row.Scan(&name, &mark, &created); err != nil {
			return err
		}
		if at, _, ok := strings.Cut(strings.TrimPrefix(name, urlPrefix), " "); ok && hmac.Equal(mark, a.urlMark(name, created)) {
			known = append(known, at)
		}
		return nil
	})
}

// urlMark is the keyed digest of the row of an address.
func (a *Authority) urlMark(name string, created int64) []byte {
	sum := a.master.MAC("authority address", fmt.Appendf(nil, "%q %d", name, created))
	return sum[:]
}

// Keys are the authority's own, as the audit log keeps track of them: one that
// was deleted is made again at the next start, and verification finds that.
var Keys = &audit.Register{
	Kind: "authority-key", Table: "authority_keys", Key: "name", Name: "key of the authority",
	Select: `select name, sealed, coalesce(certificate, sealed), certificate is null, created_at from authority_keys`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r := &audit.Registered{}
		var sealed, der []byte
		var bare bool
		var created int64
		if err := row.Scan(&r.ID, &sealed, &der, &bare, &created); err != nil {
			return nil, err
		}
		r.Traits = []any{sealed, der, bare, created}
		r.Unsaid = strings.HasPrefix(r.ID, urlPrefix)                     // a command wrote it, and leaves the log as it is
		if cert, err := x509.ParseCertificate(der); !bare && err == nil { // it is renewed under the same key
			sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
			r.Fixed = hex.EncodeToString(sum[:16])
		}
		return r, nil
	},
}

// Settled says that a server has worked with the authority's keys, and told the log of
// them. Those that only commands have seen may still give way (openKind).
func (a *Authority) Settled(ctx context.Context) (bool, error) {
	return audit.Had(ctx, a.db.Read(), Keys.Kind, "root")
}

// Register logs the keys and the authority's own certificates, as far as it does not know them.
func (a *Authority) Register(ctx context.Context, log *audit.Log) error {
	err := Keys.Catch(ctx, log, func(row *audit.Registered, known bool) bool { return !known || row.Fixed != "" })
	if err != nil {
		return err
	}
	return Own.Catch(ctx, log, func(_ *audit.Registered, known bool) bool { return !known })
}

// Own are the certificates that the authority issued to itself.
var Own = &audit.Register{
	Kind: "authority-certificate", Table: "authority_issued", Key: "serial", Name: "certificate of the authority",
	Select: `select serial, certificate_id, mac from (select * from authority_issued where certificate_id = '') own`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r, mac, id := &audit.Registered{}, []byte(nil), ""
		err := row.Scan(&r.ID, &id, &mac)
		r.Traits = []any{id, mac}
		return r, err
	},
}

// PublicURL is where certificates point to: the configured address, or the
// one that the server had last.
func (a *Authority) PublicURL() string { return a.config.PublicURL }

// Bases are all the addresses that the authority was ever reached at.
func (a *Authority) Bases() []*url.URL { return a.former }

// Root is the certificate to trust.
func (a *Authority) Root() *x509.Certificate { return a.root.Certificate }

// Chain is what goes with an issued certificate: the issuing authority's, the
// root's.
func (a *Authority) Chain() []*x509.Certificate {
	return []*x509.Certificate{a.issuing.Certificate, a.root.Certificate}
}

// Seal is the certificate and key of the server's own seal.
func (a *Authority) Seal() (*x509.Certificate, crypto.Signer) { return a.seal.Certificate, a.seal.Key }

// Stamper is the time-stamping unit, in process and over HTTP.
func (a *Authority) Stamper() *tsp.Responder { return a.stamper }

// AuditSigner signs checkpoints of the audit log; AuditKey verifies them.
func (a *Authority) AuditSigner() note.Signer { return a.auditSigner }

// AuditKey is the public key of the audit log (C2SP vkey).
func (a *Authority) AuditKey() string { return a.auditKey }

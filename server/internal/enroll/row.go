package enroll

import (
	"context"
	"crypto/hmac"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Certificate is one that was bought, from its order to its end.
type Certificate struct {
	ID, AccountID         string
	Provider              string
	Kind                  keys.Kind
	State                 State
	Owner, Reference      string
	Subject               Subject             // as ordered
	Certified             *identify.Certified // as proven; nil until then
	Identification        string
	Algorithm             string
	Years, Level          int
	Callback              *callback.Target
	Link                  string // where the holder is identified; empty where there is nothing to do. See BuyersLink
	Serial                string // decimal, once issued
	DER                   []byte
	Chain                 [][]byte
	SubjectDN, IssuerDN   string
	NotBefore, NotAfter   time.Time
	CreatedAt, UpdatedAt  time.Time
	ExpireAt              time.Time
	linkPurpose, chargeID string
	linkSecret            string
	linkAt                time.Time           // when the link was made
	altered               bool                // the row is not what was ordered
	once                  []byte              // credentials not yet shown, sealed
	ShownAt               time.Time           // when the credentials were shown
	ShownTo               string              // and to which address
	statement             *identify.Statement // waiting for a signature; nil where none was made
	browser               []byte              // hash of the browser that went through the identification
	browserSealed         []byte              // as in the row
	refusals              int                 // of identifications
	login                 *login              // at the provider of a remote key; nil where none is needed, or none was made
	parsed                func() ([]*x509.Certificate, error)
}

const (
	callbackPurpose = "certificate-callback"
	linkPurpose     = "certificate-link"
	oncePurpose     = "certificate-credentials"
	statePurpose    = "certificate-statement"
	provenPurpose   = "certificate-proven"
	browserPurpose  = "certificate-browser"
	loginPurpose    = "certificate-login"
	keptPurpose     = "certificate-credentials-shown"
)

const columns = `id, account_id, provider, kind, state, owner, custom_reference, subject, identification, key_algorithm, validity_years,
	security_level, callback, link, link_purpose, shown_at, shown_to, credentials_once, charge_id, serial, certificate, chain, subject_dn, issuer_dn,
	not_before, not_after, created_at, updated_at, expire_at, certified, statement, browser, login, refusals, bound`

func (s *Service) scan(row store.Row) (*Certificate, error) {
	c := &Certificate{}
	var subject string
	var target, link, chain, statement, certified, entered, bound []byte
	var shown, before, after, created, updated, expire int64
	err := row.Scan(&c.ID, &c.AccountID, &c.Provider, &c.Kind, &c.State, &c.Owner, &c.Reference, &subject, &c.Identification, &c.Algorithm,
		&c.Years, &c.Level, &target, &link, &c.linkPurpose, &shown, &c.ShownTo, &c.once, &c.chargeID, &c.Serial, &c.DER, &chain, &c.SubjectDN, &c.IssuerDN,
		&before, &after, &created, &updated, &expire, &certified, &statement, &c.browserSealed, &entered, &c.refusals, &bound)
	if err != nil {
		return nil, fmt.Errorf("enroll: read certificate: %w", err)
	}
	c.NotBefore, c.NotAfter, c.ExpireAt = store.Time(before), store.Time(after), store.Time(expire)
	c.CreatedAt, c.UpdatedAt, c.ShownAt = store.Time(created), store.Time(updated), store.Time(shown)
	if err := json.Unmarshal([]byte(subject), &c.Subject); err != nil {
		return c, fmt.Errorf("enroll: subject: %w", err)
	}
	var at sealedLink
	for _, x := range []struct {
		purpose string
		sealed  []byte
		to      any
	}{
		{provenPurpose, certified, &c.Certified},
		{statePurpose, statement, &c.statement},
		{browserPurpose, c.browserSealed, &c.browser},
		{callbackPurpose, target, &c.Callback},
		{loginPurpose, entered, &c.login},
		{linkPurpose, link, &at},
	} {
		if err := s.open(x.purpose, c.ID, x.sealed, x.to); err != nil {
			return c, err
		}
	}
	c.altered = !hmac.Equal(bound, s.bound(c))
	if len(chain) > 0 {
		if err := json.Unmarshal(chain, &c.Chain); err != nil {
			return c, fmt.Errorf("enroll: chain: %w", err)
		}
	}
	c.linkSecret, c.linkAt = at.Secret, at.At
	if c.Serial != "" && c.Certified == nil && !c.foreign() {
		c.altered = true // what was proven was taken away, so that less is asked for next time
	}
	if c.linkSecret != "" {
		c.Link = strings.TrimSuffix(s.config.PublicURL, "/") + "/enrol/" + c.ID + "/" + c.linkSecret
	}
	return c, nil
}

// open unseals JSON of a certificate; nothing sealed leaves the value as it is.
func (s *Service) open(purpose, id string, sealed []byte, v any) error {
	if len(sealed) == 0 {
		return nil
	}
	b, err := s.master.UnsealFor(purpose, id, sealed)
	if err != nil {
		return fmt.Errorf("enroll: unseal: %w", err)
	}
	return json.Unmarshal(b, v)
}

// seal seals JSON of a certificate.
func (s *Service) seal(purpose, id string, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.master.SealFor(purpose, id, b)
}

// sealedLink is the secret part of a link, and when it was made.
type sealedLink struct {
	Secret string    `json:"secret"`
	At     time.Time `json:"at"`
}

func (s *Service) newLink() sealedLink {
	return sealedLink{strings.ToLower(keys.NewPassword() + keys.NewPassword()), s.config.Now()}
}

// bound is the keyed digest of the order. An order never changes, so a row with another digest
// was changed by someone with write access to the database.
func (s *Service) bound(c *Certificate) []byte {
	terms, err := json.Marshal([]any{
		c.ID, c.AccountID, c.Provider, c.Kind, c.Owner, c.Reference, c.Subject, c.Identification, c.Algorithm, c.Years, c.Level, c.chargeID, store.Millis(c.CreatedAt), c.Callback,
	})
	if err != nil {
		return nil // strings and numbers: it cannot be
	}
	sum := s.master.MAC("certificate order", terms)
	return sum[:]
}

// genuine refuses an order that is not the one that was bought.
func (c *Certificate) genuine() error {
	if c.altered {
		return fault.New(fault.WrongState, "the order is not the one that was bought: it was changed in the database")
	}
	return nil
}

func (s *Service) insert(ctx context.Context, tx *store.Tx, c *Certificate) error {
	subject, err := json.Marshal(c.Subject)
	if err != nil {
		return err
	}
	var certified, target, link []byte
	if c.Certified != nil {
		if certified, err = s.seal(provenPurpose, c.ID, c.Certified); err != nil {
			return err
		}
	}
	if c.Callback != nil {
		if target, err = s.seal(callbackPurpose, c.ID, c.Callback); err != nil {
			return err
		}
	}
	if c.linkSecret != "" {
		if link, err = s.seal(linkPurpose, c.ID, sealedLink{c.linkSecret, c.linkAt}); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `insert into certificates (id, account_id, provider, kind, state, owner, custom_reference, subject, identification,
			key_algorithm, validity_years, security_level, callback, link, charge_id, created_at, updated_at, expire_at, certified, bound)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
		c.ID, c.AccountID, c.Provider, string(c.Kind), string(c.State), c.Owner, c.Reference, string(subject), c.Identification,
		c.Algorithm, c.Years, c.Level, target, link, c.chargeID, store.Millis(c.CreatedAt), store.Millis(c.UpdatedAt), store.Millis(c.ExpireAt), certified, s.bound(c))
	if err != nil {
		return fmt.Errorf("enroll: store certificate: %w", err)
	}
	return nil
}

// Find returns a certificate of an account, or fault 140.
func (s *Service) Find(ctx context.Context, account, id string) (*Certificate, error) {
	return found(s.scan(s.db.Read().QueryRow(ctx, `select `+columns+` from certificates where id = $1 and account_id = $2`, id, account)))
}

func found(c *Certificate, err error) (*Certificate, error) {
	if errors.Is(err, store.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "no such certificate")
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ByID returns a certificate whosever it is: for administrators, and for a
// holder's link. Fault 140 when there is none.
func (s *Service) ByID(ctx context.Context, id string) (*Certificate, error) {
	return found(s.scan(s.db.Read().QueryRow(ctx, `select `+columns+` from certificates where id = $1`, id)))
}

// Standing is what of a certificate may change while it is used.
type Standing struct {
	State               State
	Level               int
	NotBefore, NotAfter time.Time
}

// Standing of a certificate that was read before.
func (c *Certificate) Standing() Standing {
	return Standing{State: c.State, Level: c.Level, NotBefore: c.NotBefore, NotAfter: c.NotAfter}
}

// StandingIn has the standing of a certificate judged inside a transaction, with
// what the transaction asks next; fault 140 when there is none.
func (s *Service) StandingIn(ctx context.Context, tx *store.Tx, id string, judge func(Standing) error) error {
	return tx.Ask(ctx, func(row store.Row) error { return scanStanding(row, judge) }, selectStanding, id)
}

// Filter narrows a list; empty fields do not.
type Filter struct {
	Kind        keys.Kind
	State       State
	After       string // only what comes behind it in the list
	Skip, Limit int
}

func (f Filter) page() store.Page { return store.Page{After: f.After, Skip: f.Skip, Limit: f.Limit} }

// List returns certificates of an account, newest first, without those that were
// only passed through. An empty account means all: for the operator.
func (s *Service) List(ctx context.Context, account string, f Filter) ([]*Certificate, error) {
	kinds := []string{string(keys.Automatic), string(keys.OTP), string(keys.ESeal)}
	from, args := fmt.Sprintf(`certificates where account_id = $1 and security_level > %d`, passedLevel), []any{account}
	if account == "" {
		from, args = `certificates where id > ''`, nil
	}
	query, args := f.page().IDs(from, args, store.Facet{Column: "kind", Is: string(f.Kind), Words: kinds}, store.Facet{Column: "state", Is: string(f.State), Words: stateWords()})
	rows, err := s.db.Read().Query(ctx, query, args...)
	ids, err := store.All("enroll: list", rows, err, store.Column[any])
	if err != nil || len(ids) == 0 {
		return []*Certificate{}, err
	}
	return s.all(ctx, `select `+columns+` from certificates where id`+store.In(len(ids))+` order by id desc`, ids...)
}

// all reads the certificates of a query.
func (s *Service) all(ctx context.Context, query string, args ...any) ([]*Certificate, error) {
	rows, err := s.db.Read().Query(ctx, query, args...)
	return store.All("enroll: list", rows, err, s.scan)
}

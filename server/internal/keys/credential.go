package keys

import (
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// Credential is a key pair with what opens it. Its id is the certificate's.
type Credential struct {
	ID        string
	AccountID string
	Username  string
	Kind      Kind
	Level     int // of security
	Algorithm string
	Remote    string // provider that has the key; empty: it is here
	sealed    []byte
	totp      []byte // sealed; nil where there is none
	// Certificate is how its certificate stood when the credential was read.
	Certificate CertificateStanding
}

// CertificateStanding is what of a certificate may change; the state is empty where
// there is no certificate, and times are milliseconds.
type CertificateStanding struct {
	State               string
	Level               int
	NotBefore, NotAfter int64
}

// Owner is what the key of a credential is sealed for: its row, kind and security level. A row
// in which these were changed, to weaken what is asked for, no longer opens it.
func Owner(id string, kind Kind, level int) string { return fmt.Sprintf("%s %s %d", id, kind, level) }

// rowOf is the row that an Owner names.
func rowOf(owner string) string {
	row, _, _ := strings.Cut(owner, " ")
	return row
}

func (c *Credential) owner() string { return Owner(c.ID, c.Kind, c.Level) }

// codeFollows reports whether a one-time password is checked here after the password. For a key
// at a provider the provider checks it.
func (c *Credential) codeFollows() bool { return c.Kind == OTP && c.Remote == "" }

// HasTOTP says whether one-time passwords are enrolled.
func (c *Credential) HasTOTP() bool { return len(c.totp) > 0 }

// Config of a Store.
type Config struct {
	LockAfter int           // failures in a row; zero means 5
	LockFor   time.Duration // zero means 15 minutes
	DayLimit  int           // failures in a day that lock until unlocked; zero means 50
	Now       func() time.Time
	// Log is the audit log, which credentials are checked against; nil: none is, as in
	// tests of this package.
	Log *audit.Log
	// Locked, where set, runs in the transaction that locks a credential, or
	// the public page for it; certificate is empty where the username does not
	// exist.
	Locked func(ctx context.Context, tx *store.Tx, account, certificate string, public bool) error
}

func (c Config) withDefaults() Config {
	if c.LockAfter == 0 {
		c.LockAfter = 5
	}
	if c.LockFor == 0 {
		c.LockFor = 15 * time.Minute
	}
	if c.DayLimit == 0 {
		c.DayLimit = 50
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Store keeps credentials in the database and judges attempts to use them.
type Store struct {
	db        *store.DB
	vault     *Vault
	master    Sealer
	config    Config
	gates     *gates
	namespace string // of the failures counted here; see Public
}

// NewStore returns the store of credentials.
func NewStore(db *store.DB, vault *Vault, master Sealer, c Config) *Store {
	return &Store{db: db, vault: vault, master: master, config: c.withDefaults(), gates: newGates()}
}

// publicNamespace marks failures counted by Public. No account has this name.
const publicNamespace = "public "

// Public is the store for a page that anyone may open. Its failures are counted separately and lock
// the page only: someone who knows a username but has no token of the account cannot keep the
// holder from signing. A lock of the certificate applies to the page too.
func (s *Store) Public() *Store {
	out := *s
	out.namespace = publicNamespace
	return &out
}

// Guesses is the store that counts guesses at something other than a certificate, separately from all
// others: most wrong ones in a row lock a name for as long as they would lock a certificate.
func (s *Store) Guesses(name string, most int) *Store {
	out := *s
	out.namespace, out.config.LockAfter, out.config.DayLimit, out.config.Locked = name+" ", most, math.MaxInt32, nil
	return &out
}

// Guess runs one judgement for a name; ErrPassword counts as a failure. Unknown names share a
// bounded number of counts.
func (s *Store) Guess(ctx context.Context, name string, known bool, judge func() error) error {
	if !known {
		name = s.slot(name)
	}
	return s.attempt(ctx, holder{namespace: s.namespace, username: name}, true, judge)
}

// Vault that the store opens keys with.
func (s *Store) Vault() *Vault { return s.vault }

// New describes a credential to be stored. Sealed comes from the vault.
type New struct {
	ID, AccountID, Username string
	Kind                    Kind
	Level                   int
	Public                  crypto.PublicKey
	Sealed                  []byte
	TokenKey                string // names the key in the token; empty: it is in Sealed
	TOTPSecret              string // empty: none
	Remote                  string // provider that has the key
	RemoteToken             []byte // of the holder there, from Remote.SealToken
}

// Add stores a credential. A key pair that is there already, in whatever kind,
// is refused with fault 310.
func (s *Store) Add(ctx context.Context, tx *store.Tx, n New) error {
	pub, err := publicBytes(n.Public)
	if err != nil {
		return err
	}
	totp, err := s.sealTOTP(n.ID, n.TOTPSecret)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `insert into credentials (id, account_id, username, kind, level, algorithm, public_key, sealed, token_key, totp, created_at, remote, remote_token)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		n.ID, n.AccountID, n.Username, string(n.Kind), n.Level, AlgorithmOf(n.Public), pub, n.Sealed, n.TokenKey, totp, store.Millis(s.config.Now()), n.Remote, n.RemoteToken)
	if store.IsConflict(err) && n.Remote != "" {
		return fault.New(fault.BadField, "the key is in use already, by another certificate here: revoke that one first")
	}
	if store.IsConflict(err) {
		return fault.New(fault.BadField, "the key pair or the username is in use already: one key pair serves one kind")
	}
	if err != nil {
		return fmt.Errorf("add credential: %w", err)
	}
	return s.logCredential(ctx, tx, n.ID, nil)
}

func (s *Store) sealTOTP(id, secret string) ([]byte, error) {
	if secret == "" {
		return nil, nil
	}
	return s.master.SealFor(totpPurpose, id, []byte(secret))
}

// Enrol replaces the secret of the one-time passwords: a lost device.
func (s *Store) Enrol(ctx context.Context, tx *store.Tx, id, secret string) error {
	totp, err := s.sealTOTP(id, secret)
	if err != nil {
		return err
	}
	if err := intent.Forbid(ctx, tx, intent.Certificate, id); err != nil {
		return err
	}
	if _, err = tx.Exec(ctx, `update credentials set totp = $1, totp_step = 0 where id = $2`, totp, id); err != nil {
		return err
	}
	return s.logCredential(ctx, tx, id, nil)
}

const totpPurpose = "totp"

// A credential is read together with the standing of its certificate: every use of the one needs
// the other.
const credentialColumns = `c.id, c.account_id, c.username, c.kind, c.level, c.algorithm, c.sealed, c.totp, c.remote,
	coalesce(k.state, ''), coalesce(k.security_level, 0), coalesce(k.not_before, 0), coalesce(k.not_after, 0)`

const fromCredentials = ` from credentials c left join certificates k on k.id = c.id `

const selectCredential = `select ` + credentialColumns + fromCredentials

// fields are where credentialColumns go.
func (c *Credential) fields() []any {
	k := &c.Certificate
	return []any{&c.ID, &c.AccountID, &c.Username, &c.Kind, &c.Level, &c.Algorithm, &c.sealed, &c.totp, &c.Remote, &k.State, &k.Level, &k.NotBefore, &k.NotAfter}
}

func scanCredential(row store.Row) (*Credential, error) {
	c := &Credential{}
	err := row.Scan(c.fields()...)
	if errors.Is(err, store.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read credential: %w", err)
	}
	return c, nil
}

// findWithLock is Find with the count of failures, in one query.
func (s *Store) findWithLock(ctx context.Context, account, username string) (*Credential, *lock, error) {
	c, l := new(Credential), new(lock)
	var hard int64
	err := s.db.Read().QueryRow(ctx, `select `+credentialColumns+`, coalesce(l.failures, 0), coalesce(l.locked_until, 0), coalesce(l.hard, 0)
		`+fromCredentials+` left join credential_locks l on l.id = $3
		where c.account_id = $1 and c.username = $2`, account, username, lockID("", account, username)).
		Scan(append(c.fields(), &l.failures, &l.until, &hard)...)
	if errors.Is(err, store.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read credential: %w", err)
	}
	l.hard = hard != 0
	return c, l, nil
}

// Find returns a credential of an account by its username, nil when there is
// none.
func (s *Store) Find(ctx context.Context, account, username string) (*Credential, error) {
	return scanCredential(s.db.Read().QueryRow(ctx, selectCredential+`where c.account_id = $1 and c.username = $2`, account, username))
}

// ByID returns a credential, nil when there is none.
func (s *Store) ByID(ctx context.Context, id string) (*Credential, error) {
	return scanCredential(s.db.Read().QueryRow(ctx, selectCredential+`where c.id = $1`, id))
}

// Uses reports whether this server uses a key or has used it: its own keys, keys at providers,
// and revoked ones.
func (s *Store) Uses(ctx context.Context, public crypto.PublicKey) (used bool, err error) {
	der, err := publicBytes(public)
	if err != nil {
		return false, nil //nolint:nilerr // of a kind that is not kept here
	}
	err = s.db.Read().QueryRow(ctx, `select exists (select 1 from credentials where public_key = $1)`, der).Scan(&used)
	if err != nil {
		return false, fmt.Errorf("look for a key: %w", err)
	}
	return used, nil
}

// Version names the password and the device of a credential as they were when
// it was read: a new one of either is another version, and so is an erased key.
func (c *Credential) Version() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d ", len(c.sealed))
	h.Write(c.sealed)
	h.Write(c.totp)
	return hex.EncodeToString(h.Sum(nil))
}

// CheckIn checks a credential again inside a transaction, with the transaction's next
// questions: fault 111 while it is locked, ErrPassword if it is gone or of another version than
// the request was made with, ErrStanding if the log has another version or a hold.
func (s *Store) CheckIn(ctx context.Context, tx *store.Tx, c *Credential, version string) error {
	err := tx.Ask(ctx, func(row store.Row) error {
		var now Credential
		var l lock
		var hard int64
		err := row.Scan(&now.sealed, &now.totp, &l.until, &hard)
		switch at := store.Millis(s.config.Now()); {
		case errors.Is(err, store.ErrNoRows):
			return ErrPassword
		case err != nil:
			return fmt.Errorf("read credential: %w", err)
		case hard != 0 || l.until > at:
			l.hard = hard != 0
			return s.locked(&l, at)
		case now.Version() != version:
			return ErrPassword
		}
		return nil
	}, `select c.sealed, c.totp, coalesce(l.locked_until, 0), coalesce(l.hard, 0)
		from credentials c left join credential_locks l on l.id = $2 where c.id = $1`, c.ID, lockID("", c.AccountID, c.Username))
	if err != nil {
		return err
	}
	return s.checkLogged(ctx, tx, c.ID, version, false)
}

// Usernames of an account's certificates, by their ids.
func (s *Store) Usernames(ctx context.Context, account string) (map[string]string, error) {
	names := map[string]string{}
	rows, err := s.db.Read().Query(ctx, `select id, username from credentials where account_id = $1`, account)
	return names, store.Each("read usernames", rows, err, func(r store.Row) error {
		var id, name string
		err := r.Scan(&id, &name)
		names[id] = name
		return err
	})
}

// ByUsername returns every credential of a username, whosever it is: for the
// operator's command line.
func (s *Store) ByUsername(ctx context.Context, username string) ([]*Credential, error) {
	rows, err := s.db.Read().Query(ctx, selectCredential+`where c.username = $1`, username)
	return store.All("read credentials", rows, err, scanCredential)
}

// TOTPSecret unseals the secret of the one-time passwords: for the sandbox,
// where the command line prints codes.
func (s *Store) TOTPSecret(c *Credential) (string, error) {
	text, err := s.master.UnsealFor(totpPurpose, c.ID, c.totp)
	if err != nil {
		return "", fmt.Errorf("unseal one-time passwords: %w", err)
	}
	return string(text), nil
}

// Drop erases a credential: the key is gone for good.
func (s *Store) Drop(ctx context.Context, tx *store.Tx, id string) error {
	if err := intent.Forbid(ctx, tx, intent.Certificate, id); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `delete from credentials where id = $1`, id)
	tx.OnCommit(func() { s.vault.Forget(id) })
	return err
}

// Erase removes the key of a credential for good, from its row and from memory. The password
// can still be checked, so that a caller who knows it learns that the certificate is revoked,
// and others learn nothing. A key in a token is destroyed afterwards: see DestroyErased.
func (s *Store) Erase(ctx context.Context, tx *store.Tx, id string) error {
	if err := intent.Forbid(ctx, tx, intent.Certificate, id); err != nil {
		return err
	}
	c, err := scanCredential(tx.QueryRow(ctx, selectCredential+`where c.id = $1`, id))
	if err != nil || c == nil {
		return err
	}
	sealed, err := s.vault.Erase(c.owner(), c.sealed)
	if err != nil {
		return err
	}
	// A key at a provider can be taken into use again, with a new certificate here.
	if _, err := tx.Exec(ctx, `update credentials set sealed = $1, remote = case when remote = '' then '' else '-' end, remote_token = null where id = $2`, sealed, id); err != nil {
		return fmt.Errorf("erase key: %w", err)
	}
	tx.OnCommit(func() { s.vault.Forget(id) })
	return s.logCredential(ctx, tx, id, nil)
}

// DestroyErased destroys the key of an erased credential in the token, where it
// is kept there. An error says that the token still has it.
func (s *Store) DestroyErased(ctx context.Context, id string) error {
	var name string
	err := s.db.Read().QueryRow(ctx, `select token_key from credentials where id = $1`, id).Scan(&name)
	if errors.Is(err, store.ErrNoRows) || err == nil && name == "" {
		return nil
	}
	if err == nil {
		err = s.vault.destroy(name)
	}
	if err != nil {
		return fmt.Errorf("destroy key in token: %w", err)
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `update credentials set token_key = '' where id = $1`, id); err != nil {
			return err
		}
		return s.logCredential(ctx, tx, id, nil)
	})
}

// Open opens the key of a credential whose password was judged before: in a
// job, after the answer. It counts no failures; a password that no longer fits
// is ErrPassword.
func (s *Store) Open(ctx context.Context, c *Credential, password string) (crypto.Signer, error) {
	return s.vault.Open(ctx, c.owner(), c.sealed, password)
}

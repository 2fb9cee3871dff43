package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// The audit log knows of each credential which password and device it has, and
// whether it is on hold. Who writes to the database can put an older row back,
// with the key that was erased or the device that was replaced, and every seal
// in it is good. So the row is compared with the log wherever a key, a code or a
// password is used, and an attacker has to forge the log too, which
// audit verify finds. docs/security-model.md says what that leaves.

// Kinds of events: a credential was made or changed; a one-time password was used.
const (
	KindKey  = "certificate-key"
	KindCode = "certificate-code"
)

// Standing is the log's entry for the state of a credential.
type Standing struct {
	Credential string `json:"credential"` // version; see Credential.Version
	Held       bool   `json:"held"`       // suspended, expired or revoked
	Row        string `json:"row"`        // digest of what else its row says
}

// usedCode is the log's entry for a used one-time password.
type usedCode struct {
	Device string `json:"device"`
	Step   int64  `json:"step"`
}

// ErrStanding says that a credential's row differs from the log, or that it is on hold.
var ErrStanding = fault.New(fault.WrongState, "the audit log says that the certificate is on hold, or has another password or device")

// errUnlogged is a credential without an event in the log.
var errUnlogged = fmt.Errorf("%w: it does not know it", ErrStanding)

// device names a one-time-password device.
func (c *Credential) device() string {
	sum := sha256.Sum256(c.totp)
	return hex.EncodeToString(sum[:])
}

// last has judge look at the credential's last event, with the transaction's next questions.
func (s *Store) last(ctx context.Context, tx *store.Tx, id string, judge func(Standing) error) error {
	if s.config.Log == nil {
		return nil
	}
	return s.config.Log.Last(ctx, tx, id, KindKey, func(e *audit.Entry) error {
		if e == nil {
			return errUnlogged
		}
		now, err := detailOf[Standing](e)
		if err != nil {
			return err
		}
		return judge(now)
	})
}

// detailOf decodes the detail of an event.
func detailOf[T any](e *audit.Entry) (v T, err error) {
	_, detail := e.Text()
	if err := json.Unmarshal(detail, &v); err != nil {
		return v, fmt.Errorf("keys: event %s: %w", e.ID, err)
	}
	return v, nil
}

// checkLogged refuses a version that is not the one in the log, or that is on hold.
func (s *Store) checkLogged(ctx context.Context, tx *store.Tx, id, version string, heldToo bool) error {
	return s.last(ctx, tx, id, func(now Standing) error {
		if now.Credential != version || now.Held && !heldToo {
			return ErrStanding
		}
		return nil
	})
}

// logCredential logs what a credential is from now on. Its hold stays as it was unless that is
// what changes.
func (s *Store) logCredential(ctx context.Context, tx *store.Tx, id string, hold *bool) error {
	if s.config.Log == nil {
		return nil
	}
	c, err := scanCredential(tx.QueryRow(ctx, selectCredential+`where c.id = $1`, id))
	if err != nil || c == nil {
		return err
	}
	var row traits
	if err := tx.QueryRow(ctx, selectTraits+`where id = $1`, id).Scan(row.fields()...); err != nil {
		return fmt.Errorf("keys: read credential: %w", err)
	}
	now, text := Standing{Credential: c.Version(), Row: row.digest()}, "the key, its password or its device is new"
	if hold != nil {
		now.Held, text = *hold, "the key is not on hold any more"
		if now.Held {
			text = "the key is on hold"
		}
	} else {
		err := s.last(ctx, tx, id, func(before Standing) error {
			now.Held = before.Held
			return nil
		})
		if err == nil {
			err = tx.Answered(ctx)
		}
		if err != nil && !errors.Is(err, errUnlogged) {
			return err
		}
	}
	return s.config.Log.Append(ctx, tx, audit.Event{Account: c.AccountID, Record: id, Kind: KindKey, Log: text, Detail: now})
}

// traits are the columns of a credential beside its key, password and device. The sealed key is
// bound to some of them; the rest, and all of an erased key, are protected by the log alone.
type traits struct {
	username, kind, algorithm, tokenKey, remote string
	public                                      []byte
	level, created                              int64
}

const traitColumns = `username, kind, algorithm, token_key, remote, public_key, level, created_at`

const selectTraits = `select ` + traitColumns + ` from credentials `

func (t *traits) fields() []any {
	return []any{&t.username, &t.kind, &t.algorithm, &t.tokenKey, &t.remote, &t.public, &t.level, &t.created}
}

func (t *traits) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %x %d %d", t.username, t.kind, t.algorithm, t.tokenKey, t.remote, t.public, t.level, t.created))
	return hex.EncodeToString(sum[:16])
}

// Hold logs that a credential is on hold, or no longer is. A certificate without a credential
// is ignored.
func (s *Store) Hold(ctx context.Context, tx *store.Tx, id string, held bool) error {
	return s.logCredential(ctx, tx, id, &held)
}

// useCode makes a code good only once whatever the row says: its step must be after those that
// the log has for the device.
func (s *Store) useCode(ctx context.Context, tx *store.Tx, c *Credential, step int64) error {
	if s.config.Log == nil {
		return nil
	}
	err := s.config.Log.Last(ctx, tx, c.ID, KindCode, func(e *audit.Entry) error {
		if e == nil {
			return nil
		}
		before, err := detailOf[usedCode](e)
		if err == nil && before.Device == c.device() && before.Step >= step {
			err = ErrOTP
		}
		return err
	})
	if err == nil {
		err = s.checkLogged(ctx, tx, c.ID, c.Version(), true)
	}
	if err == nil {
		err = tx.Answered(ctx)
	}
	if err != nil {
		return err
	}
	return s.config.Log.Append(ctx, tx, audit.Event{
		Account: c.AccountID, Record: c.ID, Kind: KindCode, Log: "a one-time password was used", Detail: usedCode{c.device(), step},
	})
}

// Book is the table of credentials, as audit verification compares it with the log.
type Book struct{}

// Owns says no: the events are those of certificates.
func (Book) Owns(string) bool { return false }

// Has says no.
func (Book) Has(context.Context, store.Querier, []any) ([]string, error) { return nil, nil }

// Page returns the credentials that follow an id.
func (Book) Page(ctx context.Context, q store.Querier, after string, limit int) ([]audit.Record, error) {
	rows, err := q.Query(ctx, `select id, account_id, sealed, totp, totp_step, `+traitColumns+` from credentials where id > $1 order by id limit $2`, after, limit)
	return store.All("keys: read credentials", rows, err, func(r store.Row) (audit.Record, error) {
		c := &Credential{}
		var step int64
		var row traits
		err := r.Scan(append([]any{&c.ID, &c.AccountID, &c.sealed, &c.totp, &step}, row.fields()...)...)
		return audit.Record{ID: c.ID, Account: c.AccountID, Fits: func(_ store.Querier, events []*audit.Entry) string { return fits(c, step, row.digest(), events) }}, err
	})
}

// fits returns how a credential and its events disagree, or "".
func fits(c *Credential, step int64, row string, events []*audit.Entry) string {
	version, traits, steps := "", "", map[string]int64{}
	for _, e := range events {
		switch e.Kind {
		case KindKey:
			now, err := detailOf[Standing](e)
			if err != nil {
				return err.Error()
			}
			version, traits = now.Credential, now.Row
		case KindCode:
			now, err := detailOf[usedCode](e)
			if err != nil {
				return err.Error()
			}
			if now.Step <= steps[now.Device] {
				return "a one-time password was used twice"
			}
			steps[now.Device] = now.Step
		}
	}
	switch {
	case version != c.Version():
		return "its key, password or device is another than its events say: an older one was put back"
	case traits != row:
		return "its username, its kind, its level, its public key or where its key is was changed"
	case step != steps[c.device()]:
		return "its events say something else about the last one-time password"
	}
	return ""
}

// Used returns what is wrong with a use of a key, or "" where it was permitted at that time. of
// are the credential's events; version is empty where the text of the use was erased.
func Used(use *audit.Entry, version string, of []*audit.Entry) string {
	at := slices.IndexFunc(of, func(e *audit.Entry) bool { return use.Before(e) })
	if at < 0 {
		at = len(of)
	}
	if at == 0 {
		return "a key was used that the log did not know"
	}
	then, err := detailOf[Standing](of[at-1])
	switch {
	case err != nil:
		return err.Error()
	case then.Held:
		return "the key was used while the certificate was suspended, or after it was revoked or had expired"
	case version != "" && version != then.Credential:
		return "the key was used with a password or a device that had been replaced"
	}
	return ""
}

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
// in it is good. So the row is held against the log wherever a key, a code or a
// password is used, and whoever would pass has to forge the log too, which
// audit verify finds. docs/security-model.md says what that leaves.

// Kinds of events: a credential was made or changed; a one-time password was used.
const (
	KindKey  = "certificate-key"
	KindCode = "certificate-code"
)

// Standing is what the log tells of a credential.
type Standing struct {
	Credential string `json:"credential"` // version; see Credential.Version
	Held       bool   `json:"held"`       // suspended, expired or revoked
	Row        string `json:"row"`        // digest of what else its row says
}

// usedCode is what the log tells of a one-time password.
type usedCode struct {
	Device string `json:"device"`
	Step   int64  `json:"step"`
}

// ErrStanding says that the row of a credential is not what the log tells of it,
// or that it is on hold.
var ErrStanding = fault.New(fault.WrongState, "the audit log says that the certificate is on hold, or has another password or device")

// errUntold is a credential that the log does not know.
var errUntold = fmt.Errorf("%w: it does not know it", ErrStanding)

// device names a one-time-password device.
func (c *Credential) device() string {
	sum := sha256.Sum256(c.totp)
	return hex.EncodeToString(sum[:])
}

// last has what the log tells of a credential judged, with what the transaction
// asks next.
func (s *Store) last(ctx context.Context, tx *store.Tx, id string, judge func(Standing) error) error {
	if s.config.Log == nil {
		return nil
	}
	return s.config.Log.Last(ctx, tx, id, KindKey, func(e *audit.Entry) error {
		if e == nil {
			return errUntold
		}
		told, err := told[Standing](e)
		if err != nil {
			return err
		}
		return judge(told)
	})
}

func told[T any](e *audit.Entry) (v T, err error) {
	_, detail := e.Text()
	if err := json.Unmarshal(detail, &v); err != nil {
		return v, fmt.Errorf("keys: event %s: %w", e.ID, err)
	}
	return v, nil
}

// checkTold refuses a version that the log does not tell of, or that is on hold.
func (s *Store) checkTold(ctx context.Context, tx *store.Tx, id, version string, heldToo bool) error {
	return s.last(ctx, tx, id, func(now Standing) error {
		if now.Credential != version || now.Held && !heldToo {
			return ErrStanding
		}
		return nil
	})
}

// logCredential writes down what a credential is from now on. It stays on hold, or not,
// unless that is what changes.
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
		if err != nil && !errors.Is(err, errUntold) {
			return err
		}
	}
	return s.config.Log.Append(ctx, tx, audit.Event{Account: c.AccountID, Record: id, Kind: KindKey, Log: text, Detail: now})
}

// traits are what a credential is beside its key, password and device. The key is
// bound to some of them; the rest, of an erased key all, the log alone holds.
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

// Hold writes down that a credential is on hold, or is not any more. A
// certificate that has none yet is passed over.
func (s *Store) Hold(ctx context.Context, tx *store.Tx, id string, held bool) error {
	return s.logCredential(ctx, tx, id, &held)
}

// spend makes a code good once, whatever the row says: its step must be behind
// those that the log has of the device.
func (s *Store) spend(ctx context.Context, tx *store.Tx, c *Credential, step int64) error {
	if s.config.Log == nil {
		return nil
	}
	err := s.config.Log.Last(ctx, tx, c.ID, KindCode, func(e *audit.Entry) error {
		if e == nil {
			return nil
		}
		before, err := told[usedCode](e)
		if err == nil && before.Device == c.device() && before.Step >= step {
			err = ErrOTP
		}
		return err
	})
	if err == nil {
		err = s.checkTold(ctx, tx, c.ID, c.Version(), true)
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

// Book is the table of credentials, as the audit log is held against it.
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

// fits says what is wrong between a credential and its events.
func fits(c *Credential, step int64, row string, events []*audit.Entry) string {
	version, traits, steps := "", "", map[string]int64{}
	for _, e := range events {
		switch e.Kind {
		case KindKey:
			now, err := told[Standing](e)
			if err != nil {
				return err.Error()
			}
			version, traits = now.Credential, now.Row
		case KindCode:
			now, err := told[usedCode](e)
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

// Used says what is wrong with a use of a key, given what the log tells of the
// credential: nothing, where the use was permitted then. version is empty where
// the text of the use is gone.
func Used(use *audit.Entry, version string, of []*audit.Entry) string {
	at := slices.IndexFunc(of, func(e *audit.Entry) bool { return use.Before(e) })
	if at < 0 {
		at = len(of)
	}
	if at == 0 {
		return "a key was used that the log did not know"
	}
	then, err := told[Standing](of[at-1])
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

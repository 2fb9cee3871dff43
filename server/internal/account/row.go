package account

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// accountRow is the row of an account. It carries a keyed digest, so a row that was written or
// changed by anybody else, to become an administrator, to get another key or to lose its quota,
// is rejected.
type accountRow struct {
	id, email      string
	keyHash        []byte
	admin, sandbox bool
	quota          string
	created        int64
}

const accountColumns = `a.id, a.email, a.key_hash, a.admin, a.sandbox, a.quota, a.created_at, a.mac`

// fields are where accountColumns go.
func (r *accountRow) fields(mac *[]byte) []any {
	return []any{&r.id, &r.email, &r.keyHash, &r.admin, &r.sandbox, &r.quota, &r.created, mac}
}

func (s *Service) accountMark(r *accountRow) []byte {
	sum := s.master.MAC("account", fmt.Appendf(nil, "%q %q %x %t %t %q %d", r.id, r.email, r.keyHash, r.admin, r.sandbox, r.quota, r.created))
	return sum[:]
}

// genuine says that this service wrote a row.
func (s *Service) genuine(ctx context.Context, r *accountRow, mac []byte) bool {
	if hmac.Equal(mac, s.accountMark(r)) {
		return true
	}
	s.cfg.Log.WarnContext(ctx, "the row of an account was not written by this service: it is no account", "account", r.id)
	return false
}

// errForged is returned for an account whose row was changed.
var errForged = errors.New("account: the row of the account was changed in the database")

func (s *Service) account(ctx context.Context, row store.Row) (r accountRow, err error) {
	var mac []byte
	if err := row.Scan(r.fields(&mac)...); err != nil {
		return r, err
	}
	if !s.genuine(ctx, &r, mac) {
		return r, errForged
	}
	return r, nil
}

func (r *accountRow) account() Account {
	return Account{ID: r.id, Email: r.email, Admin: r.admin, Sandbox: r.sandbox, CreatedAt: store.Time(r.created)}
}

// change updates an account's row together with its digest.
func (s *Service) change(ctx context.Context, id string, to func(*accountRow)) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		r, err := s.account(ctx, tx.QueryRow(ctx, `select `+accountColumns+` from accounts a where a.id = $1`, id))
		if errors.Is(err, store.ErrNoRows) {
			return fault.New(fault.NotFound, "there is no such account")
		}
		if err != nil {
			return err
		}
		before := s.accountMark(&r)
		to(&r)
		err = tx.Expect(ctx, 1, errors.New("account: it was changed meanwhile"), `update accounts set key_hash = $1, quota = $2, mac = $3 where id = $4 and mac = $5`,
			r.keyHash, r.quota, s.accountMark(&r), id, before)
		if err != nil {
			return err
		}
		return s.logAccount(ctx, tx, &r, kindChanged, "account changed")
	})
}

// Kinds of events of accounts.
const (
	eventPrefix = "account-"
	kindCreated = eventPrefix + "created"
	kindChanged = eventPrefix + "changed"
)

// standing is the log's entry for the state of an account.
type standing struct {
	Admin   bool   `json:"admin"`
	Sandbox bool   `json:"sandbox"`
	Row     string `json:"row"` // what else it is: the digest of its row
}

func (s *Service) standing(r *accountRow) standing {
	return standing{r.admin, r.sandbox, hex.EncodeToString(s.accountMark(r)[:16])}
}

// logAccount logs what an account is from now on.
func (s *Service) logAccount(ctx context.Context, tx *store.Tx, r *accountRow, kind, text string) error {
	if s.Log == nil {
		return nil
	}
	return s.Log.Append(ctx, tx, audit.Event{Account: r.id, Record: r.id, Kind: kind, Log: text, Detail: s.standing(r)})
}

// current reports whether the row of an account is what the log last said: an API key that was
// replaced stays invalid if the old row is restored.
func (s *Service) current(ctx context.Context, r *accountRow) (bool, error) {
	if s.Log == nil {
		return true, nil
	}
	events, err := s.Log.Told(ctx, s.db.Read(), r.id, `kind in ('`+kindCreated+`', '`+kindChanged+`')`)
	if err != nil || len(events) == 0 {
		return false, err
	}
	return standingOf(events[len(events)-1]) == s.standing(r), nil
}

func standingOf(e *audit.Entry) (d standing) {
	_, detail := e.Text()
	if json.Unmarshal(detail, &d) != nil {
		return standing{}
	}
	return d
}

// WasAdmin reports whether an account was an administrator's when an event happened: the log
// must say so before it.
func WasAdmin(ctx context.Context, log *audit.Log, q store.Querier, account string, then *audit.Entry) (bool, error) {
	events, err := log.Told(ctx, q, account, `kind = '`+kindCreated+`'`)
	if err != nil {
		return false, err
	}
	for _, e := range events {
		if standingOf(e).Admin && e.Account == account && e.Before(then) {
			return true, nil
		}
	}
	return false, nil
}

// Book is the table of accounts, as audit verification compares it with the log.
type Book struct{ Service *Service }

// Owns says that an event of a kind is about an account.
func (Book) Owns(kind string) bool { return strings.HasPrefix(kind, eventPrefix) }

// Has returns those of the ids that are accounts.
func (Book) Has(ctx context.Context, q store.Querier, ids []any) ([]string, error) {
	return audit.HasIn(ctx, q, "accounts", ids)
}

// Page returns the accounts that follow an id.
func (b Book) Page(ctx context.Context, q store.Querier, after string, limit int) ([]audit.Record, error) {
	rows, err := q.Query(ctx, `select `+accountColumns+` from accounts a where a.id > $1 order by a.id limit $2`, after, limit)
	return store.All("account: read accounts", rows, err, func(row store.Row) (audit.Record, error) {
		r, err := b.Service.account(ctx, row)
		if err != nil && !errors.Is(err, errForged) {
			return audit.Record{}, err
		}
		return audit.Record{ID: r.id, Account: r.id, Fits: func(_ store.Querier, events []*audit.Entry) string {
			if err != nil {
				return "the row of the account was changed"
			}
			now := standing{}
			for _, e := range events {
				if e.Kind == kindCreated || e.Kind == kindChanged {
					now = standingOf(e)
				}
			}
			if now == b.Service.standing(&r) {
				return ""
			}
			return "its events say that there is no such account, or that it was changed since"
		}}, nil
	})
}

// Package member knows the people of an account who use the console: who they are,
// what each may do, how they prove who they are.
//
// A person acts by a token of the account, the seat, whose secret is known to no one. So the rules
// for tokens hold for people too, and the services that operations call need not know the
// difference. The row of a person is sealed under the master key and checked against the audit log,
// so that writing to the database, or restoring an older row, makes no one an owner.
package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/member/passkey"
	"rogito.dev/rogito/server/internal/store"
)

// Role is what a person may do in an account.
type Role string

// Roles.
const (
	Owner    Role = "owner"    // everything
	Signer   Role = "signer"   // signs, and asks others to sign
	Reviewer Role = "reviewer" // decides on identifications, where the account may
	Reader   Role = "reader"   // looks
)

// Roles are all of them, the mightiest first.
var Roles = []Role{Owner, Signer, Reviewer, Reader}

// scopes of the seat of each role. Where scopes cannot separate two acts, such as a review and an
// order, the console goes by the role.
var scopes = map[Role][]string{
	Owner: {account.AllScopes},
	Signer: {
		"DELETE:*/approvals", "DELETE:*/signatures", "DELETE:*/templates", "GET:*/*", "POST:*/EU-AES", "POST:*/EU-QES_automatic", "POST:*/EU-QES_eseal", "POST:*/EU-QES_otp", "POST:*/EU-SES",
		"POST:*/approvals", "POST:*/callbacks", "POST:*/templates", "POST:*/verify",
	},
	Reviewer: {"GET:*/*", "POST:*/certificates", "POST:*/verify"},
	Reader:   {"GET:*/*", "POST:*/verify"},
}

// Member is a person of an account.
type Member struct {
	ID        string        `json:"id"`
	Account   string        `json:"account"`
	Email     string        `json:"email"`
	Name      string        `json:"name,omitempty"`
	Role      Role          `json:"role"`
	Seat      string        `json:"seat,omitempty"`    // id of the token; empty: the invitation is open
	Lineage   string        `json:"lineage,omitempty"` // line of the token that the first of them was invited with
	Nonce     string        `json:"nonce,omitempty"`   // of the link that is open; empty: none
	Until     time.Time     `json:"until,omitzero"`    // its end
	Password  []byte        `json:"password,omitempty"`
	TOTP      string        `json:"totp,omitempty"`
	Passkeys  []passkey.Key `json:"passkeys,omitempty"`
	CreatedAt time.Time     `json:"createdAt"`
	UpdatedAt time.Time     `json:"updatedAt"`

	sealed []byte // as it was read
}

// Joined says that a person has come in.
func (m *Member) Joined() bool { return m.Seat != "" }

// Called is the name of a person, or the address.
func (m *Member) Called() string {
	if m.Name != "" {
		return m.Name
	}
	return m.Email
}

func (m *Member) owner() string { return "member " + m.Account + " " + m.ID }

// Parts are what the service is made of.
type Parts struct {
	DB       *store.DB
	Master   *master.Key
	Accounts *account.Service
	Keys     *keys.Store
	Log      *audit.Log
	Jobs     *job.Queue
	Mail     *mail.Sender  // nil: none is sent
	URL      func() string // where people reach the server
	Now      func() time.Time
}

// Service keeps the people of all accounts.
type Service struct {
	Parts
	guesses *keys.Store // counts wrong passwords and codes
}

// mostTries is how many wrong passwords or codes in a row lock a person out, for a
// quarter of an hour.
const mostTries = 10

// most people of an account.
const most = 200

// New returns the service.
func New(p Parts) *Service {
	if p.Now == nil {
		p.Now = time.Now
	}
	s := &Service{Parts: p, guesses: p.Keys.Guesses("person", mostTries)}
	p.Accounts.Kin = s.kin
	return s
}

// Members are the people of all accounts, as the audit log keeps track of them.
var Members = &audit.Register{
	Kind: "member", Table: "members", Key: "id", Name: "person",
	Select: `select id, account_id, email, seat, sealed, updated_at from members`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r := &audit.Registered{}
		var email, seat string
		var sealed []byte
		var updated int64
		err := row.Scan(&r.ID, &r.Account, &email, &seat, &sealed, &updated)
		r.Traits = []any{r.Account, email, seat, sealed, updated}
		return r, err
	},
}

const purpose = "member"

const selectMembers = `select id, account_id, email, seat, sealed, updated_at from members `

// errForged is returned for a person whose row was changed.
var errForged = errors.New("member: the row of a person was changed in the database")

func (s *Service) scan(row store.Row) (*Member, error) {
	var id, acct, email, seat string
	var sealed []byte
	var updated int64
	if err := row.Scan(&id, &acct, &email, &seat, &sealed, &updated); err != nil {
		return nil, err
	}
	m := &Member{ID: id, Account: acct}
	text, err := s.Master.UnsealFor(purpose, m.owner(), sealed)
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil || m.ID != id || m.Account != acct || m.Email != email || m.Seat != seat || store.Millis(m.UpdatedAt) != updated {
		return nil, errForged
	}
	m.sealed = sealed
	return m, nil
}

// genuine refuses a row that does not match its last event in the log.
func (s *Service) genuine(ctx context.Context, m *Member, err error) (*Member, error) {
	switch {
	case errors.Is(err, store.ErrNoRows), errors.Is(err, errForged):
		return nil, noMember()
	case err != nil:
		return nil, fmt.Errorf("read person: %w", err)
	}
	holds, err := Members.Holds(ctx, s.DB.Read(), s.Log, m.ID)
	if err == nil && !holds {
		err = noMember()
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func noMember() error { return fault.New(fault.NotFound, "there is no such person") }

// Find is a person of an account; fault 140 for none.
func (s *Service) Find(ctx context.Context, acct, id string) (*Member, error) {
	m, err := s.scan(s.DB.Read().QueryRow(ctx, selectMembers+`where id = $1 and account_id = $2`, id, acct))
	return s.genuine(ctx, m, err)
}

// BySeat is the person who acts by a token; nil if the token is not a seat. A row that was changed
// is an error, so that the token cannot be used.
func (s *Service) BySeat(ctx context.Context, token string) (*Member, error) {
	m, err := s.scan(s.DB.Read().QueryRow(ctx, selectMembers+`where seat = $1`, token))
	if errors.Is(err, store.ErrNoRows) {
		return nil, nil
	}
	return s.genuine(ctx, m, err)
}

// kin is the line of the token that a person was invited with: none of the people invited with
// it counts as a second person for that token, or for one another.
func (s *Service) kin(ctx context.Context, seat string) (string, error) {
	m, err := s.BySeat(ctx, seat)
	if err != nil || m == nil {
		return "", err
	}
	return m.Lineage, nil
}

// List is the people of an account, in the order in which they were invited.
func (s *Service) List(ctx context.Context, acct string) ([]*Member, error) {
	rows, err := s.DB.Read().Query(ctx, selectMembers+`where account_id = $1 order by id limit $2`, acct, most)
	return store.All("read people", rows, err, s.scan)
}

// save stores a new or changed person and logs the change, unless the row changed since it was
// read.
func (s *Service) save(ctx context.Context, tx *store.Tx, m *Member) error {
	fresh := m.sealed == nil
	m.UpdatedAt = s.Now().UTC().Truncate(time.Millisecond)
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sealed, err := s.Master.SealFor(purpose, m.owner(), text)
	if err != nil {
		return err
	}
	if fresh {
		_, err = tx.Exec(ctx, `insert into members (id, account_id, email, seat, sealed, updated_at) values ($1, $2, $3, $4, $5, $6)`, m.ID, m.Account, m.Email, m.Seat, sealed, store.Millis(m.UpdatedAt))
	} else {
		err = tx.Expect(ctx, 1, fault.New(fault.WrongState, "this person was changed meanwhile: try again"),
			`update members set email = $1, seat = $2, sealed = $3, updated_at = $4 where id = $5 and sealed = $6`, m.Email, m.Seat, sealed, store.Millis(m.UpdatedAt), m.ID, m.sealed)
	}
	if err != nil {
		return err
	}
	tx.OnCommit(func() { m.sealed = sealed })
	return Members.Write(ctx, tx, s.Log, m.ID)
}

// logEvent writes to the audit log what happened to a person, and who did it.
func (s *Service) logEvent(ctx context.Context, tx *store.Tx, m *Member, kind, text string, detail map[string]any) error {
	if s.Log == nil {
		return nil
	}
	if detail == nil {
		detail = map[string]any{}
	}
	detail["person"], detail["role"] = m.ID, m.Role
	if c := account.CallerFrom(ctx); c != nil {
		detail["by"] = c.Actor()
	} else if detail["by"] == nil {
		detail["by"] = "operator"
	}
	return s.Log.Append(ctx, tx, audit.Event{Account: m.Account, Record: m.ID, Kind: "member-" + kind, Log: text, Detail: detail})
}

// checkName takes a name that people can read.
func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	}) {
		return "", fault.New(fault.BadField, "the name has more than 100 characters, or some that cannot be read")
	}
	return name, nil
}

// ChangeRole gives a person another role, which counts for what they do from now on. People cannot
// change their own.
func (s *Service) ChangeRole(ctx context.Context, by *account.Caller, id string, to Role) (*Member, error) {
	m, err := s.Find(ctx, by.AccountID, id)
	if err != nil {
		return nil, err
	}
	if scopes[to] == nil {
		return nil, fault.New(fault.BadField, "there is no such role")
	}
	if m.ID == by.Member {
		return nil, fault.New(fault.WrongState, "nobody changes their own role: another owner does")
	}
	if err := errors.Join(s.Accounts.MayGive(ctx, by, scopes[to]), s.Accounts.MayGive(ctx, by, scopes[m.Role])); err != nil {
		return nil, err
	}
	if m.Joined() { // the token first: what it lacks is refused, whatever the row says
		_, err := s.Accounts.ChangeToken(ctx, &account.Caller{AccountID: m.Account}, "", m.Seat, account.TokenChange{Scopes: scopes[to]})
		if err != nil && !errors.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	before := m.Role
	m.Role = to
	err = s.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.save(ctx, tx, m); err != nil {
			return err
		}
		return s.logEvent(ctx, tx, m, "role", "a person has another role", map[string]any{"before": before})
	})
	return m, err
}

// Remove ends a person's right to use the console, with their sessions and the tokens
// that they made. No key is used in their name any more when it returns.
func (s *Service) Remove(ctx context.Context, by *account.Caller, id string) error {
	m, err := s.Find(ctx, by.AccountID, id)
	if err != nil {
		return err
	}
	if m.ID == by.Member {
		return fault.New(fault.WrongState, "nobody removes themselves: another owner does")
	}
	if err := s.Accounts.MayGive(ctx, by, scopes[m.Role]); err != nil {
		return err
	}
	if m.Joined() {
		err := s.Accounts.DeleteToken(ctx, &account.Caller{AccountID: m.Account}, m.Seat)
		if err != nil && !errors.Is(err, fault.NotFound) {
			return err
		}
	}
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Expect(ctx, 1, noMember(), `delete from members where id = $1 and account_id = $2`, m.ID, m.Account); err != nil {
			return err
		}
		if err := s.logEvent(ctx, tx, m, "removed", "a person was removed", nil); err != nil {
			return err
		}
		return Members.Remove(ctx, tx, s.Log, m.Account, m.ID)
	})
}

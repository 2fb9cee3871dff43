package account

import (
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// A token that another token made is its child. A child lives no longer and may
// do no more than its parent, and ends with it. So a token is judged at every
// use together with all that it comes from: what its parent loses later, it
// loses too. A token that the API key or the operator made has no parent.
//
// This file is where tokens are judged. docs/tokens.md has the rules.

// maxGenerations bounds how deep a family is.
const maxGenerations = 8

// family is a token, first, and those it comes from, its parent second.
type family []member

type member struct {
	tokenRow
	scopes         []Scope
	addresses      []netip.Prefix
	expire         time.Time
	limited, total bool // it has limits of any kind; of its requests
	admin, sandbox bool // its account
	quota          Quota
}

// tokenRow is the row of a token and its rights. It carries a keyed digest, so a row that was
// written or changed by anybody else, to name another account, secret or right, is rejected.
type tokenRow struct {
	id, account     string
	hash, refresh   []byte
	parent          string // line of the token that made it; lines outlive their tokens
	line            string
	lineUntil, life int64
	scopesText      string
	addressesText   string
	given           bool      // the addresses, by the API key or the operator
	limits          [4]*int64 // total, wallet, subscription, amount
	expireAt        int64
}

const tokenRowColumns = `t.id, t.account_id, t.hash, t.refresh_hash, coalesce((select p.line_id from tokens p where p.id = t.parent_id), ''), t.line_id, t.line_until, t.life,
	t.scopes, t.addresses, t.addresses_given, t.total_limit, t.wallet_limit, t.subscription_limit, t.amount_limit, t.expire_at, t.mac`

// fields are where tokenRowColumns go.
func (r *tokenRow) fields(mac *[]byte) []any {
	return []any{
		&r.id, &r.account, &r.hash, &r.refresh, &r.parent, &r.line, &r.lineUntil, &r.life, &r.scopesText, &r.addressesText, &r.given,
		&r.limits[0], &r.limits[1], &r.limits[2], &r.limits[3], &r.expireAt, mac,
	}
}

// mark is the keyed digest of a row.
func (s *Service) mark(r *tokenRow) []byte {
	text := fmt.Appendf(nil, "%q %q %x %x %q %q %d %d %q %q %t %d", r.id, r.account, r.hash, r.refresh, r.parent, r.line, r.lineUntil, r.life, r.scopesText, r.addressesText, r.given, r.expireAt)
	for _, l := range r.limits {
		if l == nil {
			text = append(text, " -"...)
		} else {
			text = fmt.Appendf(text, " %d", *l)
		}
	}
	sum := s.master.MAC("token", text)
	return sum[:]
}

// readFamily reads a token by a condition on its row, with its ancestors. It returns nothing
// for an unknown token, and for one where any of these rows is not genuine.
func (s *Service) readFamily(ctx context.Context, q store.Querier, where string, arg any) (family, error) {
	forged := false
	rows, err := q.Query(ctx, `with recursive family (id, parent_id, depth) as (
			select id, parent_id, 0 from tokens where `+where+` = $1
			union all
			select t.id, t.parent_id, f.depth + 1 from tokens t join family f on t.id = f.parent_id where f.depth < 100)
		select `+tokenRowColumns+`, `+accountColumns+`
		from family f join tokens t on t.id = f.id join accounts a on a.id = t.account_id order by f.depth`, arg)
	all, err := store.All("read tokens", rows, err, func(r store.Row) (m member, err error) {
		var mac, accountMAC []byte
		var a accountRow
		if err := r.Scan(append(m.fields(&mac), a.fields(&accountMAC)...)...); err != nil {
			return m, err
		}
		if !s.genuine(ctx, &a, accountMAC) {
			forged = true
			return m, nil
		}
		m.admin, m.sandbox = a.admin, a.sandbox
		if m.quota, err = parseQuota(a.quota); err != nil {
			return m, err
		}
		if !hmac.Equal(mac, s.mark(&m.tokenRow)) {
			forged = true
			s.cfg.Log.WarnContext(ctx, "the row of a token was not written by this service: it is no token", "token", m.id)
			return m, nil
		}
		m.scopes, m.expire = parseScopes(strings.Fields(m.scopesText)), store.Time(m.expireAt)
		m.total, m.limited = m.limits[0] != nil, m.limits != [4]*int64{}
		m.addresses, err = parsePrefixes(strings.Fields(m.addressesText))
		return m, err
	})
	if forged {
		return nil, err
	}
	return all, err
}

func parseScopes(list []string) (out []Scope) {
	for _, text := range list {
		if sc, err := ParseScope(text); err == nil {
			out = append(out, sc)
		}
	}
	return out
}

// scopes are those that all members have.
func (f family) scopes() []Scope {
	common := f[0].scopes
	for _, m := range f[1:] {
		var both []Scope
		for _, a := range common {
			for _, b := range m.scopes {
				if sc, ok := a.meet(b); ok && !slices.Contains(both, sc) {
					both = append(both, sc)
				}
			}
		}
		common = both
	}
	return common
}

// expire is when the first of them ends.
func (f family) expire() time.Time {
	first := f[0].expire
	for _, m := range f[1:] {
		if m.expire.Before(first) {
			first = m.expire
		}
	}
	return first
}

func (f family) alive() bool { return len(f) > 0 && time.Now().Before(f.expire()) }

func (f family) ids(which func(member) bool) (ids []string) {
	for _, m := range f {
		if which(m) {
			ids = append(ids, m.id)
		}
	}
	return ids
}

func (f family) has(id string) bool {
	return slices.ContainsFunc(f, func(m member) bool { return m.id == id })
}

// bounded says that a member has limits, or is good from some addresses only.
func (f family) bounded() bool {
	return slices.ContainsFunc(f, func(m member) bool { return m.limited || len(m.addresses) > 0 })
}

func covers(own []Scope, asked Scope) bool {
	return slices.ContainsFunc(own, func(sc Scope) bool { return sc.Covers(asked) })
}

// giver is the family of the token that a caller presented, as it is now; nil
// for the API key and for the operator, who may give anything.
func (s *Service) giver(ctx context.Context, tx store.Querier, c *Caller) (family, error) {
	if c.TokenID == "" {
		return nil, nil
	}
	f, err := s.readFamily(ctx, tx, "id", c.TokenID)
	if err == nil && !f.alive() {
		err = fault.New(fault.WrongToken, "wrong token")
	}
	return f, err
}

// mayGive checks whether the caller's token may hand out these scopes.
func (f family) mayGive(scopes []string) error {
	switch {
	case f == nil:
		return nil
	case f.bounded():
		return fault.New(fault.ScopeLacking, "a token with limits cannot make or change tokens")
	}
	return f.allHave(scopes)
}

// allHave checks that scopes are within those of every member.
func (f family) allHave(scopes []string) error {
	if len(f) == 0 {
		return nil
	}
	own := f.scopes()
	for _, sc := range parseScopes(scopes) {
		if !covers(own, sc) {
			return fault.New(fault.ScopeLacking, "a token cannot give the scope %s, which it lacks", sc)
		}
	}
	return nil
}

// mayManage checks whether the caller's token may change or delete another token of the
// account: itself, those it made, and those with no more rights than itself.
func (f family) mayManage(target family) error {
	switch {
	case f == nil || target[0].id == f[0].id:
		return nil
	case f.bounded():
		return fault.New(fault.ScopeLacking, "a token with limits cannot change or delete others")
	case f.has(target[0].id):
		return fault.New(fault.ScopeLacking, "a token cannot change or delete the one that made it")
	case target.has(f[0].id):
		return nil
	}
	own := f.scopes()
	for _, sc := range target[0].scopes {
		if !covers(own, sc) {
			return fault.New(fault.ScopeLacking, "a token cannot change or delete one that may do more than itself")
		}
	}
	return nil
}

// MayHold checks whether a caller may see a token made earlier, as when an idempotent call is
// replayed: only if it could make such a token now.
func (s *Service) MayHold(ctx context.Context, c *Caller, scopes []string, expire time.Time) error {
	f, err := s.giver(ctx, s.db.Read(), c)
	if err != nil || f == nil {
		return err
	}
	if err := f.mayGive(scopes); err != nil {
		return err
	}
	if expire.After(f.expire()) {
		return fault.New(fault.ScopeLacking, "a token cannot give one that outlives it")
	}
	return nil
}

// HasToken makes the transaction fail where a token of an account no longer exists and was not
// replaced by its refresh token. An expired token passes: the request was made in time.
func (s *Service) HasToken(ctx context.Context, tx *store.Tx, accountID, id string, otherwise error) error {
	return tx.Ask(ctx, func(row store.Row) error {
		r, genuine, err := s.scanCurrent(row, id)
		if errors.Is(err, store.ErrNoRows) || err == nil && !(genuine && r.account == accountID) {
			return otherwise
		}
		return err
	}, selectCurrent, accountID, id)
}

// selectCurrent finds a token, or what it has become by being refreshed.
const selectCurrent = `select ` + tokenRowColumns + `, s.mac from tokens t left join spent_tokens s on s.token_id = $2
	where t.account_id = $1 and (t.id = $2 or t.line_id = s.line_id)`

// scanCurrent reads a row of selectCurrent. It is genuine where this service wrote it,
// and wrote that the token was refreshed.
func (s *Service) scanCurrent(row store.Row, id string) (r tokenRow, genuine bool, err error) {
	var mac, spent []byte
	err = row.Scan(append(r.fields(&mac), &spent)...)
	return r, hmac.Equal(mac, s.mark(&r)) && (r.id == id || hmac.Equal(spent, s.spentMark(id, r.line))), err
}

// spentMark is the keyed digest of the row of a token that was refreshed.
func (s *Service) spentMark(id, line string) []byte {
	sum := s.master.MAC("spent token", fmt.Appendf(nil, "%q %q", id, line))
	return sum[:]
}

// Stands reports whether a token of an account, or its refreshed successor, and its ancestors
// match the log. It is for requests made some time ago: a row restored since then does not
// count.
func (s *Service) Stands(ctx context.Context, accountID, id string) (bool, error) {
	now, found, err := s.currentToken(ctx, s.db.Read(), accountID, id)
	if err != nil || !found {
		return false, err
	}
	f, err := s.readFamily(ctx, s.db.Read(), "id", now)
	if err != nil || len(f) == 0 {
		return false, err
	}
	return s.matchLog(ctx, f)
}

// matchLog reports whether all members of a family match their last events in the log.
func (s *Service) matchLog(ctx context.Context, f family) (bool, error) {
	for _, m := range f {
		if holds, err := Tokens.Holds(ctx, s.db.Read(), s.Log, m.line); err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

// Apart reports whether two tokens of an account have no common ancestor, so that the API key
// or the operator made the root of each. Holding one token of a family is as good as holding
// all of it. A token that no longer exists is apart from none.
func (s *Service) Apart(ctx context.Context, accountID, former, id string) (bool, error) {
	now, found, err := s.currentToken(ctx, s.db.Read(), accountID, former)
	if err != nil || !found {
		return false, err
	}
	one, err := s.readFamily(ctx, s.db.Read(), "id", now)
	if err != nil || len(one) == 0 {
		return false, err
	}
	other, err := s.readFamily(ctx, s.db.Read(), "id", id)
	if err != nil || len(other) == 0 {
		return false, err
	}
	if other[0].account != accountID {
		return false, nil
	}
	a, err := s.rootOf(ctx, one)
	if err != nil {
		return false, err
	}
	b, err := s.rootOf(ctx, other)
	return err == nil && a != b, err
}

// rootOf is the root line of a family, or the line that Kin gives for it.
func (s *Service) rootOf(ctx context.Context, f family) (string, error) {
	if s.Kin == nil {
		return f.root(), nil
	}
	kin, err := s.Kin(ctx, f.root())
	return cmp.Or(kin, f.root()), err
}

// Root is the root line of a token.
func (s *Service) Root(ctx context.Context, tokenID string) (string, error) {
	f, err := s.readFamily(ctx, s.db.Read(), "id", tokenID)
	if err == nil && len(f) == 0 {
		err = fault.New(fault.WrongToken, "wrong token")
	}
	if err != nil {
		return "", err
	}
	return s.rootOf(ctx, f)
}

// MayGive judges whether a caller could hand these scopes out by a token.
func (s *Service) MayGive(ctx context.Context, c *Caller, scopes []string) error {
	f, err := s.giver(ctx, s.db.Read(), c)
	if err != nil {
		return err
	}
	return f.mayGive(scopes)
}

// root is the line that all of a family come from.
func (f family) root() string { return f[len(f)-1].line }

// currentToken is the token that another one has become by being refreshed.
func (s *Service) currentToken(ctx context.Context, q store.Querier, accountID, id string) (now string, found bool, err error) {
	rows, err := q.Query(ctx, selectCurrent, accountID, id)
	return now, found, store.Each("read token", rows, err, func(row store.Row) error {
		r, genuine, err := s.scanCurrent(row, id)
		if err == nil && genuine && (!found || r.id == id) {
			now, found = r.id, true
		}
		return err
	})
}

// Payer is who pays for what goes on after the call, with the limits of the
// token that asked.
func (s *Service) Payer(ctx context.Context, tx *store.Tx, accountID, tokenID string) (*Caller, error) {
	c := &Caller{AccountID: accountID, Domain: s.domainOf("")}
	id, found, err := s.currentToken(ctx, tx, accountID, tokenID)
	if err != nil || !found {
		return c, err
	}
	f, err := s.readFamily(ctx, tx, "id", id)
	c.TokenID = id
	c.Family = f.ids(func(member) bool { return true })
	c.Limited = f.ids(func(m member) bool { return m.limited })
	if len(f) > 0 {
		c.Quota = f[0].quota
	}
	return c, err
}

package account

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// maxLife is the longest and the default life of a token.
const maxLife = 365 * 24 * time.Hour

// Limits bound what a token may do; nil is no bound.
type Limits struct {
	TotalRequests        *int64
	WalletRequests       *int64
	SubscriptionRequests *int64
	WalletAmount         *money.Micro
	Addresses            []string // addresses or networks it may be used from; none: any
}

// Stats is what a token has done.
type Stats struct {
	TotalRequests, WalletRequests, SubscriptionRequests, ErrorRequests int64
	WalletAmount                                                       money.Micro
	Addresses                                                          []string
}

// Token is the right to call in an account's name. Its secrets are known only
// when it is made.
type Token struct {
	ID        string
	AccountID string
	LastFour  string
	Name      string
	Scopes    []string
	Limits    Limits
	Stats     Stats
	ExpireAt  time.Time
	CreatedAt time.Time
	UpdatedAt time.Time

	Secret  string
	Refresh string
}

// NewToken says what token to make.
type NewToken struct {
	Name   string
	Scopes []string
	Life   time.Duration // zero or less, or over a year: a year
	Limits Limits
}

// CheckToken judges what a caller who reached us as host asks for a token: its
// scopes come back sorted. What the caller may give is judged when it is given.
func (s *Service) CheckToken(c *Caller, host string, n *NewToken) (err error) {
	if n.Scopes, err = s.scopesFor(c, host, n.Scopes); err != nil {
		return err
	}
	if len(n.Name) > 200 {
		return fault.New(fault.BadScopes, "name is over 200 characters")
	}
	return checkLimits(n.Limits)
}

func checkLimits(l Limits) error {
	for name, v := range map[string]*int64{"totalRequests": l.TotalRequests, "walletRequests": l.WalletRequests, "subscriptionRequests": l.SubscriptionRequests} {
		if v != nil && *v < 0 {
			return fault.New(fault.BadScopes, "limits.%s must not be negative", name)
		}
	}
	if l.WalletAmount != nil && *l.WalletAmount < 0 {
		return fault.New(fault.BadScopes, "limits.walletAmount must not be negative")
	}
	if len(l.Addresses) > 100 {
		return fault.New(fault.BadScopes, "limits.ip: more than 100 addresses")
	}
	_, err := parsePrefixes(l.Addresses)
	return err
}

func parsePrefixes(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p.Masked())
			continue
		}
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, fault.New(fault.BadScopes, "limits.ip: %q is neither an address nor a network", Shorten(s))
		}
		a = a.Unmap()
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out, nil
}

// CreateToken writes a checked token for a caller; it comes back with its
// secrets. It lives at most as long as the token that asked for it.
func (s *Service) CreateToken(ctx context.Context, tx *store.Tx, c *Caller, n NewToken) (*Token, error) {
	parent, err := s.giver(ctx, tx, c)
	if err != nil {
		return nil, err
	}
	if err := parent.mayGive(n.Scopes); err != nil {
		return nil, err
	}
	if len(parent) >= maxGenerations {
		return nil, fault.New(fault.ScopeLacking, "a token %d generations down cannot make tokens", maxGenerations-1)
	}
	now := time.Now().UTC()
	t := &Token{
		ID: store.NewID(), AccountID: c.AccountID, Name: n.Name, Scopes: n.Scopes, Limits: n.Limits,
		ExpireAt: parent.until(now.Add(clampLife(n.Life))), CreatedAt: now, UpdatedAt: now,
		Secret: newSecret(tokenPrefix), Refresh: newSecret(refreshPrefix),
	}
	t.LastFour = lastFour(t.Secret)
	hash, refresh := s.hash(t.Secret), s.hash(t.Refresh)
	row := tokenRow{
		id: t.ID, account: c.AccountID, hash: hash[:], refresh: refresh[:], line: t.ID, lineUntil: now.Add(maxLife).UnixMilli(), life: clampLife(n.Life).Milliseconds(),
		expireAt: t.ExpireAt.UnixMilli(),
	}
	row.may(n)
	row.given = c.TokenID == "" && row.addressesText != ""
	var parentID *string
	if parent != nil {
		parentID, row.parent = &parent[0].id, parent[0].line
	}
	_, err = tx.Exec(ctx, `insert into tokens (id, account_id, hash, refresh_hash, parent_id, line_id, line_until, life, last_four, name, scopes, addresses,
			total_limit, wallet_limit, subscription_limit, amount_limit, expire_at, created_at, updated_at, mac, addresses_given)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18, $19, $20)`,
		row.id, row.account, row.hash, row.refresh, parentID, row.line, row.lineUntil, row.life, t.LastFour, t.Name,
		row.scopesText, row.addressesText, row.limits[0], row.limits[1], row.limits[2], row.limits[3], row.expireAt, now.UnixMilli(), s.mark(&row), row.given)
	if store.IsOrphan(err) {
		err = fault.New(fault.WrongToken, "wrong token") // the parent was deleted meanwhile
	}
	if err == nil {
		err = Tokens.Write(ctx, tx, s.Log, row.line)
	}
	return t, err
}

// MakeToken judges what a caller asks for a token, and writes it; it comes back with its
// secrets.
func (s *Service) MakeToken(ctx context.Context, c *Caller, host string, n NewToken) (t *Token, err error) {
	if err := s.CheckToken(c, host, &n); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		t, err = s.CreateToken(ctx, tx, c, n)
		return err
	})
	return t, err
}

// Tokens are those of all accounts, by their lines, as the audit log is held
// against them. A token that was deleted, or could do more once, is no token
// because its row was put back.
var Tokens = &audit.Register{
	Kind: "token", Table: "tokens", Key: "line_id", Name: "token",
	Select: `select line_id, account_id, name, last_four, created_at, updated_at, expire_at, mac from tokens`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r := &audit.Registered{}
		var name, lastFour string
		var created, updated, expire int64
		var mac []byte
		err := row.Scan(&r.ID, &r.Account, &name, &lastFour, &created, &updated, &expire, &mac)
		r.Traits, r.Until = []any{r.Account, name, lastFour, created, updated, mac}, store.Time(expire).Add(maxLife)
		return r, err
	},
}

// Spent are the refresh tokens that were used, as the audit log keeps track of
// them.
var Spent = &audit.Register{
	Kind: "token-spent", Table: "spent_tokens", Key: "('spent-' || token_id)", Name: "used refresh token",
	Select: `select 'spent-' || token_id, account_id, line_id, refresh_hash, spent_at, mac from spent_tokens`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r := &audit.Registered{}
		var line string
		var hash, mac []byte
		var spent int64
		err := row.Scan(&r.ID, &r.Account, &line, &hash, &spent, &mac)
		r.Traits, r.Until = []any{r.Account, line, hash, spent, mac}, store.Time(spent).Add(maxLife)
		return r, err
	},
}

// EndTokens deletes the tokens of an account that a condition on their rows finds,
// and all that come from them, and says how many they were.
func (s *Service) EndTokens(ctx context.Context, tx *store.Tx, accountID, where string, args ...any) (int, error) {
	rows, err := tx.Query(ctx, `with recursive ending (id, line_id, depth) as (
			select id, line_id, 0 from tokens where `+where+`
			union all
			select t.id, t.line_id, e.depth + 1 from tokens t join ending e on t.parent_id = e.id where e.depth < 100)
		select distinct line_id from ending`, args...)
	lines, err := store.All("end tokens", rows, err, store.Column[string])
	if err != nil || len(lines) == 0 {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `delete from tokens where `+where, args...); err != nil { // and those that come from them
		return 0, err
	}
	return len(lines), Tokens.Remove(ctx, tx, s.Log, accountID, lines...)
}

// may takes over the rights of a new token.
func (r *tokenRow) may(n NewToken) {
	r.scopesText, r.addressesText = strings.Join(n.Scopes, " "), strings.Join(n.Limits.Addresses, " ")
	r.limits = [4]*int64{n.Limits.TotalRequests, n.Limits.WalletRequests, n.Limits.SubscriptionRequests, (*int64)(n.Limits.WalletAmount)}
}

// until is a time, or the end of the family if that is earlier.
func (f family) until(t time.Time) time.Time {
	if len(f) > 0 && f.expire().Before(t) {
		return f.expire()
	}
	return t
}

const tokenColumns = `id, account_id, last_four, name, scopes, addresses, total_limit, wallet_limit, subscription_limit, amount_limit,
	expire_at, created_at, updated_at, total_requests, wallet_requests, subscription_requests, error_requests, wallet_amount`

func scanToken(row store.Row) (t Token, err error) {
	var scopes, addresses string
	var amount *int64
	var expire, created, updated int64
	err = row.Scan(&t.ID, &t.AccountID, &t.LastFour, &t.Name, &scopes, &addresses,
		&t.Limits.TotalRequests, &t.Limits.WalletRequests, &t.Limits.SubscriptionRequests, &amount,
		&expire, &created, &updated,
		&t.Stats.TotalRequests, &t.Stats.WalletRequests, &t.Stats.SubscriptionRequests, &t.Stats.ErrorRequests, (*int64)(&t.Stats.WalletAmount))
	t.Scopes, t.Limits.Addresses = strings.Fields(scopes), strings.Fields(addresses)
	t.Limits.WalletAmount = (*money.Micro)(amount)
	t.ExpireAt, t.CreatedAt, t.UpdatedAt = store.Time(expire), store.Time(created), store.Time(updated)
	return t, err
}

// TokenFilter selects tokens of an account.
type TokenFilter struct {
	Scope       string // "" is any; else one that the token has
	After       string // only what comes behind it in the list
	Skip, Limit int
}

func (f TokenFilter) page() store.Page {
	return store.Page{After: f.After, Skip: f.Skip, Limit: f.Limit}
}

// Tokens lists an account's tokens that have not expired, newest first.
func (s *Service) Tokens(ctx context.Context, accountID string, f TokenFilter) ([]Token, error) {
	tail, args := f.page().Of(accountID, time.Now().UnixMilli(), strings.NewReplacer("%", "", "_", "_").Replace(f.Scope))
	rows, err := s.db.Read().Query(ctx, `select `+tokenColumns+` from tokens
		where account_id = $1 and expire_at > $2 and ($3 = '' or ' ' || scopes || ' ' like '% ' || $3 || ' %')`+tail, args...)
	return store.All("list tokens", rows, err, scanToken)
}

// FindToken is an account's token by itself or by its id; fault 140 or 141.
func (s *Service) FindToken(ctx context.Context, accountID, name string) (Token, error) {
	where, arg, err := s.tokenKey(name)
	if err != nil {
		return Token{}, err
	}
	t, err := scanToken(s.db.Read().QueryRow(ctx, `select `+tokenColumns+` from tokens where account_id = $1 and `+where, accountID, arg))
	if errors.Is(err, store.ErrNoRows) {
		return t, noToken()
	}
	if err == nil {
		t.Stats.Addresses, err = s.tokenAddresses(ctx, accountID, t.ID)
	}
	return t, err
}

func (s *Service) tokenKey(name string) (where string, arg any, err error) {
	if store.IsID(name) {
		return `id = $2`, name, nil
	}
	if wellFormed(name, tokenPrefix) {
		hash := s.hash(name)
		return `hash = $2`, hash[:], nil
	}
	return "", nil, fault.New(fault.MalformedID, "neither a token nor the id of one")
}

func noToken() error { return fault.New(fault.NotFound, "there is no such token") }

// TokenChange is what to change of a token; nil stays as it is.
type TokenChange struct {
	Name   *string
	Scopes []string
	Life   *time.Duration
	Limits *Limits
}

// ChangeToken changes an account's token. What is asked for is judged as for a
// new one, and for a child within what its parent has. Who changes a token can
// shorten its life, and prolong it no further than its own.
func (s *Service) ChangeToken(ctx context.Context, c *Caller, host, name string, ch TokenChange) (t Token, err error) {
	where, arg, err := s.tokenKey(name)
	if err != nil {
		return t, err
	}
	now := time.Now().UTC()
	err = s.db.Write(ctx, func(tx *store.Tx) (err error) {
		// The row is held from here on: two changes do not undo each other.
		t, err = scanToken(tx.QueryRow(ctx, `update tokens set updated_at = $3 where account_id = $1 and `+where+` and expire_at > $3
			returning `+tokenColumns, c.AccountID, arg, now.UnixMilli()))
		if errors.Is(err, store.ErrNoRows) {
			return noToken()
		}
		if err != nil {
			return err
		}
		by, target, err := s.managed(ctx, tx, c, t.ID)
		if err != nil {
			return err
		}
		n := NewToken{Name: t.Name, Scopes: t.Scopes, Limits: t.Limits}
		if ch.Name != nil {
			n.Name = *ch.Name
		}
		if ch.Scopes != nil {
			n.Scopes = ch.Scopes
		}
		if ch.Limits != nil {
			n.Limits = *ch.Limits
		}
		if err := s.CheckToken(c, host, &n); err != nil {
			return err
		}
		if err := errors.Join(by.mayGive(n.Scopes), target[1:].allHave(n.Scopes)); err != nil {
			return err
		}
		t.Name, t.Scopes, t.Limits = n.Name, n.Scopes, n.Limits
		row := target[0].tokenRow
		before := row.addressesText
		row.may(n)
		switch { // who wrote the addresses last, unless they stay as they are
		case c.TokenID == "":
			row.given = row.addressesText != ""
		case row.addressesText != before:
			row.given = false
		}
		if ch.Life != nil {
			end := target[1:].until(now.Add(clampLife(*ch.Life)))
			if by != nil && end.After(t.ExpireAt) {
				end = by.until(end)
			}
			t.ExpireAt = end
			row.expireAt, row.life = end.UnixMilli(), end.Sub(now).Milliseconds()
		}
		_, err = tx.Exec(ctx, `update tokens set name = $2, scopes = $3, addresses = $4, total_limit = $5, wallet_limit = $6,
				subscription_limit = $7, amount_limit = $8, expire_at = $9, life = $10, mac = $11, addresses_given = $12 where id = $1`,
			t.ID, n.Name, row.scopesText, row.addressesText, row.limits[0], row.limits[1], row.limits[2], row.limits[3], row.expireAt, row.life, s.mark(&row), row.given)
		if err != nil {
			return err
		}
		return Tokens.Write(ctx, tx, s.Log, row.line)
	})
	if err != nil {
		return t, err
	}
	s.dropEntries(t.ID)
	t.Stats.Addresses, err = s.tokenAddresses(ctx, c.AccountID, t.ID)
	return t, err
}

// managed is a token that the caller may manage, and the token that they use.
func (s *Service) managed(ctx context.Context, tx *store.Tx, c *Caller, id string) (by, target family, err error) {
	if by, err = s.giver(ctx, tx, c); err != nil {
		return nil, nil, err
	}
	if target, err = s.readFamily(ctx, tx, "id", id); err != nil {
		return nil, nil, err
	}
	if len(target) == 0 {
		return nil, nil, noToken()
	}
	return by, target, by.mayManage(target)
}

func clampLife(d time.Duration) time.Duration {
	if d <= 0 || d > maxLife {
		return maxLife
	}
	return d
}

// DeleteToken revokes a token and all that come from it: here at once, on other
// nodes within 5 seconds. No key is used in their name any more when it returns.
func (s *Service) DeleteToken(ctx context.Context, c *Caller, name string) error {
	where, arg, err := s.tokenKey(name)
	if err != nil {
		return err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		var id string
		err := tx.QueryRow(ctx, `select id from tokens where account_id = $1 and `+where, c.AccountID, arg).Scan(&id)
		if errors.Is(err, store.ErrNoRows) {
			return noToken()
		}
		if err != nil {
			return err
		}
		if _, _, err := s.managed(ctx, tx, c, id); err != nil {
			return err
		}
		if err := intent.Forbid(ctx, tx, intent.Account, c.AccountID); err != nil {
			return err
		}
		_, err = s.EndTokens(ctx, tx, c.AccountID, `id = $1`, id)
		return err
	})
	s.entries.Clear()
	if err != nil {
		return err
	}
	return intent.Wait(ctx, s.db, intent.Account, c.AccountID)
}

func (s *Service) tokenAddresses(ctx context.Context, accountID, tokenID string) ([]string, error) {
	rows, err := s.db.Read().Query(ctx, `select distinct address from usage_days
		where account_id = $1 and token_id = $2 and address <> '' order by address limit 100`, accountID, tokenID)
	return store.All("read addresses", rows, err, store.Column[string])
}

// ForgetTokens deletes tokens long after their end: work that they asked for in
// time may still be done.
func (s *Service) ForgetTokens(ctx context.Context, tx *store.Tx, now time.Time) error {
	if _, err := tx.Exec(ctx, `delete from spent_tokens where spent_at < $1`, now.Add(-maxLife).UnixMilli()); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `delete from tokens where expire_at < $1`, now.Add(-maxLife).UnixMilli())
	return err
}

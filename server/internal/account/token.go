package account

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// maxLife is the longest and the default life of a token.
const maxLife = 365 * 24 * time.Hour

// Limits bound what a token may do; nil is no bound.
type Limits struct {
	TotalRequests        *int64
	WalletRequests       *int64
	SubscriptionRequests *int64
	WalletAmount         *Micro
	Addresses            []string // addresses or networks it may be used from; none: any
}

// Stats is what a token has done.
type Stats struct {
	TotalRequests, WalletRequests, SubscriptionRequests, ErrorRequests int64
	WalletAmount                                                       Micro
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

// CheckToken judges a token asked for by a caller who reached us as host: its
// scopes come back sorted, and with Bearer within the caller's own.
func (s *Service) CheckToken(c *Caller, host string, n *NewToken) (err error) {
	if c.limited || c.Bound {
		return fault.New(fault.ScopeLacking, "a token with limits cannot make or change tokens")
	}
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
			return nil, fault.New(fault.BadScopes, "limits.ip: %q is neither an address nor a network", shorten(s))
		}
		a = a.Unmap()
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out, nil
}

// CreateToken writes a checked token; it comes back with its secrets.
func (s *Service) CreateToken(ctx context.Context, tx *store.Tx, accountID string, n NewToken) (*Token, error) {
	return s.insertToken(ctx, tx, accountID, n)
}

func (s *Service) insertToken(ctx context.Context, tx *store.Tx, accountID string, n NewToken) (*Token, error) {
	if n.Life <= 0 || n.Life > maxLife {
		n.Life = maxLife
	}
	now := time.Now().UTC()
	t := &Token{
		ID: store.NewID(), AccountID: accountID, Name: n.Name, Scopes: n.Scopes, Limits: n.Limits,
		ExpireAt: now.Add(n.Life), CreatedAt: now, UpdatedAt: now,
		Secret: newSecret(tokenPrefix), Refresh: newSecret(refreshPrefix),
	}
	t.LastFour = lastFour(t.Secret)
	hash, refresh := s.hash(t.Secret), s.hash(t.Refresh)
	_, err := tx.Exec(ctx, `insert into tokens (id, account_id, hash, refresh_hash, last_four, name, scopes, addresses,
			total_limit, wallet_limit, subscription_limit, amount_limit, expire_at, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)`,
		t.ID, accountID, hash[:], refresh[:], t.LastFour, t.Name, strings.Join(t.Scopes, " "), strings.Join(n.Limits.Addresses, " "),
		n.Limits.TotalRequests, n.Limits.WalletRequests, n.Limits.SubscriptionRequests, (*int64)(n.Limits.WalletAmount),
		t.ExpireAt.UnixMilli(), now.UnixMilli())
	return t, err
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
	t.Limits.WalletAmount = (*Micro)(amount)
	t.ExpireAt, t.CreatedAt, t.UpdatedAt = store.Time(expire), store.Time(created), store.Time(updated)
	return t, err
}

// TokenFilter selects tokens of an account.
type TokenFilter struct {
	Scope string // "" is any; else one that the token has
	Skip  int
	Limit int
}

// Tokens lists an account's tokens that have not expired, newest first.
func (s *Service) Tokens(ctx context.Context, accountID string, f TokenFilter) ([]Token, error) {
	rows, err := s.db.Read().Query(ctx, `select `+tokenColumns+` from tokens
		where account_id = $1 and expire_at > $2 and ($3 = '' or ' ' || scopes || ' ' like '% ' || $3 || ' %')
		order by id desc limit $4 offset $5`,
		accountID, time.Now().UnixMilli(), strings.NewReplacer("%", "", "_", "_").Replace(f.Scope), f.Limit, f.Skip)
	return collect(rows, err, scanToken)
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
// new one.
func (s *Service) ChangeToken(ctx context.Context, c *Caller, host, name string, ch TokenChange) (Token, error) {
	t, err := s.FindToken(ctx, c.AccountID, name)
	if err != nil {
		return t, err
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
		return t, err
	}
	now := time.Now().UTC()
	if ch.Life != nil {
		t.ExpireAt = now.Add(clampLife(*ch.Life))
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		done, err := tx.Exec(ctx, `update tokens set name = $3, scopes = $4, addresses = $5, total_limit = $6, wallet_limit = $7,
				subscription_limit = $8, amount_limit = $9, expire_at = $10, updated_at = $11 where account_id = $1 and id = $2`,
			c.AccountID, t.ID, n.Name, strings.Join(n.Scopes, " "), strings.Join(n.Limits.Addresses, " "),
			n.Limits.TotalRequests, n.Limits.WalletRequests, n.Limits.SubscriptionRequests, (*int64)(n.Limits.WalletAmount),
			t.ExpireAt.UnixMilli(), now.UnixMilli())
		if err == nil && done == 0 {
			err = noToken()
		}
		return err
	})
	s.dropEntries(t.ID)
	t.Name, t.Scopes, t.Limits, t.UpdatedAt = n.Name, n.Scopes, n.Limits, now
	return t, err
}

func clampLife(d time.Duration) time.Duration {
	if d <= 0 || d > maxLife {
		return maxLife
	}
	return d
}

// DeleteToken revokes a token: here at once, on other nodes within 5 seconds. No
// key is used in its name any more when it returns.
func (s *Service) DeleteToken(ctx context.Context, accountID, name string) error {
	where, arg, err := s.tokenKey(name)
	if err != nil {
		return err
	}
	var id string
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(ctx, `delete from tokens where account_id = $1 and `+where+` returning id`, accountID, arg).Scan(&id)
		if errors.Is(err, store.ErrNoRows) {
			return noToken()
		}
		if err != nil {
			return err
		}
		return intent.Forbid(ctx, tx, intent.Token, id)
	})
	s.entries.Clear()
	if err != nil {
		return err
	}
	return intent.Wait(ctx, s.db, intent.Token, id)
}

// RotateToken replaces the token whose refresh token the caller presented by a
// new one with the same rights; the old pair is void. Of two at once one wins.
func (s *Service) RotateToken(ctx context.Context, c *Caller, name string) (t *Token, err error) {
	if err := s.usage.flush(ctx, s.db); err != nil { // what was counted so far goes along
		return nil, err
	}
	old, err := s.FindToken(ctx, c.AccountID, name)
	if err != nil || old.ID != c.TokenID {
		return nil, fault.New(fault.WrongToken, "the refresh token does not belong to this token")
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `delete from tokens where account_id = $1 and id = $2`, c.AccountID, old.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.WrongToken, "the refresh token was used already")
		}
		life := old.ExpireAt.Sub(old.CreatedAt)
		t, err = s.insertToken(ctx, tx, c.AccountID, NewToken{Name: old.Name, Scopes: old.Scopes, Limits: old.Limits, Life: life})
		if err != nil {
			return err
		}
		// Limits hold for the token's whole line: rotating earns nothing.
		_, err = tx.Exec(ctx, `update tokens set total_requests = $2, wallet_requests = $3, subscription_requests = $4,
			error_requests = $5, wallet_amount = $6 where id = $1`, t.ID, old.Stats.TotalRequests, old.Stats.WalletRequests,
			old.Stats.SubscriptionRequests, old.Stats.ErrorRequests, int64(old.Stats.WalletAmount))
		if err != nil {
			return err
		}
		// And so do the addresses it was used from.
		t.Stats = old.Stats
		_, err = tx.Exec(ctx, `update usage_days set token_id = $3 where account_id = $1 and token_id = $2`, c.AccountID, old.ID, t.ID)
		return err
	})
	s.dropEntries(old.ID)
	return t, err
}

// HasToken has a transaction fail with an error where a token of an account
// exists no more. Its life may be over: what was asked in time is done.
func (s *Service) HasToken(ctx context.Context, tx *store.Tx, accountID, id string, otherwise error) error {
	return tx.Ask(ctx, func(row store.Row) error {
		var found bool
		if err := row.Scan(&found); err != nil || found {
			return err
		}
		return otherwise
	}, `select exists (select 1 from tokens where account_id = $1 and id = $2)`, accountID, id)
}

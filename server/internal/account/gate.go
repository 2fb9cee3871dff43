package account

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// An authenticated secret is cached for a while, so that a call costs no query. A revocation takes
// the sum of both to reach every node.
const (
	freshFor = 2 * time.Second // used as it is
	staleFor = 4 * time.Second // used once more while it is read again
)

// entry is what is cached of a secret. It is immutable but for reading and last.
type entry struct {
	caller    Caller
	addresses [][]netip.Prefix // of each that is bound: the client's must be among all
	expire    time.Time
	total     []string // tokens whose requests are limited
	limiter   *rate.Limiter
	loaded    time.Time
	reading   chan struct{} // buffered by one: who holds it reads the entry again
	last      atomic.Pointer[Caller]
}

// Authenticate says who calls: by token, or, where basic is set, by e-mail and
// API key or a refresh token. What it refuses with is a fault: 125, 127, 128
// or 130.
func (s *Service) Authenticate(ctx context.Context, r *http.Request, basic bool) (*Caller, error) {
	kind, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	value = strings.TrimSpace(value)
	now := time.Now()
	switch {
	case strings.EqualFold(kind, "Bearer") && (hasForm(value, tokenPrefix) || basic && hasForm(value, refreshPrefix)):
		e, err := s.entry(ctx, now, value, s.loadToken)
		if err != nil {
			return nil, err
		}
		return s.admit(ctx, r, now, e)
	case strings.EqualFold(kind, "Bearer") && wellFormed(value, refreshPrefix): // no call for one, and the end of a spent one
		hash := s.hash(value)
		if err := s.spent(ctx, hash[:]); err != nil {
			return nil, err
		}
	case strings.EqualFold(kind, "Basic") && basic:
		e, err := s.entry(ctx, now, value, s.loadKey)
		if err != nil {
			return nil, err
		}
		return s.admit(ctx, r, now, e)
	case strings.EqualFold(kind, "Basic"):
		return nil, fault.New(fault.WrongToken, "this call wants a token: send Authorization: Bearer TOKEN")
	case wellFormed(kind, tokenPrefix) || wellFormed(kind, refreshPrefix):
		return nil, fault.New(fault.WrongToken, "the word Bearer is missing before the token: send Authorization: Bearer TOKEN")
	case strings.EqualFold(kind, "Bearer") && wellFormed(value, keyPrefix):
		return nil, fault.New(fault.WrongToken, "this is an API key and no token: with the e-mail address it makes tokens (HTTP Basic, POST /token)")
	case kind == "":
		return nil, fault.New(fault.WrongToken, "a token is missing: send Authorization: Bearer TOKEN")
	}
	return nil, fault.New(fault.WrongToken, "wrong token")
}

// admit checks the use of a known secret by this request.
func (s *Service) admit(ctx context.Context, r *http.Request, now time.Time, e *entry) (*Caller, error) {
	if !e.expire.IsZero() && !now.Before(e.expire) {
		return nil, fault.New(fault.WrongToken, "the token has expired")
	}
	c := s.callerOf(e, r)
	for _, list := range e.addresses {
		if !slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(c.Address) }) {
			return nil, fault.New(fault.AddressNotAllowed, "the address %s is not allowed for this token", c.Address)
		}
	}
	if e.limiter != nil {
		if err := throttle(e.limiter); err != nil {
			return nil, err
		}
	}
	if len(e.total) > 0 {
		if err := s.countLimited(ctx, e.total); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// callerOf is the caller of a request. Consecutive requests from one place share a Caller,
// which is read-only.
func (s *Service) callerOf(e *entry, r *http.Request) *Caller {
	address := addressOf(r.RemoteAddr)
	if c := e.last.Load(); c != nil && c.Address == address && c.Host == r.Host {
		return c
	}
	c := e.caller
	c.Address, c.Host, c.Domain = address, strings.Clone(r.Host), s.domainOf(r.Host)
	e.last.Store(&c)
	return &c
}

func addressOf(remote string) netip.Addr {
	if ap, err := netip.ParseAddrPort(remote); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	a, _ := netip.ParseAddr(HostOnly(remote))
	return a.Unmap().WithZone("")
}

func throttle(l *rate.Limiter) error {
	res := l.Reserve()
	wait := res.Delay()
	if wait == 0 {
		return nil
	}
	res.Cancel()
	return &fault.Error{Code: fault.LimitReached, Text: "too many requests with this token", RetryAfter: wait}
}

// countLimited counts a request of a token that has a limit of them, or comes
// from one that has: exact on any number of nodes.
func (s *Service) countLimited(ctx context.Context, tokens []string) error {
	over := &fault.Error{Code: fault.LimitReached, Text: "the token's limit of requests is reached", RetryAfter: time.Hour}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		for _, id := range tokens {
			if err := tx.Expect(ctx, 1, over, `update tokens set total_requests = total_requests + 1
				where id = $1 and (total_limit is null or total_requests < total_limit)`, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Allows says whether a caller may call a method on a first segment.
func (s *Service) Allows(c *Caller, method, _, segment string) bool {
	if c.Refresh {
		return method == http.MethodPatch && segment == "tokens"
	}
	if c.TokenID == "" {
		return true // the API key: asked for only where it is good
	}
	want := Scope{Method: method, Segment: segment}
	for i := range c.scopes {
		if c.scopes[i].Covers(want) {
			return true
		}
	}
	return false
}

// entry is what is known of a secret, loaded if it is not cached or too old. One caller reloads
// it while others use an entry that is still fresh enough. If load returns an entry with its
// error, only the audit log could not be read: that suffices for a secret that the log had at
// the last load.
func (s *Service) entry(ctx context.Context, now time.Time, secret string, load func(context.Context, string) (*entry, error)) (*entry, error) {
	// A plain digest is enough to find a secret of 256 random bits again; the
	// keyed one, which is stored, costs ten times as much.
	hash := sha256.Sum256([]byte(secret))
	v, ok := s.entries.Load(hash)
	if ok {
		e := v.(*entry)
		age := now.Sub(e.loaded)
		if age < freshFor {
			return e, nil
		}
		if age < staleFor {
			select {
			case e.reading <- struct{}{}: // this caller reads it again
			default:
				return e, nil
			}
		}
	}
	s.forget(now)
	e, err := load(ctx, secret)
	if err != nil && (e == nil || !ok) { // not kept: guesses would fill the memory
		s.entries.Delete(hash)
		return nil, err
	}
	if v != nil {
		e.limiter = keepLimiter(v.(*entry), e)
	}
	e.loaded, e.reading = time.Now(), make(chan struct{}, 1)
	s.entries.Store(hash, e)
	return e, nil
}

func keepLimiter(old, e *entry) *rate.Limiter {
	if old.limiter != nil && e.limiter != nil {
		return old.limiter
	}
	return e.limiter
}

func (s *Service) loadToken(ctx context.Context, secret string) (*entry, error) {
	if !wellFormed(secret, "") { // only now, and but for the prefix: what is known was found once
		return nil, fault.New(fault.WrongToken, "wrong token")
	}
	hash := s.hash(secret)
	column := "hash"
	if strings.HasPrefix(secret, refreshPrefix) {
		column = "refresh_hash"
	}
	return s.loadEntry(ctx, column, hash[:])
}

// loadEntry reads a token by a column of its row.
func (s *Service) loadEntry(ctx context.Context, column string, value any) (*entry, error) {
	f, err := s.readFamily(ctx, s.db.Read(), column, value)
	if err != nil {
		return nil, err
	}
	if len(f) == 0 {
		if column == "refresh_hash" {
			err = s.spent(ctx, value.([]byte))
		}
		return nil, errors.Join(err, fault.New(fault.WrongToken, "wrong token"))
	}
	logged, away := s.matchLog(ctx, f)
	if away == nil && !logged {
		return nil, fault.New(fault.WrongToken, "wrong token")
	}
	own := f[0]
	e := &entry{expire: f.expire(), total: f.ids(func(m member) bool { return m.total })}
	c := &e.caller
	c.TokenID, c.AccountID, c.Admin, c.Sandbox, c.Quota = own.id, own.account, own.admin, own.sandbox, own.quota
	c.scopes = f.scopes()
	for _, sc := range c.scopes {
		c.Scopes = append(c.Scopes, sc.String())
	}
	c.Family = f.ids(func(member) bool { return true })
	c.Limited = f.ids(func(m member) bool { return m.limited })
	for _, m := range f {
		if len(m.addresses) > 0 {
			e.addresses = append(e.addresses, m.addresses)
			// A token that binds itself, or a child of its own, proves nothing.
			c.Bound = c.Bound || m.given && narrow(m.addresses)
		}
	}
	if column == "refresh_hash" {
		c.Refresh, e.total = true, nil
	}
	if e.limiter = s.newLimiter(c.Sandbox); e.limiter != nil { // one for the token, however it is presented
		one, _ := s.limiters.LoadOrStore(c.TokenID, e.limiter)
		e.limiter = one.(*rate.Limiter)
	}
	return e, unreadable(away)
}

// unreadable is the error where the log could not be asked about a secret: whether the secret
// is good is unknown, so it is not refused as wrong.
func unreadable(log error) error {
	if log == nil {
		return nil
	}
	return fault.New(fault.Unavailable, "the audit log cannot be read").Because(log)
}

// narrow reports whether a list really binds a token to addresses: networks wider than /16, or
// /32 of IPv6, do not count. A list has at most 100 networks.
func narrow(list []netip.Prefix) bool {
	return !slices.ContainsFunc(list, func(p netip.Prefix) bool {
		return p.Addr().Is4() && p.Bits() < 16 || p.Addr().Is6() && p.Bits() < 32
	})
}

func (s *Service) newLimiter(sandbox bool) *rate.Limiter {
	if s.cfg.Rate <= 0 || sandbox {
		return nil
	}
	return rate.NewLimiter(rate.Limit(s.cfg.Rate), s.cfg.Burst)
}

// loadKey judges e-mail and API key. An unknown e-mail takes as long as a
// wrong key.
func (s *Service) loadKey(ctx context.Context, encoded string) (*entry, error) {
	wrong := fault.New(fault.WrongAPIKey, "wrong account or API key")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, wrong
	}
	email, key, _ := strings.Cut(string(raw), ":")
	var e entry
	c := &e.caller
	r, err := s.account(ctx, s.db.Read().QueryRow(ctx, `select `+accountColumns+` from accounts a where a.email = $1`, strings.ToLower(email)))
	switch {
	case errors.Is(err, errForged):
		r = accountRow{}
	case err != nil && !errors.Is(err, store.ErrNoRows):
		return nil, err
	}
	hash := s.keyHash(r.id, key)
	if subtle.ConstantTimeCompare(hash[:], r.keyHash) != 1 {
		return nil, wrong
	}
	current, away := s.current(ctx, &r)
	if away == nil && !current {
		return nil, wrong
	}
	if c.Quota, err = parseQuota(r.quota); err != nil {
		return nil, err
	}
	c.AccountID, c.Admin, c.Sandbox = r.id, r.admin, r.sandbox
	c.Scopes = []string{AllScopes}
	c.scopes = []Scope{{"*", "*", "*"}}
	e.limiter = s.newLimiter(c.Sandbox)
	return &e, unreadable(away)
}

// dropEntries forgets what is known of a token and of those that come from it,
// on this node at once.
func (s *Service) dropEntries(tokenID string) {
	s.entries.Range(func(k, v any) bool {
		if slices.Contains(v.(*entry).caller.Family, tokenID) {
			s.entries.Delete(k)
		}
		return true
	})
}

// forget drops, once a minute, entries that are too old to be used.
func (s *Service) forget(now time.Time) {
	last := s.forgot.Load()
	if now.Unix()-last < 60 || !s.forgot.CompareAndSwap(last, now.Unix()) {
		return
	}
	used := map[string]bool{}
	s.entries.Range(func(k, v any) bool {
		e := v.(*entry)
		if now.Sub(e.loaded) > time.Minute {
			s.entries.Delete(k)
			return true
		}
		used[e.caller.TokenID] = true
		return true
	})
	s.limiters.Range(func(id, _ any) bool {
		if !used[id.(string)] {
			s.limiters.Delete(id)
		}
		return true
	})
}

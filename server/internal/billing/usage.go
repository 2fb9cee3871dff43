package billing

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// usage counts requests in memory between two writes.
type usage struct {
	mu     sync.Mutex
	counts map[usageKey]*usageCount
	last   struct { // looked up; the next is often the same
		usageKey
		*usageCount
	}
	errors []failure
	swept  time.Time
}

// usageKey is comparable without building a string for each request.
type usageKey struct {
	account, token, domain string
	endpoint               account.Endpoint
	address                netip.Addr
}

type spending struct {
	free, subscription, wallet int64
	amount                     money.Micro
}

type usageCount struct {
	requests, errors int64
	spending
	walletCalls, subscriptionCalls int64 // requests that paid so
	limited                        bool  // counted elsewhere, within the token's limits
}

const (
	maxUsageKeys = 20_000 // in a flush; addresses beyond are counted without a name
	maxFailures  = 1000
	failureLife  = 30 * 24 * time.Hour
)

// Request is a request that was answered, for the statistics of its caller.
type Request struct {
	Caller  *account.Caller
	Method  string
	Segment string
	Status  int
	Code    int
	Message string
}

// Record counts an answered request.
func (s *Service) Record(r Request) {
	if r.Caller == nil {
		return
	}
	e := account.Endpoint{Method: r.Method, Segment: r.Segment}
	failed := r.Status >= 400
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	u := s.usage.count(r.Caller, e)
	u.requests++
	if !failed {
		return
	}
	u.errors++
	if account.LooksSecret(r.Message) { // quoted from a request that had it in the wrong place
		r.Message = "(withheld: it quotes a secret)"
	}
	if len(s.usage.errors) < maxFailures {
		s.usage.errors = append(s.usage.errors, failure{Request: r, id: store.NewID(), at: time.Now()})
	}
}

func (u *usage) spend(c *account.Caller, e account.Endpoint, sp spending) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.count(c, e)
	n.free += sp.free
	n.subscription += sp.subscription
	n.wallet += sp.wallet
	n.amount += sp.amount
	if sp.subscription > 0 {
		n.subscriptionCalls++
	}
	if sp.wallet > 0 {
		n.walletCalls++
	}
}

func (u *usage) count(c *account.Caller, e account.Endpoint) *usageCount {
	if u.counts == nil {
		u.counts = map[usageKey]*usageCount{}
	}
	k := usageKey{c.AccountID, c.TokenID, c.Domain, e, c.Address}
	if u.last.usageCount == nil || u.last.usageKey != k {
		u.last.usageKey, u.last.usageCount = k, u.find(k, len(c.Limited) > 0)
	}
	return u.last.usageCount
}

func (u *usage) find(k usageKey, limited bool) *usageCount {
	if n := u.counts[k]; n != nil {
		return n
	}
	if len(u.counts) >= maxUsageKeys {
		if k.address = (netip.Addr{}); u.counts[k] != nil {
			return u.counts[k]
		}
	}
	n := &usageCount{limited: limited}
	u.counts[k] = n
	return n
}

// failure is a request that was refused.
type failure struct {
	Request
	id string
	at time.Time
}

func (u *usage) flush(ctx context.Context, s *Service) error {
	u.mu.Lock()
	counts, failures := u.counts, u.errors
	u.counts, u.errors, u.last.usageCount = nil, nil, nil
	u.mu.Unlock()
	if len(counts) == 0 && len(failures) == 0 {
		return nil
	}
	keys := make([]usageKey, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, usageKey.compare) // nodes take rows in the same order
	return s.db.Write(ctx, func(tx *store.Tx) error {
		day := today()
		for _, k := range keys {
			if err := k.write(ctx, tx, day, counts[k]); err != nil {
				return err
			}
		}
		for _, f := range failures {
			if err := f.write(ctx, tx); err != nil {
				return err
			}
		}
		return u.sweep(ctx, tx, s.accounts)
	})
}

func (k usageKey) compare(o usageKey) int {
	return cmp.Or(strings.Compare(k.token, o.token), strings.Compare(k.account, o.account), strings.Compare(k.domain, o.domain),
		strings.Compare(k.endpoint.Segment, o.endpoint.Segment), strings.Compare(k.endpoint.Method, o.endpoint.Method), k.address.Compare(o.address))
}

func (k usageKey) scope() string {
	return account.Scope{Method: k.endpoint.Method, Domain: k.domain, Segment: k.endpoint.Segment}.String()
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func (k usageKey) write(ctx context.Context, tx *store.Tx, day string, n *usageCount) error {
	_, err := tx.Exec(ctx, `insert into usage_days as u (account_id, token_id, day, domain, scope, address, requests, errors, free, subscription, wallet, amount)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		on conflict (account_id, day, token_id, domain, scope, address) do update set requests = u.requests + excluded.requests,
			errors = u.errors + excluded.errors, free = u.free + excluded.free, subscription = u.subscription + excluded.subscription,
			wallet = u.wallet + excluded.wallet, amount = u.amount + excluded.amount`,
		k.account, k.token, day, k.domain, k.scope(), addressText(k.address), n.requests, n.errors, n.free, n.subscription, n.wallet, int64(n.amount))
	if err != nil || k.token == "" {
		return err
	}
	if n.limited { // its requests and spending are counted as they happen
		_, err = tx.Exec(ctx, `update tokens set error_requests = error_requests + $2,
			total_requests = total_requests + case when total_limit is null then $3 else 0 end where id = $1`, k.token, n.errors, n.requests)
		return err
	}
	_, err = tx.Exec(ctx, `update tokens set total_requests = total_requests + $2, error_requests = error_requests + $3,
		wallet_requests = wallet_requests + $4, subscription_requests = subscription_requests + $5, wallet_amount = wallet_amount + $6 where id = $1`,
		k.token, n.requests, n.errors, n.walletCalls, n.subscriptionCalls, int64(n.amount))
	return err
}

func (f failure) write(ctx context.Context, tx *store.Tx) error {
	c := f.Caller
	_, err := tx.Exec(ctx, `insert into request_errors (id, account_id, token_id, scope, domain, status, code, message, address, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		f.id, c.AccountID, c.TokenID, account.Scope{Method: f.Method, Domain: c.Domain, Segment: f.Segment}.String(), c.Domain, f.Status, f.Code,
		account.Shorten(f.Message), addressText(c.Address), f.at.UnixMilli())
	return err
}

// sweep deletes old failures, the quota of past days and tokens that expired long ago, at most once
// an hour.
func (u *usage) sweep(ctx context.Context, tx *store.Tx, accounts *account.Service) error {
	if time.Since(u.swept) < time.Hour {
		return nil
	}
	u.swept = time.Now()
	now := time.Now().UTC()
	if _, err := tx.Exec(ctx, `delete from request_errors where created_at < $1`, now.Add(-failureLife).UnixMilli()); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `delete from quota_days where day < $1`, now.Add(-failureLife).Format(time.DateOnly)); err != nil {
		return err
	}
	return accounts.ForgetTokens(ctx, tx, now)
}

// WriteUsage writes down what was counted so far.
func (s *Service) WriteUsage(ctx context.Context) error { return s.usage.flush(ctx, s) }

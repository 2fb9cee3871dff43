package billing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// Count is what was used under a name: a scope, a domain, an address.
type Count struct {
	Name                       string
	Requests, Errors           int64
	Free, Subscription, Wallet int64
	Amount                     money.Micro
}

// Groups of a count.
const (
	ByNothing = "''"
	ByScope   = "scope"
	ByDomain  = "domain"
	ByAddress = "address"
)

var period = regexp.MustCompile(`^\d{4}(-\d{2}(-\d{2})?)?$`)

// CheckPeriod says whether s is a year, a month or a day; "" is all time.
func CheckPeriod(s string) error {
	layout := map[int]string{4: "2006", 7: "2006-01", 10: time.DateOnly}[len(s)]
	if s == "" {
		return nil
	}
	if _, err := time.Parse(layout, s); err != nil || !period.MatchString(s) {
		return fault.New(fault.BadQuery, "date must be YYYY, YYYY-MM or YYYY-MM-DD")
	}
	return nil
}

// UsageFilter selects what to count.
type UsageFilter struct {
	Period string // YYYY, YYYY-MM, YYYY-MM-DD or ""
	Domain string // "" is any; with or without a port, which requests are not counted by
	By     string // one of the groups
	Limit  int
	Skip   int
}

// Usage counts an account's requests, in groups.
func (s *Service) Usage(ctx context.Context, accountID string, f UsageFilter) ([]Count, error) {
	if !slices.Contains([]string{ByNothing, ByScope, ByDomain, ByAddress}, f.By) {
		return nil, fault.New(fault.BadQuery, "no such group")
	}
	if err := CheckPeriod(f.Period); err != nil {
		return nil, err
	}
	rows, err := s.db.Read().Query(ctx, `select `+f.By+` as name, cast(coalesce(sum(requests), 0) as bigint), cast(coalesce(sum(errors), 0) as bigint),
			cast(coalesce(sum(free), 0) as bigint), cast(coalesce(sum(subscription), 0) as bigint),
			cast(coalesce(sum(wallet), 0) as bigint), cast(coalesce(sum(amount), 0) as bigint)
		from usage_days where account_id = $1 and day like $2 and ($3 = '' or domain = $3)
		group by name order by name limit $4 offset $5`, accountID, f.Period+"%", strings.ToLower(account.HostOnly(f.Domain)), f.Limit, f.Skip)
	return store.All("count requests", rows, err, func(r store.Row) (c Count, err error) {
		err = r.Scan(&c.Name, &c.Requests, &c.Errors, &c.Free, &c.Subscription, &c.Wallet, (*int64)(&c.Amount))
		return c, err
	})
}

// Failure is a request that was refused.
type Failure struct {
	ID, Scope, Domain, Message, Address string
	Status, Code                        int
	At                                  time.Time
}

// Failures lists an account's refused requests of the last 30 days, newest
// first.
func (s *Service) Failures(ctx context.Context, accountID, after string, skip, limit int) ([]Failure, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(accountID)
	rows, err := s.db.Read().Query(ctx, `select id, scope, domain, status, code, message, address, created_at from request_errors where account_id = $1`+tail, args...)
	return store.All("list errors", rows, err, func(r store.Row) (f Failure, err error) {
		var at int64
		err = r.Scan(&f.ID, &f.Scope, &f.Domain, &f.Status, &f.Code, &f.Message, &f.Address, &at)
		f.At = store.Time(at)
		return f, err
	})
}

// ScopeInfo is a scope that can be asked for, with what its calls cost.
type ScopeInfo struct {
	ID string
	account.Scope
	Product *Product // nil: free
}

// Catalogue lists every scope of every domain.
func (s *Service) Catalogue() []ScopeInfo {
	list := []ScopeInfo{}
	for _, sc := range s.accounts.Scopes() {
		list = append(list, s.scopeInfo(sc))
	}
	return list
}

func (s *Service) scopeInfo(sc account.Scope) ScopeInfo {
	sum := sha256.Sum256([]byte(sc.String()))
	info := ScopeInfo{ID: hex.EncodeToString(sum[:12]), Scope: sc}
	if p, ok := s.prices.product(account.Endpoint{Method: sc.Method, Segment: sc.Segment}); ok {
		info.Product = &p
	}
	return info
}

// FreePerDay is the free quota of a scope, as it was counted; false for none.
func (s *Service) FreePerDay(scope string) (int64, bool) {
	sc, err := account.ParseScope(scope)
	if err != nil {
		return 0, false
	}
	p, ok := s.prices.product(account.Endpoint{Method: sc.Method, Segment: sc.Segment})
	return p.FreePerDay, ok && p.FreePerDay > 0
}

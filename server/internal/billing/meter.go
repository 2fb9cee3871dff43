package billing

import (
	"context"
	"errors"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// meter pays for lookups, which are too many for a transaction each. It reserves some from the
// quota, a subscription or the wallet, spends them in memory, and writes every second how many
// were spent. What is reserved has left the balance already, so nothing is spent twice or below
// zero on any number of nodes. What a dead process left unspent is returned by another.
type meter struct {
	s      *Service
	mu     sync.Mutex
	leased map[string]*leasedQuota
	reaped time.Time
}

// leasedQuota is one account's lease of lookups on this node.
type leasedQuota struct {
	mu      sync.Mutex
	account string
	lease   *lease
	left    int64 // free ones left in the database
	spent   int64 // since the last flush: how many to lease next
	idle    int   // flushes without spending
	gone    bool  // forgotten by the meter: a lease in it would never be flushed
}

// lease is a row of meter_leases.
type lease struct {
	id, source, sourceID string
	price                money.Micro
	reserved, used       int64
	written              int64 // of used, in the database
}

const (
	leaseLife = 30 * time.Second // unwritten for so long, its process is dead
	firstSize = 16
)

func (m *meter) init(s *Service) { m.s, m.leased = s, map[string]*leasedQuota{} }

// SpendLookups pays for n lookups, all or none, and says how many free ones
// the account has left today; -1 where all are free. Without credit: fault 611.
func (s *Service) SpendLookups(ctx context.Context, c *account.Caller, n int) (left int64, err error) {
	e := account.Endpoint{Method: "GET", Segment: "IT-omi"}
	p, _ := s.prices.product(e)
	if p.FreePerDay < 0 {
		s.usage.spend(c, e, spending{free: int64(n)})
		return -1, nil
	}
	o := order{caller: c, endpoint: e, product: p, count: int64(n)}
	if len(c.Limited) > 0 {
		return s.chargeNow(ctx, o)
	}
	return s.meter.spend(ctx, o)
}

// chargeNow pays in a transaction of its own.
func (s *Service) chargeNow(ctx context.Context, o order) (left int64, err error) {
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		b, err := s.charge(ctx, tx, o)
		if err == nil {
			left = b.left
		}
		return err
	})
	return left, err
}

// open is the leased quota of an account, locked.
func (m *meter) open(account string) *leasedQuota {
	for {
		m.mu.Lock()
		p := m.leased[account]
		if p == nil {
			p = &leasedQuota{account: account, spent: firstSize}
			m.leased[account] = p
		}
		m.mu.Unlock()
		p.mu.Lock()
		if !p.gone {
			return p
		}
		p.mu.Unlock()
	}
}

// forget drops a leased quota without a lease, which is locked.
func (m *meter) forget(p *leasedQuota) {
	p.gone = true
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.leased, p.account)
}

func (m *meter) spend(ctx context.Context, o order) (int64, error) {
	p := m.open(o.caller.AccountID)
	defer p.mu.Unlock()
	if !p.covers(o.count) {
		covered, err := m.renew(ctx, p, o)
		if err != nil {
			return 0, err
		}
		if !covered { // more than one source can give: rare, and exact this way
			return m.s.chargeNow(ctx, o)
		}
	}
	l := p.lease
	l.used += o.count
	p.spent += o.count
	p.idle = 0
	m.s.usage.spend(o.caller, o.endpoint, l.spending(o.count))
	if l.source != sourceQuota {
		return 0, nil
	}
	return p.left + l.reserved - l.used, nil
}

// The sources of a lease.
const (
	sourceQuota        = "quota"
	sourceSubscription = "subscription"
	sourceWallet       = "wallet"
)

func (l *lease) spending(n int64) spending {
	switch l.source {
	case sourceQuota:
		return spending{free: n}
	case sourceSubscription:
		return spending{subscription: n}
	}
	return spending{wallet: n, amount: money.Micro(n) * l.price}
}

func (p *leasedQuota) covers(n int64) bool {
	l := p.lease
	return l != nil && l.reserved-l.used >= n && (l.source != sourceQuota || l.sourceID == today())
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// renew ends the lease and takes a new one, in one transaction.
func (m *meter) renew(ctx context.Context, p *leasedQuota, o order) (covered bool, err error) {
	var next *lease
	var left int64
	err = m.s.db.Write(ctx, func(tx *store.Tx) (err error) {
		if next, left = nil, 0; p.lease != nil {
			if err := m.endLease(ctx, tx, p.account, p.lease); err != nil {
				return err
			}
		}
		next, left, err = m.newLease(ctx, tx, p, o)
		return err
	})
	if err != nil {
		return false, err
	}
	p.lease, p.left = next, left
	return next != nil, nil // nil: no source has this many in one piece
}

// newLease reserves from the first source that has at least the count, but never more than an
// eighth of it, so that nodes share what is left.
func (m *meter) newLease(ctx context.Context, tx *store.Tx, p *leasedQuota, o order) (*lease, int64, error) {
	size := max(o.count, min(p.spent, 4096))
	l := &lease{id: store.NewID(), price: o.product.Price}
	now := time.Now()
	var left int64
	var err error
	for _, try := range []func() error{
		func() error {
			l.source, l.sourceID = sourceQuota, today()
			return m.reserveQuota(ctx, tx, l, &left, o, size)
		},
		func() error { l.source = sourceSubscription; return m.reserveSubscription(ctx, tx, l, o, size) },
		func() error { l.source, l.sourceID = sourceWallet, ""; return m.reserveWallet(ctx, tx, l, o, size) },
	} {
		if err = try(); err != nil || l.reserved > 0 {
			break
		}
	}
	if errors.Is(err, errSplit) {
		return nil, 0, nil
	}
	if err != nil || l.reserved == 0 {
		return nil, 0, err
	}
	_, err = tx.Exec(ctx, `insert into meter_leases (id, account_id, product, source, source_id, price, reserved, used, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, 0, $8)`,
		l.id, p.account, o.product.Name, l.source, l.sourceID, int64(l.price), l.reserved, now.UnixMilli())
	return l, left, err
}

// errSplit says that a source has some of what is wanted but not all: the lookups are then paid
// from several, in a transaction of their own.
var errSplit = errors.New("account: split over sources")

// portion is how many to reserve of so many left. Near the end it is no more than is wanted, so
// that no node holds back the last ones.
func portion(want, size, left int64) (int64, error) {
	switch {
	case left <= 0:
		return 0, nil
	case left < want:
		return 0, errSplit
	case left < 64:
		return want, nil
	}
	return max(want, min(size, left/8)), nil
}

func (m *meter) reserveQuota(ctx context.Context, tx *store.Tx, l *lease, left *int64, o order, size int64) error {
	var used int64
	err := tx.QueryRow(ctx, `select used from quota_days where account_id = $1 and product = $2 and day = $3`,
		o.caller.AccountID, o.product.Name, l.sourceID).Scan(&used)
	if err != nil && !errors.Is(err, store.ErrNoRows) {
		return err
	}
	if o.count, err = portion(o.count, size, o.product.FreePerDay-used); err != nil || o.count == 0 {
		return err
	}
	l.reserved, *left, err = payByQuota(ctx, tx, o, l.sourceID)
	return err
}

func (m *meter) reserveSubscription(ctx context.Context, tx *store.Tx, l *lease, o order, size int64) error {
	one, err := endsFirst(ctx, tx, o, time.Now().UnixMilli())
	if err != nil || one.subscription == "" {
		return err
	}
	n, err := portion(o.count, size, one.count)
	if err != nil {
		return err
	}
	l.sourceID = one.subscription
	return m.reserve(ctx, tx, l, subscriptionFund, one.subscription, n, 1)
}

func (m *meter) reserveWallet(ctx context.Context, tx *store.Tx, l *lease, o order, size int64) error {
	var credit int64
	err := tx.QueryRow(ctx, `select credit from wallets where account_id = $1`, o.caller.AccountID).Scan(&credit)
	if err != nil {
		return err
	}
	left := int64(1 << 40)
	if l.price > 0 {
		left = credit / int64(l.price)
	}
	n, err := portion(o.count, size, left)
	if err != nil || n == 0 {
		return err
	}
	return m.reserve(ctx, tx, l, walletFund, o.caller.AccountID, n, int64(l.price))
}

// reserve takes n lookups of a price from a fund; none where it has less by now.
func (m *meter) reserve(ctx context.Context, tx *store.Tx, l *lease, f fund, owner string, n, price int64) error {
	had, err := f.withdraw(ctx, tx, owner, n*price)
	if had {
		l.reserved = n
	}
	return err
}

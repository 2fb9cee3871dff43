package billing

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// flush writes what was spent since the last time. Leases that are not used are returned, and
// on the last flush all are.
func (m *meter) flush(ctx context.Context, last bool) error {
	m.mu.Lock()
	leased := slices.Collect(maps.Values(m.leased))
	m.mu.Unlock()
	var errs error
	for _, p := range leased {
		errs = errors.Join(errs, m.flushQuota(ctx, p, last))
	}
	if time.Since(m.reaped) > leaseLife/3 {
		m.reaped = time.Now()
		errs = errors.Join(errs, m.reap(ctx))
	}
	return errs
}

func (m *meter) flushQuota(ctx context.Context, p *leasedQuota, last bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lease
	if l == nil {
		m.forget(p)
		return nil
	}
	p.spent = max(firstSize, l.used-l.written)
	if l.used == l.written {
		p.idle++
	}
	over := last || p.idle > 2 || (l.source == sourceQuota && l.sourceID != today())
	if l.used == l.written && !over {
		return nil
	}
	used := l.used
	err := m.s.db.Write(ctx, func(tx *store.Tx) error {
		if over {
			return m.endLease(ctx, tx, p.account, l)
		}
		return m.record(ctx, tx, p.account, l)
	})
	switch {
	case over && err == nil, errors.Is(err, errLeaseGone):
		p.lease = nil
		m.forget(p)
	case err != nil:
		return err
	default:
		l.written = used
	}
	return nil
}

// record writes how much of a lease is spent, and spent money as a movement of the wallet.
// errLeaseGone: another process took ours for dead.
func (m *meter) record(ctx context.Context, tx *store.Tx, account string, l *lease) error {
	n, err := tx.Exec(ctx, `update meter_leases set used = $2, updated_at = $3 where id = $1`, l.id, l.used, time.Now().UnixMilli())
	if err != nil {
		return err
	}
	if n == 0 {
		return errLeaseGone
	}
	return m.statement(ctx, tx, account, l)
}

// errLeaseGone is for a process that slept so long that another one returned its lease.
var errLeaseGone = errors.New("account: lease was given back")

func (m *meter) statement(ctx context.Context, tx *store.Tx, account string, l *lease) error {
	n := l.used - l.written
	if l.source != sourceWallet || n == 0 || l.price == 0 {
		return nil
	}
	// The money left the wallet when it was reserved; what its owner sees moves now.
	if _, err := tx.Exec(ctx, `update wallets set updated_at = $2 where account_id = $1`, account, time.Now().UnixMilli()); err != nil {
		return err
	}
	return m.s.transaction(ctx, tx, transaction{account: account, amount: -money.Micro(n) * l.price, charge: l.id, text: describe(ProductLookup, n)})
}

// endLease ends a lease: what is spent stays spent, the rest goes back.
func (m *meter) endLease(ctx context.Context, tx *store.Tx, account string, l *lease) error {
	n, err := tx.Exec(ctx, `delete from meter_leases where id = $1`, l.id)
	if err != nil || n == 0 {
		return err
	}
	if err := m.statement(ctx, tx, account, l); err != nil {
		return err
	}
	return giveBack(ctx, tx, account, l)
}

func giveBack(ctx context.Context, tx *store.Tx, account string, l *lease) (err error) {
	rest := l.reserved - l.used
	if rest <= 0 {
		return nil
	}
	switch l.source {
	case sourceQuota:
		_, err = tx.Exec(ctx, `update quota_days set used = used - $4 where account_id = $1 and product = $2 and day = $3`,
			account, ProductLookup, l.sourceID, rest)
	case sourceSubscription:
		_, err = tx.Exec(ctx, `update subscriptions set available = available + $2 where id = $1`, l.sourceID, rest)
	case sourceWallet:
		_, err = tx.Exec(ctx, `update wallets set credit = credit + $2 where account_id = $1`, account, rest*int64(l.price))
	}
	return err
}

// reap returns what dead processes had reserved. What they spent in their last second, and had
// not written, is the customer's gain.
func (m *meter) reap(ctx context.Context) error {
	rows, err := m.s.db.Read().Query(ctx, `select id, account_id, source, source_id, price, reserved, used from meter_leases where updated_at < $1`,
		time.Now().Add(-leaseLife).UnixMilli())
	type dead struct {
		lease
		account string
	}
	list, err := store.All("read leases", rows, err, func(r store.Row) (d dead, err error) {
		err = r.Scan(&d.id, &d.account, &d.source, &d.sourceID, (*int64)(&d.price), &d.reserved, &d.used)
		d.written = d.used
		return d, err
	})
	if err != nil {
		return err
	}
	for _, d := range list {
		err := m.s.db.Write(ctx, func(tx *store.Tx) error { return m.endLease(ctx, tx, d.account, &d.lease) })
		if err != nil {
			return err
		}
	}
	return nil
}

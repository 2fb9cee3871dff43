package billing

import (
	"context"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// bound is one of them: how many of a product until the end of a day.
type bound struct {
	name    string // of its count in quota_days
	product string
	most    int64
	month   bool
}

// bounds are all of them, those that are not set too.
func bounds(q account.Quota) []bound {
	return []bound{
		{"signatures a day", ProductSignature, q.SignaturesPerDay, false},
		{"signatures a month", ProductSignature, q.SignaturesPerMonth, true},
		{"certificates a month", ProductCertificate, q.CertificatesPerMonth, true},
	}
}

// lastDay is the last day of the time that is counted: a count is forgotten some
// time after its day.
func (b bound) lastDay(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	if b.month {
		return time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// useAllowance counts an order against the quota of its account; beyond it the
// fault is 429.
func useAllowance(ctx context.Context, tx *store.Tx, o order) error {
	now := time.Now()
	for _, b := range bounds(o.caller.Quota) {
		if b.most == 0 || b.product != o.product.Name {
			continue
		}
		last := b.lastDay(now)
		day := last.Format(time.DateOnly)
		_, err := tx.Exec(ctx, `insert into quota_days (account_id, product, day, used) values ($1, $2, $3, 0) on conflict do nothing`, o.caller.AccountID, b.name, day)
		if err != nil {
			return err
		}
		over := fault.New(fault.LimitReached, "the account's quota of %d %s is reached", b.most, b.name)
		over.RetryAfter = last.AddDate(0, 0, 1).Sub(now)
		err = tx.Expect(ctx, 1, over, `update quota_days set used = used + $4 where account_id = $1 and product = $2 and day = $3 and used + $4 <= $5`,
			o.caller.AccountID, b.name, day, o.count, b.most)
		if err != nil {
			return err
		}
	}
	return nil
}

// returnAllowance takes what was given back out of the count of its time.
func returnAllowance(ctx context.Context, tx *store.Tx, c *storedCharge, n int64) error {
	for _, b := range bounds(account.Quota{}) {
		if b.product != c.product {
			continue
		}
		_, err := tx.Exec(ctx, `update quota_days set used = used - $4 where account_id = $1 and product = $2 and day = $3 and used >= $4`,
			c.account, b.name, b.lastDay(c.at).Format(time.DateOnly), n)
		if err != nil {
			return err
		}
	}
	return nil
}

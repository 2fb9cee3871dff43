package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// Keep gives back what a charge took for more than n of what it pays for, such
// as the documents of a batch that could not be signed. What was paid last, the
// wallet's money, comes back first, then requests of subscriptions, then the
// day's free ones. Asked again it does nothing; "" is no charge.
func (s *Service) Keep(ctx context.Context, tx *store.Tx, id string, n int) error {
	if id == "" {
		return nil
	}
	c, err := readCharge(ctx, tx, id)
	if errors.Is(err, store.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("account: read charge: %w", err)
	}
	if c.count <= int64(n) {
		return nil
	}
	back := c.shrink(c.count - int64(n))
	rows, err := tx.Exec(ctx, `update wallet_transactions set count = $2, free = $3, subscribed = $4, paid = $5, taken = $6 where id = $1 and refunded_at = 0 and count = $7`,
		id, int64(n), c.free, joinShares(c.subscribed), c.paid, int64(c.amount), c.count)
	if err != nil || rows == 0 {
		return err // 0 rows: it was given back meanwhile
	}
	return s.giveBack(ctx, tx, c, back)
}

// storedCharge is a charge as it is stored.
type storedCharge struct {
	bill
	account, token, product string
	count                   int64
	at                      time.Time
}

const chargeColumns = `id, account_id, token_id, product, count, free, subscribed, paid, taken, created_at`

func readCharge(ctx context.Context, tx *store.Tx, id string) (*storedCharge, error) {
	return scanCharge(tx.QueryRow(ctx, `select `+chargeColumns+` from wallet_transactions where id = $1 and refunded_at = 0`, id))
}

func scanCharge(row store.Row) (*storedCharge, error) {
	c := &storedCharge{}
	var subscribed string
	var at int64
	err := row.Scan(&c.id, &c.account, &c.token, &c.product, &c.count, &c.free, &subscribed, &c.paid, (*int64)(&c.amount), &at)
	c.subscribed, c.at = splitShares(subscribed), store.Time(at)
	return c, err
}

// shrink takes n out of a charge and returns them as a bill of their own.
func (c *storedCharge) shrink(n int64) bill {
	back := bill{id: c.id}
	if k := min(n, c.paid); k > 0 {
		back.paid, back.amount = k, c.amount/money.Micro(c.paid)*money.Micro(k)
		c.paid, c.amount, n = c.paid-k, c.amount-back.amount, n-k
	}
	for i := len(c.subscribed) - 1; i >= 0 && n > 0; i-- {
		k := min(n, c.subscribed[i].count)
		c.subscribed[i].count -= k
		back.subscribed = append(back.subscribed, share{c.subscribed[i].subscription, k})
		n -= k
	}
	back.free = min(n, c.free)
	c.free -= back.free
	return back
}

// giveBack returns a bill to where it was taken from.
func (s *Service) giveBack(ctx context.Context, tx *store.Tx, c *storedCharge, b bill) error {
	now := time.Now().UnixMilli()
	if err := returnAllowance(ctx, tx, c, b.free+b.subscriptions()+b.paid); err != nil {
		return err
	}
	if b.free > 0 {
		if _, err := tx.Exec(ctx, `update quota_days set used = used - $4 where account_id = $1 and product = $2 and day = $3 and used >= $4`,
			c.account, c.product, c.at.UTC().Format(time.DateOnly), b.free); err != nil {
			return err
		}
	}
	for _, one := range b.subscribed {
		if _, err := tx.Exec(ctx, `update subscriptions set available = available + $2, updated_at = $3 where id = $1`,
			one.subscription, one.count, now); err != nil {
			return err
		}
	}
	if b.amount == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `update wallets set credit = credit + $2, updated_at = $3 where account_id = $1`, c.account, int64(b.amount), now); err != nil {
		return err
	}
	return s.transaction(ctx, tx, transaction{account: c.account, amount: b.amount, charge: c.id, text: "refund: " + describe(c.product, b.paid)})
}

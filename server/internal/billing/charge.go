package billing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// order is something to be paid for.
type order struct {
	caller   *account.Caller
	endpoint account.Endpoint
	product  Product
	count    int64
	record   string
}

// bill is how an order was paid.
type bill struct {
	id         string
	free       int64
	subscribed []share
	paid       int64
	amount     money.Micro
	left       int64 // of the free quota
}

// share is what a subscription gave.
type share struct {
	subscription string
	count        int64
}

func (b *bill) subscriptions() (n int64) {
	for _, s := range b.subscribed {
		n += s.count
	}
	return n
}

// Charge takes the price of a call ("POST/certificates") made by the caller of
// ctx in the transaction of the record it makes: from the free quota, a
// subscription, the wallet, in this order; else fault 611. The id names the
// charge, for Refund. A call that costs nothing has no charge: "".
func (s *Service) Charge(ctx context.Context, tx *store.Tx, call, record string) (string, error) {
	return s.ChargeMany(ctx, tx, call, record, 1)
}

func (s *Service) charge(ctx context.Context, tx *store.Tx, o order) (*bill, error) {
	b, err := s.pay(ctx, tx, store.NewID(), o)
	if err != nil {
		return nil, err
	}
	err = tx.Later(ctx, `insert into wallet_transactions (id, account_id, amount, vat, description, created_at, token_id, product, count, free, subscribed, paid, taken, record_id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		b.id, o.caller.AccountID, -int64(b.amount), s.prices.VAT, describe(o.product.Name, b.paid), time.Now().UnixMilli(),
		o.caller.TokenID, o.product.Name, o.count, b.free, joinShares(b.subscribed), b.paid, int64(b.amount), o.record)
	return b, err
}

// pay takes the price of an order, for the charge with that id. Rows are always locked in the
// same order (quota, subscriptions, wallet, token), so that two orders never deadlock.
func (s *Service) pay(ctx context.Context, tx *store.Tx, id string, o order) (*bill, error) {
	b := &bill{id: id}
	err := useAllowance(ctx, tx, o)
	if err != nil {
		return nil, err
	}
	if o.product.FreePerDay < 0 {
		b.free, b.left = o.count, -1
	} else if b.free, b.left, err = payByQuota(ctx, tx, o, today()); err != nil {
		return nil, err
	}
	if err := pay(ctx, tx, o, b, o.count-b.free); err != nil {
		return nil, err
	}
	if err := countToken(ctx, tx, o.caller, b); err != nil {
		return nil, err
	}
	tx.OnCommit(func() {
		s.usage.spend(o.caller, o.endpoint, spending{free: b.free, subscription: b.subscriptions(), wallet: b.paid, amount: b.amount})
	})
	return b, nil
}

// pay takes the rest of an order from subscriptions and the wallet. An account nearly always
// has no subscription, and the statement that takes the money checks that.
func pay(ctx context.Context, tx *store.Tx, o order, b *bill, rest int64) (err error) {
	if rest == 0 {
		return nil
	}
	if o.product.Price > 0 && rest <= int64(maxCredit/o.product.Price) {
		b.paid, b.amount = rest, money.Micro(rest)*o.product.Price
		done, err := unsubscribed.withdraw(ctx, tx, o.caller.AccountID, int64(b.amount), o.endpoint.Method, o.endpoint.Segment)
		if err != nil || done {
			return err
		}
		b.paid, b.amount = 0, 0
	}
	if b.subscribed, err = payBySubscriptions(ctx, tx, o, rest); err != nil {
		return err
	}
	if rest -= b.subscriptions(); rest == 0 {
		return nil
	}
	if b.paid, b.amount = rest, money.Micro(rest)*o.product.Price; o.product.Price > 0 && rest > int64(maxCredit/o.product.Price) {
		return noCredit()
	}
	return payByWallet(ctx, tx, o, b)
}

// fund is the statement that takes from a balance: $1 is the owner, $2 how much, $3 when. A
// balance is one row, so the database serialises those who take from it.
type fund string

const (
	walletFund       fund = `update wallets set credit = credit - $2, updated_at = $3 where account_id = $1 and credit >= $2`
	subscriptionFund fund = `update subscriptions set available = available - $2, updated_at = $3 where id = $1 and available >= $2`
)

// withdraw takes n from a fund, and reports whether there was enough.
func (f fund) withdraw(ctx context.Context, tx *store.Tx, owner string, n int64, further ...any) (bool, error) {
	rows, err := tx.Exec(ctx, string(f), append([]any{owner, n, time.Now().UnixMilli()}, further...)...)
	return rows == 1, err
}

// unsubscribed is the wallet of an account without a subscription for an order; nothing is
// taken where there is one, or not enough money.
var unsubscribed = walletFund + fund(` and not exists (select 1`+inForce("$3", "$4", "$5")+`)`)

// inForce are the subscriptions of account $1 that an order can be paid from.
func inForce(now, method, segment string) string {
	return ` from subscriptions where account_id = $1 and starts_at <= ` + now + ` and expires_at > ` + now + ` and method in ('*', ` + method + `) and segment in ('*', ` + segment + `)
		and available > 0`
}

func noCredit() error { return fault.New(fault.NoCredit, "insufficient credit in wallet") }

// payByQuota takes up to the count from the free quota of a day and says what
// is left of it.
func payByQuota(ctx context.Context, tx *store.Tx, o order, day string) (taken, left int64, err error) {
	limit := o.product.FreePerDay
	if limit == 0 || o.count == 0 {
		return 0, 0, nil
	}
	_, err = tx.Exec(ctx, `insert into quota_days (account_id, product, day, used) values ($1, $2, $3, 0) on conflict do nothing`,
		o.caller.AccountID, o.product.Name, day)
	if err != nil {
		return 0, 0, err
	}
	for want := o.count; ; {
		var used int64
		err := tx.QueryRow(ctx, `update quota_days set used = used + $4 where account_id = $1 and product = $2 and day = $3 and used + $4 <= $5
			returning used`, o.caller.AccountID, o.product.Name, day, want, limit).Scan(&used)
		if err == nil {
			return want, limit - used, nil
		}
		if !errors.Is(err, store.ErrNoRows) {
			return 0, 0, err
		}
		err = tx.QueryRow(ctx, `select used from quota_days where account_id = $1 and product = $2 and day = $3`,
			o.caller.AccountID, o.product.Name, day).Scan(&used)
		if err != nil || used >= limit {
			return 0, 0, err
		}
		want = min(want, limit-used)
	}
}

// payBySubscriptions takes up to n requests, from what ends first.
func payBySubscriptions(ctx context.Context, tx *store.Tx, o order, n int64) (taken []share, err error) {
	now := time.Now().UnixMilli()
	for n > 0 {
		one, err := endsFirst(ctx, tx, o, now)
		if err != nil || one.subscription == "" {
			return taken, err
		}
		one.count = min(one.count, n)
		had, err := subscriptionFund.withdraw(ctx, tx, one.subscription, one.count)
		if err != nil {
			return nil, err
		}
		if had { // else it was emptied meanwhile: look again
			taken, n = append(taken, one), n-one.count
		}
	}
	return taken, nil
}

// endsFirst is the subscription that ends first, with all that it has; zero where
// there is none. ORDER BY builds a temporary table on SQLite even for no rows, which
// is the usual case: sort here.
func endsFirst(ctx context.Context, tx *store.Tx, o order, now int64) (first share, err error) {
	rows, err := tx.Query(ctx, `select id, available, expires_at`+inForce("$2", "$3", "$4"),
		o.caller.AccountID, now, o.endpoint.Method, o.endpoint.Segment)
	var end int64
	err = store.Each("account: read subscriptions", rows, err, func(r store.Row) error {
		var one share
		var ends int64
		if err := r.Scan(&one.subscription, &one.count, &ends); err != nil {
			return err
		}
		if first.subscription == "" || ends < end || ends == end && one.subscription < first.subscription {
			first, end = one, ends
		}
		return nil
	})
	return first, err
}

func payByWallet(ctx context.Context, tx *store.Tx, o order, b *bill) error {
	if b.amount == 0 {
		return nil
	}
	return tx.Expect(ctx, 1, noCredit(), string(walletFund), o.caller.AccountID, int64(b.amount), time.Now().UnixMilli())
}

// countToken counts what a token spends against its own limits and those of its ancestors.
func countToken(ctx context.Context, tx *store.Tx, c *account.Caller, b *bill) error {
	if len(c.Limited) == 0 || (b.paid == 0 && len(b.subscribed) == 0) {
		return nil // tokens without limits are counted with the other usage
	}
	var wallet, subscription int64
	if b.paid > 0 {
		wallet = 1
	}
	if len(b.subscribed) > 0 {
		subscription = 1
	}
	spent := &fault.Error{Code: fault.LimitReached, Text: "the token's limit of spending is reached", RetryAfter: time.Hour}
	for i, id := range c.Family {
		if i > 0 && !slices.Contains(c.Limited, id) {
			continue
		}
		err := tx.Expect(ctx, 1, spent, `update tokens set wallet_requests = wallet_requests + $2, subscription_requests = subscription_requests + $3,
				wallet_amount = wallet_amount + $4 where id = $1
			and (wallet_limit is null or $2 = 0 or wallet_requests + $2 <= wallet_limit)
			and (subscription_limit is null or $3 = 0 or subscription_requests + $3 <= subscription_limit)
			and (amount_limit is null or $4 = 0 or wallet_amount + $4 <= amount_limit)`,
			id, wallet, subscription, int64(b.amount))
		if err != nil {
			return err
		}
	}
	return nil
}

// Refund returns a charge to where it came from, once however often it is called. "" is no
// charge.
func (s *Service) Refund(ctx context.Context, tx *store.Tx, id string) error {
	if id == "" {
		return nil
	}
	c, err := scanCharge(tx.QueryRow(ctx, `update wallet_transactions set refunded_at = $2 where id = $1 and refunded_at = 0 returning `+chargeColumns, id, time.Now().UnixMilli()))
	if errors.Is(err, store.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.giveBack(ctx, tx, c, c.bill)
}

// Forget reduces a charge that can no longer be refunded to its movement of money, which the
// statement keeps for ever; what it was for is deleted. A charge without money is deleted
// entirely.
func (s *Service) Forget(ctx context.Context, tx *store.Tx, id string) error {
	if id == "" {
		return nil
	}
	if _, err := tx.Exec(ctx, `delete from wallet_transactions where id = $1 and amount = 0`, id); err != nil {
		return fmt.Errorf("billing: forget a charge: %w", err)
	}
	_, err := tx.Exec(ctx, `update wallet_transactions set count = null, free = null, paid = null, taken = null, refunded_at = null,
		token_id = null, product = null, subscribed = null, record_id = null, charge_id = null where id = $1`, id)
	if err != nil {
		return fmt.Errorf("billing: forget a charge: %w", err)
	}
	return nil
}

func describe(product string, n int64) string {
	if n == 1 {
		return product
	}
	return fmt.Sprintf("%s × %d", product, n)
}

func joinShares(list []share) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, s.subscription+":"+strconv.FormatInt(s.count, 10))
	}
	return strings.Join(parts, " ")
}

func splitShares(text string) (list []share) {
	for _, part := range strings.Fields(text) {
		id, n, _ := strings.Cut(part, ":")
		if count, err := strconv.ParseInt(n, 10, 64); err == nil {
			list = append(list, share{id, count})
		}
	}
	return list
}

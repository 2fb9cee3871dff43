package billing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/store"
)

// ChargeMany is Charge for a call that makes several of what it pays for, such
// as the signatures of a batch: all of them are paid, or none.
func (s *Service) ChargeMany(ctx context.Context, tx *store.Tx, call, record string, n int) (string, error) {
	method, segment, _ := strings.Cut(call, "/")
	e := account.Endpoint{Method: method, Segment: segment}
	p, ok := s.prices.product(e)
	if !ok || n < 1 {
		return "", nil
	}
	c := account.CallerFrom(ctx)
	if c == nil {
		return "", errors.New("account: nobody to charge")
	}
	b, err := s.charge(ctx, tx, order{caller: c, endpoint: e, product: p, count: int64(n), record: record})
	if err != nil {
		return "", err
	}
	return b.id, nil
}

// Cover makes the charge of a call pay for n of what it is for, where it pays
// for fewer, and says how many it pays for: what is made later than the charge,
// such as a signature for each field of a PDF, is counted when it is made.
func (s *Service) Cover(ctx context.Context, tx *store.Tx, call, id string, n int) (int, error) {
	if id == "" {
		return n, nil
	}
	c, err := readCharge(ctx, tx, id)
	if err != nil {
		return 0, fmt.Errorf("account: read charge: %w", err)
	}
	if c.count >= int64(n) {
		return int(c.count), nil
	}
	method, segment, _ := strings.Cut(call, "/")
	e := account.Endpoint{Method: method, Segment: segment}
	p, _ := s.prices.product(e)
	payer, err := s.accounts.Payer(ctx, tx, c.account, c.token)
	if err != nil {
		return 0, err
	}
	b, err := s.pay(ctx, tx, id, order{caller: payer, endpoint: e, product: p, count: int64(n) - c.count})
	if err != nil {
		return 0, err
	}
	if b.amount > 0 {
		if err := s.transaction(ctx, tx, transaction{account: c.account, amount: -b.amount, charge: id, text: describe(p.Name, b.paid)}); err != nil {
			return 0, err
		}
	}
	return n, tx.Expect(ctx, 1, errors.New("account: the charge changed meanwhile"),
		`update wallet_transactions set count = $2, free = free + $3, subscribed = $4, paid = paid + $5, taken = taken + $6 where id = $1 and refunded_at = 0 and count = $7`,
		id, int64(n), b.free, joinShares(append(c.subscribed, b.subscribed...)), b.paid, int64(b.amount), c.count)
}

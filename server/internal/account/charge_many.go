package account

import (
	"context"
	"errors"
	"strings"

	"rogito.dev/rogito/server/internal/store"
)

// ChargeMany is Charge for a call that makes several of what it pays for, such
// as the signatures of a batch: all of them are paid, or none.
func (s *Service) ChargeMany(ctx context.Context, tx *store.Tx, call, record string, n int) (string, error) {
	method, segment, _ := strings.Cut(call, "/")
	e := Endpoint{method, segment}
	p, ok := s.cfg.Prices.product(e)
	if !ok || n < 1 {
		return "", nil
	}
	c := CallerFrom(ctx)
	if c == nil {
		return "", errors.New("account: nobody to charge")
	}
	b, err := s.charge(ctx, tx, order{caller: c, endpoint: e, product: p, count: int64(n), record: record})
	if err != nil {
		return "", err
	}
	return b.id, nil
}

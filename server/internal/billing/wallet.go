package billing

import (
	"context"
	"errors"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// Wallet is an account's money, what is reserved for lookups and not yet spent
// included.
type Wallet struct {
	Credit               money.Micro
	CreatedAt, UpdatedAt time.Time
}

// Wallet reads an account's wallet.
func (s *Service) Wallet(ctx context.Context, accountID string) (w Wallet, err error) {
	var created, updated int64
	err = s.db.Read().QueryRow(ctx, `select credit + coalesce((select sum((l.reserved - l.used) * l.price) from meter_leases l
			where l.account_id = w.account_id and l.source = 'wallet'), 0), created_at, updated_at
		from wallets w where account_id = $1`, accountID).Scan((*int64)(&w.Credit), &created, &updated)
	if errors.Is(err, store.ErrNoRows) {
		return w, fault.New(fault.NotFound, "there is no wallet")
	}
	w.CreatedAt, w.UpdatedAt = store.Time(created), store.Time(updated)
	return w, err
}

// Transaction is a movement of a wallet; spending is negative.
type Transaction struct {
	ID          string
	Amount      money.Micro
	VAT         int64
	Description string
	CreatedAt   time.Time
}

// Transactions lists an account's movements, newest first.
func (s *Service) Transactions(ctx context.Context, accountID, after string, skip, limit int) ([]Transaction, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(accountID)
	rows, err := s.db.Read().Query(ctx, `select id, amount, vat, description, created_at from wallet_transactions where account_id = $1 and amount <> 0`+tail, args...)
	return store.All("list transactions", rows, err, func(r store.Row) (t Transaction, err error) {
		var at int64
		err = r.Scan(&t.ID, (*int64)(&t.Amount), &t.VAT, &t.Description, &at)
		t.CreatedAt = store.Time(at)
		return t, err
	})
}

// Credit puts money into a wallet.
func (s *Service) Credit(ctx context.Context, accountID string, amount money.Micro, text string) error {
	if amount <= 0 {
		return fault.New(fault.BadField, "the amount must be over 0")
	}
	return s.db.Write(ctx, func(tx *store.Tx) error { return s.credit(ctx, tx, accountID, amount, text) })
}

func (s *Service) credit(ctx context.Context, tx *store.Tx, accountID string, amount money.Micro, text string) error {
	if amount > maxCredit {
		return tooMuch()
	}
	n, err := tx.Exec(ctx, `update wallets set credit = credit + $2, updated_at = $3 where account_id = $1 and credit <= $4`,
		accountID, int64(amount), time.Now().UnixMilli(), int64(maxCredit-amount))
	if err != nil {
		return err
	}
	if n == 0 {
		return tooMuch()
	}
	return s.transaction(ctx, tx, transaction{account: accountID, amount: amount, text: text})
}

func tooMuch() error {
	return fault.New(fault.BadField, "a wallet holds at most %s EUR", maxCredit)
}

type transaction struct {
	account string
	amount  money.Micro
	charge  string
	text    string
}

func (s *Service) transaction(ctx context.Context, tx *store.Tx, t transaction) error {
	vat := 0
	if t.charge != "" {
		vat = s.prices.VAT
	}
	return tx.Later(ctx, `insert into wallet_transactions (id, account_id, amount, vat, description, charge_id, created_at)
		values ($1, $2, $3, $4, $5, $6, $7)`, store.NewID(), t.account, int64(t.amount), vat, t.text, t.charge, time.Now().UnixMilli())
}

// Subscription is a number of requests paid in advance.
type Subscription struct {
	ID                   string
	Scope                account.Scope
	Total, Available     int64
	Price                money.Micro
	StartsAt, ExpiresAt  time.Time
	CreatedAt, UpdatedAt time.Time
}

// Active says whether requests can be taken from it.
func (u Subscription) Active() bool {
	now := time.Now()
	return u.Available > 0 && !now.Before(u.StartsAt) && now.Before(u.ExpiresAt)
}

// maxRequests bounds the requests of a subscription.
const maxRequests = 1_000_000_000_000

// Subscribe gives an account requests of a scope for a year.
func (s *Service) Subscribe(ctx context.Context, accountID, scope string, requests int64, price money.Micro) (Subscription, error) {
	sc, err := account.ParseScope(scope)
	if err != nil {
		return Subscription{}, err
	}
	if requests <= 0 || requests > maxRequests || price < 0 || price > maxCredit {
		return Subscription{}, fault.New(fault.BadField, "requests must be between 1 and %d, and the price between 0 and %s EUR", int64(maxRequests), maxCredit)
	}
	now := time.Now().UTC()
	u := Subscription{
		ID: store.NewID(), Scope: sc, Total: requests, Available: requests, Price: price,
		StartsAt: now, ExpiresAt: now.AddDate(1, 0, 0), CreatedAt: now, UpdatedAt: now,
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into subscriptions (id, account_id, scope, method, domain, segment, total, available, price,
				starts_at, expires_at, created_at, updated_at)
			values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $9, $9)`,
			u.ID, accountID, sc.String(), sc.Method, sc.Domain, sc.Segment, requests, int64(price), now.UnixMilli(), u.ExpiresAt.UnixMilli())
		return err
	})
	return u, err
}

const subscriptionColumns = `id, method, domain, segment, total,
	available + coalesce((select sum(l.reserved - l.used) from meter_leases l where l.source_id = subscriptions.id), 0),
	price, starts_at, expires_at, created_at, updated_at`

func scanSubscription(r store.Row) (u Subscription, err error) {
	var starts, expires, created, updated int64
	err = r.Scan(&u.ID, &u.Scope.Method, &u.Scope.Domain, &u.Scope.Segment, &u.Total, &u.Available, (*int64)(&u.Price),
		&starts, &expires, &created, &updated)
	u.StartsAt, u.ExpiresAt, u.CreatedAt, u.UpdatedAt = store.Time(starts), store.Time(expires), store.Time(created), store.Time(updated)
	return u, err
}

// Subscriptions lists an account's subscriptions, newest first.
func (s *Service) Subscriptions(ctx context.Context, accountID, after string, skip, limit int) ([]Subscription, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(accountID)
	rows, err := s.db.Read().Query(ctx, `select `+subscriptionColumns+` from subscriptions where account_id = $1`+tail, args...)
	return store.All("list subscriptions", rows, err, scanSubscription)
}

// Subscription is one of an account's subscriptions; fault 140.
func (s *Service) Subscription(ctx context.Context, accountID, id string) (Subscription, error) {
	u, err := scanSubscription(s.db.Read().QueryRow(ctx, `select `+subscriptionColumns+` from subscriptions where account_id = $1 and id = $2`, accountID, id))
	if errors.Is(err, store.ErrNoRows) {
		return u, fault.New(fault.NotFound, "there is no such subscription")
	}
	return u, err
}

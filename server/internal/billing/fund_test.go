package billing_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// sign charges a signature in a transaction of its own.
func (r fixture) sign(c *account.Caller) error {
	in := account.WithCaller(ctx, c)
	return r.db.Write(in, func(tx *store.Tx) error {
		_, err := r.Charge(in, tx, "POST/EU-QES_automatic", store.NewID())
		return err
	})
}

// Two servers sign all that a subscription and a wallet pay for, to the last
// cent and no further.
func TestFundsToTheLast(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		nodes := []fixture{open(t, db, m, billing.Prices{}), open(t, db, m, billing.Prices{})}
		a := nodes[0].account(t, "a@example.org", 60*money.Euro) // 1,200 signatures
		c := nodes[0].caller(t, "Bearer "+a.Token)
		_, err := nodes[0].Subscribe(ctx, c.AccountID, "POST:*/EU-QES_automatic", 900, 0)
		if err != nil {
			t.Fatal(err)
		}
		var turn atomic.Int64
		sign := func() error { return nodes[turn.Add(1)%2].sign(c) }
		for _, step := range []struct {
			tries, served, refused, available int64
			credit                            money.Micro
		}{
			{400, 400, 0, 500, 60 * money.Euro},
			{900, 900, 0, 0, 40 * money.Euro},
			{900, 800, 100, 0, 0},
		} {
			served, refused, err := parallel(int(step.tries), sign)
			if served != step.served || refused != step.refused || err != nil {
				t.Errorf("%d signed, %d refused, %v; want %d and %d", served, refused, err, step.served, step.refused)
			}
			w, err := nodes[0].Wallet(ctx, c.AccountID)
			if err != nil || w.Credit != step.credit {
				t.Errorf("wallet %v, %v; want %v", w.Credit, err, step.credit)
			}
			if subs, err := nodes[1].Subscriptions(ctx, c.AccountID, "", 0, 1); err != nil || subs[0].Available != step.available {
				t.Errorf("subscription %+v, %v; want %d", subs, err, step.available)
			}
			balance(t, nodes[0], c.AccountID)
		}
		if err := nodes[0].Credit(ctx, c.AccountID, money.Euro/20, "one more"); err != nil {
			t.Fatal(err)
		}
		if err := sign(); err != nil {
			t.Errorf("after money came in: %v", err)
		}
		if err := sign(); code(err) != 611 {
			t.Errorf("after it was spent: %v", err)
		}
		balance(t, nodes[0], c.AccountID)
	})
}

// A subscription pays from the moment it is there until it is used up, and the wallet
// before and after.
func TestSubscriptionInBetween(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", 60*money.Euro)
		c := r.caller(t, "Bearer "+a.Token)
		price := billing.DefaultPrices().Signature
		sign := func(n int, credit money.Micro) {
			t.Helper()
			for range n {
				if err := r.sign(c); err != nil {
					t.Fatal(err)
				}
			}
			if w, err := r.Wallet(ctx, c.AccountID); err != nil || w.Credit != credit {
				t.Errorf("wallet %v, %v; want %v", w.Credit, err, credit)
			}
		}
		sign(2, 60*money.Euro-2*price)
		for _, scope := range []string{"GET:*/EU-QES_automatic", "POST:*/EU-QES_automatic"} { // the first is for other calls
			if _, err := r.Subscribe(ctx, c.AccountID, scope, 3, 0); err != nil {
				t.Fatal(err)
			}
		}
		sign(3, 60*money.Euro-2*price)
		sign(2, 60*money.Euro-4*price)
		sign(100, 60*money.Euro-104*price)
		if _, err := r.Subscribe(ctx, c.AccountID, "POST:*/*", 5, 0); err != nil {
			t.Fatal(err)
		}
		sign(5, 60*money.Euro-104*price)
		sign(1, 60*money.Euro-105*price)
		balance(t, r, c.AccountID)
	})
}

// BenchmarkCharges has 32 clients pay from one wallet at the same time.
func BenchmarkCharges(b *testing.B) {
	for _, e := range storetest.Engines() {
		b.Run(e.Name, func(b *testing.B) {
			db, m := storetest.Open(b, e.Config(b))
			r := open(b, db, m, billing.Prices{})
			a := r.account(b, "a@example.org", 1_000_000*money.Euro)
			c := r.caller(b, "Bearer "+a.Token)
			b.SetParallelism(32 / runtime.GOMAXPROCS(0))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := r.sign(c); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

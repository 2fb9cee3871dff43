package account_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// sign charges a signature in a transaction of its own.
func (r room) sign(c *account.Caller) error {
	in := account.WithCaller(ctx, c)
	return r.db.Write(in, func(tx *store.Tx) error {
		_, err := r.Charge(in, tx, "POST/EU-QES_automatic", store.NewID())
		return err
	})
}

// drawn is what the drawers of an owner hold.
func (r room) drawn(t *testing.T, owner string) int64 {
	t.Helper()
	var n int64
	if err := r.db.Read().QueryRow(ctx, `select coalesce(cast(sum(amount) as bigint), 0) from drawers where owner = $1`, owner).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Two servers sign all that a subscription and a wallet pay for, to the last
// cent and no further, whatever of it lies in drawers.
func TestFundsToTheLast(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		nodes := []room{open(t, db, m, account.Config{}), open(t, db, m, account.Config{})}
		a := nodes[0].account(t, account.NewAccount{Email: "a@example.org", Credit: 60 * account.Euro}) // 1,200 signatures
		c := nodes[0].caller(t, "Bearer "+a.Token)
		sub, err := nodes[0].Subscribe(ctx, c.AccountID, "POST:*/EU-QES_automatic", 900, 0)
		if err != nil {
			t.Fatal(err)
		}
		var turn atomic.Int64
		sign := func() error { return nodes[turn.Add(1)%2].sign(c) }
		for _, step := range []struct {
			tries, served, refused, available int64
			credit                            account.Micro
			owner                             string
		}{
			{400, 400, 0, 500, 60 * account.Euro, sub.ID},
			{900, 900, 0, 0, 40 * account.Euro, c.AccountID},
			{900, 800, 100, 0, 0, ""},
		} {
			served, refused, err := parallel(int(step.tries), sign)
			if served != step.served || refused != step.refused || err != nil {
				t.Errorf("%d signed, %d refused, %v; want %d and %d", served, refused, err, step.served, step.refused)
			}
			if db.Dialect() == store.PostgreSQL && step.owner != "" && nodes[0].drawn(t, step.owner) == 0 {
				t.Error("nothing lies in drawers")
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
		if err := nodes[0].Credit(ctx, c.AccountID, account.Euro/20, "one more"); err != nil {
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
	each(t, account.Config{}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: 60 * account.Euro})
		c := r.caller(t, "Bearer "+a.Token)
		price := account.DefaultPrices().Signature
		sign := func(n int, credit account.Micro) {
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
		sign(2, 60*account.Euro-2*price)
		for _, scope := range []string{"GET:*/EU-QES_automatic", "POST:*/EU-QES_automatic"} { // the first is for other calls
			if _, err := r.Subscribe(ctx, c.AccountID, scope, 3, 0); err != nil {
				t.Fatal(err)
			}
		}
		sign(3, 60*account.Euro-2*price)
		sign(2, 60*account.Euro-4*price)
		sign(100, 60*account.Euro-104*price) // with drawers, where there are any
		if _, err := r.Subscribe(ctx, c.AccountID, "POST:*/*", 5, 0); err != nil {
			t.Fatal(err)
		}
		sign(5, 60*account.Euro-104*price)
		sign(1, 60*account.Euro-105*price)
		balance(t, r, c.AccountID)
	})
}

// What is in drawers pays for a certificate and for lookups too.
func TestDrawersPayForAll(t *testing.T) {
	prices := account.DefaultPrices()
	prices.FreeLookups = 0
	each(t, account.Config{Prices: prices}, func(t *testing.T, r room) {
		const signed = 100
		rest := 2 * prices.Lookup
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: signed*prices.Signature + prices.Certificate + rest})
		c := r.caller(t, "Bearer "+a.Token)
		for range signed {
			if err := r.sign(c); err != nil {
				t.Fatal(err)
			}
		}
		if r.db.Dialect() == store.PostgreSQL && r.drawn(t, c.AccountID) == 0 {
			t.Fatal("nothing lies in drawers")
		}
		in := account.WithCaller(ctx, c)
		err := r.db.Write(in, func(tx *store.Tx) error {
			_, err := r.Charge(in, tx, "POST/certificates", store.NewID())
			return err
		})
		if err != nil {
			t.Errorf("a certificate: %v", err)
		}
		if w, err := r.Wallet(ctx, c.AccountID); err != nil || w.Credit != rest {
			t.Errorf("wallet %v, %v; want %v", w.Credit, err, rest)
		}
		for i := range 3 {
			if _, err := r.SpendLookups(ctx, c, 1); (err == nil) != (i < 2) {
				t.Errorf("lookup %d: %v", i+1, err)
			}
		}
	})
}

// On PostgreSQL a charge that is not committed yet keeps nobody waiting who pays
// from the same fund.
func TestChargesDoNotWait(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		if r.db.Dialect() != store.PostgreSQL {
			t.Skip("on SQLite writes take turns")
		}
		for name, subscribed := range map[string]int64{"wallet": 0, "subscription": 5000} {
			a := r.account(t, account.NewAccount{Email: name + "@example.org", Credit: 200 * account.Euro})
			c := r.caller(t, "Bearer "+a.Token)
			if subscribed > 0 {
				if _, err := r.Subscribe(ctx, c.AccountID, "POST:*/EU-QES_automatic", subscribed, 0); err != nil {
					t.Fatal(err)
				}
			}
			for range 64 {
				if err := r.sign(c); err != nil {
					t.Fatal(err)
				}
			}
			in, stop := context.WithTimeout(account.WithCaller(ctx, c), 20*time.Second)
			err := r.db.Write(in, func(tx *store.Tx) error {
				if _, err := r.Charge(in, tx, "POST/EU-QES_automatic", store.NewID()); err != nil {
					return err
				}
				if _, err := tx.Exec(in, `delete from charges where id = ''`); err != nil { // everything before it is sent too
					return err
				}
				return r.db.Write(in, func(tx *store.Tx) error {
					_, err := r.Charge(in, tx, "POST/EU-QES_automatic", store.NewID())
					return err
				})
			})
			stop()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			balance(t, r, c.AccountID)
		}
	})
}

// What a server remembers of a fund goes when nobody asks for it, and what is in
// drawers is spent all the same.
func TestFundsAreForgotten(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: 30 * account.Euro}) // 600 signatures
		c := r.caller(t, "Bearer "+a.Token)
		for i := range 600 {
			if err := r.sign(c); err != nil {
				t.Fatalf("signature %d: %v", i+1, err)
			}
			if i%100 == 99 {
				if now, later := r.ForgetTills(time.Now()), r.ForgetTills(time.Now().Add(2*time.Minute)); now != 1 || later != 0 {
					t.Errorf("%d funds are remembered now, and %d in two minutes", now, later)
				}
			}
		}
		if err := r.sign(c); code(err) != 611 {
			t.Errorf("after all was spent: %v", err)
		}
		balance(t, r, c.AccountID)
	})
}

// BenchmarkCharges has 32 clients pay from one wallet at the same time.
func BenchmarkCharges(b *testing.B) {
	for _, e := range storetest.Engines() {
		b.Run(e.Name, func(b *testing.B) {
			db, m := storetest.Open(b, e.Config(b))
			r := open(b, db, m, account.Config{})
			a := r.account(b, account.NewAccount{Email: "a@example.org", Credit: 1_000_000 * account.Euro})
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

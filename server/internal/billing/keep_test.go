package billing_test

import (
	"testing"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// What a batch did not make comes back to where it was taken from, last paid
// first, once.
func TestKeep(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", money.Euro)
		c := r.caller(t, "Bearer "+a.Token)
		if _, err := r.Subscribe(ctx, c.AccountID, "POST:*/EU-QES_automatic", 4, 0); err != nil {
			t.Fatal(err)
		}
		in := account.WithCaller(ctx, c)
		var id string
		err := r.db.Write(in, func(tx *store.Tx) (err error) {
			id, err = r.ChargeMany(in, tx, "POST/EU-QES_automatic", store.NewID(), 10)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			keep      int
			credit    money.Micro
			available int64
		}{
			{10, money.Euro - 6*money.Euro/20, 0},
			{7, money.Euro - 3*money.Euro/20, 0},
			{7, money.Euro - 3*money.Euro/20, 0},
			{3, money.Euro, 1},
			{9, money.Euro, 1},
		} {
			if err := r.db.Write(ctx, func(tx *store.Tx) error { return r.Keep(ctx, tx, id, step.keep) }); err != nil {
				t.Fatal(err)
			}
			w, _ := r.Wallet(ctx, c.AccountID)
			subs, _ := r.Subscriptions(ctx, c.AccountID, "", 0, 1)
			if w.Credit != step.credit || int64(subs[0].Available) != step.available {
				t.Errorf("keep %d: wallet %v, subscription %d; want %v, %d", step.keep, w.Credit, subs[0].Available, step.credit, step.available)
			}
			balance(t, r, c.AccountID)
		}
		if err := r.db.Write(ctx, func(tx *store.Tx) error { return r.Refund(ctx, tx, id) }); err != nil {
			t.Fatal(err)
		}
		if subs, _ := r.Subscriptions(ctx, c.AccountID, "", 0, 1); subs[0].Available != 4 {
			t.Errorf("subscription has %d after all was given back", subs[0].Available)
		}
		balance(t, r, c.AccountID)
	})
}

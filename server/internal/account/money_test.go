package account_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func TestEuro(t *testing.T) {
	for text, want := range map[string]account.Micro{"0.013": 13_000, "137": 137_000_000, "0.000001": 1, "1000000.00": 1e12, "-2.5": -2_500_000, "0": 0} {
		if got, err := account.ParseEuro(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "-", ".", ".5", "1,5", "1e3", "0.0000001", "99999999999999999999", "NaN", "1.2.3", "0x1"} {
		if got, err := account.ParseEuro(bad); err == nil {
			t.Errorf("%q passes for %v", bad, got)
		}
	}
	for m, want := range map[account.Micro]string{13_000: "0.013", 137_000_000: "137.00", 1: "0.000001", -2_500_000: "-2.50", 0: "0.00"} {
		if m.String() != want {
			t.Errorf("%d is %s, want %s", m, m, want)
		}
	}
}

// parallel has 200 clients try n times in all and counts who was served.
func parallel(n int, try func() error) (ok, refused int64, other error) {
	var served, no atomic.Int64
	var mu sync.Mutex
	var all sync.WaitGroup
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	for range 200 {
		all.Go(func() {
			for range work {
				switch err := try(); code(err) {
				case 0:
					served.Add(1)
				case 611:
					no.Add(1)
				default:
					mu.Lock()
					other = errors.Join(other, err)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return served.Load(), no.Load(), other
}

// 1,440 free lookups, 200 parallel clients, two nodes: 1,440 are served.
func TestQuotaRace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		nodes := []room{open(t, db, m, account.Config{}), open(t, db, m, account.Config{})}
		a := nodes[0].account(t, account.NewAccount{Email: "a@example.org"})
		other := nodes[0].account(t, account.NewAccount{Email: "b@example.org"})
		c := nodes[0].caller(t, "Bearer "+a.Token)
		var turn atomic.Int64
		ok, refused, err := parallel(1600, func() error {
			_, err := nodes[turn.Add(1)%2].SpendLookups(ctx, c, 1)
			return err
		})
		if ok != 1440 || refused != 160 || err != nil {
			t.Errorf("%d served, %d refused, %v; want 1440 and 160", ok, refused, err)
		}
		cb := nodes[0].caller(t, "Bearer "+other.Token)
		if left, err := nodes[0].SpendLookups(ctx, cb, 1); err != nil || left != 1439 {
			t.Errorf("another account: %d left, %v", left, err)
		}
	})
}

// Quota, then subscription, then wallet, each to the last, and the books agree.
func TestLookupsFromEverySource(t *testing.T) {
	prices := account.DefaultPrices()
	prices.FreeLookups = 100
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		nodes := []room{open(t, db, m, account.Config{Prices: prices}), open(t, db, m, account.Config{Prices: prices})}
		a := nodes[0].account(t, account.NewAccount{Email: "a@example.org", Credit: account.Euro}) // 50 lookups
		c := nodes[0].caller(t, "Bearer "+a.Token)
		if _, err := nodes[0].Subscribe(ctx, c.AccountID, "GET:*/IT-omi", 70, account.Euro); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Truncate(time.Millisecond)
		time.Sleep(2 * time.Millisecond)
		var turn atomic.Int64
		ok, refused, err := parallel(300, func() error {
			_, err := nodes[turn.Add(1)%2].SpendLookups(ctx, c, 1)
			return err
		})
		if ok != 220 || refused != 80 || err != nil {
			t.Errorf("%d served, %d refused, %v; want 220 and 80", ok, refused, err)
		}
		for _, n := range nodes {
			n.Service.Close()
		}
		if w, err := nodes[0].Wallet(ctx, c.AccountID); err != nil || w.Credit != 0 || !w.UpdatedAt.After(before) {
			t.Errorf("wallet %v of %v, %v", w.Credit, w.UpdatedAt, err)
		}
		subs, err := nodes[0].Subscriptions(ctx, c.AccountID, "", 0, 10)
		if err != nil || len(subs) != 1 || subs[0].Available != 0 {
			t.Errorf("%+v, %v", subs, err)
		}
		balance(t, nodes[0], c.AccountID)
	})
}

// balance checks that the movements of a wallet add up to its credit.
func balance(t *testing.T, r room, accountID string) {
	t.Helper()
	var sum, credit int64
	err := r.db.Read().QueryRow(ctx, `select cast(coalesce(sum(amount), 0) as bigint) from wallet_transactions where account_id = $1`, accountID).Scan(&sum)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.db.Read().QueryRow(ctx, `select credit from wallets where account_id = $1`, accountID).Scan(&credit); err != nil {
		t.Fatal(err)
	}
	if sum != credit {
		t.Errorf("movements add up to %v, the wallet holds %v", account.Micro(sum), account.Micro(credit))
	}
}

func TestUnspentLeaseComesBack(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		c := r.caller(t, "Bearer "+a.Token)
		left, err := r.SpendLookups(ctx, c, 3)
		if err != nil || left != 1437 {
			t.Errorf("%d left, %v", left, err)
		}
		var used int64
		quota := func() int64 {
			if err := r.db.Read().QueryRow(ctx, `select used from quota_days where account_id = $1`, c.AccountID).Scan(&used); err != nil {
				t.Fatal(err)
			}
			return used
		}
		for end := time.Now().Add(8 * time.Second); quota() != 3 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		}
		if used != 3 {
			t.Errorf("%d counted in the database, want 3", used)
		}
		// A process that died: its lease is old.
		if _, err := r.SpendLookups(ctx, c, 1); err != nil {
			t.Fatal(err)
		}
		if err := r.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `update meter_leases set updated_at = 1`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		second := open(t, r.db, r.master, account.Config{})
		for end := time.Now().Add(8 * time.Second); quota() > 4 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		}
		second.Service.Close()
		if used > 4 {
			t.Errorf("%d counted after the process died, want at most 4", used)
		}
	})
}

// Who has nothing leased is forgotten, and who is forgotten in the middle of spending spends from a purse
// that is flushed.
func TestPursesAreForgotten(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		var callers []*account.Caller
		for i := range 4 {
			a := r.account(t, account.NewAccount{Email: fmt.Sprintf("%d@example.org", i)})
			callers = append(callers, r.caller(t, "Bearer "+a.Token))
		}
		ended := make(chan error)
		go func() {
			var turn atomic.Int64
			_, _, err := parallel(1200, func() error {
				_, err := r.SpendLookups(ctx, callers[turn.Add(1)%4], 1)
				return err
			})
			ended <- err
		}()
		for going := true; going; {
			select {
			case err := <-ended:
				if going = false; err != nil {
					t.Fatal(err)
				}
			default:
			}
			if _, err := r.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := r.Flush(ctx); n != 0 || err != nil {
			t.Errorf("%d purses are remembered, %v", n, err)
		}
		var used int64
		if err := r.db.Read().QueryRow(ctx, `select sum(used) from quota_days`).Scan(&used); err != nil || used != 1200 {
			t.Errorf("%d counted in the database, %v; want 1200", used, err)
		}
	})
}

func TestUnlimitedLookups(t *testing.T) {
	prices := account.DefaultPrices()
	prices.FreeLookups = -1
	each(t, account.Config{Prices: prices}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		c := r.caller(t, "Bearer "+a.Token)
		for range 2000 {
			if left, err := r.SpendLookups(ctx, c, 1); err != nil || left != -1 {
				t.Fatal(left, err)
			}
		}
	})
}

// A batch that no single source can pay is split over them, or refused whole.
func TestBatchOverSources(t *testing.T) {
	prices := account.DefaultPrices()
	prices.FreeLookups = 10
	each(t, account.Config{Prices: prices}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: account.Euro})
		c := r.caller(t, "Bearer "+a.Token)
		if _, err := r.SpendLookups(ctx, c, 5); err != nil {
			t.Fatal(err)
		}
		if _, err := r.SpendLookups(ctx, c, 500); code(err) != 611 {
			t.Errorf("more than there is: %v", err)
		}
		if _, err := r.SpendLookups(ctx, c, 15); err != nil { // 5 free, 10 paid
			t.Error(err)
		}
		r.Service.Close()
		if w, _ := r.Wallet(ctx, c.AccountID); w.Credit != account.Euro-10*prices.Lookup {
			t.Errorf("wallet %v", w.Credit)
		}
		balance(t, r, c.AccountID)
	})
}

// Charges for records: exact under 200 clients, subscription first, refunded
// once however often it is asked.
func TestChargeRace(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: 5 * account.Euro}) // 100 signatures
		c := r.caller(t, "Bearer "+a.Token)
		if _, err := r.Subscribe(ctx, c.AccountID, "POST:*/EU-QES_automatic", 40, 0); err != nil {
			t.Fatal(err)
		}
		in := account.WithCaller(ctx, c)
		var mu sync.Mutex
		var ids []string
		ok, refused, err := parallel(200, func() error {
			var id string
			err := r.db.Write(in, func(tx *store.Tx) (err error) {
				id, err = r.Charge(in, tx, "POST/EU-QES_automatic", store.NewID())
				return err
			})
			if err == nil {
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
			return err
		})
		if ok != 140 || refused != 60 || err != nil {
			t.Errorf("%d charged, %d refused, %v; want 140 and 60", ok, refused, err)
		}
		balance(t, r, c.AccountID)
		var all sync.WaitGroup
		for _, id := range ids {
			for range 3 {
				all.Go(func() {
					if err := r.db.Write(ctx, func(tx *store.Tx) error { return r.Refund(ctx, tx, id) }); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if w, _ := r.Wallet(ctx, c.AccountID); w.Credit != 5*account.Euro {
			t.Errorf("wallet %v after all was given back", w.Credit)
		}
		if subs, _ := r.Subscriptions(ctx, c.AccountID, "", 0, 1); subs[0].Available != 40 {
			t.Errorf("subscription has %d after all was given back", subs[0].Available)
		}
		balance(t, r, c.AccountID)
	})
}

func TestChargeIsPartOfItsTransaction(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: 200 * account.Euro})
		c := r.caller(t, "Bearer "+a.Token)
		in := account.WithCaller(ctx, c)
		failed := errors.New("the record was refused")
		err := r.db.Write(in, func(tx *store.Tx) error {
			if _, err := r.Charge(in, tx, "POST/certificates", "x"); err != nil {
				return err
			}
			return failed
		})
		if err != failed {
			t.Fatal(err)
		}
		if w, _ := r.Wallet(ctx, c.AccountID); w.Credit != 200*account.Euro {
			t.Errorf("a failed call cost %v", 200*account.Euro-w.Credit)
		}
	})
}

func TestTokenSpendingLimits(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: 100 * account.Euro})
		c := r.caller(t, basic("a@example.org", a.APIKey))
		amount := 7 * 50 * account.Micro(1000) // seven signatures
		tok := r.token(t, c, account.NewToken{Scopes: []string{account.AllScopes}, Limits: account.Limits{WalletAmount: &amount}})
		tc := r.caller(t, "Bearer "+tok.Secret)
		in := account.WithCaller(ctx, tc)
		charged := 0
		for range 12 {
			err := r.db.Write(in, func(tx *store.Tx) error {
				_, err := r.Charge(in, tx, "POST/EU-QES_automatic", store.NewID())
				return err
			})
			switch code(err) {
			case 0:
				charged++
			case 130:
			default:
				t.Error(err)
			}
		}
		if charged != 7 {
			t.Errorf("%d charged, want 7", charged)
		}
		if w, _ := r.Wallet(ctx, c.AccountID); w.Credit != 100*account.Euro-amount {
			t.Errorf("wallet %v", w.Credit)
		}
	})
}

func BenchmarkSpendLookup(b *testing.B) {
	prices := account.DefaultPrices()
	prices.FreeLookups = 1 << 40
	db, m := storetest.Open(b, store.Config{Data: b.TempDir()})
	r := open(b, db, m, account.Config{Prices: prices})
	a := r.account(b, account.NewAccount{Email: "a@example.org"})
	c := r.caller(b, "Bearer "+a.Token)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.SpendLookups(ctx, c, 1); err != nil {
				b.Error(err)
			}
		}
	})
}

// Money has bounds: what does not fit is refused with a sentence, and no amount
// turns into something else than an integer.
func TestMoneyBounds(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: account.Euro})
		id := a.Account.ID
		most := 1_000_000_000 * account.Euro
		for name, amount := range map[string]account.Micro{
			"nothing": 0, "less": -account.Euro, "more than a wallet holds": most + 1, "the most that is read": math.MaxInt64 / 4, "the most there is": math.MaxInt64,
			"the rest and a bit": most - account.Euro + 1,
		} {
			err := r.Credit(ctx, id, amount, "x")
			if code(err) != 310 {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := r.Credit(ctx, id, most-account.Euro, "x"); err != nil {
			t.Error(err)
		}
		for range 3 {
			if err := r.Credit(ctx, id, 1, "x"); code(err) != 310 {
				t.Errorf("over the brim: %v", err)
			}
		}
		if w, err := r.Wallet(ctx, id); err != nil || w.Credit != most {
			t.Errorf("%v %v", w.Credit, err)
		}
		if err := r.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `update wallets set credit = credit + 9000000000000000000`)
			return err
		}); err == nil {
			t.Error("the database lets a wallet overflow")
		}
		for _, text := range []string{"1e9", "0.0000001", "99999999999999999999", "NaN", "", "-", "+1", "1,5", "0x10", "1_000"} {
			if got, err := account.ParseEuro(text); err == nil {
				t.Errorf("%q is taken for %v", text, got)
			}
		}
		for _, c := range []struct {
			requests int64
			price    account.Micro
		}{{0, 1}, {-1, 1}, {math.MaxInt64, 1}, {1, -1}, {1, math.MaxInt64}} {
			if _, err := r.Subscribe(ctx, id, "POST:*/EU-QES_automatic", c.requests, c.price); code(err) != 310 {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
	for name, change := range map[string]func(*account.Prices){
		"signature":    func(p *account.Prices) { p.Signature = -1 },
		"certificate":  func(p *account.Prices) { p.Certificate = math.MaxInt64 / 4 },
		"lookup":       func(p *account.Prices) { p.Lookup = math.MinInt64 },
		"subscription": func(p *account.Prices) { p.LookupSubscription = -1 },
		"VAT":          func(p *account.Prices) { p.VAT = -22 },
		"free":         func(p *account.Prices) { p.FreeLookups = -2 },
	} {
		p := account.DefaultPrices()
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		if change(&p); p.Check() == nil {
			t.Errorf("an impossible price: %s", name)
		}
	}
}

// A charge grows with what is made, within the limits of who asked.
func TestCover(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r room) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Credit: account.Euro})
		if _, err := r.Subscribe(ctx, a.Account.ID, "POST:*/EU-QES_automatic", 2, account.Euro); err != nil {
			t.Fatal(err)
		}
		key := r.caller(t, basic("a@example.org", a.APIKey))
		amount := account.Micro(200_000) // four signatures
		tok := r.token(t, key, account.NewToken{Scopes: []string{account.AllScopes}, Limits: account.Limits{WalletAmount: &amount}})
		in := account.WithCaller(ctx, r.caller(t, "Bearer "+tok.Secret))
		var id string
		write := func(f func(tx *store.Tx) error) error { return r.db.Write(ctx, f) }
		if err := write(func(tx *store.Tx) (err error) {
			id, err = r.ChargeMany(in, tx, "POST/EU-QES_automatic", "r", 1)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			n    int
			left account.Micro
			want fault.Code
		}{{1, account.Euro, 0}, {2, account.Euro, 0}, {2, account.Euro, 0}, {4, account.Euro - 100_000, 0}, {6, account.Euro - 200_000, 0}, {7, account.Euro - 200_000, 130}} {
			err := write(func(tx *store.Tx) error {
				paid, err := r.Cover(ctx, tx, "POST/EU-QES_automatic", id, c.n)
				if err == nil && paid < c.n {
					t.Errorf("%d of %d paid", paid, c.n)
				}
				return err
			})
			if w, werr := r.Wallet(ctx, a.Account.ID); code(err) != c.want || werr != nil || w.Credit != c.left {
				t.Errorf("%d: %v, %v left, want %v", c.n, err, w.Credit, c.left)
			}
		}
		if err := write(func(tx *store.Tx) error { return r.Keep(ctx, tx, id, 3) }); err != nil {
			t.Fatal(err)
		}
		if w, err := r.Wallet(ctx, a.Account.ID); err != nil || w.Credit != account.Euro-50_000 {
			t.Errorf("after giving three back: %v %v", w.Credit, err)
		}
		if err := write(func(tx *store.Tx) error { return r.Refund(ctx, tx, id) }); err != nil {
			t.Fatal(err)
		}
		list, err := r.Subscriptions(ctx, a.Account.ID, "", 0, 1)
		if w, werr := r.Wallet(ctx, a.Account.ID); err != nil || werr != nil || w.Credit != account.Euro || list[0].Available != 2 {
			t.Errorf("after the refund: %v, %d requests", w.Credit, list[0].Available)
		}
	})
}

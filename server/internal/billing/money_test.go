package billing_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

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
		nodes := []fixture{open(t, db, m, billing.Prices{}), open(t, db, m, billing.Prices{})}
		a := nodes[0].account(t, "a@example.org", 0)
		other := nodes[0].account(t, "b@example.org", 0)
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
	prices := billing.DefaultPrices()
	prices.FreeLookups = 100
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		nodes := []fixture{open(t, db, m, prices), open(t, db, m, prices)}
		a := nodes[0].account(t, "a@example.org", money.Euro) // 50 lookups
		c := nodes[0].caller(t, "Bearer "+a.Token)
		if _, err := nodes[0].Subscribe(ctx, c.AccountID, "GET:*/IT-omi", 70, money.Euro); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Truncate(time.Millisecond)
		await.Until(t, "the next millisecond", func() bool { return time.Now().Truncate(time.Millisecond).After(before) })
		var turn atomic.Int64
		ok, refused, err := parallel(300, func() error {
			_, err := nodes[turn.Add(1)%2].SpendLookups(ctx, c, 1)
			return err
		})
		if ok != 220 || refused != 80 || err != nil {
			t.Errorf("%d served, %d refused, %v; want 220 and 80", ok, refused, err)
		}
		for _, n := range nodes {
			n.Close()
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
func balance(t *testing.T, r fixture, accountID string) {
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
		t.Errorf("movements add up to %v, the wallet holds %v", money.Micro(sum), money.Micro(credit))
	}
}

func TestUnspentLeaseComesBack(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", 0)
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
		for range await.Within(await.Limit) {
			if quota() == 3 {
				break
			}
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
		second := open(t, r.db, r.master, billing.Prices{})
		for range await.Within(await.Limit) {
			if quota() <= 4 {
				break
			}
		}
		second.Close()
		if used > 4 {
			t.Errorf("%d counted after the process died, want at most 4", used)
		}
	})
}

// An account without a lease is forgotten. One that is forgotten while it spends, spends from a
// lease that is flushed.
func TestLeasedQuotasAreForgotten(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		var callers []*account.Caller
		for i := range 4 {
			a := r.account(t, fmt.Sprintf("%d@example.org", i), 0)
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
			if _, err := r.Settle(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := r.Settle(ctx); n != 0 || err != nil {
			t.Errorf("%d leased are remembered, %v", n, err)
		}
		var used int64
		if err := r.db.Read().QueryRow(ctx, `select sum(used) from quota_days`).Scan(&used); err != nil || used != 1200 {
			t.Errorf("%d counted in the database, %v; want 1200", used, err)
		}
	})
}

func TestUnlimitedLookups(t *testing.T) {
	prices := billing.DefaultPrices()
	prices.FreeLookups = -1
	each(t, prices, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", 0)
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
	prices := billing.DefaultPrices()
	prices.FreeLookups = 10
	each(t, prices, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", money.Euro)
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
		r.Close()
		if w, _ := r.Wallet(ctx, c.AccountID); w.Credit != money.Euro-10*prices.Lookup {
			t.Errorf("wallet %v", w.Credit)
		}
		balance(t, r, c.AccountID)
	})
}

// Charges for records: exact under 200 clients, subscription first, refunded
// once however often it is asked.
func TestChargeRace(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", 5*money.Euro) // 100 signatures
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
		if w, _ := r.Wallet(ctx, c.AccountID); w.Credit != 5*money.Euro {
			t.Errorf("wallet %v after all was given back", w.Credit)
		}
		if subs, _ := r.Subscriptions(ctx, c.AccountID, "", 0, 1); subs[0].Available != 40 {
			t.Errorf("subscription has %d after all was given back", subs[0].Available)
		}
		balance(t, r, c.AccountID)
	})
}

func TestChargeIsPartOfItsTransaction(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", 200*money.Euro)
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
		if w, _ := r.Wallet(ctx, c.AccountID); w.Credit != 200*money.Euro {
			t.Errorf("a failed call cost %v", 200*money.Euro-w.Credit)
		}
	})
}

func TestTokenSpendingLimits(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", 100*money.Euro)
		c := r.caller(t, basic("a@example.org", a.APIKey))
		amount := 7 * 50 * money.Micro(1000) // seven signatures
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
		if w, _ := r.Wallet(ctx, c.AccountID); w.Credit != 100*money.Euro-amount {
			t.Errorf("wallet %v", w.Credit)
		}
	})
}

func BenchmarkSpendLookup(b *testing.B) {
	prices := billing.DefaultPrices()
	prices.FreeLookups = 1 << 40
	db, m := storetest.Open(b, store.Config{Data: b.TempDir()})
	r := open(b, db, m, prices)
	a := r.account(b, "a@example.org", 0)
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
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", money.Euro)
		id := a.Account.ID
		most := 1_000_000_000 * money.Euro
		for name, amount := range map[string]money.Micro{
			"nothing": 0, "less": -money.Euro, "more than a wallet holds": most + 1, "the most that is read": math.MaxInt64 / 4, "the most there is": math.MaxInt64,
			"the rest and a bit": most - money.Euro + 1,
		} {
			err := r.Credit(ctx, id, amount, "x")
			if code(err) != 310 {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := r.Credit(ctx, id, most-money.Euro, "x"); err != nil {
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
			if got, err := money.ParseEuro(text); err == nil {
				t.Errorf("%q is taken for %v", text, got)
			}
		}
		for _, c := range []struct {
			requests int64
			price    money.Micro
		}{{0, 1}, {-1, 1}, {math.MaxInt64, 1}, {1, -1}, {1, math.MaxInt64}} {
			if _, err := r.Subscribe(ctx, id, "POST:*/EU-QES_automatic", c.requests, c.price); code(err) != 310 {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
	for name, change := range map[string]func(*billing.Prices){
		"signature":    func(p *billing.Prices) { p.Signature = -1 },
		"certificate":  func(p *billing.Prices) { p.Certificate = math.MaxInt64 / 4 },
		"lookup":       func(p *billing.Prices) { p.Lookup = math.MinInt64 },
		"subscription": func(p *billing.Prices) { p.LookupSubscription = -1 },
		"VAT":          func(p *billing.Prices) { p.VAT = -22 },
		"free":         func(p *billing.Prices) { p.FreeLookups = -2 },
	} {
		p := billing.DefaultPrices()
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
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", money.Euro)
		if _, err := r.Subscribe(ctx, a.Account.ID, "POST:*/EU-QES_automatic", 2, money.Euro); err != nil {
			t.Fatal(err)
		}
		key := r.caller(t, basic("a@example.org", a.APIKey))
		amount := money.Micro(200_000) // four signatures
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
			left money.Micro
			want fault.Code
		}{{1, money.Euro, 0}, {2, money.Euro, 0}, {2, money.Euro, 0}, {4, money.Euro - 100_000, 0}, {6, money.Euro - 200_000, 0}, {7, money.Euro - 200_000, 130}} {
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
		if w, err := r.Wallet(ctx, a.Account.ID); err != nil || w.Credit != money.Euro-50_000 {
			t.Errorf("after giving three back: %v %v", w.Credit, err)
		}
		if err := write(func(tx *store.Tx) error { return r.Refund(ctx, tx, id) }); err != nil {
			t.Fatal(err)
		}
		list, err := r.Subscriptions(ctx, a.Account.ID, "", 0, 1)
		if w, werr := r.Wallet(ctx, a.Account.ID); err != nil || werr != nil || w.Credit != money.Euro || list[0].Available != 2 {
			t.Errorf("after the refund: %v, %d requests", w.Credit, list[0].Available)
		}
	})
}

// A family spends within the limits of each of its members.
func TestFamilySpending(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", 100*money.Euro)
		key := r.caller(t, basic("a@example.org", a.APIKey))
		for name, limits := range map[string]account.Limits{
			"amount": {WalletAmount: new(money.Micro)}, "requests": {WalletRequests: new(int64)},
		} {
			parent := r.token(t, key, account.NewToken{})
			child := r.token(t, r.caller(t, "Bearer "+parent.Secret), account.NewToken{})
			if limits.WalletAmount != nil {
				*limits.WalletAmount = 100_000 // two signatures
			} else {
				*limits.WalletRequests = 2
			}
			if _, err := r.accounts.ChangeToken(ctx, key, "h", parent.ID, account.TokenChange{Limits: &limits}); err != nil {
				t.Fatal(err)
			}
			got := map[fault.Code]int{}
			for range 4 {
				err := r.db.Write(ctx, func(tx *store.Tx) error {
					_, err := r.Charge(account.WithCaller(ctx, r.caller(t, "Bearer "+child.Secret)), tx, "POST/EU-QES_automatic", "r")
					return err
				})
				got[code(err)]++
			}
			if got[0] != 2 || got[130] != 2 {
				t.Errorf("%s: %v, want 2 paid and 2 refused", name, got)
			}
		}
	})
}

func TestUsage(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a := r.account(t, "a@example.org", 0)
		c := r.caller(t, "Bearer "+a.Token)
		for i := range 10 {
			q := billing.Request{Caller: c, Method: "GET", Segment: "IT-omi", Status: 200}
			if i == 0 {
				q.Status, q.Code, q.Message = 422, 281, "latitude must be between -90 and 90"
			}
			r.Record(q)
			if _, err := r.SpendLookups(ctx, c, 1); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		counts, err := r.Usage(ctx, c.AccountID, billing.UsageFilter{By: billing.ByScope, Period: time.Now().UTC().Format("2006-01"), Limit: 10})
		if err != nil || len(counts) != 1 {
			t.Fatal(counts, err)
		}
		if n := counts[0]; n.Name != "GET:api.example/IT-omi" || n.Requests != 10 || n.Errors != 1 || n.Free != 10 {
			t.Errorf("%+v", n)
		}
		for domain, want := range map[string]int{"api.example": 1, "api.example:8080": 1, "API.example": 1, "other.example": 0, "api.example:": 1} {
			list, err := r.Usage(ctx, c.AccountID, billing.UsageFilter{By: billing.ByScope, Domain: domain, Limit: 10})
			if err != nil || len(list) != want {
				t.Errorf("of the domain %s: %+v, %v", domain, list, err)
			}
		}
		if list, err := r.Failures(ctx, c.AccountID, "", 0, 10); err != nil || len(list) != 1 || list[0].Code != 281 || list[0].Address != "192.0.2.7" {
			t.Errorf("%+v, %v", list, err)
		}
		tok, err := r.accounts.FindToken(ctx, c.AccountID, c.TokenID)
		if err != nil || tok.Stats.TotalRequests != 10 || tok.Stats.ErrorRequests != 1 || fmt.Sprint(tok.Stats.Addresses) != "[192.0.2.7]" {
			t.Errorf("%+v, %v", tok.Stats, err)
		}
		for _, bad := range []string{"2026-13", "26", "2026-1-1", "x", "2026-02-30", "2026%"} {
			if _, err := r.Usage(ctx, c.AccountID, billing.UsageFilter{By: billing.ByScope, Period: bad, Limit: 1}); code(err) != 160 {
				t.Errorf("period %q: %v", bad, err)
			}
		}
	})
}

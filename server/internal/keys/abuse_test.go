package keys_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A wrong password, an unknown username and the right password cost the same:
// one derivation each. What is counted is memory, of which a derivation takes
// 16 MB here: seconds would say little on a busy machine.
func TestGuessesCostTheSame(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		const memory = 16 << 20
		c := newClock()
		v := keys.NewVault(m, keys.VaultConfig{Cost: keys.Cost{Time: 1, Memory: memory >> 10}, Now: c.now, Hold: -1})
		b := &bench{db, keys.NewStore(db, v, m, keys.Config{Now: c.now}), v, c}
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		derivations := func(account, user, password string, want error) float64 {
			t.Helper()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := b.store.Authenticate(context.Background(), account, user, password)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, want) {
				t.Errorf("%s/%s: %v", account, user, err)
			}
			return float64(after.TotalAlloc-before.TotalAlloc) / memory
		}
		for name, n := range map[string]float64{
			"right":             derivations("acc", "AHI1", "pw", nil),
			"wrong password":    derivations("acc", "AHI1", "bad", keys.ErrPassword),
			"empty password":    derivations("acc", "AHI1", "", keys.ErrPassword),
			"unknown username":  derivations("acc", "nobody", "bad", keys.ErrPassword),
			"unknown account":   derivations("other", "AHI1", "pw", keys.ErrPassword),
			"username of 10 KB": derivations("acc", strings.Repeat("n", 10_000), "bad", keys.ErrPassword),
		} {
			if n < 1 || n > 1.2 {
				t.Errorf("%s: %.2f derivations", name, n)
			}
		}
	})
}

// A lock is told once, in its transaction, with the certificate it is of; where
// it cannot be told the credential stays shut all the same.
func TestLockIsTold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		c := newClock()
		v := keys.NewVault(m, keys.VaultConfig{Cost: cheap, Now: c.now})
		var told []string
		var trouble error
		b := &bench{db, keys.NewStore(db, v, m, keys.Config{Now: c.now, Locked: func(_ context.Context, _ *store.Tx, account, certificate string, _ bool) error {
			if trouble == nil {
				told = append(told, account+" "+certificate)
			}
			return trouble
		}}), v, c}
		cred := b.add(t, keys.Automatic, "AHI1", "pw", "")
		guess := func(user string) (err error) {
			for range 8 {
				_, err = b.store.Authenticate(context.Background(), "acc", user, "bad")
			}
			return err
		}
		if err := guess("AHI1"); !isLocked(err) {
			t.Error(err)
		}
		if err := guess("nobody"); !isLocked(err) {
			t.Error(err)
		}
		if len(told) != 2 || told[0] != "acc "+cred.ID || told[1] != "acc " {
			t.Errorf("told %q", told)
		}
		trouble = errors.New("the audit is away")
		b.add(t, keys.Automatic, "AHI2", "pw", "")
		if err := guess("AHI2"); !isLocked(err) {
			t.Errorf("a lock that could not be told: %v", err)
		}
		if _, err := b.store.Authenticate(context.Background(), "acc", "AHI2", "pw"); !isLocked(err) {
			t.Errorf("is none: %v", err)
		}
	})
}

// An account that guesses many names at once keeps another waiting for no more
// than what is being derived at the moment.
func TestAccountsTakeTurns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		c := newClock()
		v := keys.NewVault(m, keys.VaultConfig{Cost: keys.Cost{Time: 3, Memory: 32 << 10}, Now: c.now, Hold: -1})
		b := &bench{db, keys.NewStore(db, v, m, keys.Config{Now: c.now}), v, c}
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		const crowd = 40
		var guessed atomic.Int64
		var all sync.WaitGroup
		for i := range crowd {
			all.Go(func() {
				if _, err := b.store.Authenticate(context.Background(), "crowd", fmt.Sprint("nobody", i), "pw"); !errors.Is(err, keys.ErrPassword) {
					t.Error(err)
				}
				guessed.Add(1)
			})
		}
		await.Until(t, "the crowd is at work", func() bool { return guessed.Load() > 0 })
		before := guessed.Load()
		if _, err := b.store.Authenticate(context.Background(), "acc", "AHI1", "pw"); err != nil {
			t.Fatal(err)
		}
		if n := guessed.Load() - before; n > crowd/4 {
			t.Errorf("%d guesses of another account came first", n)
		}
		all.Wait()
		left := func() (n int) {
			t.Helper()
			if err := db.Read().QueryRow(context.Background(), `select count(*) from credential_locks`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if err := b.store.ForgetLocks(context.Background()); err != nil || left() < crowd {
			t.Errorf("failures of today: %d, %v", left(), err)
		}
		c.advance(32 * 24 * time.Hour)
		if err := b.store.ForgetLocks(context.Background()); err != nil || left() != 0 {
			t.Errorf("%d old failures are kept: %v", left(), err)
		}
	})
}

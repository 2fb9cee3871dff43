package keys_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// Attempts of a process that dies keep the holder out for half a minute at most, and fifty times a
// day at most; they give an attacker no more guesses.
func TestDeadProcessesLockNobodyOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		c := newClock()
		v := keys.NewVault(m, keys.VaultConfig{Cost: cheap, Now: c.now, Hold: -1})
		b := &bench{db, keys.NewStore(db, v, m, keys.Config{Now: c.now}), v, c}
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		ctx := context.Background()
		as := func(password string) error {
			_, err := b.store.Authenticate(ctx, "acc", "AHI1", password)
			return err
		}
		abandon := func(n int) func() error {
			t.Helper()
			var late func() error
			for range n {
				var err error
				if late, err = b.store.Abandon(ctx, "acc", "AHI1"); err != nil {
					t.Fatal(err)
				}
			}
			return late
		}
		abandon(5)
		if err := as("pw"); !isLocked(err) {
			t.Errorf("five attempts are under way, and a sixth is judged: %v", err)
		}
		c.advance(31 * time.Second)
		if err := as("pw"); err != nil {
			t.Errorf("half a minute after five processes died: %v", err)
		}

		// Failures in a row stay so, even if a process dies between them.
		for i := range 4 {
			if err := as("bad"); !errors.Is(err, keys.ErrPassword) {
				t.Fatalf("failure %d: %v", i+1, err)
			}
		}
		late := abandon(1)
		if err := as("bad"); !isLocked(err) {
			t.Errorf("four failures, one under way, and a sixth is judged: %v", err)
		}
		c.advance(31 * time.Second)
		if err := late(); err != nil { // the process was only slow
			t.Fatal(err)
		}
		if err := as("pw"); !isLocked(err) {
			t.Errorf("a failure that was settled late does not count: %v", err)
		}
		c.advance(16 * time.Minute)

		// Success takes those of the dead out of the row.
		for range 8 {
			abandon(4)
			if err := as("pw"); err != nil {
				t.Fatal(err)
			}
		}
		if err := as("bad"); !errors.Is(err, keys.ErrPassword) {
			t.Error(err)
		}

		// A day forgives fifty: 5 + 32, and 13 more. The one that was late is none.
		abandon(3)
		for range 2 {
			c.advance(31 * time.Second)
			abandon(4)
		}
		c.advance(31 * time.Second)
		abandon(2)
		c.advance(31 * time.Second)
		if err := as("pw"); !isLocked(err) {
			t.Errorf("fifty processes died today, and another attempt is judged: %v", err)
		}
		c.advance(24 * time.Hour)
		if err := as("pw"); err != nil {
			t.Errorf("on the day after: %v", err)
		}
		c.advance(72 * time.Hour)
		left := -1
		if err := errors.Join(b.store.ForgetLocks(ctx), db.Read().QueryRow(ctx, `select count(*) from credential_attempts`).Scan(&left)); err != nil || left != 0 {
			t.Errorf("%d attempts are kept: %v", left, err)
		}
	})
}

// Where a lock could not be written down, or the process died before it was, the
// next attempt locks.
func TestLockIsMadeUpFor(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		c := newClock()
		v := keys.NewVault(m, keys.VaultConfig{Cost: cheap, Now: c.now})
		trouble := error(nil)
		told := 0
		b := &bench{db, keys.NewStore(db, v, m, keys.Config{Now: c.now, Locked: func(context.Context, *store.Tx, string, string, bool) error {
			told++
			return trouble
		}}), v, c}
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		ctx := context.Background()
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); err != nil { // the key is held
			t.Fatal(err)
		}
		trouble = errors.New("the audit is away")
		for range 5 {
			_, _ = b.store.Authenticate(ctx, "acc", "AHI1", "bad")
		}
		for _, password := range []string{"bad", "pw"} {
			if _, err := b.store.Authenticate(ctx, "acc", "AHI1", password); !isLocked(err) {
				t.Errorf("%s: after five failures and no lock: %v", password, err)
			}
		}
		trouble, told = nil, 0
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "bad"); !isLocked(err) || told != 1 {
			t.Errorf("the lock is told %d times: %v", told, err)
		}
		c.advance(16 * time.Minute)
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); err != nil {
			t.Errorf("after the lock: %v", err)
		}
	})
}

// Guessing on a page that anyone may open locks the page, and neither the certificate nor the
// holder's use of the API. A lock of the certificate holds on the page, and a locked page does not
// tell that a password is right.
func TestPublicPageLocksItself(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		ctx := context.Background()
		as := func(s *keys.Store, password string) error {
			_, err := s.Authenticate(ctx, "acc", "AHI1", password)
			return err
		}
		page := b.store.Public()
		for i := range 60 {
			if err := as(page, "bad"); i < 5 && !errors.Is(err, keys.ErrPassword) || i >= 5 && !isLocked(err) {
				t.Fatalf("guess %d: %v", i+1, err)
			}
		}
		if err := as(b.store, "pw"); err != nil {
			t.Errorf("a stranger on the page locks the certificate: %v", err)
		}
		if err := as(page, "pw"); !isLocked(err) { // the key is held now
			t.Errorf("a locked page takes the right password: %v", err)
		}
		b.clock.advance(16 * time.Minute)
		if err := as(page, "pw"); err != nil {
			t.Errorf("after the lock of the page: %v", err)
		}
		for range 5 {
			_ = as(b.store, "bad")
		}
		if err := as(page, "pw"); !isLocked(err) {
			t.Errorf("the page takes the password of a locked certificate: %v", err)
		}
		for range 5 {
			_ = as(page, "bad")
		}
		if err := b.store.Unlock(ctx, "acc", "AHI1"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(as(page, "pw"), as(b.store, "pw")); err != nil {
			t.Errorf("unlocked: %v", err)
		}
	})
}

// Names of no account have a gate each, and share a bounded number of rows: who
// floods some tells nothing of others by the wait, and fills no table.
func TestUnknownNames(t *testing.T) {
	if keys.TurnOf("", "AHI1") == keys.TurnOf("", "AHI2") {
		t.Error("names of no account share a gate")
	}
	if keys.TurnOf("acc", "AHI1") != keys.TurnOf("acc", "AHI2") {
		t.Error("an account has several gates")
	}
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		ctx := context.Background()
		page := b.store.Public()
		rows := map[string]bool{}
		for i := range 400_000 {
			rows[page.LockOfUnknown(fmt.Sprint("AHI", i))] = true
		}
		if len(rows) > 1<<16 || len(rows) < 1<<15 {
			t.Errorf("400,000 names have %d rows", len(rows))
		}
		for i := range 7 {
			if _, err := page.Authenticate(ctx, "", "AHI9", "bad"); i < 5 && !errors.Is(err, keys.ErrPassword) || i >= 5 && !isLocked(err) {
				t.Fatalf("guess %d: %v", i+1, err)
			}
		}
		var n int
		if err := db.Read().QueryRow(ctx, `select count(*) from credential_locks where id = $1`, page.LockOfUnknown("AHI9")).Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows: %v", n, err)
		}
	})
}

package intent_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A change waits for a permit under way, and a permit that comes after it waits
// for the change: it is not overtaken by those who share the lock.
func TestChangeAndPermitsTakeTurns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		for name, c := range map[string]struct {
			of     intent.Of
			permit func(tx *store.Tx) error
		}{
			"certificate": {intent.Certificate, func(tx *store.Tx) error { return intent.Permit(ctx, tx, "other", "x") }},
			"account":     {intent.Account, func(tx *store.Tx) error { return intent.Permit(ctx, tx, "x", "other") }},
		} {
			var mu sync.Mutex
			var order []string
			var all sync.WaitGroup
			say := func(what string) { mu.Lock(); order = append(order, what); mu.Unlock() }
			write := func(what string, first func(tx *store.Tx) error, then func()) {
				all.Go(func() {
					err := db.Write(ctx, func(tx *store.Tx) error {
						if err := first(tx); err != nil {
							return err
						}
						var one int
						if err := tx.QueryRow(ctx, `select 1`).Scan(&one); err != nil { // so that the lock is asked for
							return err
						}
						then()
						say(what)
						return nil
					})
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			held, release := make(chan struct{}), make(chan struct{})
			write("permit", c.permit, func() { close(held); <-release })
			<-held
			write("change", func(tx *store.Tx) error { return intent.Forbid(ctx, tx, c.of, "x") }, func() {})
			storetest.Blocked(t, db)
			write("later permit", c.permit, func() {})
			await.Never(t, 200*time.Millisecond, name+": something before the permit under way was over", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(order) != 0
			})
			close(release)
			all.Wait()
			if len(order) != 3 || order[0] != "permit" || order[1] != "change" {
				t.Errorf("%s: %v", name, order)
			}
		}
	})
}

// Wait waits for the intents that were there, of what was changed, and for no
// others.
func TestWait(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		write := func(fn func(tx *store.Tx) error) {
			t.Helper()
			if err := db.Write(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		add := func(id string) {
			t.Helper()
			write(func(tx *store.Tx) error {
				return intent.Write(ctx, tx, intent.Intent{ID: id, Record: "r-" + id, Certificate: "c-" + id, Account: "a-" + id, Digest: []byte{1}, At: time.Now()})
			})
		}
		add("other")
		for _, c := range []struct {
			of     intent.Of
			prefix string
			settle func(tx *store.Tx, id string) error
		}{
			{intent.Certificate, "c-", func(tx *store.Tx, id string) error { return intent.Settle(ctx, tx, "r-"+id, "SIGNED", time.Now()) }},
			{intent.Account, "a-", func(tx *store.Tx, id string) error {
				return intent.Close(ctx, tx, "r-"+id, []string{id}, intent.Failed, time.Now())
			}},
			{intent.Account, "a-", func(tx *store.Tx, id string) error { return intent.Used(ctx, tx, "r-"+id, id) }},
			{intent.Record, "r-", func(tx *store.Tx, id string) error { return intent.Settle(ctx, tx, "r-"+id, "FAILED", time.Now()) }},
		} {
			id := store.NewID()
			add(id)
			gone, hangUp := context.WithCancel(ctx)
			hangUp() // who hangs up does not shorten it
			over := make(chan error, 1)
			go func() { over <- intent.Wait(gone, db, c.of, c.prefix+id) }()
			waits := func() {
				await.Never(t, 50*time.Millisecond, c.prefix+": over before the intent was settled", func() bool { return len(over) > 0 })
			}
			waits()
			write(func(tx *store.Tx) error { // one that comes later, under the same names
				return intent.Write(ctx, tx, intent.Intent{ID: "later-" + id, Record: "r-later", Certificate: "c-" + id, Account: "a-" + id, Digest: []byte{1}, At: time.Now()})
			})
			waits()
			write(func(tx *store.Tx) error { return c.settle(tx, id) })
			select {
			case err := <-over:
				if err != nil {
					t.Errorf("%s: %v", c.prefix, err)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s: waits for others", c.prefix)
			}
		}
	})
}

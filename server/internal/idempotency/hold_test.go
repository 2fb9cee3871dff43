package idempotency_test

import (
	"context"
	"errors"
	"testing"

	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A call that holds its key keeps other processes from it until it ends, makes its
// record or dies; who held it for too long makes none.
func TestHold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		ctx := context.Background()
		sum := digest("body")
		begin := func(of *idempotency.Keys) *idempotency.Claim {
			t.Helper()
			c, replay, err := of.Begin(ctx, "acc", "key", sum)
			if err != nil || replay != nil || c == nil {
				t.Fatalf("%v, %v", replay, err)
			}
			return c
		}
		record := func(c *idempotency.Claim, id string) error {
			return db.Write(ctx, func(tx *store.Tx) error { return c.Record(ctx, tx, id, 0) })
		}
		a, b := idempotency.New(db, m), idempotency.New(db, m)
		first, twin := begin(a), begin(b) // neither has used anything up
		if err := first.Hold(ctx); err != nil {
			t.Fatal(err)
		}
		if err := twin.Hold(ctx); !errors.Is(err, idempotency.ErrReplay) {
			t.Errorf("the other holds it too: %v", err)
		}
		twin.End()
		if _, _, err := b.Begin(ctx, "acc", "key", sum); code(err) != 150 {
			t.Errorf("while it is held elsewhere: %v, want 150", err)
		}
		if _, _, err := b.Begin(ctx, "acc", "key", digest("another")); code(err) != 151 {
			t.Errorf("another body: %v, want 151", err)
		}
		first.End()
		second := begin(b) // it was refused, and left the key free
		if err := second.Hold(ctx); err != nil {
			t.Fatal(err)
		}
		storetest.Exec(t, db, `update idempotency set running_until = 1`) // as of a process that died
		third := begin(a)
		if err := third.Hold(ctx); err != nil {
			t.Fatalf("the key of a dead process stays taken: %v", err)
		}
		if err := record(second, "rec2"); !errors.Is(err, idempotency.ErrReplay) {
			t.Errorf("who was taken for dead makes a record: %v", err)
		}
		second.End() // and does not free another's key
		if err := record(third, "rec3"); err != nil {
			t.Fatal(err)
		}
		third.End()
		if _, replay, err := b.Begin(ctx, "acc", "key", sum); err != nil || replay == nil || replay.RecordID != "rec3" {
			t.Errorf("%+v, %v", replay, err)
		}
	})
}

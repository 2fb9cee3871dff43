package idempotency_test

import (
	"context"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// What one process works on the other knows, as long as that one lives.
func TestIdempotencyAmongProcesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		if db.Dialect() != store.PostgreSQL {
			t.Skip("SKIPPED: only one process serves from SQLite")
		}
		ctx := context.Background()
		a, b := idempotency.New(db, m), idempotency.New(db, m)
		sum := digest("body")
		first, _, err := a.BeginLong(ctx, "acc", "key", sum)
		if err != nil {
			t.Fatal(err)
		}
		other, _, err := b.BeginLong(ctx, "acc", "another key", sum)
		if err != nil {
			t.Fatal(err)
		}
		other.End()
		for range 3 {
			if _, _, err := b.BeginLong(ctx, "acc", "key", sum); code(err) != 150 {
				t.Errorf("while it runs elsewhere: %v, want 150", err)
			}
		}
		first.End()
		second, replay, err := b.BeginLong(ctx, "acc", "key", sum)
		if err != nil || second == nil || replay != nil {
			t.Fatalf("after it was refused elsewhere: %v", err)
		}
		// The process that holds it dies: its connection goes.
		storetest.Exec(t, db, `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 1
			and database = (select oid from pg_database where datname = current_database())`)
		var third *idempotency.Claim
		for end := time.Now().Add(5 * time.Second); third == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			third, _, _ = a.BeginLong(ctx, "acc", "key", sum)
		}
		if third == nil {
			t.Fatal("the key of a dead process stays taken")
		}
		second.End()
		if _, _, err := idempotency.New(db, m).BeginLong(ctx, "acc", "key", sum); code(err) != 150 {
			t.Errorf("the dead one's end freed another's key: %v", err)
		}
		third.End()
	})
}

package idempotency_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func digest(body string) []byte {
	d := sha256.Sum256([]byte(body))
	return d[:]
}

func code(err error) fault.Code {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Code
	}
	return 0
}

func TestIdempotencyStory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		ctx := context.Background()
		idem := idempotency.New(db, m)
		claim, replay, err := idem.Begin(ctx, "acc", "k1", digest("a"))
		if err != nil || replay != nil || claim == nil {
			t.Fatal(claim, replay, err)
		}
		_, _, err = idem.Begin(ctx, "acc", "k1", digest("a"))
		if code(err) != 150 {
			t.Errorf("while it runs: %v, want 150", err)
		}
		var f *fault.Error
		if errors.As(err, &f) && f.RetryAfter <= 0 {
			t.Error("150 without Retry-After")
		}
		if err := db.Write(ctx, func(tx *store.Tx) error { return claim.Answer(ctx, tx, "rec1", []byte("shown once")) }); err != nil {
			t.Fatal(err)
		}
		claim.End()
		_, replay, err = idem.Begin(ctx, "acc", "k1", digest("a"))
		if err != nil || replay == nil || replay.RecordID != "rec1" || string(replay.Answer) != "shown once" {
			t.Errorf("replay: %+v, %v", replay, err)
		}
		if _, _, err := idem.Begin(ctx, "acc", "k1", digest("b")); code(err) != 151 {
			t.Errorf("another body: %v, want 151", err)
		}
		other, _, err := idem.Begin(ctx, "other", "k1", digest("b"))
		if err != nil || other == nil {
			t.Errorf("another account: %v", err)
		}
		other.End()
		var kept []byte
		if err := db.Read().QueryRow(ctx, `select answer from idempotency where key = 'k1'`).Scan(&kept); err != nil || bytes.Contains(kept, []byte("shown")) {
			t.Errorf("the answer is kept in clear: %v", err)
		}

		// What was refused leaves the key free.
		refused, _, _ := idem.Begin(ctx, "acc", "k2", digest("a"))
		refused.End()
		again, replay, err := idem.Begin(ctx, "acc", "k2", digest("b"))
		if err != nil || again == nil || replay != nil {
			t.Errorf("after a refusal: %v", err)
		}
		again.End()

		// A day later the key is free, swept or not.
		storetest.Exec(t, db, `update idempotency set created_at = $1`, time.Now().Add(-25*time.Hour).UnixMilli())
		late, replay, err := idem.Begin(ctx, "acc", "k1", digest("c"))
		if err != nil || late == nil || replay != nil {
			t.Fatalf("a day later: %v", err)
		}
		if err := db.Write(ctx, func(tx *store.Tx) error { return late.Record(ctx, tx, "rec2", time.Minute) }); err != nil {
			t.Fatal(err)
		}
		late.End()
		storetest.Exec(t, db, `insert into signatures (id, account_id, certificate_type, state, lease_by, created_at, updated_at) values ('rec2', 'acc', '', 'WAIT_SIGN', 'me', 1, 1)`)
		if _, _, err := idem.Begin(ctx, "acc", "k1", digest("c")); code(err) != 150 {
			t.Errorf("the call goes on after its record: %v, want 150", err)
		}
		storetest.Exec(t, db, `update signatures set lease_by = ''`)
		if _, replay, err := idem.Begin(ctx, "acc", "k1", digest("c")); err != nil || replay == nil || replay.RecordID != "rec2" {
			t.Errorf("%+v, %v", replay, err)
		}
		storetest.Exec(t, db, `update idempotency set created_at = 1`)
		if err := idem.Sweep(ctx); err != nil || storetest.Count(t, db, `select count(*) from idempotency`) != 0 {
			t.Errorf("sweep: %v", err)
		}
	})
}

// A hundred parallel posts with one key, over two processes, make one record.
func TestIdempotencyRace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, storetest.Things)
		nodes := []*idempotency.Keys{idempotency.New(db, m), idempotency.New(db, m)}
		sum := digest("body")
		var made, replayed, waiting atomic.Int64
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				claim, replay, err := nodes[i%2].Begin(ctx, "acc", "key", sum)
				if code(err) == 150 {
					waiting.Add(1)
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if replay != nil {
					replayed.Add(1)
					return
				}
				defer claim.End()
				id := store.NewID()
				err = db.Write(ctx, func(tx *store.Tx) error {
					if _, err := tx.Exec(ctx, `insert into things (id, n) values ($1, 1)`, id); err != nil {
						return err
					}
					return claim.Record(ctx, tx, id, 0)
				})
				if errors.Is(err, idempotency.ErrReplay) {
					replayed.Add(1)
					return
				}
				if err != nil {
					t.Error(err)
				}
				made.Add(1)
			})
		}
		all.Wait()
		if n := storetest.Count(t, db, `select count(*) from things`); n != 1 || made.Load() != 1 {
			t.Errorf("%d records, %d made; %d replayed, %d told to wait", n, made.Load(), replayed.Load(), waiting.Load())
		}
	})
}

package job_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// Four processes with connections of their own drain what four others enter, an item in each
// transaction, and nothing is left. ROGITO_TEST_DRAIN=20 does it twenty times with 20,000 items.
func TestFourProcessesDrain(t *testing.T) {
	runs, _ := strconv.Atoi(os.Getenv("ROGITO_TEST_DRAIN"))
	items := 20_000
	if runs == 0 {
		runs, items = 1, 1500
	}
	const processes = 4
	ctx := t.Context()
	url := storetest.Postgres(t)
	log := &journal{}
	var enter []*job.Queue
	var dbs []*store.DB
	for range processes {
		db, err := store.Open(ctx, store.Config{Database: url, Data: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		if len(dbs) == 0 {
			storetest.Exec(t, db, turns)
			storetest.Exec(t, db, `create index turns_turn on turns (turn, id) where done = 0`)
			storetest.Exec(t, db, `create index turns_account on turns (account_id, turn) where done = 0`)
		}
		enter, dbs = append(enter, serving(db, 8, log, nil)), append(dbs, db)
	}
	open(t, enter)
	for run := range runs {
		begun, want := time.Now(), (run+1)*items
		var clients sync.WaitGroup
		for c := range 2 * processes {
			clients.Go(func() {
				for i := c; i < items; i += 2 * processes {
					account := fmt.Sprintf("a%d", rand.N(5))
					id := fmt.Sprintf("%d-%s-%06d", run, account, i)
					err := dbs[c%processes].Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
						return enqueue(ctx, tx, enter[c%processes], id, account, 1)
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
		if n := await.Count(want, 20*time.Second, log.len); n < want {
			t.Fatalf("run %d: %d of %d stay in the line", run, want-n, items)
		}
		if n := log.distinct(); n != want || log.len() != want {
			t.Fatalf("run %d: %d starts of %d items, want %d of each", run, log.len(), n, want)
		}
		t.Logf("run %d: %d items drained in %s", run, items, time.Since(begun).Round(time.Millisecond))
	}
}

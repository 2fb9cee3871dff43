package ledger

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// However many files and records are past their time, one run removes them all,
// and says what that takes beside what writing them took. ROGITO_TEST_GROWTH is how
// many there are.
func TestRetentionKeepsPace(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("ROGITO_TEST_GROWTH"))
	if err != nil {
		n = 1010 // more than are looked for at once
	}
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		ctx := t.Context()
		blobs, err := blob.Open(ctx, blob.Config{Data: t.TempDir(), Reserve: -1}, m)
		if err != nil {
			t.Fatal(err)
		}
		g := newGrown(t, db, m)
		g.fill(t, n)
		rows, err := db.Read().Query(ctx, `select distinct blob from signature_files where blob <> ''`)
		ids, err := store.All("blobs", rows, err, store.Column[string])
		if err != nil {
			t.Fatal(err)
		}
		var all errgroup.Group
		all.SetLimit(64) // they share what is synced
		for _, id := range ids {
			all.Go(func() error { // the documents themselves, small ones
				info, err := blobs.Put(ctx, bytes.NewReader(noise(100)))
				if err != nil {
					return err
				}
				return db.Write(ctx, func(tx *store.Tx) error {
					_, err := tx.Exec(ctx, `update signature_files set blob = $1 where blob = $2`, info.ID, id)
					return err
				})
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			what, left string
			after      time.Duration
		}{
			{"files", `select count(*) from signature_files where blob <> '' and signature_id in (select id from signatures where ` + isEnded + `)`, 31 * 24 * time.Hour},
			{"records", `select count(*) from signatures where ` + isEnded, 367 * 24 * time.Hour},
		} {
			now := func() time.Time { return time.Now().Add(step.after) }
			s := &Ledger{Config{
				DB: db, Master: m, Blobs: blobs, Audit: audit.New(db, m, nil), Callbacks: callback.New(db, m, nil), Biller: g.biller(t), KeepRecords: 365 * 24 * time.Hour, Now: now, Log: slog.New(slog.DiscardHandler),
			}}
			before := yardstick.Processor()
			if err := s.Retain(ctx); err != nil {
				t.Fatal(err)
			}
			took := yardstick.Processor() - before
			if left := storetest.Count(t, db, step.left); left != 0 {
				t.Errorf("%d %s are left", left, step.what)
			}
			t.Logf("%s of %d records removed with %.2f ms of processor each", step.what, n, took.Seconds()*1000/float64(n))
		}
		left := 0
		if err := blobs.List(context.Background(), time.Now().Add(time.Hour), func(string) error { left++; return nil }); err != nil {
			t.Fatal(err)
		}
		if waiting := storetest.Count(t, db, `select count(distinct blob) from signature_files where blob <> ''`); int64(left) != waiting {
			t.Errorf("%d blobs are left, of which %d belong to records that wait", left, waiting)
		}
	})
}

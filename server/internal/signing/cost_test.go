package signing_test

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// What a signature costs PostgreSQL: statements, and bytes of the write-ahead log, with
// all that runs in the background meanwhile.
func TestCostOfASignature(t *testing.T) {
	database := storetest.Postgres(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	s := newSite(t, func(c *server.Config) {
		c.Database, c.Network.AllowPrivate = database, []string{strings.TrimPrefix(receiver.URL, "http://")}
	})
	db := s.OpenServer().Parts().DB
	ctx := context.Background()
	if _, err := db.Pool().Exec(ctx, `create extension if not exists pg_stat_statements`); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	const signatures, clients = 200, 4
	for _, c := range []struct {
		name       string
		options    m
		more       m
		statements float64
		kilobytes  float64
	}{
		{"synchronous with a key", m{}, m{}, 16, 8},
		{"asynchronous with a key and a callback", m{"asyncSignature": true}, m{"callback": m{"url": receiver.URL}}, 26, 15},
	} {
		read := func(into any, query string) {
			t.Helper()
			if err := db.Pool().QueryRow(ctx, query).Scan(into); err != nil {
				t.Fatal(err)
			}
		}
		const waits = `select (select count(*) from signatures where state <> 'DONE') + (select count(*) from callbacks where active = 1)`
		sign := func(n int) {
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range n / clients {
						s.Record(s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF), optionsOf(c.options), c.more), "Idempotency-Key", store.NewID()))
					}
				})
			}
			all.Wait()
			await.Until(t, c.name+": all are done", func() bool {
				var left int
				read(&left, waits)
				return left == 0
			})
		}
		sign(2 * clients)
		// The log is that of the whole PostgreSQL: other tests and page images behind a
		// checkpoint only add to it, so the least of three counts.
		statements, kilobytes := math.Inf(1), math.Inf(1)
		for try := 0; try < 3 && (statements > c.statements || kilobytes > c.kilobytes); try++ {
			var from, to, calls int64
			const lsn = `select (pg_current_wal_insert_lsn() - '0/0')::bigint`
			read(new(string), `select coalesce(pg_stat_statements_reset()::text, '')`)
			read(&from, lsn)
			sign(signatures)
			read(&to, lsn)
			read(&calls, `select sum(calls)::bigint from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = current_database() and query not like '%from signatures where state <>%'`)
			statements, kilobytes = min(statements, float64(calls)/signatures), min(kilobytes, float64(to-from)/signatures/1000)
		}
		rows, err := db.Read().Query(ctx, `select query, calls, wal_bytes::bigint from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = current_database() order by calls desc limit 60`)
		err = store.Each("statements", rows, err, func(r store.Row) error {
			var query string
			var n, wal int64
			err := r.Scan(&query, &n, &wal)
			t.Logf("%6.2f %6d %s", float64(n)/signatures, wal/signatures, strings.Join(strings.Fields(query), " ")[:min(150, len(strings.Join(strings.Fields(query), " ")))])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f statements, %.1f kB of WAL", c.name, statements, kilobytes)
		if statements > c.statements || kilobytes > c.kilobytes {
			t.Errorf("%s: %.1f statements and %.1f kB, want at most %.1f and %.1f", c.name, statements, kilobytes, c.statements, c.kilobytes)
		}
	}
}

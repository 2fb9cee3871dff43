package audit_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

type logbook struct {
	db     *store.DB
	log    *audit.Log
	keeper *audit.Checkpointer
	live   *audit.Live
}

func open(t *testing.T, db *store.DB, m *master.Key) *logbook {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, "rogito.test")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(skey)
	if err != nil {
		t.Fatal(err)
	}
	l := audit.New(db, m, nil)
	k := &audit.Checkpointer{Log: l, Signer: signer, Public: vkey, File: &audit.File{Path: filepath.Join(t.TempDir(), "audit", "witness")}}
	if err := k.Begin(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &logbook{db, l, k, &audit.Live{Log: l, Public: vkey}}
}

// fill writes n events, with a checkpoint after each ten.
func (b *logbook) fill(t *testing.T, n int) {
	t.Helper()
	ctx := context.Background()
	for i := range n {
		err := b.db.Write(ctx, func(tx *store.Tx) error {
			return b.log.Append(ctx, tx, audit.Event{Account: "a", Record: fmt.Sprintf("r%d", i%3), Kind: "test", Log: fmt.Sprintf("event %d", i), Detail: map[string]int{"i": i}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			b.checkpoint(t)
		}
	}
	if _, err := b.log.Sequence(ctx); err != nil {
		t.Fatal(err)
	}
}

func (b *logbook) checkpoint(t *testing.T) {
	t.Helper()
	if _, err := b.log.Sequence(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.keeper.Make(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (b *logbook) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	err := b.db.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Exec(context.Background(), query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *logbook) verify(t *testing.T) *audit.Result {
	t.Helper()
	r, err := b.live.Verify(context.Background(), audit.Whole)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWholeLogVerifies(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		b.fill(t, 25)
		r := b.verify(t)
		if r.Bad != nil || r.Entries != 25 || r.Checkpoints != 3 {
			t.Errorf("%+v", r)
		}
		of, err := b.log.Of(context.Background(), "r1")
		if err != nil || len(of) != 8 {
			t.Fatalf("%d events of r1, %v", len(of), err)
		}
		if text, detail := of[0].Text(); text != "event 1" || string(detail) != `{"i":1}` {
			t.Errorf("%q %s", text, detail)
		}
	})
}

// Each kind of tampering is found, and the first bad entry named.
func TestTampering(t *testing.T) {
	kinds := []struct {
		name string
		do   func(t *testing.T, b *logbook)
		seq  int64
		what string
	}{
		{"edit", func(t *testing.T, b *logbook) {
			b.exec(t, `update audit_events set payload = $1 where seq = 7`, []byte(`{"log":"nothing happened"}`))
		}, 7, "not the entry"},
		{"edit with its digest", func(t *testing.T, b *logbook) {
			b.exec(t, `update audit_events set payload = null, salt = null, digest = $1 where seq = 7`, make([]byte, 32))
		}, 7, "not the entry"},
		{"edit of the time", func(t *testing.T, b *logbook) {
			b.exec(t, `update audit_events set created_at = created_at - 1000 where seq = 3`)
		}, 3, "not the entry"},
		{"delete", func(t *testing.T, b *logbook) {
			b.exec(t, `delete from audit_events where seq = 12`)
		}, 12, "missing"},
		{"delete and close the gap", func(t *testing.T, b *logbook) {
			b.exec(t, `delete from audit_events where seq = 12`)
			for i := 13; i < 25; i++ {
				b.exec(t, `update audit_events set seq = $1 where seq = $2`, i-1, i)
			}
		}, 12, "before it"},
		{"reorder", func(t *testing.T, b *logbook) {
			b.exec(t, `update audit_events set seq = 1000 where seq = 5`)
			b.exec(t, `update audit_events set seq = 5 where seq = 6`)
			b.exec(t, `update audit_events set seq = 6 where seq = 1000`)
		}, 5, ""},
		{"truncate", func(t *testing.T, b *logbook) {
			b.exec(t, `delete from audit_events where seq >= 15`)
			b.exec(t, `update audit_head set size = 15`)
			b.exec(t, `delete from audit_hashes where position >= $1`, tlog.StoredHashIndex(0, 15))
		}, 15, "checkpoint covers 20"},
		{"truncate with the checkpoints", func(t *testing.T, b *logbook) {
			b.exec(t, `delete from audit_events where seq >= 15`)
			b.exec(t, `update audit_head set size = 15`)
			b.exec(t, `delete from audit_hashes where position >= $1`, tlog.StoredHashIndex(0, 15))
			b.exec(t, `delete from audit_checkpoints where size > 15`)
		}, 15, "witness file covers 20"},
		{"truncate the tail", func(t *testing.T, b *logbook) {
			b.exec(t, `delete from audit_events where seq >= 23`)
		}, 23, "missing"},
		{"insert", func(t *testing.T, b *logbook) {
			b.exec(t, `insert into audit_events (account_id, record_id, kind, created_at, digest, base, mac, seq) values ('a', 'r', 'k', 1, $1, 0, $1, 25)`, make([]byte, 32))
		}, 25, "not the entry"},
		{"erase without saying so", func(t *testing.T, b *logbook) {
			of, err := b.log.Of(context.Background(), "r0")
			if err != nil || of[3].Seq != 9 {
				t.Fatal(err)
			}
			b.exec(t, `update audit_events set payload = null, salt = null, digest = $1 where seq = 9`, of[3].Digest)
		}, 9, "no erasure"},
		{"forged checkpoint", func(t *testing.T, b *logbook) {
			b.exec(t, `update audit_checkpoints set note = replace(note, 'rogito.test', 'rogito.tesT') where size = 20`)
		}, 10, "not signed"},
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			db, m := storetest.Open(t, store.Config{Data: t.TempDir()}) // on PostgreSQL: server/internal/audit TestAuditManipulations
			b := open(t, db, m)
			b.fill(t, 25)
			if r := b.verify(t); r.Bad != nil {
				t.Fatalf("bad before: %v", r.Bad)
			}
			k.do(t, b)
			if strings.Contains(k.name, "with the checkpoints") {
				b.live.File = b.keeper.File
			}
			r := b.verify(t)
			if r.Bad == nil {
				t.Fatal("not found")
			}
			if r.Bad.Seq != k.seq || !strings.Contains(r.Bad.What, k.what) {
				t.Errorf("%v, want entry %d: …%s…", r.Bad, k.seq, k.what)
			}
		})
	}
}

func TestErasureKeepsTheLogWhole(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		b.fill(t, 25)
		ctx := context.Background()
		err := db.Write(ctx, func(tx *store.Tx) error { return b.log.Erase(ctx, tx, "a", "r1", "deleted by its owner") })
		if err != nil {
			t.Fatal(err)
		}
		b.checkpoint(t)
		r := b.verify(t)
		if r.Bad != nil || r.Erased != 8 {
			t.Errorf("%+v %v", r, r.Bad)
		}
	})
}

// A log that is written to, put in order and erased from while it is verified
// is whole all the same, live and exported.
func TestVerifyingALivelyLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		b.fill(t, 20)
		ctx := context.Background()
		var life sync.WaitGroup
		stop := make(chan struct{})
		each := func(do func(i int) error) {
			life.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if err := do(i); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		each(func(i int) error {
			return db.Write(ctx, func(tx *store.Tx) error {
				record := fmt.Sprintf("lively%d", i/2)
				if i%2 == 1 {
					return b.log.Erase(ctx, tx, "a", record, "erased")
				}
				return b.log.Append(ctx, tx, audit.Event{Account: "a", Record: record, Kind: "test", Log: "lively"})
			})
		})
		each(func(int) error { _, err := b.log.Sequence(ctx); return err })
		for end := time.Now().Add(time.Second); time.Now().Before(end) && !t.Failed(); {
			if r := b.verify(t); r.Bad != nil {
				t.Errorf("live: %v", r.Bad)
			}
			var out bytes.Buffer
			if err := b.keeper.Export(ctx, &out, 0); err != nil {
				t.Fatal(err)
			}
			if r, err := audit.VerifyExport("", nil, &out); err != nil || r.Bad != nil {
				t.Errorf("exported: %v %v", r, err)
			}
		}
		close(stop)
		life.Wait()
	})
}

func TestExport(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		b.fill(t, 25)
		var out bytes.Buffer
		if err := b.keeper.Export(context.Background(), &out, 0); err != nil {
			t.Fatal(err)
		}
		check := func(text string) *audit.Result {
			t.Helper()
			r, err := audit.VerifyExport("", nil, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := check(out.String()); r.Bad != nil || r.Entries != 25 {
			t.Errorf("%+v", r)
		}
		lines := strings.SplitAfter(out.String(), "\n")
		edited := strings.Replace(out.String(), "event 7", "event 8", 1)
		if r := check(edited); r.Bad == nil || r.Bad.Seq != 7 {
			t.Errorf("edited: %+v", r.Bad)
		}
		cut := strings.Join(lines[:len(lines)-4], "")
		if r := check(cut); r.Bad == nil || r.Bad.Seq != 22 {
			t.Errorf("cut: %+v", r.Bad)
		}
	})
}

// Exports that go on from one another are the log once. One alone proves its own
// entries; a gap, another order, another log's part and a tree that nobody signed are
// found.
func TestExportInParts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		ctx := context.Background()
		b := open(t, db, m)
		export := func(since int64) string {
			t.Helper()
			var out bytes.Buffer
			if err := b.keeper.Export(ctx, &out, since); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		grow := func(n int) int64 {
			t.Helper()
			b.fill(t, n)
			c, err := b.keeper.Make(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return c.Size
		}
		size := grow(25)
		first := export(0)
		size2 := grow(11)
		second := export(size)
		// What the first part told in words is erased, and the last part says so.
		erase := func(tx *store.Tx) error { return b.log.Erase(ctx, tx, "a", "r1", "erased") }
		if err := db.Write(ctx, erase); err != nil {
			t.Fatal(err)
		}
		grow(7)
		third := export(size2)

		check := func(parts ...string) *audit.Result {
			t.Helper()
			readers := make([]io.Reader, len(parts))
			for i, p := range parts {
				readers[i] = strings.NewReader(p)
			}
			r, err := audit.VerifyExport("", nil, readers...)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := check(first, second, third); r.Bad != nil || r.Entries != size2+8 {
			t.Errorf("together: %+v %+v", r, r.Bad)
		}
		if r := check(second); r.Bad != nil || r.From != size || r.Entries != 11 {
			t.Errorf("alone: %+v %+v", r, r.Bad)
		}
		if n := strings.Count(second, `{"entry"`); n != 11 {
			t.Errorf("the second part has %d entries", n)
		}
		for name, parts := range map[string][]string{
			"a gap":                {first, third},
			"another order":        {second, first},
			"the same twice":       {first, first},
			"an entry was changed": {first, strings.Replace(second, "event 7", "event 8", 1)},
			"another tree":         {first, strings.Replace(second, `"edge":"`, `"edge":"AAAA`, 1)},
			"no tree":              {first, regexp.MustCompile(`,"edge":"[^"]*"`).ReplaceAllString(second, "")},
			"another place":        {first, strings.Replace(second, fmt.Sprintf(`"from":%d`, size), fmt.Sprintf(`"from":%d`, size+1), 1)},
			"cut":                  {first, second[:strings.LastIndex(strings.TrimSpace(second), "\n")+1], third},
		} {
			if r := check(parts...); r.Bad == nil {
				t.Errorf("%s: nothing was found", name)
			}
		}
	})
}

// What cannot be written down does not happen, and says so with 105.
func TestAuditThatCannotBeWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		b.exec(t, `alter table audit_events rename to audit_gone`)
		ctx := context.Background()
		err := db.Write(ctx, func(tx *store.Tx) error { return b.log.Append(ctx, tx, audit.Event{Kind: "x"}) })
		if !errors.Is(err, fault.Unavailable) {
			t.Errorf("%v", err)
		}
	})
}

func TestParallelAppends(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		ctx := context.Background()
		done := make(chan error)
		for i := range 8 {
			go func() {
				var err error
				for j := range 25 {
					err = errors.Join(err, db.Write(ctx, func(tx *store.Tx) error {
						return b.log.Append(ctx, tx, audit.Event{Record: fmt.Sprint(i), Kind: "t", Log: fmt.Sprint(j)})
					}))
					if j%10 == 0 {
						_, e := b.log.Sequence(ctx)
						err = errors.Join(err, e)
					}
				}
				done <- err
			}()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		b.checkpoint(t)
		if r := b.verify(t); r.Bad != nil || r.Entries != 200 {
			t.Errorf("%+v", r)
		}
	})
}

// A verification goes on from the last checkpoint that one before it has proved,
// or from the last there is: it finds what is wrong behind it, says that it did
// not read what is before, and all of it is read on demand.
func TestGoingOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		ctx := context.Background()
		b.live.Proof = filepath.Join(t.TempDir(), "proved")
		b.live.File = b.keeper.File
		verify := func(extent audit.Extent) *audit.Result {
			t.Helper()
			r, err := b.live.Verify(ctx, extent)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		b.fill(t, 600) // with hashes that are stored
		if r := verify(audit.SinceProved); r.Bad != nil || r.From != 0 || r.Entries != 600 {
			t.Fatalf("nothing was proved yet: %+v", r)
		}
		b.fill(t, 25)
		if err := db.Write(ctx, func(tx *store.Tx) error { return b.log.Erase(ctx, tx, "a", "r1", "deleted by its owner") }); err != nil {
			t.Fatal(err)
		}
		b.checkpoint(t)
		b.fill(t, 5)
		if r := verify(audit.SinceCheckpoint); r.Bad != nil || r.From != 626 || r.Entries != 5 {
			t.Errorf("since the last checkpoint: %+v, %v", r, r.Bad)
		}
		r := verify(audit.SinceProved)
		if r.Bad != nil || r.From != 600 || r.Entries != 31 || !strings.Contains(fmt.Sprint(r.Unproved), "600 entries and their records were not read again") {
			t.Errorf("since the last proof: %+v, %v", r, r.Bad)
		}
		if r := verify(audit.SinceProved); r.Bad != nil || r.From != 626 {
			t.Errorf("the last proof was that of %d entries, %v", r.From, r.Bad)
		}
		for _, c := range []struct {
			name, query string
			since       bool // found behind the last checkpoint
		}{
			{"an entry is changed", `update audit_events set created_at = created_at - 1 where seq = 5`, false},
			{"an entry behind the checkpoint is changed", `update audit_events set created_at = created_at - 1 where seq = 628`, true},
			{"an entry behind the checkpoint is gone", `delete from audit_events where seq = 630`, true},
			{"a hash that the edge is made of", `update audit_hashes set hash = (select hash from audit_hashes order by position limit 1) where position = (select max(position) from audit_hashes)`, true},
			{"the checkpoint", `update audit_checkpoints set note = (select note from audit_checkpoints where size = 600) where size = 626`, true},
			{"an entry that the edge is computed of", `update audit_events set digest = mac where seq = 620`, true},
		} {
			for _, table := range []string{"audit_events", "audit_hashes", "audit_checkpoints"} {
				b.exec(t, `create table kept_`+table+` as select * from `+table)
			}
			b.exec(t, c.query)
			if r := verify(audit.Whole); r.Bad == nil {
				t.Errorf("%s: not found", c.name)
			}
			for _, extent := range []audit.Extent{audit.SinceProved, audit.SinceCheckpoint} {
				if r := verify(extent); (r.Bad != nil) != c.since {
					t.Errorf("%s: %v, extent %d", c.name, r.Bad, extent)
				}
			}
			for _, table := range []string{"audit_events", "audit_hashes", "audit_checkpoints"} {
				b.exec(t, `delete from `+table)
				b.exec(t, `insert into `+table+` select * from kept_`+table)
				b.exec(t, `drop table kept_`+table)
			}
		}
		if r := verify(audit.Whole); r.Bad != nil {
			t.Errorf("put back: %v", r.Bad)
		}
	})
}

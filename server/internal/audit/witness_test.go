package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func (b *logbook) append(t *testing.T, record string) {
	t.Helper()
	ctx := context.Background()
	err := b.db.Write(ctx, func(tx *store.Tx) error {
		return b.log.Append(ctx, tx, audit.Event{Account: "a", Record: record, Kind: "test", Log: "x"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A process that dies between the checkpoint in the database and the witness, or
// in the middle of a line, raises no alarm and loses no proof.
func TestWitnessCutShort(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		b.live.File = b.keeper.File
		b.fill(t, 20)
		b.keeper.File = nil // the checkpoint of 21 is made, and not witnessed
		b.append(t, "r")
		b.checkpoint(t)
		if r := b.verify(t); r.Bad != nil || r.Witnesses[0].Size != 20 || !strings.Contains(fmt.Sprint(r.Unproved), "the last 1 entries are newer") {
			t.Errorf("%v %v", r.Bad, r.Unproved)
		}
		path := b.live.File.Path
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, torn := range []string{"{", `{"size":21,"no`, "\x00\x00\x00"} {
			if err := os.WriteFile(path, append(bytes.Clone(whole), torn...), 0o600); err != nil {
				t.Fatal(err)
			}
			if r := b.verify(t); r.Bad != nil || r.Witnesses[0].Unreadable != 1 || r.Witnesses[0].Size != 20 {
				t.Errorf("torn: %v %+v", r.Bad, r.Witnesses[0])
			}
			b.keeper.File = &audit.File{Path: path} // the next start
			b.checkpoint(t)
			if r := b.verify(t); r.Bad != nil || r.Witnesses[0].Unreadable != 1 || r.Witnesses[0].Size != 21 {
				t.Errorf("after the next start: %v %+v", r.Bad, r.Witnesses[0])
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if r := b.verify(t); r.Bad != nil || !strings.Contains(fmt.Sprint(r.Unproved), "holds no checkpoint") {
			t.Errorf("no file: %v %v", r.Bad, r.Unproved)
		}
	})
}

// Two servers on one database, each with a witness of its own: both are good at
// every moment, and each finds alone that the database was put back.
func TestTwoWitnesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		one := open(t, db, m)
		one.live.File = one.keeper.File
		log := audit.New(db, m, nil)
		two := &logbook{db, log, &audit.Checkpointer{
			Log: log, Signer: one.keeper.Signer, Public: one.keeper.Public, File: &audit.File{Path: filepath.Join(t.TempDir(), "witness")},
		}, nil}
		two.live = &audit.Live{Log: log, Public: one.live.Public, File: two.keeper.File}
		var work sync.WaitGroup
		for _, b := range []*logbook{one, two} {
			work.Go(func() {
				for i := range 30 {
					b.append(t, fmt.Sprint("r", i))
					if i%3 == 0 {
						b.checkpoint(t)
					}
					if i%10 == 0 {
						if r := b.verify(t); r.Bad != nil {
							t.Errorf("%v", r.Bad)
						}
					}
				}
				b.checkpoint(t)
			})
		}
		work.Wait()
		one.checkpoint(t)
		two.checkpoint(t)
		for _, table := range []string{"audit_events", "audit_hashes", "audit_head", "audit_checkpoints"} {
			one.exec(t, `create table old_`+table+` as select * from `+table)
		}
		one.append(t, "late")
		one.checkpoint(t)
		if size, newest := two.keeper.Look(t.Context()); size != 61 || newest != 61 {
			t.Errorf("the other's checkpoint does not count: of %d entries the newest has %d", size, newest)
		}
		two.checkpoint(t)
		for _, b := range []*logbook{one, two} {
			if r := b.verify(t); r.Bad != nil || r.Witnesses[0].Size != 61 || r.Entries != 61 {
				t.Errorf("%v %d %+v", r.Bad, r.Entries, r.Witnesses[0])
			}
		}
		for _, table := range []string{"audit_events", "audit_hashes", "audit_head", "audit_checkpoints"} {
			one.exec(t, `delete from `+table)
			one.exec(t, `insert into `+table+` select * from old_`+table)
		}
		for _, b := range []*logbook{one, two} {
			if r := b.verify(t); r.Bad == nil || !strings.Contains(r.Bad.What, "witness file covers 61") {
				t.Errorf("put back: %v", r.Bad)
			}
			if _, err := b.keeper.Make(context.Background()); !errors.Is(err, audit.ErrWitness) {
				t.Errorf("a log that was put back is signed: %v", err)
			}
			file := b.live.File
			b.live.File = nil
			if r := b.verify(t); r.Bad != nil {
				t.Errorf("put back, without the witness: %v", r.Bad)
			}
			b.live.File = file
		}
		// A server that runs knows of more entries, and says so in the next one.
		one.append(t, "after")
		if _, err := one.log.Sequence(context.Background()); err != nil {
			t.Fatal(err)
		}
		one.live.File = nil
		if r := one.verify(t); r.Bad == nil || !strings.Contains(r.Bad.What, "put back") {
			t.Errorf("put back while the server ran: %v", r.Bad)
		}
	})
}

// An event that is removed while it waits for its place is missed by its writer.
func TestRemovedWhileWaiting(t *testing.T) {
	defer audit.LoseAfter(0)()
	db, m := storetest.Open(t, store.Config{Data: t.TempDir(), Database: storetest.Postgres(t)})
	b := open(t, db, m)
	b.fill(t, 10)
	b.append(t, "kept")
	b.append(t, "removed")
	b.exec(t, `delete from audit_events where record_id = 'removed'`)
	b.checkpoint(t)
	b.checkpoint(t) // what was written then has its place now
	if r := b.verify(t); r.Bad == nil || !strings.Contains(r.Bad.What, "taken away") {
		t.Errorf("%v", r.Bad)
	}
	if n := storetest.Count(t, db, `select count(*) from audit_events where kind = $1`, audit.KindLost); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// An event that is held back while it waits, and let go an hour later, is found,
// before it has its place and after.
func TestHeldBack(t *testing.T) {
	db, m := storetest.Open(t, store.Config{Data: t.TempDir(), Database: storetest.Postgres(t)})
	b := open(t, db, m)
	clock := time.Now()
	log := audit.New(db, m, func() time.Time { return clock })
	b.log, b.keeper.Log, b.live.Log = log, log, log
	b.fill(t, 10)
	b.append(t, "held")
	b.exec(t, `create table held as select * from audit_events where record_id = 'held'`)
	b.exec(t, `delete from audit_events where record_id = 'held'`)
	for range 4 {
		clock = clock.Add(20 * time.Minute)
		b.append(t, "other")
		b.checkpoint(t)
	}
	if r := b.verify(t); r.Bad != nil {
		t.Fatal(r.Bad)
	}
	b.exec(t, `insert into audit_events select * from held`)
	for range 2 {
		if r := b.verify(t); r.Bad == nil || !strings.Contains(r.Bad.What, "held back") {
			t.Errorf("%v", r.Bad)
		}
		b.checkpoint(t)
	}
}

// A clock that goes back is told of and is not a fault.
func TestClockGoesBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		clock := time.Now()
		log := audit.New(db, m, func() time.Time { return clock })
		b.log, b.keeper.Log, b.live.Log = log, log, log
		b.fill(t, 10)
		clock = clock.Add(-24 * time.Hour)
		b.fill(t, 10)
		if r := b.verify(t); r.Bad != nil || !strings.Contains(fmt.Sprint(r.Unproved), "10 entries are dated more than ten minutes before") {
			t.Errorf("%v %v", r.Bad, r.Unproved)
		}
	})
}

// A witness file of any content is read without an accident, and what is not a
// checkpoint is counted.
func FuzzWitness(f *testing.F) {
	f.Add([]byte(`{"size":1,"note":"a\n1\nAA==\n","createdAt":1}` + "\n{"))
	f.Add([]byte("\n\n\x00{}\n{\"note\":\"x\"} {}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "witness")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		points, unreadable, err := (&audit.File{Path: path}).All()
		if lines := bytes.Count(b, []byte("\n")) + 1; err != nil || len(points)+unreadable > lines {
			t.Errorf("%d checkpoints and %d unreadable lines of %d: %v", len(points), unreadable, lines, err)
		}
	})
}

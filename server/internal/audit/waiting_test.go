package audit_test

import (
	"context"
	"strconv"
	"testing"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A server with nothing to do writes nothing: not even the head of the log.
func TestNothingWaitsNothingIsWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		if db.Dialect() != store.PostgreSQL {
			t.Skip("events have their places when they are written")
		}
		b := open(t, db, m)
		b.fill(t, 3)
		head := func() (version string, size int) {
			t.Helper()
			if err := db.Read().QueryRow(t.Context(), `select cast(xmin as text), size from audit_head where id = 1`).Scan(&version, &size); err != nil {
				t.Fatal(err)
			}
			return version, size
		}
		before, _ := head()
		if n, err := b.log.Sequence(context.Background()); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if after, size := head(); after != before || size != 3 {
			t.Errorf("the head was written: %s, then %s; %d entries", before, after, size)
		}
		b.exec(t, `update audit_head set size = 2`)
		if _, err := b.log.Sequence(context.Background()); err == nil {
			t.Error("a head of somebody else's was not noticed")
		}
	})
}

// Of several servers one gives places to the events of all: what came since the last
// look is left to whoever looks first, and an event waits for two looks at most.
func TestOneSequencesForAll(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		if db.Dialect() != store.PostgreSQL {
			t.Skip("events have their places when they are written")
		}
		one, other := open(t, db, m), open(t, db, m)
		write := func(b *logbook) {
			t.Helper()
			err := db.Write(t.Context(), func(tx *store.Tx) error {
				return b.log.Append(t.Context(), tx, audit.Event{Account: "a", Record: "r", Kind: "test", Log: "event"})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, step := range []struct {
			write, looks *logbook
			size         int64
		}{
			{one, one, 0},     // the first look
			{other, other, 0}, // its own first
			{one, one, 3},     // what it saw before waits still: all get their places
			{other, other, 3}, // what it saw before has its place
			{one, other, 5},   // and so on, with the roles exchanged
			{one, one, 5},
		} {
			write(step.write)
			if size, _ := step.looks.keeper.Look(t.Context()); size != step.size {
				t.Errorf("look %d: %d entries have places, want %d", i+1, size, step.size)
			}
		}
		defer audit.LoseAfter(0)() // each misses what it wrote and the other has sequenced
		for _, b := range []*logbook{one, other} {
			if _, err := b.log.Sequence(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := b.log.Unseen(); n != 0 {
				t.Errorf("%d events are missed that are in the log", n)
			}
		}
		if n := storetest.Count(t, db, `select count(*) from audit_events where kind = $1`, audit.KindLost); n != 0 {
			t.Errorf("%d events are called lost", n)
		}
	})
}

// What follows from an event has its place behind it, also where the event is
// written in a long transaction while others get theirs.
func TestNothingOvertakesItsCause(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		if db.Dialect() != store.PostgreSQL {
			t.Skip("events have their places when they are written")
		}
		b := open(t, db, m)
		ctx := t.Context()
		write := func(tx *store.Tx, kind string) error {
			return b.log.Append(ctx, tx, audit.Event{Account: "a", Record: "r", Kind: kind, Log: "event"})
		}
		others := make([]audit.Event, audit.SequenceBatch+100)
		for i := range others {
			others[i] = audit.Event{Account: "a", Record: strconv.Itoa(i), Kind: "test", Log: "event"} // a row for each
		}
		passed := int64(-1)
		err := db.Write(ctx, func(tx *store.Tx) error {
			if err := write(tx, "cause"); err != nil {
				return err
			}
			var one int
			if err := tx.QueryRow(ctx, `select 1`).Scan(&one); err != nil { // it is written
				return err
			}
			err := db.Write(ctx, func(tx *store.Tx) error { return b.log.Append(ctx, tx, others...) })
			if err == nil {
				passed, err = b.log.SequenceSome(ctx, passed)
			}
			return err
		})
		if err == nil {
			err = db.Write(ctx, func(tx *store.Tx) error { return write(tx, "effect") })
		}
		if err == nil {
			_, err = b.log.SequenceSome(ctx, passed)
		}
		if err != nil {
			t.Fatal(err)
		}
		events, err := b.log.Of(ctx, "r")
		if err != nil || len(events) != 2 || events[0].Kind != "cause" || events[0].Seq < 0 || events[1].Seq < 0 {
			t.Errorf("%v", err)
			for _, e := range events {
				t.Errorf("%s has place %d", e.Kind, e.Seq)
			}
		}
	})
}

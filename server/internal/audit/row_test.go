package audit_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// signature writes the events of one, in the two transactions that it has.
func (b *logbook) signature(t *testing.T, record string) {
	t.Helper()
	ctx := context.Background()
	event := func(kind string, detail any) audit.Event {
		return audit.Event{Account: "a", Record: record, Kind: kind, Log: kind + " of " + record, Detail: detail}
	}
	for _, list := range [][]audit.Event{
		{event("request", nil), event("input", map[string]string{"text": "in\ntwo lines"}), event("validation", nil), event("key-use", nil)},
		{event("signature", nil), event("signed", nil), event("certificate-key", nil), event("signature", strings.Repeat("evidence", 4<<10)), event("signed", nil)},
	} {
		if err := b.db.Write(ctx, func(tx *store.Tx) error { return b.log.Append(ctx, tx, list...) }); err != nil {
			t.Fatal(err)
		}
	}
}

var signatureKinds = []string{"request", "input", "validation", "key-use", "signature", "signed", "certificate-key", "signature", "signed"}

// The events of one record that are written together are one row, but for those
// that are looked for by their kind, and large ones; each is read, proved,
// exported and erased as one of its own.
func TestTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		ctx := context.Background()
		for i := range 60 { // more than 256 events: hashes are stored
			b.signature(t, fmt.Sprint("r", i))
		}
		b.checkpoint(t)
		b.signature(t, "last") // on PostgreSQL without a place
		if n := storetest.Count(t, db, `select count(*) from audit_events where record_id = 'r7'`); n != 5 {
			t.Errorf("%d rows", n)
		}
		for _, record := range []string{"r7", "last"} {
			of, err := b.log.Of(ctx, record)
			if err != nil || len(of) != len(signatureKinds) {
				t.Fatalf("%d events, %v", len(of), err)
			}
			ids := map[string]bool{}
			for i, e := range of {
				log, _ := e.Text()
				if sum := sha256.Sum256(append(bytes.Clone(e.Salt), e.Payload...)); e.Kind != signatureKinds[i] || log != e.Kind+" of "+record || !bytes.Equal(sum[:], e.Digest) || !store.IsID(e.ID) || record == "r7" && e.Seq != 63+int64(i) {
					t.Errorf("%+v", e)
				}
				ids[e.ID] = true
			}
			if len(ids) != len(of) {
				t.Errorf("%d ids of %d events", len(ids), len(of))
			}
		}
		if r := b.verify(t); r.Bad != nil || r.Entries+r.Pending != 61*9 {
			t.Fatalf("%+v, %v", r, r.Bad)
		}
		for _, record := range []string{"r7", "last"} {
			before, err := b.log.Of(ctx, record)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Write(ctx, func(tx *store.Tx) error { return b.log.Erase(ctx, tx, "a", record, "erased") }); err != nil {
				t.Fatal(err)
			}
			if n := storetest.Count(t, db, `select count(*) from audit_events where record_id = $1 and kind <> 'erased' and (payload is not null or salt is not null)`, record); n != 0 {
				t.Errorf("%d rows have their text", n)
			}
			after, err := b.log.Of(ctx, record)
			if err != nil || len(after) != len(before)+1 {
				t.Fatal(len(after), err)
			}
			for i, e := range before {
				if a := after[i]; a.Payload != nil || a.Salt != nil || a.ID != e.ID || !bytes.Equal(a.Digest, e.Digest) {
					t.Errorf("%+v, %+v", e, a)
				}
			}
		}
		b.checkpoint(t)
		if r := b.verify(t); r.Bad != nil || r.Erased != 18 || r.Entries != 61*9+2 {
			t.Fatalf("%+v, %v", r, r.Bad)
		}
		var out bytes.Buffer
		if err := b.keeper.Export(ctx, &out, 0); err != nil {
			t.Fatal(err)
		}
		if r, err := audit.VerifyExport("", nil, &out); err != nil || r.Bad != nil || r.Entries != 61*9+2 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A difference that says it is longer than any text is not made room for.
func TestHostileDifference(t *testing.T) {
	db, m := storetest.Open(t, store.Config{Data: t.TempDir()})
	b := open(t, db, m)
	b.fill(t, 3)
	hostile := append([]byte{2}, binary.AppendUvarint(nil, 3<<30)...)
	b.exec(t, `update audit_events set payload = $1 where seq = 1`, append(hostile, bytes.Repeat([]byte{0xfe, 1, 0}, 20)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if r := b.verify(t); r.Bad == nil || r.Bad.Seq != 1 {
		t.Errorf("%v", r.Bad)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<30 {
		t.Errorf("%d bytes were made room for", after.TotalAlloc-before.TotalAlloc)
	}
}

// The last event about a credential is found whoever wrote it, though it is read
// once; one that somebody else wrote is refused.
func TestLast(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := open(t, db, m)
		ctx := context.Background()
		other := audit.New(db, m, nil) // another server
		last := func() (text string, err error) {
			err = db.Write(ctx, func(tx *store.Tx) error {
				return b.log.Last(ctx, tx, "c", "certificate-key", func(e *audit.Entry) error {
					if e != nil {
						text, _ = e.Text()
					}
					return nil
				})
			})
			return text, err
		}
		if text, err := last(); text != "" || err != nil {
			t.Error(text, err)
		}
		for i, log := range []*audit.Log{b.log, other, other, b.log} {
			want := fmt.Sprint("event ", i)
			if err := db.Write(ctx, func(tx *store.Tx) error {
				return log.Append(ctx, tx, audit.Event{Account: "a", Record: "c", Kind: "certificate-key", Log: want})
			}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if text, err := last(); text != want || err != nil {
					t.Errorf("%q, want %q, %v", text, want, err)
				}
			}
		}
		b.checkpoint(t)
		b.exec(t, `delete from audit_events where seq = 3`)
		if text, err := last(); text != "event 2" || err != nil { // audit verify tells
			t.Error(text, err)
		}
		b.exec(t, `update audit_events set mac = digest, created_at = 1 where seq = 2`)
		if text, err := last(); err == nil {
			t.Errorf("%q", text)
		}
	})
}

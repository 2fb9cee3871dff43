package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"rogito.dev/rogito/server/internal/store"
)

// Live is the log of a database, with what it is verified against.
type Live struct {
	Log    *Log
	Public string // key of the checkpoints (C2SP vkey)
	File   *File  // nil: no witness file
	Bucket Bucket // nil: no witness in a bucket
	Books  []Book // records that must fit their events
	Check  TokenCheck
	Proof  string // file of the last proof; empty: none is kept
}

// Verify verifies the log, with as many readers as there are processors. The
// error means that no result could be had.
func (s *Live) Verify(ctx context.Context, extent Extent) (*Result, error) {
	witnesses, err := Witnesses(ctx, s.File, s.Bucket)
	if err != nil {
		return nil, err
	}
	last, err := s.proved()
	if err != nil {
		return nil, err
	}
	var v *verification
	err = s.Log.db.Views(ctx, runtime.GOMAXPROCS(0)+1, func(all []store.Querier) error {
		r := &readers{first: all[0], others: all[min(1, len(all)-1):], texts: newDictionaryCache()}
		points, err := checkpoints(ctx, r.first)
		if err != nil {
			return err
		}
		v = newVerification(s.Public, points, s.Check)
		v.res.Witnesses, v.judge = witnesses, s.judge(v)
		v.erasedBefore = func(record string) (int64, error) { return erasedBefore(ctx, r.first, record, v.from) }
		if err := s.verify(ctx, r, v, map[Extent]int64{SinceProved: last.Size, SinceCheckpoint: math.MaxInt64}[extent]); err != nil {
			return err
		}
		if v.res.Bad == nil {
			s.explain(v, extent, last)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if v.res.Bad == nil && extent != SinceCheckpoint {
		err = s.prove(v.sure)
	}
	return &v.res, err
}

// verify begins at the newest checkpoint of at most so many entries.
func (s *Live) verify(ctx context.Context, r *readers, v *verification, from int64) error {
	h, err := s.Log.scanHead(r.first.QueryRow(ctx, readHead))
	changed := errors.Is(err, errHead) || errors.Is(err, store.ErrNoRows)
	if err != nil && !changed {
		return err
	}
	later := v.beginAt(ctx, r.first, from)
	switch {
	case v.res.Bad != nil:
		return nil
	case !later:
		v.begin()
	}
	if err := s.entries(ctx, r, v); err != nil || v.res.Bad != nil {
		return err
	}
	if err := s.pending(ctx, r.first, v); err != nil || v.res.Bad != nil {
		return err
	}
	there := func(id string) (bool, error) {
		var n int64
		mac, err := hex.DecodeString(id)
		if err != nil {
			return false, nil // which no entry has
		}
		err = r.first.QueryRow(ctx, `select count(*) from audit_events where mac = $1`, mac).Scan(&n)
		return n > 0, err
	}
	if err := v.end(there); err != nil || v.res.Bad != nil {
		return err
	}
	if changed {
		v.bad(-1, nil, "the head of the log was not written by this server")
		return nil
	}
	if err := s.head(ctx, r.first, v, h); err != nil || v.res.Bad != nil {
		return err
	}
	return s.records(ctx, r, v)
}

// judge returns how an entry that has a place, or wants one, was tampered with.
func (s *Live) judge(v *verification) func(e *Entry, at int64) string {
	return func(e *Entry, at int64) string {
		base := e.row.base
		switch {
		case !s.Log.authentic(e.row) || e.Seq >= 0 && e.row.n >= 0:
			return "it is not the entry that was written"
		case base > at:
			return fmt.Sprintf("when it was written there were %d entries before it: some were removed, or the log was put back", base)
		case v.heldBack(base, at):
			return fmt.Sprintf("it was held back: it was written when the log had %d entries", base)
		}
		return ""
	}
}

// pending looks at entries without a place. On SQLite there are none.
func (s *Live) pending(ctx context.Context, q store.Querier, v *verification) error {
	list, err := dictionaries.entries(ctx, q, selectRow+`where seq is null or seq < 0 order by n limit 100000`)
	if err != nil {
		return err
	}
	for _, e := range list {
		v.res.Pending++
		why := v.judge(e, v.tree.size)
		if !e.intact() {
			why = "its text is not the one that was written"
		}
		if s.Log.db.Dialect() == store.SQLite {
			why = "it was not written by this server"
		}
		if why != "" {
			v.bad(v.tree.size, e, "%s waits for its place: %s", e.ID, why)
			return nil
		}
		v.note(e, v.tree.size)
	}
	return s.known(ctx, q, v, list)
}

// head compares the recomputed tree with the head, and looks for rows that do not belong to it.
func (s *Live) head(ctx context.Context, q store.Querier, v *verification, h *head) error {
	var hashes int64
	if err := q.QueryRow(ctx, `select count(*) from audit_hashes`).Scan(&hashes); err != nil {
		return fmt.Errorf("audit: count hashes: %w", err)
	}
	twice, err := s.twice(ctx, q, v)
	if err != nil {
		return err
	}
	beside, err := s.beside(ctx, q)
	if err != nil {
		return err
	}
	switch {
	case h.size > v.tree.size:
		v.bad(v.tree.size, nil, "is missing: the log had %d entries", h.size)
	case h.size < v.tree.size:
		v.bad(h.size, nil, "it is beyond the head of the log")
	case !bytes.Equal(h.edge(), v.tree.edge()):
		v.bad(-1, nil, "the entries are not those of the head of the log")
	case h.checkpoint != v.points[len(v.points)-1].Size || !bytes.Equal(h.last, v.before):
		v.bad(v.sure, nil, "the last checkpoint, of %d entries, is gone or was changed", h.checkpoint)
	case hashes != storedHashes(v.tree.size):
		v.bad(-1, nil, "there are %d hashes in the tree, and not %d", hashes, storedHashes(v.tree.size))
	case twice != "":
		v.bad(-1, nil, "an entry of record %s stands twice in the log", twice)
	case beside != "":
		v.bad(-1, nil, "%s", beside)
	}
	return nil
}

// beside finds rows next to the tree that do not belong to the log: another head, a dictionary
// whose text does not fit its name.
func (s *Live) beside(ctx context.Context, q store.Querier) (what string, err error) {
	var heads int64
	if err := q.QueryRow(ctx, `select count(*) from audit_head`).Scan(&heads); err != nil {
		return "", fmt.Errorf("audit: count heads: %w", err)
	}
	if heads != 1 {
		return fmt.Sprintf("there are %d heads of the log", heads), nil
	}
	rows, err := q.Query(ctx, `select id, text from audit_dictionaries`)
	return what, store.Each("audit: read dictionaries", rows, err, func(r store.Row) error {
		var id, text []byte
		if err := r.Scan(&id, &text); err != nil {
			return err
		}
		if sum := sha256.Sum256(text); len(id) == 0 || !bytes.HasPrefix(sum[:], id) {
			what = "a dictionary of texts is not the one that was stored"
		}
		return nil
	})
}

// twice finds an entry that is in the log twice. On SQLite an entry gets its place in the
// transaction that wrote it, and no other can get one; on PostgreSQL a copied row that waits
// for its place would.
func (s *Live) twice(ctx context.Context, q store.Querier, v *verification) (record string, err error) {
	if s.Log.db.Dialect() == store.SQLite || v.from > 0 {
		return "", nil
	}
	err = q.QueryRow(ctx, `select max(record_id) from audit_events group by mac having count(*) > 1 limit 1`).Scan(&record)
	if err != nil && !errors.Is(err, store.ErrNoRows) {
		return "", fmt.Errorf("audit: look for entries that stand twice: %w", err)
	}
	return record, nil
}

// explain lists what supports a good result, and what it does not cover.
func (s *Live) explain(v *verification, extent Extent, last proof) {
	r := &v.res
	switch {
	case v.from > 0 && extent == SinceProved:
		v.unproved("the first %d entries and their records were not read again: they were proved up to entry %d on %s (without --continue they are)", v.from, last.Size, ago(last.Time))
	case v.from > 0:
		v.unproved("the first %d entries and their records were not read: their tree has the root that the checkpoint says", v.from)
	}
	v.proved("%d entries were written by this server, are unchanged and in their order (keyed digests and tree under the master key)", r.Entries)
	v.proved("%d checkpoints are signed, chained and complete; %d are time-stamped", r.Checkpoints, r.Stamped)
	if len(s.Books) > 0 {
		v.proved("%d records have their events, and no event is without its record", r.Records)
	}
	for _, w := range r.Witnesses {
		switch {
		case !w.Configured:
			v.unproved("%s: not configured", w.Name)
		case w.Problem != "":
			v.unproved("%s: it cannot be asked: %s", w.Name, w.Problem)
		case w.Checkpoints == 0:
			v.unproved("%s: it holds no checkpoint: a database that was put back whole would not be noticed by it", w.Name)
		default:
			v.proved("the log was not put back before entry %d: %s, checkpoint of %s", w.Size, w.Name, when(w.Time))
			if n := r.Entries - w.Size; n > 0 {
				v.unproved("%s: the last %d entries are newer than its last checkpoint", w.Name, n)
			}
		}
		if w.Unreadable > 0 {
			v.unproved("%s: %d lines or objects cannot be read (torn by a power cut, or changed)", w.Name, w.Unreadable)
		}
	}
	if !slices.ContainsFunc(r.Witnesses, func(w *Witness) bool { return w.Stamped > 0 }) {
		v.unproved("time-stamps of an outside authority: none")
	}
	if r.Pending > 0 {
		v.unproved("%d entries are written and wait for their place", r.Pending)
	}
	v.explain()
}

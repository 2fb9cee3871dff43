package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

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
}

// Verify verifies the log. The error means that no result could be had.
func (s *Live) Verify(ctx context.Context) (*Result, error) {
	witnesses, err := Witnesses(ctx, s.File, s.Bucket)
	if err != nil {
		return nil, err
	}
	var v *verification
	err = s.Log.db.View(ctx, func(q store.Querier) error {
		points, err := checkpoints(ctx, q)
		if err != nil {
			return err
		}
		v = newVerification(s.Public, points, s.Check)
		v.res.Witnesses, v.judge = witnesses, s.judge(v)
		if err := s.verify(ctx, q, v); err != nil {
			return err
		}
		if v.res.Bad == nil {
			s.tell(v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &v.res, nil
}

func (s *Live) verify(ctx context.Context, q store.Querier, v *verification) error {
	h, err := s.Log.scanHead(q.QueryRow(ctx, readHead))
	changed := errors.Is(err, errHead) || errors.Is(err, store.ErrNoRows)
	if err != nil && !changed {
		return err
	}
	v.begin()
	if err := s.entries(ctx, q, v); err != nil || v.res.Bad != nil {
		return err
	}
	if err := s.pending(ctx, q, v); err != nil || v.res.Bad != nil {
		return err
	}
	there := func(id string) (bool, error) {
		var n int64
		err := q.QueryRow(ctx, `select count(*) from audit_events where id = $1`, id).Scan(&n)
		return n > 0, err
	}
	if err := v.end(there); err != nil || v.res.Bad != nil {
		return err
	}
	if changed {
		v.bad(-1, nil, "the head of the log was not written by this server")
		return nil
	}
	if err := s.head(ctx, q, v, h); err != nil || v.res.Bad != nil {
		return err
	}
	return s.records(ctx, q, v)
}

// judge says what is wrong with an entry that has, or wants, a place.
func (s *Live) judge(v *verification) func(e *Entry, at int64) string {
	return func(e *Entry, at int64) string {
		switch {
		case !s.Log.authentic(e) || e.Seq >= 0 && e.n >= 0:
			return "it is not the entry that was written"
		case e.base > at:
			return fmt.Sprintf("when it was written there were %d entries before it: some were removed, or the log was put back", e.base)
		case v.heldBack(e, at):
			return fmt.Sprintf("it was held back: it was written when the log had %d entries", e.base)
		}
		return ""
	}
}

// page is how many entries are in memory at once; with revocation data one may
// have megabytes.
const page = 200

// entries reads the tree, in pages, so that a long log needs no memory.
func (s *Live) entries(ctx context.Context, q store.Querier, v *verification) error {
	for v.res.Bad == nil {
		list, err := entries(ctx, q, selectEntry+`where seq >= $1 order by seq limit $2`, v.tree.size, page)
		if err != nil || len(list) == 0 {
			return err
		}
		hashes, err := s.hashes(ctx, q, v.tree.size, list[len(list)-1].Seq+1)
		if err != nil {
			return err
		}
		for _, e := range list {
			at := v.tree.size
			fresh := v.entry(e)
			place := tlog.StoredHashIndex(0, at)
			for level, h := range fresh {
				if level >= storedLevel && !bytes.Equal(hashes[place+int64(level)], h[:]) {
					v.bad(at, e, "it is not the entry that was written in this place, or a hash was changed")
				}
			}
			if v.res.Bad != nil {
				return nil
			}
		}
		if err := s.known(ctx, q, v, list); err != nil {
			return err
		}
	}
	return nil
}

// hashes are the stored hashes that leaves have added.
func (s *Live) hashes(ctx context.Context, q store.Querier, from, to int64) (map[int64][]byte, error) {
	rows, err := q.Query(ctx, `select position, hash from audit_hashes where position >= $1 and position < $2`, tlog.StoredHashIndex(0, from), tlog.StoredHashIndex(0, min(to, from+page)))
	all := map[int64][]byte{}
	return all, store.Each("audit: read hashes", rows, err, func(r store.Row) error {
		var at int64
		var h []byte
		err := r.Scan(&at, &h)
		all[at] = h
		return err
	})
}

// pending looks at entries without a place. On SQLite there are none.
func (s *Live) pending(ctx context.Context, q store.Querier, v *verification) error {
	list, err := entries(ctx, q, selectEntry+`where seq is null or seq < 0 order by n limit 100000`)
	if err != nil {
		return err
	}
	for _, e := range list {
		v.res.Pending++
		why := v.judge(e, v.tree.size)
		if e.Payload != nil && !bytes.Equal(digest(e.Salt, e.Payload), e.Digest) {
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

// head holds what was computed against the head, and looks for what is beside
// the tree.
func (s *Live) head(ctx context.Context, q store.Querier, v *verification, h *head) error {
	var hashes int64
	if err := q.QueryRow(ctx, `select count(*) from audit_hashes`).Scan(&hashes); err != nil {
		return fmt.Errorf("audit: count hashes: %w", err)
	}
	var twice string
	err := q.QueryRow(ctx, `select id from audit_events group by id having count(*) > 1 limit 1`).Scan(&twice)
	if err != nil && !errors.Is(err, store.ErrNoRows) {
		return fmt.Errorf("audit: look for entries that stand twice: %w", err)
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
		v.bad(-1, nil, "entry %s stands twice in the log", twice)
	}
	return nil
}

// tell says what a good result stands on, and what it does not reach.
func (s *Live) tell(v *verification) {
	r := &v.res
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
	v.tell()
}

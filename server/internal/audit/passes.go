package audit

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/server/internal/store"
)

// readers are the views of one state of the database that a verification has:
// the first for what is done in order, the others for what can be done at once.
type readers struct {
	first  store.Querier
	others []store.Querier // the first one alone, where there is no more
	turns  sync.Mutex
	texts  *dictionaryCache // what the database has, whatever the process remembers
}

// inTurn serialises fn where there is only one reader; otherwise it runs at once.
func (r *readers) inTurn(fn func()) {
	if r.others[0] == r.first {
		r.turns.Lock()
		defer r.turns.Unlock()
	}
	fn()
}

// free are the readers for what can be done at once.
func (r *readers) free() chan store.Querier {
	free := make(chan store.Querier, len(r.others))
	for _, q := range r.others {
		free <- q
	}
	return free
}

func (r *readers) page(ctx context.Context, b Book, after string, limit int) (list []Record, err error) {
	r.inTurn(func() { list, err = b.Page(ctx, r.first, after, limit) })
	return list, err
}

// page is how many entries are in memory at once for each reader; with
// revocation data one may have megabytes.
const page = 200

// part is a page of the tree, with what can be said of its entries alone.
type part struct {
	from   int64
	list   []*Entry // of the rows that begin on it
	hashes map[int64][]byte
	err    error
}

// entries reads the tree from the verification's position, in pages, so that a long log needs
// little memory. All readers read pages and compute digests and leaves in parallel; the tree is
// built in order.
func (s *Live) entries(ctx context.Context, r *readers, v *verification) error {
	var last int64
	if err := r.first.QueryRow(ctx, `select coalesce(max(seq), -1) from audit_events where seq is not null`).Scan(&last); err != nil {
		return fmt.Errorf("audit: read entries: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for p := range s.parts(ctx, r, &all, v.tree.size, last) {
		got := <-p
		err := got.err
		if err == nil {
			r.inTurn(func() { err = s.appendPage(ctx, r.first, v, got) })
		}
		if err != nil || v.res.Bad != nil {
			return err
		}
	}
	return ctx.Err()
}

// parts has the pages between two places read, and gives them in order.
func (s *Live) parts(ctx context.Context, r *readers, all *sync.WaitGroup, from, last int64) <-chan chan part {
	order, free := make(chan chan part, 2*len(r.others)), r.free()
	all.Go(func() {
		defer close(order)
		for at := from; at <= last; at += page {
			var q store.Querier
			select {
			case <-ctx.Done():
				return
			case q = <-free:
			}
			out := make(chan part, 1)
			all.Go(func() {
				r.inTurn(func() { out <- s.read(ctx, r.texts, q, at) })
				free <- q
			})
			select {
			case <-ctx.Done():
				return
			case order <- out:
			}
		}
	})
	return order
}

// read reads the rows that begin on one page, and looks at each.
func (s *Live) read(ctx context.Context, texts *dictionaryCache, q store.Querier, from int64) part {
	p := part{from: from}
	if p.list, p.err = texts.entries(ctx, q, selectRow+`where seq >= $1 and seq < $2 order by seq`, from, from+page); p.err != nil {
		return p
	}
	for _, e := range p.list {
		_, _ = s.Log.authentic(e.row), e.intact() // remembered
	}
	p.hashes, p.err = s.hashes(ctx, q, from, from+page+mostTogether)
	return p
}

// appendPage puts a page behind the tree.
func (s *Live) appendPage(ctx context.Context, q store.Querier, v *verification, p part) error {
	for _, e := range p.list {
		at := v.tree.size
		for level, h := range v.entry(e) {
			if level >= storedLevel && !bytes.Equal(p.hashes[tlog.StoredHashIndex(0, at)+int64(level)], h[:]) {
				v.bad(at, e, "it is not the entry that was written in this place, or a hash was changed")
			}
		}
		if v.res.Bad != nil {
			return v.trouble
		}
	}
	if v.tree.size < p.from+page {
		var next int64
		err := q.QueryRow(ctx, `select coalesce(min(seq), -1) from audit_events where seq >= $1`, v.tree.size).Scan(&next)
		if err != nil {
			return fmt.Errorf("audit: read entries: %w", err)
		}
		if next >= 0 {
			v.bad(v.tree.size, nil, "is missing (the next one found is %d)", next)
			return nil
		}
	}
	return s.known(ctx, q, v, p.list)
}

// hashes are the stored hashes that leaves have added.
func (s *Live) hashes(ctx context.Context, q store.Querier, from, to int64) (map[int64][]byte, error) {
	rows, err := q.Query(ctx, `select position, hash from audit_hashes where position >= $1 and position < $2`, tlog.StoredHashIndex(0, from), tlog.StoredHashIndex(0, to))
	all := map[int64][]byte{}
	return all, store.Each("audit: read hashes", rows, err, func(r store.Row) error {
		var at int64
		var h []byte
		err := r.Scan(&at, &h)
		all[at] = h
		return err
	})
}

// records compares every record of every book with its events: pages of records are read in
// order and checked by all readers in parallel.
func (s *Live) records(ctx context.Context, r *readers, v *verification) error {
	free := r.free()
	var all sync.WaitGroup
	var mu sync.Mutex
	var first *misfit
	failed := func() bool { mu.Lock(); defer mu.Unlock(); return first != nil }
	n := 0
	judge := func(list []Record) {
		order, q := n, <-free
		n++
		all.Go(func() {
			defer func() { free <- q }()
			var what string
			var err error
			r.inTurn(func() { what, err = s.fit(ctx, q, list) })
			mu.Lock()
			defer mu.Unlock()
			v.res.Records += int64(len(list))
			if (what != "" || err != nil) && (first == nil || order < first.order) {
				first = &misfit{order, what, err}
			}
		})
	}
	err := s.pages(ctx, r, v, func(list []Record) bool { judge(list); return !failed() })
	all.Wait()
	if first != nil {
		if err == nil {
			err = first.err
		}
		if first.what != "" {
			v.bad(-1, nil, "%s", first.what)
		}
	}
	return err
}

// misfit is what is wrong with a record on a page, or why that cannot be said.
type misfit struct {
	order int
	what  string
	err   error
}

// pages gives the records that are to be judged: all, or those that the entries
// which were read tell of.
func (s *Live) pages(ctx context.Context, r *readers, v *verification, judge func([]Record) bool) error {
	for _, b := range s.Books {
		if v.from > 0 {
			if err := touched(ctx, r, b, v.touched, judge); err != nil {
				return err
			}
			continue
		}
		for after := ""; ; {
			list, err := r.page(ctx, b, after, 200)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			after = list[len(list)-1].ID
			if !judge(list) {
				return nil
			}
		}
	}
	return nil
}

// touched returns the records of a book among some ids. Those of new entries are mostly new
// themselves, and adjacent.
func touched(ctx context.Context, r *readers, b Book, ids map[string]bool, judge func([]Record) bool) error {
	sorted := slices.Sorted(maps.Keys(ids))
	for i := 0; i < len(sorted); {
		id := sorted[i]
		if id == "" {
			i++
			continue
		}
		list, err := r.page(ctx, b, id[:len(id)-1], 50) // of which at most 16 are before it
		if err != nil || len(list) == 0 {
			return err
		}
		last := max(id, list[len(list)-1].ID)
		list = slices.DeleteFunc(list, func(one Record) bool { return !ids[one.ID] })
		if len(list) > 0 && !judge(list) {
			return nil
		}
		for i < len(sorted) && sorted[i] <= last {
			i++
		}
	}
	return nil
}

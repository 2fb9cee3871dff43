package audit

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/server/internal/store"
)

const sequenceBatch = 500

// Sequence makes pending events leaves of the tree, and says how many. On
// SQLite there are none: Append has done it.
func (l *Log) Sequence(ctx context.Context) (int, error) {
	total := 0
	for {
		n := 0
		err := l.db.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = sequence(ctx, tx, sequenceBatch)
			return err
		})
		total += n
		if err != nil || n < sequenceBatch {
			return total, err
		}
	}
}

// sequence takes the head row first: whoever else sequences waits for it.
func sequence(ctx context.Context, tx *store.Tx, limit int) (int, error) {
	var size int64
	if err := tx.QueryRow(ctx, `update audit_head set size = size where id = 1 returning size`).Scan(&size); err != nil {
		return 0, fmt.Errorf("audit: tree head: %w", err)
	}
	pending, err := entries(ctx, tx, selectEntry+`where seq is null order by n limit $1`, limit)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	t := &growing{ctx: ctx, tx: tx, fresh: map[int64]tlog.Hash{}}
	for _, e := range pending {
		if err := t.add(size, e); err != nil {
			return 0, err
		}
		n, err := tx.Exec(ctx, `update audit_events set seq = $1 where id = $2 and seq is null`, size, e.ID)
		if err != nil || n != 1 {
			return 0, fmt.Errorf("audit: number entry: %d rows: %w", n, err)
		}
		size++
	}
	if err := t.store(); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `update audit_head set size = $1 where id = 1`, size); err != nil {
		return 0, fmt.Errorf("audit: tree head: %w", err)
	}
	return len(pending), nil
}

// growing is the tree while leaves are added to it.
type growing struct {
	ctx   context.Context
	tx    *store.Tx
	fresh map[int64]tlog.Hash
	rows  []any // positions and hashes to be written
}

func (t *growing) add(at int64, e *Entry) error {
	hashes, err := tlog.StoredHashes(at, e.leaf(), tlog.HashReaderFunc(t.read))
	if err != nil {
		return fmt.Errorf("audit: grow tree: %w", err)
	}
	place := tlog.StoredHashIndex(0, at)
	for i, h := range hashes {
		t.fresh[place+int64(i)] = h
		t.rows = append(t.rows, place+int64(i), h[:])
	}
	return nil
}

// store writes the new hashes.
func (t *growing) store() error {
	for len(t.rows) > 0 {
		part := t.rows[:min(len(t.rows), 400)]
		t.rows = t.rows[len(part):]
		_, err := t.tx.Exec(t.ctx, `insert into audit_hashes (position, hash) values `+rowsOf(len(part)/2, 2), part...)
		if err != nil {
			return fmt.Errorf("audit: store hashes: %w", err)
		}
	}
	return nil
}

// grow gives new entries their places at once, before they are written: on
// SQLite there is one writer, and nothing is ever pending.
func grow(ctx context.Context, tx *store.Tx, list []*Entry) error {
	var size int64
	err := tx.QueryRow(ctx, `update audit_head set size = size + $1 where id = 1 returning size`, len(list)).Scan(&size)
	if err != nil {
		return fmt.Errorf("audit: tree head: %w", err)
	}
	t := &growing{ctx: ctx, tx: tx, fresh: map[int64]tlog.Hash{}}
	for i, e := range list {
		e.Seq = size - int64(len(list)) + int64(i)
		if err := t.add(e.Seq, e); err != nil {
			return err
		}
	}
	return t.store()
}

func (t *growing) read(at []int64) ([]tlog.Hash, error) {
	return readHashes(t.ctx, t.tx, at, t.fresh)
}

func readHashes(ctx context.Context, q store.Querier, at []int64, known map[int64]tlog.Hash) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, p := range at {
		if h, ok := known[p]; ok {
			out[i] = h
			continue
		}
		var b []byte
		if err := q.QueryRow(ctx, `select hash from audit_hashes where position = $1`, p).Scan(&b); err != nil {
			return nil, fmt.Errorf("audit: hash %d: %w", p, err)
		}
		if len(b) != tlog.HashSize {
			return nil, fmt.Errorf("audit: hash %d has %d bytes", p, len(b))
		}
		out[i] = tlog.Hash(b)
	}
	return out, nil
}

// Size is the number of leaves, and Root the hash over them.
func (l *Log) root(ctx context.Context) (size int64, root tlog.Hash, err error) {
	q := l.db.Read()
	if err := q.QueryRow(ctx, `select size from audit_head where id = 1`).Scan(&size); err != nil {
		return 0, root, fmt.Errorf("audit: tree head: %w", err)
	}
	if size == 0 {
		return 0, root, nil
	}
	root, err = tlog.TreeHash(size, tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		return readHashes(ctx, q, at, nil)
	}))
	return size, root, err
}

// Proof is the inclusion proof (RFC 6962) of an entry in the tree of a size.
func (l *Log) Proof(ctx context.Context, seq, size int64) (tlog.RecordProof, error) {
	return tlog.ProveRecord(size, seq, tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		return readHashes(ctx, l.db.Read(), at, nil)
	}))
}

// roots computes the tree from its leaves alone, without the stored hashes: a
// stack of perfect subtrees, the largest first.
type roots struct {
	size  int64
	stack []tlog.Hash
}

func (r *roots) add(leaf tlog.Hash) {
	h := leaf
	for n := r.size; n&1 == 1; n >>= 1 {
		h = tlog.NodeHash(r.stack[len(r.stack)-1], h)
		r.stack = r.stack[:len(r.stack)-1]
	}
	r.stack = append(r.stack, h)
	r.size++
}

func (r *roots) root() tlog.Hash {
	if len(r.stack) == 0 {
		return tlog.Hash{}
	}
	h := r.stack[len(r.stack)-1]
	for i := len(r.stack) - 2; i >= 0; i-- {
		h = tlog.NodeHash(r.stack[i], h)
	}
	return h
}

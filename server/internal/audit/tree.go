package audit

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

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
	t, err := openTree(ctx, tx, `update audit_head set size = size where id = 1 returning size, edge`)
	if err != nil {
		return 0, err
	}
	pending, err := entries(ctx, tx, selectEntry+`where seq is null order by n limit $1`, limit)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	for _, e := range pending {
		e.Seq = t.size
		t.append(e)
	}
	for part := range slices.Chunk(pending, 100) {
		if err := number(ctx, tx, part); err != nil {
			return 0, err
		}
	}
	return len(pending), t.store()
}

// number writes the places of entries that were written before.
func number(ctx context.Context, tx *store.Tx, list []*Entry) error {
	var places strings.Builder
	args := make([]any, 0, 2*len(list))
	for i, e := range list {
		if i > 0 {
			places.WriteString(", ")
		}
		fmt.Fprintf(&places, "(cast($%d as bigint), cast($%d as bigint))", 2*i+1, 2*i+2)
		args = append(args, e.n, e.Seq)
	}
	// VALUES, and no UNION: from that PostgreSQL loses rows that somebody erases
	// at the same time.
	n, err := tx.Exec(ctx, `update audit_events set seq = p.column2 from (values `+places.String()+`) p where audit_events.n = p.column1 and audit_events.seq is null`, args...)
	if err == nil && n != int64(len(list)) {
		err = fmt.Errorf("%d rows of %d", n, len(list))
	}
	if err != nil {
		return fmt.Errorf("audit: number entries: %w", err)
	}
	return nil
}

// grow gives new entries their places at once, before they are written: on
// SQLite there is one writer, and nothing is ever pending.
func grow(ctx context.Context, tx *store.Tx, list []*Entry) error {
	t, err := openTree(ctx, tx, `select size, edge from audit_head where id = 1`)
	if err != nil {
		return err
	}
	for _, e := range list {
		e.Seq = t.size
		t.append(e)
	}
	return t.store()
}

// growing is the tree while leaves are added to it.
type growing struct {
	roots
	ctx  context.Context
	tx   *store.Tx
	rows []any // positions and hashes to be written
}

// openTree reads the size and the right edge with a query.
func openTree(ctx context.Context, tx *store.Tx, query string) (*growing, error) {
	t := &growing{ctx: ctx, tx: tx}
	var edge []byte
	if err := tx.QueryRow(ctx, query).Scan(&t.size, &edge); err != nil {
		return nil, fmt.Errorf("audit: tree head: %w", err)
	}
	if len(edge) != bits.OnesCount64(uint64(t.size))*tlog.HashSize {
		return nil, fmt.Errorf("audit: tree head: an edge of %d bytes for %d entries", len(edge), t.size)
	}
	for ; len(edge) > 0; edge = edge[tlog.HashSize:] {
		t.stack = append(t.stack, tlog.Hash(edge[:tlog.HashSize]))
	}
	return t, nil
}

func (t *growing) append(e *Entry) {
	place := tlog.StoredHashIndex(0, t.size)
	for i, h := range t.add(tlog.RecordHash(e.leaf())) {
		t.rows = append(t.rows, place+int64(i), bytes.Clone(h[:]))
	}
}

// store writes the new hashes and the new head.
func (t *growing) store() error {
	for len(t.rows) > 0 {
		part := t.rows[:min(len(t.rows), 400)]
		t.rows = t.rows[len(part):]
		_, err := t.tx.Exec(t.ctx, `insert into audit_hashes (position, hash) values `+rowsOf(len(part)/2, 2), part...)
		if err != nil {
			return fmt.Errorf("audit: store hashes: %w", err)
		}
	}
	edge := make([]byte, 0, len(t.stack)*tlog.HashSize)
	for _, h := range t.stack {
		edge = append(edge, h[:]...)
	}
	if _, err := t.tx.Exec(t.ctx, `update audit_head set size = $1, edge = $2 where id = 1`, t.size, edge); err != nil {
		return fmt.Errorf("audit: tree head: %w", err)
	}
	return nil
}

func readHashes(ctx context.Context, q store.Querier, at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, p := range at {
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
		return readHashes(ctx, q, at)
	}))
	return size, root, err
}

// Proof is the inclusion proof (RFC 6962) of an entry in the tree of a size.
func (l *Log) Proof(ctx context.Context, seq, size int64) (tlog.RecordProof, error) {
	return tlog.ProveRecord(size, seq, tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		return readHashes(ctx, l.db.Read(), at)
	}))
}

// roots are what is needed of a tree to add leaves to it: a stack of perfect
// subtrees, the largest first.
type roots struct {
	size  int64
	stack []tlog.Hash
}

// add adds a leaf and returns the hashes that are new: its own, and one for each
// subtree that it completes.
func (r *roots) add(leaf tlog.Hash) []tlog.Hash {
	fresh := []tlog.Hash{leaf}
	h := leaf
	for n := r.size; n&1 == 1; n >>= 1 {
		h = tlog.NodeHash(r.stack[len(r.stack)-1], h)
		r.stack = r.stack[:len(r.stack)-1]
		fresh = append(fresh, h)
	}
	r.stack = append(r.stack, h)
	r.size++
	return fresh
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

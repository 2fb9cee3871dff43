package audit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/server/internal/store"
)

const sequenceBatch = 500

// Sequence makes pending events leaves of the tree, and says how many. On
// SQLite there are none: Append has done it, and a row without a place was not
// written by us. A row whose keyed digest is wrong never gets a place.
func (l *Log) Sequence(ctx context.Context) (int, error) {
	if l.db.Dialect() == store.SQLite {
		return 0, nil
	}
	_, waits, err := l.readHead(ctx)
	if err != nil {
		return 0, err
	}
	return l.sequenceAll(ctx, waits.some())
}

func (l *Log) sequenceAll(ctx context.Context, more bool) (int, error) {
	total, after := 0, int64(-1)
	for more {
		placed := 0
		err := l.db.Write(ctx, func(tx *store.Tx) (err error) {
			placed, after, more, err = l.sequence(ctx, tx, after)
			return err
		})
		if err != nil {
			return total, err
		}
		total += placed
	}
	return total, l.findLost(ctx)
}

// waiting are the first and the last event that have no place yet, by the order of
// their arrival; 0 where there is none.
type waiting struct{ first, last int64 }

func (w waiting) some() bool { return w.first > 0 }

// readHead reads the head and what waits for a place. It does not lock: locking writes the
// head, and cost two durable commits a second on every idle server.
func (l *Log) readHead(ctx context.Context) (h *head, w waiting, err error) {
	query := readHead
	if l.db.Dialect() == store.PostgreSQL {
		query = `select ` + headColumns + `, coalesce((select min(n) from audit_events where seq is null), 0),
			coalesce((select max(n) from audit_events where seq is null), 0) from audit_head where id = 1`
	}
	row := l.db.Read().QueryRow(ctx, query)
	if l.db.Dialect() == store.PostgreSQL {
		row = beside{row, []any{&w.first, &w.last}}
	}
	if h, err = l.scanHead(row); err != nil {
		return nil, w, err
	}
	l.saw(h.size)
	return h, w, nil
}

// beside hides the columns of a row that a scanner does not know.
type beside struct {
	store.Row
	more []any
}

func (b beside) Scan(dest ...any) error { return b.Row.Scan(append(dest, b.more...)...) }

// sequence locks the head row first: other servers wait for it. A text that has
// its digests beside it is not read.
//
// It takes the first of what waits, not what follows those it took before: an
// event that is written in a long transaction arrives behind later ones, and what
// came of it must not have its place first. Only a batch of nothing but rows that
// this server did not write is passed over, since they never get one.
func (l *Log) sequence(ctx context.Context, tx *store.Tx, after int64) (placed int, passed int64, more bool, err error) {
	t, err := l.openTree(ctx, tx, lockHead)
	if err != nil {
		return 0, after, false, err
	}
	pending, err := dictionaries.rows(ctx, tx, withoutLongTexts+`where seq is null and n > $1 order by n limit $2`, after, sequenceBatch)
	if err != nil || len(pending) == 0 {
		return 0, after, false, err
	}
	last := pending[len(pending)-1].n
	more = len(pending) == sequenceBatch
	pending = slices.DeleteFunc(pending, func(r *row) bool { return !l.authentic(r) })
	if len(pending) == 0 {
		return 0, last, more, nil
	}
	for _, r := range pending {
		t.append(r)
		placed += len(r.entries)
	}
	tx.OnCommit(func() { l.saw(t.size); l.unseen.see(pending) })
	for part := range slices.Chunk(pending, 100) {
		if err := number(ctx, tx, part); err != nil {
			return 0, after, false, err
		}
	}
	return placed, after, more, t.store()
}

var withoutLongTexts = strings.Replace(selectRow, "payload", "case when digest = '' then payload end", 1)

// number writes the places of rows that were written before. From then on the
// order of arrival says nothing, and goes.
func number(ctx context.Context, tx *store.Tx, list []*row) error {
	var places strings.Builder
	args := make([]any, 0, 2*len(list))
	for i, r := range list {
		if i > 0 {
			places.WriteString(", ")
		}
		fmt.Fprintf(&places, "(cast($%d as bigint), cast($%d as bigint))", 2*i+1, 2*i+2)
		args = append(args, r.n, r.seq)
	}
	// VALUES, and no UNION: from that PostgreSQL loses rows that are erased
	// at the same time.
	n, err := tx.Exec(ctx, `update audit_events set seq = p.column2, n = null
		from (values `+places.String()+`) p where audit_events.n = p.column1 and audit_events.seq is null`, args...)
	if err == nil && n != int64(len(list)) {
		err = fmt.Errorf("%d rows of %d", n, len(list))
	}
	if err != nil {
		return fmt.Errorf("audit: number entries: %w", err)
	}
	return nil
}

// head is the row with the size of the tree, its right edge and the last checkpoint. It is
// authenticated under the master key: a tree that anybody else computed is not extended.
type head struct {
	roots
	checkpoint int64  // size of the last; -1: none
	last       []byte // digest of it
}

const (
	headColumns = `size, edge, checkpoint, last, mac`
	readHead    = `select ` + headColumns + ` from audit_head where id = 1`
	lockHead    = `update audit_head set size = size where id = 1 returning ` + headColumns
)

// errHead is about a head that this server did not write.
var errHead = errors.New("audit: the head of the log was changed by somebody else; rogito audit verify tells more")

func (l *Log) scanHead(row store.Row) (*head, error) {
	h := &head{}
	var edge, mac []byte
	if err := row.Scan(&h.size, &edge, &h.checkpoint, &h.last, &mac); err != nil {
		return nil, fmt.Errorf("audit: tree head: %w", err)
	}
	var ok bool
	if h.roots, ok = rootsOf(h.size, edge); !ok {
		return nil, errHead
	}
	if fresh := h.size == 0 && h.checkpoint < 0 && mac == nil; !fresh && !hmac.Equal(mac, l.headMAC(h)) {
		return nil, errHead
	}
	return h, nil
}

func (l *Log) headMAC(h *head) []byte {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, 1024), uint64(h.size)) // which says how long the edge is
	text = binary.BigEndian.AppendUint64(append(text, h.edge()...), uint64(h.checkpoint))
	sum := l.keyed.MAC("audit head", append(text, h.last...))
	return sum[:]
}

// storeHead writes the head, where writes share a commit once for all of them. It
// is not changed any more.
func (l *Log) storeHead(ctx context.Context, tx *store.Tx, h *head) error {
	return tx.Carry(h, func(tx *store.Tx) error {
		_, err := tx.Exec(context.WithoutCancel(ctx), `update audit_head set size = $1, edge = $2, checkpoint = $3, last = $4, mac = $5 where id = 1`,
			h.size, h.edge(), h.checkpoint, h.last, l.headMAC(h))
		if err != nil {
			return fmt.Errorf("audit: tree head: %w", err)
		}
		return nil
	})
}

// openHead is the head as this transaction may change it: that of the write before,
// where they share a commit, else the one that the query reads.
func (l *Log) openHead(ctx context.Context, tx *store.Tx, query string) (*head, error) {
	if h, ok := tx.Carried().(*head); ok {
		own := *h
		own.stack = slices.Clone(h.stack)
		return &own, nil
	}
	return l.scanHead(tx.QueryRow(ctx, query))
}

// growing is the tree while leaves are added to it.
type growing struct {
	*head
	log  *Log
	ctx  context.Context
	tx   *store.Tx
	rows []any // positions and hashes to be written
}

// openTree reads the head with a query.
func (l *Log) openTree(ctx context.Context, tx *store.Tx, query string) (*growing, error) {
	h, err := l.openHead(ctx, tx, query)
	if err != nil {
		return nil, err
	}
	return &growing{head: h, log: l, ctx: ctx, tx: tx}, nil
}

// storedLevel is the lowest level of the tree whose hashes are stored: what is
// below is computed from at most 255 entries. All levels were two rows an entry.
const storedLevel = 8

// append gives the events of a row their places.
func (t *growing) append(r *row) {
	r.seq = t.size
	for _, e := range r.entries {
		e.Seq = t.size
		place := tlog.StoredHashIndex(0, t.size)
		for level, h := range t.add(e.leaf()) {
			if level >= storedLevel {
				t.rows = append(t.rows, place+int64(level), bytes.Clone(h[:]))
			}
		}
	}
}

// storedHashes is how many hashes of a tree are stored.
func storedHashes(size int64) (n int64) {
	for blocks := size >> storedLevel; blocks > 0; blocks >>= 1 {
		n += blocks
	}
	return n
}

// store writes the new hashes and the new head.
func (t *growing) store() error {
	for len(t.rows) > 0 {
		part := t.rows[:min(len(t.rows), 400)]
		t.rows = t.rows[len(part):]
		_, err := t.tx.Exec(t.ctx, `insert into audit_hashes (position, hash) values `+store.Values(len(part)/2, 2), part...)
		if err != nil {
			return fmt.Errorf("audit: store hashes: %w", err)
		}
	}
	return t.log.storeHead(t.ctx, t.tx, t.head)
}

// readHash is a hash of the tree: one that is stored, or the fold of the entries
// below it.
func readHash(ctx context.Context, q store.Querier, position int64) (tlog.Hash, error) {
	level, n := tlog.SplitStoredHashIndex(position)
	if level < storedLevel {
		list, err := span(ctx, q, n<<level, (n+1)<<level)
		if err == nil && len(list) != 1<<level {
			err = fmt.Errorf("%d entries of %d", len(list), 1<<level)
		}
		if err != nil {
			return tlog.Hash{}, fmt.Errorf("audit: hash %d: %w", position, err)
		}
		var r roots
		for _, e := range list {
			r.add(e.leaf())
		}
		return r.root(), nil
	}
	var b []byte
	if err := q.QueryRow(ctx, `select hash from audit_hashes where position = $1`, position).Scan(&b); err != nil {
		return tlog.Hash{}, fmt.Errorf("audit: hash %d: %w", position, err)
	}
	if len(b) != tlog.HashSize {
		return tlog.Hash{}, fmt.Errorf("audit: hash %d has %d bytes", position, len(b))
	}
	return tlog.Hash(b), nil
}

func hashReader(ctx context.Context, q store.Querier) tlog.HashReader {
	return tlog.HashReaderFunc(func(at []int64) (out []tlog.Hash, err error) {
		out = make([]tlog.Hash, len(at))
		for i, p := range at {
			if out[i], err = readHash(ctx, q, p); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// extends says whether a tree goes on from a smaller one, by a consistency proof
// (RFC 6962, 2.1.2) over the stored hashes.
func extends(ctx context.Context, q store.Querier, size int64, root tlog.Hash, from int64, was tlog.Hash) error {
	switch {
	case from == 0:
		return nil
	case from > size:
		return fmt.Errorf("it has %d entries, and had %d", size, from)
	}
	proof, err := tlog.ProveTree(size, from, hashReader(ctx, q))
	if err == nil {
		err = tlog.CheckTree(proof, size, root, from, was)
	}
	return err
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

// edge is the stack as it is stored.
func (r *roots) edge() []byte {
	edge := make([]byte, 0, len(r.stack)*tlog.HashSize)
	for _, h := range r.stack {
		edge = append(edge, h[:]...)
	}
	return edge
}

// rootsOf is the inverse of edge.
func rootsOf(size int64, edge []byte) (r roots, ok bool) {
	if size < 0 || len(edge) != bits.OnesCount64(uint64(size))*tlog.HashSize {
		return r, false
	}
	r.size = size
	for ; len(edge) > 0; edge = edge[tlog.HashSize:] {
		r.stack = append(r.stack, tlog.Hash(edge[:tlog.HashSize]))
	}
	return r, true
}

func (r *roots) root() tlog.Hash {
	if len(r.stack) == 0 {
		return tlog.Hash(sha256.Sum256(nil)) // RFC 6962, 2.1
	}
	h := r.stack[len(r.stack)-1]
	for i := len(r.stack) - 2; i >= 0; i-- {
		h = tlog.NodeHash(r.stack[i], h)
	}
	return h
}

// Lag says how many events no checkpoint covers: those without a place in the
// tree, of which only PostgreSQL has any, and those after the last checkpoint.
func (l *Log) Lag(ctx context.Context) (int64, error) {
	var after, pending int64
	err := l.db.Read().QueryRow(ctx, `select size - case when checkpoint < 0 then 0 else checkpoint end from audit_head where id = 1`).Scan(&after)
	if err == nil && l.db.Dialect() != store.SQLite {
		err = l.db.Read().QueryRow(ctx, `select coalesce(sum(`+events+`), 0) from audit_events where seq is null`).Scan(&pending)
	}
	if err != nil {
		return 0, fmt.Errorf("audit: lag: %w", err)
	}
	return after + pending, nil
}

// Size is how many events have their place in the tree.
func (l *Log) Size(ctx context.Context) (size int64, err error) {
	if err = l.db.Read().QueryRow(ctx, `select size from audit_head where id = 1`).Scan(&size); err != nil {
		return 0, fmt.Errorf("audit: size: %w", err)
	}
	return size, nil
}

// Package audit keeps a log that shows when it was tampered with, by whoever
// may write to the database but has neither the master key nor the witness.
//
// Events are written in the transaction of what they report, so that nothing
// happens without its event. Each carries a keyed digest under the master key:
// a row that this server did not write is never taken for an event. They become
// leaves of a transparency-log tree (RFC 6962, golang.org/x/mod/sumdb/tlog): on
// SQLite in the same transaction, on PostgreSQL in batches shortly after, since
// one tree head would make all writers wait for one another. The head of the tree
// carries a keyed digest too, so that no other tree can be put in its place.
//
// An older state of the database is good in itself, digests and all. Therefore
// checkpoints of the tree (C2SP tlog-checkpoint) are signed, chained, time-stamped
// by RFC 3161 and witnessed outside the database: see witness.go.
//
// A leaf holds a salted digest of the event's payload. The payload can be
// erased (a person's right, the end of retention) and the log still verifies;
// an erasure is itself an event, and says how many payloads went.
//
// docs/audit.md says who can do what, and what can be proven.
package audit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// Event is something that happened to a record.
type Event struct {
	Account string
	Record  string
	Kind    string // "request", "input", "key-use", …
	Log     string // one line for people
	// Detail is what is needed to repeat the step technically; it is written
	// as JSON. It never holds a secret.
	Detail any
	// Recurring is what of the Detail is in many events; nil: nothing.
	Recurring *Recurring
}

// KindErased marks the erasure of a record's payloads.
const KindErased = "erased"

// Keyed makes keyed digests under a key that is not in the database.
type Keyed interface {
	MAC(purpose string, data []byte) [32]byte
}

// Log is the audit log of one database.
type Log struct {
	db     *store.DB
	keyed  Keyed
	now    func() time.Time
	known  atomic.Pointer[known]
	stored sync.Map // dictionaries that are in the database
	unseen unseen   // what this process wrote and has not seen in the tree yet
}

// known is the largest tree that a process has seen committed, and when it last
// looked.
type known struct {
	size int64
	at   time.Time
}

// New returns the log of a database. A nil clock is the system's.
func New(db *store.DB, keyed Keyed, now func() time.Time) *Log {
	if now == nil {
		now = time.Now
	}
	return &Log{db: db, keyed: keyed, now: now}
}

type payload struct {
	Log    string          `json:"log"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

// Append writes events in a transaction. When it fails, so must the
// transaction: nothing is done that is not written down. The error is fault
// 105.
func (l *Log) Append(ctx context.Context, tx *store.Tx, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	var tree *growing
	base, err := l.baseOf(ctx, tx)
	if err == nil && l.db.Dialect() == store.SQLite {
		tree, err = l.openTree(ctx, tx, readHead)
	}
	if err != nil {
		return unavailable(err)
	}
	if tree != nil {
		base = max(base, tree.size)
	}
	list, err := l.rows(ctx, tx, events, base)
	if err != nil {
		return unavailable(err)
	}
	if tree == nil {
		tx.OnCommit(func() { l.unseen.add(list, base) })
		return unavailable(insert(ctx, tx, list))
	}
	// On SQLite there is one writer: entries have their places before they are
	// written, and nothing is ever pending.
	for _, r := range list {
		tree.append(r)
	}
	tx.OnCommit(func() { l.saw(tree.size) })
	if err := tree.store(); err != nil {
		return unavailable(err)
	}
	return unavailable(insert(ctx, tx, list))
}

// baseOf is the size of the tree that the process knows of. On PostgreSQL it is read again
// after a minute without a look.
func (l *Log) baseOf(ctx context.Context, tx *store.Tx) (size int64, err error) {
	k := l.known.Load()
	if k != nil && (l.db.Dialect() == store.SQLite || time.Now().Round(0).Sub(k.at).Abs() < time.Minute) {
		return k.size, nil
	}
	if err := tx.QueryRow(ctx, `select size from audit_head where id = 1`).Scan(&size); err != nil {
		return 0, fmt.Errorf("audit: tree head: %w", err)
	}
	l.saw(size)
	return l.known.Load().size, nil
}

// saw remembers the largest tree that was committed.
func (l *Log) saw(size int64) {
	for {
		old := l.known.Load()
		k := &known{size: size, at: time.Now().Round(0)} // the wall clock: a machine may sleep
		if old != nil {
			k.size = max(size, old.size)
		}
		if l.known.CompareAndSwap(old, k) {
			return
		}
	}
}

func unavailable(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) || errors.Is(err, context.Canceled) {
		return err
	}
	f = fault.New(fault.Unavailable, "the audit log is not available").Because(err)
	f.RetryAfter = 5 * time.Second
	return f
}

// payload is put together by hand: the detail may be large, and to marshal it
// inside another value would have it read twice more.
func (e *Event) payload() ([]byte, error) {
	log, err := json.Marshal(e.Log)
	if err != nil {
		return nil, fmt.Errorf("audit: payload: %w", err)
	}
	text := append([]byte(`{"log":`), log...)
	if e.Detail != nil {
		detail, err := json.Marshal(e.Detail)
		if err != nil {
			return nil, fmt.Errorf("audit: detail: %w", err)
		}
		text = slices.Grow(text, len(detail)+16)
		text = append(append(text, `,"detail":`...), detail...)
	}
	return append(text, '}'), nil
}

func digest(salt, text []byte) []byte {
	h := sha256.New()
	h.Write(salt)
	h.Write(text)
	return h.Sum(nil)
}

// Entry is an event in the log. Its id and digest may follow from its text: leaf fills them in.
type Entry struct {
	ID        string          `json:"id"`
	Account   string          `json:"account"`
	Record    string          `json:"record"`
	Kind      string          `json:"kind"`
	CreatedAt int64           `json:"createdAt"` // milliseconds since 1970
	Salt      []byte          `json:"salt,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"` // nil once erased
	Digest    []byte          `json:"digest"`
	Seq       int64           `json:"seq"` // place in the tree; -1 when it has none yet

	row    *row      // nil in an export
	hash   tlog.Hash // of the leaf
	hashed bool
	looked bool // for whether the text is that of the digest
	whole  bool // it is, or is gone
}

// Text is the line for people and the technical detail; empty once erased.
func (e *Entry) Text() (log string, detail json.RawMessage) {
	var p payload
	if json.Unmarshal(e.Payload, &p) != nil {
		return "", nil
	}
	return p.Log, p.Detail
}

// leaf is the hash that the tree holds of an entry.
func (e *Entry) leaf() tlog.Hash {
	if !e.hashed {
		if e.Digest == nil {
			e.Digest, e.looked, e.whole = digest(e.Salt, e.Payload), true, true
		}
		if e.ID == "" {
			e.ID = hex.EncodeToString(e.Digest[:12]) // as unlike any other as the salt is
		}
		text := make([]byte, 0, 256)
		for _, part := range []string{"rogito-audit/1", e.ID, e.Account, e.Record, e.Kind, strconv.FormatInt(e.CreatedAt, 10)} {
			text = append(append(text, part...), '\n')
		}
		text = append(hex.AppendEncode(text, e.Digest), '\n')
		e.hash, e.hashed = tlog.RecordHash(text), true
	}
	return e.hash
}

// intact says that an entry has the text of its digest, or none any more.
func (e *Entry) intact() bool {
	if e.leaf(); !e.looked {
		e.looked, e.whole = true, e.Payload == nil || hmac.Equal(digest(e.Salt, e.Payload), e.Digest)
	}
	return e.whole
}

// written says that an entry that is there with its text is one that this server
// wrote.
func (l *Log) written(e *Entry) bool {
	return e.Payload != nil && e.intact() && l.authentic(e.row)
}

// Of returns the events of a record, in order.
func (l *Log) Of(ctx context.Context, record string) ([]*Entry, error) {
	all, err := dictionaries.entries(ctx, l.db.Read(), selectRow+`where record_id = $1 `+inOrder, record)
	for _, e := range all {
		e.leaf()
	}
	return all, err
}

// Told returns the events with some kinds, given as a condition, of one record or, if that is
// empty, of all, in order. Events that this server did not write are left out. The kinds must
// be among those in sought.
func (l *Log) Told(ctx context.Context, q store.Querier, record, condition string) ([]*Entry, error) {
	var args []any
	if record != "" {
		condition, args = `record_id = $1 and `+condition, []any{record}
	}
	all, err := dictionaries.entries(ctx, q, selectRow+`where `+condition+` `+inOrder, args...)
	return slices.DeleteFunc(all, func(e *Entry) bool { return !l.written(e) }), err
}

// OfKind returns the events of a kind that records have, in order. The kind is
// one of those that are sought.
func OfKind(ctx context.Context, q store.Querier, kind string, records []any) (map[string][]*Entry, error) {
	list, err := dictionaries.entries(ctx, q, selectRow+`where record_id`+store.In(len(records))+` and kind = '`+kind+`' `+inOrder, records...)
	of := map[string][]*Entry{}
	for _, e := range list {
		of[e.Record] = append(of[e.Record], e)
	}
	return of, err
}

// Before says that an event is ahead of another in the log.
func (e *Entry) Before(other *Entry) bool {
	switch {
	case e.Seq >= 0 && other.Seq >= 0:
		return e.Seq < other.Seq
	case e.Seq < 0 && other.Seq < 0:
		return e.row.n < other.row.n
	}
	return e.Seq >= 0
}

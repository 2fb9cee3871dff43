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
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
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
	list := make([]*Entry, len(events))
	for i, e := range events {
		if list[i], err = l.entry(ctx, tx, e, base); err != nil {
			return unavailable(err)
		}
	}
	if tree == nil {
		tx.OnCommit(func() { l.unseen.add(list, base) })
		return unavailable(insert(ctx, tx, list))
	}
	// On SQLite there is one writer: entries have their places before they are
	// written, and nothing is ever pending.
	for _, e := range list {
		tree.append(e)
	}
	tx.OnCommit(func() { l.saw(tree.size) })
	if err := tree.store(); err != nil {
		return unavailable(err)
	}
	return unavailable(insert(ctx, tx, list))
}

// baseOf is the size of the tree that the process knows of. On PostgreSQL it is
// read again when nobody has looked for a minute.
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

// entry is an event as it will stand in the log, without a place yet.
func (l *Log) entry(ctx context.Context, tx *store.Tx, e Event, base int64) (*Entry, error) {
	text, err := e.payload()
	if err != nil {
		return nil, err
	}
	id, dictionary, err := l.dictionary(ctx, tx, e.Recurring)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt)
	entry := &Entry{
		ID: store.NewID(), Account: e.Account, Record: e.Record, Kind: e.Kind, CreatedAt: store.Millis(l.now()),
		Salt: salt, Payload: pack(text, id, dictionary), Digest: digest(salt, text), Seq: -1, base: base,
	}
	entry.mac = l.macOf(entry)
	return entry, nil
}

// macOf authenticates an entry: it was written by a server with the master key,
// when the tree had so many leaves.
func (l *Log) macOf(e *Entry) []byte {
	leaf := e.leaf()
	sum := l.keyed.MAC("audit event", binary.BigEndian.AppendUint64(leaf[:], uint64(e.base)))
	return sum[:]
}

func (l *Log) authentic(e *Entry) bool { return hmac.Equal(e.mac, l.macOf(e)) }

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

// insert writes entries in one statement.
func insert(ctx context.Context, tx *store.Tx, list []*Entry) error {
	for len(list) > 0 {
		part := list[:min(len(list), 100)]
		list = list[len(part):]
		args := make([]any, 0, 11*len(part))
		for _, e := range part {
			var seq any
			if e.Seq >= 0 {
				seq = e.Seq
			}
			args = append(args, e.ID, e.Account, e.Record, e.Kind, e.CreatedAt, e.Salt, []byte(e.Payload), e.Digest, e.base, e.mac, seq)
		}
		err := tx.LaterOr(ctx, unwritten, `insert into audit_events (id, account_id, record_id, kind, created_at, salt, payload, digest, base, mac, seq) values `+store.Values(len(part), 11), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

func unwritten(err error) error { return unavailable(fmt.Errorf("audit: append: %w", err)) }

func digest(salt, text []byte) []byte {
	h := sha256.New()
	h.Write(salt)
	h.Write(text)
	return h.Sum(nil)
}

// Entry is an event as it stands in the log.
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

	n    int64  // order of arrival, until it has a place; -1 then
	base int64  // size of the tree that its writer knew of
	mac  []byte // of leaf and base, under the master key

	hash   tlog.Hash // of the leaf
	hashed bool

	looked, genuine, whole bool // what look found
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
		text := make([]byte, 0, 256)
		for _, part := range []string{"rogito-audit/1", e.ID, e.Account, e.Record, e.Kind, strconv.FormatInt(e.CreatedAt, 10)} {
			text = append(append(text, part...), '\n')
		}
		text = append(hex.AppendEncode(text, e.Digest), '\n')
		e.hash, e.hashed = tlog.RecordHash(text), true
	}
	return e.hash
}

const selectEntry = `select id, account_id, record_id, kind, created_at, salt, payload, digest, coalesce(seq, -1), coalesce(n, -1), base, mac from audit_events `

// inOrder is the order of the tree, and behind it that of arrival.
const inOrder = `order by coalesce(seq, 9223372036854775807), n`

func scanEntry(row store.Row) (*Entry, error) {
	e := &Entry{}
	var payload []byte
	err := row.Scan(&e.ID, &e.Account, &e.Record, &e.Kind, &e.CreatedAt, &e.Salt, &payload, &e.Digest, &e.Seq, &e.n, &e.base, &e.mac)
	if err != nil {
		return nil, fmt.Errorf("audit: read entry: %w", err)
	}
	if len(payload) > 0 {
		e.Payload = payload
	}
	return e, nil
}

// scanWord reads an entry whose text has no dictionary of its own.
func scanWord(row store.Row) (*Entry, error) {
	e, err := scanEntry(row)
	if err != nil {
		return nil, err
	}
	if id, difference, ok := split(e.Payload); ok {
		d := dictionaries.get(dictionaryID{})
		if d == nil {
			d = dictionaries.add(dictionaryID{}, nil)
		}
		if id != (dictionaryID{}) {
			d = nil
		}
		e.unpackWith(d, difference)
	}
	return e, nil
}

// Of returns the events of a record, in order.
func (l *Log) Of(ctx context.Context, record string) ([]*Entry, error) {
	return entries(ctx, l.db.Read(), selectEntry+`where record_id = $1 `+inOrder, record)
}

// Told returns the events that fit a condition on their kind, of one record or,
// where that is empty, of all, in order. One that this server did not write is
// not among them.
func (l *Log) Told(ctx context.Context, q store.Querier, record, condition string) ([]*Entry, error) {
	var args []any
	if record != "" {
		condition, args = `record_id = $1 and `+condition, []any{record}
	}
	all, err := entries(ctx, q, selectEntry+`where `+condition+` `+inOrder, args...)
	return slices.DeleteFunc(all, func(e *Entry) bool { return !l.authentic(e) || !bytes.Equal(digest(e.Salt, e.Payload), e.Digest) }), err
}

// errForged says that an event is not one that this server wrote.
var errForged = errors.New("audit: an event is not the one that was written")

// Last has the last event of a kind that a credential has judged, inside a
// transaction, with what the transaction asks next; nil where there is none. The
// kinds are those of the index audit_events_credential.
func (l *Log) Last(ctx context.Context, tx *store.Tx, record, kind string, judge func(*Entry) error) error {
	return tx.Ask(ctx, func(row store.Row) error {
		e, err := scanWord(row)
		switch {
		case errors.Is(err, store.ErrNoRows):
			return judge(nil)
		case err != nil:
			return unavailable(fmt.Errorf("audit: read: %w", err))
		case !l.authentic(e) || !hmac.Equal(digest(e.Salt, e.Payload), e.Digest):
			return unavailable(fmt.Errorf("%w: %s", errForged, e.ID))
		}
		return judge(e)
		// What has no place yet is newer than the rest; a null is the largest on
		// PostgreSQL, and there is none on SQLite.
	}, selectEntry+`where record_id = $1 and kind = $2 and kind in ('certificate-key', 'certificate-code') order by seq desc, n desc limit 1`, record, kind)
}

// OfKind returns the events of a kind that records have, in order.
func OfKind(ctx context.Context, q store.Querier, kind string, records []any) (map[string][]*Entry, error) {
	list, err := entries(ctx, q, selectEntry+`where record_id`+store.In(len(records))+` and kind = '`+kind+`' `+inOrder, records...)
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
		return e.n < other.n
	}
	return e.Seq >= 0
}

func entries(ctx context.Context, q store.Querier, query string, args ...any) ([]*Entry, error) {
	return dictionaries.entries(ctx, q, query, args...)
}

func (c *dictionaryCache) entries(ctx context.Context, q store.Querier, query string, args ...any) ([]*Entry, error) {
	rows, err := q.Query(ctx, query, args...)
	all, err := store.All("audit: read entries", rows, err, scanEntry)
	if err != nil {
		return nil, err
	}
	return all, c.unpack(ctx, q, all)
}

// erasure is the detail of the event of an erasure.
type erasure struct {
	Events int64 `json:"events"` // whose payload went
}

// Erase removes the payloads of a record and says so in the log.
func (l *Log) Erase(ctx context.Context, tx *store.Tx, account, record, why string) error {
	n, err := tx.Exec(ctx, `update audit_events set salt = null, payload = null where record_id = $1 and kind <> $2`, record, KindErased)
	if err != nil {
		return unavailable(fmt.Errorf("audit: erase: %w", err))
	}
	return l.Append(ctx, tx, Event{Account: account, Record: record, Kind: KindErased, Log: why, Detail: erasure{Events: n}})
}

package audit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/store"
)

// row is what the table holds of the events that one Append wrote of one record:
// one time, one salt, one keyed digest, and their texts as one difference. A
// signature has two, of six events; with a row for each the log was 1.5 kB more.
type row struct {
	account   string
	record    string
	kinds     string // one for each event, with spaces between
	createdAt int64
	salt      []byte // that those of the events follow from; nil once erased
	text      []byte // packed, until it is read; nil once erased
	digests   []byte // of the events' texts; empty where they follow from these
	seq       int64  // place of the first event; -1 when it has none yet
	n         int64  // order of arrival, until it has a place; -1 then
	base      int64  // size of the tree that its writer knew of
	mac       []byte // of all leaves and base, under the master key

	entries         []*Entry
	looked, genuine bool // what authentic found
	odd             bool // digests that are neither its own nor none
}

// mostTogether bounds the events of a row, so that a reader that looks for an event by its
// place knows where its row can begin.
const mostTogether = 64

// mostBeside is the longest text that shares a row: revocation data may have megabytes, and
// readers of the other events need not load it.
const mostBeside = 16 << 10

// sought are the kinds that are looked for by SQL: such an event has a row of its
// own. The indexes of the table name them too.
var sought = []string{
	"certificate-key", "certificate-code", "certificate-revoked", "certificate-suspended", "certificate-resumed", KindErased, KindLost,
}

// rows builds the rows of events, still without a place.
func (l *Log) rows(ctx context.Context, tx *store.Tx, events []Event, base int64) ([]*row, error) {
	var all []*row
	var last *row // that the next event may share
	var recurring []*Recurring
	at := store.Millis(l.now())
	for _, e := range events {
		text, err := e.payload()
		if err != nil {
			return nil, err
		}
		alone := slices.Contains(sought, e.Kind) || len(text) > mostBeside
		if alone || last == nil || last.account != e.Account || last.record != e.Record || len(last.entries) == mostTogether {
			last = &row{account: e.Account, record: e.Record, createdAt: at, salt: make([]byte, 16), seq: -1, n: -1, base: base}
			_, _ = rand.Read(last.salt)
			all, recurring = append(all, last), append(recurring, nil)
		}
		last.entries = append(last.entries, &Entry{Account: e.Account, Record: e.Record, Kind: e.Kind, CreatedAt: at, Payload: text, Seq: -1, row: last})
		if e.Recurring != nil {
			recurring[len(recurring)-1] = e.Recurring
		}
		if alone {
			last = nil
		}
	}
	for i, r := range all {
		id, d, err := l.dictionary(ctx, tx, recurring[i])
		if err != nil {
			return nil, err
		}
		texts, kinds := make([][]byte, len(r.entries)), make([]string, len(r.entries))
		for k, e := range r.entries {
			e.Salt = r.saltOf(k)
			texts[k], kinds[k] = e.Payload, e.Kind
		}
		r.kinds, r.text, r.mac = strings.Join(kinds, " "), pack(bytes.Join(texts, between), id, d), l.macOf(r)
	}
	return all, nil
}

// between separates the texts of a row: marshalled JSON contains no line break.
var between = []byte("\n")

// saltOf is the salt of an event. Who is shown one event learns nothing of the
// others.
func (r *row) saltOf(i int) []byte {
	if r.salt == nil {
		return nil
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint16(bytes.Clone(r.salt), uint16(i)))
	return sum[:16]
}

// macOf authenticates a row: its events were written by a server with the master
// key, together, when the tree had so many leaves.
func (l *Log) macOf(r *row) []byte {
	text := make([]byte, 0, 40*len(r.entries))
	for _, e := range r.entries {
		leaf := e.leaf()
		text = append(text, leaf[:]...)
	}
	sum := l.keyed.MAC("audit event", binary.BigEndian.AppendUint64(text, uint64(r.base)))
	return sum[:]
}

func (l *Log) authentic(r *row) bool {
	if !r.looked {
		r.looked, r.genuine = true, !r.odd && hmac.Equal(r.mac, l.macOf(r))
	}
	return r.genuine
}

// insert writes rows in one statement. Long texts have their digests beside them, so that
// giving the rows their places does not read megabytes.
func insert(ctx context.Context, tx *store.Tx, list []*row) error {
	for part := range slices.Chunk(list, 100) {
		args := make([]any, 0, 10*len(part))
		for _, r := range part {
			var seq any
			digests := []byte{}
			if r.seq >= 0 {
				seq = r.seq
			} else if len(r.text) > mostBeside {
				digests = r.sums()
			}
			args = append(args, r.account, r.record, r.kinds, r.createdAt, r.salt, r.text, digests, r.base, r.mac, seq)
		}
		err := tx.LaterOr(ctx, unwritten, `insert into audit_events (account_id, record_id, kind, created_at, salt, payload, digest, base, mac, seq) values `+store.Values(len(part), 10), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

func unwritten(err error) error { return unavailable(fmt.Errorf("audit: append: %w", err)) }

// sums are the digests of the events' texts.
func (r *row) sums() []byte {
	all := make([]byte, 0, sha256.Size*len(r.entries))
	for _, e := range r.entries {
		e.leaf()
		all = append(all, e.Digest...)
	}
	return all
}

const (
	rowColumns = `select account_id, record_id, kind, created_at, salt, payload, digest, coalesce(seq, -1), coalesce(n, -1), base, mac`
	selectRow  = rowColumns + ` from audit_events `
)

// inOrder is the order of the tree, and behind it that of arrival.
const inOrder = `order by coalesce(seq, 9223372036854775807), n`

func scanRow(from store.Row) (*row, error) {
	r := &row{}
	err := from.Scan(&r.account, &r.record, &r.kinds, &r.createdAt, &r.salt, &r.text, &r.digests, &r.seq, &r.n, &r.base, &r.mac)
	if err != nil {
		return nil, fmt.Errorf("audit: read entries: %w", err)
	}
	kinds := strings.Split(r.kinds, " ")
	stored := len(r.digests) == sha256.Size*len(kinds)
	r.odd = !stored && len(r.digests) > 0
	for i, kind := range kinds {
		e := &Entry{Account: r.account, Record: r.record, Kind: kind, CreatedAt: r.createdAt, Salt: r.saltOf(i), Seq: r.seq, row: r}
		if r.seq >= 0 {
			e.Seq += int64(i)
		}
		if stored {
			e.Digest = r.digests[sha256.Size*i:][:sha256.Size]
		}
		r.entries = append(r.entries, e)
	}
	return r, nil
}

// setTexts gives the events of a row their texts.
func (r *row) setTexts(text []byte) {
	texts := bytes.Split(text, between)
	for i, e := range r.entries {
		if e.Payload = unreadable; len(texts) == len(r.entries) {
			e.Payload = texts[i]
		}
	}
}

func (c *dictionaryCache) rows(ctx context.Context, q store.Querier, query string, args ...any) ([]*row, error) {
	found, err := q.Query(ctx, query, args...)
	all, err := store.All("audit: read", found, err, scanRow)
	if err != nil {
		return nil, err
	}
	return all, c.unpack(ctx, q, all)
}

// entries are the events of the rows that a query finds.
func (c *dictionaryCache) entries(ctx context.Context, q store.Querier, query string, args ...any) ([]*Entry, error) {
	rows, err := c.rows(ctx, q, query, args...)
	var all []*Entry
	for _, r := range rows {
		all = append(all, r.entries...)
	}
	return all, err
}

// span are the entries from one place up to another.
func span(ctx context.Context, q store.Querier, from, to int64) ([]*Entry, error) {
	all, err := dictionaries.entries(ctx, q, selectRow+`where seq > $1 and seq < $2 order by seq`, from-mostTogether, to)
	return slices.DeleteFunc(all, func(e *Entry) bool { return e.Seq < from || e.Seq >= to }), err
}

// events is SQL for how many events a row has.
const events = `length(kind) - length(replace(kind, ' ', '')) + 1`

// erasure is the detail of the event of an erasure.
type erasure struct {
	Events int64 `json:"events"` // whose payload went
}

// Erase removes the payloads of a record and says so in the log. What the tree
// holds of them, their digests, takes their place.
func (l *Log) Erase(ctx context.Context, tx *store.Tx, account, record, why string) error {
	rows, err := dictionaries.rows(ctx, tx, selectRow+`where record_id = $1 and kind <> $2 and payload is not null`, record, KindErased)
	if err != nil {
		return unavailable(fmt.Errorf("audit: erase: %w", err))
	}
	var gone erasure
	for _, r := range rows {
		gone.Events += int64(len(r.entries))
		// By its keyed digest: it may get its place meanwhile.
		err := tx.LaterOr(ctx, unwritten, `update audit_events set salt = null, payload = null, digest = $1 where record_id = $2 and mac = $3`, r.sums(), record, r.mac)
		if err != nil {
			return unavailable(err)
		}
	}
	return l.Append(ctx, tx, Event{Account: account, Record: record, Kind: KindErased, Log: why, Detail: gone})
}

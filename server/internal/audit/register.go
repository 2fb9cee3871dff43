package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

// Register is a table whose rows grant rights: tokens, client certificates, applications.
// Whenever this server writes or deletes one, the log gets an event with a digest of it. So
// verification finds rows that anybody else wrote or deleted, and old rows that were restored.
type Register struct {
	Kind  string // of the events
	Table string
	Key   string // column of what names a row for ever
	Name  string // of a row, for people
	// Select reads rows, without a condition, for Scan.
	Select string
	Scan   func(store.Row) (*Registered, error)
}

// Registered is a row of a register.
type Registered struct {
	ID, Account string
	Traits      []any     // all that it says
	Fixed       string    // the part that never changes, even for rows of other writers
	Until       time.Time // from then on it may be deleted without an event; zero: never
	Unsaid      bool      // it may exist before its event
}

// entered is what the log says of a row.
type entered struct {
	Row   string `json:"row"` // digest; empty: it was taken away
	Fixed string `json:"fixed,omitempty"`
	Until int64  `json:"until,omitempty"`
}

func (r *Registered) digest() string {
	text := fmt.Appendf(nil, "%q", r.ID)
	for _, t := range r.Traits {
		switch v := t.(type) {
		case []byte:
			text = fmt.Appendf(text, " %x", v)
		case string:
			text = fmt.Appendf(text, " %q", v)
		default:
			text = fmt.Appendf(text, " %v", v)
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Write logs what a row is from now on, in the transaction that wrote it.
func (r *Register) Write(ctx context.Context, tx *store.Tx, l *Log, id string) error {
	if l == nil {
		return nil
	}
	row, err := r.Scan(tx.QueryRow(ctx, r.Select+` where `+r.Key+` = $1`, id))
	if err != nil {
		return fmt.Errorf("audit: read %s: %w", r.Name, err)
	}
	return l.Append(ctx, tx, Event{Account: row.Account, Record: row.ID, Kind: r.Kind, Log: r.Name + " written", Detail: entered{row.digest(), row.Fixed, store.Millis(row.Until)}})
}

// Holds reports whether a row matches its last event. It is asked before the row grants
// anything.
func (r *Register) Holds(ctx context.Context, q store.Querier, l *Log, id string) (bool, error) {
	if l == nil {
		return true, nil
	}
	row, err := r.Scan(q.QueryRow(ctx, r.Select+` where `+r.Key+` = $1`, id))
	if errors.Is(err, store.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("audit: read %s: %w", r.Name, err)
	}
	events, err := l.Told(ctx, q, id, `kind = '`+r.Kind+`'`)
	return err == nil && r.fits(row, events) == "", err
}

// Catch tells the log of the rows that it does not know yet, or that may have
// changed without a word: those of a start that was cut off. Which ones may is
// judged by may.
func (r *Register) Catch(ctx context.Context, l *Log, may func(row *Registered, known bool) bool) error {
	rows, err := l.db.Read().Query(ctx, r.Select)
	all, err := store.All("audit: read rows", rows, err, r.Scan)
	if err != nil {
		return err
	}
	for _, row := range all {
		events, err := l.Told(ctx, l.db.Read(), row.ID, `kind = '`+r.Kind+`'`)
		if err != nil {
			return err
		}
		last := lastEntered(events)
		if last != nil && last.Row == row.digest() || last != nil && last.Fixed != row.Fixed || !may(row, last != nil) {
			continue
		}
		if err := l.db.Write(ctx, func(tx *store.Tx) error { return r.Write(ctx, tx, l, row.ID) }); err != nil {
			return err
		}
	}
	return nil
}

// Remove tells the log that rows are taken away, in the transaction that does it.
func (r *Register) Remove(ctx context.Context, tx *store.Tx, l *Log, account string, ids ...string) error {
	if l == nil {
		return nil
	}
	for _, id := range ids {
		if err := l.Append(ctx, tx, Event{Account: account, Record: id, Kind: r.Kind, Log: r.Name + " taken away", Detail: entered{}}); err != nil {
			return err
		}
	}
	return nil
}

// Owns says that an event of a kind is about a row of the register.
func (r *Register) Owns(kind string) bool { return kind == r.Kind }

// Has returns those of the ids that there are, and those that may be gone.
func (r *Register) Has(ctx context.Context, q store.Querier, ids []any) ([]string, error) {
	rows, err := q.Query(ctx, `select `+r.Key+` from `+r.Table+` where `+r.Key+store.In(len(ids)), ids...)
	found, err := store.All("audit: look for rows", rows, err, store.Column[string])
	if err != nil {
		return nil, err
	}
	of, err := OfKind(ctx, q, r.Kind, ids)
	if err != nil {
		return nil, err
	}
	for id, events := range of {
		if last := lastEntered(events); last != nil && last.gone(time.Now()) {
			found = append(found, id)
		}
	}
	return found, nil
}

func (e *entered) gone(now time.Time) bool {
	return e.Row == "" || e.Until != 0 && e.Until < store.Millis(now)
}

func lastEntered(events []*Entry) *entered {
	if len(events) == 0 {
		return nil
	}
	last := &entered{}
	if _, detail := events[len(events)-1].Text(); json.Unmarshal(detail, last) != nil {
		return nil
	}
	return last
}

// Page returns the rows that follow an id.
func (r *Register) Page(ctx context.Context, q store.Querier, after string, limit int) ([]Record, error) {
	rows, err := q.Query(ctx, r.Select+` where `+r.Key+` > $1 order by `+r.Key+` limit $2`, after, limit)
	return store.All("audit: read rows", rows, err, func(from store.Row) (Record, error) {
		row, err := r.Scan(from)
		if err != nil {
			return Record{}, err
		}
		return Record{ID: row.ID, Account: row.Account, Fits: func(_ store.Querier, events []*Entry) string { return r.fits(row, events) }}, nil
	})
}

func (r *Register) fits(row *Registered, events []*Entry) string {
	var own []*Entry
	for _, e := range events {
		if e.Kind == r.Kind {
			own = append(own, e)
		}
	}
	for i := range own {
		if e := lastEntered(own[:i+1]); e != nil && e.Row != "" && e.Fixed != row.Fixed {
			return "the " + r.Name + " was replaced, and is never"
		}
	}
	switch last := lastEntered(own); {
	case last == nil && row.Unsaid:
	case last == nil:
		return "no event says that there is such a " + r.Name
	case last.Row == "":
		return "the " + r.Name + " was taken away, and was put back"
	case last.Row != row.digest():
		return "the " + r.Name + " is not what its last event says: it was changed, or an older one was put back"
	}
	return ""
}

// ErrTwice says that something is used a second time that is good once.
var ErrTwice = errors.New("audit: the log says that it was used already")

// Once writes the event of something that is good once: a code, an answer, a
// digest that was authorised. Where the log has it already the error is ErrTwice,
// whatever a row says that was put back. The row is what tells two calls at the same
// time apart. The event's record is the thing, and its kind is written for nothing
// else.
func (l *Log) Once(ctx context.Context, tx *store.Tx, e Event) error {
	had, err := Had(ctx, tx, e.Kind, e.Record)
	if err != nil {
		return unavailable(err)
	}
	if had {
		return ErrTwice
	}
	return l.Append(ctx, tx, e)
}

// Had says whether the log has an event of Once.
func Had(ctx context.Context, q store.Querier, kind, record string) (yes bool, err error) {
	err = q.QueryRow(ctx, `select exists (select 1 from audit_events where record_id = $1 and kind = $2)`, record, kind).Scan(&yes)
	return yes, err
}

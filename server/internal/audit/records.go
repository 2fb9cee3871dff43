package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/store"
)

// Book is a table of records whose events are in the log. What a record says of
// itself must be what its events say.
type Book interface {
	// Owns says that an event of a kind is about a record of this book.
	Owns(kind string) bool
	// Page returns the records that follow an id, in order.
	Page(ctx context.Context, q store.Querier, after string, limit int) ([]Record, error)
	// Has returns those of the ids that there are.
	Has(ctx context.Context, q store.Querier, ids []any) ([]string, error)
}

// Record is one row of a book.
type Record struct {
	ID, Account string
	// Fits says what is wrong between the row and its events, or nothing. What else
	// it must look at it reads from q: pages are judged beside one another.
	Fits func(q store.Querier, events []*Entry) string
}

// withoutEvidence leaves out texts that may be large (certificates, revocation
// data, tokens) and that no record repeats, where they have a row of their own.
var withoutEvidence = strings.Replace(selectRow, "payload", "case when kind in ('signature', 'timestamp') then null else payload end", 1)

// fit says what is wrong between records and their events, or nothing.
func (s *Live) fit(ctx context.Context, q store.Querier, list []Record) (string, error) {
	ids := make([]any, len(list))
	for i, r := range list {
		ids[i] = r.ID
	}
	events, err := dictionaries.entries(ctx, q, withoutEvidence+`where record_id`+store.In(len(ids))+` `+inOrder, ids...)
	if err != nil {
		return "", err
	}
	of := map[string][]*Entry{}
	for _, e := range events {
		of[e.Record] = append(of[e.Record], e)
	}
	for _, r := range list {
		why := r.Fits(q, of[r.ID])
		for _, e := range of[r.ID] {
			if e.Account != r.Account {
				why = "it belongs to another account than its events"
			}
		}
		if why != "" {
			return fmt.Sprintf("record %s: %s", r.ID, why), nil
		}
	}
	return "", nil
}

// known looks for entries whose record is not there.
func (s *Live) known(ctx context.Context, q store.Querier, v *verification, list []*Entry) error {
	if len(s.Books) == 0 || v.res.Bad != nil {
		return nil
	}
	missing := map[string]*Entry{}
	for _, e := range list {
		if e.Record != "" && slices.ContainsFunc(s.Books, func(b Book) bool { return b.Owns(e.Kind) }) {
			missing[e.Record] = e
		}
	}
	for _, b := range s.Books {
		ids := make([]any, 0, len(missing))
		for id := range missing {
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			return nil
		}
		found, err := b.Has(ctx, q, ids)
		if err != nil {
			return err
		}
		for _, id := range found {
			delete(missing, id)
		}
	}
	for id, e := range missing {
		v.bad(e.Seq, e, "there is no record %s any more", id)
	}
	return nil
}

// Erased returns those of the ids of which the log says that their record was erased.
func Erased(ctx context.Context, q store.Querier, ids []any) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, `select record_id from audit_events where record_id`+store.In(len(ids))+` and kind = '`+KindErased+`'`, ids...)
	return store.All("audit: look for erasures", rows, err, store.Column[string])
}

// HasIn is Book.Has for a table with the column id.
func HasIn(ctx context.Context, q store.Querier, table string, ids []any) ([]string, error) {
	rows, err := q.Query(ctx, `select id from `+table+` where id`+store.In(len(ids)), ids...)
	return store.All("audit: look for records", rows, err, store.Column[string])
}

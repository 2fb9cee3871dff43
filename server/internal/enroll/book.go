package enroll

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/store"
)

// Book is the table of certificates, as the audit log is held against it.
type Book struct{}

const eventPrefix = "certificate-"

// Owns says that an event of a kind is about a certificate.
func (Book) Owns(kind string) bool { return strings.HasPrefix(kind, eventPrefix) }

// Has returns those of the ids that are certificates.
func (Book) Has(ctx context.Context, q store.Querier, ids []any) ([]string, error) {
	return audit.HasIn(ctx, q, "certificates", ids)
}

// Page returns the certificates that follow an id.
func (Book) Page(ctx context.Context, q store.Querier, after string, limit int) ([]audit.Record, error) {
	rows, err := q.Query(ctx, `select id, account_id, state from certificates where id > $1 order by id limit $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("enroll: read certificates: %w", err)
	}
	defer rows.Close()
	var all []audit.Record
	for rows.Next() {
		var r audit.Record
		var state State
		if err := rows.Scan(&r.ID, &r.Account, &state); err != nil {
			return nil, fmt.Errorf("enroll: read certificates: %w", err)
		}
		r.Fits = func(events []*audit.Entry) string { return fits(state, events) }
		all = append(all, r)
	}
	return all, rows.Err()
}

// fits says what is wrong between the state of a certificate and its events: the
// last one that tells of a step must tell of this state.
func fits(state State, events []*audit.Entry) string {
	last := State("")
	for _, e := range events {
		step := strings.TrimPrefix(e.Kind, eventPrefix)
		if !slices.Contains(States, State(step)) && !slices.Contains([]string{"ordered", "issued", "imported", "suspended", "resumed", "revoked"}, step) {
			continue
		}
		var d struct{ State State }
		_, detail := e.Text()
		if json.Unmarshal(detail, &d) != nil || last != "" && last != d.State && !slices.Contains(next[last], d.State) {
			return fmt.Sprintf("after %s its events say %s", last, d.State)
		}
		last = d.State
	}
	if last != state {
		return fmt.Sprintf("it is %s, and its events say %s", state, last)
	}
	return ""
}

package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
)

// Book is the table of certificates with their evidence and the authority's own rows, as audit
// verification compares it with the log.
type Book struct{ Service *Service }

const eventPrefix = "certificate-"

// Owns says that an event of a kind is about a certificate.
func (Book) Owns(kind string) bool { return strings.HasPrefix(kind, eventPrefix) }

// Has returns those of the ids that are certificates.
func (Book) Has(ctx context.Context, q store.Querier, ids []any) ([]string, error) {
	return audit.HasIn(ctx, q, "certificates", ids)
}

// bookRow is a certificate with its evidence.
type bookRow struct {
	*Certificate
	unreadable error
	evidence   []*evidenceRow
	key        bool // there is a credential
}

// Page returns the certificates that follow an id.
func (b Book) Page(ctx context.Context, q store.Querier, after string, limit int) ([]audit.Record, error) {
	list, err := b.read(ctx, q, after, limit)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	of, ids := map[string]*bookRow{}, []any{}
	for _, r := range list {
		of[r.ID] = r
		ids = append(ids, r.ID)
	}
	evidence, err := evidenceRows(ctx, q, `where certificate_id`+store.In(len(ids)), ids...)
	if err != nil {
		return nil, err
	}
	for _, e := range evidence {
		of[e.certificate].evidence = append(of[e.certificate].evidence, e)
	}
	held, err := audit.HasIn(ctx, q, "credentials", ids)
	if err != nil {
		return nil, err
	}
	for _, id := range held {
		of[id].key = true
	}
	var all []audit.Record
	for _, r := range list {
		all = append(all, audit.Record{ID: r.ID, Account: r.AccountID, Fits: func(q store.Querier, events []*audit.Entry) string {
			why, err := b.fits(ctx, q, r, events)
			if err != nil {
				return "it cannot be held against its events: " + err.Error()
			}
			return why
		}})
	}
	return all, nil
}

func (b Book) read(ctx context.Context, q store.Querier, after string, limit int) ([]*bookRow, error) {
	rows, err := q.Query(ctx, `select `+columns+` from certificates where id > $1 order by id limit $2`, after, limit)
	return store.All("enroll: read certificates", rows, err, func(r store.Row) (*bookRow, error) {
		c, err := b.Service.scan(r)
		if c == nil {
			return nil, err
		}
		return &bookRow{Certificate: c, unreadable: err}, nil
	})
}

// expected is what the events of a certificate say its rows must be.
type expected struct {
	State       State
	Certificate string // digest of what was issued
	Address     string // that the credentials were shown to
	ShownAt     int64
	UpdatedAt   int64
	ExpireAt    int64
	Reason      string // of a refusal
	Evidence    []mark
	Account     string // of the administrator who read or decided; empty: the operator did

	refusals int
	bought   bool // so it has a link, until it is cancelled
	enrols   bool // the link is for a new device
}

// fits returns how a certificate and its events disagree, or "".
func (b Book) fits(ctx context.Context, q store.Querier, r *bookRow, events []*audit.Entry) (string, error) { //nolint:gocyclo // a list of what has to fit
	switch {
	case errors.Is(r.unreadable, master.ErrUnseal):
		return "something sealed in it was changed, or is another's", nil
	case r.unreadable != nil:
		return "it cannot be read: " + r.unreadable.Error(), nil
	case r.altered:
		return "it is not what was ordered", nil
	}
	var now expected
	marks := map[string]string{}
	for _, e := range events {
		var d expected
		_, detail := e.Text()
		if err := json.Unmarshal(detail, &d); err != nil && detail != nil {
			return "an event cannot be read", nil
		}
		step := strings.TrimPrefix(e.Kind, eventPrefix)
		if (step == "reviewed" || step == "evidence-read") && d.Account != "" {
			admin, err := account.WasAdmin(ctx, b.Service.audit, q, d.Account, e)
			if err != nil {
				return "", err
			}
			if !admin {
				return "somebody read or decided on its evidence who was no administrator", nil
			}
		}
		switch {
		case slices.Contains(States, State(step)) || slices.Contains([]string{"ordered", "issued", "imported", "suspended", "resumed", "revoked"}, step):
			if now.State != "" && now.State != d.State && !slices.Contains(next[now.State], d.State) {
				return fmt.Sprintf("after %s its events say %s", now.State, d.State), nil
			}
			now.State, now.UpdatedAt, now.ExpireAt = d.State, d.UpdatedAt, d.ExpireAt
			now.bought = now.bought || step == "ordered"
			if d.Certificate != "" {
				now.Certificate = d.Certificate
			}
		case step == "shown":
			now.Address, now.ShownAt = d.Address, d.ShownAt
		case step == "refused" && d.Reason != byReviewer:
			now.refusals++
		case step == "enrol" || step == "enrolled":
			now.enrols = step == "enrol"
		}
		for _, m := range d.Evidence {
			marks[m.ID] = m.Digest
		}
	}
	if why := r.differs(&now); why != "" {
		return why, nil
	}
	for _, e := range r.evidence {
		if marks[e.id] != e.mark().Digest {
			return "evidence of an identification is not what its events say, or who decided on it", nil
		}
		delete(marks, e.id)
	}
	if len(marks) > 0 {
		return "evidence of an identification is gone", nil
	}
	if now.Certificate == "" || r.foreign() {
		return "", nil
	}
	if now.State == Expired { // it may have been on hold before
		return b.Service.authority.Standing(ctx, q, r.ID, r.DER, nil)
	}
	return b.Service.authority.Standing(ctx, q, r.ID, r.DER, &authority.Taken{Revoked: now.State == Revoked, Hold: now.State == Suspended})
}

// differs says what of a row is not what its events told last.
func (r *bookRow) differs(now *expected) string {
	switch {
	case !r.key && now.Certificate != "":
		return "its credential was taken away"
	case now.State != r.State:
		return fmt.Sprintf("it is %s, and its events say %s", r.State, now.State)
	case now.Certificate == "" && r.saysIssued() || now.Certificate != "" && now.Certificate != r.issuedDigest():
		return "the certificate, its number, its names or its dates are not those that were issued"
	case now.Address != r.ShownTo || now.ShownAt != store.Millis(r.ShownAt):
		return "its events say something else about when and to whom the credentials were shown"
	case now.UpdatedAt != store.Millis(r.UpdatedAt) || now.Certificate == "" && now.ExpireAt != store.Millis(r.ExpireAt):
		return "it changed its state, or ends, at another time than its events say"
	case now.bought && r.State != Cancelled && r.linkSecret == "":
		return "its link was taken away"
	case now.refusals != r.refusals || now.enrols != (r.linkPurpose == "enrol") || !now.enrols && r.linkPurpose != "identify":
		return "its events say something else about refused identifications, or what its link is for"
	}
	return ""
}

// saysIssued says that the row has something of an issued certificate.
func (r *bookRow) saysIssued() bool {
	return r.DER != nil || r.Serial != "" || r.SubjectDN != "" || r.IssuerDN != "" || r.Chain != nil || store.Millis(r.NotBefore) != 0 || store.Millis(r.NotAfter) != 0
}

// Ledger is what the authority serves its revocations by: certificates that the
// log says were revoked, or suspended and not resumed. All of them are read again
// only when there are other such events than the last time.
func Ledger(log *audit.Log) func(ctx context.Context, q store.Querier, id string) ([]ca.Revoked, error) {
	type mark struct{ events, placed, last int64 }
	var mu sync.Mutex
	var at mark
	var known []ca.Revoked
	return func(ctx context.Context, q store.Querier, id string) ([]ca.Revoked, error) {
		if id != "" {
			return takenBack(ctx, log, q, id)
		}
		var now mark
		err := q.QueryRow(ctx, `select count(*), count(seq), coalesce(max(seq), -1) from audit_events where `+standingKinds).Scan(&now.events, &now.placed, &now.last)
		if err != nil {
			return nil, fmt.Errorf("enroll: read revocations: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if known != nil && now == at {
			return known, nil
		}
		all, err := takenBack(ctx, log, q, "")
		if err == nil {
			at, known = now, all
		}
		return all, err
	}
}

// standingKinds is the condition of the index audit_events_standing.
const standingKinds = `kind in ('certificate-revoked', 'certificate-suspended', 'certificate-resumed')`

func takenBack(ctx context.Context, log *audit.Log, q store.Querier, id string) ([]ca.Revoked, error) {
	events, err := log.Told(ctx, q, id, standingKinds)
	if err != nil {
		return nil, err
	}
	last := map[string]ca.Revoked{}
	for _, e := range events {
		var d struct{ Identification, SerialNumber, Reason string }
		_, detail := e.Text()
		if json.Unmarshal(detail, &d) != nil || foreign(d.Identification) {
			continue
		}
		r := ca.Revoked{At: store.Time(e.CreatedAt)}
		r.Serial, _ = new(big.Int).SetString(d.SerialNumber, 10)
		before, held := last[e.Record]
		switch {
		case r.Serial == nil:
			continue
		case e.Kind == "certificate-resumed":
			delete(last, e.Record)
			continue
		case e.Kind == "certificate-suspended":
			r.Reason = authority.ReasonHold
		default:
			r.Reason = revocations[d.Reason]
			if held {
				r.At = before.At // RFC 5280, 5.3.1: the date of the hold stays
			}
		}
		last[e.Record] = r
	}
	return slices.SortedFunc(maps.Values(last), func(a, b ca.Revoked) int { return a.At.Compare(b.At) }), nil
}

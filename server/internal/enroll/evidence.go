package enroll

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/store"
)

// evidence is what was handed in or received.
type evidence struct {
	method, state string
	detail        detail
	browser       []byte
}

// detail of evidence, sealed.
type detail struct {
	Proof *identify.Proof   `json:"proof,omitempty"` // nil until the review, but for a card without names
	Files map[string]string `json:"files"`           // names, by blob
	// Approved is what an operator was shown and approved of.
	Approved *identify.Certified `json:"approved,omitempty"`
}

const (
	evidencePurpose = "identification"
	handedInPurpose = "identification-browser"
)

// Of a row of evidence: PENDING waits for an operator, ERASED did when it was
// erased.
const (
	pending  = "PENDING"
	approved = "APPROVED"
	refused  = "REFUSED"
	erased   = "ERASED"
)

// evidenceRow is a row of evidence. Its sealed columns open only in this row.
type evidenceRow struct {
	id, certificate, method, state string
	detail, browser                []byte
	blobs, decidedBy, reason       string
	created, decided               int64
}

func (r *evidenceRow) owner() string { return r.certificate + "/" + r.id }

// mark identifies a row of evidence in an event: the last event with its id has the digest that
// the row must have.
type mark struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

func (r *evidenceRow) mark() mark {
	h := sha256.New()
	for _, part := range []string{r.id, r.certificate, r.method, r.state, string(r.detail), string(r.browser), r.blobs, r.decidedBy, r.reason} {
		fmt.Fprintf(h, "%d %s ", len(part), part)
	}
	fmt.Fprintf(h, "%d %d", r.created, r.decided)
	return mark{r.id, hex.EncodeToString(h.Sum(nil))}
}

// evidenceRows reads rows of evidence.
func evidenceRows(ctx context.Context, q store.Querier, where string, args ...any) ([]*evidenceRow, error) {
	rows, err := q.Query(ctx, `select id, certificate_id, method, state, detail, browser, blobs, decided_by, reason, created_at, decided_at from identifications `+where, args...)
	return store.All("enroll: read evidence", rows, err, func(row store.Row) (*evidenceRow, error) {
		r := &evidenceRow{}
		return r, row.Scan(&r.id, &r.certificate, &r.method, &r.state, &r.detail, &r.browser, &r.blobs, &r.decidedBy, &r.reason, &r.created, &r.decided)
	})
}

// keepEvidence writes a row of evidence, and says so in the log.
func (s *Service) keepEvidence(ctx context.Context, tx *store.Tx, c *Certificate, e evidence) error {
	blobs := slices.Sorted(maps.Keys(e.detail.Files))
	list, err := json.Marshal(blobs)
	if err != nil {
		return err
	}
	r := &evidenceRow{id: store.NewID(), certificate: c.ID, method: e.method, state: e.state, blobs: string(list), created: store.Millis(s.config.Now())}
	if e.state != pending {
		r.decided = r.created
	}
	if r.detail, err = s.seal(evidencePurpose, r.owner(), e.detail); err != nil {
		return err
	}
	if r.browser, err = s.seal(handedInPurpose, r.owner(), e.browser); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `insert into identifications (id, certificate_id, method, state, detail, blobs, browser, created_at, decided_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, r.id, c.ID, r.method, r.state, r.detail, r.blobs, r.browser, r.created, r.decided)
	if store.IsConflict(err) { // what an operator may be looking at is not replaced by what comes later
		return fault.New(fault.WrongState, "what was handed in before is being looked at")
	}
	if err != nil {
		return err
	}
	return s.note(ctx, tx, c, "certificate-evidence", "evidence of an identification by "+e.method+" kept", map[string]any{"evidence": []mark{r.mark()}})
}

// drop deletes files of evidence that no row refers to.
func (s *Service) drop(ctx context.Context, e evidence) {
	for id := range e.detail.Files {
		if err := s.blobs.Delete(context.WithoutCancel(ctx), id); err != nil {
			s.config.Log.WarnContext(ctx, "delete evidence", "blob", id, "error", err)
		}
	}
}

// Kept is the evidence of an identification.
type Kept struct {
	Method  string     `json:"method"`
	Issuer  string     `json:"issuer"`
	Level   string     `json:"level"`
	At      time.Time  `json:"at"`
	Request string     `json:"request"`
	Files   []KeptFile `json:"files"`
	// Approved is what an operator was shown and approved of.
	Approved *identify.Certified `json:"approved,omitempty"`
}

// KeptFile is one file of it.
type KeptFile struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// Identification returns what is kept of the last identification of an order
// that succeeded, or waits for an operator, without its files; nil where nothing
// is kept.
func (s *Service) Identification(ctx context.Context, id string) (*Kept, error) {
	k, _, err := s.kept(ctx, id)
	return k, err
}

func (s *Service) kept(ctx context.Context, id string) (*Kept, map[string]string, error) {
	rows, err := evidenceRows(ctx, s.db.Read(), `where certificate_id = $1 and state <> 'REFUSED' and detail is not null order by id desc limit 1`, id)
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	r := rows[0]
	var d detail
	if err := s.open(evidencePurpose, r.owner(), r.detail, &d); err != nil {
		return nil, nil, err
	}
	k := &Kept{Method: r.method, At: store.Time(r.created), Files: []KeptFile{}, Approved: d.Approved}
	if p := d.Proof; p != nil {
		k.Issuer, k.Level, k.At, k.Request = p.Issuer, p.Level, p.At, p.Request
	}
	return k, d.Files, nil
}

// Evidence is Identification with the files.
func (s *Service) Evidence(ctx context.Context, id string) (*Kept, error) {
	k, files, err := s.kept(ctx, id)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, fault.New(fault.NotFound, "no evidence is kept of this order")
	}
	for blob, name := range files {
		r, err := s.OpenEvidence(ctx, blob)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		k.Files = append(k.Files, KeptFile{name, b})
	}
	slices.SortFunc(k.Files, func(a, b KeptFile) int { return strings.Compare(a.Name, b.Name) })
	return k, nil
}

// OpenEvidence reads a file of the evidence.
func (s *Service) OpenEvidence(ctx context.Context, blob string) (io.ReadCloser, error) {
	return s.blobs.Open(context.WithoutCancel(ctx), blob) // read after the call, at the pace of who reads
}

// EraseEvidence erases what is kept of the identifications of an order: the rows
// say only that they were.
func (s *Service) EraseEvidence(ctx context.Context, id, why string) error {
	c, err := s.ByID(ctx, id)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `delete from identification_requests where certificate_id = $1`, id); err != nil {
			return err
		}
		return s.eraseEvidence(ctx, tx, c, why, "")
	})
}

// eraseEvidence erases the evidence of an order that is in a state, or all. The
// event says how much it was.
func (s *Service) eraseEvidence(ctx context.Context, tx *store.Tx, c *Certificate, why, state string) error {
	rows, err := evidenceRows(ctx, tx, `where certificate_id = $1 and detail is not null and ($2 = '' or state = $2) order by id`, c.ID, state)
	if err != nil || len(rows) == 0 {
		return err
	}
	gone := evidence{detail: detail{Files: map[string]string{}}}
	var marks []mark
	for _, r := range rows {
		var ids []string
		if err := json.Unmarshal([]byte(r.blobs), &ids); err != nil {
			return fmt.Errorf("enroll: files of evidence: %w", err)
		}
		for _, id := range ids {
			gone.detail.Files[id] = ""
		}
		if r.state == pending {
			r.state = erased
		}
		r.detail, r.browser, r.blobs, r.reason = nil, nil, "[]", ""
		if _, err := tx.Exec(ctx, `update identifications set detail = null, browser = null, blobs = '[]', reason = '', state = $1 where id = $2`, r.state, r.id); err != nil {
			return fmt.Errorf("enroll: erase evidence: %w", err)
		}
		marks = append(marks, r.mark())
	}
	tx.OnCommit(func() { s.drop(ctx, gone) })
	return s.note(ctx, tx, c, "certificate-evidence-erased", why, map[string]any{"evidence": marks, "erased": len(marks), "files": len(gone.detail.Files)})
}

// eraseOld erases the evidence of orders that ended long ago, and what was
// refused long ago.
func (s *Service) eraseOld(ctx context.Context) error {
	now := s.config.Now()
	ended, kept := store.Millis(now.Add(-s.config.KeepCancelled)), store.Millis(now.Add(-s.config.KeepEvidence))
	rows, err := evidenceRows(ctx, s.db.Read(), `where detail is not null and (state = 'REFUSED' and decided_at < $1 or certificate_id in (select id from certificates
		where state = 'CANCELLED' and updated_at < $1 or state in ('EXPIRED', 'REVOKED') and updated_at < $2)) order by id limit 1000`, ended, kept)
	done := map[string]bool{}
	for _, r := range rows {
		if done[r.certificate] {
			continue
		}
		done[r.certificate] = true
		c, oops := s.ByID(ctx, r.certificate)
		if oops == nil {
			oops = s.write(ctx, c, func(tx *store.Tx) error {
				state := ""
				if c.State != Cancelled && c.State != Expired && c.State != Revoked {
					state = refused
				}
				return s.eraseEvidence(ctx, tx, c, "evidence erased at the end of its retention", state)
			})
		}
		err = errors.Join(err, oops)
	}
	return err
}

// HoldsBlobs returns those of some blobs that are evidence; it is a blob.Holder.
func (s *Service) HoldsBlobs(ctx context.Context, ids []string) ([]string, error) {
	rows, err := s.db.Read().Query(ctx, `select blobs from identifications where blobs <> '[]'`)
	var held []string
	return held, store.Each("enroll: look for evidence", rows, err, func(r store.Row) error {
		var list string
		err := r.Scan(&list)
		for _, id := range ids {
			if strings.Contains(list, id) {
				held = append(held, id)
			}
		}
		return err
	})
}

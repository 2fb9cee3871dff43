package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/store"
)

// evidence is a row of what was handed in or received.
type evidence struct {
	method, state string
	detail        detail
	browser       []byte
}

// detail of evidence, sealed.
type detail struct {
	Proof *identify.Proof   `json:"proof,omitempty"` // nil until somebody has looked
	Files map[string]string `json:"files"`           // names, by blob
}

const evidencePurpose = "identification"

func (s *Service) keepEvidence(ctx context.Context, tx *store.Tx, c *Certificate, e evidence) error {
	var blobs []string
	for id := range e.detail.Files {
		blobs = append(blobs, id)
	}
	list, err := json.Marshal(blobs)
	if err != nil {
		return err
	}
	sealed, err := s.seal(evidencePurpose, c.ID, e.detail)
	if err != nil {
		return err
	}
	browser, err := s.seal(browserPurpose, c.ID, e.browser)
	if err != nil {
		return err
	}
	now := store.Millis(s.config.Now())
	decided := int64(0)
	if e.state != "PENDING" {
		decided = now
	}
	_, err = tx.Exec(ctx, `insert into identifications (id, certificate_id, method, state, detail, blobs, browser, created_at, decided_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, store.NewID(), c.ID, e.method, e.state, sealed, string(list), browser, now, decided)
	if store.IsConflict(err) { // what an operator may be looking at is not replaced by what comes later
		return fault.New(fault.WrongState, "what was handed in before is being looked at")
	}
	return err
}

// drop deletes the files of evidence that no row refers to.
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
}

// KeptFile is one file of it.
type KeptFile struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// Evidence returns what is kept of the last identification of an order that
// succeeded, or waits for an operator.
func (s *Service) Evidence(ctx context.Context, id string) (*Kept, error) {
	var method string
	var sealed []byte
	var created int64
	err := s.db.Read().QueryRow(ctx, `select method, detail, created_at from identifications where certificate_id = $1 and state <> 'REFUSED' and detail is not null
		order by id desc limit 1`, id).Scan(&method, &sealed, &created)
	if errors.Is(err, store.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "no evidence is kept of this order")
	}
	if err != nil {
		return nil, err
	}
	var d detail
	if err := s.open(evidencePurpose, id, sealed, &d); err != nil {
		return nil, err
	}
	k := &Kept{Method: method, At: store.Time(created), Files: []KeptFile{}}
	if p := d.Proof; p != nil {
		k.Issuer, k.Level, k.At, k.Request = p.Issuer, p.Level, p.At, p.Request
	}
	for blob, name := range d.Files {
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
	rows, err := s.db.Read().Query(ctx, `select blobs from identifications where certificate_id = $1 and detail is not null`, id)
	if err != nil {
		return fmt.Errorf("enroll: read evidence: %w", err)
	}
	defer rows.Close()
	e := evidence{detail: detail{Files: map[string]string{}}}
	for rows.Next() {
		var list string
		var ids []string
		if err := rows.Scan(&list); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(list), &ids); err != nil {
			return err
		}
		for _, id := range ids {
			e.detail.Files[id] = ""
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `update identifications set detail = null, blobs = '[]', browser = null, reason = '' where certificate_id = $1 and state <> 'PENDING'`, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from identifications where certificate_id = $1 and state = 'PENDING'`, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from identification_requests where certificate_id = $1`, id); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-evidence-erased", why)
	})
	if err == nil {
		s.drop(ctx, e)
	}
	return err
}

// eraseOld erases the evidence of orders that ended long ago.
func (s *Service) eraseOld(ctx context.Context) error {
	now := s.config.Now()
	rows, err := s.db.Read().Query(ctx, `select distinct i.certificate_id from identifications i join certificates c on c.id = i.certificate_id where i.detail is not null
		and (c.state = 'CANCELLED' and c.updated_at < $1 or c.state in ('EXPIRED', 'REVOKED') and c.updated_at < $2) limit 1000`,
		store.Millis(now.Add(-s.config.KeepCancelled)), store.Millis(now.Add(-s.config.KeepEvidence)))
	if err != nil {
		return fmt.Errorf("enroll: old evidence: %w", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	err = rows.Err()
	for _, id := range ids {
		err = errors.Join(err, s.EraseEvidence(ctx, id, "evidence erased at the end of its retention"))
	}
	return err
}

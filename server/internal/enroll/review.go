package enroll

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/store"
)

// byReviewer is the reason of a reviewer's refusal, which does not count towards the limit that
// cancels an order.
const byReviewer = "operator"

// Waiting is what an operator decides on: what was handed in, and every
// attribute that an approval would put into the certificate.
type Waiting struct {
	Certificate *Certificate
	Method      string
	HandedInAt  time.Time
	Files       []string            // names
	Certified   *identify.Certified // nil where it cannot be approved
	SubjectDN   string              // that the certificate would have
	Problem     error               // why it cannot be approved
	Digest      string              // of all of it: what an approval is of

	blobs    []string // of Files
	row      *evidenceRow
	evidence evidence
	proof    *identify.Proof
}

// Waiting returns what of an order waits for an operator; fault 145 where
// nothing does.
func (s *Service) Waiting(ctx context.Context, id string) (*Waiting, error) {
	c, err := s.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := c.genuine(); err != nil {
		return nil, err
	}
	if !c.Identifies() || c.State == Ordered {
		return nil, fault.New(fault.WrongState, "the certificate is %s: there is nothing to review", c.State)
	}
	rows, err := evidenceRows(ctx, s.db.Read(), `where certificate_id = $1 and state = 'PENDING' order by id desc limit 1`, id)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.WrongState, "nothing was handed in that waits for a review")
	}
	w := &Waiting{Certificate: c, row: rows[0], Method: rows[0].method, HandedInAt: store.Time(rows[0].created)}
	if err := s.open(evidencePurpose, w.row.owner(), w.row.detail, &w.evidence.detail); err != nil {
		return nil, err
	}
	if err := s.open(handedInPurpose, w.row.owner(), w.row.browser, &w.evidence.browser); err != nil {
		return nil, err
	}
	files := w.evidence.detail.Files
	w.blobs = slices.SortedFunc(maps.Keys(files), func(a, b string) int { return cmp.Or(cmp.Compare(files[a], files[b]), cmp.Compare(a, b)) })
	for _, id := range w.blobs {
		w.Files = append(w.Files, files[id])
	}
	if card := w.evidence.detail.Proof; card != nil {
		w.proof = card.WithNames(c.identifyOrder())
	} else {
		w.proof = identify.ByOperator(c.identifyOrder(), anyNamed(files, organisationFile), s.config.Now())
	}
	if w.Certified, w.Problem = c.identifyOrder().Settle(w.proof); w.Problem == nil {
		w.SubjectDN, w.Problem = s.authority.SubjectDN(c.authorityOrder(w.Certified))
	}
	w.Digest, err = w.digest()
	return w, err
}

// AllWaiting are the orders of all accounts that wait for an operator, oldest
// first.
func (s *Service) AllWaiting(ctx context.Context, limit int) ([]*Waiting, error) {
	rows, err := s.db.Read().Query(ctx, `select certificate_id from identifications where state = 'PENDING' order by id limit $1`, limit)
	ids, err := store.All("enroll: what waits", rows, err, store.Column[string])
	var all []*Waiting
	for _, id := range ids {
		w, oops := s.Waiting(ctx, id)
		if errors.Is(oops, fault.WrongState) {
			continue // it was decided on meanwhile, or the order has ended
		}
		if oops != nil {
			return nil, oops
		}
		all = append(all, w)
	}
	return all, err
}

// File opens one of the files that were handed in, by its index in Files, for a reviewer. Each
// access is logged.
func (s *Service) File(ctx context.Context, w *Waiting, n int, by Reviewer) (io.ReadSeekCloser, error) {
	if n < 0 || n >= len(w.blobs) {
		return nil, fault.New(fault.NotFound, "there is no such file")
	}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		return s.note(ctx, tx, w.Certificate, "certificate-evidence-read", "evidence of an identification shown to a reviewer",
			map[string]any{"file": w.Files[n], "account": by.Account, "token": by.Token, "shown": w.Digest})
	})
	if err != nil {
		return nil, err
	}
	return s.blobs.Open(context.WithoutCancel(ctx), w.blobs[n]) // read after the call, at the pace of who reads
}

func (w *Waiting) digest() (string, error) {
	b, err := json.Marshal([]any{w.Certificate.ID, w.Certificate.Kind, w.Certificate.Level, w.Certified, w.SubjectDN, w.row.id, w.evidence.detail.Files})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// decide stores a decision on evidence that waits.
func (s *Service) decide(ctx context.Context, tx *store.Tx, c *Certificate, r *evidenceRow, text string, more ...map[string]any) error {
	err := tx.Expect(ctx, 1, fault.New(fault.WrongState, "nothing was handed in that waits for a review"),
		`update identifications set state = $1, decided_by = $2, reason = $3, decided_at = $4, detail = $5 where id = $6 and state = 'PENDING'`,
		r.state, r.decidedBy, r.reason, r.decided, r.detail, r.id)
	if err != nil {
		return err
	}
	return s.note(ctx, tx, c, "certificate-reviewed", text, append(more, map[string]any{"evidence": []mark{r.mark()}})...)
}

// Reviewer is who decides on what an applicant handed in. The operator at the
// command line has no account.
type Reviewer struct{ Account, Token string }

// Verdict is an operator's decision. Digest, where it is given, is that of what
// was looked at.
type Verdict struct {
	Approve        bool
	Reason, Digest string
	Checked        []string // what of the list was looked at, for the log
}

// Review is an operator's decision on what an applicant handed in. Outside the sandbox an
// administrator cannot decide on an order of their own account.
func (s *Service) Review(ctx context.Context, id string, by Reviewer, v Verdict) (*Certificate, error) {
	w, err := s.Waiting(ctx, id)
	if err != nil {
		return nil, err
	}
	c := w.Certificate
	switch {
	case by.Account == c.AccountID && !s.config.Sandbox:
		return nil, fault.New(fault.AdminOnly, "an administrator of another account must look at this order")
	case v.Digest != "" && v.Digest != w.Digest:
		return nil, fault.New(fault.WrongState, "what was looked at is not what waits now: look at it again")
	case v.Approve && w.Problem != nil:
		return nil, w.Problem
	}
	r := *w.row
	r.state, r.decidedBy, r.reason, r.decided = refused, by.Token, v.Reason, store.Millis(s.config.Now())
	word := "refused"
	if v.Approve {
		r.state, word = approved, "approved"
		w.evidence.detail.Proof, w.evidence.detail.Approved = w.proof, w.Certified
	}
	if r.detail, err = s.seal(evidencePurpose, r.owner(), w.evidence.detail); err != nil {
		return nil, err
	}
	decide := func(tx *store.Tx) error {
		return s.decide(ctx, tx, c, &r, word+" by an operator", map[string]any{"shown": w.Digest, "account": by.Account, "token": by.Token, "checked": v.Checked})
	}
	if v.Approve {
		return s.identified(ctx, c, w.proof, w.evidence.browser, "approved by an operator", decide)
	}
	err = s.write(ctx, c, func(tx *store.Tx) error {
		if err := decide(tx); err != nil {
			return err
		}
		if c.State == Done { // an identification for other credentials: the certificate stays
			if err := s.notify(ctx, tx, c, newsRefused); err != nil {
				return err
			}
			return s.noteMethod(ctx, tx, c, "certificate-refused", w.Method, byReviewer)
		}
		return s.cancel(ctx, tx, c, "refused by an operator", true)
	})
	if err != nil {
		return nil, err
	}
	return s.ByID(ctx, id)
}

package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Identifier finds out who a holder is.
type Identifier interface {
	// Offers says whether an identification can be had on this server.
	Offers(method string) bool
	// BySignature judges a document signed by the applicant. A refusal is fault
	// 310; else what was found, to be kept as evidence.
	BySignature(ctx context.Context, document []byte, s Subject, owner string) (evidence any, err error)
}

// ByLink returns the certificate that a link belongs to, or fault 140: a wrong
// secret and an unknown id look the same.
func (s *Service) ByLink(ctx context.Context, id, secret string) (*Certificate, error) {
	c, err := s.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if !equal(c.linkSecret, secret) {
		return nil, fault.New(fault.NotFound, "no such certificate")
	}
	return c, nil
}

// EnrolsDevice says that the link is for a new one-time-password device.
func (c *Certificate) EnrolsDevice() bool { return c.linkPurpose == "enrol" }

// HasUnseen says that the credentials wait for their holder.
func (c *Certificate) HasUnseen() bool { return c.State == Done && len(c.once) > 0 }

// Pending says that evidence was handed in and waits for the operator.
func (s *Service) Pending(ctx context.Context, c *Certificate) (bool, error) {
	var n int
	err := s.db.Read().QueryRow(ctx, `select count(*) from identifications where certificate_id = $1 and state = 'PENDING'`, c.ID).Scan(&n)
	return n > 0, err
}

// ApproveInSandbox is the button of the sandbox: nobody is identified.
func (s *Service) ApproveInSandbox(ctx context.Context, c *Certificate) (*Certificate, error) {
	if !s.config.Sandbox {
		return nil, fault.New(fault.WrongState, "this is not a sandbox")
	}
	return s.approveAndIssue(ctx, c, "approved by the button of the sandbox", nil)
}

func (s *Service) approveAndIssue(ctx context.Context, c *Certificate, why string, more func(tx *store.Tx) error) (*Certificate, error) {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if more != nil {
			if err := more(tx); err != nil {
				return err
			}
		}
		return s.approve(ctx, tx, c, why)
	})
	if err != nil {
		return nil, err
	}
	return s.Issue(ctx, c.ID)
}

// BySignature identifies the holder by a document signed with a certificate
// they have already.
func (s *Service) BySignature(ctx context.Context, c *Certificate, document []byte) (*Certificate, error) {
	if c.Identification != "signature" || c.State != Ordered && c.State != Registering {
		return nil, fault.New(fault.WrongState, "the certificate is %s, by %s", c.State, c.Identification)
	}
	found, err := s.identify.BySignature(ctx, document, c.Subject, c.Owner)
	if err != nil {
		return nil, err
	}
	detail, err := s.seal(evidencePurpose, found)
	if err != nil {
		return nil, err
	}
	blob, err := s.blobs.Put(ctx, newReader(document))
	if err != nil {
		return nil, fmt.Errorf("enroll: keep evidence: %w", err)
	}
	return s.approveAndIssue(ctx, c, "identified by a valid signature", func(tx *store.Tx) error {
		return s.keepEvidence(ctx, tx, c, "signature", "APPROVED", detail, []string{blob.ID})
	})
}

const evidencePurpose = "identification"

// Evidence is one file that the applicant handed in.
type Evidence struct {
	Name string
	Data io.Reader
}

// ByVideo keeps a video and a photo of a document until an operator has looked
// at them.
func (s *Service) ByVideo(ctx context.Context, c *Certificate, files []Evidence) (*Certificate, error) {
	if c.Identification != "video" || c.State != Ordered {
		return nil, fault.New(fault.WrongState, "the certificate is %s, by %s", c.State, c.Identification)
	}
	var ids []string
	names := map[string]string{}
	for _, f := range files {
		blob, err := s.blobs.Put(ctx, f.Data)
		if err != nil {
			return nil, fmt.Errorf("enroll: keep evidence: %w", err)
		}
		ids = append(ids, blob.ID)
		names[blob.ID] = f.Name
	}
	detail, err := s.seal(evidencePurpose, names)
	if err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := s.step(ctx, tx, c, Registering, "video and document handed in"); err != nil {
			return err
		}
		return s.keepEvidence(ctx, tx, c, "video", "PENDING", detail, ids)
	})
	if err != nil {
		return nil, err
	}
	return s.ByID(ctx, c.ID)
}

func (s *Service) keepEvidence(ctx context.Context, tx *store.Tx, c *Certificate, method, state string, detail []byte, blobs []string) error {
	list, err := json.Marshal(blobs)
	if err != nil {
		return err
	}
	now := store.Millis(s.config.Now())
	decided := int64(0)
	if state != "PENDING" {
		decided = now
	}
	_, err = tx.Exec(ctx, `insert into identifications (id, certificate_id, method, state, detail, blobs, created_at, decided_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`, store.NewID(), c.ID, method, state, detail, string(list), now, decided)
	return err
}

// Review is an operator's decision on what an applicant handed in.
func (s *Service) Review(ctx context.Context, id, by string, approve bool, reason string) (*Certificate, error) {
	c, err := s.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if c.State != Registering {
		return nil, fault.New(fault.WrongState, "the certificate is %s: there is nothing to review", c.State)
	}
	state := "REFUSED"
	if approve {
		state = "APPROVED"
	}
	decide := func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update identifications set state = $1, decided_by = $2, reason = $3, decided_at = $4 where certificate_id = $5 and state = 'PENDING'`,
			state, by, reason, store.Millis(s.config.Now()), id)
		if err == nil && n == 0 {
			return fault.New(fault.WrongState, "nothing was handed in that waits for a review")
		}
		return err
	}
	if approve {
		return s.approveAndIssue(ctx, c, "approved by an operator", decide)
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := decide(tx); err != nil {
			return err
		}
		return s.cancel(ctx, tx, c, "refused by an operator")
	})
	if err != nil {
		return nil, err
	}
	return s.ByID(ctx, id)
}

// Files returns the evidence that waits for review: blob ids by file name.
func (s *Service) Files(ctx context.Context, id string) (map[string]string, error) {
	var detail []byte
	err := s.db.Read().QueryRow(ctx, `select detail from identifications where certificate_id = $1 order by id desc limit 1`, id).Scan(&detail)
	if errors.Is(err, store.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	if err := s.open(evidencePurpose, detail, &names); err != nil {
		return nil, err
	}
	return names, nil
}

// OpenEvidence reads a file of the evidence.
func (s *Service) OpenEvidence(ctx context.Context, blob string) (io.ReadCloser, error) {
	return s.blobs.Open(context.WithoutCancel(ctx), blob) // read after the call, at the pace of who reads
}

// EnrolDevice gives a certificate a new one-time-password secret, after the
// holder's password was judged.
func (s *Service) EnrolDevice(ctx context.Context, c *Certificate, password string) (*Credentials, error) {
	if !c.EnrolsDevice() || c.State != Done || c.Kind != keys.OTP {
		return nil, fault.New(fault.WrongState, "this link is not for a new device")
	}
	cred, err := s.keys.ByID(ctx, c.ID)
	if err != nil || cred == nil {
		return nil, errors.Join(err, errors.New("enroll: no credential"))
	}
	if _, err := s.keys.Authenticate(ctx, cred.AccountID, cred.Username, password); err != nil {
		return nil, wrongPassword(err, "password")
	}
	secret := keys.NewTOTPSecret()
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update certificates set link = null, link_purpose = 'identify' where id = $1 and link_purpose = 'enrol'`, c.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.WrongState, "the link was used already")
		}
		if err := s.keys.Enrol(ctx, tx, c.ID, secret); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-enrolled", "a new one-time-password device was enrolled")
	})
	if err != nil {
		return nil, err
	}
	return &Credentials{Username: cred.Username, TOTPSecret: secret}, nil
}

package enroll

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Browser is the secret that a page stored in the browser that opened it. Credentials are shown
// only in the browser that went through the identification: the link alone is known to the
// buyer too.
type Browser string

// Hash is what is stored of a browser's secret.
func (b Browser) Hash() []byte {
	h := sha256.Sum256([]byte(b))
	return h[:]
}

// Browsers are all the secrets that a browser sent. An attacker who can set cookies there may
// have added some, so each step that ties a browser to an order makes a new secret, and only
// those are ever tied.
type Browsers []Browser

// Has says that a browser shows the secret of a hash.
func (all Browsers) Has(hash []byte) bool {
	found := 0
	for _, b := range all {
		found |= subtle.ConstantTimeCompare(hash, b.Hash())
	}
	return found == 1
}

// ByLink returns the certificate that a link belongs to, or fault 140: a wrong
// secret and an unknown id look the same.
func (s *Service) ByLink(ctx context.Context, id, secret string) (*Certificate, error) {
	c, err := s.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if !equal(c.linkSecret, secret) || c.State == Cancelled {
		return nil, fault.New(fault.NotFound, "no such certificate")
	}
	return c, nil
}

// BuyersLink is the link as the buyer may see it: until credentials wait behind
// it. From then on it is the holder's alone.
func (c *Certificate) BuyersLink() string {
	if c.State == Ordered || c.State == Registering {
		return c.Link
	}
	return ""
}

// DeviceLink is the link for a new one-time-password device, if there is one.
// It is worth nothing without the old device or another identification.
func (c *Certificate) DeviceLink() string {
	if c.EnrolsDevice() {
		return c.Link
	}
	return ""
}

// EnrolsDevice says that the link is for a new one-time-password device.
func (c *Certificate) EnrolsDevice() bool { return c.linkPurpose == "enrol" }

// HasUnseen says that the credentials wait for their holder.
func (c *Certificate) HasUnseen() bool { return c.State == Done && len(c.once) > 0 }

// Identified says whether a browser went through the identification.
func (c *Certificate) Identified(shown Browsers) bool {
	return len(c.browser) > 0 && shown.Has(c.browser)
}

// Identifies says whether the holder may be identified now: before the
// certificate is issued, and again for credentials that another browser was to
// see or for a device that was lost.
func (c *Certificate) Identifies() bool {
	if c.Remote() { // its provider has done that
		return false
	}
	return c.State == Ordered || c.State == Registering || c.HasUnseen() || c.EnrolsDevice() && c.State == Done
}

// Identifications are those that this server offers.
func (s *Service) Identifications() []string { return s.identify.Offered() }

// Methods are those that the order allows and this server offers. Who is
// identified again shows at least as much as the first time: credentials or a
// device must not be had for less than the certificate was.
func (s *Service) Methods(c *Certificate) []string {
	return slices.DeleteFunc(s.identify.Offered(), func(m string) bool {
		if c.State == Done && c.Certified != nil && !identify.AsGood(m, c.Certified.Method) {
			return true
		}
		// SPID, CIE and cards know persons: none of them proves an organisation.
		return c.Identification != m && (c.Identification != "" || c.Kind == keys.ESeal && s.identify.Method(m) != nil)
	})
}

func (s *Service) allows(c *Certificate, method string) error {
	if err := c.genuine(); err != nil {
		return err
	}
	if method == byProvider && c.awaits() {
		return nil
	}
	if !c.Identifies() || !slices.Contains(s.Methods(c), method) {
		return fault.New(fault.WrongState, "the certificate is %s: it is not identified by %s now", c.State, method)
	}
	return nil
}

// Pending says that evidence was handed in and waits for the operator.
func (s *Service) Pending(ctx context.Context, c *Certificate) (bool, error) {
	var n int
	err := s.db.Read().QueryRow(ctx, `select count(*) from identifications where certificate_id = $1 and state = 'PENDING'`, c.ID).Scan(&n)
	return n > 0, err
}

// ApproveInSandbox is the button of the sandbox; it replaces every kind of proof.
func (s *Service) ApproveInSandbox(ctx context.Context, c *Certificate, b Browser) (*Certificate, error) {
	if !s.config.Sandbox {
		return nil, fault.New(fault.WrongState, "this is not a sandbox")
	}
	if !c.Identifies() {
		return nil, fault.New(fault.WrongState, "the certificate is %s", c.State)
	}
	proof := identify.InSandbox(c.identifyOrder(), s.config.Now())
	return s.identified(ctx, c, proof, b.Hash(), "approved by the button of the sandbox", nil)
}

// identified takes what was proven: it is what will be certified, and the
// browser that proved it will see the credentials. more is done in the same
// transaction.
func (s *Service) identified(ctx context.Context, c *Certificate, proof *identify.Proof, browser []byte, why string, more func(tx *store.Tx) error) (*Certificate, error) {
	if err := c.genuine(); err != nil {
		return nil, err
	}
	certified, err := c.identifyOrder().Settle(proof)
	if err != nil {
		return nil, err
	}
	proven, err := s.seal(provenPurpose, c.ID, certified)
	if err != nil {
		return nil, err
	}
	sealed, err := s.seal(browserPurpose, c.ID, browser)
	if err != nil {
		return nil, err
	}
	first := c.State == Ordered || c.State == Registering
	asks := first && len(certified.Filled) > 0
	err = s.write(ctx, c, func(tx *store.Tx) error {
		if more != nil {
			if err := more(tx); err != nil {
				return err
			}
		}
		if err := s.supersede(ctx, tx, c); err != nil {
			return err
		}
		if !first {
			err := tx.Expect(ctx, 1, fault.New(fault.WrongState, "the certificate is not DONE any more"),
				`update certificates set browser = $1, statement = null where id = $2 and state = $3`, sealed, c.ID, string(Done))
			if err != nil {
				return err
			}
			return s.noteMethod(ctx, tx, c, "certificate-identified", proof.Method, "again")
		}
		if err := s.noteMethod(ctx, tx, c, "certificate-identified", proof.Method, ""); err != nil {
			return err
		}
		if !asks {
			if _, err := tx.Exec(ctx, `update certificates set certified = $1, browser = $2, statement = null where id = $3`, proven, sealed, c.ID); err != nil {
				return err
			}
			return s.approve(ctx, tx, c, why)
		}
		if c.State == Ordered {
			if err := s.step(ctx, tx, c, Registering, why); err != nil {
				return err
			}
		}
		// It may have been cancelled, or be issued by now.
		err := tx.Expect(ctx, 1, fault.New(fault.WrongState, "the order is not %s any more", Registering),
			`update certificates set certified = $1, browser = $2, statement = null where id = $3 and state = $4`, proven, sealed, c.ID, string(Registering))
		if err != nil {
			return err
		}
		return s.notify(ctx, tx, c, newsConfirm)
	})
	if err != nil {
		return nil, err
	}
	if !first || asks {
		return s.ByID(ctx, c.ID)
	}
	return s.Issue(ctx, c.ID)
}

// otherwise is the reason stored with evidence that was superseded before an operator decided on
// it.
const otherwise = "identified otherwise"

// supersede refuses evidence that waits for an operator: it may have come from another browser,
// and approving it later would replace the one that was identified now.
func (s *Service) supersede(ctx context.Context, tx *store.Tx, c *Certificate) error {
	waiting, err := evidenceRows(ctx, tx, `where certificate_id = $1 and state = 'PENDING'`, c.ID)
	if err != nil {
		return err
	}
	for _, r := range waiting {
		r.state, r.reason, r.decided = refused, otherwise, store.Millis(s.config.Now())
		if err := s.decide(ctx, tx, c, r, "the holder was identified otherwise"); err != nil {
			return err
		}
	}
	return nil
}

// Unconfirmed says that the holder was identified, which brought what the order
// does not name, and that nothing is issued until the holder has confirmed that.
func (c *Certificate) Unconfirmed() bool { return c.State == Registering && c.Certified != nil }

// Shown is the digest of what the holder is asked to confirm.
func (c *Certificate) Shown() string {
	b, err := json.Marshal(c.Certified)
	if err != nil {
		return "" // strings only: it cannot be
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Confirm takes the holder's word that what identification filled in is right,
// in the browser that went through it, and issues. what is the digest of what
// was shown.
func (s *Service) Confirm(ctx context.Context, c *Certificate, what string, shown Browsers) (*Certificate, error) {
	if err := c.genuine(); err != nil {
		return nil, err
	}
	switch {
	case !c.Unconfirmed():
		return nil, fault.New(fault.WrongState, "the certificate is %s: there is nothing to confirm", c.State)
	case !c.Identified(shown):
		return nil, fault.New(fault.WrongState, "what will be certified is confirmed in the browser that went through the identification: be identified again in this one")
	case !equal(c.Shown(), what):
		return nil, fault.New(fault.WrongState, "what was shown is not what waits now: look at it again")
	}
	err := s.write(ctx, c, func(tx *store.Tx) error {
		err := tx.Expect(ctx, 1, fault.New(fault.WrongState, "what was shown is not what waits now: look at it again"),
			`update certificates set updated_at = updated_at where id = $1 and state = $2 and browser = $3`, c.ID, string(Registering), c.browserSealed)
		if err != nil {
			return err
		}
		if err := s.supersede(ctx, tx, c); err != nil {
			return err
		}
		if err := s.note(ctx, tx, c, "certificate-confirmed", "the holder confirmed what identification filled in", map[string]any{"shown": what, "filled": c.Certified.Filled}); err != nil {
			return err
		}
		return s.approve(ctx, tx, c, "confirmed by the holder")
	})
	if err != nil {
		return nil, err
	}
	return s.Issue(ctx, c.ID)
}

// Statement returns the document that the holder signs to be identified. It is
// made for this order when it is first asked for, and again when it has grown
// too old.
func (s *Service) Statement(ctx context.Context, c *Certificate) ([]byte, error) {
	if err := s.allows(c, "signature"); err != nil {
		return nil, err
	}
	if b := s.identify.Again(c.identifyOrder(), c.statement); b != nil {
		return b, nil
	}
	st, b := s.identify.NewStatement(c.identifyOrder())
	sealed, err := s.seal(statePurpose, c.ID, st)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, c, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `update certificates set statement = $1 where id = $2`, sealed, c.ID); err != nil {
			return err
		}
		for _, d := range identify.Digests(b) {
			err := s.audit.Append(ctx, tx, audit.Event{Account: c.AccountID, Record: statementID(d), Kind: kindStatement, Log: "a digest of a statement, which nobody signs here"})
			if err != nil {
				return err
			}
		}
		return s.note(ctx, tx, c, "certificate-statement", "a statement was made for the holder to sign")
	})
	return b, err
}

// statementID is what the digest of a statement is known by.
func statementID(digest []byte) string { return digestOf("statement", hex.EncodeToString(digest)) }

// IsStatement reports whether a document is an identification statement, on its own or wrapped
// in something, or has the digest of one. A service that signs for others must not sign it.
func (s *Service) IsStatement(ctx context.Context, document ades.Source, digest []byte) (yes bool, err error) {
	if digest == nil {
		return identify.IsStatement(ctx, document)
	}
	yes, err = audit.Had(ctx, s.db.Read(), kindStatement, statementID(digest))
	if err != nil {
		return false, fmt.Errorf("enroll: look for a statement: %w", err)
	}
	return yes, nil
}

// BySignature identifies the holder by the statement of the order, signed with a certificate
// they already have. A statement counts once: a successful identification deletes it.
func (s *Service) BySignature(ctx context.Context, c *Certificate, document ades.Source, b Browser) (*Certificate, error) {
	if err := s.allows(c, "signature"); err != nil {
		return nil, err
	}
	proof, _, err := s.identify.BySignature(ctx, document, c.statement, c.identifyOrder())
	if errors.Is(err, fault.NotTheApplicant) {
		return nil, s.refuse(ctx, c, "signature", err)
	}
	if err != nil {
		return nil, err
	}
	blob, err := s.blobs.Put(ctx, io.NewSectionReader(document, 0, document.Size()))
	if err != nil {
		return nil, fmt.Errorf("enroll: keep evidence: %w", err)
	}
	e := evidence{method: "signature", state: approved, detail: detail{Proof: proof, Files: map[string]string{blob.ID: "statement"}}, browser: b.Hash()}
	return s.identified(ctx, c, proof, b.Hash(), "identified by a signed statement", func(tx *store.Tx) error {
		err := tx.Expect(ctx, 1, fault.New(fault.WrongState, "the statement was used already"),
			`update certificates set statement = null where id = $1 and statement is not null`, c.ID)
		if err != nil {
			return err
		}
		return s.keepEvidence(ctx, tx, c, e)
	})
}

// Evidence is one file that the applicant handed in.
type Evidence struct {
	Name string
	Data io.Reader
	// Look finds out, once the file is stored, whether a person can view it; nil: not checked.
	Look func(io.Reader) error
}

// organisationFile begins the name of the extract from a register that proves
// an organisation.
const organisationFile = "organization-"

// ByVideo keeps a video, a photo of a document and, for a seal, an extract from
// the organisation's register until an operator has looked at them. next
// returns io.EOF after the last file.
func (s *Service) ByVideo(ctx context.Context, c *Certificate, next func() (Evidence, error), b Browser) (_ *Certificate, err error) {
	if err := s.allows(c, "video"); err != nil {
		return nil, err
	}
	if waits, err := s.Pending(ctx, c); err != nil || waits {
		return nil, errors.Join(err, fault.New(fault.WrongState, "what was handed in before is being looked at"))
	}
	names := map[string]string{}
	e := evidence{method: "video", state: pending, detail: detail{Files: names}, browser: b.Hash()}
	defer func() {
		if err != nil { // no row refers to them
			s.drop(ctx, e)
		}
	}()
	for {
		f, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		blob, err := s.blobs.Put(ctx, f.Data)
		if err != nil {
			return nil, fmt.Errorf("enroll: keep evidence: %w", err)
		}
		names[blob.ID] = f.Name
		if err := s.inspect(ctx, blob.ID, f); err != nil {
			return nil, err
		}
	}
	if err := complete(names, c.Kind == keys.ESeal); err != nil {
		return nil, err
	}
	return s.handIn(ctx, c, e, "video and document handed in", nil)
}

// inspect checks a file after it was stored, so that no check runs on half an upload.
func (s *Service) inspect(ctx context.Context, id string, f Evidence) error {
	if f.Look == nil {
		return nil
	}
	r, err := s.blobs.Open(ctx, id)
	if err != nil {
		return fmt.Errorf("enroll: look at evidence: %w", err)
	}
	defer r.Close()
	return f.Look(r)
}

// handIn keeps evidence until an operator has looked at it. more is done in the
// same transaction.
func (s *Service) handIn(ctx context.Context, c *Certificate, e evidence, why string, more func(tx *store.Tx) error) (*Certificate, error) {
	err := s.write(ctx, c, func(tx *store.Tx) error {
		if more != nil {
			if err := more(tx); err != nil {
				return err
			}
		}
		if c.State == Ordered {
			if err := s.step(ctx, tx, c, Registering, why); err != nil {
				return err
			}
		}
		// It may have been cancelled while the files came in.
		err := tx.Expect(ctx, 1, fault.New(fault.WrongState, "the order is not %s any more", c.State),
			`update certificates set updated_at = updated_at where id = $1 and state = $2`, c.ID, string(c.State))
		if err != nil {
			return err
		}
		if err := s.keepEvidence(ctx, tx, c, e); err != nil {
			return err
		}
		if err := s.notify(ctx, tx, c, newsReceived); err != nil || s.config.HandedIn == nil {
			return err
		}
		return s.config.HandedIn(ctx, tx, c)
	})
	if err != nil {
		return nil, err
	}
	return s.ByID(ctx, c.ID)
}

// complete says what is missing among the files of an identification by video.
func complete(names map[string]string, seal bool) error {
	for _, kind := range []string{"video-", "photo-", organisationFile} {
		if kind == organisationFile && !seal {
			continue
		}
		if !anyNamed(names, kind) {
			return fault.New(fault.BadField, "%s is missing", strings.TrimSuffix(kind, "-"))
		}
	}
	return nil
}

func anyNamed(names map[string]string, prefix string) bool {
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			return true
		}
	}
	return false
}

// EnrolDevice gives a certificate a new one-time-password secret. The password alone does not
// suffice, since every signing call carries it: a code of the old device is needed too, or a
// browser that was identified again.
func (s *Service) EnrolDevice(ctx context.Context, c *Certificate, password, code string, shown Browsers, from string) (*Credentials, error) {
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
	factor := "identification"
	if !c.Identified(shown) {
		factor = "code"
		if code == "" {
			return nil, fault.New(fault.BadField, "a code of the old device is missing: without the old device, be identified again")
		}
		// A code from before the link existed was not given for this purpose.
		err := s.keys.VerifyLaterOTP(ctx, cred, code, c.linkAt)
		switch {
		case errors.Is(err, keys.ErrOTP):
			return nil, fault.New(fault.BadField, "the code of the old device is wrong or was used")
		case errors.Is(err, keys.ErrEarly):
			return nil, fault.New(fault.BadField, "the code of the old device is from before this link was made: wait for the next code, half a minute at most")
		case err != nil:
			return nil, err
		}
	}
	secret := keys.NewTOTPSecret()
	err = s.write(ctx, c, func(tx *store.Tx) error {
		err := tx.Expect(ctx, 1, fault.New(fault.WrongState, "the link was used already"), `update certificates set link_purpose = 'identify', browser = null, statement = null
			where id = $1 and link_purpose = 'enrol' and state = $2`, c.ID, string(Done))
		if err != nil {
			return err
		}
		if err := s.keys.Enrol(ctx, tx, c.ID, secret); err != nil {
			return err
		}
		if err := s.notify(ctx, tx, c, newsDevice); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-enrolled", "a new one-time-password device was enrolled", map[string]any{"factor": factor, "address": from})
	})
	if err == nil {
		err = intent.Wait(ctx, s.db, intent.Certificate, c.ID)
	}
	if err != nil {
		return nil, err
	}
	return &Credentials{Username: cred.Username, TOTPSecret: secret}, nil
}

// Enrolment is how a certificate got its one-time-password device.
type Enrolment struct {
	At      time.Time
	Address string `json:"address"`
	Factor  string `json:"factor"` // code, identification
}

// Enrolled returns the last enrolment of a new device, as the log has it; nil
// where there was none.
func (s *Service) Enrolled(ctx context.Context, c *Certificate) (*Enrolment, error) {
	if c.Kind != keys.OTP {
		return nil, nil
	}
	events, err := s.audit.Of(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(events) {
		if e.Kind != "certificate-enrolled" {
			continue
		}
		out := &Enrolment{At: store.Time(e.CreatedAt)}
		_, text := e.Text()
		return out, json.Unmarshal(text, out)
	}
	return nil, nil
}

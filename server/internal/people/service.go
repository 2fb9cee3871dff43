package people

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// Parts are what a Service works with.
type Parts struct {
	DB        *store.DB
	Master    keys.Sealer
	Blobs     blob.Store
	Keys      *keys.Store
	Enroll    *enroll.Service
	Authority *authority.Authority
	Audit     *audit.Log
	Signing   *signing.Service
	Jobs      *job.Queue
	Messenger Messenger
	Drawer    *draw.Drawer
}

// Config of a Service. Zero fields take the contract's defaults.
type Config struct {
	Operator string        // its name, in messages
	Expires  time.Duration // zero means 30 days
	// Seal is the certificate that EU-SES signs with: username and password of one on
	// this server; empty: the server's own seal.
	Seal, SealPassword string
	Now                func() time.Time
	Log                *slog.Logger
}

// Service asks people to sign.
type Service struct {
	Parts
	config Config
}

var _ Page = (*Service)(nil)

// New returns a service, which works on the records of p.Signing that people sign.
func New(p Parts, c Config) *Service {
	if c.Expires <= 0 {
		c.Expires = 30 * 24 * time.Hour
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Operator == "" {
		c.Operator = "Rogito"
	}
	s := &Service{Parts: p, config: c}
	p.Signing.People = s
	p.Enroll.Others = s.applicantOf
	return s
}

// Register has messages, reminders and ends worked on.
func (s *Service) Register() {
	s.Jobs.Register(messageJob, job.Kind{Attempts: 6, Work: s.sendMessage})
	s.Jobs.Register(reminderJob, job.Kind{Attempts: 20, Work: s.remindAll})
	s.Jobs.Register(expiryJob, job.Kind{Attempts: 20, Work: s.expire})
}

// Rules are what this server offers to people who sign.
func (s *Service) Rules() request.PeopleRules {
	offered := slices.DeleteFunc(slices.Clone(s.Enroll.Identifications()), func(m string) bool { return m == "video" || m == "signature" })
	return request.PeopleRules{Now: s.config.Now, Expires: s.config.Expires, Identifications: offered, Offers: s.Messenger.Offers}
}

// Submit accepts a request. The record waits for its validation, and everybody has a link at
// once.
func (s *Service) Submit(ctx context.Context, req *request.PeopleRequest, from request.Caller) (*ledger.Record, error) {
	now := s.config.Now()
	persons := make([]*ledger.Person, len(req.Signers))
	for i, in := range req.Signers {
		p := &ledger.Person{
			ID: newUUID(), Position: i, State: ledger.PersonNew, UpdatedAt: now, Secret: newSecret(),
			Name: in.Name, Surname: in.Surname, Email: in.Email, Mobile: in.Mobile, Authentication: in.Authentication, Identification: in.Identification,
			Message: in.Message, Language: in.Language, Order: in.Order, Role: in.Role, Reference: in.Reference, Username: in.Username, Template: in.Place,
		}
		for _, spot := range in.Signatures {
			p.Signatures = append(p.Signatures, ledger.Place(spot))
		}
		persons[i] = p
	}
	return s.Signing.SubmitPeople(ctx, req, from, persons, func(tx *store.Tx, r *ledger.Record) error {
		s.Jobs.Wake(tx, "work")
		return job.Put(ctx, tx, job.Item{Kind: expiryJob, ID: r.ID, Account: r.AccountID, After: time.Until(r.Options.People.ExpiresAt)})
	})
}

func newUUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80 // RFC 9562, version 4
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// newSecret is that of a link: 208 bits.
func newSecret() string { return rand.Text() + rand.Text() }

// due are those whose turn it is.
func due(r *ledger.Record) (all []*ledger.Person) {
	first, found := 0, false
	for _, p := range r.Persons {
		if p.Acts() && !p.State.Final() && (!found || p.Order < first) {
			first, found = p.Order, true
		}
	}
	for _, p := range r.Persons {
		if p.Acts() && !p.State.Final() && p.Order == first {
			all = append(all, p)
		}
	}
	return all
}

// IsDue says whether it is the turn of a person.
func IsDue(r *ledger.Record, p *ledger.Person) bool {
	return r.State == ledger.WaitSigners && slices.ContainsFunc(due(r), func(d *ledger.Person) bool { return d.ID == p.ID })
}

// has says that an account's record has a person; fault 140 where it does not.
func (s *Service) has(ctx context.Context, account, record, person string) error {
	r, err := s.Signing.Find(ctx, account, record)
	if err == nil && !slices.ContainsFunc(r.Persons, func(p *ledger.Person) bool { return p.ID == person }) {
		err = fault.New(fault.NotFound, "no such signer")
	}
	return err
}

// Remind sends a person whose turn it is the link again.
func (s *Service) Remind(ctx context.Context, account, record, person string) (*ledger.Record, error) {
	if err := s.has(ctx, account, record, person); err != nil {
		return nil, err
	}
	r, _, err := s.Signing.ChangePerson(ctx, record, person, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if !IsDue(r, p) {
			return "", "", nil, fault.New(fault.WrongState, "the signer is %s, and the record %s: there is nothing to be reminded of", p.State, r.State)
		}
		if channelOf(p) == "" {
			return "", "", nil, fault.New(fault.WrongState, "the signer has neither an e-mail address nor a number that a reminder could be sent to")
		}
		p.Reminded = s.config.Now()
		return "reminded", "a reminder was asked for", nil, s.put(ctx, tx, r, p, Reminder)
	})
	return r, err
}

// Replacement is who takes the place of a signer.
type Replacement struct{ Name, Surname, Email, Mobile string }

// Replace asks another person in place of one who has not authenticated. The old link stops
// working.
func (s *Service) Replace(ctx context.Context, account, record, person string, by Replacement) (*ledger.Record, error) {
	if err := s.has(ctx, account, record, person); err != nil {
		return nil, err
	}
	r, _, err := s.Signing.ChangePerson(ctx, record, person, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if r.State.Final() || r.State == ledger.WaitSign || p.State.Final() || p.State == ledger.PersonAuthenticated || proven(p) {
			return "", "", nil, fault.New(fault.WrongState, "the signer is %s, and the record %s: nobody can take their place", p.State, r.State)
		}
		fresh := &ledger.Person{
			ID: newUUID(), Position: p.Position, Version: p.Version, State: ledger.PersonNew, Secret: newSecret(), Name: by.Name, Surname: by.Surname, Email: by.Email, Mobile: by.Mobile,
			Authentication: p.Authentication, Identification: p.Identification, Message: p.Message, Language: p.Language, Order: p.Order, Role: p.Role, Reference: p.Reference,
			Template: p.Template, Signatures: p.Signatures, Places: p.Places,
		}
		switch {
		case slices.Contains(fresh.Authentication, ledger.ByEmail) && fresh.Email == "":
			return "", "", nil, fault.New(fault.BadSigners, "email is required: a code is to be sent there")
		case slices.Contains(fresh.Authentication, ledger.BySMS) && fresh.Mobile == "":
			return "", "", nil, fault.New(fault.BadSigners, "mobile is required: a code is to be sent there")
		}
		*p = *fresh
		if IsDue(r, p) {
			if err := s.put(ctx, tx, r, p, Invite); err != nil {
				return "", "", nil, err
			}
		}
		return "replaced", fmt.Sprintf("somebody else is asked in the place of signer %d", p.Position+1), map[string]any{"before": person}, s.Signing.Tell(ctx, tx, r)
	})
	return r, err
}

// proven says that a person has given a code or was identified.
func proven(p *ledger.Person) bool {
	for _, c := range p.Codes {
		if c.Proven != "" {
			return true
		}
	}
	return p.Proof != nil
}

// expire ends a record that not everybody signed in time.
func (s *Service) expire(ctx context.Context, i job.Item) error {
	r, err := s.Signing.ByID(ctx, i.ID)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if left := r.Options.People.ExpiresAt.Sub(s.config.Now()); !r.State.Final() && left > 0 {
		return job.Snooze(left)
	}
	if r.State.Final() || r.State == ledger.WaitSign { // everybody has signed
		return nil
	}
	err = s.Signing.Stop(ctx, r, &ledger.Refusal{Number: fault.SignersLate, Text: "not everybody signed in time"}, func(*store.Tx) error { return nil })
	if errors.Is(err, fault.WrongState) {
		return nil
	}
	return err
}

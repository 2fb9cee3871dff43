package people

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// applicant is a person who is identified to sign.
type applicant struct {
	s *Service
	v *Visit
}

// applicantOf finds the person of an id; fault 140 for none.
func (s *Service) applicantOf(ctx context.Context, id string) (enroll.Applicant, error) {
	var record string
	err := s.DB.Read().QueryRow(ctx, `select signature_id from signers where id = $1`, id).Scan(&record)
	if errors.Is(err, store.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "no such signer")
	}
	if err != nil {
		return nil, err
	}
	r, err := s.Signing.ByID(ctx, record)
	if err != nil {
		return nil, err
	}
	for _, p := range r.Persons {
		if p.ID == id {
			return applicant{s, &Visit{Record: r, Person: p}}, nil
		}
	}
	return nil, fault.New(fault.NotFound, "no such signer")
}

func (a applicant) Account() string { return a.v.Record.AccountID }
func (a applicant) Address() string { return "/sign/" + a.v.Record.ID }

// Order is the person as named in the request; what is proven fills in the rest.
func (a applicant) Order() identify.Order {
	p := a.v.Person
	return identify.Order{ID: p.ID, Ordered: identify.Attributes{GivenName: p.Name, Surname: p.Surname}, Owner: p.FullName(), KindName: "signature"}
}

func (a applicant) Allows(method string) error {
	if err := a.s.open(a.v.Record, a.v.Person); err != nil {
		return err
	}
	if !slices.Contains(a.v.Person.Identification, method) {
		return fault.New(fault.WrongState, "the signer is not identified by %s", method)
	}
	return nil
}

// Turned is an identification that did not succeed, with the page it leads back to.
type Turned struct {
	Visit *Visit
	Err   error // a fault
}

func (t *Turned) Error() string { return t.Err.Error() }
func (t *Turned) Unwrap() error { return t.Err }

func (a applicant) Refused(why error) error { return &Turned{a.v, why} }

// Refuse writes down that an identification was refused: of the person nothing, and the
// state stays as it was.
func (a applicant) Refuse(ctx context.Context, method string, why error) error {
	why = enroll.AsFault(why)
	out := &Turned{a.v, why}
	var f *fault.Error
	if !errors.As(why, &f) || f.Code != fault.IdentityRefused && f.Code != fault.NotTheApplicant && f.Code != fault.BadField {
		return out
	}
	if f.Code == fault.BadField { // what was asked for was not proven: it may be another person
		out.Err = fault.New(fault.NotTheApplicant, "%s", f.Text).Because(f.Err)
	}
	_, _, err := a.s.Signing.ChangePerson(ctx, a.v.Record.ID, a.v.Person.ID, func(*store.Tx, *ledger.Record, *ledger.Person) (string, string, map[string]any, error) {
		return "refused", "identification by " + method + " refused", map[string]any{"method": method, "errorNumber": f.Code}, nil
	})
	if err != nil {
		return err
	}
	return out
}

// Providers is of Page.
func (s *Service) Providers(ctx context.Context, method string) []identify.Provider {
	return s.Enroll.Providers(ctx, method)
}

// Begin is of Page.
func (s *Service) Begin(ctx context.Context, v *Visit, method, provider string, fresh Browser) (*identify.Departure, error) {
	d, err := s.Enroll.BeginOther(ctx, v.Person.ID, applicant{s, v}, method, provider, fresh)
	if err != nil {
		return nil, &Turned{v, err}
	}
	return d, nil
}

// ShowCard is of Page.
func (s *Service) ShowCard(ctx context.Context, v *Visit, card [][]byte) (string, error) {
	d, err := s.Begin(ctx, v, "cns", "", "")
	if err != nil {
		return "", err
	}
	values := url.Values{"request": {d.Request}}
	for _, der := range card {
		values.Add("certificate", string(der))
	}
	_, token, err := s.Enroll.Answer(ctx, "cns", values)
	return token, err
}

// Return is of Page.
func (s *Service) Return(ctx context.Context, record, token string, shown Browsers, fresh Browser) (*Visit, error) {
	v, err := s.comeBack(ctx, record, token, shown, fresh)
	var turned *Turned
	if errors.As(err, &turned) {
		v = turned.Visit
	}
	return v, err
}

func (s *Service) comeBack(ctx context.Context, record, token string, shown Browsers, fresh Browser) (*Visit, error) {
	id, err := s.Enroll.AnswerOf(ctx, token)
	if err != nil {
		return nil, err
	}
	found, err := s.applicantOf(ctx, id)
	if err != nil {
		return nil, err
	}
	who := found.(applicant)
	if who.v.Record.ID != record {
		return nil, fault.New(fault.NotFound, "no such page")
	}
	back, err := s.Enroll.ReturnOther(ctx, id, who, token, shown)
	if err != nil {
		return nil, err
	}
	proof := back.Answer.Proof
	if proof.Nameless() {
		return nil, who.Refuse(ctx, back.Method, fault.New(fault.NotTheApplicant, "the card has no names, which have to be proven"))
	}
	certified, err := who.Order().Settle(proof)
	if err != nil {
		return nil, who.Refuse(ctx, back.Method, err)
	}
	subject, err := json.Marshal(certified)
	if err != nil {
		return nil, err
	}
	now, r := s.config.Now(), who.v.Record
	kept := &ledger.PersonProof{Method: back.Method, Issuer: proof.Issuer, Level: proof.Level, At: now, Subject: subject, Request: proof.Request, Browser: fresh.Hash(), Files: map[string]string{}}
	var files []*ledger.File
	for i, f := range back.Answer.Files {
		one := &ledger.File{ID: store.NewID(), Role: ledger.RoleEvidence, Position: len(r.Evidence) + 1000*who.v.Person.Position + i, Label: f.Name, CreatedAt: now}
		b, err := s.Blobs.For(r.Owner()).Put(ctx, io.Reader(bytes.NewReader(f.Content)))
		if err != nil {
			return nil, fmt.Errorf("people: keep evidence: %w", err)
		}
		one.Blob = b.ID
		one.Fill(b.Size, b.MD5[:], b.SHA256[:], "application/octet-stream", "bin")
		files = append(files, one)
		kept.Files[fmt.Sprintf("%d %s", i, f.Name)] = one.Traits()
	}
	taken := false
	r, p, err := s.Signing.ChangePerson(ctx, record, id, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if err := s.open(r, p); err != nil {
			return "", "", nil, err
		}
		if err := back.Take(tx); err != nil {
			return "", "", nil, err
		}
		if p.Proof != nil { // proven again, in another browser: the evidence before stays with the first
			for name, traits := range p.Proof.Files {
				kept.Files["before "+name] = traits
			}
		}
		if err := s.Signing.InsertFiles(ctx, tx, r.ID, files...); err != nil {
			return "", "", nil, err
		}
		p.Proof = kept
		s.authenticated(p, append(slices.Clone(shown), fresh))
		tx.OnCommit(func() { taken = true })
		return "identified", "identified by " + back.Method, map[string]any{"method": back.Method, "issuer": proof.Issuer, "level": proof.Level, "request": proof.Request}, s.Signing.Tell(ctx, tx, r)
	})
	if !taken {
		for _, f := range files {
			_ = s.Blobs.Delete(context.WithoutCancel(ctx), f.Blob) // the sweep of blobs would find it later
		}
	}
	if err != nil {
		return nil, &Turned{who.v, enroll.AsFault(err)}
	}
	return &Visit{Record: r, Person: p}, nil
}

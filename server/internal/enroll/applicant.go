package enroll

import (
	"context"
	"errors"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/store"
)

// Applicant is a person identified elsewhere: the holder of an order, or a person who signs.
type Applicant interface {
	Account() string
	Address() string // of the page where the browser comes back to
	Order() identify.Order
	// Allows says whether the method may be gone through now.
	Allows(method string) error
	// Refuse writes down that an identification was refused; Refused does not. Both
	// return what the page shows.
	Refuse(ctx context.Context, method string, why error) error
	Refused(why error) error
}

// Others finds applicants who have no order, by their ids; fault 140 for none.
type Others func(ctx context.Context, id string) (Applicant, error)

func (s *Service) applicant(ctx context.Context, id string) (Applicant, error) {
	c, err := s.ByID(ctx, id)
	if errors.Is(err, fault.NotFound) && s.Others != nil {
		return s.Others(ctx, id)
	}
	return certificateApplicant{s, c}, err
}

// certificateApplicant is that of an order.
type certificateApplicant struct {
	s *Service
	c *Certificate
}

func (a certificateApplicant) Account() string            { return a.c.AccountID }
func (a certificateApplicant) Address() string            { return "/enrol/" + a.c.ID }
func (a certificateApplicant) Order() identify.Order      { return a.c.identifyOrder() }
func (a certificateApplicant) Allows(method string) error { return a.s.allows(a.c, method) }
func (a certificateApplicant) Refused(why error) error {
	return &Refused{Certificate: a.c, Err: why}
}

func (a certificateApplicant) Refuse(ctx context.Context, method string, why error) error {
	return a.s.refuse(ctx, a.c, method, why)
}

// BeginOther makes a request to a provider for a person without an order.
func (s *Service) BeginOther(ctx context.Context, id string, who Applicant, method, provider string, b Browser) (*identify.Departure, error) {
	d, keep, err := s.depart(ctx, id, who, method, provider, b)
	if err != nil {
		return nil, err
	}
	return d, s.db.Write(ctx, func(tx *store.Tx) error { return keep(ctx, tx) })
}

// AnswerOf is the id of whom a token of the way back is for; fault 140 for none.
func (s *Service) AnswerOf(ctx context.Context, token string) (id string, err error) {
	err = s.db.Read().QueryRow(ctx, `select certificate_id from identification_requests where token = $1 and answer is not null`, digestOf("token", token)).Scan(&id)
	if errors.Is(err, store.ErrNoRows) {
		return "", &Refused{Err: AsFault(replayed)}
	}
	return id, err
}

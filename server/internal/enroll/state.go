package enroll

import (
	"context"
	"fmt"
	"slices"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// State of a certificate.
type State string

// The states, as the wire spells them.
const (
	Ordered     State = "NEW"
	Registering State = "REGISTERING" // identification under way
	Working     State = "WORKING"     // being issued
	Done        State = "DONE"
	Suspended   State = "SUSPENDED"
	Expired     State = "EXPIRED"
	Revoked     State = "REVOKED"
	Cancelled   State = "CANCELLED"
)

// States in the order of a life.
var States = []State{Ordered, Registering, Working, Done, Suspended, Expired, Revoked, Cancelled}

func stateWords() (words []string) {
	for _, s := range States {
		words = append(words, string(s))
	}
	return words
}

// next holds every step that is allowed; docs/lifecycle.md is the same table.
var next = map[State][]State{
	Ordered:     {Registering, Cancelled},
	Registering: {Working, Cancelled},
	Working:     {Done, Cancelled},
	Done:        {Suspended, Expired, Revoked},
	Suspended:   {Done, Expired, Revoked},
}

// Next returns the states that may follow.
func (s State) Next() []State { return next[s] }

// from lists the states that a state may follow.
func from(to State) []State {
	var all []State
	for _, s := range States {
		if slices.Contains(next[s], to) {
			all = append(all, s)
		}
	}
	return all
}

// write runs fn in a transaction. What fn does to the certificate in memory is
// undone with it: PostgreSQL may ask for a second run, which must find the
// certificate as the first one did.
func (s *Service) write(ctx context.Context, c *Certificate, fn func(tx *store.Tx) error) error {
	before := *c
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		*c = before
		return fn(tx)
	})
	if err != nil {
		*c = before
	}
	return err
}

// move takes a certificate to a state, if its own allows that: else fault 145.
func (s *Service) move(ctx context.Context, tx *store.Tx, c *Certificate, to State) error {
	return s.moveFrom(ctx, tx, c, to, from(to)...)
}

func (s *Service) moveFrom(ctx context.Context, tx *store.Tx, c *Certificate, to State, allowed ...State) error {
	if err := intent.Forbid(ctx, tx, intent.Certificate, c.ID); err != nil {
		return err
	}
	now := s.config.Now()
	for _, f := range allowed {
		n, err := tx.Exec(ctx, `update certificates set state = $1, updated_at = $2 where id = $3 and state = $4`,
			string(to), store.Millis(now), c.ID, string(f))
		if err != nil {
			return fmt.Errorf("enroll: move to %s: %w", to, err)
		}
		if n == 1 {
			c.State, c.UpdatedAt = to, now
			if f != Suspended && to == Done { // it is new, and was never on hold
				return nil
			}
			return s.keys.Hold(ctx, tx, c.ID, to != Done)
		}
	}
	return fault.New(fault.WrongState, "the certificate is %s: it cannot become %s", c.State, to)
}

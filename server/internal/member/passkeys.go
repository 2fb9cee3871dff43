package member

import (
	"context"
	"slices"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/member/passkey"
	"rogito.dev/rogito/server/internal/store"
)

// mostPasskeys of one person.
const mostPasskeys = 10

// Passkey is one of a person's, for who looks at a list of them.
type Passkey struct {
	ID   string
	Made time.Time // zero: before that was written down
}

// Keys are the passkeys of a person, in the order in which they were made.
func (m *Member) Keys() (all []Passkey) {
	for _, k := range m.Passkeys {
		all = append(all, Passkey{k.ID(), k.Made()})
	}
	return all
}

// AddPasskey gives a person one more way to log in.
func (s *Service) AddPasskey(ctx context.Context, m *Member, p Proof) error {
	key, err := s.register(m, p)
	if err != nil {
		return err
	}
	if len(m.Passkeys) >= mostPasskeys {
		return fault.New(fault.WrongState, "a person has at most %d passkeys: remove one first", mostPasskeys)
	}
	if slices.ContainsFunc(m.Passkeys, func(k passkey.Key) bool { return k.ID() == key.ID() }) {
		return nil // the form was sent twice
	}
	return s.rekey(ctx, m, append(slices.Clone(m.Passkeys), key), "passkey-added", "a person added a passkey", key.ID())
}

// RemovePasskey takes a way to log in from a person; one is left.
func (s *Service) RemovePasskey(ctx context.Context, m *Member, id string) error {
	left := slices.DeleteFunc(slices.Clone(m.Passkeys), func(k passkey.Key) bool { return k.ID() == id })
	if len(left) == len(m.Passkeys) {
		return fault.New(fault.NotFound, "there is no such passkey")
	}
	if len(left) == 0 && m.Password == nil {
		return fault.New(fault.WrongState, "this is the only way to log in: add another first")
	}
	return s.rekey(ctx, m, left, "passkey-removed", "a person removed a passkey", id)
}

func (s *Service) rekey(ctx context.Context, m *Member, keys []passkey.Key, kind, text, id string) error {
	m.Passkeys = keys
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.save(ctx, tx, m); err != nil {
			return err
		}
		return s.logEvent(ctx, tx, m, kind, text, map[string]any{"by": "person " + m.ID, "passkey": id})
	})
}

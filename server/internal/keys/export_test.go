package keys

import "context"

// Holds says whether the key of a credential, as its row was read, is in memory
// for a password.
func (s *Store) Holds(c *Credential, password string) bool {
	return s.vault.Held(c.owner(), c.sealed, password) != nil
}

// Abandon begins an attempt as a process does that dies before it is settled. Late
// counts it as a failure after all.
func (s *Store) Abandon(ctx context.Context, account, username string) (late func() error, err error) {
	who := holder{namespace: s.namespace, account: account, username: username}
	id, err := s.begin(ctx, who)
	return func() error { return s.countFailure(ctx, who, id) }, err
}

// TurnOf names the gate before the derivations.
var TurnOf = turnOf

// LockOfUnknown names the row that a name of no account is counted in.
func (s *Store) LockOfUnknown(username string) string {
	return holder{namespace: s.namespace, username: s.slot(username)}.lock()
}

package keys

// Holds says whether the key of a credential, as its row was read, is in memory
// for a password.
func (s *Store) Holds(c *Credential, password string) bool {
	return s.vault.Held(c.owner(), c.sealed, password) != nil
}

package spid

// ParseProviders is what a source is read with.
func (s *SPID) ParseProviders(text []byte) error {
	_, err := s.parseProviders(text)
	return err
}

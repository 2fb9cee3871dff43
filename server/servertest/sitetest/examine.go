package sitetest

import (
	"context"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/doctor"
)

// Examine has the doctor look at the installation, and returns what was found in each part.
func (s *Site) Examine(quick bool) map[string]doctor.Finding {
	s.T.Helper()
	cfg := s.Config
	cfg.Log.Level = "error"
	found := map[string]doctor.Finding{}
	for _, f := range server.Doctor(context.Background(), cfg, doctor.Options{Quick: quick}) {
		found[f.Part] = f
	}
	return found
}

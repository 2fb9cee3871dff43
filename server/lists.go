package server

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsl"
)

// refreshLists is how often trusted lists are fetched; they change a few times a
// month.
const refreshLists = 6 * time.Hour

// openLists makes the trusted lists known to verification. They are loaded in
// the background: the service is up before they are.
func (s *Server) openLists() error {
	w := &s.sig
	if s.cfg.Trust.Policy != "" {
		text, err := os.ReadFile(s.cfg.Trust.Policy)
		if err != nil {
			return fmt.Errorf("trust.policy: %w", err)
		}
		if w.verifier.Policy, err = policy.Load(text); err != nil {
			return fmt.Errorf("trust.policy: %w", err)
		}
	}
	c := tsl.Config{LOTL: s.cfg.Trust.LOTL, Dir: filepath.Join(s.cfg.Data, "trust", "lists")}
	if file := s.cfg.Trust.LOTLAnchors; file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("trust.lotl_anchors: %w", err)
		}
		if c.Anchors = trust.Certificates(b); len(c.Anchors) == 0 {
			return fmt.Errorf("trust.lotl_anchors: %w", trust.ErrNoCertificate)
		}
	}
	if s.cfg.Trust.Lists && !s.cfg.Network.Offline {
		c.Client = w.guard.Client(time.Minute)
	}
	var err error
	if w.lists, err = tsl.NewSet(c); err != nil {
		return err
	}
	w.trust.Lists = w.lists
	s.health.Show("trustedLists", s.listAges)
	s.metrics.WatchLists(w.lists)
	return nil
}

// listAges is what readiness reports of the lists. A service without them is still ready; its
// verdicts are then undetermined.
func (s *Server) listAges() any {
	type age struct {
		Territory  string `json:"territory"`
		FetchedAt  string `json:"fetchedAt,omitempty"`
		AgeSeconds int64  `json:"ageSeconds,omitempty"`
		NextUpdate string `json:"nextUpdate,omitempty"`
		Usable     bool   `json:"usable"`
		Failed     bool   `json:"lastRefreshFailed,omitempty"`
	}
	out := []age{}
	for _, l := range s.sig.lists.State() {
		a := age{Territory: l.Territory, Usable: l.Usable, Failed: l.Error != ""}
		if !l.FetchedAt.IsZero() {
			a.FetchedAt, a.AgeSeconds = l.FetchedAt.UTC().Format(time.RFC3339), int64(time.Since(l.FetchedAt).Seconds())
		}
		if !l.NextUpdate.IsZero() {
			a.NextUpdate = l.NextUpdate.UTC().Format(time.RFC3339)
		}
		out = append(out, a)
	}
	return out
}

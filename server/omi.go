package server

import (
	"context"
	"path/filepath"

	"rogito.dev/rogito/server/internal/geocode"
	"rogito.dev/rogito/server/internal/pages/omimap"
	"rogito.dev/rogito/server/internal/publication"
	"rogito.dev/rogito/server/internal/store"
)

// PublicationsDir is the folder of the publications of real-estate quotations.
func (c *Config) PublicationsDir() string { return filepath.Join(c.Data, "omi") }

// openPublications opens the real-estate quotations. Servers share them through
// the database only where the database is one that servers share.
func (s *Server) openPublications() (*publication.Service, error) {
	cfg := publication.Config{Dir: s.cfg.PublicationsDir(), WatchDir: s.cfg.OMI.WatchDir, Partial: s.cfg.OMI.AllowPartial, Official: !s.sandboxed, Log: s.log}
	if s.db.Dialect() == store.PostgreSQL {
		cfg.DB, cfg.Blobs = s.db, s.blobs
	}
	return publication.Open(cfg)
}

// SharePublications carries what was imported into this data folder to the other
// servers on the same database, and what they imported to it.
func (s *Server) SharePublications(ctx context.Context) error {
	k, err := s.openPublications()
	if err != nil {
		return err
	}
	return k.Share(ctx)
}

// addressFinder finds addresses for the map: in what was imported, and by a geocoder.
type addressFinder struct {
	*publication.Service
	geocoder *geocode.Client
}

func (s *Server) finder() addressFinder {
	f := addressFinder{Service: s.publications}
	if s.cfg.OMI.Geocoder != "" {
		f.geocoder = geocode.New(s.cfg.OMI.Geocoder, s.sig.guard)
	}
	return f
}

func (f addressFinder) Locates() bool { return f.geocoder != nil }

func (f addressFinder) Locate(ctx context.Context, sought string) ([]omimap.Located, error) {
	found, err := f.geocoder.Find(ctx, sought)
	var all []omimap.Located
	for _, p := range found {
		all = append(all, omimap.Located(p))
	}
	return all, err
}

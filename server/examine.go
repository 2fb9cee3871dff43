package server

import (
	"context"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/doctor"
)

// DoctorOptions say how closely to look.
type DoctorOptions = doctor.Options

// Finding is what is said of one part.
type Finding = doctor.Finding

// FindingBad is the state of what has to be mended.
const FindingBad = doctor.FindingBad

// Doctor examines an installation and says what to do. It works beside a
// running server and changes nothing but a probe that it removes again.
func Doctor(ctx context.Context, cfg Config, o DoctorOptions) []doctor.Finding {
	settings := doctor.Settings{
		Problem: cfg.check(), Production: cfg.Production, Listen: cfg.Listen, PublicURL: cfg.PublicURL, Data: cfg.Data,
		MasterKeyGiven: cfg.MasterKey != "", MasterKeyPath: cfg.masterKey().Path(),
	}
	return doctor.Examine(ctx, settings, func(ctx context.Context) (*doctor.Installation, func(), error) {
		s, err := Open(ctx, cfg)
		if err != nil {
			return nil, nil, err
		}
		return &doctor.Installation{
			DB: s.db, Blobs: s.blobs, Authority: s.sig.authority, Enroll: s.sig.enroll, Signing: s.sig.signing, Lists: s.sig.lists,
			Publications: s.publications, VerifyAudit: s.VerifyAudit,
			FetchesLists: s.cfg.Trust.Lists && !s.cfg.Network.Offline, Sandboxed: s.sandboxed, Identify: s.sig.identify, Providers: s.sig.providers,
		}, s.Close, nil
	}, o)
}

// CheckIdentification walks what a method depends on.
func (s *Server) CheckIdentification(ctx context.Context, name string) ([]doctor.Finding, error) {
	m := s.sig.identify.Method(name)
	if m == nil {
		return nil, fmt.Errorf("identification by %s is not configured: see identify.%s in the configuration", name, name)
	}
	if !s.sig.lists.Loaded() {
		_ = s.sig.lists.Load(ctx) // without lists the check says what that means
	}
	return doctor.Method(ctx, m), nil
}

// CheckProvider walks what a provider of remote keys offers.
func (s *Server) CheckProvider(ctx context.Context, name string) ([]Finding, error) {
	p := s.sig.providers[name]
	if p == nil {
		return nil, fmt.Errorf("%s is no provider of remote keys: see signing.providers in the configuration", name)
	}
	return doctor.Provider(ctx, p), nil
}

// SPIDMetadata are those of this server, signed.
func (s *Server) SPIDMetadata() ([]byte, error) {
	if one := s.spid(); one != nil {
		return one.NewMetadata(), nil
	}
	return nil, errors.New("SPID is not configured: see identify.spid in the configuration")
}

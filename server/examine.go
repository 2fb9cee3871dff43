package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/doctor"
	"rogito.dev/rogito/server/internal/logging"
	"rogito.dev/rogito/server/internal/remote"
)

// DoctorOptions say how closely to look.
type DoctorOptions = doctor.Options

// Finding is what is said of one part.
type Finding = doctor.Finding

// FindingBad is the state of what has to be mended, FindingWarning of what may.
const (
	FindingBad     = doctor.FindingBad
	FindingWarning = doctor.FindingWarning
)

// Doctor examines an installation and says what to do. It works beside a
// running server and changes nothing but a probe that it removes again.
func Doctor(ctx context.Context, cfg Config, o DoctorOptions) []doctor.Finding {
	return doctor.Examine(ctx, cfg.settings(), func(ctx context.Context) (*doctor.Installation, func(), error) {
		s, err := Open(ctx, cfg)
		if err != nil {
			return nil, nil, err
		}
		return s.installation(), s.Close, nil
	}, o)
}

// Explain is the text of an error for who operates the server: with causes that
// clients are not told, and without credentials.
func Explain(err error) string { return logging.Explain(err) }

// settings are the parts of the configuration that the doctor examines.
func (c *Config) settings() doctor.Settings {
	out := doctor.Settings{
		Problem: c.check(), Production: c.Production, Listen: c.Listen, PublicURL: c.PublicURL, StatusURL: c.StatusURL, Data: c.Data,
		MasterKeyCommand: c.masterKey().CheckCommand, MasterKeyPrinted: len(c.Master.Command) > 0,
		MasterKeyToken: c.masterKey().CheckToken, MasterKeyDerived: c.Master.PKCS11.Module != "",
		MasterKeyGiven: c.MasterKey != "", MasterKeyPath: c.masterKey().Path(),
	}
	if c.TLS.On() {
		out.Certificate = func(context.Context) (*x509.Certificate, error) { return c.TLS.Certificate(c.acmeCache()) }
	}
	return out
}

func (s *Server) installation() *doctor.Installation {
	return &doctor.Installation{
		DB: s.db, Blobs: s.blobs, Authority: s.sig.authority, Enroll: s.sig.enroll, Signing: s.sig.signing, Lists: s.sig.lists,
		Publications: s.publications, VerifyAudit: s.verifyAudit,
		FetchesLists: s.cfg.Trust.Lists && !s.cfg.Network.Offline, Sandboxed: s.sandboxed, Identify: s.sig.identify, Providers: s.sig.providers,
		Mail: s.mail, Exported: s.newestExport(), ExportEvery: s.cfg.Audit.ExportEvery,
	}
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

// ProviderKey is a key to look at while a provider is tested; without a username
// none is.
type ProviderKey struct {
	Username, Password         string
	Delegate, DelegatePassword string
	OTP                        string // of a key that is used with one
	Sign                       bool   // have a random digest signed
}

// CheckProvider walks what a provider of remote keys offers.
func (s *Server) CheckProvider(ctx context.Context, name string, key ProviderKey) ([]Finding, error) {
	p := s.sig.providers[name]
	if p == nil {
		return nil, fmt.Errorf("%s is no provider of remote keys: see signing.providers in the configuration", name)
	}
	return doctor.Provider(ctx, p, doctor.Try{Sign: key.Sign, Login: remote.Login{
		ID: key.Username, Password: key.Password, Delegate: key.Delegate, DelegatePassword: key.DelegatePassword, Coded: key.OTP != "", OTP: key.OTP,
	}}), nil
}

// SPIDMetadata are those of this server, signed.
func (s *Server) SPIDMetadata() ([]byte, error) {
	if one := s.spid(); one != nil {
		return one.NewMetadata(), nil
	}
	return nil, errors.New("SPID is not configured: see identify.spid in the configuration")
}

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// addSandboxCertificates gives a new sandbox its root, its webhook secret, one
// certificate of each kind, and the operator's test pairs.
func (s *Server) addSandboxCertificates(ctx context.Context, account string, b *Sandbox) error {
	secrets, err := s.sig.callbacks.Secrets(ctx, account)
	if err != nil {
		return err
	}
	b.WebhookSecret, b.RootCertificate = secrets[0].Text, s.rootPEM()
	b.Certificates = map[string]SandboxCredentials{}
	for _, p := range []struct {
		kind      keys.Kind
		algorithm string
		owner     string
	}{{keys.Automatic, "RSA2048", "Ada Prova"}, {keys.OTP, "P256", "Bruno Prova"}, {keys.ESeal, "P256", "Prova srl"}} {
		cred, err := s.readyCertificate(ctx, account, p.kind, p.algorithm, p.owner, enroll.Credentials{})
		if err != nil {
			return err
		}
		b.Certificates[string(p.kind)] = SandboxCredentials{Username: cred.Username, Password: cred.Password, TOTPSecret: cred.TOTPSecret}
	}
	_, err = s.addPairs(ctx, account, b)
	return err
}

// addPairs makes the operator's test pairs that the sandbox does not have, and
// says whether there were any.
func (s *Server) addPairs(ctx context.Context, account string, b *Sandbox) (added bool, err error) {
	for _, c := range s.cfg.Sandbox.Certificates {
		kind := keys.Kind(c.Kind)
		if !kind.Known() || c.Username == "" || c.Password == "" {
			return added, fmt.Errorf("sandbox.certificates: kind must be automatic, otp or eseal, with a username and a password")
		}
		has := func(e NamedCredentials) bool {
			return e.Kind == c.Kind && e.Username == c.Username && e.Password == c.Password
		}
		if slices.ContainsFunc(b.Extra, has) {
			continue
		}
		cred, err := s.readyCertificate(ctx, account, kind, "P256", "Test pair "+c.Username, enroll.Credentials{Username: c.Username, Password: c.Password})
		if err != nil {
			return added, err
		}
		b.Extra = slices.DeleteFunc(b.Extra, func(e NamedCredentials) bool { return e.Username == c.Username })
		b.Extra = append(b.Extra, NamedCredentials{Kind: c.Kind, SandboxCredentials: SandboxCredentials{Username: cred.Username, Password: cred.Password, TOTPSecret: cred.TOTPSecret}})
		added = true
	}
	return added, nil
}

// refresh brings the file of an older sandbox up to what is configured now: the
// address, and test pairs that are new.
func (s *Server) refresh(ctx context.Context, b *Sandbox) error {
	if b == nil {
		return nil
	}
	a, err := s.accounts.Find(ctx, b.Email)
	if errors.Is(err, fault.NotFound) {
		return nil // the file is of another installation: leave it
	}
	if err != nil {
		return err
	}
	changed, err := s.addPairs(ctx, a.ID, b)
	if err != nil {
		return err
	}
	if b.BaseURL == s.cfg.PublicURL && !changed {
		return nil
	}
	b.BaseURL = s.cfg.PublicURL
	return b.write(s.cfg.Data)
}

// readyCertificate makes one that is DONE. A test pair that is there already,
// from a first start that was cut off, gives way.
func (s *Server) readyCertificate(ctx context.Context, account string, kind keys.Kind, algorithm, owner string, cred enroll.Credentials) (*enroll.Credentials, error) {
	if cred.Username == "" {
		cred.Username, cred.Password = keys.NewUsername(kind), keys.NewPassword()
	}
	if kind == keys.OTP {
		cred.TOTPSecret = keys.NewTOTPSecret()
	}
	old, err := s.sig.keys.Find(ctx, account, cred.Username)
	if err != nil {
		return nil, err
	}
	if old != nil {
		if err := s.db.Write(ctx, func(tx *store.Tx) error { return s.sig.keys.Drop(ctx, tx, old.ID) }); err != nil {
			return nil, err
		}
	}
	_, err = s.sig.enroll.Ready(ctx, account, enroll.Order{Kind: kind, Owner: owner, Algorithm: algorithm}, cred)
	if err != nil {
		return nil, err
	}
	return &cred, nil
}

// callbackSent writes a delivery into the audit trail of its record.
func (s *Server) callbackSent(ctx context.Context, tx *store.Tx, d *callback.Delivery) error {
	outcome := d.Problem
	if d.Status != 0 {
		outcome = fmt.Sprintf("answered %d", d.Status)
	}
	return s.sig.audit.Append(ctx, tx, audit.Event{
		Account: d.Account, Record: d.Record, Kind: "callback", Log: fmt.Sprintf("callback attempt %d: %s", d.Attempts, outcome),
		Detail: map[string]any{"delivery": d.ID, "attempt": d.Attempts, "status": d.Status},
	})
}

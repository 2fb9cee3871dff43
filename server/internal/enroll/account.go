package enroll

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/remote"
)

// Keys that are used with a name and a password of the provider (ARSS, SWS). They
// are taken in, with what they are used with sealed; or they are passed through:
// then a caller brings name and password each time, and only the certificate is
// written down, since records and the log name it.

// checkLogin bounds what a holder gives.
func checkLogin(l remote.Login) error {
	switch {
	case l.ID == "":
		return fault.New(fault.BadField, "username is missing")
	case l.Password == "" && l.Delegate == "":
		return fault.New(fault.BadField, "password is missing")
	case l.Delegate != "" && l.DelegatePassword == "":
		return fault.New(fault.BadField, "delegatePassword is missing")
	}
	for _, word := range []string{l.ID, l.Password, l.Delegate, l.DelegatePassword} {
		if len(word) > maxCredential || !identify.Plain(word) {
			return fault.New(fault.BadField, "username or password is too long, or has characters that nobody can read")
		}
	}
	return nil
}

// openAccount reads the certificate of a key.
func openAccount(ctx context.Context, p remote.Accounts, kind keys.Kind, l remote.Login) (*remoteKey, error) {
	if err := checkLogin(l); err != nil {
		return nil, err
	}
	l.Coded = kind == keys.OTP
	key, err := p.Open(ctx, l)
	if err != nil {
		return nil, err
	}
	defer key.Close(ctx)
	cert, others := key.Certificate()
	return &remoteKey{login: l, cert: cert, chain: others}, nil
}

// ByAccount takes the key into use whose name and password a holder has given.
func (s *Service) ByAccount(ctx context.Context, c *Certificate, l remote.Login, b Browser) (*Certificate, error) {
	if err := c.genuine(); err != nil {
		return nil, err
	}
	p, ok := s.accounts(c.Provider)
	if !ok || !c.awaits() {
		return nil, fault.New(fault.WrongState, "the order waits for no username and password")
	}
	k, err := openAccount(ctx, p, c.Kind, l)
	if err != nil {
		return nil, s.refuse(ctx, c, byProvider, accountFault(err))
	}
	return s.adopt(ctx, c, adoption{key: k, browser: b})
}

// SendsCodes says that one-time passwords for a key can be asked for on the page of
// its order.
func (s *Service) SendsCodes(c *Certificate) bool {
	_, ok := s.accounts(c.Provider)
	return ok && c.Kind == keys.OTP && (c.awaits() || c.State == Done)
}

// Delegates reports whether an order's key can be used by a delegate.
func (s *Service) Delegates(c *Certificate) bool { return s.config.Providers[c.Provider] == "arss" }

// SendCode has the provider send a one-time password to the holder: while an order
// waits, by the provider's own name and password; afterwards by those that the
// holder has here.
func (s *Service) SendCode(ctx context.Context, c *Certificate, username, password string) error {
	if !s.SendsCodes(c) {
		return fault.New(fault.WrongState, "the certificate is used with no one-time password that could be sent")
	}
	p, _ := s.accounts(c.Provider)
	l := remote.Login{ID: username, Password: password, Coded: true}
	if c.State == Done {
		cred, err := s.keys.Public().Authenticate(ctx, c.AccountID, username, password)
		if err == nil && cred.ID != c.ID {
			err = keys.ErrPassword
		}
		if errors.Is(err, keys.ErrPassword) {
			return fault.New(fault.BadField, "username or password is wrong")
		}
		if err != nil {
			return err
		}
		key, err := s.keys.Open(ctx, cred, password)
		if err != nil {
			return err
		}
		r, ok := key.(*keys.Remote)
		if !ok {
			return fault.New(fault.WrongState, "the key is not at a provider")
		}
		l = r.Login()
		l.Coded = true
	}
	if err := checkLogin(l); err != nil {
		return err
	}
	if err := p.SendCode(ctx, l); err != nil {
		if c.awaits() {
			return s.refuse(ctx, c, byProvider, accountFault(err))
		}
		return accountFault(err)
	}
	return nil
}

// passedLevel is the level of security of keys that are passed through: none
// applies to them.
const passedLevel = 0

// Passed returns the certificate of a key whose name and password came with a call, and a
// placeholder credential without any secret. Both are stored the first time the key is seen.
func (s *Service) Passed(ctx context.Context, account, provider string, kind keys.Kind, cert *pkix.Certificate) (*keys.Credential, *Certificate, error) {
	sum := sha256.Sum256(cert.Raw)
	username := "passed " + provider + " " + string(kind) + " " + hex.EncodeToString(sum[:])
	cred, err := s.keys.Find(ctx, account, username)
	if err == nil && cred == nil {
		if cred, err = s.storePassed(ctx, account, provider, kind, username, cert); err != nil {
			if again, _ := s.keys.Find(ctx, account, username); again != nil { // another call was first
				cred, err = again, nil
			}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	cred.Remote = provider
	c, err := s.ByID(ctx, cred.ID)
	return cred, c, err
}

// storePassed stores the certificate of a key that was not seen before.
func (s *Service) storePassed(ctx context.Context, account, provider string, kind keys.Kind, username string, cert *pkix.Certificate) (*keys.Credential, error) {
	k := &remoteKey{cert: cert}
	if err := s.checkRemote(ctx, k); err != nil {
		return nil, err
	}
	c := s.adopted(account, provider, kind, k, passedLevel)
	n, err := s.sealRemote(ctx, c, adoption{key: k}, Credentials{Username: username, Password: keys.NewPassword()})
	if err != nil {
		return nil, err
	}
	n.Remote = keys.NotHere // several accounts may pass one key through
	if err := s.insertRemote(ctx, c, k, n); err != nil {
		return nil, err
	}
	return s.keys.Find(ctx, account, username)
}

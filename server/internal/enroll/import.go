package enroll

import (
	"context"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

const providerImport = "import"

// foreign reports whether another authority issued a certificate, by how its holder was identified.
func foreign(identification string) bool {
	return identification == providerImport || identification == byProvider
}

func (c *Certificate) foreign() bool { return foreign(c.Identification) }

// equal compares secrets in constant time; an empty one equals nothing.
func equal(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// Import takes in a key pair that its owner has already, from a PKCS#12 file.
type Import struct {
	Account  string
	Kind     keys.Kind
	Username string // empty: made
	Password string // of the key here; empty: that of the file
	PFX      []byte
	PFXPass  string
}

// Import stores the key pair and returns the credentials, which are shown
// nowhere else.
func (s *Service) Import(ctx context.Context, in Import) (*Certificate, *Credentials, error) {
	p12, err := keys.ReadPKCS12(in.PFX, in.PFXPass)
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkImport(&in, p12.Certificate); err != nil {
		return nil, nil, err
	}
	cred := &Credentials{Username: in.Username, Password: in.Password}
	if in.Kind == keys.OTP {
		cred.TOTPSecret = keys.NewTOTPSecret()
	}
	now := s.config.Now()
	c := &Certificate{
		ID: store.NewID(), AccountID: in.Account, Provider: providerImport, Kind: in.Kind, State: Working, Owner: p12.Certificate.Subject.CommonName,
		Identification: providerImport, Algorithm: keys.AlgorithmOf(p12.Certificate.PublicKey), Level: s.config.Levels.defaultLevel(in.Kind),
		CreatedAt: now, UpdatedAt: now, ExpireAt: p12.Certificate.NotAfter,
	}
	sealed, err := s.keys.Vault().Protect(ctx, keys.Owner(c.ID, c.Kind, c.Level), p12.Key, in.Password)
	if err != nil {
		return nil, nil, err
	}
	err = s.write(ctx, c, func(tx *store.Tx) error {
		if err := s.insert(ctx, tx, c); err != nil {
			return err
		}
		if err := s.move(ctx, tx, c, Done); err != nil {
			return err
		}
		if err := s.keys.Add(ctx, tx, keys.New{
			ID: c.ID, AccountID: c.AccountID, Username: cred.Username, Kind: c.Kind, Level: c.Level, Public: p12.Certificate.PublicKey, Sealed: sealed, TOTPSecret: cred.TOTPSecret,
		}); err != nil {
			return err
		}
		if err := s.keepIssued(ctx, tx, c, p12.Certificate.Raw, rawOf(p12.Chain)); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-imported", "certificate imported from a PKCS#12 file", map[string]any{"certificate": c.issuedDigest()})
	})
	if err != nil {
		return nil, nil, err
	}
	return c, cred, nil
}

func (s *Service) checkImport(in *Import, cert *x509.Certificate) error {
	now := s.config.Now()
	if !in.Kind.Known() {
		return fault.New(fault.BadField, "kind must be automatic, otp or eseal")
	}
	if now.After(cert.NotAfter) {
		return fault.New(fault.BadField, "the certificate expired on %s", cert.NotAfter.Format(time.DateOnly))
	}
	if cert.KeyUsage != 0 && cert.KeyUsage&(x509.KeyUsageContentCommitment|x509.KeyUsageDigitalSignature) == 0 {
		return fault.New(fault.BadField, "the certificate is not for signing")
	}
	if in.Username == "" {
		in.Username = keys.NewUsername(in.Kind)
	}
	if in.Password == "" {
		in.Password = in.PFXPass
	}
	if len(in.Password) < 8 {
		return fault.New(fault.BadField, "the password must have at least 8 bytes")
	}
	if level := s.config.Levels.defaultLevel(in.Kind); !s.config.Levels.fits(in.Kind, level) {
		return fault.New(fault.BadField, "securityLevel %d does not fit the kind %s", level, in.Kind)
	}
	return nil
}

// Ready makes a certificate that is DONE at once, under given credentials: the
// sandbox's own, and the operator's test pairs.
func (s *Service) Ready(ctx context.Context, account string, o Order, cred Credentials) (*Certificate, error) {
	if !s.config.Sandbox {
		return nil, fault.New(fault.WrongState, "this is not a sandbox")
	}
	o.Provider = "local"
	if err := s.check(&o); err != nil {
		return nil, err
	}
	now := s.config.Now()
	c := &Certificate{
		ID: store.NewID(), AccountID: account, Provider: o.Provider, Kind: o.Kind, State: Working, Owner: o.Owner, Subject: o.Subject,
		Identification: o.Identification, Algorithm: o.Algorithm, Years: o.Years, Level: o.Level,
		CreatedAt: now, UpdatedAt: now, ExpireAt: now.AddDate(o.Years, 0, 0),
	}
	certified, err := c.identifyOrder().Settle(identify.InSandbox(c.identifyOrder(), now))
	if err != nil {
		return nil, err
	}
	c.Certified = certified
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return s.insert(ctx, tx, c) }); err != nil {
		return nil, err
	}
	if err := s.issueAs(ctx, c, cred, false); err != nil {
		return nil, fmt.Errorf("enroll: sandbox certificate: %w", err)
	}
	return s.ByID(ctx, c.ID)
}

// Tidy marks certificates past their end, destroys keys that a token kept when
// their certificates were revoked, and forgets what identifications left.
func (s *Service) Tidy(ctx context.Context) error {
	return errors.Join(s.Expire(ctx), s.destroyKept(ctx), s.forgetRequests(ctx), s.eraseOld(ctx))
}

// keptKeys are the revoked certificates whose keys are still in the token.
const keptKeys = `certificates where state = 'REVOKED' and id in (select id from credentials where token_key <> '')`

func (s *Service) destroyKept(ctx context.Context) error {
	kept, err := s.all(ctx, `select `+columns+` from `+keptKeys+` order by id limit 1000`)
	for _, c := range kept {
		err = errors.Join(err, s.destroyErased(ctx, c, ""))
	}
	return err
}

// Expire marks certificates past their end, one transaction each.
func (s *Service) Expire(ctx context.Context) error {
	past, err := s.all(ctx, `select `+columns+` from certificates where state in ('DONE', 'SUSPENDED') and not_after > 0 and not_after < $1 limit 1000`,
		store.Millis(s.config.Now()))
	if err != nil {
		return err
	}
	for _, c := range past {
		if err := s.write(ctx, c, func(tx *store.Tx) error { return s.step(ctx, tx, c, Expired, "certificate expired") }); err != nil {
			return err
		}
	}
	return nil
}

package enroll

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Credentials are what the holder is shown once.
type Credentials struct {
	Username   string `json:"username"`
	Password   string `json:"password,omitempty"`
	TOTPSecret string `json:"totpSecret,omitempty"`
}

// IssueKind is the job that issues a certificate which is still waiting.
const IssueKind = "issue-certificate"

// approve lets a certificate be issued: its holder is known. The work item issues it if this
// process dies before Issue is done.
func (s *Service) approve(ctx context.Context, tx *store.Tx, c *Certificate, why string) error {
	if c.State == Ordered {
		if err := s.step(ctx, tx, c, Registering, "identification begun"); err != nil {
			return err
		}
	}
	if err := s.step(ctx, tx, c, Working, why); err != nil {
		return err
	}
	return job.Put(ctx, tx, job.Item{Kind: IssueKind, ID: c.ID, Account: c.AccountID, After: 20 * time.Second})
}

// Issue makes the key and the certificate of one that is WORKING. Called
// twice, it issues once: the second finds another state and returns that.
func (s *Service) Issue(ctx context.Context, id string) (*Certificate, error) {
	c, err := s.ByID(ctx, id)
	if err != nil || c.State != Working {
		return c, err
	}
	cred := Credentials{Username: keys.NewUsername(c.Kind), Password: keys.NewPassword()}
	if c.Kind == keys.OTP {
		cred.TOTPSecret = keys.NewTOTPSecret()
	}
	if err := s.issueAs(ctx, c, cred, true); err != nil {
		if errors.Is(err, fault.WrongState) {
			return s.ByID(ctx, id) // another was first
		}
		return nil, err
	}
	return s.ByID(ctx, id)
}

// issueAs issues under given credentials. once keeps them, sealed, until the
// holder has seen them.
func (s *Service) issueAs(ctx context.Context, c *Certificate, cred Credentials, once bool) error {
	if err := c.genuine(); err != nil {
		return fmt.Errorf("enroll: issue: %w", err)
	}
	if c.Certified == nil {
		return errors.New("enroll: nothing was proven of the holder")
	}
	public, sealed, label, err := s.newKey(ctx, c, cred.Password)
	if err != nil {
		return err
	}
	var shown []byte
	if once {
		if shown, err = s.seal(oncePurpose, c.ID, cred); err != nil {
			return err
		}
	}
	return s.write(ctx, c, func(tx *store.Tx) error {
		if err := s.move(ctx, tx, c, Done); err != nil {
			return err
		}
		order := c.authorityOrder(c.Certified)
		order.Public, order.Device = public, s.config.Token != nil
		cert, err := s.authority.Issue(ctx, tx, order)
		if err != nil {
			return err
		}
		if err := s.keys.Add(ctx, tx, keys.New{
			ID: c.ID, AccountID: c.AccountID, Username: cred.Username, Kind: c.Kind, Level: c.Level, Public: public, Sealed: sealed, TokenKey: label, TOTPSecret: cred.TOTPSecret,
		}); err != nil {
			return err
		}
		if err := s.keepIssued(ctx, tx, c, cert.Raw, rawOf(s.authority.Chain())); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update certificates set credentials_once = $1 where id = $2`, shown, c.ID); err != nil {
			return err
		}
		if err := s.note(ctx, tx, c, "certificate-issued", "certificate issued", map[string]any{"certificate": c.issuedDigest()}); err != nil {
			return err
		}
		return s.queueCallback(ctx, tx, c, string(Done))
	})
}

// newKey makes a key pair; the label names one that is in the token.
func (s *Service) newKey(ctx context.Context, c *Certificate, password string) (public crypto.PublicKey, sealed []byte, label string, err error) {
	if s.config.Token != nil {
		label = "rogito-" + c.ID + "-" + store.NewID()[12:]
		key, err := s.config.Token.Generate(label, c.Algorithm)
		if err != nil {
			return nil, nil, "", fmt.Errorf("enroll: key in token: %w", err)
		}
		sealed, err = s.keys.Vault().ProtectLabel(ctx, keys.Owner(c.ID, c.Kind, c.Level), label, password)
		return key.Public(), sealed, label, err
	}
	key, err := keys.Generate(c.Algorithm)
	if err != nil {
		return nil, nil, "", err
	}
	sealed, err = s.keys.Vault().Protect(ctx, keys.Owner(c.ID, c.Kind, c.Level), key, password)
	return key.Public(), sealed, "", err
}

// keepIssued writes the certificate into its row.
func (s *Service) keepIssued(ctx context.Context, tx *store.Tx, c *Certificate, der []byte, chain [][]byte) error {
	cert, err := pkix.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("enroll: read issued certificate: %w", err)
	}
	c.DER, c.Chain, c.Serial, c.SubjectDN, c.IssuerDN = cert.Raw, chain, cert.SerialNumber.String(), cert.SubjectDN(), cert.IssuerDN()
	c.NotBefore, c.NotAfter, c.ExpireAt = cert.NotBefore, cert.NotAfter, cert.NotAfter
	list, err := json.Marshal(c.Chain)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `update certificates set certificate = $1, chain = $2, serial = $3, subject_dn = $4, issuer_dn = $5, not_before = $6, not_after = $7, expire_at = $7
		where id = $8`, c.DER, list, c.Serial, c.SubjectDN, c.IssuerDN, store.Millis(c.NotBefore), store.Millis(c.NotAfter), c.ID)
	if err != nil {
		return fmt.Errorf("enroll: store issued certificate: %w", err)
	}
	return nil
}

func rawOf(chain []*x509.Certificate) (all [][]byte) {
	for _, c := range chain {
		all = append(all, c.Raw)
	}
	return all
}

// issuedDigest covers everything that the row states about the issued certificate.
func (c *Certificate) issuedDigest() string {
	h := sha256.New()
	for _, part := range append([][]byte{c.DER, []byte(c.Serial), []byte(c.SubjectDN), []byte(c.IssuerDN)}, c.Chain...) {
		fmt.Fprintf(h, "%d %s ", len(part), part)
	}
	fmt.Fprintf(h, "%d %d %d", store.Millis(c.NotBefore), store.Millis(c.NotAfter), store.Millis(c.ExpireAt))
	return hex.EncodeToString(h.Sum(nil))
}

// Reveal hands out the credentials of a certificate, once, to the browser that
// went through the identification. The link stays: from then on it says when
// and to which address they were shown, which is how a holder who did not see
// them finds out.
func (s *Service) Reveal(ctx context.Context, c *Certificate, shown Browsers, from string) (*Credentials, error) {
	if c.State != Done || len(c.once) == 0 {
		return nil, fault.New(fault.WrongState, "the credentials were shown already")
	}
	if !c.Identified(shown) {
		return nil, fault.New(fault.WrongState, "the credentials show in the browser that went through the identification: be identified again in this one")
	}
	var cred Credentials
	if err := s.open(oncePurpose, c.ID, c.once, &cred); err != nil {
		return nil, err
	}
	now := store.Millis(s.config.Now())
	err := s.write(ctx, c, func(tx *store.Tx) error {
		err := tx.Expect(ctx, 1, fault.New(fault.WrongState, "the credentials were shown already"), `update certificates set credentials_once = null, browser = null, statement = null, shown_at = $1, shown_to = $2
			where id = $3 and shown_at = 0 and state = $4 and browser = $5`, now, from, c.ID, string(Done), c.browserSealed)
		if err != nil {
			return err
		}
		if err := s.notify(ctx, tx, c, newsShown); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-shown", "credentials shown to the holder", map[string]any{"address": from, "shownAt": now})
	})
	if err != nil {
		return nil, err
	}
	return &cred, nil
}

// shownTime is how long the page with the credentials can be sent back to this server.
const shownTime = 30 * time.Minute

// shownCredentials are those on the page that shows them, and since when.
type shownCredentials struct {
	Credentials
	At time.Time
}

// KeepShown seals credentials for the page that shows them. The server no longer has them by
// then, so only that page can show them again, after a wrong code for instance.
func (s *Service) KeepShown(c *Certificate, cred *Credentials) (string, error) {
	b, err := s.seal(keptPurpose, c.ID, shownCredentials{*cred, s.config.Now()})
	return base64.RawURLEncoding.EncodeToString(b), err
}

// StillShown opens what KeepShown sealed.
func (s *Service) StillShown(c *Certificate, sealed string) (*Credentials, error) {
	var k shownCredentials
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil && len(b) > 0 {
		err = s.open(keptPurpose, c.ID, b, &k)
	}
	if age := s.config.Now().Sub(k.At); err != nil || k.Username == "" || age > shownTime || c.State != Done {
		return nil, fault.New(fault.WrongState, "the credentials were shown already")
	}
	return &k.Credentials, nil
}

func wrongPassword(err error, field string) error {
	if errors.Is(err, keys.ErrPassword) {
		return fault.New(fault.BadField, "%s is wrong", field)
	}
	return err
}

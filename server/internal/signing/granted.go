package signing

import (
	"context"
	"errors"
	"io"
	"net/http"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
)

// Grant is the holder's consent, checked once and used a little later: the password was right,
// and so was the one-time password where one is required. It is secret, and valid until either
// is replaced.
type Grant struct {
	Certificate string `json:"certificate"`
	Password    string `json:"password"`
	Version     string `json:"version"` // of password and device
}

// Grant checks a holder's password and code for the caller who will use the key, as Submit
// does. Faults carry the codes of records (110, 112, 116) too.
func (s *Service) Grant(ctx context.Context, certificate, password, otp string, from request.Caller) (*Grant, error) {
	cred, err := s.keys.ByID(ctx, certificate)
	if err != nil {
		return nil, err
	}
	if cred == nil || cred.AccountID != from.AccountID {
		return nil, fault.New(fault.NotFound, "no such certificate")
	}
	req := &request.Request{Kind: cred.Kind, Username: cred.Username, Password: password, OTP: otp}
	return s.grant(ctx, s.keys, req, cred.AccountID, func(c *enroll.Certificate) error { return s.checkSecurityLevel(ctx, c, from) })
}

// GrantUnseen checks a password and a code before it is known who will use the key. cred is nil
// for an unknown username, which takes the same time. What the security level asks of the
// caller is checked in SubmitGranted.
func (s *Service) GrantUnseen(ctx context.Context, cred *keys.Credential, username, password, otp string) (*Grant, error) {
	req, account := &request.Request{Username: username, Password: password, OTP: otp}, ""
	if cred != nil {
		req.Kind, account = cred.Kind, cred.AccountID
	}
	return s.grant(ctx, s.keys.Public(), req, account, func(*enroll.Certificate) error { return nil })
}

func (s *Service) grant(ctx context.Context, at *keys.Store, req *request.Request, account string, level func(*enroll.Certificate) error) (*Grant, error) {
	cred, cert, err := s.judge(ctx, at, req, account, level)
	if err == nil && cred.Remote != "" && s.NeedsOTP(cert) { // which only its provider can judge, when it signs
		err = &ledger.Refusal{Number: fault.WrongCertificateKind, Text: "the certificate's one-time passwords are those of its provider: it signs by a call that carries one"}
	}
	var no *ledger.Refusal
	if errors.As(err, &no) {
		return nil, no.Fault()
	}
	if err != nil {
		return nil, err
	}
	return &Grant{Certificate: cred.ID, Password: req.Password, Version: cred.Version()}, nil
}

// SubmitGranted is Submit with a grant. Everything that may have changed since is checked
// again, as for every signature.
func (s *Service) SubmitGranted(ctx context.Context, req *request.Request, g *Grant, from request.Caller) (*ledger.Record, error) {
	cred, cert, err := s.recall(ctx, g, from)
	if cred != nil {
		req.Kind, req.Username = cred.Kind, cred.Username
	}
	req.Password = g.Password
	return s.submit(ctx, req, from, cred, cert, nil, err)
}

func (s *Service) recall(ctx context.Context, g *Grant, from request.Caller) (*keys.Credential, *enroll.Certificate, error) {
	cred, err := s.keys.ByID(ctx, g.Certificate)
	if err != nil {
		return nil, nil, err
	}
	if cred == nil || cred.AccountID != from.AccountID || cred.Version() != g.Version {
		f := fault.New(fault.CertificateNotUsable, "the certificate's password or device was replaced after the authorisation")
		f.Status = http.StatusConflict
		return nil, nil, f
	}
	cert, err := s.certificateOf(ctx, cred)
	if err == nil {
		err = s.checkSecurityLevel(ctx, cert, from)
	}
	if err != nil {
		return cred, nil, err
	}
	return cred, cert, nil
}

// NeedsOTP says whether a certificate is used with a one-time password.
func (s *Service) NeedsOTP(c *enroll.Certificate) bool {
	return s.enroll.Levels().Needs(c.Level, enroll.NeedOTP) || c.Kind == keys.OTP
}

// Signed is the signed document of a record, whole: at most limit bytes.
func (s *Service) Signed(ctx context.Context, from request.Caller, id string, limit int64) ([]byte, error) {
	d, err := s.Open(ctx, from, id, ledger.SignedDocument)
	if err != nil {
		return nil, err
	}
	defer d.Data.Close()
	if d.File.Size > limit {
		return nil, fault.New(fault.TooLarge, "the signed document has more than %d bytes", limit)
	}
	return io.ReadAll(d.Data)
}

package signing

import (
	"bytes"
	"context"
	"errors"
	"io"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
)

// Grant is the holder's word, judged once and used a little later: the password
// was right, and so was the one-time password where one is asked for. It is
// secret, and good while neither of them is replaced.
type Grant struct {
	Certificate string `json:"certificate"`
	Password    string `json:"password"`
	Version     string `json:"version"` // of password and device
}

// Word is what a holder gives.
type Word struct {
	Credential    *keys.Credential // nil: the username does not exist, and is judged as if it did
	Username      string
	Password, OTP string
}

// Grant judges a holder's word for a caller who will use it, as Submit does.
// Faults carry the codes of records (110, 112, 116) too.
func (s *Service) Grant(ctx context.Context, w Word, from Caller) (*Grant, error) {
	return s.grant(ctx, w, from.AccountID, func(c *enroll.Certificate) error { return s.checkSecurityLevel(ctx, c, from) })
}

// GrantUnseen judges a holder's word before it is known who will use it. What
// the security level asks of a caller is judged then, in SubmitGranted.
func (s *Service) GrantUnseen(ctx context.Context, w Word) (*Grant, error) {
	account := ""
	if w.Credential != nil {
		account = w.Credential.AccountID
	}
	return s.grant(ctx, w, account, func(*enroll.Certificate) error { return nil })
}

func (s *Service) grant(ctx context.Context, w Word, account string, level func(*enroll.Certificate) error) (*Grant, error) {
	req := &Request{Username: w.Username, Password: w.Password, OTP: w.OTP}
	if w.Credential != nil {
		req.Kind, req.Username = w.Credential.Kind, w.Credential.Username
	}
	cred, _, err := s.judge(ctx, req, account, level)
	if err != nil {
		return nil, asFault(err)
	}
	return &Grant{Certificate: cred.ID, Password: w.Password, Version: cred.Version()}, nil
}

// asFault makes of a refusal a fault with its number.
func asFault(err error) error {
	var no *refusal
	if errors.As(err, &no) {
		return &fault.Error{Code: no.number, Text: no.text, Err: no.err}
	}
	return err
}

// SubmitGranted is Submit on the strength of a grant. Whatever may have changed
// since is judged again, as for every signature.
func (s *Service) SubmitGranted(ctx context.Context, req *Request, g *Grant, from Caller) (*Record, error) {
	cred, cert, err := s.recall(ctx, g, from)
	if cred != nil {
		req.Kind, req.Username = cred.Kind, cred.Username
	}
	req.Password = g.Password
	return s.submit(ctx, req, from, cred, cert, err)
}

func (s *Service) recall(ctx context.Context, g *Grant, from Caller) (*keys.Credential, *enroll.Certificate, error) {
	cred, err := s.keys.ByID(ctx, g.Certificate)
	if err != nil {
		return nil, nil, err
	}
	if cred == nil || cred.AccountID != from.AccountID || cred.Version() != g.Version {
		return nil, nil, fault.New(fault.WrongCredentials, "the certificate's password or device was replaced after the authorisation")
	}
	if err := s.keys.CheckLock(ctx, cred); err != nil {
		return nil, nil, err
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

// Digest is an input that is a digest of 32, 48 or 64 bytes.
func Digest(b []byte) Input { return Input{From: fromDigest, Source: bytes.NewReader(b)} }

// Signed is the signed document of a record, whole: at most limit bytes.
func (s *Service) Signed(ctx context.Context, from Caller, id string, limit int64) ([]byte, error) {
	d, err := s.Open(ctx, from, id, SignedDocument)
	if err != nil {
		return nil, err
	}
	defer d.Data.Close()
	if d.File.Size > limit {
		return nil, fault.New(fault.TooLarge, "the signed document has more than %d bytes", limit)
	}
	return io.ReadAll(d.Data)
}

// DefaultOptions are those of a request that names none.
func DefaultOptions() Options {
	o, _ := parseOptions(nil, optionParser{}) // nothing to refuse
	return o
}

// Waits says that a record is signed only once another token has approved it.
func (r *Record) Waits() bool { return r.Approval == approvalWaiting && !r.State.Final() }

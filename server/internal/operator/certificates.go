package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/remote"
)

// CertificateInfo is a certificate as the operator sees it.
type CertificateInfo struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	Kind    string `json:"kind"`
	State   string `json:"state"`
	Owner   string `json:"owner"` // a label of the buyer's
	// Attributes ordered or, once known, certified.
	Attributes     enroll.Subject `json:"attributes"`
	LabelDiffers   bool           `json:"labelDiffers,omitempty"` // Owner is not the name among them
	Identification string         `json:"identification,omitempty"`
	Username       string         `json:"username,omitempty"`
	Link           string         `json:"certificateLink,omitempty"`
	ExpireAt       time.Time      `json:"expireAt"`
}

func (s *Commands) certificateInfo(ctx context.Context, c *enroll.Certificate) (*CertificateInfo, error) {
	l := &CertificateInfo{ID: c.ID, Account: c.AccountID, Kind: string(c.Kind), State: string(c.State), Owner: c.Owner, Link: c.BuyersLink(), ExpireAt: c.ExpireAt}
	l.Attributes, l.Identification = c.Ordered(), c.Identification
	_, l.LabelDiffers = c.LabelDiffers()
	cred, err := s.keys.ByID(ctx, c.ID)
	if err == nil && cred != nil {
		l.Username = cred.Username
	}
	return l, err
}

// Certificates lists certificates, newest first: of one account, or of all
// where the e-mail is empty.
func (s *Commands) Certificates(ctx context.Context, email, state string) ([]*CertificateInfo, error) {
	owner, err := s.accountID(ctx, email)
	if err != nil {
		return nil, err
	}
	lines := []*CertificateInfo{}
	for page := (enroll.Filter{State: enroll.State(state), Limit: listPage}); ; {
		list, err := s.enroll.List(ctx, owner, page)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			l, err := s.certificateInfo(ctx, c)
			if err != nil {
				return nil, err
			}
			lines, page.After = append(lines, l), c.ID
		}
		if len(list) < listPage {
			return lines, nil
		}
	}
}

func (s *Commands) accountID(ctx context.Context, email string) (string, error) {
	if email == "" {
		return "", nil
	}
	a, err := s.accounts.Find(ctx, email)
	return a.ID, err
}

// onlyAccount is the account of a server that has one.
func (s *Commands) onlyAccount(ctx context.Context) (string, error) {
	all, err := s.accounts.List(ctx)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("there are %d accounts: say which (--account)", len(all))
	}
	if err != nil {
		return "", err
	}
	return all[0].ID, nil
}

// BuyCertificate orders a certificate for an account, which pays.
func (s *Commands) BuyCertificate(ctx context.Context, email, kind, owner, identification string) (*CertificateInfo, error) {
	id, err := s.accountID(ctx, email)
	if err != nil {
		return nil, err
	}
	ctx = account.WithCaller(enroll.WithActor(ctx, "operator"), &account.Caller{AccountID: id, Admin: true})
	c, err := s.enroll.Buy(ctx, id, enroll.Order{Provider: "provider", Kind: keys.Kind(kind), Owner: owner, Identification: identification})
	if err != nil {
		return nil, err
	}
	return s.certificateInfo(ctx, c)
}

// NewCertificate is what an import made; its credentials are shown once.
type NewCertificate struct {
	CertificateInfo
	TOTPSecret string `json:"totpSecret,omitempty"`
}

// ImportCertificate takes a PKCS#12 file in.
func (s *Commands) ImportCertificate(ctx context.Context, email, kind string, pfx []byte, pfxPassword, username, password string) (*NewCertificate, error) {
	id, err := s.accountID(ctx, email)
	if err != nil {
		return nil, err
	}
	c, cred, err := s.enroll.Import(enroll.WithActor(ctx, "operator"), enroll.Import{
		Account: id, Kind: keys.Kind(kind), Username: username, Password: password, PFX: pfx, PFXPass: pfxPassword,
	})
	if err != nil {
		return nil, err
	}
	l, err := s.certificateInfo(ctx, c)
	if err != nil {
		return nil, err
	}
	return &NewCertificate{CertificateInfo: *l, TOTPSecret: cred.TOTPSecret}, nil
}

// RemoteCertificate is what taking a remote key into use made; its credentials
// are shown once.
type RemoteCertificate struct {
	CertificateInfo
	Password string `json:"password"`
}

// RemoteKey names a key at a provider, with what it is used with.
type RemoteKey struct {
	Provider, Kind             string
	ID, Password               string // credential and PIN, or username and password
	Delegate, DelegatePassword string // who uses it, where that is not its holder
}

// AddRemote adds a key at a remote provider to an account.
func (s *Commands) AddRemote(ctx context.Context, email string, k RemoteKey) (*RemoteCertificate, error) {
	id, err := s.accountID(ctx, email)
	if err != nil {
		return nil, err
	}
	if email == "" {
		if id, err = s.onlyAccount(ctx); err != nil {
			return nil, err
		}
	}
	c, cred, err := s.enroll.AddRemote(enroll.WithActor(ctx, "operator"), id, k.Provider, keys.Kind(k.Kind), remote.Login{ID: k.ID, Password: k.Password, Delegate: k.Delegate, DelegatePassword: k.DelegatePassword})
	if err != nil {
		return nil, err
	}
	l, err := s.certificateInfo(ctx, c)
	if err != nil {
		return nil, err
	}
	return &RemoteCertificate{CertificateInfo: *l, Password: cred.Password}, nil
}

// ChangeCertificate suspends, resumes, revokes or cancels a certificate.
func (s *Commands) ChangeCertificate(ctx context.Context, id, verb string) (*CertificateInfo, error) {
	c, err := s.enroll.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	change := map[string]func(context.Context, string, string) (*enroll.Certificate, error){
		"suspend": s.enroll.Suspend, "resume": s.enroll.Resume, "revoke": s.enroll.Revoke,
		"cancel": func(ctx context.Context, account, id string) (*enroll.Certificate, error) {
			return s.enroll.Cancel(ctx, account, id, "cancelled by an operator")
		},
	}[verb]
	if change == nil {
		return nil, fmt.Errorf("%s is nothing that can be done with a certificate", verb)
	}
	if c, err = change(enroll.WithActor(ctx, "operator"), c.AccountID, id); err != nil {
		return nil, err
	}
	return s.certificateInfo(ctx, c)
}

// ReviewInfo is what an operator decides on.
type ReviewInfo struct {
	CertificateInfo
	Method     string    `json:"method"`
	HandedInAt time.Time `json:"handedInAt"`
	Files      []string  `json:"files"`
	CommonName string    `json:"commonName,omitempty"`
	LeftOut    []string  `json:"leftOut,omitempty"` // ordered, and not certified
	SubjectDN  string    `json:"subjectDN,omitempty"`
	Problem    string    `json:"problem,omitempty"` // why it cannot be approved
	Digest     string    `json:"digest"`            // of all of it
}

// WaitingCertificate shows what an approval would certify, and on what evidence.
func (s *Commands) WaitingCertificate(ctx context.Context, id string) (*ReviewInfo, error) {
	w, err := s.enroll.Waiting(ctx, id)
	if err != nil {
		return nil, err
	}
	l, err := s.certificateInfo(ctx, w.Certificate)
	if err != nil {
		return nil, err
	}
	out := &ReviewInfo{CertificateInfo: *l, Method: w.Method, HandedInAt: w.HandedInAt, Files: w.Files, SubjectDN: w.SubjectDN, Digest: w.Digest}
	out.Link = ""
	if w.Problem != nil {
		out.Problem = w.Problem.Error()
	}
	if w.Certified != nil {
		out.Attributes, out.CommonName, out.LeftOut = w.Certified.Attributes, w.Certified.CommonName, w.Certified.LeftOut
	}
	return out, nil
}

// ReviewCertificate approves or refuses what an applicant handed in, as it was
// shown under a digest.
func (s *Commands) ReviewCertificate(ctx context.Context, id string, approve bool, reason, digest string) (*CertificateInfo, error) {
	c, err := s.enroll.Review(enroll.WithActor(ctx, "operator"), id, enroll.Reviewer{Token: "operator"}, enroll.Verdict{Approve: approve, Reason: reason, Digest: digest})
	if err != nil {
		return nil, err
	}
	return s.certificateInfo(ctx, c)
}

// Evidence is what is kept of an identification.
type Evidence = enroll.Kept

// Evidence returns what is kept of the identification of an order.
func (s *Commands) Evidence(ctx context.Context, id string) (*Evidence, error) {
	return s.enroll.Evidence(ctx, id)
}

// EraseEvidence erases it.
func (s *Commands) EraseEvidence(ctx context.Context, id string) error {
	return s.enroll.EraseEvidence(enroll.WithActor(ctx, "operator"), id, "evidence erased by an operator")
}

// UnlockCertificate forgets the failures of a username, in every account that
// has it.
func (s *Commands) UnlockCertificate(ctx context.Context, username string) (int, error) {
	all, err := s.keys.ByUsername(ctx, username)
	if err != nil {
		return 0, err
	}
	for _, c := range all {
		if err := s.keys.Unlock(ctx, c.AccountID, c.Username); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// OneTimePassword is the current code of a sandbox's certificate.
func (s *Commands) OneTimePassword(ctx context.Context, username string) (string, error) {
	if !s.sandboxed {
		return "", errors.New("only a sandbox shows one-time passwords")
	}
	all, err := s.keys.ByUsername(ctx, username)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		if !c.HasTOTP() {
			continue
		}
		secret, err := s.keys.TOTPSecret(c)
		if err != nil {
			return "", err
		}
		return keys.Code(secret, time.Now())
	}
	return "", fmt.Errorf("%s has no one-time passwords", username)
}

// Package arss is a client of ARSS, the remote signing service of Aruba and
// Actalis: automatic keys, mostly used by a delegate, and keys that a one-time
// password goes with. It gets digests, one a call; several go out under a session.
package arss

import (
	"cmp"
	"context"
	"strings"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/soap"
)

const namespace = "http://arubasignservice.arubapec.it/"

// Config of a provider.
type Config struct {
	soap.Config

	Name   string
	Domain string // of the contract (typeOtpAuth)
	HSM    string // typeHSM; empty: COSIGN
	Passes bool   // callers bring the provider's own names and passwords
}

// Provider is a client of one service.
type Provider struct {
	config Config
	soap   *soap.Client
	form   remote.Form
}

// New returns a client.
func New(c Config) (*Provider, error) {
	c.Namespace, c.HSM = namespace, cmp.Or(c.HSM, "COSIGN")
	client, err := soap.New(c.Config)
	if err != nil {
		return nil, err
	}
	return &Provider{config: c, soap: client}, nil
}

// Name of the provider in the configuration.
func (p *Provider) Name() string { return p.config.Name }

// Passes says that callers bring the provider's own names and passwords.
func (p *Provider) Passes() bool { return p.config.Passes }

// Form of digests that was found.
func (p *Provider) Form() *remote.Form { return &p.form }

// automaticCode replaces the one-time password of a person.
const automaticCode = "dsign"

// identity is who calls, in the order of the schema; coded says that the call
// uses up a one-time password, or needs its replacement.
func (p *Provider) identity(name string, l remote.Login, coded bool) soap.Element {
	e := soap.Element{Name: name}
	add := func(name, text string) { e.In = append(e.In, soap.Text(name, text)...) }
	if l.Delegate != "" {
		add("delegated_domain", p.config.Domain)
		add("delegated_password", l.DelegatePassword)
		add("delegated_user", l.Delegate)
	}
	switch {
	case coded && l.Coded:
		add("otpPwd", l.OTP)
	case !l.Coded:
		add("otpPwd", automaticCode)
	}
	add("typeHSM", p.config.HSM)
	add("typeOtpAuth", p.config.Domain)
	add("user", l.ID)
	if l.Delegate == "" {
		add("userPWD", l.Password)
	}
	return e
}

// call calls an operation that signs nothing: whatever fails is a refusal.
func (p *Provider) call(ctx context.Context, l remote.Login, operation string, body ...soap.Element) (*soap.Answer, error) {
	return p.soap.Ask(ctx, operation, body, func(f *soap.Fault) error { return refusal(remote.Refused, l, operation, f.Words) })
}

func refusal(kind remote.Kind, l remote.Login, operation, words string) *remote.Error {
	if words = remote.Clean(remote.Hide(words, l.Secrets())); words == "" {
		words = "without a word"
	}
	return remote.Errorf(kind, nil, "the provider refused (%s): %s", operation, words)
}

// Hello asks for the version.
func (p *Provider) Hello(ctx context.Context) (string, error) {
	if _, err := p.call(ctx, remote.Login{}, "ping"); err != nil {
		return "", err
	}
	a, err := p.call(ctx, remote.Login{}, "getVersion")
	if err != nil {
		return "", err
	}
	return "ARSS, version " + remote.Clean(soap.Word(a.Body, "return")), nil
}

// SendCode has a one-time password sent by SMS.
func (p *Provider) SendCode(ctx context.Context, l remote.Login) error {
	a, err := p.call(ctx, l, "sendCredential", p.identity("Identity", l, false), soap.Element{Name: "type", Text: "SMS"})
	if err != nil {
		return err
	}
	return judge(soap.Find(a.Body, "return"), l, "sendCredential", false)
}

// Open reads the certificate of a key.
func (p *Provider) Open(ctx context.Context, l remote.Login) (remote.Signer, error) {
	a, err := p.call(ctx, l, "listCert", p.identity("Identity", l, false))
	if err != nil {
		return nil, err
	}
	answer := soap.Find(a.Body, "return")
	if words := soap.Word(answer, "description"); !strings.EqualFold(soap.Word(answer, "status"), "OK") {
		kind := remote.Refused
		if strings.Contains(strings.ToLower(words), "invalid user credentials") { // the words of 0003: there is no code
			kind = remote.Credentials
		}
		return nil, refusal(kind, l, "listCert", words)
	}
	s := &signer{p: p, login: l}
	for _, listed := range append(soap.All(answer, "app1"), soap.All(answer, "app2")...) {
		if err := s.choose(a, listed); err != nil {
			return nil, err
		}
	}
	if s.cert == nil {
		return nil, remote.Errorf(remote.Refused, nil, "the provider lists no certificate for signing")
	}
	return s, remote.CheckKey(s.cert.PublicKey)
}

// choose takes a listed certificate if it serves better than the one before: a key
// to log in with may be beside it, and the certificate that it had before.
func (s *signer) choose(a *soap.Answer, listed *xmldom.Node) error {
	der, err := a.Bytes(soap.Find(listed, "value"))
	if err != nil {
		return remote.Errorf(remote.Refused, err, "a certificate of the provider cannot be read")
	}
	c, err := remote.Certificate(der)
	if err != nil {
		return err
	}
	if s.cert == nil || worth(c) > worth(s.cert) {
		s.cert, s.id = c, cmp.Or(soap.Word(listed, "id"), "AS0")
	}
	return nil
}

// worth of a certificate for signing documents: that it is for them counts more than
// that it is still good.
func worth(c *pkix.Certificate) (n int) {
	if !c.HasKeyUsage || c.KeyUsage&pkix.NonRepudiation != 0 {
		n += 2
	}
	if now := time.Now(); now.After(c.NotBefore) && now.Before(c.NotAfter) {
		n++
	}
	return n
}

// most digests are asked for at once, each in a call of its own.
const most = 100

// signer is a key, ready to be used.
type signer struct {
	p      *Provider
	login  remote.Login
	cert   *pkix.Certificate
	id     string    // of the certificate
	opened time.Time // the session
	spent  bool      // the one-time password is used up
}

// Certificate that was listed.
func (s *signer) Certificate() (*pkix.Certificate, [][]byte) { return s.cert, nil }

// Most digests of a request.
func (s *signer) Most() int { return most }

// NeedsPSS says no: the service signs PKCS #1 v1.5.
func (s *signer) NeedsPSS() bool { return false }

// Sign has each digest signed by a call of its own, under a session where there
// are several.
func (s *signer) Sign(ctx context.Context, r remote.Request) ([]remote.Value, error) {
	hash, err := soap.HashName(r.Hash)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx, len(r.Digests) > 1 || r.Expect > 1 || r.More); err != nil {
		return nil, err
	}
	return remote.EachAlone(ctx, s.cert.PublicKey, r, &s.p.form, func(ctx context.Context, sent []byte) ([]byte, error) {
		if s.login.Session != "" { // it may be over before the last digest
			if err := s.ready(ctx, true); err != nil {
				return nil, err
			}
		}
		return s.signHash(ctx, hash, sent)
	})
}

// ready opens a session where one is wanted, and another where the last is over.
func (s *signer) ready(ctx context.Context, wanted bool) error {
	switch {
	case s.login.Session != "" && time.Since(s.opened) < soap.SessionLife:
		return nil
	case s.spent:
		return remote.Errorf(remote.Refused, nil, "the one-time password was used for the signatures before, and its session is over")
	case s.login.Session != "":
		s.Close(ctx)
	case !wanted:
		s.spent = s.login.Coded
		return nil
	}
	a, err := s.p.call(ctx, s.login, "opensession", s.p.identity("Identity", s.login, true))
	if err != nil {
		return err
	}
	s.spent = s.login.Coded
	session := soap.Word(a.Body, "return")
	if code, refused := strings.CutPrefix(session, "KO"); refused || session == "" {
		return refusalBy(strings.Trim(code, "- "), "", s.login, "opensession", s.login.Coded)
	}
	s.login.Session, s.opened = session, time.Now()
	return nil
}

// signHash is the one call that signs.
func (s *signer) signHash(ctx context.Context, hash string, sent []byte) ([]byte, error) {
	request := soap.Element{Name: "SignHashRequest", In: []soap.Element{
		{Name: "certID", Text: s.id},
		{Name: "hash", Text: soap.Base64(sent)},
		{Name: "hashtype", Text: hash},
		s.p.identity("identity", s.login, s.login.Session == ""),
		{Name: "requirecert", Text: "false"},
	}}
	request.In = append(request.In, soap.Text("session_id", s.login.Session)...)
	// Once sent, the request is followed to its end even if the caller hangs up.
	a, err := s.p.soap.Call(context.WithoutCancel(ctx), "signhash", []soap.Element{request})
	if err != nil {
		return nil, soap.Signing(err, func(f *soap.Fault) *remote.Error {
			if f.Unread() {
				return refusal(remote.Refused, s.login, "signhash", f.Words)
			}
			return nil
		}, "signhash")
	}
	answer := soap.Find(a.Body, "return")
	if err := judge(answer, s.login, "signhash", s.login.Coded && s.login.Session == ""); err != nil {
		return nil, err
	}
	values := soap.All(answer, "signature")
	if len(values) != 1 {
		return nil, remote.Errorf(remote.Refused, nil, "the provider gave %d values for one digest", len(values))
	}
	v, err := a.Bytes(values[0])
	if err != nil {
		return nil, remote.Errorf(remote.Refused, err, "a signature value of the provider cannot be read")
	}
	return v, nil
}

// Close closes the session; one that stays open ends by itself.
func (s *signer) Close(ctx context.Context) {
	if s.login.Session == "" {
		return
	}
	_, _ = s.p.call(ctx, s.login, "closesession", s.p.identity("Identity", s.login, false), soap.Element{Name: "sessionid", Text: s.login.Session})
	s.login.Session = ""
}

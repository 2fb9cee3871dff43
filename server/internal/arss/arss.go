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

	Domain string // of the contract (typeOtpAuth)
	HSM    string // typeHSM; empty: COSIGN
}

// Provider is a client of one service.
type Provider struct {
	*soap.Client
	config Config
	form   remote.Form
}

// New returns a client.
func New(c Config) (*Provider, error) {
	c.Namespace, c.HSM = namespace, cmp.Or(c.HSM, "COSIGN")
	client, err := soap.New(c.Config)
	if err != nil {
		return nil, err
	}
	return &Provider{Client: client, config: c}, nil
}

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
	return p.Ask(ctx, operation, body, func(f *soap.Fault) error { return refusal(remote.Refused, l, operation, f.Words) })
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
	s := &signer{p: p, Key: soap.Key{Login: l}}
	for _, listed := range append(soap.All(answer, "app1"), soap.All(answer, "app2")...) {
		if err := s.choose(a, listed); err != nil {
			return nil, err
		}
	}
	if s.Cert == nil {
		return nil, remote.Errorf(remote.Refused, nil, "the provider lists no certificate for signing")
	}
	return s, remote.CheckKey(s.Cert.PublicKey)
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
	if s.Cert == nil || worth(c) > worth(s.Cert) {
		s.Cert, s.id = c, cmp.Or(soap.Word(listed, "id"), "AS0")
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

// signer is a key, ready to be used.
type signer struct {
	soap.Key
	p  *Provider
	id string // of the certificate
}

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
	return remote.EachAlone(ctx, s.Cert.PublicKey, r, &s.p.form, func(ctx context.Context, sent []byte) ([]byte, error) {
		if s.Login.Session != "" { // it may be over before the last digest
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
	case s.InSession():
		return nil
	case s.Spent:
		return soap.UsedUp()
	case s.Login.Session != "":
		s.Close(ctx)
	case !wanted:
		s.Spent = s.Login.Coded
		return nil
	}
	a, err := s.p.call(ctx, s.Login, "opensession", s.p.identity("Identity", s.Login, true))
	if err != nil {
		return err
	}
	s.Spent = s.Login.Coded
	session := soap.Word(a.Body, "return")
	if code, refused := strings.CutPrefix(session, "KO"); refused || session == "" {
		return refusalBy(strings.Trim(code, "- "), "", s.Login, "opensession", s.Login.Coded)
	}
	s.Login.Session, s.Opened = session, time.Now()
	return nil
}

// signHash is the one call that signs.
func (s *signer) signHash(ctx context.Context, hash string, sent []byte) ([]byte, error) {
	request := soap.Element{Name: "SignHashRequest", In: []soap.Element{
		{Name: "certID", Text: s.id},
		{Name: "hash", Text: soap.Base64(sent)},
		{Name: "hashtype", Text: hash},
		s.p.identity("identity", s.Login, s.Login.Session == ""),
		{Name: "requirecert", Text: "false"},
	}}
	request.In = append(request.In, soap.Text("session_id", s.Login.Session)...)
	// Once sent, the request is followed to its end even if the caller hangs up.
	a, err := s.p.Call(context.WithoutCancel(ctx), "signhash", []soap.Element{request})
	if err != nil {
		return nil, soap.Signing(err, func(f *soap.Fault) *remote.Error {
			if f.Unread() {
				return refusal(remote.Refused, s.Login, "signhash", f.Words)
			}
			return nil
		}, "signhash")
	}
	answer := soap.Find(a.Body, "return")
	if err := judge(answer, s.Login, "signhash", s.Login.Coded && s.Login.Session == ""); err != nil {
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
	if s.Login.Session == "" {
		return
	}
	_, _ = s.p.call(ctx, s.Login, "closesession", s.p.identity("Identity", s.Login, false), soap.Element{Name: "sessionid", Text: s.Login.Session})
	s.Login.Session = ""
}

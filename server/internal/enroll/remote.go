package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"rogito.dev/rogito/internal/pkix"
	csc "rogito.dev/rogito/server/internal/csc/client"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// A certificate whose key is at a provider (Cloud Signature Consortium API) is
// not issued here. Its holder logs in at the provider, or names the credential
// and its PIN; then the certificate is read there, and what it takes to have the
// key used is sealed under a password of ours.

const (
	// KindRemote is the kind of a provider that has keys.
	KindRemote = "csc"

	// byProvider stands where orders say how the holder is identified.
	byProvider = "remote"
)

// Remote says that the key is at a provider.
func (c *Certificate) Remote() bool { return c.Identification == byProvider }

// awaits says that an order waits for its holder and a credential.
func (c *Certificate) awaits() bool {
	return c.Remote() && (c.State == Ordered || c.State == Registering)
}

// login is what a holder brought back from the provider.
type login struct {
	Tokens      csc.Tokens `json:"tokens"`
	Credentials []string   `json:"credentials"`
}

// RemoteStep is what an order of a remote key waits for, in a browser: nothing
// (empty), a login at the provider ("login"), or a credential and its PIN
// ("credential"), to be chosen from those named where there are any.
func (s *Service) RemoteStep(c *Certificate, shown Browsers) (step string, choices []string) {
	p := s.config.Remote[c.Provider]
	switch {
	case !c.awaits() || p == nil:
		return "", nil
	case p.Flow() != csc.FlowCode:
		return "credential", nil
	case c.login == nil || !c.Identified(shown):
		return "login", nil
	}
	return "credential", c.login.Credentials
}

// method finds who identifies: one of the methods, or the provider of remote keys.
func (s *Service) method(name string) identify.Method {
	if name == byProvider {
		return remoteLogin{s}
	}
	return s.identify.Method(name)
}

// DepartToProvider sends the holder to the provider of the key.
func (s *Service) DepartToProvider(ctx context.Context, c *Certificate, b Browser) (string, error) {
	d, err := s.Begin(ctx, c, byProvider, c.Provider, b)
	if err != nil {
		return "", err
	}
	return d.URL, nil
}

// AnswerOfProvider takes what the holder's browser brings back to
// /remote/callback.
func (s *Service) AnswerOfProvider(ctx context.Context, values url.Values) (order, token string, err error) {
	return s.Answer(ctx, byProvider, values)
}

// remoteLogin is the login of holders at the providers of their keys, by the
// code flow of OAuth 2.0.
type remoteLogin struct{ s *Service }

// loginTime is how long a holder may take at the provider, where they may have
// to be identified first.
const loginTime = time.Hour

// loginState is kept of a login on its way.
type loginState struct {
	Provider string `json:"provider"`
	State    string `json:"state"`
	Verifier string `json:"verifier"`
}

// Name of the method.
func (remoteLogin) Name() string { return byProvider }

// Providers are none to choose from: the order names its own.
func (remoteLogin) Providers(context.Context) []identify.Provider { return nil }

// Check is that of the providers: rogito provider test.
func (remoteLogin) Check(context.Context) []identify.Finding { return nil }

// Start makes a login.
func (m remoteLogin) Start(ctx context.Context, _ identify.Order, provider string) (*identify.Departure, error) {
	p := m.s.config.Remote[provider]
	if p == nil || p.Flow() != csc.FlowCode {
		return nil, fault.New(fault.WrongState, "nobody logs in at the provider %s", provider)
	}
	l, err := p.NewLogin(ctx)
	if err != nil {
		return nil, loginFault(err)
	}
	state, err := json.Marshal(loginState{provider, l.State, l.Verifier})
	return &identify.Departure{Request: l.State, URL: l.Address, State: state, Until: m.s.config.Now().Add(loginTime)}, err
}

// Request is the state that comes back.
func (remoteLogin) Request(answer url.Values) (string, error) {
	if state := answer.Get("state"); state != "" {
		return state, nil
	}
	return "", unsolicited
}

// Finish exchanges the code.
func (m remoteLogin) Finish(ctx context.Context, state []byte, answer url.Values) (*identify.Answer, error) {
	var l loginState
	if err := json.Unmarshal(state, &l); err != nil {
		return nil, err
	}
	p := m.s.config.Remote[l.Provider]
	code := answer.Get("code")
	switch {
	case p == nil:
		return nil, fault.New(fault.WrongState, "the provider %s is not configured any more", l.Provider)
	case code == "":
		return nil, refusedLogin(csc.Clean(answer.Get("error") + " " + answer.Get("error_description")))
	}
	tokens, err := p.Finish(ctx, code, l.Verifier)
	if err != nil {
		return nil, loginFault(err)
	}
	b, err := json.Marshal(tokens)
	return &identify.Answer{
		Proof: &identify.Proof{At: m.s.config.Now()}, ID: l.State, Until: m.s.config.Now().Add(loginTime),
		Files: []identify.File{{Name: "tokens", Content: b}},
	}, err
}

func refusedLogin(words string) *identify.Refusal {
	return &identify.Refusal{
		Reason: "login", English: "The provider of the key refused: " + words + ". Begin again from the page of your order.",
		Italian: "Il fornitore della chiave ha rifiutato: " + words + ". Ricomincia dalla pagina del tuo ordine.",
	}
}

// loginFault tells a refusal of the provider from an accident.
func loginFault(err error) error {
	var said *csc.Error
	if !errors.As(err, &said) {
		return err
	}
	if said.Kind == csc.Unreached {
		return fault.New(fault.Unavailable, "%s", said.Text).Because(err)
	}
	return refusedLogin(said.Text)
}

// loggedIn takes a holder who comes back. Where there is one credential, and it
// wants no PIN, that is all; else the holder is asked.
func (s *Service) loggedIn(ctx context.Context, c *Certificate, tokens []byte, b Browser, take func(tx *store.Tx) error) (*Certificate, error) {
	p := s.config.Remote[c.Provider]
	if p == nil {
		return nil, fault.New(fault.WrongState, "the provider %s is not configured any more", c.Provider)
	}
	l := login{}
	if err := json.Unmarshal(tokens, &l.Tokens); err != nil {
		return nil, err
	}
	var err error
	session := s.holderSession(p, l.Tokens)
	if l.Credentials, err = session.List(ctx); err != nil {
		return nil, s.refuse(ctx, c, byProvider, credentialFault(err))
	}
	if len(l.Credentials) == 0 {
		return nil, s.refuse(ctx, c, byProvider, fault.New(fault.BadField, "there is no credential of yours at the provider"))
	}
	if len(l.Credentials) == 1 {
		at, err := session.Credential(ctx, l.Credentials[0])
		if err == nil && !at.PIN.Ask {
			now := session.Tokens()
			return s.adopt(ctx, c, at, adoption{tokens: &now, browser: b, more: take})
		}
	}
	l.Tokens = session.Tokens()
	sealed, err := s.seal(loginPurpose, c.ID, l)
	if err != nil {
		return nil, err
	}
	tied, err := s.seal(browserPurpose, c.ID, b.hash())
	if err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := take(tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update certificates set login = $1, browser = $2 where id = $3 and state = $4`, sealed, tied, c.ID, string(Registering))
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.ByID(ctx, c.ID)
}

// holderSession calls a provider for a holder whose tokens are not stored yet.
func (s *Service) holderSession(p *csc.Provider, t csc.Tokens) *csc.Session {
	return p.SessionOf(t, p.Renew)
}

// ByCredential takes the key that a holder has named into use.
func (s *Service) ByCredential(ctx context.Context, c *Certificate, credential, pin string, shown Browsers, b Browser) (*Certificate, error) {
	if err := c.genuine(); err != nil {
		return nil, err
	}
	step, choices := s.RemoteStep(c, shown)
	if step != "credential" {
		return nil, fault.New(fault.WrongState, "the order waits for no credential in this browser")
	}
	if credential == "" && len(choices) == 1 {
		credential = choices[0]
	}
	switch {
	case credential == "":
		return nil, fault.New(fault.BadField, "credential is missing")
	case len(credential) > maxCredential || len(pin) > maxCredential || !identify.Plain(credential):
		return nil, fault.New(fault.BadField, "credential or pin is too long, or has characters that nobody can read")
	case choices != nil && !slices.Contains(choices, credential):
		return nil, s.refuse(ctx, c, byProvider, fault.New(fault.BadField, "credential is none of yours at the provider"))
	}
	p := s.config.Remote[c.Provider]
	session := p.Session()
	if c.login != nil {
		session = s.holderSession(p, c.login.Tokens)
	}
	at, err := session.Credential(ctx, credential)
	if err != nil {
		return nil, s.refuse(ctx, c, byProvider, credentialFault(err))
	}
	a := adoption{pin: pin, browser: b}
	if c.login != nil {
		now := session.Tokens()
		a.tokens = &now
	} else if !s.config.Sandbox && !at.PIN.Need {
		// The operator's token can have it used by whoever knows its name.
		return nil, fault.New(fault.BadField, "the credential asks for no PIN: the operator takes it into use (rogito cert remote)")
	}
	done, err := s.adopt(ctx, c, at, a)
	if errors.Is(err, fault.BadField) {
		return nil, s.refuse(ctx, c, byProvider, err)
	}
	return done, err
}

// maxCredential bounds the name of a credential, and a PIN.
const maxCredential = 256

// credentialFault is what the page says of a credential that the provider does
// not show, or that cannot be used.
func credentialFault(err error) error {
	var said *csc.Error
	switch {
	case !errors.As(err, &said):
		return err
	case said.Kind == csc.Unreached:
		return fault.New(fault.Unavailable, "%s", said.Text).Because(err)
	}
	return fault.New(fault.BadField, "credential: %s", said.Text).Because(err)
}

// adoption is how a key at a provider is taken into use.
type adoption struct {
	tokens  *csc.Tokens // of the holder; nil: the operator's serve
	pin     string
	browser Browser // that will see the credentials
	more    func(tx *store.Tx) error
}

// adopt makes an order of a remote key DONE: certificate and chain are those of
// the provider.
func (s *Service) adopt(ctx context.Context, c *Certificate, at *csc.Credential, a adoption) (*Certificate, error) {
	cred := Credentials{Username: keys.NewUsername(c.Kind), Password: keys.NewPassword()}
	n, chain, err := s.remoteKey(ctx, c, at, a, cred)
	if err != nil {
		return nil, err
	}
	once, err := s.seal(oncePurpose, c.ID, cred)
	if err != nil {
		return nil, err
	}
	tied, err := s.seal(browserPurpose, c.ID, a.browser.hash())
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, c, func(tx *store.Tx) error {
		if a.more != nil {
			if err := a.more(tx); err != nil {
				return err
			}
		}
		if c.State == Ordered {
			if err := s.step(ctx, tx, c, Registering, "the holder came to the page"); err != nil {
				return err
			}
		}
		if err := s.step(ctx, tx, c, Working, "a credential at the provider was named"); err != nil {
			return err
		}
		if err := s.keepRemote(ctx, tx, c, at, chain, n); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update certificates set credentials_once = $1, browser = $2, login = null where id = $3`, once, tied, c.ID); err != nil {
			return err
		}
		if err := s.note(ctx, tx, c, "certificate-issued", "certificate of a key at the provider "+c.Provider+" taken into use", map[string]any{"certificate": c.issuedDigest()}); err != nil {
			return err
		}
		return s.tell(ctx, tx, c)
	})
	if err != nil {
		return nil, err
	}
	return s.ByID(ctx, c.ID)
}

// remoteKey seals what it takes to have a key at a provider used.
func (s *Service) remoteKey(ctx context.Context, c *Certificate, at *csc.Credential, a adoption, cred Credentials) (n keys.New, chain [][]byte, err error) {
	if err := s.checkRemote(c.Kind, at, a.pin); err != nil {
		return n, nil, err
	}
	r, err := keys.NewRemote(c.Provider, at.ID, a.pin, at.Certificate.PublicKey)
	if err != nil {
		return n, nil, err
	}
	n = keys.New{ID: c.ID, AccountID: c.AccountID, Username: cred.Username, Kind: c.Kind, Level: c.Level, Public: at.Certificate.PublicKey, Remote: c.Provider}
	if n.Sealed, err = s.keys.Vault().ProtectRemote(ctx, keys.Owner(c.ID, c.Kind, c.Level), r, cred.Password); err != nil {
		return n, nil, err
	}
	if a.tokens != nil {
		if n.RemoteToken, err = s.keys.SealToken(c.ID, r, a.tokens); err != nil {
			return n, nil, err
		}
	}
	chain, err = s.config.Chain(ctx, at.Certificate.Raw, at.Others)
	return n, chain, err
}

// keepRemote writes key and certificate of a remote key into their rows.
func (s *Service) keepRemote(ctx context.Context, tx *store.Tx, c *Certificate, at *csc.Credential, chain [][]byte, n keys.New) error {
	if err := s.move(ctx, tx, c, Done); err != nil {
		return err
	}
	if err := s.keys.Add(ctx, tx, n); err != nil {
		return err
	}
	return s.keepIssued(ctx, tx, c, at.Certificate.Raw, chain)
}

// checkRemote refuses a credential that could not sign.
func (s *Service) checkRemote(kind keys.Kind, at *csc.Credential, pin string) error {
	now, cert := s.config.Now(), at.Certificate
	switch {
	case now.After(cert.NotAfter):
		return fault.New(fault.BadField, "credential: its certificate expired on %s", cert.NotAfter.Format(time.DateOnly))
	case cert.HasKeyUsage && cert.KeyUsage&(pkix.NonRepudiation|pkix.DigitalSignature) == 0:
		return fault.New(fault.BadField, "credential: its certificate is not for signing")
	case keys.AlgorithmOf(cert.PublicKey) == "":
		return fault.New(fault.BadField, "credential: its key is none of %v", keys.Algorithms)
	case at.Mode == csc.ModeOAuth:
		return fault.New(fault.BadField, "credential: the provider wants a login for each signature (oauth2code), which a call cannot give")
	case at.PIN.Need && pin == "":
		return fault.New(fault.BadField, "pin is missing: the credential asks for one")
	case kind == keys.OTP && !at.OTP.Ask:
		return fault.New(fault.BadField, "credential: it takes no one-time password, and certificates of the kind otp are never used without")
	case at.OTP.Need && kind != keys.OTP:
		return fault.New(fault.BadField, "credential: it asks for a one-time password, and only certificates of the kind otp are used with one")
	}
	return nil
}

// TakeRemote takes a key at a provider into use without an order: for the
// operator. The credentials are shown nowhere else.
func (s *Service) TakeRemote(ctx context.Context, account, provider string, kind keys.Kind, credential, pin string) (*Certificate, *Credentials, error) {
	p := s.config.Remote[provider]
	switch {
	case p == nil:
		return nil, nil, fmt.Errorf("%s is no provider of remote keys: see signing.providers in the configuration", provider)
	case p.Flow() == csc.FlowCode:
		return nil, nil, fmt.Errorf("at %s the holder logs in: buy a certificate of the provider, and have the holder open its link", provider)
	case !kind.Known():
		return nil, nil, fault.New(fault.BadField, "kind must be automatic, otp or eseal")
	}
	at, err := p.Session().Credential(ctx, credential)
	if err != nil {
		return nil, nil, err
	}
	now := s.config.Now()
	c := &Certificate{
		ID: store.NewID(), AccountID: account, Provider: provider, Kind: kind, State: Working, Owner: at.Certificate.Subject.CommonName(),
		Identification: byProvider, Algorithm: keys.AlgorithmOf(at.Certificate.PublicKey), Level: s.config.Levels.defaultLevel(kind),
		CreatedAt: now, UpdatedAt: now, ExpireAt: at.Certificate.NotAfter,
	}
	cred := &Credentials{Username: keys.NewUsername(kind), Password: keys.NewPassword()}
	n, chain, err := s.remoteKey(ctx, c, at, adoption{pin: pin}, *cred)
	if err != nil {
		return nil, nil, err
	}
	err = s.write(ctx, c, func(tx *store.Tx) error {
		if err := s.insert(ctx, tx, c); err != nil {
			return err
		}
		if err := s.keepRemote(ctx, tx, c, at, chain, n); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-imported", "certificate of a key at the provider "+provider+" taken into use", map[string]any{"certificate": c.issuedDigest()})
	})
	return c, cred, err
}

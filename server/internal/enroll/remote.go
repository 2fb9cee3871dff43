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
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/store"
)

// A certificate whose key is at a provider is not issued here. Its holder logs in
// at the provider, names the credential and its PIN, or gives the name and
// password of the key there; then the certificate is read, and what it takes to
// have the key used is sealed under a password of ours.

// RemoteKinds are the kinds of providers that have keys: the Cloud Signature
// Consortium API, ARSS and SWS.
var RemoteKinds = []string{"csc", "arss", "sws"}

// byProvider is the identification method of orders whose key is at a provider.
const byProvider = "remote"

// csc is a provider that speaks the Cloud Signature Consortium API, nil for others.
func (s *Service) csc(name string) *csc.Provider {
	p, _ := s.config.Remote[name].(*csc.Provider)
	return p
}

// accounts is a provider where keys are used with a name and a password.
func (s *Service) accounts(name string) (remote.Accounts, bool) {
	p, ok := s.config.Remote[name].(remote.Accounts)
	return p, ok
}

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
// (empty), a login at the provider ("login"), a credential and its PIN
// ("credential"), to be chosen from those named where there are any, or the name
// and password of the key there ("account").
func (s *Service) RemoteStep(c *Certificate, shown Browsers) (step string, choices []string) {
	p := s.csc(c.Provider)
	_, named := s.accounts(c.Provider)
	switch {
	case !c.awaits():
		return "", nil
	case named:
		return "account", nil
	case p == nil:
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
func (m remoteLogin) Start(ctx context.Context, provider string) (*identify.Departure, error) {
	p := m.s.csc(provider)
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
	p := m.s.csc(l.Provider)
	code := answer.Get("code")
	switch {
	case p == nil:
		return nil, fault.New(fault.WrongState, "the provider %s is not configured any more", l.Provider)
	case code == "":
		return nil, refusedLogin(remote.Clean(answer.Get("error") + " " + answer.Get("error_description")))
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

// loginFault separates a refusal by the provider from an accident.
func loginFault(err error) error {
	var said *remote.Error
	if !errors.As(err, &said) {
		return err
	}
	if said.Kind == remote.Unreached {
		return fault.New(fault.Unavailable, "provider: %s", said.Text).Because(err)
	}
	return refusedLogin(said.Text)
}

// loggedIn continues after the holder's login at the provider. With a single credential that
// wants no PIN the key is taken into use at once; otherwise the holder is asked.
func (s *Service) loggedIn(ctx context.Context, c *Certificate, tokens []byte, b Browser, take func(tx *store.Tx) error) (*Certificate, error) {
	p := s.csc(c.Provider)
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
			if err := checkCredential(c.Kind, at, ""); err != nil {
				return nil, s.refuse(ctx, c, byProvider, err)
			}
			now := session.Tokens()
			return s.adopt(ctx, c, adoption{key: keyOf(at, ""), tokens: &now, browser: b, more: take})
		}
	}
	l.Tokens = session.Tokens()
	sealed, err := s.seal(loginPurpose, c.ID, l)
	if err != nil {
		return nil, err
	}
	tied, err := s.seal(browserPurpose, c.ID, b.Hash())
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
	p := s.csc(c.Provider)
	session := p.Session()
	if c.login != nil {
		session = s.holderSession(p, c.login.Tokens)
	}
	at, err := session.Credential(ctx, credential)
	if err != nil {
		return nil, s.refuse(ctx, c, byProvider, credentialFault(err))
	}
	if err := checkCredential(c.Kind, at, pin); err != nil {
		return nil, s.refuse(ctx, c, byProvider, err)
	}
	a := adoption{key: keyOf(at, pin), browser: b}
	if c.login != nil {
		now := session.Tokens()
		a.tokens = &now
	} else if !s.config.Sandbox && !at.PIN.Need {
		// With the operator's token, the name alone would be enough to use it.
		return nil, fault.New(fault.BadField, "the credential asks for no PIN: the operator takes it into use (rogito cert remote)")
	}
	return s.adopt(ctx, c, a)
}

// maxCredential bounds the name of a credential, and a PIN.
const maxCredential = 256

// accountFault is the refusal of a key of an account that is missing or unusable.
func accountFault(err error) error {
	return keyFault(err, func(text string) *fault.Error { return fault.New(fault.BadField, "provider: %s", text) })
}

// credentialFault is the refusal of a credential that is missing or unusable.
func credentialFault(err error) error {
	return keyFault(err, func(text string) *fault.Error { return fault.New(fault.BadField, "credential: %s", text) })
}

// keyFault is the refusal of a key that the provider does not show, or that cannot be used;
// other errors stay.
func keyFault(err error, refusal func(text string) *fault.Error) error {
	var said *remote.Error
	switch {
	case !errors.As(err, &said):
		return err
	case said.Kind == remote.Unreached:
		return fault.New(fault.Unavailable, "provider: %s", said.Text).Because(err)
	}
	return refusal(said.Text).Because(err)
}

// remoteKey is a key at a provider, with what it is used with.
type remoteKey struct {
	login remote.Login
	cert  *pkix.Certificate
	chain [][]byte // in no order, until it was put in order
}

func keyOf(at *csc.Credential, pin string) *remoteKey {
	return &remoteKey{login: remote.Login{ID: at.ID, Password: pin}, cert: at.Certificate, chain: at.Others}
}

// adoption is how a key at a provider is taken into use.
type adoption struct {
	key     *remoteKey
	tokens  *csc.Tokens // of the holder; nil: the operator's serve, or none are needed
	browser Browser     // that will see the credentials
	more    func(tx *store.Tx) error
}

// adopt makes an order of a remote key DONE: certificate and chain are those of
// the provider.
func (s *Service) adopt(ctx context.Context, c *Certificate, a adoption) (*Certificate, error) {
	if err := s.checkRemote(ctx, a.key); err != nil {
		if errors.Is(err, fault.BadField) {
			err = s.refuse(ctx, c, byProvider, err)
		}
		return nil, err
	}
	cred := Credentials{Username: keys.NewUsername(c.Kind), Password: keys.NewPassword()}
	n, err := s.sealRemote(ctx, c, a, cred)
	if err != nil {
		return nil, err
	}
	once, err := s.seal(oncePurpose, c.ID, cred)
	if err != nil {
		return nil, err
	}
	tied, err := s.seal(browserPurpose, c.ID, a.browser.Hash())
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
		if err := s.keepRemote(ctx, tx, c, a.key, n); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update certificates set credentials_once = $1, browser = $2, login = null where id = $3`, once, tied, c.ID); err != nil {
			return err
		}
		if err := s.note(ctx, tx, c, "certificate-issued", "certificate of a key at the provider "+c.Provider+" taken into use", map[string]any{"certificate": c.issuedDigest()}); err != nil {
			return err
		}
		return s.queueCallback(ctx, tx, c, string(Done))
	})
	if err != nil {
		return nil, err
	}
	return s.ByID(ctx, c.ID)
}

// sealRemote seals what it takes to have a key at a provider used.
func (s *Service) sealRemote(ctx context.Context, c *Certificate, a adoption, cred Credentials) (n keys.New, err error) {
	public := a.key.cert.PublicKey
	r, err := keys.NewRemote(c.Provider, a.key.login, public)
	if err != nil {
		return n, err
	}
	n = keys.New{ID: c.ID, AccountID: c.AccountID, Username: cred.Username, Kind: c.Kind, Level: c.Level, Public: public, Remote: c.Provider}
	if n.Sealed, err = s.keys.Vault().ProtectRemote(ctx, keys.Owner(c.ID, c.Kind, c.Level), r, cred.Password); err != nil {
		return n, err
	}
	if a.tokens != nil {
		n.RemoteToken, err = s.keys.SealToken(c.ID, r, a.tokens)
	}
	return n, err
}

// keepRemote writes key and certificate of a remote key into their rows.
func (s *Service) keepRemote(ctx context.Context, tx *store.Tx, c *Certificate, k *remoteKey, n keys.New) error {
	if err := s.move(ctx, tx, c, Done); err != nil {
		return err
	}
	if err := s.keys.Add(ctx, tx, n); err != nil {
		return err
	}
	return s.keepIssued(ctx, tx, c, k.cert.Raw, k.chain)
}

// checkRemote refuses a key that could not sign, and puts its chain in order.
func (s *Service) checkRemote(ctx context.Context, k *remoteKey) (err error) {
	now, cert := s.config.Now(), k.cert
	switch {
	case now.After(cert.NotAfter):
		return fault.New(fault.BadField, "credential: its certificate expired on %s", cert.NotAfter.Format(time.DateOnly))
	case cert.BasicConstraints != nil && cert.BasicConstraints.IsCA:
		return fault.New(fault.BadField, "credential: its certificate is one of an authority")
	case cert.HasKeyUsage && cert.KeyUsage&(pkix.NonRepudiation|pkix.DigitalSignature) == 0:
		return fault.New(fault.BadField, "credential: its certificate is not for signing")
	case keys.AlgorithmOf(cert.PublicKey) == "":
		return fault.New(fault.BadField, "credential: its key is none of %v", keys.Algorithms)
	}
	if k.chain, err = s.config.Chain(ctx, cert.Raw, k.chain); err != nil || s.config.Revoked == nil {
		return err
	}
	state, err := s.config.Revoked(ctx, cert.Raw, k.chain)
	if err == nil && state != "" {
		err = fault.New(fault.BadField, "credential: its certificate is %s, by the word of its issuer", state)
	}
	return err
}

// checkCredential refuses a credential that a call could not use.
func checkCredential(kind keys.Kind, at *csc.Credential, pin string) error {
	switch {
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

// AddRemote adds a key at a provider without an order: for the operator. The credentials are shown
// nowhere else.
func (s *Service) AddRemote(ctx context.Context, account, provider string, kind keys.Kind, l remote.Login) (*Certificate, *Credentials, error) {
	if !kind.Known() {
		return nil, nil, fault.New(fault.BadField, "kind must be automatic, otp or eseal")
	}
	k, err := s.findRemote(ctx, provider, kind, l)
	if err == nil {
		err = s.checkRemote(ctx, k)
	}
	if err != nil {
		return nil, nil, err
	}
	c := s.adopted(account, provider, kind, k, s.config.Levels.defaultLevel(kind))
	cred := &Credentials{Username: keys.NewUsername(kind), Password: keys.NewPassword()}
	n, err := s.sealRemote(ctx, c, adoption{key: k}, *cred)
	if err != nil {
		return nil, nil, err
	}
	return c, cred, s.insertRemote(ctx, c, k, n)
}

// findRemote asks a provider for a key, for the operator.
func (s *Service) findRemote(ctx context.Context, provider string, kind keys.Kind, l remote.Login) (*remoteKey, error) {
	if p, ok := s.accounts(provider); ok {
		if p.Passes() {
			return nil, fmt.Errorf("nothing of the provider %s is kept here (store_credentials): callers sign with its own username and password", provider)
		}
		return openAccount(ctx, p, kind, l)
	}
	p := s.csc(provider)
	switch {
	case p == nil:
		return nil, fmt.Errorf("%s is no provider of remote keys: see signing.providers in the configuration", provider)
	case p.Flow() == csc.FlowCode:
		return nil, fmt.Errorf("at %s the holder logs in: buy a certificate of the provider, and have the holder open its link", provider)
	}
	at, err := p.Session().Credential(ctx, l.ID)
	if err == nil {
		err = checkCredential(kind, at, l.Password)
	}
	if err != nil {
		return nil, err
	}
	return keyOf(at, l.Password), nil
}

// adopted is a certificate that came into being without an order.
func (s *Service) adopted(account, provider string, kind keys.Kind, k *remoteKey, level int) *Certificate {
	now := s.config.Now()
	return &Certificate{
		ID: store.NewID(), AccountID: account, Provider: provider, Kind: kind, State: Working, Owner: k.cert.Subject.CommonName(),
		Identification: byProvider, Algorithm: keys.AlgorithmOf(k.cert.PublicKey), Level: level,
		CreatedAt: now, UpdatedAt: now, ExpireAt: k.cert.NotAfter,
	}
}

func (s *Service) insertRemote(ctx context.Context, c *Certificate, k *remoteKey, n keys.New) error {
	return s.write(ctx, c, func(tx *store.Tx) error {
		if err := s.insert(ctx, tx, c); err != nil {
			return err
		}
		if err := s.keepRemote(ctx, tx, c, k, n); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-imported", "certificate of a key at the provider "+c.Provider+" taken into use", map[string]any{"certificate": c.issuedDigest()})
	})
}

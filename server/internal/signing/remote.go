package signing

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito"
	csc "rogito.dev/rogito/server/internal/csc/client"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// A key at a provider is used by sending digests there. Everything before that
// can be done again without harm. Once digests were sent, only an answer tells
// what became of them: without one the provider may have signed, and nothing is
// sent a second time, by this process or by another that takes the record over.

// remoteKey is a key at a provider, for the work on one record.
type remoteKey struct {
	*keys.Remote
	signer     csc.Signer
	credential *csc.Credential // as the provider describes it now
	hash       crypto.Hash
	pss        bool
	sent       bool // digests whose intents are open went out
	silent     int  // groups in a row to which no answer came
}

// maxSilent is how many groups of a batch are sent to a provider that does not
// answer.
const maxSilent = 3

// openRemote opens what the password holds of a key at a provider, and asks the
// provider what it thinks of it. For other keys it does nothing.
func (x *run) openRemote(ctx context.Context) error {
	if x.cred.Remote == "" {
		return nil
	}
	p := x.config.Providers[x.cred.Remote]
	if p == nil {
		return &ledger.Refusal{Number: fault.ProviderRefused, Text: "the provider of the key is not configured here any more"}
	}
	key, err := x.keys.Open(ctx, x.cred, x.secrets.Password)
	switch {
	case errors.Is(err, keys.ErrPassword):
		return errCredentials
	case errors.Is(err, keys.ErrErased):
		return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate's key is gone"}
	case err != nil:
		return err
	}
	r, ok := key.(*keys.Remote)
	if !ok || r.Provider != x.cred.Remote {
		return errors.New("signing: the credential is not the one of a key at this provider")
	}
	session, err := x.session(ctx, p, r)
	if err != nil {
		return err
	}
	c, err := session.Credential(ctx, r.Credential)
	if err != nil {
		return providerRefusal(err)
	}
	own, err := x.parse(x.cert.DER)
	if err != nil {
		return fmt.Errorf("signing: certificate: %w", err)
	}
	if !bytes.Equal(c.Certificate.RawSPKI, own.RawSubjectPublicKeyInfo) {
		return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the provider has another certificate and key for the credential now"}
	}
	x.key, x.remote = r, &remoteKey{Remote: r, signer: csc.Signer{Session: session}, credential: c}
	return nil
}

// session calls the provider with the holder's tokens, where there are any, and
// else with the operator's.
func (x *run) session(ctx context.Context, p *csc.Provider, r *keys.Remote) (*csc.Session, error) {
	if p.Flow() != csc.FlowCode {
		return p.Session(), nil
	}
	var tokens csc.Tokens
	if _, err := x.keys.RemoteToken(ctx, x.cred.ID, r, &tokens); err != nil {
		return nil, err
	}
	return p.SessionOf(tokens, func(ctx context.Context, old csc.Tokens) (csc.Tokens, error) {
		return renewTokens(ctx, x.keys, x.cred.ID, p, r, old)
	}), nil
}

// renewTokens gets new tokens of a holder and keeps them. Of several who want
// them one asks: a provider may take a refresh token once only.
func renewTokens(ctx context.Context, store *keys.Store, id string, p *csc.Provider, r *keys.Remote, old csc.Tokens) (csc.Tokens, error) {
	leave, err := store.RemoteTurn(ctx, id)
	if err != nil {
		return old, err
	}
	defer leave()
	var now csc.Tokens
	sealed, err := store.RemoteToken(ctx, id, r, &now)
	if err != nil || now.Access != old.Access {
		return now, err
	}
	fresh, refused := p.Renew(ctx, now)
	if refused != nil { // another server may have been first
		if _, err := store.RemoteToken(ctx, id, r, &now); err == nil && now.Access != old.Access {
			return now, nil
		}
		return old, refused
	}
	_, err = store.ReplaceToken(context.WithoutCancel(ctx), id, r, sealed, fresh)
	return fresh, err
}

// askProvider has drafts signed at the provider, but for those that were signed before. An
// error is about all of them. expect is how many are still to come, these among them.
func (x *run) askProvider(ctx context.Context, drafts []*rogito.Draft, expect int) ([]csc.Value, error) {
	all := make([]csc.Value, len(drafts))
	var rest []*rogito.Draft
	var places []int
	for i, d := range drafts {
		if all[i].Value = x.had(d.Digest()); all[i].Value == nil {
			rest, places = append(rest, d), append(places, i)
		}
	}
	if len(rest) == 0 {
		return all, nil
	}
	values, err := x.sendDrafts(ctx, rest, expect)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if all[places[i]] = v; v.Err == nil {
			x.values = append(x.values, ledger.Value{Intent: x.uses[i], Digest: rest[i].Digest(), Value: v.Value})
		}
	}
	return all, nil
}

// sendDrafts sends at most as many as the provider signs at once.
func (x *run) sendDrafts(ctx context.Context, drafts []*rogito.Draft, expect int) ([]csc.Value, error) {
	k := x.remote
	if k.silent >= maxSilent {
		return nil, &ledger.Refusal{Number: fault.ProviderRefused, Text: "not sent: the provider did not answer for the documents before"}
	}
	req := csc.Request{Credential: k.credential, Public: k.Public(), Hash: k.hash, PSS: k.pss, PIN: k.PIN, OTP: x.secrets.OTP, Expect: expect}
	for _, d := range drafts {
		req.Digests = append(req.Digests, d.Digest())
	}
	tries := 0
	req.Before = func(ctx context.Context) error {
		if tries++; tries > 1 {
			x.take(intent.Failed) // the provider has said that it did nothing with them
		}
		if _, err := x.begin(ctx, req.Digests...); err != nil {
			return err
		}
		k.sent = true
		x.config.Hook("using", x.record.ID)
		return nil
	}
	k.sent = false
	values, err := k.signer.Sign(ctx, req)
	x.config.Hook("used", x.record.ID)
	var said *csc.Error
	if err == nil || !errors.As(err, &said) {
		k.silent = 0
		return values, err
	}
	if k.sent {
		if k.sent = false; said.Kind == csc.Unknown {
			x.take(intent.Unknown)
		} else {
			x.take(intent.Failed)
		}
	}
	if k.silent++; said.Kind != csc.Unknown && said.Kind != csc.Unreached {
		k.silent = 0
	}
	return nil, providerRefusal(err)
}

// take gives the open intents their outcome: none of them led to a value.
func (x *run) take(outcome string) {
	x.closing = append(x.closing, closing{x.uses, outcome})
	x.intents -= len(x.uses)
	x.made = x.made[:len(x.made)-len(x.uses)]
	x.uses = nil
}

// providerRefusal is the end of a record at a provider; other errors are what
// they are.
func providerRefusal(err error) error {
	var said *csc.Error
	if !errors.As(err, &said) {
		return err
	}
	no := &ledger.Refusal{Number: fault.ProviderRefused, Text: said.Text, Err: said.Err}
	switch said.Kind {
	case csc.Unusable:
		no.Number = fault.CertificateNotUsable
	case csc.Unknown:
		no.Number = fault.OutcomeUnknown
	}
	return no
}

// checkUnsent refuses to go on with a record whose digests went to a provider
// under a worker that is gone.
func (x *run) checkUnsent(ctx context.Context) error {
	if x.cred.Remote == "" {
		return nil
	}
	rows, err := x.db.Read().Query(ctx, `select id from signing_intents where signature_id = $1 and outcome <> $2`, x.record.ID, intent.Failed)
	sent, err := store.All("signing: read intents", rows, err, store.Column[string])
	if err != nil {
		return err
	}
	if kept := x.secrets.Kept; kept != nil {
		sent = slices.DeleteFunc(sent, func(id string) bool {
			return slices.ContainsFunc(kept.Values, func(v ledger.Value) bool { return v.Intent == id })
		})
	}
	if len(sent) > 0 {
		return &ledger.Refusal{Number: fault.OutcomeUnknown, Text: "outcome unknown at the remote key's provider (the work was broken off after digests were sent): it may have signed, nothing is repeated"}
	}
	return nil
}

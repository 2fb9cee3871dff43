package signing

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"slices"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// A key at a provider is used by sending digests there. Everything before that can be
// repeated without harm. Once digests were sent, only an answer shows the outcome: without
// one the provider may have signed, and nothing is sent a second time, by this process or by
// another that takes the record over.

// remoteKey is a key at a provider, for the work on one record.
type remoteKey struct {
	remote.Signer

	hash   crypto.Hash
	pss    bool
	sent   bool // digests whose intents are open went out
	silent int  // groups in a row to which no answer came
}

// maxSilent is how many groups of a batch are sent to a provider that does not
// answer.
const maxSilent = 3

// openRemote opens the login of a key at a provider with the password, or uses the one that
// came with the call, and asks the provider about the key. It does nothing for other keys.
func (x *run) openRemote(ctx context.Context) error {
	if x.cred.Remote == "" {
		return nil
	}
	key, err := x.remoteSigner(ctx)
	if err != nil {
		return err
	}
	x.remote = &remoteKey{Signer: key}
	own, _, err := x.cert.X509()
	if err != nil {
		return err
	}
	if there, _ := key.Certificate(); !bytes.Equal(there.RawSPKI, own.RawSubjectPublicKeyInfo) {
		return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the provider has another certificate and key for the credential now"}
	}
	return x.checkRevoked(ctx)
}

// checkRevoked fetches the revocation data that the level needs before the provider is asked to
// sign: nothing is signed with a certificate that it says is unusable.
func (x *run) checkRevoked(ctx context.Context) error {
	if x.config.Revoked == nil || x.record.Options.TargetLevel() < ades.LevelLT {
		return nil
	}
	state, err := x.config.Revoked(ctx, x.cert.DER, x.cert.Chain)
	if err == nil && state != "" {
		err = &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate is " + state + ", by the word of its issuer"}
	}
	return err
}

// remoteSigner is the key, ready to be used.
func (x *run) remoteSigner(ctx context.Context) (remote.Signer, error) {
	if x.passed != nil {
		return x.passed.Signer, nil
	}
	p := x.config.Providers[x.cred.Remote]
	if p == nil {
		return nil, &ledger.Refusal{Number: fault.ProviderRefused, Text: "the provider of the key is not configured here any more"}
	}
	key, err := x.keys.Open(ctx, x.cred, x.secrets.Password)
	switch {
	case errors.Is(err, keys.ErrPassword):
		return nil, errCredentials
	case errors.Is(err, keys.ErrErased):
		return nil, &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate's key is gone"}
	case err != nil:
		return nil, err
	}
	r, ok := key.(*keys.Remote)
	if !ok || r.Provider != x.cred.Remote {
		return nil, errors.New("signing: the credential is not the one of a key at this provider")
	}
	x.key = r
	l := r.Login()
	l.Coded, l.OTP, l.Device, l.Tokens = x.cred.Kind == keys.OTP, x.secrets.OTP, x.secrets.OTPDevice, holderTokens{x.keys, x.cred.ID, r}
	signer, err := p.Open(ctx, l)
	if err != nil {
		return nil, providerRefusal(err)
	}
	return signer, nil
}

// holderTokens keeps the tokens that a holder's login at a provider gave.
type holderTokens struct {
	store *keys.Store
	id    string
	key   *keys.Remote
}

// Turn waits until no other goroutine renews them.
func (t holderTokens) Turn(ctx context.Context) (leave func(), err error) {
	return t.store.RemoteTurn(ctx, t.id)
}

// Read reads them.
func (t holderTokens) Read(ctx context.Context, tokens any) (version []byte, err error) {
	return t.store.RemoteToken(ctx, t.id, t.key, tokens)
}

// Replace keeps new ones.
func (t holderTokens) Replace(ctx context.Context, version []byte, tokens any) error {
	_, err := t.store.ReplaceToken(ctx, t.id, t.key, version, tokens)
	return err
}

// askProvider has drafts signed at the provider, except those signed earlier. An error is about
// all of them. expect is how many signatures are still to come, these included.
func (x *run) askProvider(ctx context.Context, drafts []*rogito.Draft, expect int) ([]remote.Value, error) {
	all := make([]remote.Value, len(drafts))
	var rest []*rogito.Draft
	var places []int
	for i, d := range drafts {
		if all[i].Value = x.keptValue(d.Digest()); all[i].Value == nil {
			rest, places = append(rest, d), append(places, i)
		}
	}
	if len(rest) == 0 {
		return all, nil
	}
	values, uses, err := x.sendDrafts(ctx, rest, expect)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if all[places[i]] = v; v.Err == nil {
			x.values = append(x.values, ledger.Value{Intent: uses[i], Digest: rest[i].Digest(), Value: v.Value})
		}
	}
	return all, nil
}

// sendDrafts sends as many drafts as the provider signs at once. It returns the values with the
// intents that they were requested under.
func (x *run) sendDrafts(ctx context.Context, drafts []*rogito.Draft, expect int) (values []remote.Value, uses []string, err error) {
	k := x.remote
	if k.silent >= maxSilent {
		return nil, nil, &ledger.Refusal{Number: fault.ProviderRefused, Text: "not sent: the provider did not answer for the documents before"}
	}
	req := remote.Request{Hash: k.hash, PSS: k.pss, Expect: expect, More: x.record.Options.SignsSeveralTimes()}
	for _, d := range drafts {
		req.Digests = append(req.Digests, d.Digest())
	}
	tries := 0
	req.Before = func(ctx context.Context) error {
		if tries++; tries > 1 {
			x.endIntents(intent.Failed, x.uses...) // the provider has said that it did nothing with them
		}
		if _, err := x.begin(ctx, req.Digests...); err != nil {
			return err
		}
		k.sent = true
		x.config.Hook("using", x.record.ID)
		return nil
	}
	k.sent = false
	values, err = k.Sign(ctx, req)
	x.config.Hook("used", x.record.ID)
	var said *remote.Error
	if err == nil {
		uses = x.uses
		x.closeUnanswered(values)
		return values, uses, nil
	}
	if !errors.As(err, &said) {
		k.silent = 0
		return nil, nil, err
	}
	if k.sent {
		k.sent = false
		x.endIntents(outcomeOf(said), x.uses...)
	}
	if k.silent++; !unanswered(said) {
		k.silent = 0
	}
	return nil, nil, providerRefusal(err)
}

// closeUnanswered records the outcome of the intents whose digests got no value.
func (x *run) closeUnanswered(values []remote.Value) {
	k, uses, answered := x.remote, x.uses, false
	for i, v := range values {
		var said *remote.Error
		if v.Made || !errors.As(v.Err, &said) {
			answered = true
			continue
		}
		x.endIntents(outcomeOf(said), uses[i])
		answered = answered || !unanswered(said)
	}
	if k.silent++; answered {
		k.silent = 0
	}
}

// unanswered reports whether an error means that no answer came, or that none was waited for.
func unanswered(e *remote.Error) bool { return e.Kind == remote.Unknown || e.Kind == remote.Unreached }

// outcomeOf is the outcome of an intent without a value.
func outcomeOf(e *remote.Error) string {
	if e.Kind == remote.Unknown {
		return intent.Unknown
	}
	return intent.Failed
}

// endIntents gives open intents their outcome: none of them led to a value.
func (x *run) endIntents(outcome string, ids ...string) {
	if len(ids) == 0 {
		return
	}
	ids = slices.Clone(ids)
	x.closing = append(x.closing, closing{ids, outcome})
	x.intents -= len(ids)
	gone := func(id string) bool { return slices.Contains(ids, id) }
	x.made, x.uses = slices.DeleteFunc(x.made, gone), slices.DeleteFunc(slices.Clone(x.uses), gone)
}

// providerRefusal is how an error of a provider ends a record; other errors are returned as
// they are.
func providerRefusal(err error) error {
	var said *remote.Error
	if !errors.As(err, &said) {
		return err
	}
	no := &ledger.Refusal{Number: fault.ProviderRefused, Text: said.Text, Err: said.Err}
	switch said.Kind {
	case remote.Unusable:
		no.Number = fault.CertificateNotUsable
	case remote.Unknown:
		no.Number = fault.OutcomeUnknown
	case remote.Credentials:
		no.Number = fault.WrongCredentials
	case remote.Code:
		no.Number = fault.WrongOTP
	case remote.Locked:
		no.Number = fault.CertificateLocked
	}
	return no
}

// checkUnsent refuses to continue a record whose digests an earlier worker had sent to a
// provider.
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

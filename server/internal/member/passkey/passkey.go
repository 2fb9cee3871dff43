// Package passkey registers passkeys and judges what is signed with them (Web Authentication, W3C).
// The protocol is left to go-webauthn, which only this package imports.
//
// No attestation is asked for: the maker of a passkey does not matter here. A passkey must know its
// user (user verification) and be found without a name (discoverable): that makes it two factors in
// one.
package passkey

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"
)

// mostResponse bounds what a browser sends.
const mostResponse = 32 << 10

// Party is the site that passkeys are for.
type Party struct {
	ID     string // domain
	Origin string // that a browser must have been at
	Name   string // for people
}

// User is the person of a passkey.
type User struct {
	ID   string // that the passkey brings back
	Name string // an address, as a browser shows it
	Keys []Key
}

// Key is a passkey as it is kept: its id, its public key and what it can do.
type Key json.RawMessage

// MarshalJSON writes the key as it is.
func (k Key) MarshalJSON() ([]byte, error) { return json.RawMessage(k).MarshalJSON() }

// UnmarshalJSON keeps a copy.
func (k *Key) UnmarshalJSON(b []byte) error {
	*k = bytes.Clone(b)
	return nil
}

// algorithms that every browser knows one of: ES256, EdDSA, RS256.
var algorithms = []protocol.CredentialParameter{
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgES256},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgEdDSA},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgRS256},
}

type m = map[string]any

// Creation is what a browser makes a passkey from, as JSON (WebAuthn, 5.4).
func (p Party) Creation(u User, challenge []byte) (string, error) {
	b, err := json.Marshal(m{
		"rp": m{"id": p.ID, "name": p.Name}, "user": m{"id": encode([]byte(u.ID)), "name": u.Name, "displayName": u.Name},
		"challenge": encode(challenge), "pubKeyCredParams": algorithms, "attestation": "none", "timeout": 300_000,
		"excludeCredentials": known(u.Keys), "authenticatorSelection": m{"residentKey": "required", "requireResidentKey": true, "userVerification": "required"},
	})
	return string(b), err
}

// known are passkeys that an authenticator makes no second one beside.
func known(keys []Key) []m {
	all := []m{}
	for _, k := range keys {
		all = append(all, m{"type": protocol.PublicKeyCredentialType, "id": k.ID()})
	}
	return all
}

// kept is a key as it is written down.
type kept struct {
	webauthn.Credential
	Made time.Time `json:"made"`
}

func (k Key) facts() (f struct {
	ID   []byte    `json:"id"`
	Made time.Time `json:"made"`
},
) {
	_ = json.Unmarshal(k, &f) // we wrote it
	return f
}

// ID is that of the credential, as browsers write it.
func (k Key) ID() string { return encode(k.facts().ID) }

// Made is when the passkey was registered; zero where that was not written down.
func (k Key) Made() time.Time { return k.facts().Made }

// Request is what a browser asks for a passkey with, as JSON (WebAuthn, 5.5).
func (p Party) Request(challenge []byte) (string, error) {
	b, err := json.Marshal(m{"rpId": p.ID, "challenge": encode(challenge), "userVerification": "required", "timeout": 300_000})
	return string(b), err
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// Challenge is what a response says that it answers; whether it was asked is for the
// caller.
func Challenge(response []byte) ([]byte, error) {
	var r struct {
		Response struct{ ClientDataJSON string }
	}
	if len(response) > mostResponse {
		return nil, errors.New("passkey: the response is too long")
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return nil, fmt.Errorf("passkey: response: %w", err)
	}
	text, err := base64.RawURLEncoding.DecodeString(r.Response.ClientDataJSON)
	if err != nil {
		return nil, fmt.Errorf("passkey: client data: %w", err)
	}
	var data struct{ Challenge string }
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, fmt.Errorf("passkey: client data: %w", err)
	}
	b, err := base64.RawURLEncoding.DecodeString(data.Challenge)
	if err != nil {
		return nil, fmt.Errorf("passkey: challenge: %w", err)
	}
	return b, nil
}

func (p Party) open() (*webauthn.WebAuthn, error) {
	w, err := webauthn.New(&webauthn.Config{RPID: p.ID, RPDisplayName: p.Name, RPOrigins: []string{p.Origin}, AttestationPreference: protocol.PreferNoAttestation})
	if err != nil {
		return nil, fmt.Errorf("passkey: %w", err)
	}
	return w, nil
}

func (p Party) ceremony(challenge []byte) webauthn.SessionData {
	return webauthn.SessionData{
		Challenge: encode(challenge), RelyingPartyID: p.ID, Origin: p.Origin, Expires: time.Now().Add(time.Minute), // the challenge has its own end
		UserVerification: protocol.VerificationRequired, CredParams: algorithms,
	}
}

// Register judges a new passkey of a user.
func (p Party) Register(u User, challenge, response []byte) (key Key, err error) {
	defer recovered(&err)
	w, err := p.open()
	if err != nil {
		return nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return nil, fmt.Errorf("passkey: %w", err)
	}
	s := p.ceremony(challenge)
	s.UserID = []byte(u.ID)
	c, err := w.CreateCredential(user{&u, nil}, s, parsed)
	if err != nil {
		return nil, fmt.Errorf("passkey: %w", err)
	}
	c.Attestation = webauthn.CredentialAttestation{} // it proves nothing here, and is long
	return json.Marshal(kept{*c, time.Now().UTC().Truncate(time.Second)})
}

// Verify judges the response to a challenge. The user is the one that the passkey names:
// find returns it with its keys.
func (p Party) Verify(challenge, response []byte, find func(id string) (*User, error)) (err error) {
	defer recovered(&err)
	w, err := p.open()
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return fmt.Errorf("passkey: %w", err)
	}
	_, _, err = w.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		u, err := find(string(handle))
		if err != nil {
			return nil, err
		}
		out := user{u, nil}
		for _, k := range u.Keys {
			var c webauthn.Credential
			if err := json.Unmarshal(k, &c); err != nil {
				return nil, err
			}
			out.keys = append(out.keys, c)
		}
		return out, nil
	}, p.ceremony(challenge), parsed)
	if err != nil {
		return fmt.Errorf("passkey: %w", err)
	}
	return nil
}

// recovered makes an error of a panic: what a browser sends is read by others' code.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("passkey: the response cannot be read: %v", p)
	}
}

// user is a User as the library wants it.
type user struct {
	*User
	keys []webauthn.Credential
}

func (u user) WebAuthnID() []byte                         { return []byte(u.ID) }
func (u user) WebAuthnName() string                       { return u.Name }
func (u user) WebAuthnDisplayName() string                { return u.Name }
func (u user) WebAuthnCredentials() []webauthn.Credential { return u.keys }

package client

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"rogito.dev/rogito/internal/oid"
	own "rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/remote"
)

// authorization is what the provider gave for signatures to come. It is never
// stored.
type authorization struct {
	sad  string
	left int
}

// signer has digests signed with a credential. An authorization by a one-time password lasts for
// several calls.
type signer struct {
	*Session
	credential *Credential
	login      remote.Login
	once       *authorization // by a one-time password
}

// Certificate of the credential, and others that came along.
func (s *signer) Certificate() (*own.Certificate, [][]byte) {
	return s.credential.Certificate, s.credential.Others
}

// Most signatures under one authorization.
func (s *signer) Most() int { return s.credential.Multisign }

// NeedsPSS says that the key signs nothing else.
func (s *signer) NeedsPSS() bool { return s.credential.NeedsPSS() }

// Close has nothing to end: an authorization ends by itself.
func (s *signer) Close(context.Context) {}

// Sign has digests signed. An error is about all of them; a Value may have one
// of its own. Nothing is sent again after an error of the kind Unknown.
func (s *signer) Sign(ctx context.Context, r remote.Request) ([]remote.Value, error) {
	about, err := s.p.Info(ctx)
	if err != nil {
		return nil, err
	}
	sign, hash, params, err := s.credential.scheme(r.Hash, r.PSS)
	if err != nil {
		return nil, err
	}
	auth, err := s.authorize(ctx, about, r)
	if err != nil {
		return nil, err
	}
	renewed := false
	for waits := 0; ; waits++ {
		in := s.signHash(about.Version, r, auth.sad, sign, hash, params)
		body, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		token, err := s.access(ctx, false)
		if err != nil {
			return nil, err
		}
		if err := r.Before(ctx); err != nil {
			return nil, err
		}
		// Once sent, the request is followed to its end even if the caller hangs up.
		a, err := s.p.post(context.WithoutCancel(ctx), s.p.config.URL+"/signatures/signHash", "application/json", token, body, secretsOf(in))
		switch {
		case errors.Is(err, errNotSent):
			return nil, remote.NoAnswer(err, "signatures/signHash")
		case err != nil:
			return nil, remote.Silent(err, "its answer did not come")
		}
		again, err := a.wait(ctx, waits)
		switch {
		case err != nil:
			return nil, err
		case again:
			continue
		case a.status == http.StatusUnauthorized && !renewed:
			renewed = true
			if _, err := s.access(ctx, true); err != nil {
				return nil, a.refusal("signatures/signHash")
			}
			if s.login.OTP == "" { // a SAD may be bound to the token that asked for it
				if auth, err = s.authorize(ctx, about, r); err != nil {
					return nil, err
				}
			}
			continue
		case a.status/100 == 5:
			return nil, remote.Silent(a.refusal("signatures/signHash"), fmt.Sprintf("it answered %d", a.status))
		case a.status/100 != 2:
			return nil, a.refusal("signatures/signHash")
		}
		auth.left -= len(r.Digests)
		return s.values(r, a)
	}
}

// authorize gets a SAD for the digests. One that a one-time password was given
// for is extended to digests that come later.
func (s *signer) authorize(ctx context.Context, about *Info, r remote.Request) (*authorization, error) {
	if s.once != nil {
		return s.extend(ctx, about, r)
	}
	number := len(r.Digests)
	if s.login.OTP != "" && about.Can("credentials/extendTransaction") {
		number = min(max(number, r.Expect), s.credential.Multisign)
	}
	in := s.hashes(about.Version, r, true)
	in["numSignatures"] = number
	data := []map[string]string{}
	for _, f := range []struct {
		Factor
		name, value string
	}{{s.credential.PIN, "PIN", s.login.Password}, {s.credential.OTP, "OTP", s.login.OTP}} {
		if f.value == "" || !f.Ask {
			continue
		}
		if about.Version == 1 {
			in[f.name] = f.value
		}
		data = append(data, map[string]string{"id": cmp.Or(f.ID, f.name), "value": f.value})
	}
	if about.Version == 2 {
		in["authData"] = data
	}
	var out struct {
		SAD string `json:"SAD"`
	}
	if err := s.call(ctx, "credentials/authorize", in, &out); err != nil {
		return nil, err
	}
	if out.SAD == "" {
		return nil, refused(nil, "the provider gave no authorization (credentials/authorize)")
	}
	a := &authorization{sad: out.SAD, left: number}
	if s.login.OTP != "" {
		s.once = a
	}
	return a, nil
}

// extend has an authorization cover digests that were not known when it was
// given.
func (s *signer) extend(ctx context.Context, about *Info, r remote.Request) (*authorization, error) {
	if s.once.left < len(r.Digests) || !about.Can("credentials/extendTransaction") {
		return nil, refused(nil, "the one-time password was used for the signatures before: the provider allows no more with it")
	}
	in := s.hashes(about.Version, r, true)
	in["SAD"] = s.once.sad
	var out struct {
		SAD string `json:"SAD"`
	}
	if err := s.call(ctx, "credentials/extendTransaction", in, &out); err != nil {
		return nil, err
	}
	if out.SAD == "" {
		return nil, refused(nil, "the provider gave no authorization (credentials/extendTransaction)")
	}
	s.once.sad = out.SAD
	return s.once, nil
}

// hashes is a request that names a credential and digests, in the words of a
// version.
func (s *signer) hashes(version int, r remote.Request, named bool) map[string]any {
	list := make([]string, len(r.Digests))
	for i, d := range r.Digests {
		list[i] = base64.StdEncoding.EncodeToString(d)
	}
	if version == 1 {
		return map[string]any{"credentialID": s.credential.ID, "hash": list}
	}
	in := map[string]any{"credentialID": s.credential.ID, "hashes": list}
	if named {
		in["hashAlgorithmOID"] = oid.OfHash(r.Hash)
	}
	return in
}

func (s *signer) signHash(version int, r remote.Request, sad, sign, hash, params string) map[string]any {
	in := s.hashes(version, r, false)
	in["SAD"], in["signAlgo"] = sad, sign
	if params != "" {
		in["signAlgoParams"] = params
	}
	if version == 2 {
		in["operationMode"] = "S"
	}
	if hash != "" {
		in[map[int]string{1: "hashAlgo", 2: "hashAlgorithmOID"}[version]] = hash
	}
	return in
}

// values reads the answer of signHash and holds every value against the key.
func (s *signer) values(r remote.Request, a *answer) ([]remote.Value, error) {
	var out struct {
		Signatures []string `json:"signatures"`
	}
	if err := json.Unmarshal(a.body, &out); err != nil {
		var syntax *json.SyntaxError
		if !a.framed && errors.As(err, &syntax) && syntax.Offset >= int64(len(a.body)) {
			return nil, remote.Silent(err, "its answer was cut short")
		}
		return nil, refused(err, "the provider's answer cannot be read (signatures/signHash)")
	}
	if len(out.Signatures) != len(r.Digests) {
		return nil, refused(nil, "the provider gave %d values for %d digests", len(out.Signatures), len(r.Digests))
	}
	all := make([]remote.Value, len(r.Digests))
	for i, text := range out.Signatures {
		all[i].Made = true
		v, err := remote.Base64(text)
		if err != nil {
			all[i].Err = refused(err, "a signature value of the provider cannot be read")
			continue
		}
		if v = remote.Verified(s.credential.Certificate.PublicKey, r.Hash, r.PSS, r.Digests[i], v); v == nil {
			all[i].Err = refused(nil, "a signature value of the provider does not verify with the certificate")
			continue
		}
		all[i].Value = v
	}
	return all, nil
}

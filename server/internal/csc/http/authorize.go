package http

import (
	"context"

	"rogito.dev/rogito/server/internal/account"
	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// maxDescription is how many characters a description may have (11.6).
const maxDescription = 500

// authorize gives a SAD for the holder's word (11.6).
func (s *Service) authorize(ctx context.Context, c *call) (object, error) {
	if c.bearer.Scope == cscserver.ScopeCredential {
		return nil, cscserver.Refuse(cscserver.AccessDenied, "A token of the scope credential is its own authorization")
	}
	cert, err := s.find(ctx, c)
	if err != nil {
		return nil, err
	}
	var signatures int
	if v, _ := c.get("numSignatures"); v == nil || c.spool.Unmarshal(v, &signatures) != nil {
		return nil, missing("integer", "numSignatures")
	}
	if signatures < 1 {
		return nil, cscserver.Invalid("Invalid value for parameter numSignatures")
	}
	hashes, oid, err := c.hashes()
	if err != nil {
		return nil, err
	}
	if err := cscserver.CheckHashes(hashes, oid, signatures); err != nil {
		return nil, err
	}
	description, err := c.text("description")
	if err != nil {
		return nil, err
	}
	if len([]rune(description)) > maxDescription {
		return nil, cscserver.Invalid("Invalid parameter description")
	}
	pin, otp, err := c.authData(s.Signing.NeedsOTP(cert))
	if err != nil {
		return nil, err
	}
	grant, err := s.Signing.Grant(ctx, cert.ID, pin, otp, signer(ctx))
	if err != nil {
		return nil, err
	}
	return sad(s.Auth.Authorise(ctx, c.bearer, &cscserver.Authorisation{Grant: grant, Hashes: hashes, Signatures: signatures, Description: description}))
}

func sad(secret string, err error) (object, error) {
	return object{"SAD": secret, "expiresIn": int(cscserver.SADLife.Seconds())}, err
}

// authData is what the holder gave: in the members PIN and OTP, or in
// authentication objects.
func (c *call) authData(needsOTP bool) (pin, otp string, err error) {
	if pin, err = c.text("PIN"); err == nil {
		otp, err = c.text("OTP")
	}
	if err != nil {
		return "", "", err
	}
	v, _ := c.get("authData")
	if v != nil {
		var objects []struct {
			ID    string `json:"id"`
			Value string `json:"value"`
		}
		if pin != "" || otp != "" || v.Kind() != '[' || c.spool.Unmarshal(v, &objects) != nil {
			return "", "", missing("array", "authData")
		}
		for _, o := range objects {
			switch {
			case o.ID == "PIN" && pin == "":
				pin = o.Value
			case o.ID == "OTP" && otp == "":
				otp = o.Value
			default:
				return "", "", cscserver.Invalid("Invalid array parameter authData")
			}
		}
	}
	for _, one := range []struct {
		name, value string
		need        bool
	}{{"PIN", pin, true}, {"OTP", otp, needsOTP}} {
		if one.need && one.value == "" {
			if c.version == 2 && v == nil {
				return "", "", missing("array", "authData")
			}
			return "", "", missing("string", one.name)
		}
		if len(one.value) > 1024 {
			return "", "", cscserver.Invalid("Invalid parameter %s", one.name)
		}
	}
	return pin, otp, nil
}

// extend adds hashes to an authorisation (11.9).
func (s *Service) extend(ctx context.Context, c *call) (object, error) {
	cert, err := s.find(ctx, c)
	if err != nil {
		return nil, err
	}
	secret, err := c.must("SAD")
	if err != nil {
		return nil, err
	}
	hashes, oid, err := c.hashes()
	if err != nil {
		return nil, err
	}
	if err := cscserver.CheckHashes(hashes, oid, len(hashes)); err != nil {
		return nil, err
	}
	return sad(s.Auth.Extend(ctx, c.bearer, cert.ID, secret, hashes))
}

// revoke ends a token (11.3).
func (s *Service) revoke(ctx context.Context, c *call) (object, error) {
	token, err := c.must("token")
	if err != nil {
		return nil, err
	}
	hint, err := c.text("token_type_hint")
	if err != nil {
		return nil, err
	}
	if hint != "" && hint != "access_token" && hint != "refresh_token" {
		return nil, cscserver.Invalid("Invalid parameter token_type_hint")
	}
	return nil, s.Auth.RevokeOwn(ctx, c.bearer, account.CallerFrom(ctx), token)
}

// waits says that no value is given without an approval.
func waits(r *ledger.Record) error {
	return cscserver.Refuse(cscserver.AccessDenied, "The signature waits for an approval (record %s): ask again with the same SAD once it is given", r.ID)
}

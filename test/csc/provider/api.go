package provider

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// info is 11.1 in both versions.
func (p *Provider) info(c *Call) *answer {
	a := map[string]any{
		"name": "Test provider", "logo": p.api.URL + "/logo.png", "region": "IT", "lang": "en-US",
		"description": "A remote signing service for tests", "authType": []string{"external", "oauth2code", "oauth2client"},
		"oauth2":  p.api.URL + "/as",
		"methods": []string{"auth/revoke", "credentials/list", "credentials/info", "credentials/authorize", "credentials/extendTransaction", "signatures/signHash", "oauth2/authorize", "oauth2/token", "oauth2/revoke"},
	}
	if c.plain { // as others spell it
		a["oauth2"] = p.api.URL + "/as/"
	}
	if c.Version == 1 {
		a["specs"] = "1.0.4.0"
		if c.plain {
			a["specs"] = "1.0.3.0"
		}
		return ok(a)
	}
	a["specs"] = "2.0.0.2"
	if c.plain { // what 2.2 adds to info, or may leave empty
		a["specs"], a["oauth2Issuer"], a["supportsRar"], a["validationInfo"] = "2.2.0.0", nil, false, nil
		a["supportedHashTypes"] = []string{oidSHA256, oidSHA384, oidSHA512}
		a["oauth2Servers"] = []any{map[string]any{"label": nil, "baseUri": a["oauth2"], "issuerIdentifier": nil, "authType": []string{"oauth2code", "oauth2client"}, "supportsRar": false}}
		delete(a, "oauth2")
	}
	a["asynchronousOperationMode"] = false
	a["methods"] = append(a["methods"].([]string), "oauth2/pushed_authorize")
	a["signAlgorithms"] = map[string]any{"algos": []string{oidRSASHA256, oidRSASHA384, oidRSASHA512, oidECSHA256, oidECSHA384, oidECSHA512}}
	a["signature_formats"] = map[string]any{"formats": []string{}, "envelope_properties": []any{}}
	a["conformance_levels"] = []string{}
	return ok(a)
}

// list is 11.4 of v1 (credentials/list). Who was logged in sees what is
// theirs; a client by itself sees everything, since no user is behind it.
func (p *Provider) list(c *Call, b *bearer) *answer {
	if _, named := c.Body["userID"]; named && b.user != "" {
		p.complain(c, "userID with a token of a user")
		return invalid("userID must not be used with the authorization of a user")
	}
	ids := []string{}
	for _, id := range p.order {
		if b.user == "" || p.credentials[id].User == b.user {
			ids = append(ids, id)
		}
	}
	a := map[string]any{"credentialIDs": ids}
	if c.Version == 2 && c.Body["credentialInfo"] == true {
		infos := make([]any, 0, len(ids))
		for _, id := range ids {
			one := p.describe(c, p.credentials[id])
			one["credentialID"] = id
			infos = append(infos, one)
		}
		a["credentialInfos"] = infos
	}
	return ok(a)
}

// credential finds what the call names; another user's credential counts as none.
func (p *Provider) credential(c *Call, b *bearer) (*Credential, *answer) {
	id, is := c.Body["credentialID"].(string)
	if !is || id == "" {
		p.complain(c, "credentialID is missing")
		return nil, invalid("Missing (or invalid type) string parameter credentialID")
	}
	cred := p.credentials[id]
	if cred == nil || b.user != "" && cred.User != b.user {
		return nil, invalid("Invalid parameter credentialID")
	}
	return cred, nil
}

func (p *Provider) credentialInfo(c *Call, b *bearer) *answer {
	cred, no := p.credential(c, b)
	if no != nil {
		return no
	}
	if w, there := c.Body["certificates"]; there && w != "none" && w != "single" && w != "chain" {
		p.complain(c, "certificates is %v", w)
		return invalid("Invalid parameter certificates")
	}
	return ok(p.describe(c, cred))
}

// describe is the answer of credentials/info.
func (p *Provider) describe(c *Call, cred *Credential) map[string]any {
	leaf := cred.Actor.Certificate
	key := map[string]any{"status": cred.KeyStatus, "algo": cred.algorithms()}
	if pub, is := leaf.PublicKey.(*rsa.PublicKey); is {
		key["len"] = pub.N.BitLen()
	} else {
		key["len"], key["curve"] = 256, oidP256
	}
	cert := map[string]any{"status": cred.Status}
	which, _ := c.Body["certificates"].(string)
	if which == "" {
		which = "single"
	}
	if which != "none" {
		cert["certificates"] = p.chain(cred, which)
	}
	if c.Body["certInfo"] == true {
		cert["issuerDN"], cert["subjectDN"] = leaf.Issuer.String(), leaf.Subject.String()
		cert["serialNumber"] = hex.EncodeToString(leaf.SerialNumber.Bytes())
		cert["validFrom"], cert["validTo"] = leaf.NotBefore.UTC().Format("20060102150405Z"), leaf.NotAfter.UTC().Format("20060102150405Z")
	}
	a := map[string]any{"description": "Key " + cred.ID, "key": key, "cert": cert, "SCAL": cred.SCAL, "multisign": cred.Multisign, "lang": "en-US"}
	wanted := c.Body["authInfo"] == true
	if c.Version == 1 {
		a["authMode"] = cred.Mode
		if wanted && cred.Mode == "explicit" {
			a["PIN"] = map[string]any{"presence": fmt.Sprint(cred.PIN != ""), "format": "A", "label": "PIN", "description": "The PIN of the key"}
			a["OTP"] = map[string]any{"presence": fmt.Sprint(cred.OTP != ""), "type": "offline", "format": "N", "label": "Code", "description": "The code of the device", "ID": "1", "provider": "totp"}
		}
		return a
	}
	auth := map[string]any{"mode": cred.Mode}
	if wanted && cred.Mode == "explicit" {
		var objects []any
		var expression []string
		if cred.PIN != "" {
			objects = append(objects, map[string]any{"type": "Password", "id": "PIN", "format": "A", "label": "PIN", "description": "The PIN of the key"})
			expression = append(expression, "PIN")
		}
		if cred.OTP != "" {
			objects = append(objects, map[string]any{"type": "Password", "id": "OTP", "format": "N", "label": "Code", "generator": "totp", "description": "The code of the device"})
			expression = append(expression, "OTP")
		}
		auth["objects"], auth["expression"] = objects, strings.Join(expression, " AND ")
	}
	a["auth"] = auth
	if p := leaf.PolicyIdentifiers; len(p) > 0 {
		a["signatureQualifier"] = "eu_eidas_qes"
	}
	return a
}

// digests reads the hashes of a call, and what they are of. Both may be absent.
func (p *Provider) digests(c *Call) ([]string, *answer) {
	name := map[int]string{1: "hash", 2: "hashes"}[c.Version]
	value, there := c.Body[name]
	if !there {
		return nil, nil
	}
	list, is := value.([]any)
	if !is || len(list) == 0 {
		p.complain(c, "%s is not an array with a hash", name)
		return nil, invalid("Empty or invalid array parameter " + name)
	}
	out := make([]string, 0, len(list))
	for _, one := range list {
		s, _ := one.(string)
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		if err != nil {
			p.complain(c, "a hash is not base64 (%.20q)", s)
			return nil, invalid("Invalid Base64 " + name + " string parameter")
		}
		if len(b) != 32 && len(b) != 48 && len(b) != 64 {
			p.complain(c, "a hash has %d bytes", len(b))
			return nil, invalid("Invalid length of a hash")
		}
		if slices.Contains(out, s) {
			p.complain(c, "a hash is named twice")
			return nil, invalid("A hash is named twice")
		}
		out = append(out, s)
	}
	return out, nil
}

// hashOf is the algorithm that a parameter names; zero where it names none.
func (p *Provider) hashOf(c *Call, name string) (crypto.Hash, *answer) {
	value, there := c.Body[name]
	if !there {
		return 0, nil
	}
	s, _ := value.(string)
	h, known := hashes[s]
	if !known {
		p.complain(c, "%s is %v", name, value)
		return 0, invalid("Invalid parameter " + name)
	}
	return h, nil
}

func sizes(list []string, h crypto.Hash) bool {
	return !slices.ContainsFunc(list, func(s string) bool {
		b, _ := base64.StdEncoding.DecodeString(s)
		return len(b) != h.Size()
	})
}

// authorize is 11.6 of v1 (credentials/authorize).
func (p *Provider) authorize(c *Call, b *bearer) *answer {
	cred, no := p.credential(c, b)
	if no != nil {
		return no
	}
	number, is := c.Body["numSignatures"].(float64)
	if !is || number < 1 || number != float64(int(number)) {
		p.complain(c, "numSignatures is %v", c.Body["numSignatures"])
		return invalid("Missing (or invalid type) integer parameter numSignatures")
	}
	if int(number) > cred.Multisign {
		p.complain(c, "numSignatures %v, multisign %d", number, cred.Multisign)
		return invalid("Numbers of signatures is too high")
	}
	list, no := p.digests(c)
	if no != nil {
		return no
	}
	if list == nil && cred.SCAL == "2" {
		p.complain(c, "no hashes, SCAL 2")
		return invalid("Missing parameter hash: this credential has SCAL 2")
	}
	if list != nil && len(list) != int(number) {
		p.complain(c, "numSignatures %v with %d hashes", number, len(list))
	}
	if len(list) > int(number) {
		return invalid("More hashes than numSignatures")
	}
	if c.Version == 2 && list != nil {
		h, no := p.hashOf(c, "hashAlgorithmOID")
		if no != nil {
			return no
		}
		if h == 0 || !sizes(list, h) {
			p.complain(c, "hashAlgorithmOID %v does not go with the hashes", c.Body["hashAlgorithmOID"])
			return invalid("Missing or wrong parameter hashAlgorithmOID")
		}
	}
	if no := p.factors(c, cred); no != nil {
		return no
	}
	if !cred.usable() {
		return invalid(fmt.Sprintf("The credential cannot be used: key %s, certificate %s", cred.KeyStatus, cred.Status))
	}
	id := "SAD-" + random(24)
	p.sads[id] = &sad{
		credential: cred.ID, user: b.user, token: c.token, hashes: list, left: int(number), until: time.Now().Add(cred.SADLife), used: map[string]int{},
	}
	return ok(map[string]any{"SAD": id, "expiresIn": int(cred.SADLife.Seconds())})
}

// factors judges PIN and one-time password.
func (p *Provider) factors(c *Call, cred *Credential) *answer {
	given := map[string]string{}
	if c.Version == 1 {
		for _, name := range []string{"PIN", "OTP"} {
			if v, there := c.Body[name]; there {
				given[name], _ = v.(string)
			}
		}
	} else if v, there := c.Body["authData"]; there {
		list, is := v.([]any)
		if !is {
			p.complain(c, "authData is no array")
			return invalid("Invalid parameter authData")
		}
		for _, one := range list {
			m, _ := one.(map[string]any)
			id, _ := m["id"].(string)
			value, is := m["value"].(string)
			if id != "PIN" && id != "OTP" || !is {
				p.complain(c, "authData has an object of id %q", id)
				return invalid("Invalid parameter authData")
			}
			given[id] = value
		}
	}
	wrong := func(v1, description string) *answer {
		if c.Version == 2 {
			return refuse(http.StatusBadRequest, "invalid_authentication_data", description)
		}
		return refuse(http.StatusBadRequest, v1, description)
	}
	pin, hasPIN := given["PIN"]
	otp, hasOTP := given["OTP"]
	switch {
	case cred.Mode != "explicit":
		if len(given) > 0 {
			p.complain(c, "PIN or OTP for a credential of mode %s", cred.Mode)
		}
		return nil
	case hasPIN && cred.PIN == "":
		p.complain(c, "a PIN, where none is asked for")
	case hasOTP && cred.OTP == "":
		p.complain(c, "an OTP, where none is asked for")
	}
	if cred.PIN != "" {
		if !hasPIN {
			p.complain(c, "the PIN is missing")
			return invalid("Missing (or invalid type) string parameter PIN")
		}
		if pin != cred.PIN {
			return wrong("invalid_pin", "The PIN is wrong")
		}
	}
	if cred.OTP != "" {
		if !hasOTP {
			p.complain(c, "the OTP is missing")
			return invalid("Missing (or invalid type) string parameter OTP")
		}
		i := slices.Index(cred.otps, otp)
		if i < 0 {
			return wrong("invalid_otp", "The code is wrong or was used")
		}
		cred.otps = slices.Delete(cred.otps, i, i+1)
	}
	return nil
}

// activation finds the SAD of a call.
func (p *Provider) activation(c *Call, b *bearer, cred *Credential) (*sad, *answer) {
	id, is := c.Body["SAD"].(string)
	if !is || id == "" {
		p.complain(c, "the SAD is missing")
		return nil, invalid("Missing (or invalid type) string parameter SAD")
	}
	s := p.sads[id]
	switch {
	case s == nil || s.credential != cred.ID || s.user != b.user:
		return nil, invalid("Invalid parameter SAD")
	case time.Now().After(s.until):
		return nil, invalid("SAD expired")
	case p.on("sad-bound-to-token") && s.token != c.token:
		return nil, invalid("Invalid parameter SAD: it belongs to another token")
	}
	return s, nil
}

// extend is credentials/extendTransaction: a new SAD for what is left of the
// number authorised.
func (p *Provider) extend(c *Call, b *bearer) *answer {
	cred, no := p.credential(c, b)
	if no != nil {
		return no
	}
	s, no := p.activation(c, b, cred)
	if no != nil {
		return no
	}
	list, no := p.digests(c)
	if no != nil {
		return no
	}
	if list == nil && cred.SCAL == "2" {
		p.complain(c, "no hashes, SCAL 2")
		return invalid("Missing parameter hash")
	}
	id := "SAD-" + random(24)
	p.sads[id] = &sad{credential: cred.ID, user: s.user, token: c.token, hashes: list, left: s.left, until: time.Now().Add(cred.SADLife), used: map[string]int{}}
	delete(p.sads, c.Body["SAD"].(string))
	return ok(map[string]any{"SAD": id, "expiresIn": int(cred.SADLife.Seconds())})
}

// signHash is 11.9 of v1 (signatures/signHash).
func (p *Provider) signHash(c *Call, b *bearer) *answer {
	cred, no := p.credential(c, b)
	if no != nil {
		return no
	}
	s, no := p.activation(c, b, cred)
	if no != nil {
		return no
	}
	list, no := p.digests(c)
	if no == nil && list == nil {
		p.complain(c, "no hashes")
		no = invalid("Missing (or invalid type) array parameter hash")
	}
	if no != nil {
		return no
	}
	opts, no := p.algorithm(c, cred, list)
	if no != nil {
		return no
	}
	if mode, there := c.Body["operationMode"]; there && mode != "S" {
		p.complain(c, "operationMode %v", mode)
		return invalid("Only the synchronous mode is supported")
	}
	if len(list) > cred.Multisign || len(list) > s.left {
		p.complain(c, "%d hashes: multisign %d, %d left of the SAD", len(list), cred.Multisign, s.left)
		return invalid("Numbers of signatures is too high")
	}
	for i, h := range list {
		switch at := slices.Index(s.hashes, h); {
		case s.hashes != nil && at < 0:
			p.complain(c, "a hash was not authorised by this SAD")
			return invalid("Hash is not authorized by the SAD")
		case s.used[h] > 0:
			p.complain(c, "a hash was signed with this SAD already")
			return invalid("Hash was signed already")
		case s.hashes != nil && len(list) == len(s.hashes) && at != i:
			p.complain(c, "hashes in another order than authorised")
		}
	}
	if !cred.usable() {
		return invalid(fmt.Sprintf("The credential cannot be used: key %s, certificate %s", cred.KeyStatus, cred.Status))
	}
	for _, h := range list {
		s.used[h]++
		s.left--
	}
	values, err := p.sign(cred, list, opts)
	if err != nil {
		return refuse(http.StatusInternalServerError, "server_error", err.Error())
	}
	c.Signed = list
	return ok(map[string]any{"signatures": values})
}

// algorithm judges signAlgo and its companions.
func (p *Provider) algorithm(c *Call, cred *Credential, list []string) (crypto.SignerOpts, *answer) {
	name := map[int]string{1: "hashAlgo", 2: "hashAlgorithmOID"}[c.Version]
	alg, _ := c.Body["signAlgo"].(string)
	if !slices.Contains(cred.algorithms(), alg) {
		p.complain(c, "signAlgo %q is not among key.algo", alg)
		return nil, invalid("Missing or invalid parameter signAlgo")
	}
	h, no := p.hashOf(c, name)
	if no != nil {
		return nil, no
	}
	switch {
	case implied[alg] == 0 && h == 0:
		p.complain(c, "%s is missing: signAlgo %s names no hash", name, alg)
		return nil, invalid("Missing parameter " + name)
	case p.on("hash-algorithm-required") && h == 0:
		return nil, invalid("Missing parameter " + name)
	case p.on("hash-algorithm-forbidden") && h != 0 && implied[alg] != 0:
		return nil, invalid(name + " must not be given with this signAlgo")
	case implied[alg] != 0 && h != 0 && h != implied[alg]:
		p.complain(c, "%s is not the one that signAlgo names", name)
		return nil, invalid("Invalid parameter " + name)
	case implied[alg] != 0:
		h = implied[alg]
	}
	if !sizes(list, h) {
		p.complain(c, "hashes are not of %v", h)
		return nil, invalid("Invalid digest value length")
	}
	if alg == oidPSS {
		if params, is := c.Body["signAlgoParams"].(string); !is || params == "" {
			p.complain(c, "signAlgoParams is missing for RSASSA-PSS")
			return nil, invalid("Missing parameter signAlgoParams")
		}
		return &rsa.PSSOptions{SaltLength: h.Size(), Hash: h}, nil
	}
	return h, nil
}

// sign makes the values, on all processors and without the lock: it is called
// with the lock held.
func (p *Provider) sign(cred *Credential, list []string, opts crypto.SignerOpts) ([]string, error) {
	key := cred.Actor.Key
	p.mu.Unlock()
	defer p.mu.Lock()
	values, errs := make([]string, len(list)), make([]error, len(list))
	slots := make(chan struct{}, runtime.NumCPU())
	var all sync.WaitGroup
	for i, h := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			digest, _ := base64.StdEncoding.DecodeString(h)
			value, err := key.Sign(rand.Reader, digest, opts)
			values[i], errs[i] = base64.StdEncoding.EncodeToString(value), err
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// revoke is auth/revoke.
func (p *Provider) revoke(c *Call) *answer {
	token, _ := c.Body["token"].(string)
	if token == "" {
		p.complain(c, "the token is missing")
		return invalid("Missing (or invalid type) string parameter token")
	}
	p.end(token)
	return &answer{status: http.StatusNoContent}
}

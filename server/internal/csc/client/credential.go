package client

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
	own "rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/remote"
)

// Credential is a key at the provider with what it asks for.
type Credential struct {
	ID           string
	Status       string // of the certificate there; empty: not said
	KeyStatus    string
	Algorithms   []string // object identifiers; empty: not said
	Certificate  *own.Certificate
	Others       [][]byte // certificates that came along, in no order
	Mode         string   // implicit, explicit, oauth2code
	PIN, OTP     Factor
	Multisign    int  // signatures under one authorization
	HashesBefore bool // SCAL 2: authorized are these hashes and no others
}

// ModeOAuth is the mode of a credential whose holder logs in for each signature.
const ModeOAuth = "oauth2code"

// Factor is a secret that an authorization takes.
type Factor struct {
	Need bool   // without it nothing is authorized
	Ask  bool   // it can be given
	ID   string // in version 2
}

// wire is credentials/info of both versions. Providers write numbers as strings
// and the other way round.
type wire struct {
	Key struct {
		Status string `json:"status"`
		Algo   words  `json:"algo"`
	} `json:"key"`
	Cert struct {
		Status       string `json:"status"`
		Certificates words  `json:"certificates"`
	} `json:"cert"`
	SCAL      scalar `json:"SCAL"`
	Multisign scalar `json:"multisign"`
	// version 1
	AuthMode string `json:"authMode"`
	PIN      struct {
		Presence scalar `json:"presence"`
	} `json:"PIN"`
	OTP struct {
		Presence scalar `json:"presence"`
	} `json:"OTP"`
	// version 2
	Auth struct {
		Mode    string `json:"mode"`
		Objects []struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			Format    string `json:"format"`
			Generator string `json:"generator"`
		} `json:"objects"`
	} `json:"auth"`
}

// scalar is a string, a number or a truth value, as text.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	*s = scalar(strings.ToLower(strings.TrimSpace(text)))
	return nil
}

// words is a list of strings, or one.
type words []string

func (w *words) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(w))
}

// maxList bounds the credentials and certificates of one answer.
const maxList = 100

// List returns the ids of the credentials that the token may use.
func (s *Session) List(ctx context.Context) ([]string, error) {
	about, err := s.p.Info(ctx)
	if err != nil {
		return nil, err
	}
	in := map[string]any{"maxResults": maxList}
	if about.Version == 2 {
		in = map[string]any{"credentialInfo": false}
	}
	var out struct {
		IDs []string `json:"credentialIDs"`
	}
	if err := s.call(ctx, "credentials/list", in, &out); err != nil {
		return nil, err
	}
	return out.IDs[:min(len(out.IDs), maxList)], nil
}

// Credential asks what a credential is. One that is not usable there is an
// error of the kind Unusable; what it is comes along.
func (s *Session) Credential(ctx context.Context, id string) (*Credential, error) {
	var w wire
	in := map[string]any{"credentialID": id, "certificates": "chain", "certInfo": true, "authInfo": true}
	if err := s.call(ctx, "credentials/info", in, &w); err != nil {
		return nil, err
	}
	c := &Credential{ID: id, Status: strings.ToLower(w.Cert.Status), KeyStatus: strings.ToLower(w.Key.Status), Algorithms: w.Key.Algo}
	c.Multisign, _ = strconv.Atoi(string(w.Multisign))
	c.Multisign = max(1, c.Multisign)
	c.HashesBefore = w.SCAL == "2"
	c.factors(&w)
	if err := c.readCertificates(w.Cert.Certificates); err != nil {
		return nil, err
	}
	switch {
	case slices.Contains([]string{"expired", "suspended", "revoked"}, c.Status):
		return c, &Error{Kind: remote.Unusable, Text: fmt.Sprintf("the certificate is %s at the provider", strings.ToUpper(c.Status))}
	case c.KeyStatus == "disabled":
		return c, &Error{Kind: remote.Unusable, Text: "the key is disabled at the provider"}
	}
	return c, nil
}

func (c *Credential) factors(w *wire) {
	c.Mode = w.AuthMode
	c.PIN = factorOf(w.PIN.Presence, "PIN")
	c.OTP = factorOf(w.OTP.Presence, "OTP")
	if w.Auth.Mode == "" {
		return
	}
	c.Mode, c.PIN, c.OTP = w.Auth.Mode, Factor{}, Factor{}
	for _, o := range w.Auth.Objects {
		f := Factor{Need: true, Ask: true, ID: o.ID}
		if id := strings.ToUpper(o.ID); strings.Contains(id, "OTP") || o.Generator != "" && !strings.Contains(id, "PIN") || strings.Contains(strings.ToUpper(o.Type), "OTP") {
			c.OTP = f
		} else if o.Type == "" || strings.EqualFold(o.Type, "password") || id == "PIN" {
			c.PIN = f
		}
	}
}

func factorOf(presence scalar, id string) Factor {
	return Factor{Need: presence == "true", Ask: presence == "true" || presence == "optional", ID: id}
}

// readCertificates finds the holder's certificate among those of the answer,
// which come in any order.
func (c *Credential) readCertificates(list []string) error {
	var all []*own.Certificate
	for _, text := range list[:min(len(list), maxList)] {
		der, err := remote.Base64(strings.NewReplacer("-----BEGIN CERTIFICATE-----", "", "-----END CERTIFICATE-----", "").Replace(text))
		if err != nil {
			return refused(err, "a certificate of the provider cannot be read")
		}
		one, err := own.ParseCertificate(der)
		if err != nil {
			return refused(err, "a certificate of the provider cannot be read")
		}
		all = append(all, one)
	}
	issues := func(c *own.Certificate) bool {
		return slices.ContainsFunc(all, func(o *own.Certificate) bool { return o != c && o.IssuerKey() == c.SubjectKey() })
	}
	for _, one := range all {
		authority := one.BasicConstraints != nil && one.BasicConstraints.IsCA
		if !authority && (c.Certificate == nil || issues(c.Certificate) && !issues(one)) {
			c.Certificate = one
		}
	}
	if c.Certificate == nil {
		return refused(nil, "the provider gives no certificate of the credential")
	}
	for _, one := range all {
		if one != c.Certificate {
			c.Others = append(c.Others, one.Raw)
		}
	}
	return remote.CheckKey(c.Certificate.PublicKey)
}

// Identifiers of keys that leave the hash open.
const (
	anyRSA = "1.2.840.113549.1.1.1"
	anyEC  = "1.2.840.10045.2.1"
)

// NeedsPSS says that the key signs RSASSA-PSS and nothing else.
func (c *Credential) NeedsPSS() bool {
	if _, ok := c.Certificate.PublicKey.(*rsa.PublicKey); !ok || !slices.Contains(c.Algorithms, oid.RSAPSS) {
		return false
	}
	return !slices.ContainsFunc(c.Algorithms, func(a string) bool {
		return a == anyRSA || a == oid.SHA256WithRSA || a == oid.SHA384WithRSA || a == oid.SHA512WithRSA
	})
}

// scheme names the algorithm for a hash as signHash wants it. The hash stands
// beside it only where the algorithm leaves it open (clause 11.9 of version 1).
func (c *Credential) scheme(h crypto.Hash, pss bool) (sign, hash, params string, err error) {
	if h != crypto.SHA256 && h != crypto.SHA384 && h != crypto.SHA512 {
		return "", "", "", refused(nil, "a key at a provider signs with SHA-256, SHA-384 or SHA-512 only")
	}
	alg, err := cms.SignatureAlgorithm(c.Certificate.PublicKey, h, pss)
	if err != nil {
		return "", "", "", err
	}
	var id pkix.AlgorithmIdentifier
	if _, err := asn1.Unmarshal(alg, &id); err != nil {
		return "", "", "", err
	}
	specific, open := id.Algorithm.String(), anyRSA
	if _, ec := c.Certificate.PublicKey.(*ecdsa.PublicKey); ec {
		open = anyEC
	}
	switch {
	case pss:
		return specific, oid.OfHash(h), base64.StdEncoding.EncodeToString(id.Parameters.FullBytes), nil
	case len(c.Algorithms) == 0 || slices.Contains(c.Algorithms, specific):
		return specific, "", "", nil
	case slices.Contains(c.Algorithms, open):
		return open, oid.OfHash(h), "", nil
	}
	return "", "", "", refused(nil, "the credential at the provider does not sign with %s", h)
}

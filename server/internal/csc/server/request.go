package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"rogito.dev/rogito/server/internal/store"
)

// Request is what a client asks a holder to consent to.
type Request struct {
	Client      string   `json:"client"`
	Redirect    string   `json:"redirect"`
	State       string   `json:"state,omitempty"`
	Scope       string   `json:"scope"`
	Challenge   string   `json:"challenge"`
	Credential  string   `json:"credential,omitempty"` // empty: of the person who logs in
	Signatures  int      `json:"signatures,omitempty"`
	Hashes      [][]byte `json:"hashes,omitempty"`
	Labels      []string `json:"labels,omitempty"` // of the documents, as many as hashes; or none
	Description string   `json:"description,omitempty"`
	Details     string   `json:"details,omitempty"` // authorization_details, as they came
	Lang        string   `json:"lang,omitempty"`

	pushed string // the request_uri that it was pushed as
}

// Limits on the texts of a request.
const (
	maxDescription = 500 // characters (CSC v2, 8.4.2)
	maxText        = 2048
	MaxQuery       = 64 << 10 // bytes of a request, pushed or not
)

// hashOIDs are the hash functions of digests, and their lengths.
var hashOIDs = map[string]int{"2.16.840.1.101.3.4.2.1": 32, "2.16.840.1.101.3.4.2.2": 48, "2.16.840.1.101.3.4.2.3": 64}

// HashSize is the length of the digests of a hash function, by its identifier;
// zero where it is none of ours. SHA-1 is not.
func HashSize(oid string) int { return hashOIDs[oid] }

// DecodeHash reads a digest: base64 of either alphabet, padded or not, with white
// space anywhere.
func DecodeHash(text string) ([]byte, bool) {
	text = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", " ", "", "\t", "", "=", "").Replace(text)
	b, err := base64.RawStdEncoding.Strict().DecodeString(text)
	return b, err == nil && len(b) > 0
}

// single are the values of parameters, each of which comes once.
func single(v url.Values) (map[string]string, error) {
	out := make(map[string]string, len(v))
	for name, values := range v {
		if len(values) > 1 {
			return nil, Invalid("Parameter %s is repeated", clip(name))
		}
		out[name] = values[0]
	}
	return out, nil
}

func clip(s string) string {
	if len(s) > 64 {
		s = s[:64]
	}
	return strings.ToValidUTF8(s, "")
}

// parse reads an authorisation request. Where the client and its redirect URI are
// good, a refusal comes with the request, and goes to that URI.
func (s *Service) parse(ctx context.Context, v url.Values) (*Request, error) {
	p, err := single(v)
	if err != nil {
		return nil, err
	}
	c, err := s.returns(ctx, p["client_id"], p["redirect_uri"])
	if err != nil {
		return nil, err
	}
	r := &Request{Client: c.ID, Redirect: p["redirect_uri"], State: p["state"], Description: p["description"], Lang: p["lang"], Details: p["authorization_details"], Credential: p["credentialID"]}
	switch {
	case p["response_type"] == "":
		return r, Invalid("Missing parameter response_type")
	case p["response_type"] != "code":
		return r, Refuse(WrongResponse, "Invalid parameter response_type")
	case p["code_challenge"] == "":
		return r, Invalid("Missing parameter code_challenge: PKCE is obligatory")
	case p["code_challenge_method"] != "S256":
		return r, Invalid("Invalid parameter code_challenge_method: S256 is the only one")
	case len([]rune(r.Description)) > maxDescription || len(r.State) > maxText:
		return r, Invalid("Invalid parameter description or state: too long")
	}
	if sum, err := base64.RawURLEncoding.Strict().DecodeString(p["code_challenge"]); err != nil || len(sum) != 32 {
		return r, Invalid("Invalid parameter code_challenge")
	}
	r.Challenge = p["code_challenge"]
	switch r.Scope = p["scope"]; {
	case r.Details != "" && (r.Scope == "" || r.Scope == ScopeCredential):
		r.Scope = ScopeCredential
		return r, r.readDetails()
	case r.Scope == "" || r.Scope == ScopeService:
		r.Scope = ScopeService
		return r, nil
	case r.Scope != ScopeCredential:
		return r, Refuse(InvalidScope, "Invalid parameter scope")
	}
	return r, r.readHashes(p)
}

// readHashes reads the parameters of the scope credential, in the names of v1 and
// of v2.
func (r *Request) readHashes(p map[string]string) error {
	if r.Credential == "" && p["signatureQualifier"] == "" {
		return Invalid("Missing parameter credentialID")
	}
	list, oid := p["hashes"], p["hashAlgorithmOID"]
	if list == "" {
		list = p["hash"]
	}
	if oid == "" {
		oid = p["hashAlgo"]
	}
	if list == "" {
		return Invalid("Missing parameter hashes")
	}
	for text := range strings.SplitSeq(list, ",") {
		h, ok := DecodeHash(text)
		if !ok {
			return Invalid("Invalid parameter hashes")
		}
		r.Hashes = append(r.Hashes, h)
	}
	r.Signatures = len(r.Hashes)
	if text := p["numSignatures"]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return Invalid("Invalid parameter numSignatures")
		}
		r.Signatures = n
	}
	return r.check(oid)
}

// readDetails reads authorization_details (RFC 9396), of which one is of the type
// credential.
func (r *Request) readDetails() error {
	var all []struct {
		Type      string `json:"type"`
		ID        string `json:"credentialID"`
		Qualifier string `json:"signatureQualifier"`
		Algorithm string `json:"hashAlgorithmOID"`
		Count     int    `json:"numSignatures"`
		Digests   []struct {
			Hash  string `json:"hash"`
			Label string `json:"label"`
		} `json:"documentDigests"`
	}
	if json.Unmarshal([]byte(r.Details), &all) != nil || len(all) != 1 || all[0].Type != ScopeCredential {
		return Invalid("Invalid parameter authorization_details")
	}
	d := all[0]
	if d.ID != "" && r.Credential != "" && d.ID != r.Credential {
		return Invalid("authorization_details and credentialID name two credentials")
	}
	if d.ID != "" {
		r.Credential = d.ID
	}
	if r.Credential == "" && d.Qualifier == "" {
		return Invalid("Missing credentialID in authorization_details")
	}
	if len(d.Digests) == 0 {
		return Invalid("Missing documentDigests in authorization_details")
	}
	for _, one := range d.Digests {
		h, ok := DecodeHash(one.Hash)
		if !ok || len(one.Label) > maxText {
			return Invalid("Invalid documentDigests in authorization_details")
		}
		r.Hashes, r.Labels = append(r.Hashes, h), append(r.Labels, one.Label)
	}
	r.Signatures = max(d.Count, len(r.Hashes))
	return r.check(d.Algorithm)
}

// check holds hashes against their function and their number.
func (r *Request) check(oid string) error {
	if r.Credential != "" && !store.IsID(r.Credential) {
		return Invalid("Invalid parameter credentialID")
	}
	return CheckHashes(r.Hashes, oid, r.Signatures)
}

// CheckHashes judges what is to be authorised: digests of one function, SHA-256
// or better, and so many signatures in all.
func CheckHashes(hashes [][]byte, oid string, signatures int) error {
	size := len(hashes[0])
	if oid != "" {
		if size = HashSize(oid); size == 0 {
			return Invalid("Invalid parameter hashAlgorithmOID")
		}
	}
	for _, h := range hashes {
		if len(h) != size || size != 32 && size != 48 && size != 64 {
			return Invalid("Invalid digest value length")
		}
	}
	switch {
	case signatures < 1 || signatures < len(hashes):
		return Invalid("Invalid value for parameter numSignatures")
	case signatures > MaxSignatures:
		return Invalid("Numbers of signatures is too high")
	}
	return nil
}

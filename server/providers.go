package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/server/internal/arss"
	csc "rogito.dev/rogito/server/internal/csc/client"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/soap"
	"rogito.dev/rogito/server/internal/sws"
)

// Provider of certificates, by its name in the configuration. Only those that have
// remote keys have more than their kind.
type Provider struct {
	Kind             string        `yaml:"kind"`
	URL              string        `yaml:"url,omitempty"`     // base of the API, address of the service
	Version          string        `yaml:"version,omitempty"` // auto, 1, 2
	Flow             string        `yaml:"flow,omitempty"`    // code, client_credentials, token
	ClientID         string        `yaml:"client_id,omitempty"`
	ClientSecretFile string        `yaml:"client_secret_file,omitempty"`
	TokenFile        string        `yaml:"token_file,omitempty"`
	Domain           string        `yaml:"domain,omitempty"`             // of the contract (typeOtpAuth)
	HSM              string        `yaml:"hsm,omitempty"`                // typeHSM
	CA               string        `yaml:"ca,omitempty"`                 // PEM file
	ClientCert       string        `yaml:"client_certificate,omitempty"` // PEM file
	ClientKey        string        `yaml:"client_key,omitempty"`         // PEM file
	Timeout          time.Duration `yaml:"timeout,omitempty"`
	PerSecond        float64       `yaml:"per_second,omitempty"`        // calls at most
	StoreCredentials *bool         `yaml:"store_credentials,omitempty"` // false: callers bring the provider's own
}

// settings are the keys of each kind, beside kind and url.
var settings = map[string][]string{
	"csc":  {"version", "flow", "client_id", "client_secret_file", "token_file", "ca", "timeout"},
	"arss": {"domain", "hsm", "ca", "client_certificate", "client_key", "timeout", "per_second", "store_credentials"},
	"sws":  {"ca", "client_certificate", "client_key", "timeout", "per_second", "store_credentials"},
}

// signingCalls are the calls of each kind that sign.
var signingCalls = map[string][]string{"csc": {"signatures/signHash"}, "arss": {"signhash"}, "sws": {"signPkcs1", "signPkcs1List"}}

// UnmarshalYAML takes a kind alone as well.
func (p *Provider) UnmarshalYAML(n *yaml.Node) error {
	*p = Provider{}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&p.Kind)
	}
	type plain Provider
	if err := n.Decode((*plain)(p)); err != nil {
		for i := 0; i+1 < len(n.Content); i += 2 { // the decoder does not say of which key it speaks
			one := &yaml.Node{Kind: yaml.MappingNode, Content: n.Content[i : i+2]}
			if one.Decode(&plain{}) != nil {
				return fmt.Errorf("line %d: %s cannot be %q", n.Content[i].Line, n.Content[i].Value, n.Content[i+1].Value)
			}
		}
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 { // a decoder of our own does not know that unknown keys are refused
		key, own := n.Content[i].Value, settings[p.Kind]
		if own == nil { // what is wrong is its kind, or that it has settings
			own = slices.Concat(settings["csc"], settings["arss"])
		}
		if key != "kind" && key != "url" && !slices.Contains(own, key) {
			return fmt.Errorf("line %d: field %s not found in a provider of the kind %s", n.Content[i].Line, key, p.Kind)
		}
	}
	return nil
}

// MarshalYAML writes a kind alone where there is no more.
func (p Provider) MarshalYAML() (any, error) {
	if p == (Provider{Kind: p.Kind}) {
		return p.Kind, nil
	}
	type plain Provider
	return plain(p), nil
}

// passes says that callers bring the provider's own usernames and passwords.
func (p Provider) passes() bool { return p.StoreCredentials != nil && !*p.StoreCredentials }

// remoteProviders are the clients of providers that have remote keys, by name.
type remoteProviders = map[string]remote.Provider

// providers makes a client for each configured provider; observe gets every call to it.
func (c *Config) providers(observe func(provider string) remote.Observe) (remoteProviders, error) {
	all, passing := remoteProviders{}, ""
	for _, name := range slices.Sorted(maps.Keys(c.Signing.Providers)) {
		p := c.Signing.Providers[name]
		switch {
		case settings[p.Kind] != nil:
		case p.Kind == "local" || p.Kind == "import":
			if p != (Provider{Kind: p.Kind}) {
				return nil, fmt.Errorf("signing.providers.%s: the kind %s takes no settings", name, p.Kind)
			}
			continue
		default:
			return nil, fmt.Errorf("signing.providers.%s: the kind %q is none of local, import, %s", name, p.Kind, strings.Join(enroll.RemoteKinds, ", "))
		}
		one, err := p.client(name, c, observe(name))
		if err != nil {
			return nil, fmt.Errorf("signing.providers.%s: %w", name, err)
		}
		all[name] = one
		if p.passes() {
			if passing != "" {
				return nil, fmt.Errorf("signing.providers.%s: store_credentials is false at %s already: a username that is not of this server goes to one provider", name, passing)
			}
			passing = name
		}
	}
	return all, nil
}

// client is the client of a provider. What its kind does not have is refused, for a
// configuration that was not read from a file.
func (p Provider) client(name string, c *Config, observe remote.Observe) (remote.Provider, error) {
	at, err := p.endpoint(c)
	if err != nil {
		return nil, err
	}
	wire := soap.Config{Endpoint: at, Name: name, Passes: p.passes(), PerSecond: p.PerSecond, Observe: observe}
	switch p.Kind {
	case "arss":
		return arss.New(arss.Config{Config: wire, Domain: p.Domain, HSM: p.HSM})
	case "sws":
		if p.Domain != "" || p.HSM != "" {
			return nil, errors.New("domain and hsm are settings of the kind arss")
		}
		return sws.New(wire)
	}
	conf := csc.Config{
		Endpoint: at, Name: name, Version: p.Version, Flow: p.Flow, ClientID: p.ClientID, Observe: observe,
		Redirect: strings.TrimSuffix(c.PublicURL, "/") + "/remote/callback",
	}
	if p.ClientSecretFile != "" {
		conf.Secret = func() (string, error) { return secretIn(p.ClientSecretFile) }
	}
	conf.Token = func() (string, error) { return secretIn(p.TokenFile) }
	if p.Flow == csc.FlowToken && p.TokenFile == "" {
		return nil, errors.New("token_file is missing: the flow token needs one")
	}
	return csc.New(conf)
}

// endpoint is where a provider is. Files are read once, at the start.
func (p Provider) endpoint(c *Config) (at remote.Endpoint, err error) {
	at = remote.Endpoint{URL: p.URL, Timeout: p.Timeout, AllowPrivate: c.Network.AllowPrivate}
	switch {
	case p.URL == "":
		return at, errors.New("url is missing")
	case p.Timeout < 0:
		return at, fmt.Errorf("timeout: %v cannot be", p.Timeout)
	}
	if (p.ClientCert == "") != (p.ClientKey == "") {
		return at, errors.New("client_certificate and client_key go together: one of them is missing")
	}
	for _, f := range []struct {
		setting, file string
		to            *[]byte
	}{{"ca", p.CA, &at.CA}, {"client_certificate", p.ClientCert, &at.Certificate}, {"client_key", p.ClientKey, &at.Key}} {
		if f.file == "" {
			continue
		}
		if *f.to, err = os.ReadFile(f.file); err != nil {
			return at, fmt.Errorf("%s: %w", f.setting, err)
		}
	}
	return at, nil
}

// secretIn reads a file that holds one secret.
func secretIn(file string) (string, error) {
	b, err := os.ReadFile(file)
	return strings.TrimSpace(string(b)), err
}

// signer is what the certificate and the trusted lists say of the signer.
func (s *Server) signer(ctx context.Context, c *enroll.Certificate) *ledger.Signer {
	now := time.Now()
	out := &ledger.Signer{Provider: c.Provider, QC: "UNKNOWN", SSCD: "UNKNOWN"}
	if facts, err := s.sig.trust.Known(ctx, c.DER, c.Chain, now); err == nil {
		v := policy.Certificate(facts, policy.Default(), ades.FactID(c.DER), now)
		out.QC, out.SSCD = v.QC, v.SSCD
		if v.Provider != "" {
			out.TrustProvider = &v.Provider
		}
	}
	return out
}

// revoked returns the state of a certificate that revocation data says cannot be used, or "".
func (s *Server) revoked(ctx context.Context, leaf []byte, chain [][]byte) (string, error) {
	const suspended = 6 // certificateHold
	r, err := s.sig.trust.Revoked(ctx, leaf, chain, time.Now())
	switch {
	case err != nil || r == nil:
		return "", err
	case r.Reason == suspended:
		return "suspended", nil
	}
	return "revoked", nil
}

// chain puts the certificates of a remote key in order and gets those that are
// missing.
func (s *Server) chain(ctx context.Context, leaf []byte, others [][]byte) ([][]byte, error) {
	return s.sig.trust.Chain(ctx, leaf, others, time.Now())
}

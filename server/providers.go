package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/policy"
	csc "rogito.dev/rogito/server/internal/csc/client"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// Provider of certificates, by its name in the configuration. Only one of kind
// csc has more than its kind.
type Provider struct {
	Kind             string        `yaml:"kind"`
	URL              string        `yaml:"url,omitempty"`     // base of the API
	Version          string        `yaml:"version,omitempty"` // auto, 1, 2
	Flow             string        `yaml:"flow,omitempty"`    // code, client_credentials, token
	ClientID         string        `yaml:"client_id,omitempty"`
	ClientSecretFile string        `yaml:"client_secret_file,omitempty"`
	TokenFile        string        `yaml:"token_file,omitempty"`
	CA               string        `yaml:"ca,omitempty"` // PEM file
	Timeout          time.Duration `yaml:"timeout,omitempty"`
}

// UnmarshalYAML takes a kind alone as well.
func (p *Provider) UnmarshalYAML(n *yaml.Node) error {
	*p = Provider{}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&p.Kind)
	}
	for i := 0; i+1 < len(n.Content); i += 2 { // a decoder of our own does not know that unknown keys are refused
		switch key := n.Content[i].Value; key {
		case "kind", "url", "version", "flow", "client_id", "client_secret_file", "token_file", "ca", "timeout":
		default:
			return fmt.Errorf("line %d: field %s not found in a provider", n.Content[i].Line, key)
		}
	}
	type plain Provider
	return n.Decode((*plain)(p))
}

// MarshalYAML writes a kind alone where there is no more.
func (p Provider) MarshalYAML() (any, error) {
	if p == (Provider{Kind: p.Kind}) {
		return p.Kind, nil
	}
	type plain Provider
	return plain(p), nil
}

// remoteProviders are the clients of providers that have remote keys, by name.
type remoteProviders = map[string]*csc.Provider

// providers are those of the configuration.
func (c *Config) providers() (remoteProviders, error) {
	all := remoteProviders{}
	for name, p := range c.Signing.Providers {
		switch p.Kind {
		case enroll.KindRemote:
		case "local", "import":
			if p != (Provider{Kind: p.Kind}) {
				return nil, fmt.Errorf("signing.providers.%s: the kind %s takes no settings", name, p.Kind)
			}
			continue
		default:
			return nil, fmt.Errorf("signing.providers.%s: the kind %q is none of local, import, csc", name, p.Kind)
		}
		one, err := p.client(name, c)
		if err != nil {
			return nil, fmt.Errorf("signing.providers.%s: %w", name, err)
		}
		all[name] = one
	}
	return all, nil
}

func (p Provider) client(name string, c *Config) (*csc.Provider, error) {
	conf := csc.Config{
		Name: name, URL: p.URL, Version: p.Version, Flow: p.Flow, ClientID: p.ClientID, Timeout: p.Timeout,
		AllowPrivate: c.Network.AllowPrivate, Redirect: strings.TrimSuffix(c.PublicURL, "/") + "/remote/callback",
	}
	if p.ClientSecretFile != "" {
		conf.Secret = func() (string, error) { return secretIn(p.ClientSecretFile) }
	}
	conf.Token = func() (string, error) { return secretIn(p.TokenFile) }
	if p.Flow == csc.FlowToken && p.TokenFile == "" {
		return nil, errors.New("token_file is missing: the flow token needs one")
	}
	if p.CA != "" {
		b, err := os.ReadFile(p.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		conf.CA = b
	}
	return csc.New(conf)
}

// secretIn reads a secret that stands alone in a file.
func secretIn(file string) (string, error) {
	b, err := os.ReadFile(file)
	return strings.TrimSpace(string(b)), err
}

// signerFor is how long it is believed what lists say of a certificate.
const signerFor = 10 * time.Minute

// signer says what certificate and trusted lists tell of who signs. Those who
// sign are few, and met again with every signature.
func (s *Server) signer(ctx context.Context, c *enroll.Certificate) *ledger.Signer {
	s.sig.signersMu.Lock()
	defer s.sig.signersMu.Unlock()
	now := time.Now()
	if now.Sub(s.sig.signersAt) > signerFor || len(s.sig.signers) > 1000 {
		s.sig.signers, s.sig.signersAt = map[string]*ledger.Signer{}, now
	}
	if known := s.sig.signers[c.ID]; known != nil {
		return known
	}
	out := &ledger.Signer{Provider: c.Provider, QC: "UNKNOWN", SSCD: "UNKNOWN"}
	if facts, err := s.sig.trust.Known(ctx, c.DER, c.Chain, now); err == nil {
		v := policy.Certificate(facts, policy.Default(), ades.FactID(c.DER), now)
		out.QC, out.SSCD = v.QC, v.SSCD
		if v.Provider != "" {
			out.TrustProvider = &v.Provider
		}
	}
	s.sig.signers[c.ID] = out
	return out
}

// chain puts the certificates of a remote key in order and gets those that are
// missing.
func (s *Server) chain(ctx context.Context, leaf []byte, others [][]byte) ([][]byte, error) {
	return s.sig.trust.Chain(ctx, leaf, others, time.Now())
}

// Package policy judges facts: a pure function of facts, a policy and a time, after ETSI EN 319
// 102-1 V1.4.1 with the algorithm table of TS 119 312 and the qualification rules of TS 119 615.
//
// Policies are data. [Default] follows the EU's; [Load] reads an operator's own. The same facts,
// policy and time always give the same conclusions.
package policy

import (
	"bytes"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// Policy has the constraints that signatures are judged by.
type Policy struct {
	Name         string           `yaml:"name"`
	Revocation   Revocation       `yaml:"revocation"`
	Signer       Signer           `yaml:"signer"`
	PDF          PDF              `yaml:"pdf"`
	TrustedLists TrustedLists     `yaml:"trustedLists"`
	Digests      map[string]*Date `yaml:"digests"`
	Keys         map[string][]Key `yaml:"keys"`
	// Operator marks a policy other than the default one.
	Operator bool `yaml:"-"`
}

// Revocation says which revocation data is required.
type Revocation struct {
	Required  bool          `yaml:"required"`
	MaxAge    time.Duration `yaml:"maxAge"`
	Freshness string        `yaml:"freshness"` // "next-update", "any"
}

// Signer says what the signature must state about its signer.
type Signer struct {
	RequireCertificateReference bool `yaml:"requireCertificateReference"`
	RequireSigningTime          bool `yaml:"requireSigningTime"`
}

// PDF says how changes after signing affect the verdict.
type PDF struct {
	Changes string `yaml:"changes"` // "fail", "warn"
}

// TrustedLists says how the state of the lists affects the verdict.
type TrustedLists struct {
	Stale string `yaml:"stale"` // "fail", "warn"
}

// Key is a row of the key table.
type Key struct {
	Bits  int   `yaml:"bits"`
	Until *Date `yaml:"until"`
}

// Date is a day in UTC.
type Date struct{ time.Time }

// UnmarshalText parses YYYY-MM-DD; empty text is no date.
func (d *Date) UnmarshalText(text []byte) (err error) {
	if len(text) > 0 {
		d.Time, err = time.Parse(time.DateOnly, string(text))
	}
	return err
}

//go:embed default.yaml
var defaultYAML []byte

// Default is the built-in policy.
var Default = sync.OnceValue(func() *Policy {
	p, err := parse(defaultYAML, new(Policy))
	if err != nil {
		panic("policy: the embedded policy is broken: " + err.Error())
	}
	return p
})

// DefaultYAML is the text of the default policy, as a start for custom ones.
func DefaultYAML() []byte { return bytes.Clone(defaultYAML) }

// Load parses an operator's policy (YAML or JSON). Keys that it leaves out have the default values;
// unknown keys are an error.
func Load(text []byte) (*Policy, error) {
	base, err := parse(defaultYAML, new(Policy))
	if err != nil {
		return nil, err
	}
	p, err := parse(text, base)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	p.Operator = true
	return p, nil
}

func parse(text []byte, into *Policy) (*Policy, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return nil, err
	}
	switch {
	case into.Revocation.Freshness != "next-update" && into.Revocation.Freshness != "any":
		return nil, fmt.Errorf("revocation.freshness is %q, not next-update or any", into.Revocation.Freshness)
	case into.PDF.Changes != "fail" && into.PDF.Changes != "warn":
		return nil, fmt.Errorf("pdf.changes is %q, not fail or warn", into.PDF.Changes)
	case into.TrustedLists.Stale != "fail" && into.TrustedLists.Stale != "warn":
		return nil, fmt.Errorf("trustedLists.stale is %q, not fail or warn", into.TrustedLists.Stale)
	}
	return into, nil
}

// digestUntil returns until when a digest is reliable; ok is false if the policy does not have it,
// and a zero time means no end.
func (p *Policy) digestUntil(name string) (until time.Time, ok bool) {
	d, ok := p.Digests[name]
	if d != nil {
		until = d.Time
	}
	return until, ok
}

// keyUntil returns until when a key is reliable; ok is false if it never was.
func (p *Policy) keyUntil(kind string, bits int) (until time.Time, ok bool) {
	for _, k := range p.Keys[kind] {
		if bits >= k.Bits {
			until, ok = time.Time{}, true
			if k.Until != nil {
				until = k.Until.Time
			}
		}
	}
	return until, ok
}

package trust

import (
	"slices"

	"rogito.dev/rogito/internal/pkix"
)

const anyPolicy = "2.5.29.32.0"

// policyState is the policy processing of RFC 5280, 6.1. Nodes of one depth with the same policy
// have the same expected set, so a level is a map and the tree needs no edges: it is empty if and
// only if its last level is.
type policyState struct {
	level    map[string][]string // valid policy → expected policies
	explicit int
	mapping  int
	any      int
}

// process is 6.1.3 (d) to (f), then 6.1.4 (a), (b), (h) to (j) for an issuer
// or the wrap-up of 6.1.5 for the leaf.
func (p *policyState) process(c *pkix.Certificate, leaf bool) {
	p.intersect(c, leaf)
	if leaf {
		if p.explicit > 0 {
			p.explicit--
		}
		if pc := c.PolicyConstraints; pc != nil && pc.RequireExplicit == 0 {
			p.explicit = 0
		}
		return
	}
	p.mapped(c)
	if !c.SelfIssued() {
		p.explicit, p.mapping, p.any = max(p.explicit-1, 0), max(p.mapping-1, 0), max(p.any-1, 0)
	}
	if pc := c.PolicyConstraints; pc != nil {
		if pc.RequireExplicit >= 0 {
			p.explicit = min(p.explicit, pc.RequireExplicit)
		}
		if pc.InhibitMapping >= 0 {
			p.mapping = min(p.mapping, pc.InhibitMapping)
		}
	}
	if c.InhibitAnyPolicy >= 0 {
		p.any = min(p.any, c.InhibitAnyPolicy)
	}
}

func (p *policyState) intersect(c *pkix.Certificate, leaf bool) {
	next := map[string][]string{}
	expected := map[string]bool{}
	for _, list := range p.level {
		for _, e := range list {
			expected[e] = true
		}
	}
	_, parentAny := p.level[anyPolicy]
	for _, policy := range c.Policies {
		if policy != anyPolicy && (expected[policy] || parentAny) {
			next[policy] = []string{policy}
		}
	}
	if slices.Contains(c.Policies, anyPolicy) && (p.any > 0 || (!leaf && c.SelfIssued())) {
		for e := range expected {
			if next[e] == nil {
				next[e] = []string{e}
			}
		}
	}
	p.level = next
}

func (p *policyState) mapped(c *pkix.Certificate) {
	grouped := map[string][]string{}
	for _, m := range c.PolicyMappings {
		if m.Issuer == anyPolicy || m.Subject == anyPolicy {
			p.level = map[string][]string{} // 6.1.4 (a)
			return
		}
		grouped[m.Issuer] = append(grouped[m.Issuer], m.Subject)
	}
	for from, to := range grouped {
		_, direct := p.level[from]
		_, wild := p.level[anyPolicy]
		switch {
		case p.mapping == 0:
			delete(p.level, from)
		case direct || wild:
			p.level[from] = to
		}
	}
}

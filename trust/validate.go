package trust

import (
	"fmt"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/pkix"
)

// understood are the extensions that path validation or its callers process; any other critical
// extension is a problem.
var understood = []string{
	"2.5.29.14", "2.5.29.15", "2.5.29.17", "2.5.29.18", "2.5.29.19", "2.5.29.30", "2.5.29.31",
	"2.5.29.32", "2.5.29.33", "2.5.29.35", "2.5.29.36", "2.5.29.37", "2.5.29.46", "2.5.29.54",
	"1.3.6.1.5.5.7.1.1", "1.3.6.1.5.5.7.1.3", "1.3.6.1.5.5.7.48.1.5",
	"2.16.840.1.113730.1.1", // netscape-cert-type: obsolete, and never grants rights
}

// validate is RFC 5280, 6.1 for a path given leaf first, except for validity periods and
// revocation, which depend on a time. If anchored, the last certificate is the anchor, whose own
// constraints apply too (RFC 5937). listed says that a trusted list names it as an authority.
// Signatures were checked while building. Of the inputs of 6.1.1 every policy is acceptable and
// none of the three indicators is set. It returns the problems found.
func validate(path []*pkix.Certificate, anchored, listed bool, work *budget) []ades.Problem {
	n := len(path) + 1
	v := &validation{maxPath: maxDepth, names: nameState{work: work}, policy: policyState{
		level: map[string][]string{anyPolicy: {anyPolicy}}, explicit: n, mapping: n, any: n,
	}}
	last := len(path) - 1
	for i := last; i >= 0; i-- {
		c := path[i]
		if i == last && anchored && last > 0 {
			v.anchor(c, listed)
			continue
		}
		v.critical(c)
		v.names.check(c, i == 0, v.problem)
		if !(i == last && anchored) {
			v.policy.process(c, i == 0)
		}
		if i > 0 {
			v.issuer(c)
		}
	}
	// RFC 5280, 6.1.5 (g); an anchor alone is not processed.
	if !(anchored && last == 0) && v.policy.explicit == 0 && len(v.policy.level) == 0 {
		v.problem(finding.NoValidPolicy)
	}
	return v.problems
}

type validation struct {
	maxPath  int
	names    nameState
	policy   policyState
	problems []ades.Problem
}

// maxProblems of a path are told; one is enough to refuse it.
const maxProblems = 20

func (v *validation) problem(k *finding.Kind, values ...any) {
	if len(v.problems) < maxProblems {
		v.problems = append(v.problems, k.Problem("", values...))
	}
}

// notAuthority says why a certificate may not issue others; empty if it may.
//
// RFC 5280, 4.2.1.9: the key of a version 3 certificate without cA must not verify certificates.
// 6.1.4 (k): a version 1 or 2 certificate is rejected unless it is known by other means to be an
// authority.
func notAuthority(c *pkix.Certificate) string {
	switch {
	case c.Version < 3:
		return fmt.Sprintf("a version %d certificate does not say that it is an authority", c.Version)
	case c.BasicConstraints == nil || !c.BasicConstraints.IsCA || slices.Contains(c.BadExtensions, oidBasicConstraints):
		return "basic constraints do not make it a CA"
	case !c.HasUsage(pkix.KeyCertSign):
		return "key usage does not allow signing certificates"
	}
	return ""
}

const oidBasicConstraints = "2.5.29.19"

// anchor applies the constraints of an anchor. It must be an authority: an operator may trust a
// person's certificate, which then is an anchor for no other certificate. A trusted list that names
// it as an authority is the other means of 6.1.4 (k).
func (v *validation) anchor(c *pkix.Certificate, listed bool) {
	if why := notAuthority(c); why != "" && !listed {
		v.problem(finding.TrustedForItself, describe(c), why)
	}
	if bc := c.BasicConstraints; bc != nil && bc.MaxPathLen >= 0 {
		v.maxPath = min(v.maxPath, bc.MaxPathLen)
	}
	v.critical(c)
	v.names.add(c, v.problem)
}

// restricting are the extensions that restrict rights. One that is unreadable or duplicated is a
// problem even if not critical: otherwise a second copy would lift the restriction.
var restricting = []string{"2.5.29.15", oidBasicConstraints, "2.5.29.30", "2.5.29.36", "2.5.29.37", "2.5.29.54"}

// critical rejects critical extensions that are not understood.
func (v *validation) critical(c *pkix.Certificate) {
	for _, x := range c.Extensions {
		if x.Critical && !slices.Contains(understood, x.OID) {
			v.problem(finding.UnknownCriticalExtension, describe(c), x.OID)
		}
		if slices.Contains(c.BadExtensions, x.OID) && (x.Critical || slices.Contains(restricting, x.OID)) {
			v.problem(finding.ExtensionUnreadable, describe(c), x.OID)
		}
	}
}

// issuer is RFC 5280, 6.1.4: what a certificate needs to issue the next one.
func (v *validation) issuer(c *pkix.Certificate) {
	if why := notAuthority(c); why != "" {
		v.problem(finding.NotAuthority, describe(c), why)
	}
	if !c.SelfIssued() {
		if v.maxPath <= 0 {
			v.problem(finding.PathTooLong, describe(c))
		}
		v.maxPath--
	}
	if bc := c.BasicConstraints; bc != nil && bc.MaxPathLen >= 0 && bc.MaxPathLen < v.maxPath {
		v.maxPath = bc.MaxPathLen
	}
	v.names.add(c, v.problem)
}

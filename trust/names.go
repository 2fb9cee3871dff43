package trust

import (
	"bytes"
	"net/netip"
	"net/url"
	"strings"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/pkix"
)

// Name forms of GeneralName.
const (
	otherName     = 0
	rfc822Name    = 1
	dnsName       = 2
	directoryName = 4
	uriName       = 6
	ipAddress     = 7
)

// maxComparisons bounds the work of name constraints on one certificate.
const maxComparisons = 250_000

// nameState has permitted_subtrees and excluded_subtrees of RFC 5280, 6.1.2. A name must be within
// the permitted subtrees of every certificate that has some.
type nameState struct {
	permitted [][]pkix.GeneralName
	excluded  []pkix.GeneralName
	work      int
}

func (n *nameState) add(c *pkix.Certificate, problem func(*finding.Kind, ...any)) {
	nc := c.NameConstraints
	if nc == nil {
		return
	}
	if nc.MinMax {
		problem(finding.NameConstraintsOdd, describe(c), "minimum or maximum")
	}
	for _, g := range append(append([]pkix.GeneralName(nil), nc.Permitted...), nc.Excluded...) {
		if !wellFormed(g) {
			problem(finding.NameConstraintsOdd, describe(c), "malformed")
		}
	}
	if len(nc.Permitted) > 0 {
		n.permitted = append(n.permitted, nc.Permitted)
	}
	n.excluded = append(n.excluded, nc.Excluded...)
}

func wellFormed(g pkix.GeneralName) bool {
	switch g.Tag {
	case ipAddress:
		return (len(g.Raw) == 8 && mask(g.Raw[4:])) || (len(g.Raw) == 32 && mask(g.Raw[16:]))
	case dnsName:
		return !strings.ContainsAny(g.Text, "* ") && !strings.HasPrefix(g.Text, ".")
	case rfc822Name:
		return g.Text != "" && strings.Count(g.Text, "@") <= 1 && !strings.HasPrefix(g.Text, "@")
	case directoryName:
		_, err := pkix.ParseName(g.Raw)
		return err == nil
	}
	return true
}

// mask reports whether the octets are ones followed by zeros.
func mask(b []byte) bool {
	seen := false
	for _, c := range b {
		for i := 7; i >= 0; i-- {
			one := c>>i&1 == 1
			if one && seen {
				return false
			}
			seen = seen || !one
		}
	}
	return true
}

// check is RFC 5280, 6.1.3 (b) and (c).
func (n *nameState) check(c *pkix.Certificate, leaf bool, problem func(*finding.Kind, ...any)) {
	if len(n.permitted) == 0 && len(n.excluded) == 0 || (c.SelfIssued() && !leaf) {
		return
	}
	for _, g := range namesOf(c) {
		if n.work += len(n.excluded) + total(n.permitted); n.work > maxComparisons {
			problem(finding.NameConstraintsOdd, describe(c), "too many names and constraints")
			return
		}
		if why := n.violated(g); why != "" {
			problem(finding.NameForbidden, describe(c), why)
			return
		}
	}
}

func total(sets [][]pkix.GeneralName) (n int) {
	for _, s := range sets {
		n += len(s)
	}
	return n
}

// namesOf lists the names that constraints apply to: the subject with its mail addresses, and the
// alternative names.
func namesOf(c *pkix.Certificate) []pkix.GeneralName {
	var out []pkix.GeneralName
	if len(c.Subject) > 0 {
		out = append(out, pkix.GeneralName{Tag: directoryName, Raw: c.RawSubject})
	}
	mail := func(address string) {
		out = append(out, pkix.GeneralName{Tag: rfc822Name, Text: address})
	}
	for _, rdn := range c.Subject {
		for _, a := range rdn {
			if a.OID == pkix.OIDEmailAddress {
				mail(a.Value)
			}
		}
	}
	for _, g := range c.SubjectAltNames {
		out = append(out, g)
		if address, ok := g.Mailbox(); ok {
			mail(address)
		}
	}
	return out
}

func (n *nameState) violated(g pkix.GeneralName) string {
	for _, x := range n.excluded {
		if x.Tag == g.Tag && matches(g, x, true) {
			return "a name is excluded"
		}
	}
	for _, set := range n.permitted {
		applies, ok := false, false
		for _, p := range set {
			if p.Tag == g.Tag {
				applies = true
				ok = ok || matches(g, p, false)
			}
		}
		if applies && !ok {
			return "a name is not permitted"
		}
	}
	return ""
}

// matches reports whether a name is in a subtree. A name that cannot be parsed is in all excluded
// subtrees and in no permitted one.
func matches(g, tree pkix.GeneralName, excluding bool) bool {
	switch g.Tag {
	case directoryName:
		return inDirectory(g.Raw, tree.Raw, excluding)
	case dnsName:
		return inDNS(g.Text, tree.Text, excluding)
	case rfc822Name:
		return inMail(g.Text, tree.Text, excluding)
	case uriName:
		u, err := url.Parse(g.Text)
		if err != nil || u.Hostname() == "" {
			return excluding
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			return excluding
		}
		return inHost(u.Hostname(), tree.Text)
	case ipAddress:
		return inNetwork(g.Raw, tree.Raw, excluding)
	case otherName:
		return excluding && bytes.Equal(otherType(g.Raw), otherType(tree.Raw))
	}
	return excluding
}

// otherType is the type-id of an otherName, with its tag and length.
func otherType(raw []byte) []byte {
	if len(raw) < 2 || int(raw[1])+2 > len(raw) || raw[1] >= 0x80 {
		return raw
	}
	return raw[:2+int(raw[1])]
}

func inDirectory(name, tree []byte, excluding bool) bool {
	n, errN := pkix.ParseName(name)
	t, errT := pkix.ParseName(tree)
	if errN != nil || errT != nil {
		return excluding
	}
	return len(n) >= len(t) && n[:len(t)].Canonical() == t.Canonical()
}

func inDNS(name, tree string, excluding bool) bool {
	name, tree = strings.ToLower(strings.TrimSuffix(name, ".")), strings.ToLower(tree)
	if name == "" || strings.ContainsAny(name, " _") {
		return excluding
	}
	if suffix, wild := strings.CutPrefix(name, "*."); wild {
		// A wildcard represents its children: it is excluded as soon as one of them is.
		if excluding && strings.HasSuffix(tree, "."+suffix) {
			return true
		}
		name = suffix
		if !excluding {
			return tree == "" || name == tree || strings.HasSuffix(name, "."+tree)
		}
	}
	return tree == "" || name == tree || strings.HasSuffix(name, "."+tree)
}

func inHost(host, tree string) bool {
	host, tree = strings.ToLower(strings.TrimSuffix(host, ".")), strings.ToLower(tree)
	if strings.HasPrefix(tree, ".") {
		return strings.HasSuffix(host, tree)
	}
	return host == tree
}

func inMail(mail, tree string, excluding bool) bool {
	at := strings.LastIndexByte(mail, '@')
	if at <= 0 || at == len(mail)-1 || strings.ContainsAny(mail, " \r\n") {
		return excluding
	}
	local, host := mail[:at], strings.ToLower(mail[at+1:])
	if i := strings.LastIndexByte(tree, '@'); i >= 0 {
		return local == tree[:i] && inHost(host, tree[i+1:])
	}
	return inHost(host, tree)
}

func inNetwork(addr, tree []byte, excluding bool) bool {
	if len(addr) != 4 && len(addr) != 16 {
		return excluding
	}
	if len(tree) != 2*len(addr) {
		return false
	}
	for i, b := range addr {
		if b&tree[len(addr)+i] != tree[i]&tree[len(addr)+i] {
			return false
		}
	}
	return true
}

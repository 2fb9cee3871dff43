package trust

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"
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

// nameState has permitted_subtrees and excluded_subtrees of RFC 5280, 6.1.2. A name must be within
// the permitted subtrees of every certificate that has some.
type nameState struct {
	permitted [][]name
	excluded  []name
	work      *budget
}

// name is a name of a certificate, or a subtree of names, in the form in which they are compared.
type name struct {
	pkix.GeneralName
	rdns        []string // of a directory name
	local, host string   // of a mail address; host of a DNS name and a URI
	odd         bool     // it cannot be read
}

// nameOf reads the name of a certificate.
func nameOf(g pkix.GeneralName) name {
	n := name{GeneralName: g}
	switch g.Tag {
	case directoryName:
		n.directory()
	case dnsName:
		n.host = hostOf(g.Text)
		n.odd = n.host == "" || strings.ContainsAny(n.host, " _")
	case rfc822Name:
		at := strings.LastIndexByte(g.Text, '@')
		n.odd = at <= 0 || at == len(g.Text)-1 || strings.ContainsAny(g.Text, " \r\n")
		if !n.odd {
			n.local, n.host = g.Text[:at], hostOf(g.Text[at+1:])
		}
	case uriName:
		u, err := url.Parse(g.Text)
		if n.odd = err != nil || u.Hostname() == ""; !n.odd {
			_, err := netip.ParseAddr(u.Hostname())
			n.host, n.odd = hostOf(u.Hostname()), err == nil
		}
	}
	return n
}

// hostOf is a host in the form in which it is compared: a dot at its end changes nothing.
func hostOf(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }

// subtreeOf reads a name constraint.
func subtreeOf(g pkix.GeneralName) name {
	n := name{GeneralName: g, host: strings.ToLower(g.Text)}
	switch at := strings.LastIndexByte(g.Text, '@'); {
	case g.Tag == directoryName:
		n.directory()
	case g.Tag == rfc822Name && at >= 0:
		n.local, n.host = g.Text[:at], strings.ToLower(g.Text[at+1:])
	}
	return n
}

func (g *name) directory() {
	parsed, err := pkix.ParseName(g.Raw)
	g.odd = err != nil
	for _, rdn := range parsed {
		g.rdns = append(g.rdns, pkix.Name{rdn}.Canonical())
	}
}

func (n *nameState) add(c *pkix.Certificate, problem func(*finding.Kind, ...any)) {
	nc := c.NameConstraints
	if nc == nil {
		return
	}
	if nc.MinMax {
		problem(finding.NameConstraintsOdd, describe(c), "minimum or maximum")
	}
	read := func(list []pkix.GeneralName) (trees []name) {
		for _, g := range list {
			tree := subtreeOf(g)
			if !tree.wellFormed() {
				problem(finding.NameConstraintsOdd, describe(c), "malformed")
			}
			trees = append(trees, tree)
		}
		return trees
	}
	if len(nc.Permitted) > 0 {
		n.permitted = append(n.permitted, read(nc.Permitted))
	}
	n.excluded = append(n.excluded, read(nc.Excluded)...)
}

func (g *name) wellFormed() bool {
	switch g.Tag {
	case ipAddress:
		return (len(g.Raw) == 8 && mask(g.Raw[4:])) || (len(g.Raw) == 32 && mask(g.Raw[16:]))
	case dnsName:
		return !strings.ContainsAny(g.Text, "* ") && !strings.HasPrefix(g.Text, ".")
	case rfc822Name:
		return g.Text != "" && strings.Count(g.Text, "@") <= 1 && !strings.HasPrefix(g.Text, "@")
	}
	return !g.odd
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
	constraints := len(n.excluded)
	for _, set := range n.permitted {
		constraints += len(set)
	}
	if constraints == 0 || (c.SelfIssued() && !leaf) {
		return
	}
	for _, g := range namesOf(c) {
		if !n.work.allow(constraints) {
			problem(finding.NameConstraintsOdd, describe(c), "too many names and constraints")
			return
		}
		if why := n.violated(nameOf(g)); why != "" {
			problem(finding.NameForbidden, describe(c), why)
			return
		}
	}
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

func (n *nameState) violated(g name) string {
	for i := range n.excluded {
		if x := &n.excluded[i]; x.Tag == g.Tag && g.in(x, true) {
			return "a name is excluded"
		}
	}
	for _, set := range n.permitted {
		applies, ok := false, false
		for i := range set {
			if p := &set[i]; p.Tag == g.Tag {
				applies = true
				ok = ok || g.in(p, false)
			}
		}
		if applies && !ok {
			return "a name is not permitted"
		}
	}
	return ""
}

// in reports whether a name is in a subtree. A name that cannot be read is in all excluded
// subtrees and in no permitted one.
func (g *name) in(tree *name, excluding bool) bool {
	if g.odd || tree.odd {
		return excluding
	}
	switch g.Tag {
	case directoryName:
		return len(g.rdns) >= len(tree.rdns) && slices.Equal(g.rdns[:len(tree.rdns)], tree.rdns)
	case dnsName:
		return inDNS(g.host, tree.host, excluding)
	case rfc822Name:
		if strings.Contains(tree.Text, "@") && g.local != tree.local {
			return false
		}
		return inHost(g.host, tree.host)
	case uriName:
		return inHost(g.host, tree.host)
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

func inDNS(name, tree string, excluding bool) bool {
	if suffix, wild := strings.CutPrefix(name, "*."); wild {
		// A wildcard represents its children: it is excluded as soon as one of them is.
		if excluding && strings.HasSuffix(tree, "."+suffix) {
			return true
		}
		name = suffix
	}
	return tree == "" || name == tree || strings.HasSuffix(name, "."+tree)
}

func inHost(host, tree string) bool {
	if strings.HasPrefix(tree, ".") {
		return strings.HasSuffix(host, tree)
	}
	return host == tree
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

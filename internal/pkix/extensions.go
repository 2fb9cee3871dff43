package pkix

import (
	"net/url"
	"strings"
)

// PolicyMapping of RFC 5280 section 4.2.1.5.
type PolicyMapping struct{ Issuer, Subject string }

// PolicyConstraints of RFC 5280 section 4.2.1.11; -1 means absent.
type PolicyConstraints struct{ RequireExplicit, InhibitMapping int }

// NameConstraints of RFC 5280 section 4.2.1.10.
type NameConstraints struct {
	Permitted, Excluded []GeneralName
	// MinMax: a subtree has minimum or maximum, which RFC 5280 does not allow and this package does
	// not support.
	MinMax bool
}

// GeneralName is one name of a kind: the context tag of RFC 5280 (0 other, 1 mail, 2 DNS, 4
// directory, 6 URI, 7 address).
type GeneralName struct {
	Tag  int
	Text string // mail, DNS, URI
	Raw  []byte // content; for directory names the whole Name
}

// DistributionPoint says where a certificate's revocation list is.
type DistributionPoint struct {
	URLs      []string
	Names     []GeneralName // the whole full name
	Relative  []byte        // nameRelativeToCRLIssuer, the RDN's content
	CRLIssuer []GeneralName
	Reasons   uint16 // 0 means all
}

func (c *Certificate) parseExtensions(body []byte) error {
	list, ok := single(body, tagSequence)
	if !ok {
		return errDER
	}
	for !list.empty() {
		e, ok := list.take(tagSequence)
		if !ok {
			return errDER
		}
		x, ok := parseExtension(e.body)
		if !ok {
			return errDER
		}
		for _, seen := range c.Extensions {
			if seen.OID == x.OID {
				c.BadExtensions = append(c.BadExtensions, x.OID) // RFC 5280, 4.2: at most once
			}
		}
		c.Extensions = append(c.Extensions, x)
		if !c.apply(x) {
			c.BadExtensions = append(c.BadExtensions, x.OID)
		}
	}
	return nil
}

func parseExtension(body reader) (Extension, bool) {
	var x Extension
	id, ok := body.take(tagOID)
	if !ok {
		return x, false
	}
	x.OID = parseOID(id.body)
	if b, ok := body.take(tagBool); ok {
		x.Critical = len(b.body) == 1 && b.body[0] != 0
	}
	v, ok := body.take(tagOctetString)
	x.Value = v.body
	return x, ok
}

// apply parses one extension into the certificate; false if it is malformed.
func (c *Certificate) apply(x Extension) (ok bool) {
	switch x.OID {
	case "2.5.29.14":
		c.SubjectKeyID, ok = single(x.Value, tagOctetString)
		return ok
	case "2.5.29.15":
		return c.applyKeyUsage(x.Value)
	case "2.5.29.17":
		c.SubjectAltNames, ok = parseGeneralNames(x.Value)
		return ok
	case "2.5.29.19":
		return c.applyBasicConstraints(x.Value)
	case "2.5.29.30":
		return c.applyNameConstraints(x.Value)
	case "2.5.29.31":
		c.CRLDistributionPoints, ok = parseDistributionPoints(x.Value)
		return ok
	case "2.5.29.32":
		return c.applyPolicies(x.Value)
	case "2.5.29.33":
		return c.applyMappings(x.Value)
	case "2.5.29.35":
		return c.applyAuthorityKeyID(x.Value)
	case "2.5.29.36":
		return c.applyPolicyConstraints(x.Value)
	case "2.5.29.37":
		c.ExtKeyUsageCritical = x.Critical
		c.ExtKeyUsage, ok = parseOIDs(x.Value)
		return ok
	case "2.5.29.54":
		body, okInt := single(x.Value, tagInteger)
		if okInt {
			c.InhibitAnyPolicy, okInt = smallInt(body)
		}
		return okInt
	case "1.3.6.1.5.5.7.1.1":
		return c.applyInfoAccess(x.Value)
	case "1.3.6.1.5.5.7.1.3":
		c.QcStatements, ok = parseQcStatements(x.Value)
		return ok
	case "1.3.6.1.5.5.7.48.1.5":
		c.OCSPNoCheck = true
	}
	return true
}

func parseOIDs(der []byte) ([]string, bool) {
	var out []string
	ok := each(der, func(e element) bool {
		out = append(out, parseOID(e.body))
		return e.tag == tagOID
	})
	return complete(out, ok)
}

func (c *Certificate) applyKeyUsage(der []byte) bool {
	body, ok := single(der, tagBitString)
	if !ok {
		return false
	}
	c.HasKeyUsage = true
	c.KeyUsage = KeyUsage(bitFlags(body))
	return true
}

// bitFlags turns a BIT STRING's content into flags, first bit lowest.
func bitFlags(body []byte) uint16 {
	octets, _ := bits(body)
	var f uint16
	for i := range min(len(octets)*8, 16) {
		if octets[i/8]&(0x80>>(i%8)) != 0 {
			f |= 1 << i
		}
	}
	return f
}

func (c *Certificate) applyBasicConstraints(der []byte) bool {
	r, ok := single(der, tagSequence)
	if !ok {
		return false
	}
	bc := &BasicConstraints{MaxPathLen: -1}
	if b, ok := r.take(tagBool); ok {
		bc.IsCA = len(b.body) == 1 && b.body[0] != 0
	}
	if n, ok := r.take(tagInteger); ok {
		if bc.MaxPathLen, ok = smallInt(n.body); !ok {
			return false
		}
	}
	c.BasicConstraints = bc
	return r.empty()
}

func (c *Certificate) applyNameConstraints(der []byte) bool {
	nc := new(NameConstraints)
	ok := each(der, func(e element) (ok bool) {
		switch e.tag {
		case 0xa0:
			nc.Permitted, ok = nc.subtrees(e.body)
		case 0xa1:
			nc.Excluded, ok = nc.subtrees(e.body)
		}
		return ok
	})
	if ok {
		c.NameConstraints = nc
	}
	return ok
}

func (nc *NameConstraints) subtrees(body reader) ([]GeneralName, bool) {
	var out []GeneralName
	ok := body.each(func(e element) bool {
		in := reader(e.body)
		base, ok := in.next()
		if !ok || e.tag != tagSequence {
			return false
		}
		out = append(out, generalName(base))
		return in.each(func(e element) bool {
			if e.tag != 0x80 || len(e.body) != 1 || e.body[0] != 0 {
				nc.MinMax = true
			}
			return true
		})
	})
	return out, ok
}

func generalName(e element) GeneralName {
	g := GeneralName{Tag: int(e.tag & 0x1f), Raw: e.body}
	switch g.Tag {
	case 1, 2, 6:
		g.Text = string(e.body)
	}
	return g
}

// Mailbox is the mail address of an otherName of type SmtpUTF8Mailbox (RFC 9598).
func (g GeneralName) Mailbox() (address string, ok bool) {
	in := reader(g.Raw)
	id, _ := in.take(tagOID)
	value, _ := in.take(0xa0)
	text, ok := single(value.body, tagUTF8String)
	return string(text), ok && g.Tag == 0 && parseOID(id.body) == "1.3.6.1.5.5.7.8.9"
}

func parseGeneralNames(der []byte) ([]GeneralName, bool) {
	r, ok := single(der, tagSequence)
	if !ok {
		return nil, false
	}
	return generalNames(r)
}

func generalNames(r reader) (out []GeneralName, ok bool) {
	ok = r.each(func(e element) bool {
		out = append(out, generalName(e))
		return true
	})
	return complete(out, ok)
}

func (c *Certificate) applyPolicies(der []byte) bool {
	return eachIn(der, func(in reader) bool {
		id, ok := in.take(tagOID)
		if ok {
			c.Policies = append(c.Policies, parseOID(id.body))
		}
		return ok
	})
}

func (c *Certificate) applyMappings(der []byte) bool {
	return eachIn(der, func(in reader) bool {
		from, okF := in.take(tagOID)
		to, okT := in.take(tagOID)
		if !okF || !okT {
			return false
		}
		c.PolicyMappings = append(c.PolicyMappings, PolicyMapping{parseOID(from.body), parseOID(to.body)})
		return true
	})
}

func (c *Certificate) applyPolicyConstraints(der []byte) bool {
	pc := &PolicyConstraints{-1, -1}
	ok := each(der, func(e element) bool {
		n, ok := smallInt(e.body)
		switch e.tag {
		case 0x80:
			pc.RequireExplicit = n
		case 0x81:
			pc.InhibitMapping = n
		}
		return ok
	})
	if ok {
		c.PolicyConstraints = pc
	}
	return ok
}

func (c *Certificate) applyAuthorityKeyID(der []byte) bool {
	r, ok := single(der, tagSequence)
	if !ok {
		return false
	}
	if e, ok := r.take(0x80); ok {
		c.AuthorityKeyID = e.body
	}
	return true
}

func (c *Certificate) applyInfoAccess(der []byte) bool {
	return eachIn(der, func(in reader) bool {
		method, ok := in.take(tagOID)
		where, isURI := in.take(0x86)
		if !ok || !isURI || !isHTTP(string(where.body)) {
			return ok
		}
		switch parseOID(method.body) {
		case "1.3.6.1.5.5.7.48.1":
			c.OCSPServers = append(c.OCSPServers, string(where.body))
		case "1.3.6.1.5.5.7.48.2":
			c.IssuerURLs = append(c.IssuerURLs, string(where.body))
		}
		return true
	})
}

func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https"))
}

func parseDistributionPoints(der []byte) ([]DistributionPoint, bool) {
	var out []DistributionPoint
	ok := eachIn(der, func(in reader) bool {
		p, ok := parsePointOf(in)
		out = append(out, p)
		return ok
	})
	return complete(out, ok)
}

// parsePointOf reads the content of a DistributionPoint.
func parsePointOf(body reader) (p DistributionPoint, ok bool) {
	for !body.empty() {
		e, ok := body.next()
		if !ok {
			return p, false
		}
		switch e.tag {
		case 0xa0:
			if !p.name(e.body) {
				return p, false
			}
		case 0x81:
			p.Reasons = bitFlags(e.body)
		case 0xa2:
			if p.CRLIssuer, ok = generalNames(e.body); !ok {
				return p, false
			}
		}
	}
	return p, true
}

func (p *DistributionPoint) name(body reader) bool {
	e, ok := body.next()
	if !ok {
		return false
	}
	switch e.tag {
	case 0xa0:
		if p.Names, ok = generalNames(e.body); !ok {
			return false
		}
		for _, n := range p.Names {
			if n.Tag == 6 && isHTTP(n.Text) {
				p.URLs = append(p.URLs, n.Text)
			}
		}
	case 0xa1:
		p.Relative = e.body
	default:
		return false
	}
	return true
}

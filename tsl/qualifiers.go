package tsl

import (
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
)

// Qualification is a statement about the certificates of a service that meet its criteria (TS 119
// 612, clause 5.5.9.2).
type Qualification struct {
	Qualifiers []string // last part of the identifiers: "QCWithSSCD", "NotQualified"
	Criteria   Criteria
}

// Criteria are conditions on a certificate.
type Criteria struct {
	Assert    string            // "all", "atLeastOne", "none"
	KeyUsages []map[string]bool // names of key usage bits that must be set or not set
	Policies  [][]string
	ExtUsages [][]string
	Subject   [][]string // attribute types required in the subject
	Lists     []Criteria
	// Unknown conditions are never met, since their meaning is not known.
	Unknown int
}

func qualification(n *xmldom.Node) Qualification {
	var q Qualification
	for _, x := range descend(n, "Qualifiers", "Qualifier") {
		q.Qualifiers = append(q.Qualifiers, last(attribute(x, "uri")))
	}
	if c := child(n, "CriteriaList"); c != nil {
		q.Criteria = criteria(c, 0)
	}
	return q
}

const maxCriteria = 16

func criteria(n *xmldom.Node, depth int) Criteria {
	c := Criteria{Assert: attribute(n, "assert")}
	for x := range n.Elements() {
		switch x.Name.Local {
		case "KeyUsage":
			c.KeyUsages = append(c.KeyUsages, keyUsage(x))
		case "PolicySet":
			c.Policies = append(c.Policies, identifiers(x, "PolicyIdentifier"))
		case "CriteriaList":
			if depth < maxCriteria {
				c.Lists = append(c.Lists, criteria(x, depth+1))
			} else {
				c.Unknown++
			}
		case "otherCriteriaList":
			c.others(x)
		case "Description":
		default:
			c.Unknown++
		}
	}
	return c
}

func (c *Criteria) others(n *xmldom.Node) {
	for x := range n.Elements() {
		switch x.Name.Local {
		case "ExtendedKeyUsage":
			c.ExtUsages = append(c.ExtUsages, identifiers(x, "KeyPurposeId"))
		case "CertSubjectDNAttribute":
			c.Subject = append(c.Subject, identifiers(x, "AttributeOID"))
		default:
			c.Unknown++
		}
	}
}

func identifiers(n *xmldom.Node, local string) []string {
	var out []string
	for _, x := range children(n, local) {
		id := value(x, "Identifier")
		id = strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(id), "urn:oid:"), "oid:")
		out = append(out, id)
	}
	return out
}

var usageBits = map[string]pkix.KeyUsage{
	"digitalSignature": pkix.DigitalSignature, "nonRepudiation": pkix.NonRepudiation, "contentCommitment": pkix.NonRepudiation,
	"keyEncipherment": pkix.KeyEncipherment, "dataEncipherment": pkix.DataEncipherment, "keyAgreement": pkix.KeyAgreement,
	"keyCertSign": pkix.KeyCertSign, "crlSign": pkix.CRLSign, "encipherOnly": pkix.EncipherOnly, "decipherOnly": pkix.DecipherOnly,
}

func keyUsage(n *xmldom.Node) map[string]bool {
	out := map[string]bool{}
	for _, b := range children(n, "KeyUsageBit") {
		out[attribute(b, "name")] = text(b) == "true" || text(b) == "1"
	}
	return out
}

// met reports whether a certificate meets the criteria.
func (c Criteria) met(cert *pkix.Certificate) bool {
	var results []bool
	for _, bits := range c.KeyUsages {
		ok := true
		for name, want := range bits {
			bit := usageBits[name]
			ok = ok && bit != 0 && (cert.KeyUsage&bit != 0) == want
		}
		results = append(results, ok)
	}
	for _, set := range c.Policies {
		results = append(results, allIn(set, cert.Policies))
	}
	for _, set := range c.ExtUsages {
		results = append(results, allIn(set, cert.ExtKeyUsage))
	}
	for _, set := range c.Subject {
		ok := true
		for _, oid := range set {
			ok = ok && cert.Subject.Get(oid) != ""
		}
		results = append(results, ok)
	}
	for _, l := range c.Lists {
		results = append(results, l.met(cert))
	}
	for range c.Unknown {
		results = append(results, false)
	}
	switch c.Assert {
	case "all":
		return !slices.Contains(results, false)
	case "atLeastOne":
		return slices.Contains(results, true)
	case "none":
		return !slices.Contains(results, true) && c.Unknown == 0
	}
	return false
}

func allIn(set, have []string) bool {
	for _, s := range set {
		if !slices.Contains(have, s) {
			return false
		}
	}
	return true
}

// qualifiers returns those of an instance whose criteria a certificate meets.
func (i Instance) qualifiers(cert *pkix.Certificate) []string {
	var out []string
	for _, q := range i.Qualifiers {
		if q.Criteria.met(cert) {
			out = append(out, q.Qualifiers...)
		}
	}
	return out
}

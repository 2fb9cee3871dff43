package paper

import (
	"strings"

	"rogito.dev/rogito/report"
)

// name is a name in a certificate, for display.
type name struct{ report.Name }

// identifier is the holder's number unless it is an Italian fiscal code, in the form of EN 319
// 412-1, clause 5.1.3: three letters for the kind, then the country.
func (n name) identifier() string {
	s := strings.TrimSpace(n.Serial)
	if n.FiscalCode() != "" || len(s) < 7 || s[5] != '-' {
		return ""
	}
	return s
}

// organizationNumber is the identifier of EN 319 412-1, clause 5.1.4, in parts: "VAT" or another
// kind with the country, and the number.
func (n name) organizationNumber() (kind, number string) {
	id := strings.TrimSpace(n.OrgID)
	if len(id) < 7 || id[5] != '-' {
		return "", id
	}
	return id[:3], id[3:5] + " " + id[6:]
}

// describe formats name, number and organisation.
func (l Lang) describe(n name) string {
	more := l.numbers(n)
	if len(more) == 0 {
		return n.Person()
	}
	return n.Person() + " (" + strings.Join(more, ", ") + ")"
}

// numbers distinguish a holder from others with the same name: fiscal code, organisation and its
// number.
func (l Lang) numbers(n name) (more []string) {
	who := n.Person()
	switch {
	case n.FiscalCode() != "":
		more = append(more, l.f("fiscal code %s", n.FiscalCode()))
	case n.identifier() != "":
		more = append(more, l.f("identifier %s", n.identifier()))
	}
	if org := n.Org(); org != "" && !strings.EqualFold(org, who) {
		more = append(more, org)
	}
	if n.OrgID != "" {
		kind, number := n.organizationNumber()
		switch kind {
		case "VAT":
			more = append(more, l.f("VAT number %s", number))
		default:
			more = append(more, l.f("organisation number %s", n.OrgID))
		}
	}
	return more
}

// authority formats the name of an issuer: its common name, and the organisation if that adds
// something.
func (l Lang) authority(n name) string {
	org := n.Org()
	switch {
	case n.Common == "":
		return org
	case org == "" || strings.Contains(strings.ToLower(n.Common), strings.ToLower(org)):
		return n.Common
	}
	return n.Common + " (" + org + ")"
}

// holder is the name of a certificate's subject.
func holder(c *report.Certificate) name {
	if c.Holder == (report.Name{}) {
		return name{report.Name{Common: c.SubjectCN}}
	}
	return name{c.Holder}
}

// issuer is the name of a certificate's issuer.
func issuer(c *report.Certificate) name {
	if c.Authority == (report.Name{}) {
		return name{report.Name{Common: c.IssuerCN}}
	}
	return name{c.Authority}
}

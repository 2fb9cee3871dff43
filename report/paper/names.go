package paper

import "rogito.dev/rogito/report"

import "strings"

// name is who a certificate speaks of, as people are told it.
type name report.Name

// isFiscalCode knows the form of an Italian one, with the letters that replace
// digits where two people would share it.
func isFiscalCode(s string) bool {
	const (
		letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		digits  = "0123456789LMNPQRSTUV"
		months  = "ABCDEHLMPRST"
	)
	if len(s) != 16 {
		return false
	}
	for i, kind := range []byte("aaaaaa00m00a000a") {
		allowed := letters
		switch kind {
		case '0':
			allowed = digits
		case 'm':
			allowed = months
		}
		if strings.IndexByte(allowed, s[i]) < 0 {
			return false
		}
	}
	return true
}

// code says that a common name is an identifier and no name: a fiscal code and
// a number with a slash between, as older Italian certificates have it.
func (n name) code() string {
	first, _, _ := strings.Cut(n.Common, "/")
	if first = strings.ToUpper(strings.TrimSpace(first)); isFiscalCode(first) {
		return first
	}
	return ""
}

// named: the common name is a name. One word with digits in it, or a slash
// behind an identifier, is none.
func (n name) named() bool {
	return n.Common != "" && n.code() == "" && (strings.Contains(n.Common, " ") || !strings.ContainsAny(n.Common, "0123456789"))
}

// person is how the holder is called; "" where the certificate names nobody.
func (n name) person() string {
	full := strings.TrimSpace(n.Given + " " + n.Surname)
	switch {
	case n.named():
		return n.Common
	case full != "":
		return full
	case n.Pseudonym != "":
		return n.Pseudonym
	case n.Common == "":
		return n.organization()
	}
	return n.Common
}

// fiscal is the Italian fiscal code; "" where there is none.
func (n name) fiscal() string {
	s := strings.ToUpper(strings.TrimSpace(n.Serial))
	for _, prefix := range []string{"TINIT-", "IT:", "IT-", "CF:"} {
		s = strings.TrimPrefix(s, prefix)
	}
	if isFiscalCode(s) {
		return s
	}
	return n.code()
}

// identifier is the holder's number where it is no Italian fiscal code, as EN
// 319 412-1 clause 5.1.3 writes it: three letters for the kind, the country.
func (n name) identifier() string {
	s := strings.TrimSpace(n.Serial)
	if n.fiscal() != "" || len(s) < 7 || s[5] != '-' {
		return ""
	}
	return s
}

// placeholders stand where a certificate for a person has no organisation.
var placeholders = []string{"NON PRESENTE", "NOT PRESENT", "NON DICHIARATA", "N/A", "-", "NESSUNA"}

// organization is the one that the holder belongs to, or is.
func (n name) organization() string {
	o := strings.TrimSpace(n.Organization)
	before, _, _ := strings.Cut(o, "/")
	for _, p := range placeholders {
		if strings.EqualFold(before, p) {
			return ""
		}
	}
	return o
}

// organizationNumber is the identifier of EN 319 412-1 clause 5.1.4 in parts:
// "VAT" or another kind, the country, the number.
func (n name) organizationNumber() (kind, number string) {
	id := strings.TrimSpace(n.OrgID)
	if len(id) < 7 || id[5] != '-' {
		return "", id
	}
	return id[:3], id[3:5] + " " + id[6:]
}

// describe writes name, number and organisation.
func (l Lang) describe(n name) string {
	more := l.numbers(n)
	if len(more) == 0 {
		return n.person()
	}
	return n.person() + " (" + strings.Join(more, ", ") + ")"
}

// numbers are what tells a holder from others of the name: fiscal code,
// organisation and its number.
func (l Lang) numbers(n name) (more []string) {
	who := n.person()
	switch {
	case n.fiscal() != "":
		more = append(more, l.f("fiscal code %s", n.fiscal()))
	case n.identifier() != "":
		more = append(more, l.f("identifier %s", n.identifier()))
	}
	if org := n.organization(); org != "" && !strings.EqualFold(org, who) {
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

// authority writes the name of an issuer: its common name, and the
// organisation where that says more.
func (l Lang) authority(n name) string {
	org := n.organization()
	switch {
	case n.Common == "":
		return org
	case org == "" || strings.Contains(strings.ToLower(n.Common), strings.ToLower(org)):
		return n.Common
	}
	return n.Common + " (" + org + ")"
}

// holder is the name of a certificate's subject, from what the facts have.
func holder(c *report.Certificate) name {
	if c.Holder == (report.Name{}) {
		return name{Common: c.SubjectCN}
	}
	return name(c.Holder)
}

// issuer is the name of who issued it.
func issuer(c *report.Certificate) name {
	if c.Authority == (report.Name{}) {
		return name{Common: c.IssuerCN}
	}
	return name(c.Authority)
}

package report

import "strings"

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
func (n Name) code() string {
	first, _, _ := strings.Cut(n.Common, "/")
	if first = strings.ToUpper(strings.TrimSpace(first)); isFiscalCode(first) {
		return first
	}
	return ""
}

// named: the common name is a name. One word with digits in it, or a slash
// behind an identifier, is none.
func (n Name) named() bool {
	return n.Common != "" && n.code() == "" && (strings.Contains(n.Common, " ") || !strings.ContainsAny(n.Common, "0123456789"))
}

// Person is how people call the holder; "" where the certificate names nobody. A
// common name that is a number or a fiscal code gives way to the name.
func (n Name) Person() string {
	full := strings.TrimSpace(n.Given + " " + n.Surname)
	switch {
	case n.named():
		return n.Common
	case full != "":
		return full
	case n.Pseudonym != "":
		return n.Pseudonym
	case n.Common == "":
		return n.Org()
	}
	return n.Common
}

// FiscalCode is the Italian one; "" where there is none.
func (n Name) FiscalCode() string {
	s := strings.ToUpper(strings.TrimSpace(n.Serial))
	for _, prefix := range []string{"TINIT-", "IT:", "IT-", "CF:"} {
		s = strings.TrimPrefix(s, prefix)
	}
	if isFiscalCode(s) {
		return s
	}
	return n.code()
}

// placeholders stand where a certificate for a person has no organisation.
var placeholders = []string{"NON PRESENTE", "NOT PRESENT", "NON DICHIARATA", "N/A", "-", "NESSUNA"}

// Org is the organisation that the holder belongs to, or is; "" where a
// placeholder stands in its place.
func (n Name) Org() string {
	o := strings.TrimSpace(n.Organization)
	before, _, _ := strings.Cut(o, "/")
	for _, p := range placeholders {
		if strings.EqualFold(before, p) {
			return ""
		}
	}
	return o
}

// Called is how people call the holder of a certificate.
func (c *Certificate) Called() string {
	if c.Holder == (Name{}) {
		return c.SubjectCN
	}
	return c.Holder.Person()
}

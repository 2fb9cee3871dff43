package report

import "strings"

// isFiscalCode checks the syntax of an Italian fiscal code, including the letters that replace
// digits to distinguish two people.
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

// code returns the fiscal code if the common name is an identifier instead of a name: a fiscal code
// and a number with a slash between, as in older Italian certificates.
func (n Name) code() string {
	first, _, _ := strings.Cut(n.Common, "/")
	if first = strings.ToUpper(strings.TrimSpace(first)); isFiscalCode(first) {
		return first
	}
	return ""
}

// named reports whether the common name is a name, as opposed to one word with digits, or a slash
// after an identifier.
func (n Name) named() bool {
	return n.Common != "" && n.code() == "" && (strings.Contains(n.Common, " ") || !strings.ContainsAny(n.Common, "0123456789"))
}

// Person is the name of the holder; "" if the certificate has none. If the common name is a number
// or a fiscal code, given name and surname are used.
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

// FiscalCode is the Italian fiscal code, or "".
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

// placeholders are used instead of an organisation in certificates for persons.
var placeholders = []string{"NON PRESENTE", "NOT PRESENT", "NON DICHIARATA", "N/A", "-", "NESSUNA"}

// Org is the organisation that the holder belongs to, or is; "" if it is a placeholder.
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

// Called is the name of the holder of a certificate.
func (c *Certificate) Called() string {
	if c.Holder == (Name{}) {
		return c.SubjectCN
	}
	return c.Holder.Person()
}

package identify

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"rogito.dev/rogito/server/internal/fault"
)

// Attributes are what can be said about the holder of a certificate: as the
// buyer orders it, as an identification proves it, as it is certified.
type Attributes struct {
	GivenName              string `json:"givenName,omitempty" doc:"of the person"`
	Surname                string `json:"surname,omitempty" doc:"of the person"`
	FiscalCode             string `json:"fiscalCode,omitempty" doc:"Italian codice fiscale, or the number of another country"`
	DateOfBirth            string `json:"dateOfBirth,omitempty" doc:"YYYY-MM-DD"`
	Country                string `json:"country,omitempty" doc:"two letters (ISO 3166-1)"`
	Organization           string `json:"organization,omitempty" doc:"of a seal, or that the person belongs to"`
	OrganizationIdentifier string `json:"organizationIdentifier,omitempty" doc:"such as VATIT-01234567890 (EN 319 412-1)"`
	Email                  string `json:"email,omitempty" doc:"of the holder"`
	Mobile                 string `json:"mobile,omitempty" doc:"of the holder, with +"`
}

// attribute is one of them: how to reach it, when two values are the same, and
// whether the certificate of a person or a seal may do without its proof.
type attribute struct {
	name  string
	of    func(*Attributes) *string
	equal func(a, b string) bool
	// person and seal: an order that names it is refused while it is not
	// proven. Elsewhere what is not proven is left out.
	person, seal bool
	// address: it is certified where it was ordered and proven, and never fills in;
	// one that differs from the proven one is left out.
	address bool
	// unseen: it is compared and put into no certificate.
	unseen bool
	// among says that a value is among those proven: where the tax code is the
	// same, it need not be written the same.
	among func(ordered, proven string) bool
}

// table has every attribute once, the strongest proof of identity first, so
// that a difference is named by what matters most.
var table = []attribute{
	{name: "fiscalCode", of: func(a *Attributes) *string { return &a.FiscalCode }, equal: sameCode, person: true, seal: true},
	{name: "organizationIdentifier", of: func(a *Attributes) *string { return &a.OrganizationIdentifier }, equal: sameText, seal: true},
	{name: "surname", of: func(a *Attributes) *string { return &a.Surname }, equal: sameName, person: true, seal: true, among: sameLetters},
	{name: "givenName", of: func(a *Attributes) *string { return &a.GivenName }, equal: sameName, person: true, seal: true, among: amongNames},
	{name: "organization", of: func(a *Attributes) *string { return &a.Organization }, equal: sameName, seal: true},
	{name: "dateOfBirth", of: func(a *Attributes) *string { return &a.DateOfBirth }, equal: sameText, unseen: true},
	{name: "country", of: func(a *Attributes) *string { return &a.Country }, equal: sameText},
	{name: "email", of: func(a *Attributes) *string { return &a.Email }, equal: sameText, address: true},
	{name: "mobile", of: func(a *Attributes) *string { return &a.Mobile }, equal: sameNumber, address: true, unseen: true},
}

// Each calls visit for every attribute that has a value, in the table's order.
func (a Attributes) Each(visit func(name, value string)) {
	for _, t := range table {
		if v := *t.of(&a); v != "" {
			visit(t.name, v)
		}
	}
}

// Seen are the attributes that a certificate shows.
func (a Attributes) Seen() Attributes {
	for _, t := range table {
		if t.unseen {
			*t.of(&a) = ""
		}
	}
	return a
}

// only keeps the attributes of those names.
func (a Attributes) only(names ...string) Attributes {
	var out Attributes
	for _, t := range table {
		for _, n := range names {
			if n == t.name {
				*t.of(&out) = *t.of(&a)
			}
		}
	}
	return out
}

// Order is what a certificate was ordered for.
type Order struct {
	ID       string
	Ordered  Attributes
	Owner    string // the display name that the buyer gave
	Seal     bool   // for an organisation
	KindName string // of the certificate, for people
}

// Certified is what a certificate will say: nothing but what was proven.
type Certified struct {
	Attributes
	CommonName string   `json:"commonName,omitempty"`
	LeftOut    []string `json:"leftOut,omitempty"` // ordered, and not proven
	Filled     []string `json:"filled,omitempty"`  // proven and not ordered: the holder confirms them before they are certified
	Method     string   `json:"method,omitempty"`  // that proved it
}

// Settle holds what was ordered against what was proven. A difference is fault
// 312, which names the attribute and never its value. What was proven fills
// what the order left empty, but for addresses, and never overwrites it.
func (o Order) Settle(p *Proof) (*Certified, error) {
	out := &Certified{Attributes: o.Ordered, Method: p.Method}
	named, coded := false, false // something, and the tax code, is as ordered
	for _, t := range table {
		want, got := t.of(&out.Attributes), *t.of(&p.Proven)
		needed := t.person && !o.Seal || t.seal && o.Seal
		switch {
		case *want == "" && t.address: // its certification was not asked for
		case *want == "":
			*want = got
			out.Filled = append(out.Filled, o.news(t, got, p)...)
		case got == "" && needed && (t.name == "givenName" || t.name == "surname") && sameFullName(p.Name, o.Ordered):
			named = true // a certificate that has the names in one
		case got == "" && needed:
			return nil, fault.New(fault.BadField, "subject.%s was ordered, and identification by %s did not prove it", t.name, p.Method).Because(&Difference{t.name, true})
		case got == "":
			out.LeftOut = append(out.LeftOut, t.name)
			*want = ""
		case !t.equal(*want, got) && t.address: // people have several
			out.LeftOut = append(out.LeftOut, t.name)
			*want = ""
		case !t.equal(*want, got) && !(coded && t.among != nil && t.among(*want, got)):
			return nil, differs(t.name)
		default:
			named = named || t.name != "country"
			coded = coded || t.name == "fiscalCode"
		}
	}
	if out.Country == "" {
		out.Country = out.context()
	}
	if err := o.name(out, p, named); err != nil {
		return nil, err
	}
	unreadable := ""
	out.Each(func(name, value string) {
		if !Plain(value) {
			unreadable = name
		}
	})
	if unreadable != "" || !Plain(out.CommonName) {
		return nil, fault.New(fault.BadField, "%s has characters that nobody can read", cmp.Or(unreadable, "commonName"))
	}
	return out, nil
}

// news is the name of an attribute whose value is put into the certificate though it does not
// follow from the order.
func (o Order) news(t attribute, value string, p *Proof) []string {
	if value == "" || t.unseen || o.tells(t.name, value, p) {
		return nil
	}
	return []string{t.name}
}

// tells reports whether a value follows from the order although the attribute is not named there:
// from the label, from the tax code or, in the sandbox, always.
func (o Order) tells(name, value string, p *Proof) bool {
	switch {
	case p.Method == inSandbox:
		return true
	case name == "organization":
		return sameName(value, o.Owner)
	case name == "givenName" || name == "surname":
		return sameFullName(o.Owner, p.Proven)
	case name == "country":
		return sameText(value, o.Ordered.context())
	}
	return false
}

var (
	personalCode = regexp.MustCompile(`^[A-Z]{6}[0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z]$`)
	elevenDigits = regexp.MustCompile(`^[0-9]{11}$`)
	legalNumber  = regexp.MustCompile(`^(?:[A-Z]{3}|[A-Z]{2}:)([A-Z]{2})-`)
)

// PersonalCode says that a text in capitals has the form of an Italian fiscal
// code of a person. Letters replace digits where two persons would have the
// same code; the letter of the month is any, since the codes of test persons have
// months that do not exist.
func PersonalCode(s string) bool { return personalCode.MatchString(s) }

// FiscalCode is PersonalCode, or says that the text has the eleven digits of an
// organisation, or of a person who has a provisional code.
func FiscalCode(s string) bool { return PersonalCode(s) || elevenDigits.MatchString(s) }

// context is the country in which the attributes are to be read (EN 319 412-2,
// 4.2.4) where none was proven by itself: that of the tax code, or of the number
// of the organisation.
func (a Attributes) context() string {
	if m := legalNumber.FindStringSubmatch(a.OrganizationIdentifier); m != nil {
		return m[1]
	}
	if FiscalCode(strings.ToUpper(afterPrefix(a.FiscalCode))) {
		return "IT"
	}
	return ""
}

// Plain says that people can read a text as it is: nothing in it is
// invisible, turns the direction of others, breaks the line, strikes letters
// through, or has no meaning in Unicode. Accents stay, three on a letter at most.
func Plain(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	marks := 3 // none may come first
	for _, r := range norm.NFD.String(s) {
		switch {
		case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Me) || r == 0x2800: // invisible, or around a letter
			return false
		case unicode.Is(unicode.M, r):
			if marks++; marks > 3 || norm.NFD.PropertiesString(string(r)).CCC() == 1 { // class 1: through a letter
				return false
			}
			continue
		case !unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Zs): // so Cc, Cf, Co, Cs, Cn, Zl, Zp
			return false
		}
		marks = 0
	}
	return true
}

// Named is the name that an order asks for; empty where the proof gives it.
func (o Order) Named() string {
	if o.Seal {
		return o.Ordered.Organization
	}
	return strings.TrimSpace(o.Ordered.GivenName + " " + o.Ordered.Surname)
}

// LabelDiffers says that the label of the order is not the name that it asks for.
func (o Order) LabelDiffers() bool {
	named := o.Named()
	return named != "" && !sameName(o.Owner, named) && !sameFullName(o.Owner, o.Ordered)
}

// Difference is why an order and a proof do not fit, for pages that say it in
// the language of the person.
type Difference struct {
	Attribute string
	Missing   bool // it was not proven
}

func (d *Difference) Error() string { return d.Attribute }

func differs(name string) error {
	return fault.New(fault.NotTheApplicant, "the person identified is not the applicant: %s differs", name).Because(&Difference{Attribute: name})
}

// name decides on the common name. The display name is a label of the buyer's:
// where nothing else of the order could be compared, it must be the name that
// was proven.
func (o Order) name(out *Certified, p *Proof, compared bool) error {
	proven := p.FullName()
	if o.Seal {
		proven = out.Organization
	}
	if proven == "" {
		return fault.New(fault.BadField, "identification by %s proved no name", p.Method)
	}
	if !compared && !sameName(o.Owner, proven) && !sameFullName(o.Owner, p.Proven) {
		return differs("certificateOwner")
	}
	out.CommonName = proven
	if !o.Seal && out.GivenName != "" && out.Surname != "" {
		out.CommonName = out.GivenName + " " + out.Surname
	}
	return nil
}

// sameFullName says that a name in one is that of given name and surname, in
// either order.
func sameFullName(name string, a Attributes) bool {
	if a.GivenName == "" || a.Surname == "" {
		return false
	}
	return sameName(name, a.GivenName+" "+a.Surname) || sameName(name, a.Surname+" "+a.GivenName)
}

// sameCode compares tax codes: RSSMRA80A01H501U, TINIT-RSSMRA80A01H501U and
// IT:RSSMRA80A01H501U are one.
func sameCode(a, b string) bool { return sameText(afterPrefix(a), afterPrefix(b)) }

func afterPrefix(s string) string {
	if i := strings.LastIndexAny(s, "-:"); i >= 0 {
		return s[i+1:]
	}
	return s
}

func sameText(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a != "" && strings.EqualFold(a, b)
}

func sameNumber(a, b string) bool {
	digits := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, s)
	}
	a, b = digits(a), digits(b)
	if len(a) < len(b) {
		a, b = b, a
	}
	return len(b) > 0 && (a == b || len(b) > 8 && strings.HasSuffix(a, b)) // with the country's prefix or without
}

// sameName compares names as people do: case, accents, apostrophes and spaces
// aside. Nothing equals nothing.
func sameName(a, b string) bool {
	a, b = fold(a), fold(b)
	return a != "" && a == b
}

// sameLetters is sameName where De Luca and DeLuca are one.
func sameLetters(a, b string) bool {
	letters := func(s string) string { return strings.ReplaceAll(fold(s), " ", "") }
	return letters(a) != "" && letters(a) == letters(b)
}

// amongNames says that given names are the first of those that were proven, or
// all of them.
func amongNames(ordered, proven string) bool {
	return sameLetters(ordered, proven) || fold(ordered) != "" && strings.HasPrefix(fold(proven)+" ", fold(ordered)+" ")
}

func fold(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsSpace(r) || r == '\'' || r == '’' || r == '-':
			b.WriteByte(' ')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

package enroll

import (
	"regexp"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/remote"
)

// Subject is who the certificate is for, as the buyer says.
type Subject = identify.Attributes

// Order is what a buyer asks for. Zero fields take defaults.
type Order struct {
	Provider       string
	Kind           keys.Kind
	Owner          string
	Reference      string
	Subject        Subject
	Identification string
	Algorithm      string
	Years          int
	Level          int
	Callback       *callback.Target
}

var (
	country = regexp.MustCompile(`^[A-Za-z]{2}$`)
	tax     = regexp.MustCompile(`^[A-Za-z0-9]{6,32}$`)
	email   = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
	mobile  = regexp.MustCompile(`^\+?[0-9 ().-]{5,24}$`)
	legalID = regexp.MustCompile(`^([A-Z]{3}[A-Z]{2}|[A-Z]{2}:[A-Z]{2})-[^\s].{0,60}$`)
	date    = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`)
)

// check fills in defaults and refuses what cannot be, with fault 305, 310 or
// 311.
func (s *Service) check(o *Order) error {
	kind, ok := s.provider(o.Provider)
	if !ok || !o.Kind.Known() {
		return fault.New(fault.NoProduct, "there is no certificate product %s-%s", o.Provider, o.Kind)
	}
	if p, ok := s.config.Remote[o.Provider].(remote.Accounts); ok && p.Passes() {
		return fault.New(fault.NoProduct, "nothing of the provider %s is kept here: sign with its own username and password", o.Provider)
	}
	if kind != "local" && !slices.Contains(RemoteKinds, kind) {
		return fault.New(fault.NoProduct, "the provider %s issues nothing: its certificates are imported", o.Provider)
	}
	if err := o.checkOwner(); err != nil {
		return err
	}
	if err := checkSubject(&o.Subject); err != nil {
		return err
	}
	if kind != "local" { // whatever the order says, the provider knows its holders
		o.Identification = byProvider
	} else if err := s.checkIdentification(o); err != nil {
		return err
	}
	return s.checkProduct(o)
}

func (o *Order) checkOwner() error {
	o.Owner = strings.TrimSpace(o.Owner)
	if o.Owner == "" {
		o.Owner = strings.TrimSpace(o.Subject.GivenName + " " + o.Subject.Surname)
	}
	if o.Owner == "" {
		o.Owner = o.Subject.Organization
	}
	switch {
	case o.Owner == "":
		return fault.New(fault.BadField, "certificateOwner is required")
	case len(o.Owner) > 200 || !identify.Plain(o.Owner):
		return fault.New(fault.BadField, "certificateOwner is longer than 200 bytes or has characters that nobody can read")
	case len(o.Reference) > 256:
		return fault.New(fault.BadField, "customReference is longer than 256 bytes")
	}
	return nil
}

// checkSubject says which attribute is wrong, and why.
func checkSubject(s *Subject) error {
	rules := []struct {
		name, value string
		form        *regexp.Regexp
		want        string // what the form asks for
		max         int
	}{
		{"givenName", s.GivenName, nil, "", 64},
		{"surname", s.Surname, nil, "", 40},
		{"fiscalCode", s.FiscalCode, tax, "must be 6 to 32 letters and digits without spaces: of an Italian person RSSMRA80A01H501U", 32},
		{"country", s.Country, country, "must be two letters (ISO 3166-1), as IT", 2},
		{"organization", s.Organization, nil, "", 64},
		{"organizationIdentifier", s.OrganizationIdentifier, legalID, "must be a kind, a country and a number (EN 319 412-1), as VATIT-01234567890", 64},
		{"email", s.Email, email, "must be an e-mail address", 128},
		{"mobile", s.Mobile, mobile, "must be a telephone number, as +39 333 1234567", 25},
		{"dateOfBirth", s.DateOfBirth, date, "must be a day, as 1980-01-31", 10},
	}
	for _, r := range rules {
		switch {
		case r.value == "":
		case r.form != nil && !r.form.MatchString(r.value):
			return fault.New(fault.BadField, "subject.%s %s", r.name, r.want)
		case len(r.value) > r.max:
			return fault.New(fault.BadField, "subject.%s is longer than %d bytes", r.name, r.max)
		case !identify.Plain(r.value):
			return fault.New(fault.BadField, "subject.%s has characters that nobody can read", r.name)
		}
	}
	return nil
}

func (s *Service) checkIdentification(o *Order) error {
	if o.Identification == "" {
		return nil // the page offers all that this server has
	}
	if !slices.Contains(identify.Names, o.Identification) {
		return fault.New(fault.BadField, "%s", hint.OneOf("identification", o.Identification, identify.Names))
	}
	if !slices.Contains(s.identify.Offered(), o.Identification) {
		return fault.New(fault.NoIdentification, "identification by %s is not configured on this server", o.Identification)
	}
	return nil
}

func (s *Service) checkProduct(o *Order) error {
	if o.Algorithm == "" {
		o.Algorithm = "P256"
	}
	if !slices.Contains(keys.Algorithms, o.Algorithm) {
		return fault.New(fault.BadField, "%s", hint.OneOf("keyAlgorithm", o.Algorithm, keys.Algorithms))
	}
	if o.Years == 0 {
		o.Years = 3
	}
	if o.Years < 1 || o.Years > 3 {
		return fault.New(fault.BadField, "validityYears must be between 1 and 3")
	}
	if o.Level == 0 {
		o.Level = s.config.Levels.defaultLevel(o.Kind)
	}
	if o.Level < 1 || o.Level > 5 {
		return fault.New(fault.BadField, "securityLevel must be between 1 and 5")
	}
	if !s.config.Levels.fits(o.Kind, o.Level) {
		return fault.New(fault.BadField, "securityLevel %d does not fit the kind %s: one-time passwords are for otp, and otp is never without", o.Level, o.Kind)
	}
	return nil
}

// identifyOrder is the order as identification sees it. Once a certificate is
// issued, only the person that it names may come back.
func (c *Certificate) identifyOrder() identify.Order {
	o := identify.Order{ID: c.ID, Ordered: c.Subject, Owner: c.Owner, Seal: c.Kind == keys.ESeal, KindName: c.Kind.CertificateType()}
	if c.Certified != nil && !c.Unconfirmed() {
		o.Ordered, o.Owner = c.Certified.Attributes, c.Certified.CommonName
	}
	return o
}

// Ordered is what the certificate was ordered for; once issued, what it names.
func (c *Certificate) Ordered() identify.Attributes { return c.identifyOrder().Ordered }

// LabelDiffers reports whether the buyer's label differs from the name that was ordered or
// certified, and returns that name.
func (c *Certificate) LabelDiffers() (name string, differs bool) {
	o := c.identifyOrder()
	o.Owner = c.Owner
	return o.Named(), o.LabelDiffers()
}

// authorityOrder is what was proven, and nothing else.
func (c *Certificate) authorityOrder(s *identify.Certified) authority.Order {
	return authority.Order{CertificateID: c.ID, Seal: c.Kind == keys.ESeal, Years: c.Years, Subject: authority.Subject{
		GivenName: s.GivenName, Surname: s.Surname, FiscalCode: s.FiscalCode, Country: s.Country, CommonName: s.CommonName,
		Organization: s.Organization, OrganizationIdentifier: s.OrganizationIdentifier, Email: s.Email,
	}}
}

package identify_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
)

func TestSettle(t *testing.T) {
	mario := identify.Attributes{GivenName: "Mario", Surname: "Rossi", FiscalCode: "RSSMRA80A01H501U", Country: "IT"}
	acme := identify.Attributes{GivenName: "Mario", Surname: "Rossi", Organization: "ACME S.r.l.", OrganizationIdentifier: "VATIT-12345678901", Country: "IT"}
	for _, c := range []struct {
		name    string
		ordered identify.Attributes
		owner   string
		seal    bool
		proven  identify.Attributes
		one     string // name in one
		fault   fault.Code
		common  string
		left    []string
	}{
		{name: "as ordered", ordered: mario, owner: "Mario Rossi", proven: mario, common: "Mario Rossi"},
		{name: "nothing ordered but the name", owner: "mario ROSSI", proven: mario, common: "Mario Rossi"},
		{name: "surname first", owner: "Rossi Mario", proven: mario, common: "Mario Rossi"},
		{name: "spelled otherwise", ordered: identify.Attributes{GivenName: "NICOLÒ", Surname: "D'Amico"}, owner: "x", proven: identify.Attributes{GivenName: "Nicolo", Surname: "D’AMICO"}, common: "NICOLÒ D'Amico"},
		{name: "code with a prefix", ordered: identify.Attributes{FiscalCode: "TINIT-RSSMRA80A01H501U"}, owner: "x", proven: mario, common: "Mario Rossi"},
		{name: "names in one", ordered: identify.Attributes{GivenName: "Mario", Surname: "Rossi"}, owner: "x", one: "ROSSI MARIO", common: "Mario Rossi"},

		{name: "another person", owner: "Giorgia Bianchi", proven: mario, fault: fault.NotTheApplicant},
		{name: "another surname beside the right code", ordered: identify.Attributes{FiscalCode: "RSSMRA80A01H501U", Surname: "Bianchi"}, owner: "x", proven: mario, fault: fault.NotTheApplicant},
		{name: "another given name", ordered: identify.Attributes{GivenName: "Giorgia", Surname: "Rossi"}, owner: "Mario Rossi", proven: mario, fault: fault.NotTheApplicant},
		{name: "another code", ordered: identify.Attributes{FiscalCode: "BNCGRG80A41H501X"}, owner: "Mario Rossi", proven: mario, fault: fault.NotTheApplicant},
		{name: "another country", ordered: identify.Attributes{FiscalCode: "RSSMRA80A01H501U", Country: "DE"}, owner: "x", proven: mario, fault: fault.NotTheApplicant},
		{name: "only the country is the same", ordered: identify.Attributes{Country: "IT"}, owner: "Giorgia Bianchi", proven: mario, fault: fault.NotTheApplicant},
		{name: "another birthday", ordered: identify.Attributes{FiscalCode: "RSSMRA80A01H501U", DateOfBirth: "1981-01-01"}, owner: "x", proven: with(mario, func(a *identify.Attributes) { a.DateOfBirth = "1980-01-01" }), fault: fault.NotTheApplicant},
		{name: "a code that is not proven", ordered: mario, owner: "Mario Rossi", proven: identify.Attributes{GivenName: "Mario", Surname: "Rossi"}, fault: fault.BadField},
		{name: "names that are not proven", ordered: identify.Attributes{GivenName: "Mario", Surname: "Rossi"}, owner: "Mario Rossi", proven: identify.Attributes{FiscalCode: "RSSMRA80A01H501U"}, one: "Somebody Else", fault: fault.BadField},
		{name: "no name at all", owner: "Mario Rossi", proven: identify.Attributes{FiscalCode: "RSSMRA80A01H501U"}, fault: fault.BadField},

		{name: "an address that is not proven", ordered: with(mario, func(a *identify.Attributes) { a.Email, a.Mobile = "mario@bank.example", "+39 1" }), owner: "x", proven: mario, common: "Mario Rossi", left: []string{"email", "mobile"}},
		{name: "another address", ordered: with(mario, func(a *identify.Attributes) { a.Email = "m@bank.example" }), owner: "x", proven: with(mario, func(a *identify.Attributes) { a.Email = "m@home.example" }), common: "Mario Rossi", left: []string{"email"}},
		{name: "a number with its prefix", ordered: with(mario, func(a *identify.Attributes) { a.Mobile = "333 1234567" }), owner: "x", proven: with(mario, func(a *identify.Attributes) { a.Mobile = "+393331234567" }), common: "Mario Rossi"},
		{name: "the first of several names", ordered: mario, owner: "x", proven: with(mario, func(a *identify.Attributes) { a.GivenName = "MARIO LUIGI" }), common: "Mario Rossi"},
		{name: "a name that is not among them", ordered: with(mario, func(a *identify.Attributes) { a.GivenName = "Luigi" }), owner: "x", proven: with(mario, func(a *identify.Attributes) { a.GivenName = "MARIO LUIGI" }), fault: fault.NotTheApplicant},
		{name: "more names than were proven", ordered: with(mario, func(a *identify.Attributes) { a.GivenName = "Mario Luigi" }), owner: "x", proven: mario, fault: fault.NotTheApplicant},
		{name: "part of a name", ordered: with(mario, func(a *identify.Attributes) { a.GivenName = "Mari" }), owner: "x", proven: mario, fault: fault.NotTheApplicant},
		{name: "the first of several names, without a code", ordered: identify.Attributes{GivenName: "Mario", Surname: "Rossi"}, owner: "x", proven: identify.Attributes{GivenName: "Mario Luigi", Surname: "Rossi"}, fault: fault.NotTheApplicant},
		{name: "an accent as an apostrophe", ordered: identify.Attributes{GivenName: "Nicolò", Surname: "De Luca", FiscalCode: "X"}, owner: "x", proven: identify.Attributes{GivenName: "NICOLO'", Surname: "DELUCA", FiscalCode: "X"}, common: "Nicolò De Luca"},
		{name: "an organisation on a person's certificate", ordered: with(mario, func(a *identify.Attributes) { a.Organization = "Bank" }), owner: "x", proven: mario, common: "Mario Rossi", left: []string{"organization"}},

		{name: "a seal", ordered: acme, owner: "ACME", seal: true, proven: acme, common: "ACME S.r.l."},
		{name: "a seal by a person of no organisation", ordered: acme, owner: "ACME", seal: true, proven: mario, fault: fault.BadField},
		{name: "a seal for another organisation", ordered: with(acme, func(a *identify.Attributes) { a.Organization = "Bank" }), owner: "Bank", seal: true, proven: acme, fault: fault.NotTheApplicant},
		{name: "a seal with another number", ordered: with(acme, func(a *identify.Attributes) { a.OrganizationIdentifier = "VATIT-999" }), owner: "ACME", seal: true, proven: acme, fault: fault.NotTheApplicant},
		{name: "a seal that names nothing, by a person", owner: "Mario Rossi", seal: true, proven: mario, fault: fault.BadField},
		{name: "a seal that names nothing, for another", owner: "Bank", seal: true, proven: acme, fault: fault.NotTheApplicant},
		{name: "a seal that names nothing", owner: "Acme s.r.l.", seal: true, proven: acme, common: "ACME S.r.l."},
	} {
		p := &identify.Proof{Method: "signature", Proven: c.proven, Name: c.one}
		got, err := identify.Order{Ordered: c.ordered, Owner: c.owner, Seal: c.seal}.Settle(p)
		switch {
		case c.fault != 0:
			if !errors.Is(err, c.fault) {
				t.Errorf("%s: %v, want fault %d", c.name, err, c.fault)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case got.CommonName != c.common || !slices.Equal(got.LeftOut, c.left):
			t.Errorf("%s: %q without %v", c.name, got.CommonName, got.LeftOut)
		case slices.Contains(c.left, "email") && got.Email != "":
			t.Errorf("%s: the address %q is certified", c.name, got.Email)
		}
	}
}

func with(a identify.Attributes, change func(*identify.Attributes)) identify.Attributes {
	change(&a)
	return a
}

// What a difference is told never holds the value of either side.
func TestDifferenceKeepsValues(t *testing.T) {
	o := identify.Order{Ordered: identify.Attributes{FiscalCode: "AAAAAA00A00A000A"}, Owner: "Mario Rossi"}
	_, err := o.Settle(&identify.Proof{Method: "signature", Proven: identify.Attributes{FiscalCode: "BBBBBB00B00B000B", GivenName: "Mario", Surname: "Rossi"}})
	if err == nil || err.Error() == "" {
		t.Fatal("no difference")
	}
	for _, secret := range []string{"AAAAAA", "BBBBBB", "Mario"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q tells %s", err, secret)
		}
	}
}

// A statement is the same bytes while it lives, and another for every order and
// every time it is made.
func TestStatement(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	m := &identify.Methods{Address: "https://sign.example", TextPDF: func(title, text string) []byte { return []byte(title + "\n" + text) }, Now: func() time.Time { return now }}
	o := identify.Order{ID: "1", Ordered: identify.Attributes{FiscalCode: "RSSMRA80A01H501U"}, Owner: "Mario Rossi"}
	s, b := m.NewStatement(o)
	for _, want := range []string{s.Nonce, "RSSMRA80A01H501U", "Mario Rossi", "2026-11-15 12:00:00", "https://sign.example"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the statement lacks %q", want)
		}
	}
	if string(m.Again(o, s)) != string(b) {
		t.Error("the second download is another document")
	}
	other := o
	other.ID = "2"
	if m.Again(other, s) != nil {
		t.Error("the statement of one order is that of another")
	}
	if again, _ := m.NewStatement(o); again.Nonce == s.Nonce {
		t.Error("two statements have one nonce")
	}
	now = now.Add(25 * time.Hour)
	if m.Again(o, s) != nil {
		t.Error("a statement is good for more than a day")
	}
}

// A country stands where it was proven, by itself or by a number that is of one.
func TestCountryWhereProven(t *testing.T) {
	for name, c := range map[string]struct {
		ordered, proven identify.Attributes
		want            string
	}{
		"nothing":               {identify.Attributes{}, identify.Attributes{}, ""},
		"ordered alone":         {identify.Attributes{Country: "DE"}, identify.Attributes{}, ""},
		"proven":                {identify.Attributes{}, identify.Attributes{Country: "FR"}, "FR"},
		"an Italian code":       {identify.Attributes{}, identify.Attributes{FiscalCode: "RSSMRA80A01H501U"}, "IT"},
		"a code with homocody":  {identify.Attributes{}, identify.Attributes{FiscalCode: "RSSMRA80A01H50MU"}, "IT"},
		"another country's":     {identify.Attributes{}, identify.Attributes{FiscalCode: "1234567890123"}, ""},
		"ordered, with a code":  {identify.Attributes{Country: "DE"}, identify.Attributes{FiscalCode: "RSSMRA80A01H501U"}, "IT"},
		"a number of a company": {identify.Attributes{}, identify.Attributes{OrganizationIdentifier: "VATDE-123456789"}, "DE"},
		"a register's":          {identify.Attributes{}, identify.Attributes{OrganizationIdentifier: "XX:FR-7"}, "FR"},
	} {
		p := &identify.Proof{Method: "video", Name: "Elsa Prova", Proven: c.proven}
		got, err := identify.Order{Owner: "Elsa Prova", Ordered: c.ordered}.Settle(p)
		if err != nil || got.Country != c.want {
			t.Errorf("%s: %+v %v, want %q", name, got, err, c.want)
		}
	}
}

// What a proof brings in is held to the rule for names as what was ordered.
func TestProvenNamesThatNobodyCanRead(t *testing.T) {
	for _, x := range []string{"\u202e", "\u200b", "\u0336", "\u2028", "\ue000"} {
		for _, p := range []identify.Proof{{Name: "Elsa" + x + "Prova"}, {Proven: identify.Attributes{GivenName: "El" + x + "sa", Surname: "Prova"}}} {
			if got, err := (identify.Order{Owner: "Elsa" + x + "Prova"}).Settle(&p); err == nil {
				t.Errorf("%U: %+v", []rune(x), got)
			}
		}
	}
}

// An address is certified where it was ordered and proven: what a provider says
// beside what it was asked for stands in no certificate.
func TestAddressesNobodyOrdered(t *testing.T) {
	proven := identify.Attributes{GivenName: "Mario", Surname: "Rossi", FiscalCode: "RSSMRA80A01H501U", Email: "canarino@example.org", Mobile: "+39333000111"}
	for name, c := range map[string]struct {
		ordered identify.Attributes
		email   string
	}{
		"not ordered":              {identify.Attributes{GivenName: "Mario", Surname: "Rossi"}, ""},
		"ordered and proven":       {identify.Attributes{GivenName: "Mario", Surname: "Rossi", Email: "Canarino@example.org"}, "Canarino@example.org"},
		"ordered, another proven":  {identify.Attributes{GivenName: "Mario", Surname: "Rossi", Email: "mario@bank.example"}, ""},
		"nothing ordered at all":   {identify.Attributes{}, ""},
		"ordered, and none proven": {identify.Attributes{GivenName: "Mario", Surname: "Rossi", Email: "x@example.org"}, ""},
	} {
		p := &identify.Proof{Method: "cie", Proven: proven}
		if name == "ordered, and none proven" {
			p.Proven.Email = ""
		}
		got, err := identify.Order{Ordered: c.ordered, Owner: "Mario Rossi"}.Settle(p)
		if err != nil || got.Email != c.email || got.Mobile != "" {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

// Package identify finds out who the holder of a certificate is, and what of an
// order that proves. Each method ends in a [Proof]; [Order.Settle] is the one
// place where what was ordered meets what was proven.
//
// A statement made for the order and signed with a certificate that the person
// has already, and a video that an operator looks at, come from the order's own
// page. SPID, CIE and CNS send the person elsewhere: each is a [Method].
package identify

import (
	"context"
	"crypto"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito"
)

// Accept says which certificates may sign a statement.
type Accept string

// From the strictest on: a qualified certificate; one of a service on a
// trusted list; any that the server trusts.
const (
	AcceptQualified Accept = "qualified"
	AcceptListed    Accept = "listed"
	AcceptTrusted   Accept = "trusted"
)

// Methods are the identifications that this server offers.
type Methods struct {
	Verifier *rogito.Verifier // nil: signature is not offered
	Accept   Accept           // empty means qualified
	// Held says whether a key is one that this server uses for its callers, here or at a provider:
	// a signature with it is no identification.
	Held func(context.Context, crypto.PublicKey) (bool, error)
	// Address of the server, as people know it, for statements.
	Address string
	// TextPDF sets a text as PDF.
	TextPDF func(title, text string) []byte
	Now     func() time.Time
	// Elsewhere are the methods that send the person away, as configured.
	Elsewhere []Method
}

// Names of all identifications there are. What this server does not offer is
// fault 311.
var Names = []string{"video", "spid", "cie", "cns", "signature"}

// Offered are the names of those that this server offers.
func (m *Methods) Offered() []string {
	all := []string{}
	for _, name := range Names {
		if name == "video" || name == "signature" && m.Verifier != nil || m.Method(name) != nil {
			all = append(all, name)
		}
	}
	return all
}

// Method that sends the person elsewhere; nil: it is not configured.
func (m *Methods) Method(name string) Method {
	for _, e := range m.Elsewhere {
		if e.Name() == name {
			return e
		}
	}
	return nil
}

func (m *Methods) now() time.Time {
	if m.Now != nil {
		return m.Now().UTC()
	}
	return time.Now().UTC()
}

// weakest first: a statement takes no person at the screen, a video takes one and a reviewer, and
// the rest take credentials that a state has given out. The two in one group are as good as each
// other.
var strengths = [][]string{{"signature"}, {"video"}, {"spid"}, {"cie", "cns"}}

// AsGood says whether a method may replace the one that identified first: it is
// the same, or a stronger one. Where nothing is known of the first, any may.
func AsGood(method, first string) bool {
	rank := func(name string) int {
		return slices.IndexFunc(strengths, func(group []string) bool { return slices.Contains(group, name) })
	}
	return method == first || rank(method) >= rank(first)
}

// Proof is what an identification found out, kept as evidence.
type Proof struct {
	Method  string     `json:"method"`
	Issuer  string     `json:"issuer,omitempty"`  // who vouches: the certificate's issuer
	Level   string     `json:"level,omitempty"`   // how well: the qualification of the signature
	Request string     `json:"request,omitempty"` // what was answered: the statement's nonce
	At      time.Time  `json:"at"`
	Proven  Attributes `json:"proven"`
	// Name in one, where the method gives no parts.
	Name string `json:"name,omitempty"`
	// Certificate of the signer (DER) and the verdict on the signature.
	Certificate []byte `json:"certificate,omitempty"`
	Indication  string `json:"indication,omitempty"`
}

// FullName is the proven name of a person.
func (p *Proof) FullName() string {
	if p.Proven.GivenName != "" && p.Proven.Surname != "" {
		return p.Proven.GivenName + " " + p.Proven.Surname
	}
	return p.Name
}

// ByOperator is the proof by an operator who has looked at the person and at documents. Names, tax
// code, date of birth and nationality are on those of a person, names and numbers of an
// organisation on an extract of its register. Neither has e-mail addresses or telephone numbers.
func ByOperator(o Order, organisation bool, at time.Time) *Proof {
	p := &Proof{Method: "video", At: at, Proven: o.Ordered.only("givenName", "surname", "fiscalCode", "dateOfBirth", "country")}
	if organisation {
		p.Proven.Organization, p.Proven.OrganizationIdentifier = o.Ordered.Organization, o.Ordered.OrganizationIdentifier
		if o.Seal && p.Proven.Organization == "" {
			p.Proven.Organization = o.Owner
		}
	}
	if p.FullName() == "" {
		p.Name = strings.TrimSpace(o.Owner)
	}
	return p
}

// Nameless says that a proof has the tax code of a person and no name, as cards
// have that were issued without.
func (p *Proof) Nameless() bool { return p.FullName() == "" && p.Proven.FiscalCode != "" }

// WithNames is a proof without names, completed by an operator who has checked that the names of
// the order belong to the proven tax code.
func (p *Proof) WithNames(o Order) *Proof {
	out := *p
	out.Proven.GivenName, out.Proven.Surname = o.Ordered.GivenName, o.Ordered.Surname
	if out.FullName() == "" {
		out.Name = strings.TrimSpace(o.Owner)
	}
	return &out
}

const inSandbox = "sandbox"

// InSandbox replaces every kind of proof.
func InSandbox(o Order, at time.Time) *Proof {
	p := &Proof{Method: inSandbox, At: at, Proven: o.Ordered, Name: o.Owner}
	if p.Proven.Country == "" {
		p.Proven.Country = "IT"
	}
	if o.Seal && p.Proven.Organization == "" {
		p.Proven.Organization = o.Owner
	}
	return p
}

// Package identify finds out who the buyer of a certificate is. Each way is a
// method with evidence kept: a document signed with a certificate that the
// person has already, judged by our own verifier; a video and a photo, judged
// by an operator. SPID, CIE and CNS have their place here and are not
// configured.
package identify

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"rogito.dev/rogito"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
)

// Methods are the identifications that this server offers.
type Methods struct {
	Verifier *rogito.Verifier // nil: signature is not offered
	Now      func() time.Time
}

// Offers says whether a method can be had. SPID, CIE and CNS need an
// agreement with their federation and a relying party's keys.
func (m *Methods) Offers(method string) bool {
	switch method {
	case "video":
		return true
	case "signature":
		return m.Verifier != nil
	}
	return false
}

// Evidence of an identification by signature: who signed, and the verdict.
type Evidence struct {
	Method      string    `json:"method"`
	SubjectDN   string    `json:"subjectDN"`
	IssuerDN    string    `json:"issuerDN"`
	Serial      string    `json:"serialNumber"`
	Certificate string    `json:"certificate"` // base64 of the DER
	Indication  string    `json:"indication"`
	At          time.Time `json:"at"`
}

// BySignature accepts a document if every signature in it is valid and one of
// them is the applicant's.
func (m *Methods) BySignature(ctx context.Context, document []byte, s enroll.Subject, owner string) (any, error) {
	rep, err := m.Verifier.Verify(ctx, bytes.NewReader(document), rogito.VerifyOptions{})
	if err != nil {
		return nil, fault.New(fault.BadField, "the document cannot be read").Because(err)
	}
	view, err := rep.View(false)
	if err != nil {
		return nil, err
	}
	if !view.OverallVerified {
		return nil, fault.New(fault.BadField, "the document is not signed, or its signature is not valid")
	}
	for _, sig := range view.Signatures {
		if e := m.match(sig, s, owner); e != nil {
			return e, nil
		}
	}
	return nil, fault.New(fault.BadField, "the document is not signed by the person that the certificate is for")
}

func (m *Methods) match(sig report.SignatureView, s enroll.Subject, owner string) *Evidence {
	if sig.Certificate == nil {
		return nil
	}
	der, err := base64.StdEncoding.DecodeString(*sig.Certificate)
	if err != nil {
		return nil
	}
	c, err := pkix.ParseCertificate(der)
	if err != nil || !same(c, s, owner) {
		return nil
	}
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	return &Evidence{
		Method: "signature", SubjectDN: c.SubjectDN(), IssuerDN: c.IssuerDN(), Serial: c.SerialNumber.String(),
		Certificate: *sig.Certificate, Indication: string(sig.Indication), At: now(),
	}
}

// Attribute types of X.520.
const (
	oidSurname      = "2.5.4.4"
	oidSerialNumber = "2.5.4.5"
	oidOrganization = "2.5.4.10"
	oidGivenName    = "2.5.4.42"
	oidOrganizionID = "2.5.4.97"
)

// same says whether a certificate is the applicant's. The strongest thing that
// both name decides: the tax code or the organization's identifier, then the
// names, then the display name.
func same(c *pkix.Certificate, s enroll.Subject, owner string) bool {
	get := c.Subject.Get
	if s.FiscalCode != "" {
		return strings.EqualFold(afterDash(get(oidSerialNumber)), s.FiscalCode)
	}
	if s.OrganizationIdentifier != "" {
		return strings.EqualFold(get(oidOrganizionID), s.OrganizationIdentifier)
	}
	if s.GivenName != "" && s.Surname != "" {
		return equal(get(oidGivenName), s.GivenName) && equal(get(oidSurname), s.Surname)
	}
	if s.Organization != "" {
		return equal(get(oidOrganization), s.Organization)
	}
	name := strings.TrimPrefix(c.Subject.CommonName(), "SANDBOX ")
	return equal(name, owner) || equal(get(oidGivenName)+" "+get(oidSurname), owner)
}

// afterDash takes the code out of TINIT-RSSMRA80A01H501U; older certificates
// have IT:RSSMRA80A01H501U.
func afterDash(s string) string {
	if i := strings.LastIndexAny(s, "-:"); i >= 0 {
		return s[i+1:]
	}
	return s
}

// equal compares names as people do: case, accents and spaces aside. Nothing
// equals nothing.
func equal(a, b string) bool {
	a, b = fold(a), fold(b)
	return a != "" && a == b
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

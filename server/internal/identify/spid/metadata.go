package spid

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

// attributes that are asked for, in the order of the metadata. What identifies
// is needed in an answer; the rest is kept as evidence.
var attributes = []struct {
	name string
	need bool
}{
	{"spidCode", false},
	{"name", true},
	{"familyName", true},
	{"fiscalNumber", true},
	{"dateOfBirth", true},
	{"placeOfBirth", false},
	{"idCard", false},
	{"mobilePhone", false},
	{"email", false},
}

// NewMetadata is the signed metadata of this service provider, as it is handed
// to AgID.
func (s *SPID) NewMetadata() []byte { return s.metadata }

// ServeMetadata answers GET /spid/metadata.
func (s *SPID) ServeMetadata(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/samlmetadata+xml")
	_, _ = w.Write(s.metadata) // the client may have gone
}

// makeMetadata writes the metadata in the order of the schema. The same
// configuration gives the same bytes on every server.
func (s *SPID) makeMetadata() ([]byte, error) {
	var b strings.Builder
	tag := func(name, text string) {
		if text != "" {
			b.WriteString("<" + name + ">" + saml.Escape(text) + "</" + strings.Fields(name)[0] + ">")
		}
	}
	b.WriteString(`<md:SPSSODescriptor AuthnRequestsSigned="true" WantAssertionsSigned="true" protocolSupportEnumeration="` + saml.Protocol + `">`)
	for _, c := range s.certs {
		b.WriteString(`<md:KeyDescriptor use="signing">` + saml.KeyInfo(c.Raw) + `</md:KeyDescriptor>`)
	}
	for _, binding := range []string{saml.POST, saml.Redirect} {
		fmt.Fprintf(&b, `<md:SingleLogoutService Binding="%s" Location="%s"/>`, binding, saml.Escape(s.slo))
	}
	tag("md:NameIDFormat", saml.Transient)
	fmt.Fprintf(&b, `<md:AssertionConsumerService Binding="%s" Location="%s" index="0" isDefault="true"/>`, saml.POST, saml.Escape(s.acs))
	b.WriteString(`<md:AttributeConsumingService index="0">`)
	tag(`md:ServiceName xml:lang="it"`, "Identificazione del titolare di un certificato")
	tag(`md:ServiceName xml:lang="en"`, "Identification of the holder of a certificate")
	for _, a := range attributes {
		fmt.Fprintf(&b, `<md:RequestedAttribute Name="%s"/>`, a.name)
	}
	b.WriteString(`</md:AttributeConsumingService></md:SPSSODescriptor>`)

	o, c := s.cfg.Organization, s.cfg.Contact
	if o.DisplayName == "" {
		o.DisplayName = o.Name
	}
	b.WriteString(`<md:Organization>`)
	tag(`md:OrganizationName xml:lang="it"`, o.Name)
	tag(`md:OrganizationDisplayName xml:lang="it"`, o.DisplayName)
	tag(`md:OrganizationURL xml:lang="it"`, o.URL)
	b.WriteString(`</md:Organization><md:ContactPerson contactType="other"><md:Extensions>`)
	tag("spid:IPACode", c.IPACode)
	tag("spid:VATNumber", c.VATNumber)
	tag("spid:FiscalCode", c.FiscalCode)
	if c.private() {
		b.WriteString(`<spid:Private/>`)
	} else {
		b.WriteString(`<spid:Public/>`)
	}
	b.WriteString(`</md:Extensions>`)
	tag("md:Company", o.Name)
	tag("md:EmailAddress", c.Email)
	tag("md:TelephoneNumber", c.Telephone)
	b.WriteString(`</md:ContactPerson>`)
	if c.private() {
		i := s.cfg.Billing
		b.WriteString(`<md:ContactPerson contactType="billing"><md:Extensions><fpa:CessionarioCommittente><fpa:DatiAnagrafici><fpa:IdFiscaleIVA>`)
		tag("fpa:IdPaese", i.VATNumber[:2])
		tag("fpa:IdCodice", i.VATNumber[2:])
		b.WriteString(`</fpa:IdFiscaleIVA><fpa:Anagrafica>`)
		tag("fpa:Denominazione", i.Name)
		b.WriteString(`</fpa:Anagrafica></fpa:DatiAnagrafici><fpa:Sede>`)
		tag("fpa:Indirizzo", i.Address)
		tag("fpa:CAP", i.PostalCode)
		tag("fpa:Comune", i.City)
		tag("fpa:Provincia", i.Province)
		tag("fpa:Nazione", i.VATNumber[:2])
		b.WriteString(`</fpa:Sede></fpa:CessionarioCommittente></md:Extensions>`)
		tag("md:Company", i.Name)
		tag("md:EmailAddress", i.Email)
		b.WriteString(`</md:ContactPerson>`)
	}
	content := b.String()
	sum := sha256.Sum256([]byte(s.cfg.EntityID + content))
	fpa := ""
	if c.private() {
		fpa = ` xmlns:fpa="https://spid.gov.it/invoicing-extensions"`
	}
	out, err := s.signer.Sign(fmt.Sprintf(`<md:EntityDescriptor xmlns:md="%s" xmlns:ds="%s" xmlns:spid="https://spid.gov.it/saml-extensions"%s entityID="%s" ID="_%s">%s</md:EntityDescriptor>`,
		saml.Metadata, xmldsig.Space, fpa, saml.Escape(s.cfg.EntityID), hex.EncodeToString(sum[:16]), content))
	if err != nil {
		return nil, fmt.Errorf("make SPID metadata: %w", err)
	}
	return out, nil
}

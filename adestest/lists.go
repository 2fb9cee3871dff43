package adestest

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// List declares a trusted list (TS 119 612) of one's own.
type List struct {
	Territory    string
	Version      string // "" means 5
	Sequence     int
	Issued, Next time.Time
	LOTL         bool
	URIs         []string // of the scheme: pivots, newest first
	Pointers     []ListPointer
	Services     []ListService
}

// ListPointer points to another list.
type ListPointer struct {
	URL, Territory string
	LOTL           bool
	Signers        []*x509.Certificate
}

// ListService is a service with its history, the newest status first.
type ListService struct {
	Type     string // "CA/QC"
	Name     string
	Identity *x509.Certificate
	Statuses []ListStatus
}

// ListStatus is a status from a time on.
type ListStatus struct {
	Status     string // "granted"
	From       time.Time
	Uses       []string // "ForeSignatures"
	Qualifiers []string // "QCWithQSCD", for certificates with nonRepudiation
}

const svc = "http://uri.etsi.org/TrstSvc/"

// XML writes the list, signed by signer.
func (l List) XML(signer *Actor) ([]byte, error) {
	var b strings.Builder
	version, kind := l.Version, "EUgeneric"
	if version == "" {
		version = "5"
	}
	if l.LOTL {
		kind = "EUlistofthelists"
	}
	fmt.Fprintf(&b, `<TrustServiceStatusList xmlns="http://uri.etsi.org/02231/v2#" xmlns:ns3="http://uri.etsi.org/02231/v2/additionaltypes#" xmlns:ns5="http://uri.etsi.org/TrstSvc/SvcInfoExt/eSigDir-1999-93-EC-TrustedList/#" TSLTag="http://uri.etsi.org/19612/TSLTag"><SchemeInformation><TSLVersionIdentifier>%s</TSLVersionIdentifier><TSLSequenceNumber>%d</TSLSequenceNumber><TSLType>%sTrustedList/TSLType/%s</TSLType><SchemeInformationURI>`, version, l.Sequence, svc, kind)
	for _, u := range l.URIs {
		fmt.Fprintf(&b, `<URI xml:lang="en">%s</URI>`, u)
	}
	fmt.Fprintf(&b, `</SchemeInformationURI><SchemeTerritory>%s</SchemeTerritory><PointersToOtherTSL>`, l.Territory)
	for _, p := range l.Pointers {
		p.write(&b)
	}
	fmt.Fprintf(&b, `</PointersToOtherTSL><ListIssueDateTime>%s</ListIssueDateTime><NextUpdate>`, l.Issued.UTC().Format(time.RFC3339))
	if !l.Next.IsZero() {
		fmt.Fprintf(&b, `<dateTime>%s</dateTime>`, l.Next.UTC().Format(time.RFC3339))
	}
	b.WriteString(`</NextUpdate></SchemeInformation>`)
	if len(l.Services) > 0 {
		b.WriteString(`<TrustServiceProviderList><TrustServiceProvider><TSPInformation><TSPName><Name xml:lang="en">Test Provider</Name></TSPName></TSPInformation><TSPServices>`)
		for _, s := range l.Services {
			s.write(&b)
		}
		b.WriteString(`</TSPServices></TrustServiceProvider></TrustServiceProviderList>`)
	}
	b.WriteString(`</TrustServiceStatusList>`)
	return SignXML([]byte(b.String()), signer)
}

func (p ListPointer) write(b *strings.Builder) {
	b.WriteString(`<OtherTSLPointer><ServiceDigitalIdentities>`)
	for _, c := range p.Signers {
		b.WriteString(`<ServiceDigitalIdentity>` + digitalID(c) + `</ServiceDigitalIdentity>`)
	}
	kind := "EUgeneric"
	if p.LOTL {
		kind = "EUlistofthelists"
	}
	fmt.Fprintf(b, `</ServiceDigitalIdentities><TSLLocation>%s</TSLLocation><AdditionalInformation><OtherInformation><TSLType>%sTrustedList/TSLType/%s</TSLType></OtherInformation><OtherInformation><SchemeTerritory>%s</SchemeTerritory></OtherInformation><OtherInformation><ns3:MimeType>application/vnd.etsi.tsl+xml</ns3:MimeType></OtherInformation></AdditionalInformation></OtherTSLPointer>`, p.URL, svc, kind, p.Territory)
}

func digitalID(c *x509.Certificate) string {
	return `<DigitalId><X509Certificate>` + base64.StdEncoding.EncodeToString(c.Raw) + `</X509Certificate></DigitalId>`
}

func (s ListService) write(b *strings.Builder) {
	b.WriteString(`<TSPService>`)
	for i, st := range s.Statuses {
		open, end := "<ServiceInformation>", "</ServiceInformation>"
		if i > 0 {
			open, end = "<ServiceHistoryInstance>", "</ServiceHistoryInstance>"
		}
		if i == 1 {
			b.WriteString(`<ServiceHistory>`)
		}
		fmt.Fprintf(b, `%s<ServiceTypeIdentifier>%sSvctype/%s</ServiceTypeIdentifier><ServiceName><Name xml:lang="en">%s</Name></ServiceName><ServiceDigitalIdentity>%s</ServiceDigitalIdentity><ServiceStatus>%sTrustedList/Svcstatus/%s</ServiceStatus><StatusStartingTime>%s</StatusStartingTime>`,
			open, svc, s.Type, s.Name, digitalID(s.Identity), svc, st.Status, st.From.UTC().Format(time.RFC3339))
		st.extensions(b)
		b.WriteString(end)
	}
	if len(s.Statuses) > 1 {
		b.WriteString(`</ServiceHistory>`)
	}
	b.WriteString(`</TSPService>`)
}

func (st ListStatus) extensions(b *strings.Builder) {
	if len(st.Uses)+len(st.Qualifiers) == 0 {
		return
	}
	b.WriteString(`<ServiceInformationExtensions>`)
	for _, u := range st.Uses {
		fmt.Fprintf(b, `<Extension Critical="true"><AdditionalServiceInformation><URI xml:lang="en">%sTrustedList/SvcInfoExt/%s</URI></AdditionalServiceInformation></Extension>`, svc, u)
	}
	if len(st.Qualifiers) > 0 {
		b.WriteString(`<Extension Critical="true"><ns5:Qualifications><ns5:QualificationElement><ns5:Qualifiers>`)
		for _, q := range st.Qualifiers {
			fmt.Fprintf(b, `<ns5:Qualifier uri="%sTrustedList/SvcInfoExt/%s"/>`, svc, q)
		}
		b.WriteString(`</ns5:Qualifiers><ns5:CriteriaList assert="all"><ns5:KeyUsage><ns5:KeyUsageBit name="nonRepudiation">true</ns5:KeyUsageBit></ns5:KeyUsage></ns5:CriteriaList></ns5:QualificationElement></ns5:Qualifications></Extension>`)
	}
	b.WriteString(`</ServiceInformationExtensions>`)
}

// SignXML puts an enveloped signature at the end of a document's root.
func SignXML(doc []byte, signer *Actor) ([]byte, error) {
	const c14n = "http://www.w3.org/2001/10/xml-exc-c14n#"
	parsed, err := xmldom.Parse(string(doc), xmldom.Limits{})
	if err != nil {
		return nil, err
	}
	method, ok := xmldsig.MethodByURI(c14n)
	if !ok {
		return nil, fmt.Errorf("adestest: no exclusive canonicalisation")
	}
	digest := sha256.Sum256(xmldsig.Canonical(parsed.Root(), method))
	uri, err := xmldsig.MethodFor(signer.Key.Public(), crypto.SHA256, false)
	if err != nil {
		return nil, err
	}
	info := fmt.Sprintf(`><ds:CanonicalizationMethod Algorithm="%s"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="%s"></ds:SignatureMethod><ds:Reference URI=""><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"></ds:Transform><ds:Transform Algorithm="%s"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></ds:DigestMethod><ds:DigestValue>%s</ds:DigestValue></ds:Reference></ds:SignedInfo>`,
		c14n, uri, c14n, base64.StdEncoding.EncodeToString(digest[:]))
	const ns = ` xmlns:ds="http://www.w3.org/2000/09/xmldsig#"`
	sum := sha256.Sum256([]byte("<ds:SignedInfo" + ns + info))
	value, err := signer.Key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	if value, err = pkix.PlainValue(signer.Key.Public(), value); err != nil {
		return nil, err
	}
	sig := "<ds:Signature" + ns + "><ds:SignedInfo" + info + "<ds:SignatureValue>" + base64.StdEncoding.EncodeToString(value) +
		"</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>" + base64.StdEncoding.EncodeToString(signer.Certificate.Raw) +
		"</ds:X509Certificate></ds:X509Data></ds:KeyInfo></ds:Signature>"
	signed, err := parsed.Splice(parsed.Append(parsed.Root(), sig))
	return []byte(signed), err
}

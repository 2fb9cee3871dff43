package report

import (
	"encoding/base64"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"time"
)

// Names of ETSI TS 119 102-2 V1.4.1.
const (
	etsiNS  = "http://uri.etsi.org/19102/v1.2.1#"
	etsiURN = "urn:etsi:019102:"
)

type etsiReport struct {
	XMLName xml.Name        `xml:"ValidationReport"`
	NS      string          `xml:"xmlns,attr"`
	DS      string          `xml:"xmlns:ds,attr"`
	Reports []etsiSignature `xml:"SignatureValidationReport"`
	Objects *etsiObjects    `xml:"SignatureValidationObjects,omitempty"`
}

type etsiSignature struct {
	Identifier  etsiIdentifier  `xml:"SignatureIdentifier"`
	Constraints etsiConstraints `xml:"ValidationConstraintsEvaluationReport"`
	Times       etsiTimes       `xml:"ValidationTimeInfo"`
	Attributes  *etsiAttributes `xml:"SignatureAttributes,omitempty"`
	Signer      *etsiSigner     `xml:"SignerInformation,omitempty"`
	Quality     *etsiQuality    `xml:"SignatureQuality,omitempty"`
	Process     etsiProcess     `xml:"SignatureValidationProcess"`
	Status      etsiStatus      `xml:"SignatureValidationStatus"`
}

type etsiIdentifier struct {
	ID     string     `xml:"id,attr"`
	Digest etsiDigest `xml:"DigestAlgAndValue"`
	Value  string     `xml:"ds:SignatureValue"`
	Hash   bool       `xml:"HashOnly"`
	Doc    bool       `xml:"DocHashOnly"`
}

type etsiDigest struct {
	Method etsiMethod `xml:"ds:DigestMethod"`
	Value  string     `xml:"ds:DigestValue"`
}

type etsiMethod struct {
	Algorithm string `xml:"Algorithm,attr"`
}

type etsiConstraints struct {
	Policy string `xml:"SignatureValidationPolicy>SignatureValidationPolicyName"`
}

type etsiTimes struct {
	Time time.Time `xml:"ValidationTime"`
	Best etsiPOE   `xml:"BestSignatureTime"`
}

type etsiPOE struct {
	Time  time.Time `xml:"POETime"`
	Proof string    `xml:"TypeOfProof"`
}

type etsiAttributes struct {
	SigningTime *etsiSigningTime `xml:"SigningTime,omitempty"`
}

type etsiSigningTime struct {
	Signed bool      `xml:"Signed,attr"`
	Time   time.Time `xml:"Time"`
}

type etsiSigner struct {
	Certificate etsiRef `xml:"SignerCertificate"`
	Signer      string  `xml:"Signer"`
}

type etsiRef struct {
	Ref string `xml:"VOReference,attr"`
}

type etsiQuality struct {
	Information []string `xml:"SignatureQualityInformation"`
}

type etsiProcess struct {
	ID string `xml:"SignatureValidationProcessID"`
}

type etsiStatus struct {
	Main string      `xml:"MainIndication"`
	Sub  []string    `xml:"SubIndication,omitempty"`
	Data []*etsiData `xml:"AssociatedValidationReportData,omitempty"`
}

type etsiData struct {
	TrustAnchor *etsiRef       `xml:"TrustAnchor,omitempty"`
	Chain       *etsiChain     `xml:"CertificateChain,omitempty"`
	Info        *etsiExtraInfo `xml:"AdditionalValidationReportData,omitempty"`
}

type etsiChain struct {
	Signing etsiRef   `xml:"SigningCertificate"`
	Middle  []etsiRef `xml:"IntermediateCertificate,omitempty"`
	Anchor  *etsiRef  `xml:"TrustAnchor,omitempty"`
}

type etsiExtraInfo struct {
	Data []etsiExtra `xml:"ReportData"`
}

type etsiExtra struct {
	Type  string `xml:"Type"`
	Value string `xml:"Value"`
}

type etsiObjects struct {
	Objects []etsiObject `xml:"ValidationObject"`
}

type etsiObject struct {
	ID    string `xml:"id,attr"`
	Type  string `xml:"ObjectType"`
	Bytes string `xml:"ValidationObjectRepresentation>base64"`
}

// WriteETSI writes the report as XML after ETSI TS 119 102-2.
func (r *Report) WriteETSI(w io.Writer) error {
	out := etsiReport{NS: etsiNS, DS: "http://www.w3.org/2000/09/xmldsig#"}
	var add func(list []*Conclusion)
	add = func(list []*Conclusion) {
		for _, c := range list {
			out.Reports = append(out.Reports, r.etsiSignature(c))
			add(c.Counters)
		}
	}
	add(r.Conclusions.Signatures)
	for _, t := range r.Conclusions.Timestamps {
		out.Reports = append(out.Reports, r.etsiSignature(t))
	}
	out.Objects = r.etsiObjects()
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	return e.Encode(out)
}

func (r *Report) etsiSignature(c *Conclusion) etsiSignature {
	proof := "validation"
	if c.Proven {
		proof = "provided"
	}
	s := etsiSignature{
		Identifier:  etsiIdentifier{ID: xmlID(c.ID)},
		Constraints: etsiConstraints{r.Conclusions.Policy},
		Times:       etsiTimes{r.Conclusions.At, etsiPOE{c.BestTime, etsiURN + "poetype:" + proof}},
		Process:     etsiProcess{etsiURN + "validationprocess:" + process(c)},
		Status:      etsiStatus{Main: etsiURN + "mainindication:" + strings.ToLower(string(c.Indication))},
	}
	if c.SubIndication != "" {
		s.Status.Sub = []string{etsiURN + "subindication:" + string(c.SubIndication)}
	}
	if sig := c.Signature; sig != nil {
		s.Identifier.Value = base64.StdEncoding.EncodeToString(sig.Value)
		for _, ref := range sig.References {
			s.Identifier.Digest = etsiDigest{etsiMethod{digestURI(ref.Digest)}, base64.StdEncoding.EncodeToString(ref.Value)}
			break
		}
		if !sig.ClaimedTime.IsZero() {
			s.Attributes = &etsiAttributes{&etsiSigningTime{true, sig.ClaimedTime}}
		}
	}
	if cert := r.certificate(c); cert != nil {
		s.Signer = &etsiSigner{etsiRef{"C-" + cert.ID}, cert.Subject}
	}
	if c.Qualification != "" && c.Qualification != NA {
		s.Quality = &etsiQuality{[]string{"urn:cef:dss:signatureQualification:" + string(c.Qualification)}}
	}
	s.Status.Data = r.etsiData(c)
	return s
}

// process names the process of EN 319 102-1 that led to the verdict.
func process(c *Conclusion) string {
	switch {
	case strings.HasSuffix(c.Level, "LTA") || strings.HasSuffix(c.Level, "-A"):
		return "LTA"
	case c.Proven:
		return "LTVM"
	}
	return "Basic"
}

func (r *Report) etsiData(c *Conclusion) []*etsiData {
	d := new(etsiData)
	if len(c.Path) > 0 {
		chain := &etsiChain{Signing: etsiRef{"C-" + c.Path[0]}}
		last := len(c.Path) - 1
		for _, id := range c.Path[1:max(last, 1)] {
			chain.Middle = append(chain.Middle, etsiRef{"C-" + id})
		}
		if c.Anchor != nil {
			chain.Anchor = &etsiRef{"C-" + c.Path[last]}
			d.TrustAnchor = chain.Anchor
		}
		d.Chain = chain
	}
	if len(c.Messages) > 0 {
		d.Info = new(etsiExtraInfo)
		for _, m := range c.Messages {
			d.Info.Data = append(d.Info.Data, etsiExtra{[]string{"information", "warning", "error"}[m.Severity], m.Text})
		}
	}
	if d.Chain == nil && d.Info == nil {
		return nil
	}
	return []*etsiData{d}
}

func (r *Report) etsiObjects() *etsiObjects {
	o := new(etsiObjects)
	for id, c := range r.Facts.Certificates {
		o.Objects = append(o.Objects, etsiObject{"C-" + id, etsiURN + "validationObject:certificate", base64.StdEncoding.EncodeToString(c.Raw)})
	}
	if len(o.Objects) == 0 {
		return nil
	}
	slices.SortFunc(o.Objects, func(a, b etsiObject) int { return strings.Compare(a.ID, b.ID) })
	return o
}

// xmlID makes an identifier fit for an xs:ID.
func xmlID(id string) string {
	clean := strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c
		}
		return '_'
	}, id)
	return "S-" + clean
}

func digestURI(name string) string {
	switch name {
	case "SHA1":
		return "http://www.w3.org/2000/09/xmldsig#sha1"
	case "SHA256", "SHA512":
		return "http://www.w3.org/2001/04/xmlenc#" + strings.ToLower(name)
	case "SHA224", "SHA384":
		return "http://www.w3.org/2001/04/xmldsig-more#" + strings.ToLower(name)
	}
	return "http://www.w3.org/2007/05/xmldsig-more#" + strings.ToLower(name)
}

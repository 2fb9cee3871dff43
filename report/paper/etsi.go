package paper

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// WriteETSI writes the report as XML after ETSI TS 119 102-2 V1.4.1. A document without signatures
// has one report without identifier, since the schema requires at least one.
func WriteETSI(w io.Writer, r *report.Report) error {
	e := &etsiWriter{r: r, ids: map[string]bool{}, signatures: map[string]*ades.Signature{}}
	out := etsiReport{NS: etsiNS, DS: etsiDS, XAdES: etsiXAdES}
	e.objects() // references are only made to existing objects
	out.Reports = e.reports(r.Conclusions.Signatures)
	for _, t := range r.Conclusions.Timestamps {
		out.Reports = append(out.Reports, e.signature(t))
	}
	if len(out.Reports) == 0 {
		out.Reports = []etsiSignature{e.nothing()}
	}
	if len(e.list) > 0 {
		out.Objects = &etsiObjects{e.list}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	return enc.Encode(out)
}

// etsiWriter converts conclusions to the elements of the standard.
type etsiWriter struct {
	r          *report.Report
	ids        map[string]bool // in use
	list       []etsiObject
	signatures map[string]*ades.Signature // by id, for what time-stamps cover
}

func (e *etsiWriter) reports(list []*report.Conclusion) []etsiSignature {
	var out []etsiSignature
	for _, c := range list {
		out = append(append(out, e.signature(c)), e.reports(c.Counters)...)
	}
	return out
}

// nothing is the report on a document without signatures and time-stamps.
func (e *etsiWriter) nothing() etsiSignature {
	c := e.r.Conclusions
	s := etsiSignature{Constraints: e.constraints(), Status: etsiStatus{Main: mainIndication(c.Indication)}}
	if info := extraInfo(c.Messages); info != nil {
		s.Status.Data = &etsiData{Info: info}
	}
	return s
}

func (e *etsiWriter) constraints() *etsiConstraints {
	return &etsiConstraints{etsiPolicy{Name: e.r.Conclusions.Policy}}
}

func (e *etsiWriter) signature(c *report.Conclusion) etsiSignature {
	s := etsiSignature{
		Identifier:  &etsiIdentifier{ID: e.unique("S-" + ncName(c.ID))},
		Constraints: e.constraints(),
		Times:       &etsiTimes{e.r.Conclusions.At, e.bestTime(c)},
		Process:     &etsiProcess{etsiURN + "validationprocess:" + process(c)},
		Status:      e.status(c),
	}
	if sig := c.Signature; sig != nil {
		s.Identifier.Value = base64.StdEncoding.EncodeToString(sig.Value)
		if len(sig.ToBeSigned) > 0 {
			s.Identifier.Digest = sha256Of(sig.ToBeSigned)
		}
		s.Document = signersDocument(sig)
		s.Attributes = e.attributes(c)
	}
	if cert := e.r.SignerOf(c); cert != nil {
		s.Signer = &etsiSigner{etsiRef{"C-" + cert.ID}, cert.Subject}
	}
	if c.Qualification != "" && c.Qualification != report.NA {
		s.Quality = &etsiQuality{[]string{dssURN + "signatureQualification:" + string(c.Qualification)}}
	}
	return s
}

// bestTime is the proof of existence: by a time-stamp, or by the validation.
func (e *etsiWriter) bestTime(c *report.Conclusion) etsiPOE {
	poe := etsiPOE{Time: c.BestTime, Proof: etsiURN + "poetype:validation"}
	if c.Proven {
		for _, t := range c.Timestamps {
			if t.Timestamp != nil && t.Timestamp.Time.Equal(c.BestTime) {
				poe.Object = e.ref("T-" + t.Timestamp.ID)
			}
		}
	}
	return poe
}

// process is the validation process of EN 319 102-1 that led to the verdict.
func process(c *report.Conclusion) string {
	switch {
	case strings.HasSuffix(c.Level, "LTA") || strings.HasSuffix(c.Level, "-A"):
		return "LTA"
	case c.Proven:
		return "LTVM"
	}
	return "Basic"
}

// signersDocument is the digest of the signed document, if there is a single one.
func signersDocument(s *ades.Signature) *etsiDocument {
	for _, ref := range s.References {
		switch ref.Kind {
		case "signed-properties", "key-info", "signature-properties", "manifest", "counter-signed-value":
			continue
		}
		if len(ref.Value) > 0 && ref.Digest != "" {
			return &etsiDocument{etsiDigest{etsiMethod{digestURI(ref.Digest)}, base64.StdEncoding.EncodeToString(ref.Value)}}
		}
	}
	return nil
}

func (e *etsiWriter) status(c *report.Conclusion) etsiStatus {
	s := etsiStatus{Main: mainIndication(c.Indication), Data: e.data(c)}
	if c.SubIndication != "" {
		s.Sub = []string{etsiURN + "subindication:" + string(c.SubIndication)}
	}
	return s
}

func mainIndication(i report.Indication) string {
	return etsiURN + "mainindication:" + strings.ToLower(string(i))
}

func (e *etsiWriter) data(c *report.Conclusion) *etsiData {
	d := &etsiData{Chain: e.chain(c), Revocation: e.revocation(c), Info: extraInfo(c.Messages)}
	if d.Chain != nil {
		d.TrustAnchor = d.Chain.Anchor
	}
	if *d == (etsiData{}) {
		return nil
	}
	return d
}

func (e *etsiWriter) chain(c *report.Conclusion) *etsiChain {
	var refs []etsiRef
	for _, id := range c.Path {
		if ref := e.ref("C-" + id); ref != nil {
			refs = append(refs, *ref)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	chain := &etsiChain{Signing: refs[0]}
	middle := refs[1:]
	if c.Anchor != nil {
		chain.Anchor = &refs[len(refs)-1]
		middle = refs[1:max(len(refs)-1, 1)]
	}
	chain.Middle = middle
	return chain
}

// revocation is the time and reason of the revocation of the signer's certificate.
func (e *etsiWriter) revocation(c *report.Conclusion) *etsiRevocation {
	cert := e.r.SignerOf(c)
	if cert == nil || c.RevokedAt.IsZero() {
		return nil
	}
	out := &etsiRevocation{Certificate: etsiRef{"C-" + cert.ID}, Time: c.RevokedAt}
	for _, rev := range e.r.Facts.Revocations[cert.ID] {
		if rev.Status == "revoked" {
			out.Reason = etsiURN + "revocationReason:" + revocationReason(rev.Reason)
			out.Object = e.ref("R-" + rev.ID)
			break
		}
	}
	return out
}

// revocationReason are the names of RFC 5280, 5.3.1.
func revocationReason(n int) string {
	names := []string{
		"unspecified", "keyCompromise", "cACompromise", "affiliationChanged", "superseded", "cessationOfOperation",
		"certificateHold", "", "removeFromCRL", "privilegeWithdrawn", "aACompromise",
	}
	if n < 0 || n >= len(names) || names[n] == "" {
		return names[0]
	}
	return names[n]
}

func extraInfo(list []report.Message) *etsiExtraInfo {
	if len(list) == 0 {
		return nil
	}
	info := new(etsiExtraInfo)
	for _, m := range list {
		kind := []string{"information", "warning", "error"}[m.Severity]
		info.Data = append(info.Data, etsiExtra{dssURN + "message:" + kind, m.Text}, etsiExtra{dssURN + "finding:" + kind, m.Code})
	}
	return info
}

// ref references an object in the report, or is nil.
func (e *etsiWriter) ref(id string) *etsiRef {
	if !e.ids[id] {
		return nil
	}
	return &etsiRef{id}
}

// unique makes an unused xs:ID.
func (e *etsiWriter) unique(id string) string {
	for n, base := 2, id; e.ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	e.ids[id] = true
	return id
}

// ncName replaces characters that are not allowed in an xs:ID.
func ncName(id string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c
		}
		return '_'
	}, id)
}

func sha256Of(b []byte) *etsiDigest {
	sum := sha256.Sum256(b)
	return &etsiDigest{etsiMethod{digestURI("SHA256")}, base64.StdEncoding.EncodeToString(sum[:])}
}

// digestOfID is the SHA-256 in a fact's identifier.
func digestOfID(id string) *etsiDigest {
	sum, err := hex.DecodeString(id)
	if err != nil || len(sum) != sha256.Size {
		return sha256Of([]byte(id))
	}
	return &etsiDigest{etsiMethod{digestURI("SHA256")}, base64.StdEncoding.EncodeToString(sum)}
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
	return "http://www.w3.org/2007/05/xmldsig-more#" + url.PathEscape(strings.ToLower(name))
}

// dateTime is an xs:dateTime.
func dateTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

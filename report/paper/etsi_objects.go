package paper

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// objects lists what the verdicts are based on: certificates and time-stamps in full, revocation
// data, which may be large, by its digest.
func (e *etsiWriter) objects() {
	facts := e.r.Facts
	for _, id := range slices.Sorted(maps.Keys(facts.Certificates)) {
		e.object("C-"+id, "certificate", etsiForm{Bytes: base64.StdEncoding.EncodeToString(facts.Certificates[id].Raw)})
	}
	for _, id := range slices.Sorted(maps.Keys(facts.Revocations)) {
		for _, rev := range facts.Revocations[id] {
			kind := "CRL"
			if rev.Kind == "ocsp" {
				kind = "OCSPResponse"
			}
			e.object("R-"+rev.ID, kind, etsiForm{Digest: digestOfID(rev.ID)})
		}
	}
	var stamps []*report.Conclusion
	e.collect(e.r.Conclusions.Signatures, &stamps)
	first := len(e.list)
	for _, t := range stamps { // one may cover another, so all ids are needed first
		if e.object("T-"+t.Timestamp.ID, "timestamp", etsiForm{Bytes: base64.StdEncoding.EncodeToString(t.Timestamp.Token)}) {
			stamps[len(e.list)-first-1] = t
		}
	}
	for i := range e.list[first:] {
		e.stamp(&e.list[first+i], stamps[i])
	}
}

// object adds an object once.
func (e *etsiWriter) object(id, kind string, form etsiForm) bool {
	if e.ids[id] {
		return false
	}
	e.ids[id] = true
	e.list = append(e.list, etsiObject{ID: id, Type: etsiObjURN + kind, Form: form})
	return true
}

// collect lists the time-stamps of signatures and counter-signatures.
func (e *etsiWriter) collect(list []*report.Conclusion, stamps *[]*report.Conclusion) {
	for _, c := range list {
		if c.Signature != nil {
			e.signatures[c.ID] = c.Signature
		}
		for _, t := range c.Timestamps {
			if t.Timestamp != nil {
				*stamps = append(*stamps, t)
			}
		}
		e.collect(c.Counters, stamps)
	}
}

// stamp adds the verdict on a time-stamp, and what it proves if the verdict is good.
func (e *etsiWriter) stamp(o *etsiObject, c *report.Conclusion) {
	o.Proves = &etsiProvisioning{Time: c.Timestamp.Time}
	seen := map[string]bool{}
	for _, id := range c.Timestamp.Covers {
		if seen[id] {
			continue
		}
		seen[id] = true
		if s := e.signatures[id]; s != nil {
			d := sha256Of(s.Value)
			o.Proves.Signatures = append(o.Proves.Signatures, etsiSignatureHash{d.Method.Algorithm, d.Value})
		}
		for _, kind := range []string{"C-", "R-", "T-"} {
			if ref := e.ref(kind + id); ref != nil {
				o.Proves.Objects = append(o.Proves.Objects, *ref)
			}
		}
	}
	o.Report = &etsiSignature{Status: e.status(c)}
	if cert := e.r.SignerOf(c); cert != nil {
		o.Report.Signer = &etsiSigner{etsiRef{"C-" + cert.ID}, cert.Subject}
	}
}

// etsiStamps are the names of time-stamps among the attributes.
var etsiStamps = map[ades.TimestampKind]string{
	ades.ContentTimestamp:   "AllDataObjectsTimeStamp",
	ades.SignatureTimestamp: "SignatureTimeStamp",
	ades.SigAndRefs:         "SigAndRefsTimeStamp",
	ades.RefsOnly:           "RefsOnlyTimeStamp",
	ades.ArchiveTimestamp:   "ArchiveTimeStamp",
	ades.DocumentTimestamp:  "DocTimeStamp",
}

// attributes are those supported by the standard, or nil.
func (e *etsiWriter) attributes(c *report.Conclusion) *etsiAttributes {
	s, a := c.Signature, new(etsiAttributes)
	if !s.ClaimedTime.IsZero() {
		a.add("SigningTime", "Time", dateTime(s.ClaimedTime)).signed()
	}
	if cert := e.r.SignerOf(c); cert != nil && len(s.CertificateRefs) > 0 {
		a.add("SigningCertificate", "", "").signed().Objects = []etsiRef{{"C-" + cert.ID}}
	}
	if s.Policy != nil && isURI(s.Policy.ID) {
		a.add("SigPolicyIdentifier", "SigPolicyId", s.Policy.ID).signed()
	}
	for _, t := range c.Timestamps {
		if t.Timestamp == nil || etsiStamps[t.Timestamp.Kind] == "" {
			continue
		}
		at := a.add(etsiStamps[t.Timestamp.Kind], "TimeStampValue", dateTime(t.Timestamp.Time))
		if ref := e.ref("T-" + t.Timestamp.ID); ref != nil {
			at.Objects = []etsiRef{*ref}
		}
	}
	for _, ref := range s.References {
		if ref.Kind == "message-digest" && len(ref.Value) > 0 {
			a.add("MessageDigest", "Digest", base64.StdEncoding.EncodeToString(ref.Value)).signed()
			break
		}
	}
	a.pdf(s.PDF)
	if len(a.List) == 0 {
		return nil
	}
	return a
}

// pdf adds the entries of a signature dictionary.
func (a *etsiAttributes) pdf(p *ades.PDFFacts) {
	if p == nil {
		return
	}
	for _, entry := range [][2]string{
		{"Reason", p.Reason}, {"Name", p.Name}, {"ContactInfo", p.Contact}, {"SubFilter", p.SubFilter},
	} {
		if entry[1] != "" {
			a.add(entry[0], entry[0]+"Element", entry[1])
		}
	}
	if len(p.ByteRange) > 0 {
		a.add("ByteRange", "", "").Text = strings.Trim(fmt.Sprint(p.ByteRange), "[]")
	}
}

// add adds an attribute with at most one part.
func (a *etsiAttributes) add(name, part, text string) *etsiAttribute {
	at := etsiAttribute{XMLName: xml.Name{Local: name}}
	if part != "" {
		at.Parts = []etsiPart{{xml.Name{Local: part}, text}}
	}
	a.List = append(a.List, at)
	return &a.List[len(a.List)-1]
}

func (a *etsiAttribute) signed() *etsiAttribute {
	yes := true
	a.Signed = &yes
	return a
}

// isURI excludes what a validator would not accept as an xs:anyURI.
func isURI(s string) bool {
	_, err := url.Parse(s)
	return s != "" && err == nil && !strings.ContainsAny(s, " \t\r\n<>\"{}|\\^`")
}

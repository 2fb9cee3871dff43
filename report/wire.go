package report

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
)

const wireTime = "2006-01-02 15:04:05.000+00:00"

// stamp formats a time for the API; the zero time is null.
func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := wireText(t.UTC())
	return &text
}

// wireText is t.Format(wireTime) without parsing the layout: 0.1 µs instead of 0.6, and a report
// has seven times.
func wireText(t time.Time) string {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	if year < 0 || year > 9999 {
		return t.Format(wireTime)
	}
	b := []byte(wireTime)
	for _, n := range [...]struct{ at, value int }{{0, year / 100}, {2, year % 100}, {5, int(month)}, {8, day}, {11, hour}, {14, minute}, {17, second}} {
		b[n.at], b[n.at+1] = '0'+byte(n.value/10), '0'+byte(n.value%10)
	}
	ms := t.Nanosecond() / int(time.Millisecond)
	b[20], b[21], b[22] = '0'+byte(ms/100), '0'+byte(ms/10%10), '0'+byte(ms%10)
	return string(b)
}

// View is the verification report of the API: what POST /verify answers and rogito verify --json
// prints. Unknown fields are null; only PlainDocument is omitted if it was not asked for, and null
// if there is none.
type View struct {
	File             string     `json:"file,omitempty" doc:"name of the file; on the command line only"`
	CheckDate        *string    `json:"checkDate" doc:"the time that the verdict is for"`
	VerificationDate *string    `json:"verificationDate" doc:"when the verdict was made"`
	SignatureFormat  string     `json:"signatureFormat" doc:"of the outermost layer: PAdES, CAdES, XAdES, ASiC-E, ASiC-S, PKCS7, XMLDSig, ODF, OOXML, TST; empty where nothing is signed"`
	NrOfSignatures   int        `json:"nrOfSignatures" doc:"length of signatureReportList"`
	OverallVerified  bool       `json:"overallVerified" doc:"there is a signature, every one is TOTAL-PASSED, and together they cover what counts"`
	Indication       Indication `json:"indication" doc:"TOTAL-PASSED, TOTAL-FAILED or INDETERMINATE: of the document as a whole"`
	// TimestampsVerified: there is no signature, and all time-stamps pass.
	TimestampsVerified bool            `json:"timestampsVerified" doc:"nobody signed, and all time-stamps pass"`
	SignedFiles        []string        `json:"signedFiles" doc:"of a container: files that a signature covers"`
	UnsignedFiles      []string        `json:"unsignedFiles" doc:"of a container: files that none covers"`
	PlainDocument      *Plain          `json:"plainDocument,omitzero" doc:"the signed content, base64; null where there is none, absent where it was not wanted"`
	Signatures         []SignatureView `json:"signatureReportList" doc:"the report on each signature, of all layers that were opened"`
	Notes              []NoteView      `json:"noteReportList" doc:"remarks on the signatures and the document"`
	Timestamps         []TimestampView `json:"timestamps" doc:"of a document that is only time-stamped"`
	Findings           []FindingView   `json:"findings" doc:"about the document as a whole, by code"`
	PEC                *ades.PEC       `json:"pec,omitempty" doc:"of certified mail: what its provider says of it"`
	Trust              TrustView       `json:"trust" doc:"by which lists and anchors the verdict was reached"`
}

// SignatureView is the report on one signature.
type SignatureView struct {
	ID                 string          `json:"id" doc:"of the signature in this report"`
	Integrity          bool            `json:"integrity" doc:"digest and signature value are right, whatever the certificate is worth"`
	Indication         Indication      `json:"indication" doc:"TOTAL-PASSED, TOTAL-FAILED or INDETERMINATE (EN 319 102-1)"`
	SubIndication      *string         `json:"subIndication" doc:"why not TOTAL-PASSED, in the words of EN 319 102-1; null where it is"`
	SignatureLevel     *string         `json:"signatureLevel" doc:"such as PAdES-BASELINE-LT"`
	AlgorithmName      *string         `json:"signatureAlgorithmName" doc:"such as SHA256withRSA"`
	DigestAlgorithm    *string         `json:"digestAlgorithm" doc:"such as SHA256"`
	KeySize            *int            `json:"keySize" doc:"of the signer, in bits"`
	SubjectDN          *string         `json:"subjectDN" doc:"of the certificate, as RFC 4514 writes it"`
	IssuerDN           *string         `json:"issuerDN" doc:"of its issuer, likewise"`
	SubjectCN          *string         `json:"subjectCN" doc:"common name of the certificate"`
	IssuerCN           *string         `json:"issuerCN" doc:"common name of its issuer"`
	SerialNumber       *string         `json:"serialNumber" doc:"of the certificate, decimal"`
	SignerStatus       *string         `json:"signerCertificateStatus" doc:"VALID, EXPIRED, NOT_YET_VALID, REVOKED, SUSPENDED or UNKNOWN: the certificate at the time of the verdict"`
	SignerNotBefore    *string         `json:"signerCertificateNotBefore" doc:"from when the certificate is good"`
	SignerNotAfter     *string         `json:"signerCertificateNotAfter" doc:"until when the certificate is good"`
	SignerRevokedAt    *string         `json:"signerCertificateRevocationDate" doc:"when it was revoked; null where it was not"`
	IssuerStatus       *string         `json:"issuerCertificateStatus" doc:"the same of the issuer"`
	IssuerRevokedAt    *string         `json:"issuerCertificateRevocationDate" doc:"when the issuer was revoked; null where it was not"`
	TrustedDate        bool            `json:"trustedSignatureDate" doc:"a time-stamp proves the time of signing"`
	SignatureDate      *string         `json:"signatureDate" doc:"as the signer claims it"`
	ClaimedTime        *string         `json:"claimedTime" doc:"when the signer says to have signed; null where nothing is said"`
	Reason             *string         `json:"reason" doc:"why, in the signer's words, or the commitment (proof-of-approval, …)"`
	Location           *string         `json:"location" doc:"where the signer says to have signed"`
	Policy             *string         `json:"policy" doc:"the policy that it is signed under: an object identifier or a URI"`
	BestSignatureTime  *string         `json:"bestSignatureTime" doc:"the earliest time at which the signature is proven to have existed"`
	ValidUntil         *string         `json:"validUntil" doc:"until when its own evidence carries it"`
	IssuerTrustedList  bool            `json:"issuerTrustedList" doc:"the issuer is on a European trusted list"`
	TrustProvider      *string         `json:"trustServiceProvider" doc:"the provider, as that list names it"`
	Qualification      Qualification   `json:"qualification" doc:"QESig, QESeal, AdESig-QC, AdESeal-QC, AdESig, AdESeal or N/A"`
	QCComplianceStatus string          `json:"qcComplianceStatus" doc:"VALID, NOT_VALID or UNKNOWN: whether the certificate is qualified"`
	QCSSCDStatus       string          `json:"qcSSCDStatus" doc:"likewise: whether the key is in a qualified device"`
	Sandbox            bool            `json:"sandbox" doc:"made by a sandbox: it binds nobody"`
	Certificate        *string         `json:"derEncodedSignerCert" doc:"the certificate, base64 of DER"`
	Level              int             `json:"level" doc:"how deep the layer is nested, from 0"`
	CoversWhole        bool            `json:"coversWholeDocument" doc:"it covers all of the document, with only permitted changes after it"`
	SignedFiles        []string        `json:"signedFiles" doc:"of a container: files that this signature covers"`
	UnsignedFiles      []string        `json:"unsignedFiles" doc:"of a container: files that it does not"`
	SignedElements     []string        `json:"signedElements" doc:"of an XML document: elements that it covers, where not all"`
	Changes            []ades.Change   `json:"changesAfterSigning" doc:"of a PDF: what was changed after it"`
	Timestamps         []TimestampView `json:"timestamps" doc:"time-stamps of the signature"`
	CounterSignatures  []SignatureView `json:"counterSignatures" doc:"signatures over this one"`
	Errors             []string        `json:"errors" doc:"what makes it fail"`
	Warnings           []string        `json:"warnings" doc:"what a reader should know"`
	Findings           []FindingView   `json:"findings" doc:"errors, warnings and information, by code"`
}

// FindingView is a finding, for programs and for people.
type FindingView struct {
	Code     string   `json:"code" doc:"a stable word, listed in docs/findings.md: CERT_REVOKED, PDF_REPAIRED"`
	Severity string   `json:"severity" enum:"error,warning,info" doc:"how grave it is"`
	Text     string   `json:"text" doc:"in a sentence, in the caller's language"`
	Values   []string `json:"values" doc:"what the sentence is made with, in order"`
}

// TimestampView is the report on one time-stamp.
type TimestampView struct {
	ID              string        `json:"id" doc:"of the time-stamp in this report"`
	Kind            string        `json:"kind" doc:"what it is over: content, signature, archive, document and so on"`
	Time            *string       `json:"time" doc:"that it proves"`
	Indication      Indication    `json:"indication" doc:"PASSED, FAILED or INDETERMINATE"`
	SubIndication   *string       `json:"subIndication" doc:"why not TOTAL-PASSED, in the words of EN 319 102-1; null where it is"`
	Integrity       bool          `json:"integrity" doc:"digest and signature value are right"`
	DigestAlgorithm *string       `json:"digestAlgorithm" doc:"such as SHA256"`
	SubjectDN       *string       `json:"subjectDN" doc:"of the certificate, as RFC 4514 writes it"`
	IssuerDN        *string       `json:"issuerDN" doc:"of its issuer, likewise"`
	SubjectCN       *string       `json:"subjectCN" doc:"common name of the certificate"`
	SerialNumber    *string       `json:"serialNumber" doc:"of the token, decimal"` // of the token
	Policy          *string       `json:"policy" doc:"of the authority, an object identifier"`
	ValidUntil      *string       `json:"validUntil" doc:"end of the authority's certificate"`
	IssuerTrusted   bool          `json:"issuerTrustedList" doc:"the authority is on a European trusted list"`
	Qualification   Qualification `json:"qualification" doc:"by the European trusted lists: QTSA (a qualified authority), TSA (another that is listed) or N/A"`
	Errors          []string      `json:"errors" doc:"what makes it fail"`
	Findings        []FindingView `json:"findings" doc:"errors, warnings and information, by code"`
}

// NoteView is a note of the API.
type NoteView struct {
	Policy      int    `json:"policy" doc:"0 the default policy, 1 the operator's"`
	About       int    `json:"about" doc:"index of the signature, -1 the document"`
	Type        int    `json:"type" doc:"0 information, 1 warning, 2 error"`
	Synopsis    string `json:"synopsis" doc:"in a few words"`
	Description string `json:"description" doc:"in a sentence"`
}

// Plain is the signed content of a document in base64; nil, which is null in JSON, if there is
// none.
type Plain struct{ Base64 *string }

// MarshalJSON writes the content, or null.
func (p Plain) MarshalJSON() ([]byte, error) { return json.Marshal(p.Base64) }

// UnmarshalText sets the content.
func (p *Plain) UnmarshalText(text []byte) error {
	s := string(text)
	p.Base64 = &s
	return nil
}

// View converts the report to the API's form, with texts in a language ("en", "it"); withPlain
// includes the signed content.
func (r *Report) View(withPlain bool, lang string) (*View, error) {
	c := r.Conclusions
	v := &View{
		CheckDate: stamp(c.At), VerificationDate: stamp(r.MadeAt), SignatureFormat: r.Format(),
		NrOfSignatures: len(c.Signatures), OverallVerified: r.Valid(), Indication: c.Indication,
		TimestampsVerified: c.TimestampsVerified, SignedFiles: list(c.SignedFiles), UnsignedFiles: list(c.UnsignedFiles),
		Signatures: []SignatureView{}, Notes: r.notes(lang), Findings: findings(c.Messages, lang), Timestamps: []TimestampView{}, Trust: r.Trust(),
	}
	if len(r.Facts.Layers) > 0 && r.Facts.Layers[0].Document != nil {
		v.PEC = r.Facts.Layers[0].Document.PEC
	}
	for _, s := range c.Signatures {
		v.Signatures = append(v.Signatures, r.signatureView(s, lang))
	}
	for _, t := range c.Timestamps {
		v.Timestamps = append(v.Timestamps, r.timestampView(t, lang))
	}
	if withPlain {
		text, err := r.plainText()
		if err != nil {
			return nil, err
		}
		v.PlainDocument = &Plain{text}
	}
	return v, nil
}

// plainText is the signed content in base64, or nil.
func (r *Report) plainText() (*string, error) {
	if r.Plain == nil {
		return nil, nil
	}
	text, err := encoded(r.Plain)
	return &text, err
}

// encoded is a document in base64, avoiding a second copy of either.
func encoded(src ades.Source) (string, error) {
	var b strings.Builder
	b.Grow(base64.StdEncoding.EncodedLen(int(src.Size())))
	w := base64.NewEncoder(base64.StdEncoding, &b)
	if _, err := io.CopyBuffer(w, io.NewSectionReader(src, 0, src.Size()), make([]byte, 24<<10)); err != nil {
		return "", err
	}
	err := w.Close()
	return b.String(), err
}

// Valid reports whether there is a signature, every one is TOTAL-PASSED, and together they cover
// all relevant parts.
func (r *Report) Valid() bool {
	return len(r.Conclusions.Signatures) > 0 && r.Conclusions.Indication == TotalPassed
}

// Format is that of the outermost layer, or "" if nothing is signed.
func (r *Report) Format() string {
	for _, l := range r.Facts.Layers {
		if l.Document != nil && l.Document.Format != ades.ZIP && l.Document.Format != ades.Mail {
			return string(l.Document.Format)
		}
	}
	return ""
}

// list is never null in JSON.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// optional is nil for the empty string.
func optional[T ~string](s T) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

func (r *Report) signatureView(c *Conclusion, lang string) SignatureView {
	s := c.Signature
	v := SignatureView{
		ID: c.ID, Integrity: s.Intact() == ades.Yes, Indication: c.Indication, SubIndication: optional(c.SubIndication),
		SignatureLevel: optional(c.Level), AlgorithmName: optional(s.Algorithm.Name), DigestAlgorithm: optional(digestOf(s)),
		SignerStatus: optional(c.SignerStatus), IssuerStatus: optional(c.IssuerStatus),
		SignerRevokedAt: stamp(c.RevokedAt), IssuerRevokedAt: stamp(c.IssuerRevAt),
		TrustedDate: c.Proven, SignatureDate: stamp(s.ClaimedTime), BestSignatureTime: stamp(c.BestTime), ValidUntil: stamp(c.ValidUntil),
		IssuerTrustedList: c.TrustedList, TrustProvider: optional(c.Provider), Qualification: c.Qualification, QCComplianceStatus: c.QC, QCSSCDStatus: c.SSCD,
		Level:   r.Facts.Layers[c.Layer].Level,
		Changes: []ades.Change{}, Timestamps: []TimestampView{}, CounterSignatures: []SignatureView{},
		CoversWhole: c.CoversWhole, SignedFiles: list(c.SignedFiles), UnsignedFiles: list(c.UnsignedFiles), SignedElements: list(c.SignedElements),
		Errors: texts(c, SeverityError, lang), Warnings: texts(c, SeverityWarning, lang), Findings: findings(c.Messages, lang),
	}
	if c.Proven {
		v.SignatureDate = stamp(c.BestTime)
	}
	v.ClaimedTime, v.Reason, v.Location, v.Policy = stamp(s.ClaimedTime), optional(s.Why()), optional(s.Where()), optional(s.UnderPolicy())
	if s.Algorithm.KeySize > 0 {
		v.KeySize = &s.Algorithm.KeySize
	}
	r.signer(&v, c)
	if s.PDF != nil {
		v.Changes = append(v.Changes, s.PDF.Changes...)
	}
	for _, t := range c.Timestamps {
		v.Timestamps = append(v.Timestamps, r.timestampView(t, lang))
	}
	for _, n := range c.Counters {
		v.CounterSignatures = append(v.CounterSignatures, r.signatureView(n, lang))
	}
	return v
}

// digestOf is the digest algorithm of the content, which is what callers expect.
func digestOf(s *ades.Signature) string {
	return cmp.Or(s.Algorithm.Content, s.Algorithm.Digest)
}

func (r *Report) signer(v *SignatureView, c *Conclusion) {
	s := c.Signature
	if s.SigningCertificate == nil {
		return
	}
	text := base64.StdEncoding.EncodeToString(s.SigningCertificate)
	v.Certificate = &text
	cert := r.SignerOf(c)
	if cert == nil {
		return
	}
	v.SubjectDN, v.IssuerDN = &cert.Subject, &cert.Issuer
	v.SubjectCN, v.IssuerCN = optional(cert.SubjectCN), optional(cert.IssuerCN)
	v.SerialNumber = &cert.SerialNumber
	v.SignerNotBefore, v.SignerNotAfter = stamp(cert.NotBefore), stamp(cert.NotAfter)
	v.Sandbox = cert.Sandbox
	if v.KeySize == nil && cert.KeySize > 0 {
		v.KeySize = &cert.KeySize
	}
}

func (r *Report) timestampView(c *Conclusion, lang string) TimestampView {
	t := c.Timestamp
	v := TimestampView{
		ID: t.ID, Kind: string(t.Kind), Time: stamp(t.Time), Indication: c.Indication, SubIndication: optional(c.SubIndication),
		Integrity:       t.ImprintIntact == ades.Yes && t.Signature != nil && t.Signature.Intact() == ades.Yes,
		DigestAlgorithm: optional(t.ImprintDigest), SerialNumber: optional(t.SerialNumber), Policy: optional(t.Policy),
		ValidUntil: stamp(c.ValidUntil), IssuerTrusted: c.TrustedList, Qualification: c.Qualification, Errors: texts(c, SeverityError, lang), Findings: findings(c.Messages, lang),
	}
	if t.Signature != nil {
		if cert := r.Facts.Certificates[ades.FactID(t.Signature.SigningCertificate)]; cert != nil {
			v.SubjectDN, v.IssuerDN, v.SubjectCN = &cert.Subject, &cert.Issuer, optional(cert.SubjectCN)
		}
	}
	return v
}

// findings converts messages to the form that clients match on.
func findings(list []Message, lang string) []FindingView {
	out := []FindingView{}
	for _, m := range list {
		values := m.Values
		if values == nil {
			values = []string{}
		}
		out = append(out, FindingView{Code: m.Code, Severity: m.Severity.String(), Text: sentence(m, lang), Values: values})
	}
	return out
}

func texts(c *Conclusion, sev Severity, lang string) []string {
	out := []string{}
	for _, m := range c.Messages {
		if m.Severity == sev {
			out = append(out, sentence(m, lang))
		}
	}
	return out
}

// notes converts all messages to the API's form; -1 means the document.
func (r *Report) notes(lang string) []NoteView {
	out := []NoteView{}
	p := 0
	if r.Conclusions.Operator {
		p = 1
	}
	add := func(about int, m Message) {
		out = append(out, NoteView{Policy: p, About: about, Type: int(m.Severity), Synopsis: finding.Synopsis(lang, m.Block), Description: sentence(m, lang)})
	}
	for _, m := range r.Conclusions.Messages {
		add(-1, m)
	}
	for i, c := range r.Conclusions.Signatures {
		for _, m := range c.Messages {
			add(i, m)
		}
		if cert := r.SignerOf(c); cert != nil && cert.Sandbox {
			add(i, sandboxed())
		}
	}
	return out
}

func sandboxed() Message {
	p := finding.TestCertificate.Problem("")
	return Message{Severity: SeverityWarning, Block: "sandbox", Text: p.Text, Code: p.Code}
}

// sentence is a message in a language, with times in the API's form.
func sentence(m Message, lang string) string {
	if text, ok := finding.Text(lang, m.Code, m.Values, nil); ok {
		return text
	}
	return m.Text
}

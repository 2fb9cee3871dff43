package report

import (
	"encoding/base64"
	"io"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
)

const wireTime = "2006-01-02 15:04:05.000+00:00"

// stamp writes a time as the contract does; the zero time is null.
func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(wireTime)
	return &text
}

// View is the verification report of the published contract (A3 of the seed
// and its additions): what POST /verify answers and rogito verify --json
// prints. Fields that are not known are null; PlainDocument alone is left out
// where nobody asked for it, and null where there is none.
type View struct {
	File             string     `json:"file,omitempty"`
	CheckDate        *string    `json:"checkDate"`
	VerificationDate *string    `json:"verificationDate"`
	SignatureFormat  string     `json:"signatureFormat"`
	NrOfSignatures   int        `json:"nrOfSignatures"`
	OverallVerified  bool       `json:"overallVerified"`
	Indication       Indication `json:"indication"`
	// TimestampsVerified: nobody signed, and all time-stamps pass.
	TimestampsVerified bool            `json:"timestampsVerified"`
	SignedFiles        []string        `json:"signedFiles"`
	UnsignedFiles      []string        `json:"unsignedFiles"`
	PlainDocument      **string        `json:"plainDocument,omitzero"`
	Signatures         []SignatureView `json:"signatureReportList"`
	Notes              []NoteView      `json:"noteReportList"`
	Timestamps         []TimestampView `json:"timestamps"`
	Trust              TrustView       `json:"trust"`
}

// SignatureView is the report on one signature.
type SignatureView struct {
	ID                 string          `json:"id"`
	Integrity          bool            `json:"integrity"`
	Indication         Indication      `json:"indication"`
	SubIndication      *string         `json:"subIndication"`
	SignatureLevel     *string         `json:"signatureLevel"`
	AlgorithmName      *string         `json:"signatureAlgorithmName"`
	DigestAlgorithm    *string         `json:"digestAlgorithm"`
	KeySize            *int            `json:"keySize"`
	SubjectDN          *string         `json:"subjectDN"`
	IssuerDN           *string         `json:"issuerDN"`
	SubjectCN          *string         `json:"subjectCN"`
	IssuerCN           *string         `json:"issuerCN"`
	SerialNumber       *string         `json:"serialNumber"`
	SignerStatus       *string         `json:"signerCertificateStatus"`
	SignerNotBefore    *string         `json:"signerCertificateNotBefore"`
	SignerNotAfter     *string         `json:"signerCertificateNotAfter"`
	SignerRevokedAt    *string         `json:"signerCertificateRevocationDate"`
	IssuerStatus       *string         `json:"issuerCertificateStatus"`
	IssuerRevokedAt    *string         `json:"issuerCertificateRevocationDate"`
	TrustedDate        bool            `json:"trustedSignatureDate"`
	SignatureDate      *string         `json:"signatureDate"`
	BestSignatureTime  *string         `json:"bestSignatureTime"`
	ValidUntil         *string         `json:"validUntil"`
	IssuerTrustedList  bool            `json:"issuerTrustedList"`
	TrustProvider      *string         `json:"trustServiceProvider"`
	Qualification      Qualification   `json:"qualification"`
	QCComplianceStatus string          `json:"qcComplianceStatus"`
	QCSSCDStatus       string          `json:"qcSSCDStatus"`
	Sandbox            bool            `json:"sandbox"`
	Certificate        *string         `json:"derEncodedSignerCert"`
	Level              int             `json:"level"`
	CoversWhole        bool            `json:"coversWholeDocument"`
	SignedFiles        []string        `json:"signedFiles"`
	UnsignedFiles      []string        `json:"unsignedFiles"`
	SignedElements     []string        `json:"signedElements"`
	Changes            []ades.Change   `json:"changesAfterSigning"`
	Timestamps         []TimestampView `json:"timestamps"`
	CounterSignatures  []SignatureView `json:"counterSignatures"`
	Errors             []string        `json:"errors"`
	Warnings           []string        `json:"warnings"`
}

// TimestampView is the report on one time-stamp.
type TimestampView struct {
	ID              string     `json:"id"`
	Kind            string     `json:"kind"`
	Time            *string    `json:"time"`
	Indication      Indication `json:"indication"`
	SubIndication   *string    `json:"subIndication"`
	Integrity       bool       `json:"integrity"`
	DigestAlgorithm *string    `json:"digestAlgorithm"`
	SubjectDN       *string    `json:"subjectDN"`
	IssuerDN        *string    `json:"issuerDN"`
	SubjectCN       *string    `json:"subjectCN"`
	SerialNumber    *string    `json:"serialNumber"` // of the token
	Policy          *string    `json:"policy"`
	ValidUntil      *string    `json:"validUntil"`
	IssuerTrusted   bool       `json:"issuerTrustedList"`
	Errors          []string   `json:"errors"`
}

// NoteView is a note of the contract.
type NoteView struct {
	Policy      int    `json:"policy"`
	About       int    `json:"about"`
	Type        int    `json:"type"`
	Synopsis    string `json:"synopsis"`
	Description string `json:"description"`
}

// View writes the report in the words of the contract; withPlain includes the
// signed content.
func (r *Report) View(withPlain bool) (*View, error) {
	c := r.Conclusions
	v := &View{
		CheckDate: stamp(c.At), VerificationDate: stamp(r.MadeAt), SignatureFormat: r.Format(),
		NrOfSignatures: len(c.Signatures), OverallVerified: r.Valid(), Indication: c.Indication,
		TimestampsVerified: c.TimestampsVerified, SignedFiles: list(c.SignedFiles), UnsignedFiles: list(c.UnsignedFiles),
		Signatures: []SignatureView{}, Notes: r.notes(), Timestamps: []TimestampView{}, Trust: r.Trust(),
	}
	for _, s := range c.Signatures {
		v.Signatures = append(v.Signatures, r.signatureView(s))
	}
	for _, t := range c.Timestamps {
		v.Timestamps = append(v.Timestamps, r.timestampView(t))
	}
	if withPlain {
		text, err := r.plainText()
		if err != nil {
			return nil, err
		}
		v.PlainDocument = &text
	}
	return v, nil
}

// plainText is the signed content in base64; nil where there is none.
func (r *Report) plainText() (*string, error) {
	if r.Plain == nil {
		return nil, nil
	}
	text, err := encoded(r.Plain)
	return &text, err
}

// encoded is a document in base64, without a second copy of either.
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

// Valid reports whether there is a signature, every one is TOTAL-PASSED, and
// together they cover what counts.
func (r *Report) Valid() bool {
	return len(r.Conclusions.Signatures) > 0 && r.Conclusions.Indication == TotalPassed
}

// Format is that of the outermost layer, "" when nothing is signed.
func (r *Report) Format() string {
	for _, l := range r.Facts.Layers {
		if l.Document != nil && l.Document.Format != ades.ZIP {
			return string(l.Document.Format)
		}
	}
	return ""
}

// archive is a plain ZIP archive as the outermost layer; nil if it is none.
func (r *Report) archive() *ades.Document {
	if len(r.Facts.Layers) > 0 && r.Facts.Layers[0].Document != nil && r.Facts.Layers[0].Document.Format == ades.ZIP {
		return r.Facts.Layers[0].Document
	}
	return nil
}

// list is never null on the wire.
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

func (r *Report) signatureView(c *Conclusion) SignatureView {
	s := c.Signature
	v := SignatureView{
		ID: c.ID, Integrity: s.Intact() == ades.Yes && !ades.Fatal(s.Problems), Indication: c.Indication, SubIndication: optional(c.SubIndication),
		SignatureLevel: optional(c.Level), AlgorithmName: optional(s.Algorithm.Name), DigestAlgorithm: optional(digestOf(s)),
		SignerStatus: optional(c.SignerStatus), IssuerStatus: optional(c.IssuerStatus),
		SignerRevokedAt: stamp(c.RevokedAt), IssuerRevokedAt: stamp(c.IssuerRevAt),
		TrustedDate: c.Proven, SignatureDate: stamp(s.ClaimedTime), BestSignatureTime: stamp(c.BestTime), ValidUntil: stamp(c.ValidUntil),
		IssuerTrustedList: c.TrustedList, TrustProvider: optional(c.Provider), Qualification: c.Qualification, QCComplianceStatus: c.QC, QCSSCDStatus: c.SSCD,
		Level:   r.Facts.Layers[c.Layer].Level,
		Changes: []ades.Change{}, Timestamps: []TimestampView{}, CounterSignatures: []SignatureView{},
		CoversWhole: c.CoversWhole, SignedFiles: list(c.SignedFiles), UnsignedFiles: list(c.UnsignedFiles), SignedElements: list(c.SignedElements),
		Errors: texts(c, Error), Warnings: texts(c, Warning),
	}
	if c.Proven {
		v.SignatureDate = stamp(c.BestTime)
	}
	if s.Algorithm.KeySize > 0 {
		v.KeySize = &s.Algorithm.KeySize
	}
	r.signer(&v, s)
	if s.PDF != nil {
		v.Changes = append(v.Changes, s.PDF.Changes...)
	}
	for _, t := range c.Timestamps {
		v.Timestamps = append(v.Timestamps, r.timestampView(t))
	}
	for _, n := range c.Counters {
		v.CounterSignatures = append(v.CounterSignatures, r.signatureView(n))
	}
	return v
}

// digestOf is the digest over the content, which is what callers mean.
func digestOf(s *ades.Signature) string {
	if s.Algorithm.Content != "" {
		return s.Algorithm.Content
	}
	return s.Algorithm.Digest
}

func (r *Report) signer(v *SignatureView, s *ades.Signature) {
	if s.SigningCertificate == nil {
		return
	}
	text := base64.StdEncoding.EncodeToString(s.SigningCertificate)
	v.Certificate = &text
	cert := r.Facts.Certificates[ades.FactID(s.SigningCertificate)]
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

func (r *Report) timestampView(c *Conclusion) TimestampView {
	t := c.Timestamp
	v := TimestampView{
		ID: t.ID, Kind: string(t.Kind), Time: stamp(t.Time), Indication: c.Indication, SubIndication: optional(c.SubIndication),
		Integrity:       t.ImprintIntact == ades.Yes && t.Signature != nil && t.Signature.Intact() == ades.Yes,
		DigestAlgorithm: optional(t.ImprintDigest), SerialNumber: optional(t.SerialNumber), Policy: optional(t.Policy),
		ValidUntil: stamp(c.ValidUntil), IssuerTrusted: c.TrustedList, Errors: texts(c, Error),
	}
	if t.Signature != nil {
		if cert := r.Facts.Certificates[ades.FactID(t.Signature.SigningCertificate)]; cert != nil {
			v.SubjectDN, v.IssuerDN, v.SubjectCN = &cert.Subject, &cert.Issuer, optional(cert.SubjectCN)
		}
	}
	return v
}

func texts(c *Conclusion, sev Severity) []string {
	out := []string{}
	for _, m := range c.Messages {
		if m.Severity == sev {
			out = append(out, m.Text)
		}
	}
	return out
}

// notes are all messages in the contract's form; -1 is about the document.
func (r *Report) notes() []NoteView {
	out := []NoteView{}
	p := 0
	if r.Conclusions.Operator {
		p = 1
	}
	add := func(about int, m Message) {
		out = append(out, NoteView{Policy: p, About: about, Type: int(m.Severity), Synopsis: synopses[m.Block], Description: m.Text})
	}
	for _, m := range r.Conclusions.Messages {
		add(-1, m)
	}
	for i, c := range r.Conclusions.Signatures {
		for _, m := range c.Messages {
			add(i, m)
		}
		if cert := r.Facts.Certificates[ades.FactID(c.Signature.SigningCertificate)]; cert != nil && cert.Sandbox {
			add(i, Message{Severity: Warning, Block: "sandbox", Text: "The certificate is a test certificate (SANDBOX): the signature has no legal value."})
		}
	}
	return out
}

// synopses are the building blocks in a few words.
var synopses = map[string]string{
	"FC": "Format", "ISC": "Identification of the signing certificate", "XCV": "Certificate validation",
	"CV": "Cryptographic verification", "SAV": "Signature acceptance", "VTS": "Time-stamps",
	"gathering": "Validation data", "sandbox": "Test certificate",
}

package signatures

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing"
)

// signTimeout bounds a synchronous signature with everything it waits for.
const signTimeout = 10 * time.Minute

// stamp writes a time as area A has it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000+00:00") }

func stampOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return ptr(stamp(t))
}

// signatureRequest describes the body; it is read member by member.
type signatureRequest struct {
	InputDocuments      inputDocuments    `json:"inputDocuments"`
	CertificateUsername string            `json:"certificateUsername"`
	CertificatePassword string            `json:"certificatePassword"`
	CertificateOtp      string            `json:"certificateOtp,omitempty" doc:"EU-QES_otp only: the current code"`
	CertificateIDOtp    int               `json:"certificateIdOtp,omitempty"`
	Title               string            `json:"title,omitempty"`
	Description         string            `json:"description,omitempty"`
	SignatureType       string            `json:"signatureType,omitempty" enum:"cades,pades,xades,pkcs1" doc:"absent: by content"`
	Options             *signatureOptions `json:"options,omitempty"`
	Callback            *callbackTarget   `json:"callback,omitempty"`
}

type callbackTarget struct {
	URL     string            `json:"url"`
	Method  string            `json:"method,omitempty" enum:"JSON,POST"`
	Field   string            `json:"field,omitempty" doc:"name of the form field; default data"`
	Headers map[string]string `json:"headers,omitempty"`
	Custom  any               `json:"custom,omitempty" doc:"echoed back; at most 512 bytes"`
	Retry   int               `json:"retry,omitempty" minimum:"0" maximum:"5" doc:"attempts after the first; default 5"`
}

type signatureRecord struct {
	ID              string            `json:"id"`
	CreatedAt       string            `json:"createdAt"`
	UpdatedAt       string            `json:"updatedAt"`
	CertificateType string            `json:"certificateType"`
	State           string            `json:"state" enum:"WAIT_VALIDATION,WAIT_SIGN,DONE,ERROR"`
	SignatureType   *string           `json:"signatureType,omitzero"`
	Options         recordOptions     `json:"options"`
	ErrorNumber     *fault.Code       `json:"errorNumber"`
	ErrorMessage    *string           `json:"errorMessage"`
	Signer          *signing.Signer   `json:"signer,omitzero" doc:"once signed: who issued the certificate, and whether it is qualified"`
	Document        signatureDocument `json:"document"`
}

type signatureDocument struct {
	Title             *string          `json:"title,omitzero"`
	Description       *string          `json:"description,omitzero"`
	InputDocuments    *[]signatureFile `json:"inputDocuments,omitzero"`
	ValidatedDocument *signatureFile   `json:"validatedDocument,omitzero"`
	SignedDocument    *signatureFile   `json:"signedDocument,omitzero"`
}

type signatureFile struct {
	SourceType *string `json:"sourceType,omitzero" doc:"of inputs: remote, base64 or base64Hash"`
	CreatedAt  string  `json:"createdAt"`
	MimeType   string  `json:"mimetype"`
	Extension  string  `json:"extension"`
	Size       int64   `json:"size"`
	ID         string  `json:"id"`
	MD5        string  `json:"md5"`
	SHA256     string  `json:"sha256"`
	Name       string  `json:"name"`
}

// recordWire writes a record. The answer to a request whose validation is
// still to come has an empty document.
func recordWire(r *signing.Record, answer bool) signatureRecord {
	w := signatureRecord{
		ID: r.ID, CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt), CertificateType: r.CertificateType, State: string(r.State),
	}
	format := r.Type
	if r.State == signing.WaitValidation {
		format = ""
	}
	if format != "" {
		w.SignatureType = &format
	}
	w.Options = r.Options.Echo(format, r.Achieved)
	w.Signer = r.Signer
	if r.ErrorNumber != 0 {
		w.ErrorNumber, w.ErrorMessage = &r.ErrorNumber, &r.ErrorMessage
	}
	if answer && r.State == signing.WaitValidation {
		return w
	}
	d := &w.Document
	d.Title, d.Description = &r.Title, &r.Description
	if r.State == signing.WaitValidation {
		return w
	}
	inputs := make([]signatureFile, len(r.Inputs))
	for i, f := range r.Inputs {
		inputs[i] = *fileWire(f)
		inputs[i].SourceType = &f.SourceType
	}
	d.InputDocuments, d.ValidatedDocument, d.SignedDocument = &inputs, fileWire(r.Validated), fileWire(r.Signed)
	return w
}

func fileWire(f *signing.File) *signatureFile {
	if f == nil {
		return nil
	}
	return &signatureFile{
		CreatedAt: stamp(f.CreatedAt), MimeType: f.MimeType, Extension: f.Extension, Size: f.Size, ID: f.ID, MD5: f.MD5, SHA256: f.SHA256, Name: f.Name,
	}
}

// SignatureSummary is an element of the list of records.
type SignatureSummary struct {
	ID              string      `json:"id"`
	ErrorNumber     *fault.Code `json:"errorNumber"`
	ErrorMessage    *string     `json:"errorMessage"`
	UpdatedAt       string      `json:"updatedAt"`
	CreatedAt       string      `json:"createdAt"`
	CertificateType string      `json:"certificateType"`
	State           string      `json:"state"`
	SignatureType   *string     `json:"signatureType,omitzero"`
	DocumentTitle   string      `json:"documentTitle"`
}

func summaryWire(r *signing.Record) SignatureSummary {
	w := SignatureSummary{
		ID: r.ID, UpdatedAt: stamp(r.UpdatedAt), CreatedAt: stamp(r.CreatedAt), CertificateType: r.CertificateType, State: string(r.State), DocumentTitle: r.Title,
	}
	if r.Type != "" {
		w.SignatureType = &r.Type
	}
	if r.ErrorNumber != 0 {
		w.ErrorNumber, w.ErrorMessage = &r.ErrorNumber, &r.ErrorMessage
	}
	return w
}

// signaturePart is the record or its audit trail, by actionType.
type signaturePart struct {
	record *signatureRecord
	trail  *auditTrail
}

// MarshalJSONTo writes whichever was asked for.
func (p signaturePart) MarshalJSONTo(enc *jsontext.Encoder) error {
	if p.trail != nil {
		return json.MarshalEncode(enc, p.trail)
	}
	return json.MarshalEncode(enc, p.record)
}

type auditTrail struct {
	SignatureData signatureRecord `json:"SignatureData" yaml:"SignatureData"`
	AuditData     []auditEntry    `json:"AuditData" yaml:"AuditData"`
}

type auditEntry struct {
	ID        string  `json:"id" yaml:"id"`
	CreatedAt string  `json:"createdAt" yaml:"createdAt"`
	Log       string  `json:"log" yaml:"log"`
	Kind      string  `json:"kind" yaml:"kind"`
	Sequence  *int64  `json:"sequence" yaml:"sequence" doc:"place in the audit log's tree; null for the moment before it has one"`
	Digest    string  `json:"digest" yaml:"digest" doc:"salted SHA-256 that the tree holds, in hexadecimal"`
	Detail    anyJSON `json:"detail,omitzero" yaml:"detail,omitempty" doc:"what is needed to repeat the step technically"`
}

func trailWire(r *signing.Record, entries []*audit.Entry) *auditTrail {
	t := &auditTrail{SignatureData: recordWire(r, false), AuditData: make([]auditEntry, len(entries))}
	for i, e := range entries {
		log, detail := e.Text()
		w := auditEntry{ID: e.ID, CreatedAt: stamp(time.UnixMilli(e.CreatedAt)), Log: log, Kind: e.Kind, Digest: hexText(e.Digest)}
		if e.Seq >= 0 {
			w.Sequence = &e.Seq
		}
		if len(detail) > 0 {
			w.Detail = anyJSON(detail)
		}
		t.AuditData[i] = w
	}
	return t
}

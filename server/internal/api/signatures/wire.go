package signatures

import (
	"encoding/hex"
	"time"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// signTimeout bounds a synchronous signature with everything it waits for.
const signTimeout = 10 * time.Minute

// stamp writes a time as area A has it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000+00:00") }

func stampOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(stamp(t))
}

// signatureRequest describes the body; it is read member by member.
type signatureRequest struct {
	InputDocuments      inputDocuments    `json:"inputDocuments" doc:"the documents to sign"`
	CertificateUsername string            `json:"certificateUsername" doc:"of the certificate"`
	CertificatePassword string            `json:"certificatePassword" doc:"of the certificate"`
	CertificateOtp      string            `json:"certificateOtp,omitempty" doc:"EU-QES_otp only: the current code"`
	CertificateIDOtp    int               `json:"certificateIdOtp,omitempty" doc:"which one-time password device of a key at a provider, where there are several; -1: the only one"`
	Title               string            `json:"title,omitempty" doc:"a label for the record"`
	Description         string            `json:"description,omitempty" doc:"a longer one"`
	SignatureType       string            `json:"signatureType,omitempty" enum:"cades,pades,xades,pkcs1" doc:"absent: by content"`
	Options             *signatureOptions `json:"options,omitempty" doc:"how to sign; null and absent members have their defaults"`
	Callback            *callbackTarget   `json:"callback,omitempty" doc:"where to tell each state that is reached"`
}

type callbackTarget struct {
	URL     string            `json:"url" doc:"where to send it: http or https"`
	Method  string            `json:"method,omitempty" enum:"JSON,POST" doc:"JSON (default): a JSON body; POST: a form"`
	Field   string            `json:"field,omitempty" doc:"name of the form field; default data"`
	Headers map[string]string `json:"headers,omitempty" doc:"sent along; at most 2 kB in all"`
	Custom  any               `json:"custom,omitempty" doc:"echoed back; at most 512 bytes"`
	Retry   int               `json:"retry,omitempty" minimum:"0" maximum:"5" doc:"attempts after the first; default 5"`
}

type signatureRecord struct {
	ID              string            `json:"id" doc:"of the record"`
	CreatedAt       string            `json:"createdAt" doc:"when it was made, UTC"`
	UpdatedAt       string            `json:"updatedAt" doc:"when it last changed, UTC"`
	CertificateType string            `json:"certificateType" doc:"EU-QES_automatic, EU-QES_otp, EU-QES_eseal, EU-SES or EU-AES"`
	State           string            `json:"state" enum:"WAIT_VALIDATION,WAIT_SIGNERS,WAIT_SIGN,DONE,ERROR" doc:"WAIT_VALIDATION, then WAIT_SIGN, then DONE; ERROR from either. DONE and ERROR are final. What people sign waits for them in between: WAIT_SIGNERS"`
	SignatureType   *string           `json:"signatureType,omitzero" doc:"the format; absent until it is known"`
	Options         recordOptions     `json:"options" doc:"those that had an effect, defaults included and passwords left out"`
	ErrorNumber     *fault.Code       `json:"errorNumber" doc:"what went wrong, in ERROR; else null"`
	ErrorMessage    *string           `json:"errorMessage" doc:"the same in words"`
	Signer          *ledger.Signer    `json:"signer,omitzero" doc:"once signed: who issued the certificate, and whether it is qualified"`
	Signers         *[]signerRecord   `json:"signers,omitzero" doc:"of EU-SES and EU-AES: who is asked to sign, in the order of the request"`
	Document        signatureDocument `json:"document" doc:"what is signed; empty in the answer to a request whose validation is still to come"`
}

type signatureDocument struct {
	Title             *string                 `json:"title,omitzero" doc:"as it was given"`
	Description       *string                 `json:"description,omitzero" doc:"as it was given"`
	InputDocuments    *[]signatureFile        `json:"inputDocuments,omitzero" doc:"what was sent or fetched"`
	ValidatedDocument *signatureFile          `json:"validatedDocument,omitzero" doc:"what was signed; absent before, and where each document is signed on its own"`
	SignedDocument    *signatureFile          `json:"signedDocument,omitzero" doc:"the result; absent until DONE"`
	Findings          []ledger.DocumentNote   `json:"findings,omitzero" doc:"what there is to know of the validated document: PDF_WRITTEN_ANEW where it is a copy of a PDF that could be read in more than one way; absent where there is nothing"`
	Results           []ledger.DocumentResult `json:"results,omitzero" doc:"of a batch that has ended: what became of each document, in the order of inputDocuments; absent else"`
}

type signatureFile struct {
	SourceType *string `json:"sourceType,omitzero" doc:"of inputs: remote, base64 or base64Hash"`
	CreatedAt  string  `json:"createdAt" doc:"when it was made, UTC"`
	MediaType  string  `json:"mimetype" doc:"media type"`
	Extension  string  `json:"extension" doc:"of the name"`
	Size       int64   `json:"size" doc:"in bytes"`
	ID         string  `json:"id" doc:"of the file"`
	MD5        string  `json:"md5" doc:"hexadecimal"`
	SHA256     string  `json:"sha256" doc:"hexadecimal"`
	Name       string  `json:"name" doc:"under which it is downloaded"`
}

// recordWire writes a record. The answer to a request whose validation is
// still to come has an empty document.
func (s *Signatures) wire(r *ledger.Record, answer bool) signatureRecord {
	w := signatureRecord{
		ID: r.ID, CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt), CertificateType: r.CertificateType, State: string(r.State),
	}
	format := r.Type
	if r.State == ledger.WaitValidation {
		format = ""
	}
	if format != "" {
		w.SignatureType = new(string(format))
	}
	w.Options = r.Options.Echo(format, r.Achieved)
	if r.ByPeople() {
		s.peopleWire(&w, r)
	}
	w.Signer = r.Signer
	if r.ErrorNumber != 0 {
		w.ErrorNumber, w.ErrorMessage = &r.ErrorNumber, &r.ErrorMessage
	}
	if answer && r.State == ledger.WaitValidation {
		return w
	}
	d := &w.Document
	d.Title, d.Description = &r.Title, &r.Description
	if r.State == ledger.WaitValidation {
		return w
	}
	inputs := make([]signatureFile, len(r.Inputs))
	for i, f := range r.Inputs {
		inputs[i] = *fileWire(f)
		inputs[i].SourceType = &f.SourceType
	}
	d.InputDocuments, d.ValidatedDocument, d.SignedDocument = &inputs, fileWire(r.Validated), fileWire(r.Signed)
	d.Results = r.Results
	if r.WrittenAnew() {
		n := finding.PDFWrittenAnew
		d.Findings = []ledger.DocumentNote{{Code: n.Code, Severity: n.Severity.String(), Text: n.English}}
	}
	return w
}

func fileWire(f *ledger.File) *signatureFile {
	if f == nil {
		return nil
	}
	return &signatureFile{
		CreatedAt: stamp(f.CreatedAt), MediaType: f.MediaType, Extension: f.Extension, Size: f.Size, ID: f.ID, MD5: f.MD5, SHA256: f.SHA256, Name: f.Name,
	}
}

// SignatureSummary is an element of the list of records.
type SignatureSummary struct {
	ID              string      `json:"id" doc:"of the record"`
	ErrorNumber     *fault.Code `json:"errorNumber" doc:"what went wrong, in ERROR; else null"`
	ErrorMessage    *string     `json:"errorMessage" doc:"the same in words"`
	UpdatedAt       string      `json:"updatedAt" doc:"when it last changed, UTC"`
	CreatedAt       string      `json:"createdAt" doc:"when it was made, UTC"`
	CertificateType string      `json:"certificateType" doc:"EU-QES_automatic, EU-QES_otp, EU-QES_eseal, EU-SES or EU-AES"`
	State           string      `json:"state" doc:"as of the record"`
	SignatureType   *string     `json:"signatureType,omitzero" doc:"the format; absent until it is known"`
	DocumentTitle   string      `json:"documentTitle" doc:"title of the request"`
}

func summaryWire(r *ledger.Record) SignatureSummary {
	w := SignatureSummary{
		ID: r.ID, UpdatedAt: stamp(r.UpdatedAt), CreatedAt: stamp(r.CreatedAt), CertificateType: r.CertificateType, State: string(r.State), DocumentTitle: r.Title,
	}
	if r.Type != "" {
		w.SignatureType = new(string(r.Type))
	}
	if r.ErrorNumber != 0 {
		w.ErrorNumber, w.ErrorMessage = &r.ErrorNumber, &r.ErrorMessage
	}
	return w
}

type auditTrail struct {
	SignatureData signatureRecord `json:"SignatureData" yaml:"SignatureData" doc:"the record"`
	AuditData     []auditEntry    `json:"AuditData" yaml:"AuditData" doc:"what happened, in order"`
}

type auditEntry struct {
	ID        string  `json:"id" yaml:"id" doc:"of the entry"`
	CreatedAt string  `json:"createdAt" yaml:"createdAt" doc:"when it was made, UTC"`
	Log       string  `json:"log" yaml:"log" doc:"what happened, in words"`
	Kind      string  `json:"kind" yaml:"kind" doc:"what happened, as a word"`
	Sequence  *int64  `json:"sequence" yaml:"sequence" doc:"place in the audit log's tree; null for the moment before it has one"`
	Digest    string  `json:"digest" yaml:"digest" doc:"salted SHA-256 that the tree holds, in hexadecimal"`
	Detail    anyJSON `json:"detail,omitzero" yaml:"detail,omitempty" doc:"what is needed to repeat the step technically"`
}

func (s *Signatures) trailWire(r *ledger.Record, entries []*audit.Entry) *auditTrail {
	t := &auditTrail{SignatureData: s.wire(r, false), AuditData: make([]auditEntry, len(entries))}
	peopleTrail(&t.SignatureData, r, entries)
	for i, e := range entries {
		log, detail := e.Text()
		w := auditEntry{ID: e.ID, CreatedAt: stamp(time.UnixMilli(e.CreatedAt)), Log: log, Kind: e.Kind, Digest: hex.EncodeToString(e.Digest)}
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

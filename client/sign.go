package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Kind of a certificate, and of the signatures made with it.
type Kind string

// The kinds.
const (
	Automatic Kind = "automatic" // password only
	OTP       Kind = "otp"       // password and a one-time password
	Seal      Kind = "eseal"     // of a legal person
)

// States of a record. Done and Failed are final.
const (
	WaitValidation = "WAIT_VALIDATION"
	WaitSign       = "WAIT_SIGN"
	Done           = "DONE"
	Failed         = "ERROR"
)

// SignRequest is a request for a signature. Documents, Username and Password are required, and the
// code for the kind OTP.
type SignRequest struct {
	Documents []Document // several are merged, zipped or put into a container, unless Options.Batch is set
	Username  string     // of the certificate
	Password  string
	OTP       string

	Title       string
	Description string
	Type        string // cades, pades, xades or pkcs1; empty: depends on content
	Options     Options
	Callback    *Callback

	// IdempotencyKey of the request; empty: one is generated. For a day, the same request with the
	// same key returns the same record.
	IdempotencyKey string
}

// Options of a signature. The zero value of a field takes the server's default.
type Options struct {
	AsyncValidation  bool         `json:"asyncDocumentsValidation,omitzero"` // answer at once, validate later
	AsyncSignature   bool         `json:"asyncSignature,omitzero"`           // answer at once, sign later
	Level            string       `json:"level,omitzero"`                    // B, T, LT, LTA; LTV of a PDF
	HashAlgorithm    string       `json:"hashAlgorithm,omitzero"`            // SHA256, SHA384, SHA512
	Encrypt          bool         `json:"encryptInAnyCase,omitzero"`
	DocumentPassword string       `json:"encryptionPassword,omitzero"`
	Page             int          `json:"page,omitzero"` // -1: the last
	X                *float64     `json:"x,omitzero"`    // points from the left
	Y                *float64     `json:"y,omitzero"`    // points from the top
	SignerImage      *SignerImage `json:"signerImage,omitzero"`
	LockFields       []string     `json:"lockFields,omitzero"`
	WithField        bool         `json:"withSignatureField,omitzero"`
	Packaging        string       `json:"packaging,omitzero"`
	Serialization    string       `json:"serialization,omitzero"` // of JAdES: compact, flattened or general
	Detached         bool         `json:"detached,omitzero"`
	CounterSign      bool         `json:"counterSignature,omitzero"`
	Parallel         *bool        `json:"parallelSignature,omitzero"` // nil: true
	KeepSignatures   bool         `json:"withoutSignatureExclusion,omitzero"`
	XPathQuery       string       `json:"XPathQuery,omitzero"`
	SignElement      string       `json:"signElement,omitzero"`
	SignatureID      string       `json:"signatureId,omitzero"`
	ContentTimestamp bool         `json:"contentTimestamp,omitzero"` // before it is signed
	Commitment       string       `json:"commitment,omitzero"`       // proof-of-approval and so on, or an object identifier
	WithTimestamp    bool         `json:"withTimestamp,omitzero"`
	TimestampURL     string       `json:"timestampUrl,omitzero"`
	TimestampUser    string       `json:"timestampUsername,omitzero"`
	TimestampPass    string       `json:"timestampPassword,omitzero"`
	TimestampHash    string       `json:"timestampHashAlgo,omitzero"`
	Timezone         string       `json:"timezone,omitzero"`
	Batch            bool         `json:"batch,omitzero"` // each document separately, in a ZIP
}

// SignerImage is how a visible signature looks.
type SignerImage struct {
	Image      []byte   `json:"image,omitzero"` // PNG or JPEG
	ImageURL   string   `json:"imageUrl,omitzero"`
	SignerName string   `json:"signerName,omitzero"`
	Location   string   `json:"location,omitzero"`
	Reason     string   `json:"reason,omitzero"`
	Email      string   `json:"signerEmail,omitzero"`
	Visible    *bool    `json:"imageVisible,omitzero"` // nil: true
	Layout     string   `json:"layout,omitzero"`
	Language   string   `json:"language,omitzero"`
	Width      int      `json:"width,omitzero"`
	Height     int      `json:"height,omitzero"`
	QR         bool     `json:"qr,omitzero"` // a code with the address of /check
	Fields     []string `json:"fieldsNameList,omitzero"`
	AllFields  bool     `json:"signAllFields,omitzero"`
	Places     []string `json:"places,omitzero"` // several, each "page,x,y" or "page,x,y,width,height"
}

// Callback is where the server reports the states of a record.
type Callback struct {
	URL     string            `json:"url"`
	Method  string            `json:"method,omitzero"` // JSON (default) or POST
	Field   string            `json:"field,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`
	Custom  any               `json:"custom,omitzero"`
	Retry   *int              `json:"retry,omitzero"` // nil: 5
}

// Record is a signature: the request and its result.
type Record struct {
	ID              string         `json:"id"`
	CreatedAt       Time           `json:"createdAt"`
	UpdatedAt       Time           `json:"updatedAt"`
	CertificateType string         `json:"certificateType"`
	State           string         `json:"state"`
	SignatureType   string         `json:"signatureType"`
	Options         map[string]any `json:"options"` // the effective ones
	ErrorNumber     int            `json:"errorNumber"`
	ErrorMessage    string         `json:"errorMessage"`
	Signer          *Signer        `json:"signer"`
	Signers         []Person       `json:"signers,omitzero"` // people asked to sign
	Document        RecordDocument `json:"document"`
}

// Signer describes the issuer of the signing certificate.
type Signer struct {
	Provider             string `json:"provider"`
	TrustServiceProvider string `json:"trustServiceProvider"`
	QCComplianceStatus   string `json:"qcComplianceStatus"`
	QCSSCDStatus         string `json:"qcSSCDStatus"`
}

// RecordDocument is what was signed.
type RecordDocument struct {
	Title             string       `json:"title"`
	Description       string       `json:"description"`
	InputDocuments    []RecordFile `json:"inputDocuments"`
	ValidatedDocument *RecordFile  `json:"validatedDocument"`
	SignedDocument    *RecordFile  `json:"signedDocument"`
	// Findings about the signed document: PDF_WRITTEN_ANEW if ValidatedDocument is a copy of a PDF
	// that could be read in more than one way.
	Findings []RecordFinding `json:"findings,omitzero"`
	// Results of a batch: one for each input, in order. A record is DONE if at least one was
	// signed: look here whether all were.
	Results []RecordResult `json:"results,omitzero"`
}

// RecordResult is the result for one document of a batch.
type RecordResult struct {
	Index        int             `json:"index"`
	Name         string          `json:"name"`
	File         string          `json:"file"` // in the ZIP; empty: it was not signed
	State        string          `json:"state"`
	ErrorNumber  int             `json:"errorNumber"`
	ErrorMessage string          `json:"errorMessage"`
	SHA256       string          `json:"sha256"` // of the signed document
	Findings     []RecordFinding `json:"findings,omitzero"`
}

// RecordFinding is a finding about the signed document. Match on the code.
type RecordFinding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

// RecordFile is one file of a record.
type RecordFile struct {
	ID         string `json:"id"`
	SourceType string `json:"sourceType"`
	CreatedAt  Time   `json:"createdAt"`
	MediaType  string `json:"mimetype"`
	Extension  string `json:"extension"`
	Size       int64  `json:"size"`
	MD5        string `json:"md5"`
	SHA256     string `json:"sha256"`
	Name       string `json:"name"`
}

// Final reports whether a record will no longer change.
func (r *Record) Final() bool { return r.State == Done || r.State == Failed }

// SignError means that a signature was accepted but failed.
type SignError struct {
	Record  *Record
	Number  int // of the table at /docs/errors
	Message string
}

// Error says what went wrong.
func (e *SignError) Error() string {
	return fmt.Sprintf("rogito: signature %s failed: %s (code %d)", e.Record.ID, e.Message, e.Number)
}

// Err is a *SignError if the record ended in ERROR, else nil.
func (r *Record) Err() error {
	if r.State != Failed {
		return nil
	}
	return &SignError{r, r.ErrorNumber, r.ErrorMessage}
}

// Sign requests a signature. The record is DONE, or not final if the options ask for asynchronous
// work or a person must approve: then see [Client.Wait]. A failed signature is a *SignError, beside
// the record.
func (c *Client) Sign(ctx context.Context, kind Kind, r SignRequest) (*Record, error) {
	members := map[string]any{"certificateUsername": r.Username, "certificatePassword": r.Password, "options": r.Options}
	for name, value := range map[string]string{"certificateOtp": r.OTP, "title": r.Title, "description": r.Description, "signatureType": r.Type} {
		if value != "" {
			members[name] = value
		}
	}
	if r.Callback != nil {
		members["callback"] = r.Callback
	}
	o := &call{
		method: http.MethodPost, path: "/EU-QES_" + string(kind), contentType: "application/json", key: newKey(r.IdempotencyKey),
		body: func() (io.Reader, error) { return signBody(maps.Clone(members), r.Documents) },
	}
	return result(ask[*Record](ctx, c, o))
}

func result(r *Record, _ string, err error) (*Record, error) {
	if err != nil {
		return nil, err
	}
	return r, r.Err()
}

// Signature is the current record of a signature. A failed one is a *SignError, beside the record.
func (c *Client) Signature(ctx context.Context, id string) (*Record, error) {
	return result(ask[*Record](ctx, c, &call{method: http.MethodGet, path: "/signatures/" + url.PathEscape(id)}))
}

// Wait polls a record until it is final: DONE, or a *SignError. The interval grows to five seconds;
// use the context to stop earlier. A callback is cheaper if many clients wait.
func (c *Client) Wait(ctx context.Context, id string) (*Record, error) {
	for pause := 100 * time.Millisecond; ; pause = min(pause*3/2, 5*time.Second) {
		r, err := c.Signature(ctx, id)
		if err != nil || r.Final() {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, fmt.Errorf("rogito: wait for signature %s (%s): %w", id, r.State, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Download writes the signed document of a DONE record.
func (c *Client) Download(ctx context.Context, id string, to io.Writer) error {
	return c.download(ctx, id, "signedDocument", "", to)
}

// AuditPDF writes the certificate of completion of a record, sealed by the server.
func (c *Client) AuditPDF(ctx context.Context, id string, to io.Writer) error {
	return c.download(ctx, id, "audit", "application/pdf", to)
}

func (c *Client) download(ctx context.Context, id, what, accept string, to io.Writer) error {
	resp, err := c.send(ctx, &call{method: http.MethodGet, path: "/signatures/" + url.PathEscape(id) + "/" + what, accept: accept})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(to, resp.Body); err != nil {
		return fmt.Errorf("rogito: download %s of %s: %w", what, id, err)
	}
	return nil
}

// Delete removes the files, details and personal data of a record.
func (c *Client) Delete(ctx context.Context, id string) error {
	resp, err := c.send(ctx, &call{method: http.MethodDelete, path: "/signatures/" + url.PathEscape(id)})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Summary is a record in a list.
type Summary struct {
	ID              string `json:"id"`
	ErrorNumber     int    `json:"errorNumber"`
	ErrorMessage    string `json:"errorMessage"`
	UpdatedAt       Time   `json:"updatedAt"`
	CreatedAt       Time   `json:"createdAt"`
	CertificateType string `json:"certificateType"`
	State           string `json:"state"`
	SignatureType   string `json:"signatureType"`
	DocumentTitle   string `json:"documentTitle"`
}

// Signatures returns the records of the account, newest first, fetching them on demand. state
// filters them; empty means all.
func (c *Client) Signatures(ctx context.Context, state string) iter.Seq2[Summary, error] {
	return pages(ctx, c, "/signatures", state, func(s Summary) string { return s.ID })
}

// perPage is the server's maximum page size.
const perPage = 100

// pages fetches a list page by page, each after the last element of the previous one: new records
// do not shift pages, and later pages cost no more than the first.
func pages[E any](ctx context.Context, c *Client, path, state string, id func(E) string) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var none E
		q := url.Values{"limit": {strconv.Itoa(perPage)}}
		if state != "" {
			q.Set("state", state)
		}
		for {
			list, _, err := ask[[]E](ctx, c, &call{method: http.MethodGet, path: path, query: q})
			if err != nil {
				yield(none, err)
				return
			}
			for _, one := range list {
				if !yield(one, nil) {
					return
				}
			}
			if len(list) < perPage {
				return
			}
			q.Set("after", id(list[len(list)-1]))
		}
	}
}

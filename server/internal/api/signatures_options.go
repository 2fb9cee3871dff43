package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// signatureOptions describes the options of a request; they are read by the
// room that signs. A null is as good as an absent one, an option of another
// format is accepted and without effect, an unknown one is error 625.
type signatureOptions struct {
	AsyncDocumentsValidation  bool         `json:"asyncDocumentsValidation,omitempty" doc:"answer WAIT_VALIDATION at once and validate later; default false"`
	AsyncSignature            bool         `json:"asyncSignature,omitempty" doc:"answer WAIT_SIGN at once and sign later; default false"`
	Level                     string       `json:"level,omitempty" enum:"B,T,LT,LTA,LTV" doc:"cades, pades, xades; default B. LTV (pades): LT with VRI entries, which Acrobat shows as LTV enabled"`
	HashAlgorithm             string       `json:"hashAlgorithm,omitempty" enum:"SHA1,SHA256,SHA384,SHA512" doc:"default SHA256; SHA1 is refused unless the operator allows it"`
	EncryptInAnyCase          bool         `json:"encryptInAnyCase,omitempty" doc:"pades: encrypt a PDF that is not (AES-256) with encryptionPassword before signing; default false"`
	EncryptionPassword        string       `json:"encryptionPassword,omitempty" doc:"pades: opens an encrypted PDF, which stays encrypted under its own keys"`
	Page                      int          `json:"page,omitempty" doc:"pades, visible signature: its page, -1 for the last; default 1"`
	X                         float64      `json:"x,omitempty" doc:"pades, visible signature: points from the left edge of the page"`
	Y                         float64      `json:"y,omitempty" doc:"pades, visible signature: points from the top of the page"`
	SignerImage               *signerImage `json:"signerImage,omitempty"`
	LockFields                lockFields   `json:"lockFields,omitempty"`
	WithSignatureField        bool         `json:"withSignatureField,omitempty" doc:"pades: sign into an existing empty field; a new one is made where there is none; default false"`
	Packaging                 string       `json:"packaging,omitempty" enum:"attached,detached,enveloped,enveloping,internally-detached,asic-s,asic-e" doc:"cades: attached (default), detached; xades: enveloped (default for XML), enveloping (default for another document), detached, internally-detached; both: asic-s, asic-e"`
	Detached                  bool         `json:"detached,omitempty" doc:"cades, xades: the same as packaging detached; default false"`
	CounterSignature          bool         `json:"counterSignature,omitempty" doc:"cades: counter-sign every signer of a .p7m; default false"`
	ParallelSignature         *bool        `json:"parallelSignature,omitempty" doc:"cades on a .p7m: add a signer beside the others; false signs the file as it is, a new layer around it; default true"`
	WithoutSignatureExclusion bool         `json:"withoutSignatureExclusion,omitempty" doc:"xades: keep signatures already there inside the signed data; default false"`
	XPathQuery                string       `json:"XPathQuery,omitempty" doc:"xades: the elements to sign, by XPath; each becomes a reference by Id"`
	SignElement               string       `json:"signElement,omitempty" doc:"xades: the element to sign, by Id"`
	SignatureID               string       `json:"signatureId,omitempty" doc:"xades: the Id of the new signature"`
	WithTimestamp             bool         `json:"withTimestamp,omitempty" doc:"cades, pades, xades: a time-stamp; level B with it is T; default false"`
	TimestampURL              string       `json:"timestampUrl,omitempty" doc:"the caller's time-stamp authority; the configured one where absent"`
	TimestampUsername         string       `json:"timestampUsername,omitempty"`
	TimestampPassword         string       `json:"timestampPassword,omitempty"`
	TimestampHashAlgo         string       `json:"timestampHashAlgo,omitempty" enum:"SHA1,SHA256,SHA384,SHA512" doc:"default SHA256; SHA1 is refused unless the operator allows it"`
	Timezone                  string       `json:"timezone,omitempty" doc:"IANA name: of the times shown in a visible signature; default UTC"`
	Batch                     bool         `json:"batch,omitempty" doc:"sign each document on its own: a zip in input order with report.json; default false"`
}

// signerImage describes how a visible signature looks.
type signerImage struct {
	Image          string   `json:"image,omitempty" doc:"base64 of a PNG or JPEG"`
	ImageURL       string   `json:"imageUrl,omitempty" doc:"where to fetch it instead"`
	SignerName     string   `json:"signerName,omitempty"`
	Location       string   `json:"location,omitempty"`
	Reason         string   `json:"reason,omitempty"`
	SignerEmail    string   `json:"signerEmail,omitempty"`
	ImageVisible   *bool    `json:"imageVisible,omitempty" doc:"default true; false: an invisible signature with these texts"`
	Width          int      `json:"width,omitempty" doc:"points; default 164"`
	Height         int      `json:"height,omitempty" doc:"points; default 45"`
	FieldsNameList []string `json:"fieldsNameList,omitempty" doc:"names of the fields to sign into"`
	SignAllFields  bool     `json:"signAllFields,omitempty" doc:"sign into every empty signature field; default false"`
}

// lockFields are names separated by commas, or a list of them.
type lockFields string

// Schema says so.
func (lockFields) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "pades: fields that the signature locks, separated by commas, or a list",
		OneOf:       []*huma.Schema{{Type: "string"}, {Type: "array", Items: &huma.Schema{Type: "string"}}},
	}
}

// inputDocuments are one document or several, in any of their forms.
type inputDocuments struct{}

type inputDocument struct {
	SourceType string   `json:"sourceType,omitempty" enum:"remote,base64,base64Hash" doc:"absent: by what is given"`
	URL        string   `json:"url,omitempty" doc:"of a remote document"`
	Headers    []string `json:"headers,omitempty" doc:"Name: value, sent when it is fetched"`
	Method     string   `json:"method,omitempty" enum:"get,post" doc:"default get"`
	PostData   string   `json:"postData,omitempty" doc:"body of a post"`
	Payload    string   `json:"payload,omitempty" doc:"base64 of the file, or of its digest"`
	Name       string   `json:"name,omitempty" doc:"file name: for zips, containers and the extension"`
}

// Schema names the forms.
func (inputDocuments) Schema(r huma.Registry) *huma.Schema {
	one := []*huma.Schema{
		{Type: "string", Description: "a URL, base64 of a file, or base64 of a SHA-256 digest (32 bytes: only a detached signature comes back)"},
		r.Schema(reflect.TypeFor[inputDocument](), true, "inputDocument"),
	}
	return &huma.Schema{
		Description: "One document or several; inputDocument is as good a name.",
		OneOf:       append(one, &huma.Schema{Type: "array", Items: &huma.Schema{OneOf: one}}),
	}
}

package ades

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Tri is the answer to a question that may have none: the zero value means
// that it could not be decided.
type Tri int8

const (
	Unknown Tri = 0
	Yes     Tri = 1
	No      Tri = -1
)

// TriOf turns a decided question into a Tri.
func TriOf(b bool) Tri {
	if b {
		return Yes
	}
	return No
}

func (t Tri) String() string {
	switch t {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// MarshalJSON writes true, false, or null for Unknown.
func (t Tri) MarshalJSON() ([]byte, error) {
	switch t {
	case Yes:
		return []byte("true"), nil
	case No:
		return []byte("false"), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Tri) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*t = Yes
	case "false":
		*t = No
	default:
		*t = Unknown
	}
	return nil
}

// Document is everything that a reader found in one layer of a document.
type Document struct {
	Format     Format       `json:"format"`
	Signatures []*Signature `json:"signatures"`
	// Timestamps of the document or container as a whole (PDF document
	// time-stamps, ASiC time-stamps, a token alone), oldest first.
	Timestamps []*Timestamp `json:"timestamps,omitempty"`
	// Evidence carried outside any one signature (the DSS dictionary of a PDF).
	Evidence []Evidence `json:"evidence,omitempty"`
	// StoreRevision is the last revision of a PDF that added to its DSS
	// dictionary, from 1; 0 where there is none.
	StoreRevision int       `json:"storeRevision,omitempty"`
	Problems      []Problem `json:"problems,omitempty"`
	// Parts are everything that a reader of this layer would take for the
	// document, and which signatures cover each: the data files of a container,
	// the content of a CMS, the regions of an XML document. A PDF has none here:
	// there the changes after signing tell.
	Parts []Part `json:"parts,omitempty"`
	// PEC is what a provider of certified mail says of the message.
	PEC *PEC `json:"pec,omitempty"`
	// Content is the signed content of this layer; nil when there is none, when
	// it is not in the document, and when no signature over it fits.
	Content []File `json:"-"`
}

// Fits tells whether the content is what was signed or time-stamped: No where a
// signature over it does not fit or is broken in its form, Unknown where that
// cannot be decided. A PDF is handed out as a whole, and every signature in it
// must fit; elsewhere Content holds only what a signature that fits covers.
func (d *Document) Fits() Tri {
	if len(d.Signatures) == 0 {
		all := Unknown
		for i, t := range d.Timestamps {
			one := t.ImprintIntact
			if t.Signature == nil || t.Signature.Intact() == No || Fatal(t.Problems) {
				one = No
			}
			if i == 0 || one < all {
				all = one
			}
		}
		return all
	}
	worst, best := Yes, No
	for _, s := range d.Signatures {
		one := s.Intact()
		if Fatal(s.Problems) {
			one = No
		}
		worst, best = min(worst, one), max(best, one)
	}
	if d.Format == PAdES {
		return worst
	}
	return best
}

// PEC is what daticert.xml says: the facts that a provider of Italian certified
// mail signs (RFC 6109).
type PEC struct {
	Type       string    `json:"type" doc:"daticert's tipo: posta-certificata, accettazione, avvenuta-consegna, …"`
	Sender     string    `json:"sender" doc:"who sent the message"`
	Recipients []string  `json:"recipients" doc:"to whom it is addressed"`
	Subject    string    `json:"subject" doc:"of the message"`
	MessageID  string    `json:"messageId" doc:"of the message that it is about"`
	Date       time.Time `json:"date" doc:"when the provider made it"`
	Provider   string    `json:"provider" doc:"of certified mail"`

	ID       string `json:"id,omitempty" doc:"that the provider gave it"`
	Receipt  string `json:"receipt,omitempty" doc:"completa, breve or sintetica"`
	Delivery string `json:"delivery,omitempty" doc:"the address that a receipt of delivery is for"`
	Error    string `json:"error,omitempty" doc:"why it failed, in the words of the format"`
	Detail   string `json:"detail,omitempty" doc:"why it failed, in the provider's words"`
}

// PartKind tells what a part of a document is.
type PartKind string

// The kinds of parts.
const (
	FilePart    PartKind = "file"    // a data file of a container, by name
	ContentPart PartKind = "content" // the content of a CMS or of a time-stamp
	XMLPart     PartKind = "xml"     // a region of an XML document, by the XPath of its first node
)

// Part is a piece of a document and the signatures that cover it.
type Part struct {
	Kind PartKind `json:"kind"`
	Name string   `json:"name,omitempty"`
	// CoveredBy are the ids of the signatures whose references cover the whole
	// part, whether or not they verify.
	CoveredBy []string `json:"coveredBy,omitempty"`
	// Expected: the caller named this part as what counts (ReadOptions.Expect).
	Expected bool `json:"expected,omitempty"`
}

// Signature is what a reader found about one signature. All arithmetic is
// done by the reader; trust, time and policy are not its business.
type Signature struct {
	ID     string `json:"id"` // unique in the document and stable between readings
	Format Format `json:"format"`
	// Path says where the signature stands: "signerInfos[0]", an XPath, a field
	// name, "META-INF/signatures.xml#S0".
	Path string `json:"path,omitempty"`

	// Cryptography.
	Algorithm      Algorithm   `json:"algorithm"`
	Value          []byte      `json:"value"`
	References     []Reference `json:"references"`     // what was digested
	ValueIntact    Tri         `json:"valueIntact"`    // the signature value verifies with the signing certificate's key
	ToBeSigned     []byte      `json:"-"`              // the octets under the value
	ContentIsWhole bool        `json:"contentIsWhole"` // the references cover the whole document or container

	// Identification of the signer.
	SigningCertificate []byte           `json:"signingCertificate,omitempty"` // DER; nil when it was not found
	CertificateRefs    []CertRef        `json:"certificateRefs,omitempty"`    // signed references to it, in order
	ClaimedTime        time.Time        `json:"claimedTime,omitzero"`
	Policy             *SignaturePolicy `json:"policy,omitempty"`
	// Location is where the signer says to have signed, Commitments are what the
	// signer says to mean by it: dotted identifiers or URIs, as they stand.
	Location    string   `json:"location,omitempty"`
	Commitments []string `json:"commitments,omitempty"`
	// Attributes and properties present, by the standard's name
	// ("signing-certificate-v2", "SigningTime", "archive-time-stamp-v3").
	Attributes []Attribute `json:"attributes,omitempty"`

	Evidence          []Evidence   `json:"evidence,omitempty"` // carried by this signature
	Timestamps        []*Timestamp `json:"timestamps,omitempty"`
	CounterSignatures []*Signature `json:"counterSignatures,omitempty"`
	PDF               *PDFFacts    `json:"pdf,omitempty"`
	// Problems of form; a fatal one is FORMAT_FAILURE to the judge.
	Problems []Problem `json:"problems,omitempty"`
	// Content is what this signature covers; nil where the signature does not fit.
	Content []File `json:"-"`
}

// Intact is the arithmetic of the whole signature: Yes when the value verifies
// and every reference was found and matches, No when something is wrong,
// Unknown when nothing is wrong but something is missing.
func (s *Signature) Intact() Tri {
	all := s.ValueIntact
	if len(s.References) == 0 && all == Yes {
		all = Unknown
	}
	for _, r := range s.References {
		if r.Intact == No {
			return No
		}
		if r.Intact == Unknown && all == Yes {
			all = Unknown
		}
	}
	return all
}

// Algorithm names a signature algorithm.
type Algorithm struct {
	Name    string `json:"name"`              // "SHA256withRSA", "SHA256withRSAandMGF1", "SHA256withECDSA", "Ed25519"
	Key     string `json:"key"`               // "RSA", "RSASSA-PSS", "ECDSA", "DSA", "Ed25519", "Ed448"
	Digest  string `json:"digest"`            // "SHA256"; of the signature value
	Content string `json:"content,omitempty"` // digest over the content (message-digest), where it differs in kind
	KeySize int    `json:"keySize"`
	OID     string `json:"oid,omitempty"` // OID or XML algorithm URI as it stands
}

// Reference is one digest over signed data.
type Reference struct {
	Kind   string `json:"kind"` // "message-digest", "xml-reference", "signed-properties", "manifest-entry", "byte-range", …
	Name   string `json:"name,omitempty"`
	URI    string `json:"uri,omitempty"`
	Digest string `json:"digest"` // algorithm
	Value  []byte `json:"value,omitempty"`
	Found  bool   `json:"found"`
	Intact Tri    `json:"intact"`
	Detail string `json:"detail,omitempty"`
	// MediaType is what the signer says the data is, "" if nothing.
	MediaType string `json:"mediaType,omitempty"`
	// Relationships are the ids of those that the digest is over, where the data
	// is the relationships of a part of an Office document.
	Relationships []string `json:"relationships,omitempty"`
}

// CertRef is one signed reference to the signing certificate
// (signing-certificate, signing-certificate-v2, SigningCertificate, …V2).
type CertRef struct {
	Attribute    string `json:"attribute"`
	Digest       string `json:"digest"` // algorithm
	DigestMatch  Tri    `json:"digestMatch"`
	IssuerSerial Tri    `json:"issuerSerial"` // Unknown when it carries none
}

// SignaturePolicy is the policy that a signature is made under (EPES).
type SignaturePolicy struct {
	ID      string `json:"id"`                // a dotted identifier in CMS, a URI in XML
	Implied bool   `json:"implied,omitempty"` // read only: the signature does not say which

	// Of its document, for who signs; readers leave them out.
	Hash   crypto.Hash `json:"-"`
	Digest []byte      `json:"-"`
	URI    string      `json:"-"` // where it can be read; may be empty
}

// Attribute is a signed or unsigned attribute or property that is present.
type Attribute struct {
	Name   string `json:"name"`
	Signed bool   `json:"signed"`
	Values int    `json:"values"`
}

// Has reports whether an attribute of that name is present.
func (s *Signature) Has(name string) bool {
	for _, a := range s.Attributes {
		if a.Name == name {
			return true
		}
	}
	return false
}

// EvidenceKind tells what a piece of evidence is.
type EvidenceKind string

const (
	EvidenceCertificate EvidenceKind = "certificate"
	EvidenceOCSP        EvidenceKind = "ocsp" // a whole OCSPResponse, re-wrapped if only the basic response was carried
	EvidenceCRL         EvidenceKind = "crl"
)

// Evidence is a certificate or a piece of revocation data found in a document.
type Evidence struct {
	Kind   EvidenceKind `json:"kind"`
	Origin string       `json:"origin"` // "SignedData", "DSS", "VRI", "revocation-values", "KeyInfo", "TimeStampValidationData", …
	Raw    []byte       `json:"raw"`    // DER
	// Revision of the PDF that brought it, from 1; 0 elsewhere.
	Revision int `json:"revision,omitempty"`
}

// ID names the piece by its content, so that a time-stamp can say what it covers.
func (e Evidence) ID() string { return FactID(e.Raw) }

// Fatal reports whether one of the problems makes the form a broken one.
func Fatal(list []Problem) bool {
	return slices.ContainsFunc(list, func(p Problem) bool { return p.Fatal })
}

// FactID is the identifier of a fact that is known by its bytes alone.
func FactID(raw []byte) string {
	h := sha256.Sum256(raw)
	return hex.EncodeToString(h[:])
}

// TimestampKind tells what a time-stamp is taken over.
type TimestampKind string

const (
	ContentTimestamp   TimestampKind = "content"      // before signing
	SignatureTimestamp TimestampKind = "signature"    // over the signature value
	SigAndRefs         TimestampKind = "sig-and-refs" // CAdES-X type 1, SigAndRefsTimeStamp
	RefsOnly           TimestampKind = "refs-only"
	ArchiveTimestamp   TimestampKind = "archive"
	RecordTimestamp    TimestampKind = "evidence-record"
	DocumentTimestamp  TimestampKind = "document" // PDF DocTimeStamp
	ContainerTimestamp TimestampKind = "container"
	DetachedTimestamp  TimestampKind = "detached" // a token alone
)

// Timestamp is what was found about one RFC 3161 token.
type Timestamp struct {
	ID    string        `json:"id"`
	Kind  TimestampKind `json:"kind"`
	Path  string        `json:"path,omitempty"`
	Token []byte        `json:"token"` // ContentInfo, DER or as it stood

	Time          time.Time `json:"time"`
	Policy        string    `json:"policy,omitempty"`
	SerialNumber  string    `json:"serialNumber,omitempty"` // decimal
	ImprintDigest string    `json:"imprintDigest"`
	Imprint       []byte    `json:"imprint"`
	ImprintIntact Tri       `json:"imprintIntact"`
	// Signature holds the token's own signature: value, certificates, references.
	Signature *Signature `json:"signature"`
	// Covers lists the ids of what existed at Time if the token is good:
	// signatures, time-stamps, and evidence by FactID.
	Covers []string `json:"covers,omitempty"`
	// PDF is set for document time-stamps.
	PDF      *PDFFacts `json:"pdf,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is something a reader noticed about the form of what it read.
type Problem struct {
	Fatal bool `json:"fatal"` // the form is broken: nothing can be trusted
	// Doubt: readers show different things for what was signed, so that nobody
	// can tell what the signer saw.
	Doubt bool   `json:"doubt,omitempty"`
	Where string `json:"where,omitempty"`
	Text  string `json:"text"`
	// Code is a stable word for what was noticed ("PDF_SIZE_TOO_SMALL"), and
	// Values what its text is made with, in order.
	Code   string   `json:"code,omitempty"`
	Values []string `json:"values,omitempty"`
}

// PDFFacts are the facts of a signature or time-stamp inside a PDF.
type PDFFacts struct {
	Field     string    `json:"field"` // full field name
	SubFilter string    `json:"subFilter"`
	ByteRange []int64   `json:"byteRange"`
	Revision  int       `json:"revision"`  // which revision it closes, from 1
	Revisions int       `json:"revisions"` // how many the file has
	Name      string    `json:"name,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Location  string    `json:"location,omitempty"`
	Contact   string    `json:"contact,omitempty"`
	Date      time.Time `json:"date,omitzero"` // M
	// DocMDP is the permission P of a certification signature, 0 when it is none.
	DocMDP int `json:"docMDP,omitempty"`
	// CoversWholeDocument: the document as it is shown is what was signed; only
	// permitted changes follow the signed revision.
	CoversWholeDocument bool `json:"coversWholeDocument"`
	// Changes between the signed revision and the last one.
	Changes []Change `json:"changes,omitempty"`
}

// Change is something that differs between the signed revision and the file.
// It is permitted, forbidden, or unexplained.
type Change struct {
	Kind      string `json:"kind" doc:"such as dss, document-timestamp, signature, form-fill, annotation, page, content, trailing-data, undefined"` // "dss", "document-timestamp", "signature", "form-fill", "annotation", "page", "content", "trailing-data", "undefined", …
	Permitted bool   `json:"permitted" doc:"a signature allows it"`
	// Unexplained: nothing shows that the change is harmless, and nothing that it
	// is not. It is not permitted, and the verdict is INDETERMINATE.
	Unexplained bool   `json:"unexplained,omitempty" doc:"nothing shows that it is harmless, and nothing that it is not"`
	Description string `json:"description" doc:"in a sentence"`
	Revision    int    `json:"revision" doc:"of the file in which it was made, from 1"`
	// What is the kind in detail, a word of the table of package revision; Page
	// (from 1), Field and Name (a key, a type) say where. Translations start
	// from them.
	What  string `json:"what,omitempty" doc:"the kind in detail"`
	Page  int    `json:"page,omitempty" doc:"where, from 1"`
	Field string `json:"field,omitempty" doc:"of the form, where it is about one"`
	Name  string `json:"name,omitempty" doc:"a key or type, where it is about one"`
}

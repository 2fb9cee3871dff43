package ades

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Tri is the answer to a yes-no question that may be undecidable. The zero value is Unknown.
type Tri int8

const (
	Unknown Tri = 0
	Yes     Tri = 1
	No      Tri = -1
)

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
	// Timestamps of the document or container as a whole (PDF document time-stamps, ASiC
	// time-stamps, a token alone), oldest first.
	Timestamps []*Timestamp `json:"timestamps,omitempty"`
	// Evidence outside any one signature (the DSS dictionary of a PDF).
	Evidence []Evidence `json:"evidence,omitempty"`
	// StoreRevision is the last revision of a PDF that added to its DSS dictionary, counted from 1;
	// 0 if none did.
	StoreRevision int       `json:"storeRevision,omitempty"`
	Problems      []Problem `json:"problems,omitempty"`
	// Parts are everything that a reader of this layer would take for the document, and which
	// signatures cover each: the data files of a container, the content of a CMS, the regions of an
	// XML document. A PDF has none: changes after signing are reported instead.
	Parts []Part `json:"parts,omitempty"`
	// PEC has the statements of the certified mail provider about the message.
	PEC *PEC `json:"pec,omitempty"`
	// Content is the signed content of this layer; nil if there is none, if it is not in the
	// document, or if no signature over it matches.
	Content []File `json:"-"`
}

// Fits reports whether the content is what was signed or time-stamped: No if a signature over it
// does not match or has a format failure, Unknown if that cannot be decided. A PDF is returned as a
// whole, so every signature in it must match; elsewhere Content only has what a matching signature
// covers.
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

// PEC is daticert.xml: the facts signed by a provider of Italian certified mail (RFC 6109).
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

// PartKind is the kind of a part of a document.
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
	// Expected: the caller named this part in ReadOptions.Expect.
	Expected bool `json:"expected,omitempty"`
}

// Signature is what a reader found about one signature. The reader does all cryptographic checks,
// and nothing about trust, time or policy.
type Signature struct {
	ID     string `json:"id"` // unique in the document and the same at every reading
	Format Format `json:"format"`
	// Path locates the signature: "signerInfos[0]", an XPath, a field name,
	// "META-INF/signatures.xml#S0".
	Path string `json:"path,omitempty"`

	// Cryptography.
	Algorithm      Algorithm   `json:"algorithm"`
	Value          []byte      `json:"value"`
	References     []Reference `json:"references"`     // what was digested
	ValueIntact    Tri         `json:"valueIntact"`    // the signature value verifies with the signing certificate's key
	ToBeSigned     []byte      `json:"-"`              // the signed octets
	ContentIsWhole bool        `json:"contentIsWhole"` // the references cover the whole document or container

	// Identification of the signer.
	SigningCertificate []byte           `json:"signingCertificate,omitempty"` // DER; nil if it was not found
	CertificateRefs    []CertRef        `json:"certificateRefs,omitempty"`    // signed references to it, in order
	ClaimedTime        time.Time        `json:"claimedTime,omitzero"`
	Policy             *SignaturePolicy `json:"policy,omitempty"`
	// Location is where the signer claims to have signed, Commitments are the signer's commitment
	// types: object identifiers or URIs, unchanged.
	Location    string   `json:"location,omitempty"`
	Commitments []string `json:"commitments,omitempty"`
	// Attributes and properties present, by the standard's name
	// ("signing-certificate-v2", "SigningTime", "archive-time-stamp-v3").
	Attributes []Attribute `json:"attributes,omitempty"`

	Evidence          []Evidence   `json:"evidence,omitempty"` // carried by this signature
	Timestamps        []*Timestamp `json:"timestamps,omitempty"`
	CounterSignatures []*Signature `json:"counterSignatures,omitempty"`
	PDF               *PDFFacts    `json:"pdf,omitempty"`
	// Problems of form; a fatal one is judged FORMAT_FAILURE.
	Problems []Problem `json:"problems,omitempty"`
	// Content is what this signature covers; nil if it does not match.
	Content []File `json:"-"`
}

// Intact combines the cryptographic checks: Yes if the value verifies and every reference was found
// and matches, No if any is wrong, Unknown if none is wrong but some are missing.
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
	Content string `json:"content,omitempty"` // digest algorithm of the content (message-digest), if it is another one
	KeySize int    `json:"keySize"`
	OID     string `json:"oid,omitempty"` // OID or XML algorithm URI, unchanged
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
	// MediaType is that of the data as claimed by the signer, or "".
	MediaType string `json:"mediaType,omitempty"`
	// Relationships are the ids of the relationships under the digest, if the data is the
	// relationships part of an Office document.
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

// SignaturePolicy is the policy of a signature (EPES).
type SignaturePolicy struct {
	ID      string `json:"id"`                // a dotted identifier in CMS, a URI in XML
	Implied bool   `json:"implied,omitempty"` // read only: the signature does not say which

	// The digest and location of the policy document, for signing; readers do not set them.
	Hash   crypto.Hash `json:"-"`
	Digest []byte      `json:"-"`
	URI    string      `json:"-"` // where it is published; may be empty
}

// Attribute is a signed or unsigned attribute or property that is present.
type Attribute struct {
	Name   string `json:"name"`
	Signed bool   `json:"signed"`
	Values int    `json:"values"`
}

// Has reports whether an attribute with that name is present.
func (s *Signature) Has(name string) bool {
	return slices.ContainsFunc(s.Attributes, func(a Attribute) bool { return a.Name == name })
}

// EvidenceKind is the kind of a piece of evidence.
type EvidenceKind string

const (
	EvidenceCertificate EvidenceKind = "certificate"
	EvidenceOCSP        EvidenceKind = "ocsp" // a whole OCSPResponse, re-wrapped if only the basic response was present
	EvidenceCRL         EvidenceKind = "crl"
)

// Evidence is a certificate or a piece of revocation data found in a document.
type Evidence struct {
	Kind   EvidenceKind `json:"kind"`
	Origin string       `json:"origin"` // "SignedData", "DSS", "VRI", "revocation-values", "KeyInfo", "TimeStampValidationData", …
	Raw    []byte       `json:"raw"`    // DER
	// Revision of the PDF that added it, counted from 1; 0 elsewhere.
	Revision int `json:"revision,omitempty"`
}

// ID identifies the evidence by its content, so that a time-stamp can refer to it.
func (e Evidence) ID() string { return FactID(e.Raw) }

// Fatal reports whether one of the problems is fatal.
func Fatal(list []Problem) bool {
	return slices.ContainsFunc(list, func(p Problem) bool { return p.Fatal })
}

// FactID identifies a fact by the hash of its bytes.
func FactID(raw []byte) string {
	h := sha256.Sum256(raw)
	return hex.EncodeToString(h[:])
}

// TimestampKind says what a time-stamp is over.
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
	Token []byte        `json:"token"` // ContentInfo, DER or as found

	Time          time.Time `json:"time"`
	Policy        string    `json:"policy,omitempty"`
	SerialNumber  string    `json:"serialNumber,omitempty"` // decimal
	ImprintDigest string    `json:"imprintDigest"`
	Imprint       []byte    `json:"imprint"`
	ImprintIntact Tri       `json:"imprintIntact"`
	// Digests are the algorithms of the digests through which it proves more than is under its
	// imprint: those of a manifest, or of a hash index.
	Digests []string `json:"digests,omitempty"`
	// Signature is the token's own signature: value, certificates, references.
	Signature *Signature `json:"signature"`
	// Covers lists the ids of what existed at Time if the token is good:
	// signatures, time-stamps, and evidence by FactID.
	Covers []string `json:"covers,omitempty"`
	// PDF is set for document time-stamps.
	PDF      *PDFFacts `json:"pdf,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is something a reader noticed about the form of its input.
type Problem struct {
	Fatal bool `json:"fatal"` // format failure: nothing can be trusted
	// Doubt: readers may show different content, so that what the signer saw cannot be determined.
	Doubt bool   `json:"doubt,omitempty"`
	Where string `json:"where,omitempty"`
	Text  string `json:"text"`
	// Code is a stable identifier ("PDF_SIZE_TOO_SMALL"), and Values are the arguments of the text,
	// in order.
	Code   string   `json:"code,omitempty"`
	Values []string `json:"values,omitempty"`
}

// PDFFacts are the facts of a signature or time-stamp inside a PDF.
type PDFFacts struct {
	Field     string    `json:"field"` // full field name
	SubFilter string    `json:"subFilter"`
	ByteRange []int64   `json:"byteRange"`
	Revision  int       `json:"revision"`  // the revision it closes, counted from 1
	Revisions int       `json:"revisions"` // total number in the file
	Name      string    `json:"name,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Location  string    `json:"location,omitempty"`
	Contact   string    `json:"contact,omitempty"`
	Date      time.Time `json:"date,omitzero"` // M
	// DocMDP is the permission P of a certification signature, 0 if it is none.
	DocMDP int `json:"docMDP,omitempty"`
	// CoversWholeDocument: the document as shown is what was signed; only permitted changes follow
	// the signed revision.
	CoversWholeDocument bool `json:"coversWholeDocument"`
	// Changes between the signed revision and the last one.
	Changes []Change `json:"changes,omitempty"`
}

// Change is a difference between the signed revision and the file. It is permitted, forbidden, or
// unexplained.
type Change struct {
	Kind      string `json:"kind" doc:"such as dss, document-timestamp, signature, form-fill, annotation, page, content, trailing-data, undefined"` // "dss", "document-timestamp", "signature", "form-fill", "annotation", "page", "content", "trailing-data", "undefined", …
	Permitted bool   `json:"permitted" doc:"a signature allows it"`
	// Unexplained: the change can neither be shown to be harmless nor to be harmful. It is not
	// permitted, and the verdict is INDETERMINATE.
	Unexplained bool   `json:"unexplained,omitempty" doc:"nothing shows that it is harmless, and nothing that it is not"`
	Description string `json:"description" doc:"in a sentence"`
	Revision    int    `json:"revision" doc:"of the file in which it was made, from 1"`
	// What is the kind in detail, a word of the table in package revision; Page (from 1), Field and
	// Name (a key, a type) locate it. Translations use these.
	What  string `json:"what,omitempty" doc:"the kind in detail"`
	Page  int    `json:"page,omitempty" doc:"where, from 1"`
	Field string `json:"field,omitempty" doc:"of the form, where it is about one"`
	Name  string `json:"name,omitempty" doc:"a key or type, where it is about one"`
}

package report

import (
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
)

// Indication is the main verdict of EN 319 102-1 clause 5.1.3.
type Indication string

// The indications, and those of building blocks and time-stamps.
const (
	TotalPassed   Indication = "TOTAL-PASSED"
	TotalFailed   Indication = "TOTAL-FAILED"
	Indeterminate Indication = "INDETERMINATE"
	Passed        Indication = "PASSED"
	Failed        Indication = "FAILED"
)

// SubIndication says why, in the words of EN 319 102-1 table 6.
type SubIndication string

// The sub-indications.
const (
	FormatFailure                 SubIndication = "FORMAT_FAILURE"
	HashFailure                   SubIndication = "HASH_FAILURE"
	SigCryptoFailure              SubIndication = "SIG_CRYPTO_FAILURE"
	Revoked                       SubIndication = "REVOKED"
	Expired                       SubIndication = "EXPIRED"
	NotYetValid                   SubIndication = "NOT_YET_VALID"
	SigConstraintsFailure         SubIndication = "SIG_CONSTRAINTS_FAILURE"
	ChainConstraintsFailure       SubIndication = "CHAIN_CONSTRAINTS_FAILURE"
	CertificateChainGeneral       SubIndication = "CERTIFICATE_CHAIN_GENERAL_FAILURE"
	CryptoConstraintsFailure      SubIndication = "CRYPTO_CONSTRAINTS_FAILURE"
	CryptoConstraintsFailureNoPOE SubIndication = "CRYPTO_CONSTRAINTS_FAILURE_NO_POE"
	PolicyProcessingError         SubIndication = "POLICY_PROCESSING_ERROR"
	TimestampOrderFailure         SubIndication = "TIMESTAMP_ORDER_FAILURE"
	NoSigningCertificateFound     SubIndication = "NO_SIGNING_CERTIFICATE_FOUND"
	NoCertificateChainFound       SubIndication = "NO_CERTIFICATE_CHAIN_FOUND"
	NoCertificateChainFoundNoPOE  SubIndication = "NO_CERTIFICATE_CHAIN_FOUND_NO_POE"
	RevocationOutOfBoundsNoPOE    SubIndication = "REVOCATION_OUT_OF_BOUNDS_NO_POE"
	RevokedNoPOE                  SubIndication = "REVOKED_NO_POE"
	RevokedCANoPOE                SubIndication = "REVOKED_CA_NO_POE"
	OutOfBoundsNotRevoked         SubIndication = "OUT_OF_BOUNDS_NOT_REVOKED"
	OutOfBoundsNoPOE              SubIndication = "OUT_OF_BOUNDS_NO_POE"
	NoPOE                         SubIndication = "NO_POE"
	TryLater                      SubIndication = "TRY_LATER"
	SignedDataNotFound            SubIndication = "SIGNED_DATA_NOT_FOUND"
)

// Qualification is what a signature is under Regulation (EU) 910/2014.
type Qualification string

// The qualifications of the contract, from the strongest down.
const (
	QESig     Qualification = "QESig"
	QESeal    Qualification = "QESeal"
	AdESigQC  Qualification = "AdESig-QC"
	AdESealQC Qualification = "AdESeal-QC"
	AdESig    Qualification = "AdESig"
	AdESeal   Qualification = "AdESeal"
	NA        Qualification = "N/A"

	// Of time-stamps: a qualified authority, another one that is on a list.
	QTSA Qualification = "QTSA"
	TSA  Qualification = "TSA"
)

// Conclusions are a judgement of facts by a policy at a time.
type Conclusions struct {
	Policy     string        `json:"policy"`
	Operator   bool          `json:"operator"` // the policy is the operator's own
	At         time.Time     `json:"at"`
	Indication Indication    `json:"indication"`
	Signatures []*Conclusion `json:"signatures"`
	Timestamps []*Conclusion `json:"timestamps,omitempty"` // of documents without a signature
	// TimestampsVerified: there is no signature, and every time-stamp passed.
	TimestampsVerified bool `json:"timestampsVerified,omitempty"`
	// Uncovered names what counts in the document and no valid signature
	// covers; "" is the document itself.
	Uncovered []string `json:"uncovered,omitempty"`
	// Partial: every signature is valid, but they leave something uncovered.
	Partial bool `json:"partial,omitempty"`
	// SignedFiles and UnsignedFiles are the files of the outermost container,
	// by whether a valid signature covers them.
	SignedFiles   []string `json:"signedFiles,omitempty"`
	UnsignedFiles []string `json:"unsignedFiles,omitempty"`
	// Messages about the document as a whole.
	Messages []Message `json:"messages,omitempty"`
}

// Conclusion is the verdict on one signature or time-stamp.
type Conclusion struct {
	ID            string        `json:"id"`
	Layer         int           `json:"layer"` // index into Facts.Layers
	Indication    Indication    `json:"indication"`
	SubIndication SubIndication `json:"subIndication,omitempty"`
	Level         string        `json:"level,omitempty"`
	// BestTime is the earliest proven time of existence; Proven when a
	// time-stamp proves it and it is not merely the time of validation.
	BestTime      time.Time     `json:"bestTime"`
	Proven        bool          `json:"proven"`
	ValidUntil    time.Time     `json:"validUntil,omitzero"`
	Qualification Qualification `json:"qualification,omitempty"`
	// CoversWhole: the signature covers everything that a reader would take for
	// the document.
	CoversWhole bool `json:"coversWhole,omitempty"`
	// SignedFiles and UnsignedFiles of the container, by whether this signature
	// covers them.
	SignedFiles   []string `json:"signedFiles,omitempty"`
	UnsignedFiles []string `json:"unsignedFiles,omitempty"`
	// SignedElements are the XPaths at which what this signature covers begins
	// in an XML document.
	SignedElements []string `json:"signedElements,omitempty"`
	// QC and SSCD: "VALID", "NOT_VALID", "UNKNOWN".
	QC   string `json:"qc,omitempty"`
	SSCD string `json:"sscd,omitempty"`
	// Provider is the trust service provider that a trusted list names.
	Provider string `json:"provider,omitempty"`
	// Path chosen for the signer, leaf first, and where it ends.
	Path        []string `json:"path,omitempty"`
	Anchor      *Anchor  `json:"anchor,omitempty"`
	TrustedList bool     `json:"trustedList"`

	SignerStatus string    `json:"signerStatus,omitempty"`
	IssuerStatus string    `json:"issuerStatus,omitempty"`
	RevokedAt    time.Time `json:"revokedAt,omitzero"`
	IssuerRevAt  time.Time `json:"issuerRevokedAt,omitzero"`

	Messages   []Message     `json:"messages,omitempty"`
	Timestamps []*Conclusion `json:"timestamps,omitempty"`
	Counters   []*Conclusion `json:"counterSignatures,omitempty"`

	// What was judged; not stored, since the facts hold it.
	Signature *ades.Signature `json:"-"`
	Timestamp *ades.Timestamp `json:"-"`
}

// Severity of a message: the numbers are those of the contract's notes.
type Severity int

// The severities.
const (
	SeverityInfo Severity = iota
	SeverityWarning
	SeverityError
)

// String is the word of the contract's findings.
func (s Severity) String() string { return finding.Severity(s).String() }

// Message is one finding, with the building block that found it.
type Message struct {
	Severity Severity `json:"severity"`
	Block    string   `json:"block"` // "FC", "ISC", "XCV", "CV", "SAV", "VTS", "PSV", …
	Text     string   `json:"text"`  // in English
	// Code is the stable word for what was found (docs/findings.md), and Values
	// what Text is made with, in order: other languages are made from them too.
	Code   string   `json:"code"`
	Values []string `json:"values,omitempty"`
}

// Report is facts with the conclusions drawn from them.
type Report struct {
	Facts       *Facts       `json:"facts"`
	Conclusions *Conclusions `json:"conclusions"`
	MadeAt      time.Time    `json:"madeAt"`
	// Zone of the times in reports for people; nil means UTC.
	Zone *time.Location `json:"-"`
	// AtHand: who reads it has the commands of rogito at hand, and is told them.
	AtHand bool `json:"-"`
	// Producer is the program and its version, for the foot of a PDF.
	Producer string `json:"-"`
	// Source is the document itself, for its digest in a report; may be nil.
	Source ades.Source `json:"-"`
	// Plain is the signed content, innermost with recursion; nil when there
	// is none to hand out.
	Plain ades.Source `json:"-"`
	// Contents, where they were asked for, are the signed files that can be handed out, innermost with
	// recursion: as Plain, but all that a container or a message has, with names
	// that are safe to write.
	Contents []ades.File `json:"-"`
}

package report

import (
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
)

// Indication is the main verdict of EN 319 102-1, clause 5.1.3.
type Indication string

// The indications, and those of building blocks and time-stamps.
const (
	TotalPassed   Indication = "TOTAL-PASSED"
	TotalFailed   Indication = "TOTAL-FAILED"
	Indeterminate Indication = "INDETERMINATE"
	Passed        Indication = "PASSED"
	Failed        Indication = "FAILED"
)

// SubIndication is the reason, one of EN 319 102-1, table 6.
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

// The qualifications of the API, from the strongest down.
const (
	QESig     Qualification = "QESig"
	QESeal    Qualification = "QESeal"
	AdESigQC  Qualification = "AdESig-QC"
	AdESealQC Qualification = "AdESeal-QC"
	AdESig    Qualification = "AdESig"
	AdESeal   Qualification = "AdESeal"
	NA        Qualification = "N/A"

	// Of time-stamps: a qualified authority, and another one on a list.
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
	// Uncovered names relevant parts that no valid signature covers; "" is the document itself.
	Uncovered []string `json:"uncovered,omitempty"`
	// Partial: every signature is valid, but together they do not cover everything.
	Partial bool `json:"partial,omitempty"`
	// SignedFiles and UnsignedFiles are the files of the outermost container that valid signatures
	// cover, and the others.
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
	// BestTime is the earliest proven time of existence; Proven if a time-stamp proves it,
	// otherwise it is the time of validation.
	BestTime      time.Time     `json:"bestTime"`
	Proven        bool          `json:"proven"`
	ValidUntil    time.Time     `json:"validUntil,omitzero"`
	Qualification Qualification `json:"qualification,omitempty"`
	// CoversWhole: the signature covers everything that a reader would take for the document.
	CoversWhole bool `json:"coversWhole,omitempty"`
	// SignedFiles and UnsignedFiles are the files of the container that this signature covers, and
	// the others.
	SignedFiles   []string `json:"signedFiles,omitempty"`
	UnsignedFiles []string `json:"unsignedFiles,omitempty"`
	// SignedElements are the XPaths of the elements at which the coverage of this signature in an
	// XML document begins.
	SignedElements []string `json:"signedElements,omitempty"`
	// QC and SSCD: "VALID", "NOT_VALID", "UNKNOWN".
	QC   string `json:"qc,omitempty"`
	SSCD string `json:"sscd,omitempty"`
	// Provider is the trust service provider according to a trusted list.
	Provider string `json:"provider,omitempty"`
	// Path chosen for the signer, leaf first, and its anchor.
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

	// What was judged; not stored, since it is part of the facts.
	Signature *ades.Signature `json:"-"`
	Timestamp *ades.Timestamp `json:"-"`
}

// Severity of a message; the numbers are those of the API.
type Severity int

// The severities.
const (
	SeverityInfo Severity = iota
	SeverityWarning
	SeverityError
)

// String is the API's name of a severity.
func (s Severity) String() string { return finding.Severity(s).String() }

// Message is one finding, with the building block that found it.
type Message struct {
	Severity Severity `json:"severity"`
	Block    string   `json:"block"` // "FC", "ISC", "XCV", "CV", "SAV", "VTS", "PSV", …
	Text     string   `json:"text"`  // in English
	// Code is a stable identifier (docs/findings.md), and Values are the arguments of Text, in
	// order: translations use them too.
	Code   string   `json:"code"`
	Values []string `json:"values,omitempty"`
}

// Report is facts with the conclusions drawn from them.
type Report struct {
	Facts       *Facts       `json:"facts"`
	Conclusions *Conclusions `json:"conclusions"`
	MadeAt      time.Time    `json:"madeAt"`
	// Zone of the times in reports; nil means UTC.
	Zone *time.Location `json:"-"`
	// AtHand: the reader has the rogito command available, so the report may refer to it.
	AtHand bool `json:"-"`
	// Producer is the program and its version, for the footer of a PDF.
	Producer string `json:"-"`
	// Source is the document itself, for its digest in a report; may be nil.
	Source ades.Source `json:"-"`
	// Plain is the signed content, innermost with recursion; nil if there is none to return.
	Plain ades.Source `json:"-"`
	// Contents, if asked for, are the signed files that can be returned, innermost with recursion:
	// like Plain, but all files of a container or message, with names that are safe to write.
	Contents []ades.File `json:"-"`
}

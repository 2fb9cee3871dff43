// Package report has the facts that a verification found and the conclusions from them, in the
// terms of ETSI EN 319 102-1, and the JSON of both. Package [rogito.dev/rogito/report/paper]
// formats them for people and as XML.
//
// [Facts] are everything that was gathered: documents, certificates, paths, revocation data,
// trusted-list services. They can be stored and judged again; package policy draws [Conclusions]
// from them and nothing else.
package report

import (
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
)

// Facts are the complete input of a judgement.
type Facts struct {
	Version    int       `json:"version"` // of this form: 1
	GatheredAt time.Time `json:"gatheredAt"`
	// Layers of the document, outermost first; sibling layers (the files of a container) have the
	// same level.
	Layers       []*Layer                 `json:"layers"`
	Certificates map[string]*Certificate  `json:"certificates"`          // by id
	Paths        map[string][]*Path       `json:"paths,omitempty"`       // by the id of the leaf, best first
	Revocations  map[string][]*Revocation `json:"revocations,omitempty"` // by the id of the certificate
	// NotJudged names a signed file of a known kind that is not judged, such as "an OpenPGP
	// signature"; there are no layers then.
	NotJudged string `json:"notJudged,omitempty"`
	// TrustState is the state of the anchors at that time.
	TrustState TrustState `json:"trustState"`
	// Notes of the gathering: what could not be fetched, which limit was reached.
	Notes []ades.Problem `json:"notes,omitempty"`
}

// Layer is one document in a nesting of signed documents.
type Layer struct {
	Level    int            `json:"level"` // 0 for the outermost
	Name     string         `json:"name,omitempty"`
	Document *ades.Document `json:"document"`
	// Broken: the layer claims to be signed but cannot be read.
	Broken *ades.Problem `json:"broken,omitempty"`
	// Levels of the signatures by id, by the rules of their format.
	Levels map[string]string `json:"levels,omitempty"`
}

// Certificate has the properties of a certificate that are needed for judging.
type Certificate struct {
	ID           string         `json:"id"`
	Raw          []byte         `json:"raw"`
	Subject      string         `json:"subject"`
	Issuer       string         `json:"issuer"`
	SubjectCN    string         `json:"subjectCN"`
	IssuerCN     string         `json:"issuerCN"`
	Holder       Name           `json:"holder,omitzero"`
	Authority    Name           `json:"authority,omitzero"`
	Country      string         `json:"country,omitempty"` // of the issuer
	SerialNumber string         `json:"serialNumber"`      // decimal
	NotBefore    time.Time      `json:"notBefore"`
	NotAfter     time.Time      `json:"notAfter"`
	Signed       ades.Algorithm `json:"signed"` // how the issuer signed it; KeySize is the issuer's if known
	Key          string         `json:"key"`
	KeySize      int            `json:"keySize"`
	KeyDigest    string         `json:"keyDigest,omitempty"` // SHA-256 of SubjectPublicKeyInfo, hex
	KeyUsage     []string       `json:"keyUsage,omitempty"`
	ExtKeyUsage  []string       `json:"extKeyUsage,omitempty"`
	// HasKeyUsage and HasExtKeyUsage: the extension is present. Without it every usage is allowed.
	HasKeyUsage         bool     `json:"hasKeyUsage,omitempty"`
	HasExtKeyUsage      bool     `json:"hasExtKeyUsage,omitempty"`
	ExtKeyUsageCritical bool     `json:"extKeyUsageCritical,omitempty"`
	Policies            []string `json:"policies,omitempty"`
	CA                  bool     `json:"ca,omitempty"`
	SelfSigned          bool     `json:"selfSigned,omitempty"`
	OCSPNoCheck         bool     `json:"ocspNoCheck,omitempty"`
	ShortTerm           bool     `json:"shortTerm,omitempty"` // ext-etsi-valassured-ST-certs: never revoked
	// NoRevocationPointer: it names neither a CRL nor an OCSP service.
	NoRevocationPointer bool `json:"noRevocationPointer,omitempty"`
	QC                  *QC  `json:"qc,omitempty"`
	// LegalPerson: the subject is an organisation, by its own attributes.
	LegalPerson bool `json:"legalPerson,omitempty"`
	// Sandbox marks certificates whose names say that they are for tests.
	Sandbox bool `json:"sandbox,omitempty"`
}

// Name has the relevant attributes of a distinguished name.
type Name struct {
	Common       string `json:"common,omitempty"`
	Given        string `json:"given,omitempty"`
	Surname      string `json:"surname,omitempty"`
	Pseudonym    string `json:"pseudonym,omitempty"`
	Serial       string `json:"serial,omitempty"` // serialNumber: "TINIT-…", "IT:…", "PNOEE-…"
	Organization string `json:"organization,omitempty"`
	OrgID        string `json:"orgID,omitempty"` // organizationIdentifier: "VATIT-…"
	Country      string `json:"country,omitempty"`
}

// QC are the statements of a certificate about its own qualification.
type QC struct {
	Compliance bool     `json:"compliance"`
	SSCD       bool     `json:"sscd"`
	Types      []string `json:"types,omitempty"`
	Countries  []string `json:"countries,omitempty"`
}

// Path is a chain from a certificate towards an anchor.
type Path struct {
	Certificates []string `json:"certificates"` // ids, the leaf first
	// Anchor is nil if the chain does not end in an anchor.
	Anchor *Anchor `json:"anchor,omitempty"`
	// Problems of RFC 5280 path validation that do not depend on time.
	Problems []ades.Problem `json:"problems,omitempty"`
	// Complete: the chain ends in an anchor or in a self-signed certificate.
	Complete bool `json:"complete"`
}

// AnchorSource is why an anchor is trusted.
type AnchorSource string

const (
	FromOperator    AnchorSource = "operator"
	FromTrustedList AnchorSource = "trusted-list"
)

// Anchor is a certificate that is trusted for a reason.
type Anchor struct {
	Certificate string       `json:"certificate"` // id
	Source      AnchorSource `json:"source"`
	Services    []*Service   `json:"services,omitempty"` // of trusted lists, with this certificate
	// Operator: the operator trusts it, regardless of lists.
	Operator bool `json:"operator,omitempty"`
}

// Service is a trust service of a trusted list, seen from one certificate.
type Service struct {
	Territory string    `json:"territory"`
	Provider  string    `json:"provider"`
	Name      string    `json:"name"`
	Type      string    `json:"type"` // the identifier's last part: "CA/QC", "TSA/QTST", "Certstatus/OCSP"
	Periods   []Period  `json:"periods"`
	ListIssue time.Time `json:"listIssue"`
	ListNext  time.Time `json:"listNext,omitzero"`
	// ListUntil is when the list becomes stale: its NextUpdate plus the operator's grace period.
	// Zero for a closed list.
	ListUntil time.Time `json:"listUntil,omitzero"`
}

// Issues reports whether the service issues certificates, so that it may be the anchor of any path
// (TS 119 612, clause 5.5.1).
func (s *Service) Issues() bool {
	return strings.HasPrefix(s.Type, "CA/") || s.Type == "NationalRootCA-QC"
}

// Stamps reports whether the service issues time-stamps.
func (s *Service) Stamps() bool { return s.Type == "TSA" || strings.HasPrefix(s.Type, "TSA/") }

// Answers reports whether the service provides the status of certificates.
func (s *Service) Answers() bool { return strings.HasPrefix(s.Type, "Certstatus/") }

// Period is one status of a service, with its qualifiers for the leaf of the path.
type Period struct {
	From       time.Time `json:"from"`
	Status     string    `json:"status"`               // the identifier's last part: "granted", "withdrawn"
	Uses       []string  `json:"uses,omitempty"`       // ForeSignatures, ForeSeals, ForWebSiteAuthentication
	Qualifiers []string  `json:"qualifiers,omitempty"` // those whose criteria match: "QCWithQSCD"
}

// Revocation is one statement about one certificate.
type Revocation struct {
	ID   string `json:"id"`   // FactID of the evidence
	Kind string `json:"kind"` // "ocsp", "crl"
	// Base is the FactID of the complete list that a delta list adds to.
	Base       string         `json:"base,omitempty"`
	Origin     string         `json:"origin"`
	Status     string         `json:"status"` // "good", "revoked", "unknown"
	RevokedAt  time.Time      `json:"revokedAt,omitzero"`
	Reason     int            `json:"reason,omitempty"`
	ThisUpdate time.Time      `json:"thisUpdate"`
	NextUpdate time.Time      `json:"nextUpdate,omitzero"`
	ProducedAt time.Time      `json:"producedAt"`
	Algorithm  ades.Algorithm `json:"algorithm"`
	// Signer of the evidence; SignerIsIssuer if it is the certificate's own issuer, whose validity
	// is judged with the path.
	Signer         string `json:"signer,omitempty"`
	SignerIsIssuer bool   `json:"signerIsIssuer,omitempty"`
	// Unauthorized: the signer was not authorized by the certificate's issuer (RFC 6960, 4.2.2.2)
	// and is not an anchor. The statement is recorded, but proves nothing.
	Unauthorized bool `json:"unauthorized,omitempty"`
	// CoversExpired: the evidence includes certificates that expired since then.
	CoversExpired time.Time `json:"coversExpired,omitzero"`
	// Reasons that a partial list covers; 0 means all.
	Reasons uint16 `json:"reasons,omitempty"`
}

// Lifted reports whether a delta list says that the suspension in this list is over.
func (r *Revocation) Lifted(all []*Revocation) bool {
	const certificateHold = 6
	return r.Reason == certificateHold && slices.ContainsFunc(all, func(d *Revocation) bool { return d.Base == r.ID && d.Status == "good" })
}

// TrustState is the condition of the trust store.
type TrustState struct {
	OperatorAnchors int         `json:"operatorAnchors"`
	Lists           []ListState `json:"lists,omitempty"` // the list of lists first
	// Offline: nothing could be fetched, as configured by the operator or caller.
	Offline bool `json:"offline,omitempty"`
}

// ListState is the condition of one trusted list.
type ListState struct {
	Territory  string    `json:"territory"`
	URL        string    `json:"url,omitempty"`
	Sequence   int       `json:"sequence,omitempty"`
	Issued     time.Time `json:"issued,omitzero"`
	NextUpdate time.Time `json:"nextUpdate,omitzero"`
	FetchedAt  time.Time `json:"fetchedAt,omitzero"`
	Services   int       `json:"services"`
	Error      string    `json:"error,omitempty"` // of the last refresh
	// Verified: it was signed by an expected signer.
	Verified bool `json:"verified"`
	Usable   bool `json:"usable"` // verified, and not past its next update
}

// granted are the statuses under which a service may be relied upon (TS 119 612, clause 5.5.4, TS
// 119 615).
var granted = map[string]bool{
	"granted": true, "undersupervision": true, "supervisionincessation": true, "accredited": true,
	"recognisedatnationallevel": true, "setbynationallaw": true,
}

// PeriodAt is the status of the service at a time; nil before its first.
func (s *Service) PeriodAt(at time.Time) *Period {
	var found *Period
	for i := range s.Periods {
		p := &s.Periods[i]
		if !p.From.After(at) && (found == nil || p.From.After(found.From)) {
			found = p
		}
	}
	return found
}

// GrantedAt reports whether the service could be relied upon at a time.
func (s *Service) GrantedAt(at time.Time) bool {
	p := s.PeriodAt(at)
	return p != nil && granted[p.Status]
}

// Package tsl reads EU trusted lists (ETSI TS 119 612, versions 5 and 6): the list of lists with
// its pivots, the national lists, their signatures, services with their history, and qualifiers.
//
// [Parse] reads one list. [Set] keeps all of them: fetched or imported, verified, cached on disk,
// each independent of failures of others. The certificates published in the Official Journal for
// the list of lists are built in ([OfficialJournal]); a configuration may name others.
package tsl

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// List is one trusted list, or the list of lists.
type List struct {
	Version    string
	Sequence   int // 0: missing, or not a number
	Type       string
	Territory  string
	Issued     time.Time
	NextUpdate time.Time // zero: the scheme has ended
	Pointers   []Pointer
	Providers  []Provider
	// URIs of the scheme: in the list of lists, those of pivots and publications of the Official
	// Journal.
	URIs []string

	doc    *xmldom.Document // nil once the list is in use, since it is large
	signer []byte           // DER of its signer's certificate, once known
}

// Pointer is where another list is, and its signers.
type Pointer struct {
	URL          string
	Territory    string
	Type         string
	MediaType    string
	Certificates [][]byte // DER
}

// Provider is a trust service provider.
type Provider struct {
	Name     string
	Services []Service
}

// Service is a trust service with its history.
type Service struct {
	Instance
	Identities [][]byte // certificates, DER
	History    []Instance
}

// Instance is a status of a service since a time.
type Instance struct {
	Type       string
	Name       string
	Status     string
	From       time.Time
	Uses       []string // ForeSignatures, ForeSeals, ForWebSiteAuthentication
	Qualifiers []Qualification
}

// typeLOTL is the type of the list of lists.
const typeLOTL = "http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUlistofthelists"

// maxList bounds a list; the largest is three megabytes.
const maxList = 32 << 20

// Parse reads a list. It checks neither the signature (see Verify) nor the version, so that a
// broken list can still be named.
func Parse(b []byte) (*List, error) {
	if len(b) > maxList {
		return nil, ades.Malformed("TSL", "", "%d bytes are too many", len(b))
	}
	doc, err := xmldom.Parse(string(b), xmldom.Limits{Size: maxList})
	if err != nil {
		return nil, &ades.MalformedError{Format: "TSL", Err: err}
	}
	root := doc.Root()
	if root == nil || root.Name.Local != "TrustServiceStatusList" {
		return nil, ades.Malformed("TSL", "", "the root is not a TrustServiceStatusList")
	}
	l := &List{doc: doc}
	c := make(certificates)
	if info := child(root, "SchemeInformation"); info != nil {
		l.scheme(info, c)
	}
	if list := child(root, "TrustServiceProviderList"); list != nil {
		for _, n := range children(list, "TrustServiceProvider") {
			l.Providers = append(l.Providers, provider(n, c))
		}
	}
	return l, nil
}

// Verify checks the list's own signature, which must be over the whole list and by one of the
// certificates (DER). It returns that certificate.
func (l *List) Verify(signers [][]byte) ([]byte, error) {
	if l.signer != nil && slices.ContainsFunc(signers, func(der []byte) bool { return bytes.Equal(der, l.signer) }) {
		return l.signer, nil
	}
	if l.doc == nil {
		return nil, errors.New("tsl: signature of the list: the signer's certificate is not among those given")
	}
	var certs []*pkix.Certificate
	for _, der := range signers {
		// An unreadable one cannot have signed anything.
		if c, err := pkix.ParseCertificate(der); err == nil {
			certs = append(certs, c)
		}
	}
	c, err := xmldsig.VerifyEnveloped(l.doc, certs)
	if err != nil {
		return nil, fmt.Errorf("tsl: signature of the list: %w", err)
	}
	return c.Raw, nil
}

// Check rejects lists of unknown versions or without mandatory elements.
func (l *List) Check() error {
	switch {
	case l.Version != "5" && l.Version != "6":
		return ades.Malformed("TSL", "TSLVersionIdentifier", "version %q is neither 5 nor 6", l.Version)
	case l.Territory == "":
		return ades.Malformed("TSL", "SchemeTerritory", "missing")
	case l.Issued.IsZero():
		return ades.Malformed("TSL", "ListIssueDateTime", "missing")
	case l.Sequence < 1:
		return ades.Malformed("TSL", "TSLSequenceNumber", "missing")
	}
	return nil
}

// OlderThan reports whether o is a later issue of the same list (TS 119 612, clauses 5.3.2 and
// 5.3.14: both numbers only grow).
func (l *List) OlderThan(o *List) bool {
	return l.Sequence < o.Sequence || l.Issued.Before(o.Issued)
}

// IsLOTL reports whether this is a list of lists.
func (l *List) IsLOTL() bool { return l.Type == typeLOTL }

func (l *List) scheme(n *xmldom.Node, c certificates) {
	l.Version = value(n, "TSLVersionIdentifier")
	if seq, err := strconv.Atoi(value(n, "TSLSequenceNumber")); err == nil {
		l.Sequence = seq
	}
	l.Type = value(n, "TSLType")
	l.Territory = value(n, "SchemeTerritory")
	l.Issued = moment(value(n, "ListIssueDateTime"))
	if next := child(n, "NextUpdate"); next != nil {
		l.NextUpdate = moment(value(next, "dateTime"))
	}
	if uris := child(n, "SchemeInformationURI"); uris != nil {
		for _, u := range children(uris, "URI") {
			l.URIs = append(l.URIs, text(u))
		}
	}
	if p := child(n, "PointersToOtherTSL"); p != nil {
		for _, o := range children(p, "OtherTSLPointer") {
			l.Pointers = append(l.Pointers, pointer(o, c))
		}
	}
}

func pointer(n *xmldom.Node, c certificates) Pointer {
	p := Pointer{URL: value(n, "TSLLocation")}
	for _, s := range descend(n, "ServiceDigitalIdentities", "ServiceDigitalIdentity") {
		p.Certificates = append(p.Certificates, c.of(s)...)
	}
	for _, info := range descend(n, "AdditionalInformation", "OtherInformation") {
		for x := range info.Elements() {
			switch x.Name.Local {
			case "SchemeTerritory":
				p.Territory = text(x)
			case "TSLType":
				p.Type = text(x)
			case "MimeType":
				p.MediaType = text(x)
			}
		}
	}
	return p
}

func provider(n *xmldom.Node, c certificates) Provider {
	var p Provider
	if info := child(n, "TSPInformation"); info != nil {
		p.Name = english(child(info, "TSPName"))
	}
	for _, s := range descend(n, "TSPServices", "TSPService") {
		p.Services = append(p.Services, service(s, c))
	}
	return p
}

func service(n *xmldom.Node, c certificates) Service {
	var s Service
	if info := child(n, "ServiceInformation"); info != nil {
		s.Instance = instance(info)
		if id := child(info, "ServiceDigitalIdentity"); id != nil {
			s.Identities = c.of(id)
		}
	}
	for _, h := range descend(n, "ServiceHistory", "ServiceHistoryInstance") {
		s.History = append(s.History, instance(h))
		if id := child(h, "ServiceDigitalIdentity"); id != nil && len(s.Identities) == 0 {
			s.Identities = c.of(id)
		}
	}
	return s
}

func instance(n *xmldom.Node) Instance {
	i := Instance{
		Type:   strings.TrimPrefix(value(n, "ServiceTypeIdentifier"), "http://uri.etsi.org/TrstSvc/Svctype/"),
		Name:   english(child(n, "ServiceName")),
		Status: last(value(n, "ServiceStatus")),
		From:   moment(value(n, "StatusStartingTime")),
	}
	for _, x := range descend(n, "ServiceInformationExtensions", "Extension") {
		for e := range x.Elements() {
			switch e.Name.Local {
			case "AdditionalServiceInformation":
				i.Uses = append(i.Uses, last(value(e, "URI")))
			case "Qualifications":
				for _, q := range children(e, "QualificationElement") {
					i.Qualifiers = append(i.Qualifiers, qualification(q))
				}
			}
		}
	}
	return i
}

// last is the last part of an identifier: "granted", "QCWithSSCD".
func last(uri string) string {
	uri = strings.TrimRight(uri, "/")
	return uri[strings.LastIndexByte(uri, '/')+1:]
}

func moment(s string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

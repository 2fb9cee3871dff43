package identify

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/revision"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/server/internal/fault"
)

// clockSkew is how far the clock of a signer may be behind ours.
const clockSkew = 10 * time.Minute

// BySignature identifies by a statement that came back signed. It counts if the
// document is that statement and nothing else, every signature in it is valid,
// and one over the statement is by a certificate that this server accepts and
// that names the applicant, with a key that is not used through this server. A
// refusal is fault 310 or 312.
func (m *Methods) BySignature(ctx context.Context, document ades.Source, s *Statement, o Order) (*Proof, *Certified, error) {
	if s == nil || m.now().After(s.MadeAt.Add(statementLife)) {
		return nil, nil, fault.New(fault.BadField, "no statement of this order waits for a signature: download it again")
	}
	if m.Again(o, s) == nil {
		return nil, nil, fault.New(fault.BadField, "the statement of this order has changed: download it again")
	}
	r, err := m.Verifier.Verify(ctx, document, rogito.VerifyOptions{})
	if err != nil {
		return nil, nil, unreadable(err)
	}
	if !r.Valid() {
		return nil, nil, fault.New(fault.BadField, "the document is not signed, or its signature is not valid")
	}
	switch r.Facts.Layers[0].Document.Format {
	case ades.PAdES, ades.CAdES, ades.PKCS7, ades.XAdES, ades.XMLDSig:
	default:
		return nil, nil, fault.New(fault.BadField, "the statement must be signed by itself, as PDF, .p7m or enveloping XML: not in a container")
	}
	var refusal error
	for _, c := range r.Conclusions.Signatures {
		if c.Signature == nil || c.Layer != 0 {
			continue
		}
		var p *Proof
		err := m.bounded(ctx, func(ctx context.Context) (err error) {
			p, err = m.prove(ctx, c, s, o)
			return err
		})
		if err != nil {
			refusal = err
			continue
		}
		certified, err := o.Settle(p)
		if err != nil {
			refusal = err
			continue
		}
		return p, certified, nil
	}
	if refusal == nil {
		refusal = fault.New(fault.BadField, "the document is not signed")
	}
	return nil, nil, refusal
}

// bounded does work on a document within the memory of a verification.
func (m *Methods) bounded(ctx context.Context, work func(context.Context) error) error {
	memory := m.Verifier.Memory
	if memory <= 0 {
		memory = rogito.DefaultMemory
	}
	err := limits.Bounded(ctx, memory, work)
	if errors.Is(err, limits.ErrBudget) {
		return unreadable(err)
	}
	return err
}

func unreadable(err error) error {
	return fault.New(fault.BadField, "the document cannot be read").Because(err)
}

// prove reads what one valid signature proves about its signer.
func (m *Methods) prove(ctx context.Context, c *report.Conclusion, s *Statement, o Order) (*Proof, error) {
	same, err := isStatement(ctx, c.Signature, s)
	switch {
	case err != nil:
		return nil, err
	case !same:
		return nil, fault.New(fault.BadField, "the signed document is not the statement of this order: download it, sign it as it is, and send it back")
	}
	claimed := c.Signature.ClaimedTime
	if c.Signature.PDF != nil && claimed.IsZero() {
		claimed = c.Signature.PDF.Date
	}
	if !claimed.IsZero() && claimed.Before(s.MadeAt.Add(-clockSkew)) || c.Proven && c.BestTime.Before(s.MadeAt.Add(-clockSkew)) {
		return nil, fault.New(fault.BadField, "the statement bears a signature older than itself")
	}
	if !m.accepts(c, o.Seal) {
		return nil, fault.New(fault.BadField, "the statement must be signed with %s", m.wanted(o.Seal))
	}
	cert, err := pkix.ParseCertificate(c.Signature.SigningCertificate)
	if err != nil {
		return nil, fault.New(fault.BadField, "the signer's certificate cannot be read").Because(err)
	}
	// Any caller who signs through this server has such a key: its signature
	// says that a call was made, and not that the holder was there.
	held, err := m.Held(ctx, cert.PublicKey)
	if err != nil {
		return nil, err
	}
	if held {
		return nil, fault.New(fault.BadField, "the statement is signed with a key that this server uses for its callers: that proves nobody. Sign with a key that you hold yourself")
	}
	if cert.Subject.Get(pkix.OIDPseudonym) != "" {
		return nil, fault.New(fault.BadField, "the signer's certificate has a pseudonym: it proves no name")
	}
	// A certificate of a person may name the organisation that the person works
	// for (EN 319 412-2, 4.2.4): that is no right to its seal.
	if o.Seal && (cert.Subject.Get(pkix.OIDGivenName) != "" || cert.Subject.Get(pkix.OIDSurname) != "") {
		return nil, fault.New(fault.BadField, "the certificate of a person does not prove that the person may act for the organisation: sign with a seal of the organisation, or be identified by video with an extract of its register")
	}
	p := &Proof{
		Method: "signature", Issuer: cert.IssuerDN(), Level: string(c.Qualification), Request: s.Nonce, At: m.now(),
		Proven: fromCertificate(cert), Certificate: c.Signature.SigningCertificate, Indication: string(c.Indication),
	}
	if p.FullName() == "" && p.Proven.Organization == "" {
		p.Name = strings.TrimPrefix(cert.Subject.CommonName(), "SANDBOX ")
	}
	return p, nil
}

// accepts says whether the certificate behind a valid signature is good enough.
func (m *Methods) accepts(c *report.Conclusion, seal bool) bool {
	switch m.Accept {
	case AcceptTrusted:
		return true
	case AcceptListed:
		return c.TrustedList
	}
	switch c.Qualification {
	case report.QESeal, report.AdESealQC:
		return c.TrustedList
	case report.QESig, report.AdESigQC:
		return c.TrustedList && !seal
	}
	return false
}

func (m *Methods) wanted(seal bool) string {
	switch {
	case m.Accept == AcceptListed:
		return "a certificate of a service on a trusted list"
	case seal:
		return "a qualified certificate for seals"
	}
	return "a qualified certificate"
}

// isStatement says whether a signature is over the statement, byte by byte, and over nothing else:
// a signer of several documents may not know that it is among them. It must carry the statement: a
// digest alone is signed unread, and anyone can put a container around such a signature. A signed
// PDF begins with it, and nothing but signatures and their validation data may follow: text that an
// update puts over the statement would attribute to the signer what they never read.
func isStatement(ctx context.Context, s *ades.Signature, st *Statement) (bool, error) {
	if len(s.Content) != 1 || s.Content[0].Source == nil {
		return false, nil
	}
	signed := s.Content[0].Source
	if s.PDF == nil {
		return s.ContentIsWhole && digestOf(signed, signed.Size()) == string(st.Digest), nil
	}
	doc, err := pdf.Open(signed, pdf.Options{Context: ctx})
	if err != nil {
		return false, unreadable(err)
	}
	revisions := doc.Revisions()
	if len(revisions) < 2 || digestOf(signed, revisions[0].End) != string(st.Digest) {
		return false, nil
	}
	// The verdict is on all signatures already: each field in the updates is one.
	rules := revision.Rules{Seal: func(string, int) revision.Seal { return revision.Signature }}
	changes, err := revision.New(ctx, doc).Compare(1, rules)
	if err != nil {
		return false, unreadable(err)
	}
	for _, c := range changes {
		if c.What == "signature-visible" {
			return false, fault.New(fault.BadField, "the signature must not be visible on the page, where it could cover the statement: sign without a picture, or as .p7m")
		}
		// Nothing else of their kinds: a field that was put there empty could be
		// given its picture when it is filled.
		if !c.Permitted || c.What != "signature" && c.What != "dss" && c.What != "timestamp" {
			return false, nil
		}
	}
	return true, nil
}

func digestOf(src ades.Source, n int64) string {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(src, 0, n)); err != nil {
		return ""
	}
	return string(h.Sum(nil))
}

// fromCertificate reads the attributes that the issuer of a certificate has
// verified. A serial number is a tax code only where its prefix says so
// (EN 319 412-1, 5.1.3); older Italian certificates write IT:.
func fromCertificate(c *pkix.Certificate) Attributes {
	get := c.Subject.Get
	a := Attributes{
		GivenName: get(pkix.OIDGivenName), Surname: get(pkix.OIDSurname), Country: get(pkix.OIDCountry),
		Organization: get(pkix.OIDOrganization), OrganizationIdentifier: get(pkix.OIDOrganizationIdentifier),
	}
	if n := get(pkix.OIDSerialNumber); strings.HasPrefix(n, "TIN") || strings.HasPrefix(n, "IT:") {
		a.FiscalCode = afterPrefix(n)
	}
	return a
}

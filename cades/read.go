package cades

import (
	"context"
	"crypto"
	"fmt"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/tsp"
)

// Read returns the facts of a CMS file: binary, PEM or base64. A time-stamp token on its own is
// reported as such.
func Read(ctx context.Context, src ades.Source, r ades.ReadOptions) (*ades.Document, error) {
	if in, ok := src.(*handoff.SignedData); ok {
		signatures, err := readSignedData(in.Parsed, surroundings{content: in.Content, digest: in.Digest, certificates: r.Certificates})
		return &ades.Document{Format: ades.CAdES, Signatures: signatures}, err
	}
	doc, _, err := readFile(ctx, src, r)
	return doc, err
}

// readFile also returns whether a file contains its content.
func readFile(ctx context.Context, src ades.Source, r ades.ReadOptions) (doc *ades.Document, carries bool, err error) {
	bin, err := cms.Unarmour(src)
	if err != nil {
		return nil, false, err
	}
	sd, err := cms.Parse(bin)
	if err != nil {
		return nil, false, err
	}
	// Everything but the content is held in memory, including decoded armour.
	held := bin.Size()
	if sd.Content != nil && bin.Size() == src.Size() {
		held -= sd.Content.Size()
	}
	if err := limits.BudgetOf(ctx).Spend(held); err != nil {
		return nil, false, &ades.MalformedError{Format: "CMS", Err: err}
	}
	if sd.ContentType == oid.TSTInfo {
		doc, err = tsp.ReadToken(src, r)
		return doc, true, err
	}
	doc, err = read(ctx, src, bin, sd, r)
	return doc, sd.Content != nil, err
}

func read(ctx context.Context, src, bin ades.Source, sd *cms.SignedData, r ades.ReadOptions) (doc *ades.Document, err error) {
	doc = &ades.Document{Format: ades.PKCS7}
	in := surroundings{cancelled: ctx.Err, certificates: r.Certificates}
	content, chosen := ades.File{Source: sd.Content}, -1
	if sd.Content == nil && len(r.Detached) > 0 {
		if chosen, err = choose(sd, r.Detached); err != nil {
			return nil, err
		}
		content = r.Detached[chosen]
	}
	if content.Source != nil {
		in.content = content.Source
	}
	if doc.Signatures, err = readSignedData(sd, in); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(doc.Signatures, func(s *ades.Signature) bool { return s.Format == ades.CAdES }) {
		doc.Format = ades.CAdES
	}
	outside(doc, src, bin, sd)
	return doc, coverage(ctx, doc, content, chosen, r.Detached)
}

// outside notes data around the ContentInfo: other readers may show a document there.
func outside(doc *ades.Document, src, bin ades.Source, sd *cms.SignedData) {
	ambiguous(doc, cms.AroundArmour(src))
	ambiguous(doc, cms.After(bin, sd.Length))
	var signed []byte
	if len(sd.SignerInfos) == 1 { // another signer's would be signed by him alone
		signed = sd.SignerInfos[0].RawSignedAttrs
	}
	ambiguous(doc, cms.Beside(bin, sd.Content, signed))
}

// coverage adds the parts: the signed content, and every file given as content. A given file other
// than the content is covered by no signature; if none of them is the content, every signature
// fails on them, since they are what the caller asks about.
func coverage(ctx context.Context, doc *ades.Document, content ades.File, chosen int, given []ades.File) error {
	carried := chosen < 0 && content.Source != nil
	covers := func(s *ades.Signature) bool {
		return s.Intact() != ades.No && len(s.References) > 0 && s.References[0].Intact == ades.Yes
	}
	part := ades.Part{Kind: ades.ContentPart, Name: content.Name}
	handed := false // content of a broken signature is not returned
	for _, s := range doc.Signatures {
		s.ContentIsWhole = content.Source != nil
		if covers(s) {
			part.CoveredBy = append(part.CoveredBy, s.ID)
		}
		if covers(s) && !ades.Fatal(s.Problems) {
			s.Content = []ades.File{content}
			handed = true
		}
	}
	if content.Source != nil && handed && carried {
		doc.Content = []ades.File{content}
	}
	if carried || len(given) == 0 {
		doc.Parts = append(doc.Parts, part)
	}
	signed := 0
	for i, f := range given {
		p := ades.Part{Kind: ades.ContentPart, Name: f.Name}
		same := i == chosen
		if !same {
			var err error
			if same, err = cms.Equal(ctx, f.Source, content.Source); err != nil {
				return err
			}
		}
		if same {
			p.CoveredBy = part.CoveredBy
			signed++
		}
		doc.Parts = append(doc.Parts, p)
	}
	if !carried || signed > 0 || len(given) == 0 {
		return nil
	}
	for _, s := range doc.Signatures {
		s.ContentIsWhole = false
		s.References = append(s.References, ades.Reference{
			Kind: "given-content", Name: "the content given beside the signature", Digest: s.Algorithm.Content, Found: true, Intact: ades.No,
			Detail: "the signature carries another one",
		})
	}
	return nil
}

// choose picks the file of a detached signature: the only one, or the first whose digest a signer
// signed.
func choose(sd *cms.SignedData, files []ades.File) (int, error) {
	for i, f := range files[:len(files)-1] {
		match, err := matches(sd, f.Source)
		if err != nil || match {
			return i, err
		}
	}
	return len(files) - 1, nil
}

func matches(sd *cms.SignedData, src ades.Source) (bool, error) {
	digest := cms.OfSource(src)
	effort := pkix.NewEffort()
	for _, si := range sd.SignerInfos {
		s, err := cms.Facts(si, cms.Subject{ContentType: sd.ContentType, Digest: digest, Source: src, Certificates: cms.Candidates(sd.X509()), Effort: effort})
		if err != nil {
			return false, err
		}
		if len(s.References) > 0 && s.References[0].Intact == ades.Yes {
			return true, nil
		}
	}
	return false, nil
}

// surroundings are what a SignedData needs but may not contain.
type surroundings struct {
	content      ades.Source                       // the signed content; nil if not available
	digest       func(crypto.Hash) ([]byte, error) // of the content; nil: computed from content
	certificates [][]byte                          // from elsewhere (a PDF's DSS dictionary)
	cancelled    func() error                      // asked before each signer whether to give up; nil: never
}

func readSignedData(sd *cms.SignedData, in surroundings) ([]*ades.Signature, error) {
	if in.digest == nil {
		in.digest = cms.OfSource(in.content)
	}
	r := &reader{sd: sd, in: in}
	r.certs = append(sd.X509(), in.certificates...)
	for _, si := range sd.SignerInfos {
		for _, a := range si.Unsigned(oid.AttrCertificateValues) {
			for _, v := range a.Values {
				r.certs = append(r.certs, cms.CertificateValues(v)...)
			}
		}
	}
	r.subject = cms.Subject{
		ContentType: sd.ContentType, Digest: in.digest, Source: in.content, Certificates: cms.Candidates(r.certs),
		Effort: pkix.NewEffort(),
	}
	var out []*ades.Signature
	for i, si := range sd.SignerInfos {
		if in.cancelled != nil && in.cancelled() != nil {
			return nil, in.cancelled()
		}
		s, err := r.signer(si, r.subject, fmt.Sprintf("signerInfos[%d]", i), 0)
		if err != nil {
			return nil, err
		}
		switch {
		case sd.ContentType != oid.Data && si.RawSignedAttrs == nil:
			// Only signed attributes bind the content type; they are required for types other than
			// id-data (RFC 5652, 5.3).
			s.Problems = append(s.Problems, finding.CMSTypeUnsigned.Problem("SignedData/encapContentInfo"))
		case sd.ContentType != oid.Data:
			s.Problems = append(s.Problems, finding.CMSTypeOther.Problem("SignedData/encapContentInfo"))
		}
		for _, other := range out {
			if other.ID == s.ID {
				s.ID = fmt.Sprintf("%s#%d", s.ID, i)
				s.Problems = append(s.Problems, finding.SignatureTwice.Problem(s.Path))
			}
		}
		out = append(out, s)
	}
	return out, r.records(out)
}

// reader reads the signers of one SignedData.
type reader struct {
	sd      *cms.SignedData
	in      surroundings
	certs   [][]byte
	subject cms.Subject
	common  []ades.Evidence // of the SignedData, shared by its signers
	copies  int             // entries copied from common
}

func (r *reader) signer(si *cms.SignerInfo, subject cms.Subject, path string, depth int) (*ades.Signature, error) {
	s, err := cms.Facts(si, subject)
	if err != nil {
		return nil, err
	}
	s.Path = path
	s.Evidence = r.evidence(si)
	if err := r.counters(s, si, depth); err != nil {
		return nil, err
	}
	return s, r.timestamps(s, si)
}

// evidenceOf appends DER values as evidence.
func evidenceOf(out []ades.Evidence, kind ades.EvidenceKind, origin string, raw [][]byte) []ades.Evidence {
	for _, b := range raw {
		out = append(out, ades.Evidence{Kind: kind, Origin: origin, Raw: b})
	}
	return out
}

// evidence is that of the SignedData and of this signer's attributes. Signers without such
// attributes share one slice, and the number of copies for the others is bounded.
func (r *reader) evidence(si *cms.SignerInfo) []ades.Evidence {
	if r.common == nil {
		r.common = evidenceOf(r.common, ades.EvidenceCertificate, "SignedData", r.sd.X509())
		r.common = evidenceOf(r.common, ades.EvidenceCRL, "SignedData", r.sd.CRLs())
		r.common = evidenceOf(r.common, ades.EvidenceOCSP, "SignedData", r.sd.OCSPs())
	}
	own := ownEvidence(si)
	if len(own) == 0 {
		return slices.Clip(r.common)
	}
	if r.copies += len(r.common); r.copies > limits.CMSEvidence {
		return own
	}
	return append(slices.Clip(r.common), own...)
}

// ownEvidence is the evidence in a signer's attributes.
func ownEvidence(si *cms.SignerInfo) []ades.Evidence {
	var out []ades.Evidence
	add := func(kind ades.EvidenceKind, origin string, raw [][]byte) { out = evidenceOf(out, kind, origin, raw) }
	for _, attrs := range [][]cms.Attribute{si.SignedAttrs, si.UnsignedAttrs} {
		for _, a := range attrs {
			for _, v := range a.Values {
				switch a.OID {
				case oid.AttrCertificateValues:
					add(ades.EvidenceCertificate, "certificate-values", cms.CertificateValues(v))
				case oid.AttrRevocationValues, oid.AttrAdobeRevocation:
					crls, ocsps := cms.RevocationValues(v)
					add(ades.EvidenceCRL, oid.AttributeName(a.OID), crls)
					add(ades.EvidenceOCSP, oid.AttributeName(a.OID), ocsps)
				}
			}
		}
	}
	return out
}

// counters reads the counter-signatures of a signature, recursively.
func (r *reader) counters(s *ades.Signature, si *cms.SignerInfo, depth int) error {
	n := 0
	for _, a := range si.Unsigned(oid.AttrCounterSignature) {
		for _, v := range a.Values {
			path := fmt.Sprintf("%s/countersignature[%d]", s.Path, n)
			n++
			if depth >= limits.CounterSignatures {
				return ades.Malformed("CMS", path, "nested too deeply")
			}
			counter, err := cms.ParseSignerInfo(v)
			if err != nil {
				return &ades.MalformedError{Format: "CMS", Where: path, Err: err}
			}
			subject := cms.Subject{Digest: digestOf(si.Signature), Certificates: r.subject.Certificates, Effort: r.subject.Effort}
			c, err := r.signer(counter, subject, path, depth+1)
			if err != nil {
				return err
			}
			s.CounterSignatures = append(s.CounterSignatures, c)
		}
	}
	return nil
}

// digestOf returns a digest function over the given octets.
func digestOf(parts ...[]byte) func(crypto.Hash) ([]byte, error) {
	return func(h crypto.Hash) ([]byte, error) { return oid.Sum(h, parts...), nil }
}

package pades

import (
	"bytes"
	"crypto"
	"errors"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// Locations of problems that prevent a signature from being PAdES.
const (
	whereSigners = "SignedData/signerInfos"
	whereContent = "SignedData/encapContentInfo"
)

// readSignature returns the facts of a signature by its SubFilter.
func (r *reader) readSignature(f *signatureEntry) error {
	var err error
	switch sub := r.doc.Name(f.dict.Get("SubFilter")); sub {
	case "adbe.x509.rsa_sha1":
		f.signature, err = r.readBare(f)
	default:
		f.signature, err = r.readCMS(f, sub == "adbe.pkcs7.sha1")
	}
	if err != nil {
		return err
	}
	s := f.signature
	s.Format, s.Path = ades.PAdES, f.path
	s.PDF = r.facts(f)
	if !s.PDF.Date.IsZero() {
		s.ClaimedTime = s.PDF.Date
	}
	s.ContentIsWhole = f.covers && f.rangeOK
	s.Problems = append(f.problems, s.Problems...)
	if !f.rangeOK {
		ref := ades.Reference{Kind: "byte-range", Name: f.path, Found: true, Detail: f.problems[0].Text} // nothing was digested
		if f.cut && len(s.Value) > 0 {
			ref.Intact = ades.No // the signed data is missing
		}
		s.References = append(s.References, ref)
	}
	return nil
}

// unread is a signature that cannot be parsed.
func unread(f *signatureEntry) *ades.Signature {
	return &ades.Signature{ID: ades.FactID(append([]byte(f.path), f.contents...))}
}

// readCMS reads a CMS signature. With embedded, its content is the SHA-1 of the byte range
// (adbe.pkcs7.sha1).
func (r *reader) readCMS(f *signatureEntry, embedded bool) (*ades.Signature, error) {
	sd, err := cms.ParseBytes(f.contents)
	if err != nil || len(sd.SignerInfos) == 0 {
		if err == nil {
			err = errors.New("no signer")
		}
		f.fatal(finding.PDFNoCMS, f.path+"/Contents", err)
		f.rangeOK = false
		return unread(f), nil
	}
	in := &handoff.SignedData{Parsed: sd, Digest: r.digests.of(f)}
	if embedded {
		in.Content, in.Digest = sd.Content, nil
	}
	s, err := r.signer(f, in)
	if err != nil || s == nil {
		return unread(f), err
	}
	if len(bytes.TrimRight(f.contents[min(sd.Length, int64(len(f.contents))):], "\x00")) > 0 {
		s.Problems = append(s.Problems, finding.PDFDataAfterCMS.Problem(f.path+"/Contents"))
	}
	if len(sd.SignerInfos) > 1 {
		// EN 319 142-1, clause 4.1: a PDF signature has one signer. Others would be shown by some
		// readers but not judged.
		s.Problems = append(s.Problems, finding.PDFSigners.Problem(whereSigners))
	}
	if sd.Content != nil && !embedded {
		s.Problems = append(s.Problems, finding.PDFOwnContent.Problem(whereContent))
	}
	if embedded {
		return s, r.embedded(f, s, sd)
	}
	return s, nil
}

// signer reads the only signer of a PDF signature; nil if it is malformed. Certificates of the DSS
// are tried only if the signature lacks one.
func (r *reader) signer(f *signatureEntry, in *handoff.SignedData) (*ades.Signature, error) {
	var o ades.ReadOptions
	for {
		doc, err := cades.Read(r.ctx, in, o)
		if _, ok := errors.AsType[*ades.MalformedError](err); ok {
			f.fatal(finding.PDFNoCMS, f.path+"/Contents", err)
			f.rangeOK = false
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		one := doc.Signatures[0]
		if o.Certificates != nil || named(one) {
			return one, nil
		}
		if o.Certificates = r.storedCertificates(); o.Certificates == nil {
			return one, nil
		}
	}
}

// named reports whether the certificates of the signer and of the time-stamps were found.
func named(s *ades.Signature) bool {
	ok := s.SigningCertificate != nil
	for _, t := range s.Timestamps {
		ok = ok && (t.Signature == nil || t.Signature.SigningCertificate != nil)
	}
	return ok
}

// storedCertificates are those of the DSS dictionary.
func (r *reader) storedCertificates() [][]byte {
	var out [][]byte
	for _, e := range r.out.Evidence {
		if e.Kind == ades.EvidenceCertificate {
			out = append(out, e.Raw)
		}
	}
	return out
}

// embedded compares the SHA-1 in the content with the byte range.
func (r *reader) embedded(f *signatureEntry, s *ades.Signature, sd *cms.SignedData) error {
	ref := ades.Reference{Kind: "byte-range", Name: f.path, Digest: "SHA1"}
	if digest := r.digests.of(f); digest != nil && sd.Content != nil && sd.Content.Size() == 20 {
		sum, err := digest(crypto.SHA1)
		if err != nil {
			return err
		}
		var value [20]byte
		if _, err := sd.Content.ReadAt(value[:], 0); err != nil && sd.Content.Size() != 20 {
			return err
		}
		ref.Value, ref.Found, ref.Intact = value[:], true, ades.TriOf(bytes.Equal(value[:], sum))
	} else {
		ref.Intact, ref.Detail = ades.No, "the content of the signature is no SHA-1 digest"
	}
	s.References = append(s.References, ref)
	return nil
}

// readBare reads a PKCS#1 value with the certificates in the dictionary (adbe.x509.rsa_sha1).
func (r *reader) readBare(f *signatureEntry) (*ades.Signature, error) {
	s := unread(f)
	e, _, err := cms.ReadElement(f.contents)
	if err == nil {
		s.Value, err = e.Octets()
	}
	if err != nil {
		f.fatal(finding.PDFNoValue, f.path+"/Contents", err)
		f.rangeOK = false
		return s, nil
	}
	certs := r.certEntry(f)
	for _, c := range certs {
		s.Evidence = append(s.Evidence, ades.Evidence{Kind: ades.EvidenceCertificate, Origin: "Cert", Raw: c})
	}
	s.ValueIntact = ades.Unknown
	alg := pkix.AlgorithmIdentifier{OID: oid.RSA}
	ref := ades.Reference{Kind: "byte-range", Name: f.path, Digest: "SHA1"}
	var key any
	s.Problems = append(s.Problems, finding.PDFBareRSA.Problem(f.path))
	if found := cms.Candidates(certs); len(found) > 0 {
		s.SigningCertificate, key = found[0].Raw, found[0].PublicKey
	} else {
		s.Problems = append(s.Problems, finding.PDFBareRSACert.Problem(f.path+"/Cert"))
	}
	hash := crypto.SHA1
	digest := r.digests.of(f)
	// The value itself identifies its hash (table 257 of ISO 32000-1 has SHA-256 and others from
	// PDF 1.6 on).
	for _, h := range []crypto.Hash{crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		scheme, err := pkix.SchemeOf(alg, h)
		if digest == nil || key == nil || err != nil {
			break
		}
		sum, err := digest(h)
		if err != nil {
			return nil, err
		}
		s.ValueIntact = ades.TriOf(scheme.VerifyDigest(key, sum, s.Value) == nil)
		if h == hash || s.ValueIntact == ades.Yes {
			ref.Value, ref.Found = sum, true
		}
		if s.ValueIntact == ades.Yes {
			hash = h
			break
		}
	}
	s.Algorithm, ref.Digest = pkix.Algorithm(alg, hash, key), pkix.HashName(hash)
	ref.Intact = s.ValueIntact
	s.References = append(s.References, ref)
	return s, nil
}

// certEntry is the Cert entry: a string, or an array of them.
func (r *reader) certEntry(f *signatureEntry) [][]byte {
	o, err := r.doc.Resolve(f.dict.Get("Cert"))
	if err != nil {
		return nil
	}
	if a, err := r.doc.Array(o); err == nil && a != nil {
		var out [][]byte
		for _, x := range a {
			if b := r.doc.StringBytes(x); b != nil {
				out = append(out, b)
			}
		}
		return out
	}
	if b := r.doc.StringBytes(o); b != nil {
		return [][]byte{b}
	}
	return nil
}

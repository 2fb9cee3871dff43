package jades

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"errors"
	"io"
	"slices"
	"strconv"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
)

// Read returns the facts of every signature in a JWS, in any of its forms. It returns a
// *ades.MalformedError if the file is not JSON or not a JWS; a broken signature is a fact, not an
// error.
func Read(ctx context.Context, src ades.Source, o ades.ReadOptions) (*ades.Document, error) {
	f, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	r := newReader(ctx, f, o)
	r.read()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.out, r.err
}

type reader struct {
	ctx    context.Context
	file   *file
	files  []ades.File
	known  [][]byte // given by the caller
	out    *ades.Document
	ids    map[string]int
	budget int64
	effort *pkix.Effort
	err    error // of an unreadable source
}

func newReader(ctx context.Context, f *file, o ades.ReadOptions) *reader {
	r := &reader{
		ctx: ctx, file: f, files: o.Detached, known: o.Certificates, out: &ades.Document{Format: ades.JAdES},
		ids: map[string]int{}, effort: pkix.NewEffort(), budget: limits.JWSWork + limits.JWSWorkTimes*int64(len(f.text)),
	}
	for _, d := range o.Detached {
		r.budget += limits.JWSWorkTimes * d.Source.Size()
	}
	return r
}

func (r *reader) read() {
	var readers []*sigReader
	for _, j := range r.file.sigs {
		if r.ctx.Err() != nil || r.err != nil {
			return
		}
		s := r.signature(r.file, j, nil, 0)
		readers = append(readers, s)
		r.out.Signatures = append(r.out.Signatures, s.sig)
	}
	for _, s := range readers[1:] {
		if s.unencoded != readers[0].unencoded { // RFC 7797, section 3
			for _, s := range readers {
				s.problem(finding.JWSEncodingDiffers, "protected")
			}
			break
		}
	}
	r.parts(readers)
}

// sigReader reads one signature.
type sigReader struct {
	*reader
	in     *file
	jws    *jws
	sig    *ades.Signature
	parent *sigReader // the signature that it counter-signs
	depth  int

	head      *jsontree.Value // protected
	unencoded bool            // b64 is false
	alg       algorithm
	value     []byte
	payload   func(w *meteredWriter) error // writes the payload as signed; nil if it is not available
	octets    func(w *meteredWriter) error // writes the input of content time-stamps
	either    []ades.File                  // one of them is signed, and only the value shows which
	etsi      []*component                 // unsigned components, in order
	clear     bool                         // they are not in base64url
	inHeader  int                          // number of certs in x5c
	certs     []*pkix.Certificate          // in the signature, those of x5c first
	signer    *pkix.Certificate
	content   []ades.File // the signed content
	carried   bool        // it is in the file itself
}

func (s *sigReader) where(member string) string { return s.jws.path + "/" + member }

func (s *sigReader) problem(k *finding.Kind, member string, values ...any) {
	s.sig.Problems = append(s.sig.Problems, k.Problem(s.where(member), values...))
}

// signature reads one signature of a JWS; parent is the one it counter-signs.
func (r *reader) signature(in *file, j *jws, parent *sigReader, depth int) *sigReader {
	s := &sigReader{reader: r, in: in, jws: j, parent: parent, depth: depth}
	s.sig = &ades.Signature{Format: ades.JAdES, Path: j.path}
	value, ok := base64url(j.signature)
	s.value, s.sig.Value = value, value
	s.sig.ID = r.name(j.signature)
	if !ok || len(value) == 0 {
		s.problem(finding.JWSBase64, "signature", "signature")
	}
	if !s.readHeader() {
		return s
	}
	s.readContent()
	s.readUnsigned()
	s.carriedCertificates()
	s.identify()
	s.checkValue()
	s.counterSignatures()
	s.timestamps()
	s.finishReferences()
	return s
}

// name gives a signature an id that is unique in the file and the same at every reading.
func (r *reader) name(value []byte) string {
	id := "J-" + ades.FactID(value)[:32]
	r.ids[id]++
	if k := r.ids[id]; k > 1 {
		id += "~" + strconv.Itoa(k)
	}
	return id
}

// count records a header parameter or component that is present.
func (s *sigReader) count(name string, signed bool) {
	for i := range s.sig.Attributes {
		if a := &s.sig.Attributes[i]; a.Name == name && a.Signed == signed {
			a.Values++
			return
		}
	}
	s.sig.Attributes = append(s.sig.Attributes, ades.Attribute{Name: name, Signed: signed, Values: 1})
}

// checkValue verifies the signature value with the key of the signing certificate.
func (s *sigReader) checkValue() {
	name, _ := s.head.Get("alg").Text()
	alg, known := algorithms[name]
	var pub any
	if s.signer != nil {
		pub = s.signer.PublicKey
	}
	if _, ok := pub.(pkix.Ed448PublicKey); ok && name == "EdDSA" {
		alg.Kind = pkix.Ed448
	}
	switch {
	case withoutSigner(name):
		s.problem(finding.JWSAlgorithmNobody, "protected", name)
		return
	case name == "":
		s.problem(finding.JWSHeaderForm, "protected", "alg")
		return
	case !known:
		s.sig.Algorithm.OID = name
		s.problem(finding.JWSAlgorithmUnknown, "protected", name)
		return
	}
	s.alg = alg
	s.sig.Algorithm = alg.Algorithm(pub)
	if pub == nil {
		return
	}
	for i := range max(1, len(s.either)) { // detached, without a reference to its file
		if len(s.either) > 0 {
			s.choose(s.either[i])
		}
		if s.checkOver(pub); s.sig.ValueIntact == ades.Yes {
			return
		}
	}
}

// checkOver verifies the value over the signed data, if that is available.
func (s *sigReader) checkOver(pub any) {
	if s.payload == nil {
		return
	}
	switch err := s.verify(pub); {
	case err == nil:
		s.sig.ValueIntact = ades.Yes
	case errors.Is(err, pkix.ErrSignature):
		s.sig.ValueIntact = ades.No
	case errors.Is(err, pkix.ErrEffort):
		s.problem(finding.TooManyChecks, "signature")
	case errors.Is(err, pkix.ErrUnsupported):
		s.problem(finding.JWSValueUnchecked, "signature", err)
	default:
		s.recordError(err)
	}
}

// maxKept is the longest JWS Signing Input kept in the facts.
const maxKept = 1 << 20

// verify checks the value with a key. An elliptic curve other than the algorithm's means another
// algorithm (RFC 7518, 3.4).
func (s *sigReader) verify(pub any) error {
	if key, ok := pub.(*ecdsa.PublicKey); ok && s.alg.curve != "" && key.Curve.Params().Name != s.alg.curve {
		return pkix.ErrSignature
	}
	if !s.effort.Spend(pub) {
		return pkix.ErrEffort
	}
	kept := &cappedBuffer{most: maxKept}
	if s.alg.Hash == 0 { // requires the message itself
		kept.most = limits.JSONSize
		if err := s.signingInput(kept); err != nil {
			return err
		}
		if kept.over {
			return pkix.ErrUnsupported
		}
		s.keep(kept)
		return s.alg.Verify(pub, kept.Bytes(), s.value)
	}
	h := s.alg.Hash.New()
	if err := s.signingInput(io.MultiWriter(h, kept)); err != nil {
		return err
	}
	s.keep(kept)
	return s.alg.VerifyDigest(pub, h.Sum(nil), s.value)
}

func (s *sigReader) keep(k *cappedBuffer) {
	if !k.over && k.Len() <= maxKept {
		s.sig.ToBeSigned = k.Bytes()
	}
}

// signingInput writes the JWS Signing Input: the protected header and the payload (RFC 7515,
// section 5.1).
func (s *sigReader) signingInput(w io.Writer) error {
	out := &meteredWriter{w: w, s: s}
	if _, err := out.Write(append(bytes.Clone(s.jws.protected), '.')); err != nil {
		return err
	}
	return s.payload(out)
}

// recordError records an error of a source, which is not a fact of the signature.
func (s *sigReader) recordError(err error) {
	if errors.Is(err, limits.ErrBudget) {
		s.sig.Problems = append(s.sig.Problems, finding.TooMuch.Problem(s.jws.path))
		return
	}
	if s.err == nil {
		s.reader.err = err
	}
}

// finishReferences decides the references that only the value proves.
func (s *sigReader) finishReferences() {
	for i := range s.sig.References {
		if r := &s.sig.References[i]; r.Kind == payloadReference && r.Found {
			r.Intact = s.sig.ValueIntact
			r.Digest = s.sig.Algorithm.Digest
		}
	}
}

// parts records what a reader of the file takes for the document, and which signatures cover it.
// Members other than those of RFC 7515 are unsigned content.
func (r *reader) parts(readers []*sigReader) {
	type named struct{ kind, name string }
	at := map[named]int{}
	for _, s := range readers {
		good := s.sig.Intact() != ades.No && !ades.Fatal(s.sig.Problems)
		s.sig.ContentIsWhole = len(r.file.extra) == 0
		if good {
			s.sig.Content = s.content
		}
		if good && s.carried && s.sig.ValueIntact == ades.Yes && len(r.out.Content) == 0 {
			r.out.Content = s.content
		}
		for _, f := range s.content {
			key := named{"content", f.Name}
			i, ok := at[key]
			if !ok {
				i = len(r.out.Parts)
				at[key] = i
				r.out.Parts = append(r.out.Parts, ades.Part{Kind: ades.ContentPart, Name: f.Name})
			}
			if p := &r.out.Parts[i]; !slices.Contains(p.CoveredBy, s.sig.ID) {
				p.CoveredBy = append(p.CoveredBy, s.sig.ID)
			}
		}
	}
	for _, name := range r.file.extra {
		r.out.Parts = append(r.out.Parts, ades.Part{Kind: ades.ContentPart, Name: name})
		for _, s := range readers {
			s.problem(finding.JWSMemberUnsigned, name, name)
		}
	}
}

package xades

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// Read returns the facts of every signature in an XML document. It returns a *ades.MalformedError
// if the document is not well-formed or has a DTD; a broken signature is a fact, not an error.
func Read(ctx context.Context, src ades.Source, o ades.ReadOptions) (*ades.Document, error) {
	if m, ok := src.(*handoff.Member); ok {
		return readMember(ctx, m)
	}
	doc, err := parse(ctx, src)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	r := newReader(ctx, doc, outside{files: o.Detached})
	r.known = o.Certificates
	if err := r.read(); err != nil {
		return nil, err
	}
	if err := r.parts(o.Expect.Element); err != nil {
		return nil, err
	}
	r.fileParts()
	r.markWhole()
	r.rejectForeign()
	return r.out, nil
}

// readMember is Read for a signature file of a container. Parts are the contents of the signature
// file itself, which should have none.
func readMember(ctx context.Context, m *handoff.Member) (*ades.Document, error) {
	doc, err := parse(ctx, m.Source)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	r := newReader(ctx, doc, outside{files: m.Files, container: true, resolve: m.Resolve})
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.out, r.parts("")
}

func (r *reader) read() error {
	r.found = xmldsig.Find(r.doc)
	if len(r.found) > limits.XMLSignatures {
		return ades.Malformed("XML", "", "%w: %d signatures", xmldom.ErrLimit, len(r.found))
	}
	for _, n := range r.found {
		if r.seen[n] {
			continue // a counter-signature, read with its parent
		}
		sig := r.signature(n, nil, 0)
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.out.Signatures = append(r.out.Signatures, sig)
		if sig.Format == ades.XAdES {
			r.out.Format = ades.XAdES
		}
		if !ades.Fatal(sig.Problems) && sig.Intact() != ades.No {
			r.out.Content = append(r.out.Content, sig.Content...)
		}
	}
	return nil
}

type reader struct {
	ctx    context.Context
	doc    *xmldom.Document
	files  outside
	known  [][]byte // given by the caller
	out    *ades.Document
	ids    map[string]int
	budget int64
	found  []*xmldom.Node // every ds:Signature
	tops   []*sigReader   // of the signatures other than counter-signatures

	counters []*sigReader // of counter-signatures
	seen     map[*xmldom.Node]bool
}

func newReader(ctx context.Context, doc *xmldom.Document, files outside) *reader {
	return &reader{
		ctx: ctx, doc: doc, files: files, out: &ades.Document{Format: ades.XMLDSig}, ids: map[string]int{}, seen: map[*xmldom.Node]bool{},
		budget: limits.XMLWork + limits.XMLWorkTimes*(int64(len(doc.Source()))+files.size()),
	}
}

// isCounter reports whether a signature is in a CounterSignature property of another one.
func isCounter(n *xmldom.Node) bool {
	p := n.Parent
	return p != nil && p.Kind == xmldom.Element && p.Name.Local == "CounterSignature" && isXAdES(p.Name.Space)
}

// sigReader reads one signature.
type sigReader struct {
	*reader
	x     *xmldsig.Signature
	sig   *ades.Signature
	depth int

	space    string // of the qualifying properties
	signed   *xmldom.Node
	unsigned *xmldom.Node        // UnsignedSignatureProperties
	certs    []*pkix.Certificate // in the signature, those of KeyInfo first
	signer   *pkix.Certificate
	formats  map[string]*xmldom.Node // DataObjectFormat with a MimeType, by the id of the reference
	missing  int                     // references without DataObjectFormat

	inKeyInfo int            // number of certs in KeyInfo
	regions   []signedRegion // of the document, covered by this signature
	elsewhere bool           // a reference points outside the document
	absent    []string       // entries of manifests that were not found
}

// signature reads a ds:Signature; parent is the one it counter-signs.
func (r *reader) signature(n *xmldom.Node, parent *xmldsig.Signature, depth int) *ades.Signature {
	r.seen[n] = true
	x, err := xmldsig.Read(r.doc, n)
	s := &sigReader{reader: r, x: x, depth: depth, sig: &ades.Signature{Format: ades.XMLDSig, Path: n.Path()}}
	s.sig.ID = r.name(n, x)
	if depth == 0 {
		r.tops = append(r.tops, s)
	}
	if id := n.Attr("Id"); id != "" {
		if _, dup := r.doc.ByID(id); errors.Is(dup, xmldom.ErrDuplicate) {
			s.problem(finding.XMLIdNotUnique, n)
		}
	}
	if err != nil {
		s.problem(finding.XMLSignatureUnreadable, n, err)
		return s.sig
	}
	if depth > 0 {
		r.counters = append(r.counters, s)
	}
	s.sig.Value, x.Budget, x.Context = x.Value, &r.budget, r.ctx
	s.findProperties()
	s.readSigned()
	s.references(parent)
	s.carried()
	s.identify()
	s.checkValue()
	s.counterSignatures()
	s.timestamps()
	s.facts()
	return s.sig
}

// name gives a signature an id that is unique in the document and the same at every reading. An Id
// in the form of a [ades.FactID] does not count: it could be that of evidence, and proven with it.
func (r *reader) name(n *xmldom.Node, x *xmldsig.Signature) string {
	id := n.Attr("Id")
	if id == "" || factID.MatchString(id) {
		raw := []byte(r.doc.Raw(n))
		if x != nil && len(x.Value) > 0 {
			raw = x.Value
		}
		id = "S-" + ades.FactID(raw)[:32]
	}
	base := id
	for r.ids[id] > 0 {
		r.ids[base]++
		id = fmt.Sprintf("%s~%d", base, r.ids[base])
	}
	r.ids[id] = 1
	return id
}

var factID = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (s *sigReader) problem(k *finding.Kind, where *xmldom.Node, values ...any) {
	s.sig.Problems = append(s.sig.Problems, k.Problem(where.Path(), values...))
}

// checkValue verifies the signature value with the key of the signing certificate. A bare key is
// used only if there is no certificate at all, or it could replace the key of another person's
// certificate.
func (s *sigReader) checkValue() {
	s.sig.ToBeSigned = s.x.ToBeSigned()
	var pub any
	switch {
	case s.signer != nil:
		pub = s.signer.PublicKey
	case len(s.certs) == 0:
		var err error
		if pub, err = xmldsig.PublicKey(s.x.KeyInfo); err != nil {
			s.problem(finding.XMLKeyValueUnreadable, s.x.KeyInfo, err)
		}
	}
	s.sig.Algorithm = s.x.Scheme.Algorithm(pub)
	if s.x.SchemeErr != nil {
		s.problem(finding.XMLMethodUnknown, s.x.SignedInfo, s.x.SchemeErr)
		return
	}
	if pub == nil {
		return
	}
	switch err := s.x.CheckValue(pub); {
	case err == nil:
		s.sig.ValueIntact = ades.Yes
	case errors.Is(err, pkix.ErrSignature):
		s.sig.ValueIntact = ades.No
	default:
		s.problem(finding.XMLValueUnchecked, s.x.SignedInfo, err)
	}
}

// counterSignatures reads the CounterSignature properties.
func (s *sigReader) counterSignatures() {
	for p := range s.unsigned.Elements() {
		if p.Name.Local != "CounterSignature" {
			continue
		}
		for _, n := range p.Children(ds, "Signature") {
			if s.depth+1 >= limits.CounterSignatures {
				s.problem(finding.XMLCountersBeyondLimit, p)
				return
			}
			c := s.reader.signature(n, s.x, s.depth+1)
			s.sig.CounterSignatures = append(s.sig.CounterSignatures, c)
		}
	}
}

package xades

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// outside are the files that references outside the document may refer to.
type outside struct {
	files []ades.File
	// container: the files are those of a container, and references are resolved by name. Files
	// given beside a document may have other names: the digest decides.
	container bool
	// resolve, if set, replaces the rules here for finding a file of a container.
	resolve func(uri string) *ades.File
}

func (o outside) size() int64 {
	var total int64
	for _, f := range o.files {
		total += f.Source.Size()
	}
	return total
}

// errAmbiguous: readers resolve a URI to different files.
var errAmbiguous = errors.New("the reference can be read as two file names")

// find resolves a reference by name: unchanged, percent-decoded, or with plus signs for spaces,
// since all of these occur. It is an error if two files match, since readers differ.
func (o outside) find(r *xmldsig.Reference) (*ades.File, error) {
	if o.resolve != nil {
		return o.resolve(r.URI), nil
	}
	var found *ades.File
	wanted := names(r.URI)
	for i := range o.files {
		f := &o.files[i]
		if f.Name == "" || !slices.Contains(wanted, f.Name) {
			continue
		}
		if found != nil && found.Name != f.Name {
			return nil, fmt.Errorf("%w: %q", errAmbiguous, r.URI)
		}
		found = f
	}
	switch {
	case found != nil || o.container:
		return found, nil
	case len(o.files) == 1:
		return &o.files[0], nil
	}
	return byBase(o.files, path.Base(decodeURI(r.URI))), nil
}

// guessed reports whether the only file given is taken for that of a reference, though it has
// another name.
func (o outside) guessed(r *xmldsig.Reference) bool {
	return !o.container && len(o.files) == 1 && !slices.Contains(names(r.URI), o.files[0].Name)
}

// several reports whether the document refers to several files outside: the only one given is not
// all of them.
func (r *reader) several() bool {
	uris := map[string]bool{}
	for _, n := range r.doc.Descendants(ds, "Reference") {
		if uri, ok := n.LookupAttr("", "URI"); !ok || uri != "" && uri[0] != '#' {
			uris[uri] = true
		}
	}
	return len(uris) > 1
}

func byBase(files []ades.File, base string) *ades.File {
	var found *ades.File
	for i := range files {
		if files[i].Name != "" && path.Base(files[i].Name) == base {
			if found != nil {
				return nil
			}
			found = &files[i]
		}
	}
	return found
}

// names are the file names that a URI may mean.
func names(uri string) []string {
	var list []string
	for _, name := range []string{uri, decodeURI(uri), decodeForm(uri)} {
		list = append(list, name, strings.TrimPrefix(name, "./"), strings.TrimPrefix(name, "/"))
	}
	return list
}

func decodeURI(uri string) string {
	if plain, err := url.PathUnescape(uri); err == nil {
		return plain
	}
	return uri
}

func decodeForm(uri string) string {
	if plain, err := url.QueryUnescape(uri); err == nil {
		return plain
	}
	return uri
}

// resolve adapts find for digests.
func (s *sigReader) resolve(r *xmldsig.Reference) xmldsig.Source {
	if f, err := s.files.find(r); err == nil && f != nil {
		return f.Source
	}
	return nil
}

// references checks every reference.
func (s *sigReader) references(parent *xmldsig.Signature) {
	countersigned := parent == nil
	for _, r := range s.x.References {
		if s.ctx.Err() != nil {
			return // Read returns the error
		}
		ref := s.reference(r)
		n, err := s.x.Subject(r)
		same := err == nil
		switch {
		case same && n == s.signed && n != nil:
			ref.Kind = "signed-properties"
			s.missing += boolInt(!s.announced(r))
		case same && parent != nil && n == parent.ValueNode:
			ref.Kind = "counter-signed-value"
			countersigned = true
		case same && s.manifestIn(n) != nil:
			ref.Kind = "manifest"
		case same && n == s.x.KeyInfo && n != nil:
			ref.Kind = "key-info"
		case same && (n.Is(ds, "SignatureProperties") || n.Is(ds, "SignatureProperty")):
			ref.Kind = "signature-properties"
		default:
			s.content(r, &ref)
		}
		s.sig.References = append(s.sig.References, ref)
		if ref.Kind == "manifest" {
			s.manifest(s.manifestIn(n))
		}
	}
	if !countersigned {
		// An injected signature over something else is not a counter-signature, even if it
		// verifies.
		s.problem(finding.XMLCounterSignsOther, s.x.Node)
		s.sig.References = append(s.sig.References, ades.Reference{Kind: "counter-signed-value", Intact: ades.No, Detail: "not referenced"})
	}
}

// manifestIn is the manifest that a reference refers to, directly or in an Object of this signature
// that contains nothing else but signature properties (ISO/IEC 29500-2, clause 10.5.7).
func (s *sigReader) manifestIn(n *xmldom.Node) *xmldom.Node {
	if n.Is(ds, "Object") && n.Parent == s.x.Node {
		m := n.Child(ds, "Manifest")
		for c := n.First; c != nil && m != nil; c = c.Next {
			if c != m && !c.Is(ds, "SignatureProperties") && !(c.Kind == xmldom.Text && isSpace(c.Data)) {
				return nil // there is other content as well
			}
		}
		if m != nil {
			return m
		}
	}
	if n.Is(ds, "Manifest") {
		return n
	}
	return nil
}

// announced reports whether a reference to the SignedProperties has the Type that EN 319 132-1
// requires, and refers to them by Id. Otherwise it is treated like a reference to content.
func (s *sigReader) announced(r *xmldsig.Reference) bool {
	return isSignedProperties(r.Type) && (!r.HasURI || strings.HasPrefix(r.URI, "#")) || s.formats[r.ID] != nil
}

// lastNameless is the last reference without an Id. DSS, whose level names these are, requires a
// DataObjectFormat only for the last of them.
func (s *sigReader) lastNameless() *xmldsig.Reference {
	for _, r := range slices.Backward(s.x.References) {
		if r.ID == "" {
			return r
		}
	}
	return nil
}

// misplaced reports whether a reference of type Object does not refer to an Object of this
// signature, by which signed content could be hidden and replaced.
func (s *sigReader) misplaced(r *xmldsig.Reference) bool {
	if r.Type != ds+"Object" {
		return false
	}
	g, err := s.x.Region(r)
	if err != nil || g.Top() == nil {
		return false
	}
	n := g.Top()
	return !n.Is(ds, "Object") || n.Parent != s.x.Node
}

// content records what a reference to content covers.
func (s *sigReader) content(r *xmldsig.Reference, ref *ades.Reference) {
	if s.misplaced(r) {
		s.problem(finding.XMLForeignObject, r.Node)
	}
	s.missing += boolInt(s.formats[r.ID] == nil && (r.ID != "" || r == s.lastNameless()))
	s.addContent(r, ref)
}

// addContent adds the content of an intact reference.
func (s *sigReader) addContent(r *xmldsig.Reference, ref *ades.Reference) {
	if _, _, same, _ := s.x.Target(r); same {
		if ref.Intact == ades.Yes {
			s.sig.Content = append(s.sig.Content, ades.File{Source: s.octets(r)})
		}
		return
	}
	s.elsewhere = true
	ref.Name = decodeURI(r.URI)
	if f := s.formats[r.ID]; f != nil && r.ID != "" {
		ref.MediaType = text(f.Child(s.space, "MimeType"))
	}
	f, err := s.files.find(r)
	if err != nil {
		ref.Intact, ref.Detail = ades.Unknown, err.Error()
		s.problem(finding.XMLReferenceUnreadable, r.Node, err)
	}
	if f == nil {
		return
	}
	if f.Name != "" {
		ref.Name = f.Name
	}
	ids, relations := s.x.Related(r, f.Source)
	switch {
	case ref.Intact != ades.Yes:
	case relations: // the container's reader decides which count
		ref.Relationships = ids
	case !s.x.WholeFile(r, f.Source) || !s.asWritten(r, f):
		s.problem(finding.XMLReferencePartly, r.Node, f.Name)
	default:
		s.sig.Content = append(s.sig.Content, *f)
	}
}

// reference checks one digest. The region that the reference covers counts for the signature,
// unless it is a counter-signature.
func (s *sigReader) reference(r *xmldsig.Reference) ades.Reference {
	ref := ades.Reference{Kind: "xml-reference", URI: r.URI, Digest: r.DigestURI, Value: r.Digest}
	if h, ok := xmldsig.HashByURI(r.DigestURI); ok {
		ref.Digest = pkix.HashName(h)
	}
	err := s.x.Check(r, s.resolve)
	if errors.Is(err, xmldsig.ErrDigest) && s.files.guessed(r) && s.several() {
		err = fmt.Errorf("%w: %q", xmldsig.ErrMissing, r.URI)
	}
	switch {
	case err == nil:
		ref.Found, ref.Intact = true, ades.Yes
	case errors.Is(err, xmldsig.ErrMissing):
		ref.Detail = err.Error()
	case errors.Is(err, xmldsig.ErrDigest):
		ref.Found, ref.Intact = true, ades.No
	case errors.Is(err, xmldsig.ErrNotEvaluated), errors.Is(err, pkix.ErrUnsupported): // no digest was computed
		ref.Found, ref.Detail = true, err.Error()
	default: // limits, duplicate ids, malformed data: never valid
		ref.Found, ref.Detail = true, err.Error()
		s.problem(finding.XMLReferenceUnreadable, r.Node, err)
	}
	if g, regionErr := s.x.Region(r); regionErr == nil && (err == nil || errors.Is(err, xmldsig.ErrDigest)) {
		said := signedRegion{region: g}
		if f := s.formats[r.ID]; f != nil && r.ID != "" {
			said.format = map[string]string{"MimeType": text(f.Child(s.space, "MimeType")), "Encoding": text(f.Child(s.space, "Encoding"))}
		}
		s.regions = append(s.regions, said)
	}
	return ref
}

func text(n *xmldom.Node) string { return strings.TrimSpace(n.Text()) }

// manifest checks the entries of a ds:Manifest. What an entry refers to is signed through the
// manifest, so a mismatch is as serious as one of a direct reference. Every entry is charged: a
// thousand references of a thousand signatures may be to one manifest.
func (s *sigReader) manifest(n *xmldom.Node) {
	const each = 1 << 10 // with what a report says of an entry
	for i, e := range n.Children(ds, "Reference") {
		if i >= xmldsig.MaxReferences || limits.BudgetOf(s.ctx).Spend(each) != nil || s.ctx.Err() != nil {
			s.problem(finding.XMLManifestTooLong, n, xmldsig.MaxReferences)
			return
		}
		r, err := xmldsig.ReadReference(e)
		if err != nil {
			s.problem(finding.XMLReferenceUnreadable, e, err)
			return
		}
		ref := s.reference(r)
		ref.Kind, ref.Name = "manifest-entry", decodeURI(r.URI)
		s.addContent(r, &ref)
		if !ref.Found && !s.files.container {
			// Core validation leaves the entries to the application (XML Signature, 5.1): the
			// signature is intact, but some of what it covers is not available.
			s.problem(finding.XMLManifestEntryMissing, e, ref.Name)
			s.absent = append(s.absent, ref.Name)
			continue
		}
		s.sig.References = append(s.sig.References, ref)
	}
}

// octets are the verified octets of a reference, made on demand. The document is parsed again,
// since its tree is released by then.
type octets struct {
	doc  string
	sig  uint32 // offset of the ds:Signature
	ref  uint32 // offset of the ds:Reference
	xml  bool   // a canonical document or element: known without making the octets
	once sync.Once
	data *bytes.Reader
}

func (s *sigReader) octets(r *xmldsig.Reference) *octets {
	g, err := s.x.Region(r)
	xml := err == nil && !g.Text && g.Set.Keep == nil && (g.Set.Apex.Kind == xmldom.Element || g.Set.Apex.Kind == xmldom.DocumentNode)
	return &octets{doc: s.doc.Octets(), sig: s.x.Node.Start, ref: r.Node.Start, xml: xml}
}

// load repeats a write that succeeded before, so it cannot fail.
func (o *octets) load() *bytes.Reader {
	o.once.Do(func() { o.data = bytes.NewReader(o.write()) })
	return o.data
}

func (o *octets) write() []byte {
	doc, err := xmldom.Parse(o.doc, xmldom.Limits{})
	if err != nil {
		return nil
	}
	defer doc.Release()
	x, err := xmldsig.Read(doc, nodeAt(xmldsig.Find(doc), o.sig))
	if err != nil {
		return nil
	}
	r, err := xmldsig.ReadReference(nodeAt(doc.Descendants(ds, "Reference"), o.ref))
	if err != nil {
		return nil
	}
	var b bytes.Buffer
	b.Grow(len(o.doc))
	_ = x.Write(&b, r, nil, xmldsig.Method{})
	return b.Bytes()
}

// nodeAt is the node of a list that begins at an offset.
func nodeAt(list []*xmldom.Node, start uint32) *xmldom.Node {
	return list[slices.IndexFunc(list, func(n *xmldom.Node) bool { return n.Start == start })]
}

func (o *octets) ReadAt(p []byte, off int64) (int, error) { return o.load().ReadAt(p, off) }

func (o *octets) Size() int64 { return o.load().Size() }

var _ ades.Source = (*octets)(nil)

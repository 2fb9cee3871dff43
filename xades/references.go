package xades

import (
	"bytes"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// outside are the files that references out of the document may be to.
type outside struct {
	files []ades.File
	// single lets one file alone serve any reference.
	single bool
	// resolve, where it is set, finds the file of a container in place of the
	// rules here.
	resolve func(uri string) *ades.File
}

func (o outside) size() int64 {
	var total int64
	for _, f := range o.files {
		total += f.Source.Size()
	}
	return total
}

// find resolves by name: as it stands, percent-decoded, or by its last segment
// where only one file has it. The digest decides in the end.
func (o outside) find(r *xmldsig.Reference) *ades.File {
	if o.resolve != nil {
		return o.resolve(r.URI)
	}
	for _, name := range names(r.URI) {
		for i := range o.files {
			if o.files[i].Name != "" && o.files[i].Name == name {
				return &o.files[i]
			}
		}
	}
	if f := byBase(o.files, path.Base(decodeURI(r.URI))); f != nil {
		return f
	}
	if o.single && len(o.files) == 1 {
		return &o.files[0]
	}
	return nil
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

func names(uri string) []string {
	plain := decodeURI(uri)
	return []string{uri, plain, strings.TrimPrefix(plain, "./"), strings.TrimPrefix(plain, "/")}
}

func decodeURI(uri string) string {
	if plain, err := url.PathUnescape(uri); err == nil {
		return plain
	}
	return uri
}

// resolve adapts find for digests.
func (s *sigReader) resolve(r *xmldsig.Reference) xmldsig.Source {
	if f := s.files.find(r); f != nil {
		return f.Source
	}
	return nil
}

// references checks every reference.
func (s *sigReader) references(parent *xmldsig.Signature) {
	countersigned := parent == nil
	for _, r := range s.x.References {
		ref := s.reference(r)
		n, err := s.x.Subject(r)
		same := err == nil
		switch {
		case same && n == s.signed:
			ref.Kind = "signed-properties"
			s.missing += boolInt(!s.announced(r))
		case same && parent != nil && n == parent.ValueNode:
			ref.Kind = "counter-signed-value"
			if cover, _ := s.x.Covers(r); cover != xmldsig.Outside {
				countersigned = true
			}
		case same && n.Is(ds, "Manifest"):
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
			s.manifest(n)
		}
	}
	if !countersigned {
		// An injected signature that is about something else is no
		// counter-signature, however well its own arithmetic holds.
		s.problem(true, s.x.Node, "the counter-signature does not sign the value of its parent")
		s.sig.References = append(s.sig.References, ades.Reference{Kind: "counter-signed-value", Intact: ades.No, Detail: "not referenced"})
	}
}

// announced reports whether a reference to the SignedProperties has the Type
// that EN 319 132-1 demands of it, and leads to them by their Id. Without, it
// is one to content like any other.
func (s *sigReader) announced(r *xmldsig.Reference) bool {
	return isSignedProperties(r.Type) && (!r.HasURI || strings.HasPrefix(r.URI, "#")) || s.formats[r.ID]
}

// lastNameless is the last reference without an Id. DSS, whose words for levels
// these are, asks only that one of them for a DataObjectFormat.
func (s *sigReader) lastNameless() *xmldsig.Reference {
	for _, r := range slices.Backward(s.x.References) {
		if r.ID == "" {
			return r
		}
	}
	return nil
}

// misplaced reports whether a reference that says it is to an Object is not to
// one of this signature: signed content is hidden that way and other content
// put where readers look.
func (s *sigReader) misplaced(r *xmldsig.Reference) bool {
	if r.Type != ds+"Object" {
		return false
	}
	n, err := s.x.Subject(r)
	return err == nil && (!n.Is(ds, "Object") || n.Parent != s.x.Node)
}

// content notes what a reference to content covers.
func (s *sigReader) content(r *xmldsig.Reference, ref *ades.Reference) {
	if s.misplaced(r) {
		ref.Intact, ref.Detail = ades.No, "the object is not one of this signature"
		s.problem(true, r.Node, "%s", ref.Detail)
	}
	s.missing += boolInt(!s.formats[r.ID] && (r.ID != "" || r == s.lastNameless()))
	if _, _, same, _ := s.x.Target(r); !same {
		if f := s.files.find(r); f != nil {
			ref.Name = f.Name
			s.file(r, ref, f)
		} else {
			ref.Name = decodeURI(r.URI)
		}
		return
	}
	if ref.Intact == ades.Yes {
		s.sig.Content = append(s.sig.Content, ades.File{Source: s.octets(r)})
	}
}

// file notes a file outside the document that a reference covers, if it is
// intact and the transforms take in all of it.
func (s *sigReader) file(r *xmldsig.Reference, ref *ades.Reference, f *ades.File) {
	if ref.Intact != ades.Yes {
		return
	}
	if !s.x.WholeFile(r, f.Source) {
		s.problem(false, r.Node, "the reference covers a part of %s only", f.Name)
		return
	}
	s.sig.Content = append(s.sig.Content, *f)
}

// reference checks one digest and says how it went.
func (s *sigReader) reference(r *xmldsig.Reference) ades.Reference {
	ref := ades.Reference{Kind: "xml-reference", URI: r.URI, Digest: r.DigestURI, Value: r.Digest}
	if h, ok := xmldsig.HashByURI(r.DigestURI); ok {
		ref.Digest = pkix.HashName(h)
	}
	err := s.x.Check(r, s.resolve)
	switch {
	case err == nil:
		ref.Found, ref.Intact = true, ades.Yes
	case errors.Is(err, xmldsig.ErrMissing):
		ref.Detail = err.Error()
	case errors.Is(err, xmldsig.ErrDigest):
		ref.Found, ref.Intact = true, ades.No
	default: // refused transforms, duplicate ids: never to be trusted
		ref.Found, ref.Intact, ref.Detail = true, ades.No, err.Error()
		if errors.Is(err, xmldom.ErrDuplicate) {
			s.problem(true, r.Node, "%v", err)
		}
	}
	return ref
}

// manifest checks the entries of a ds:Manifest.
func (s *sigReader) manifest(n *xmldom.Node) {
	for i, e := range n.Children(ds, "Reference") {
		if i >= xmldsig.MaxReferences {
			s.problem(false, n, "manifest entries beyond the limit are not read")
			return
		}
		r, err := xmldsig.ReadReference(e)
		if err != nil {
			s.problem(true, e, "%v", err)
			return
		}
		ref := s.reference(r)
		ref.Kind, ref.Name = "manifest-entry", decodeURI(r.URI)
		if !ref.Found {
			// The core validation of XML-DSig leaves manifests to the
			// application; what is not there is not shown as signed.
			s.problem(false, e, "manifest entry not found: %q", ref.Name)
			continue
		}
		if _, _, same, _ := s.x.Target(r); !same {
			if f := s.files.find(r); f != nil {
				ref.Name = f.Name
				s.file(r, &ref, f)
			}
		}
		s.sig.References = append(s.sig.References, ref)
	}
}

// octets are the verified octets of a reference, made when they are asked for.
// The document is parsed again for it: its tree is gone by then.
type octets struct {
	doc  []byte
	sig  int // which ds:Signature of the document
	ref  int // which reference of it
	once sync.Once
	data *bytes.Reader
}

func (s *sigReader) octets(r *xmldsig.Reference) *octets {
	return &octets{
		doc: s.doc.Bytes(),
		sig: slices.Index(xmldsig.Find(s.doc), s.x.Node),
		ref: slices.Index(s.x.References, r),
	}
}

// load writes what was written once before, so that errors cannot happen.
func (o *octets) load() *bytes.Reader {
	o.once.Do(func() {
		var b bytes.Buffer
		defer func() { o.data = bytes.NewReader(b.Bytes()) }()
		doc, err := xmldom.Parse(o.doc, xmldom.Limits{})
		if err != nil {
			return
		}
		defer doc.Release()
		if x, err := xmldsig.Read(doc, xmldsig.Find(doc)[o.sig]); err == nil {
			_ = x.Write(&b, x.References[o.ref], nil, xmldsig.Method{})
		}
	})
	return o.data
}

func (o *octets) ReadAt(p []byte, off int64) (int, error) { return o.load().ReadAt(p, off) }

func (o *octets) Size() int64 { return o.load().Size() }

var _ ades.Source = (*octets)(nil)

package asic

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/xades"
)

// Read states the facts of a container: every signature, every time-stamp of
// the container, and which files no signature covers. It returns a
// *ades.MalformedError for what is no ZIP, ErrNotContainer for a ZIP without
// signatures that is neither ASiC nor OpenDocument.
func Read(ctx context.Context, src ades.Source, o ades.ReadOptions) (*ades.Document, error) {
	c, err := open(src)
	if err != nil {
		return nil, err
	}
	format, err := c.format()
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, c: c, doc: &ades.Document{Format: format}, ids: map[string]bool{}, of: map[string][]*ades.Signature{}}
	for _, e := range c.of(roleData) {
		r.doc.Content = append(r.doc.Content, ades.File{Name: e.name, Source: e})
	}
	if err := r.signatures(); err != nil {
		return nil, err
	}
	if err := r.timestamps(); err != nil {
		return nil, err
	}
	r.form()
	r.coverage(o.Expect)
	return r.doc, nil
}

type reader struct {
	ctx       context.Context
	c         *container
	doc       *ades.Document
	manifests []*manifest
	ids       map[string]bool
	of        map[string][]*ades.Signature // signatures by the file they stand in
}

func (r *reader) problem(fatal bool, where, text string, args ...any) {
	r.doc.Problems = append(r.doc.Problems, ades.Problem{Fatal: fatal, Where: where, Text: fmt.Sprintf(text, args...)})
}

// signatures reads every signature file. One that cannot be read counts as a
// broken signature, since that is what it claims to be.
func (r *reader) signatures() error {
	for _, e := range r.c.of(roleManifest, roleArchive) {
		m, err := readManifest(e)
		if err != nil {
			r.problem(false, e.name, "%v", err)
			continue
		}
		r.manifests = append(r.manifests, m)
	}
	for _, e := range r.c.of(roleXML, roleCMS) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		read := r.xml
		if e.role == roleCMS {
			read = r.cms
		}
		sigs, err := read(e)
		if err != nil {
			sigs = []*ades.Signature{r.unreadable(e, err)}
		}
		for _, s := range sigs {
			s.Path = e.name + "#" + s.Path
			r.unique(s, e.name)
		}
		r.of[e.name] = sigs
		r.doc.Signatures = append(r.doc.Signatures, sigs...)
	}
	return nil
}

func (r *reader) unreadable(e *entry, err error) *ades.Signature {
	format := ades.XAdES
	if e.role == roleCMS {
		format = ades.CAdES
	}
	return &ades.Signature{
		ID: "S-" + ades.FactID([]byte(e.name))[:32], Format: format, ValueIntact: ades.No,
		Problems: []ades.Problem{{Fatal: true, Where: e.name, Text: err.Error()}},
	}
}

// unique keeps ids apart: every signature file numbers its own.
func (r *reader) unique(s *ades.Signature, file string) {
	old := s.ID
	for n := 2; r.ids[s.ID]; n++ {
		s.ID = fmt.Sprintf("%s~%s~%d", old, path.Base(file), n)
	}
	r.ids[s.ID] = true
	if s.ID == old {
		return
	}
	for _, ts := range s.Timestamps {
		for i, id := range ts.Covers {
			if id == old {
				ts.Covers[i] = s.ID
			}
		}
	}
}

// xml reads a file of XAdES signatures. References are to files of the
// container by name; a name that occurs twice is nobody's.
func (r *reader) xml(e *entry) ([]*ades.Signature, error) {
	if e.Size() > limits.ZIPMeta {
		return nil, ades.Malformed("ZIP", e.name, "%d bytes, more than a signature file may have", e.Size())
	}
	var files []ades.File
	for _, f := range r.c.entries {
		if f.role != roleFolder && f != e && !slices.Contains(r.c.twice, f.name) {
			files = append(files, ades.File{Name: f.name, Source: f})
		}
	}
	doc, err := xades.ReadIn(r.ctx, e, files)
	if err != nil {
		return nil, err
	}
	for _, s := range doc.Signatures {
		s.ContentIsWhole = false // decided for the container below
	}
	return doc.Signatures, nil
}

// cms reads a CAdES signature: over a manifest that names it, else over the
// one data object of an ASiC-S.
func (r *reader) cms(e *entry) ([]*ades.Signature, error) {
	if e.Size() > limits.ZIPMeta {
		return nil, ades.Malformed("ZIP", e.name, "%d bytes, more than a signature file may have", e.Size())
	}
	var detached []ades.File
	m := r.manifestOf(e.name)
	data := r.c.of(roleData)
	switch {
	case m != nil:
		detached = []ades.File{{Name: m.entry.name, Source: m.entry}}
	case len(data) == 1 || r.doc.Format == ades.ASiCS && len(data) > 0:
		for _, d := range data {
			detached = append(detached, ades.File{Name: d.name, Source: d})
		}
	}
	doc, err := cades.Read(r.ctx, e, ades.ReadOptions{Detached: detached})
	if err != nil {
		return nil, err
	}
	if len(doc.Signatures) == 0 {
		return nil, errors.New("no signature in a signature file")
	}
	for _, s := range doc.Signatures {
		s.ContentIsWhole = false
		if m != nil {
			r.entries(s, m)
		} else if len(detached) == 1 {
			s.Content = detached
			r.name(s, detached[0].Name)
		}
	}
	return doc.Signatures, nil
}

// name says which file a message digest is over.
func (r *reader) name(s *ades.Signature, file string) {
	for i := range s.References {
		if s.References[i].Kind == "message-digest" {
			s.References[i].Name = file
		}
	}
}

// manifestOf finds the manifest that a signature or time-stamp is over.
func (r *reader) manifestOf(name string) *manifest {
	for _, m := range r.manifests {
		if m.sigName == name {
			return m
		}
	}
	return nil
}

// entries adds the files of a manifest to the references of its signature.
func (r *reader) entries(s *ades.Signature, m *manifest) {
	r.name(s, m.entry.name)
	for _, o := range m.objects {
		ref := r.c.check(o)
		s.References = append(s.References, ref)
		if e := r.c.lookup(o.URI); e != nil {
			s.Content = append(s.Content, ades.File{Name: e.name, Source: e})
		}
	}
}

// form notes what is wrong with the container as such.
func (r *reader) form() {
	for _, name := range r.c.twice {
		if role := roleOf(name); role == roleXML || role == roleCMS || role == roleTimestamp {
			r.problem(false, name, "two entries of one name") // both are read
			continue
		}
		// Readers disagree on which of them is shown: nothing in here can be
		// said to be what was signed.
		r.problem(true, name, "two entries of one name")
		for _, s := range r.doc.Signatures {
			s.Problems = append(s.Problems, ades.Problem{Fatal: true, Where: name, Text: "two entries of one name"})
		}
	}
	first := r.c.entries
	if len(first) > 0 && (first[0].role != roleMimetype || first[0].stored == nil) {
		r.problem(false, "mimetype", "is not first, or not stored without compression")
	}
	for _, e := range r.c.entries {
		if strings.Contains(e.name, "..") && slices.Contains(strings.Split(e.name, "/"), "..") || strings.HasPrefix(e.name, "/") {
			r.problem(false, e.name, "name leads out of the container")
		}
	}
}

package asic

import (
	"bytes"
	"context"
	"crypto"
	"fmt"
	"path"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/xades"
)

// Read returns the facts of a container: every signature, every time-stamp of the container, and
// which files no signature covers. It returns a *ades.MalformedError if the file is not a ZIP,
// ErrNotContainer for a ZIP without signatures that is neither ASiC, OpenDocument nor an Office
// document.
func Read(ctx context.Context, src ades.Source, o ades.ReadOptions) (*ades.Document, error) {
	c, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	format, err := c.format()
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, c: c, lookup: c.lookup, doc: &ades.Document{Format: format}, ids: map[string]bool{}, of: map[string][]*ades.Signature{}, stamped: map[*entry]bool{}}
	if format == ades.OOXML {
		if err := r.readOOXML(o.Expect); err != nil {
			return nil, err
		}
		r.foreign(src)
		return r.doc, c.failed
	}
	if err := r.signatures(); err != nil {
		return nil, err
	}
	if err := r.timestamps(); err != nil {
		return nil, err
	}
	if err := r.form(); err != nil {
		return nil, err
	}
	r.packageManifest()
	if err := r.coverage(o.Expect); err != nil {
		return nil, err
	}
	r.foreign(src)
	return r.doc, c.failed
}

type reader struct {
	ctx       context.Context
	c         *container
	lookup    func(uri string) *entry // the file of a reference
	doc       *ades.Document
	manifests []*manifest
	ids       map[string]bool
	of        map[string][]*ades.Signature // signatures by file
	stamped   map[*entry]bool              // files under an intact time-stamp
	loose     []string                     // what signature files hold that they do not sign
}

func (r *reader) problem(p ades.Problem) { r.doc.Problems = append(r.doc.Problems, p) }

// signatures reads every signature file. An unreadable one counts as a broken signature, since that
// is what it claims to be.
func (r *reader) signatures() error {
	for _, e := range r.c.of(roleManifest, roleArchive, roleRecordManifest) {
		m, err := readManifest(e)
		if err != nil {
			r.problem(finding.ASiCManifestUnreadable.Problem(e.name, err))
			e.role = roleStray // whatever it really is
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
		ID: "S-" + ades.FactID([]byte(e.name))[:32], Format: format,
		Problems: []ades.Problem{finding.Of(e.name, err)},
	}
}

// unique makes the ids of a signature and its counter-signatures unique: every signature file numbers
// its own. What was covered under an old id is covered under the new one.
func (r *reader) unique(s *ades.Signature, file string) {
	renamed := map[string]string{}
	withCounters(s, func(s *ades.Signature) {
		old := s.ID
		for n := 2; r.ids[s.ID]; n++ {
			s.ID = fmt.Sprintf("%s~%s~%d", old, path.Base(file), n)
		}
		r.ids[s.ID] = true
		renamed[old] = s.ID
	})
	withCounters(s, func(s *ades.Signature) {
		for _, ts := range s.Timestamps {
			for i, id := range ts.Covers {
				if now, ok := renamed[id]; ok {
					ts.Covers[i] = now
				}
			}
		}
	})
}

func withCounters(s *ades.Signature, do func(*ades.Signature)) {
	do(s)
	for _, c := range s.CounterSignatures {
		withCounters(c, do)
	}
}

// xml reads a file of XAdES signatures, whose references are to files of the container by name.
func (r *reader) xml(e *entry) ([]*ades.Signature, error) {
	if e.Size() > limits.ZIPMeta {
		return nil, finding.FileTooLarge.Malformed("ZIP", e.name, e.Size())
	}
	resolve := func(uri string) *ades.File {
		f := r.lookup(uri)
		if f == nil || f == e {
			return nil
		}
		return &ades.File{Name: f.name, Source: f}
	}
	doc, err := xades.Read(r.ctx, &handoff.Member{Source: e, Files: r.c.files(e), Resolve: resolve}, ades.ReadOptions{})
	if err != nil {
		return nil, err
	}
	if len(doc.Signatures) == 0 {
		return nil, finding.ASiCNoSignature.New()
	}
	for _, s := range doc.Signatures {
		s.ContentIsWhole = false // determined below for the container
	}
	for _, part := range doc.Parts {
		if len(part.CoveredBy) == 0 {
			r.loose = append(r.loose, e.name+"#"+part.Name)
		}
	}
	return doc.Signatures, nil
}

// cms reads a CAdES signature: over a manifest that refers to it, else over the one data object of
// an ASiC-S. One with its own content was made for that content and signs nothing here (EN 319
// 162-1, clauses 4.3.3.2 and 4.4.3.2: the signature is detached).
func (r *reader) cms(e *entry) ([]*ades.Signature, error) {
	if e.Size() > limits.ZIPMeta {
		return nil, finding.FileTooLarge.Malformed("ZIP", e.name, e.Size())
	}
	var detached []ades.File
	manifests := r.manifestsOf(e.name)
	data := r.c.of(roleData)
	switch {
	case len(manifests) > 0:
		m := manifests[0].entry
		detached = []ades.File{{Name: m.name, Source: m}}
	case len(data) == 1 || r.doc.Format == ades.ASiCS && len(data) > 0:
		detached = []ades.File{{Name: data[0].name, Source: data[0]}}
	}
	doc, err := cades.Read(r.ctx, limits.Paying(e, limits.BudgetOf(r.ctx)), ades.ReadOptions{Detached: detached})
	if err != nil {
		return nil, err
	}
	if len(doc.Signatures) == 0 {
		return nil, finding.ASiCNoSignature.New()
	}
	own := carries(e)
	for _, s := range doc.Signatures {
		s.ContentIsWhole, s.Content = false, nil
		switch {
		case own:
			fatal(s, finding.ASiCOwnContent.Problem(e.name))
		case len(manifests) > 1:
			fatal(s, finding.ASiCManifestTwice.Problem(e.name))
		case len(manifests) == 1:
			if err := r.entries(s, manifests[0]); err != nil {
				return nil, err
			}
		case len(detached) == 1:
			r.name(s, detached[0].Name)
			if s.References[0].Intact == ades.Yes {
				s.Content = detached
			}
		}
	}
	return doc.Signatures, nil
}

// carries reports whether a CMS file has its own content.
func carries(src ades.Source) bool {
	bin, err := cms.Unarmour(src)
	if err != nil {
		return false
	}
	sd, err := cms.Parse(bin)
	return err == nil && sd.Content != nil
}

func fatal(s *ades.Signature, p ades.Problem) { s.Problems = append(s.Problems, p) }

// name sets the file of a message digest.
func (r *reader) name(s *ades.Signature, file string) {
	for i := range s.References {
		if s.References[i].Kind == "message-digest" {
			s.References[i].Name = file
		}
	}
}

// manifestsOf returns the manifests that a signature or time-stamp is over. More than one means
// that another was added.
func (r *reader) manifestsOf(name string) []*manifest {
	var out []*manifest
	for _, m := range r.manifests {
		if e := r.c.lookup(m.sigURI); e != nil && e.name == name {
			out = append(out, m)
		}
	}
	return out
}

// entries adds the files of a manifest to the references of its signature.
func (r *reader) entries(s *ades.Signature, m *manifest) error {
	const each = 1 << 10 // with what a report says of a reference
	if err := limits.BudgetOf(r.ctx).Spend(each * int64(len(m.objects))); err != nil {
		return err
	}
	r.name(s, m.entry.name)
	for i, ref := range m.check(r.c) {
		s.References = append(s.References, ref)
		if e := r.c.lookup(m.objects[i].URI); e != nil && ref.Intact == ades.Yes {
			s.Content = append(s.Content, ades.File{Name: e.name, Source: e})
		}
	}
	return nil
}

// form reports problems of the container itself. Those that make readers see different files are
// fatal to every signature in it.
func (r *reader) form() error {
	if err := r.twins(); err != nil {
		return err
	}
	for _, m := range r.manifests {
		e := r.c.lookup(m.sigURI)
		if m.entry.role != roleRecordManifest && (e == nil || e.role != roleCMS && e.role != roleTimestamp) {
			p := finding.ASiCManifestSignsNothing.Problem(m.entry.name)
			p.Fatal = e != nil
			r.c.problem(p)
		}
		if e == nil {
			m.entry.role = roleStray // nobody signed it, and it may say anything
		}
	}
	data := r.c.of(roleData)
	if r.doc.Format == ades.ASiCS && len(data) > 1 {
		r.c.problem(finding.ASiCSeveralFiles.Problem(data[1].name, len(data)))
	}
	if first := r.c.entries; r.doc.Format != ades.OOXML && len(first) > 0 && (first[0].role != roleMimetype || !first[0].stored) {
		r.problem(finding.ASiCMimetype.Problem("mimetype"))
	}
	r.doc.Problems = append(r.doc.Problems, r.c.problems...)
	for _, s := range r.doc.Signatures {
		for _, p := range r.c.problems {
			if p.Fatal {
				s.Problems = append(s.Problems, p)
			}
		}
	}
	return nil
}

// twins compares the entries of each name that occurs more than once.
func (r *reader) twins() error {
	if len(r.c.twice) == 0 {
		return nil
	}
	named := map[string][]*entry{}
	for _, e := range r.c.entries {
		named[e.name] = append(named[e.name], e)
	}
	for _, name := range r.c.twice {
		list, open := named[name]
		if !open {
			continue // occurs for the third time
		}
		delete(named, name)
		same, err := r.equal(list)
		if err != nil {
			return err
		}
		if role := roleOf(name); same || role == roleXML || role == roleCMS || role == roleTimestamp {
			r.problem(finding.ZIPNameTwice.Problem(name, name)) // equal, or all of them are read
			continue
		}
		r.c.problem(finding.ZIPNameTwiceDifferent.Problem(name, name))
	}
	return nil
}

// equal reports whether all entries have the same content.
func (r *reader) equal(list []*entry) (bool, error) {
	var first []byte
	for _, e := range list {
		d, err := e.digest(crypto.SHA256)
		if err != nil {
			r.c.recordError(err)
			return false, r.c.failed
		}
		if first == nil {
			first = d
		}
		if !bytes.Equal(d, first) {
			return false, nil
		}
	}
	return true, nil
}

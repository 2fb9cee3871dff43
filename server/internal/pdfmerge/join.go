package pdfmerge

import (
	"fmt"
	"io"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// joined is the document in the making.
type joined struct {
	sources []*source
	out     *pdf.File
}

func (j *joined) write(w io.Writer) error {
	j.out = pdf.NewFile(w, j.version())
	root, pages := j.out.Reserve(), j.out.Reserve()
	for _, s := range j.sources {
		s.Out = j.out
		s.reserve()
	}
	catalog, err := j.catalog(pages)
	if err != nil {
		return err
	}
	trailer := pdf.NewDict(pdf.Name("Root"), root)
	if info, ok := j.sources[0].Info(); ok {
		trailer.Set("Info", info)
	}
	if err := j.putPages(pages); err != nil {
		return err
	}
	if err := j.out.Put(root, catalog); err != nil {
		return err
	}
	return j.out.Close(trailer)
}

func (j *joined) putPages(root pdf.Ref) error {
	kids, count := pdf.Array{}, 0
	for i, s := range j.sources {
		node := j.out.Reserve()
		kids = append(kids, node)
		count += len(s.pages)
		if err := s.putPages(root, node); err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
		if err := s.Drain(); err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
		j.sources[i] = nil // what was read of it is not needed any more
	}
	return j.out.Put(root, pdf.NewDict(pdf.Name("Type"), pdf.Name("Pages"), pdf.Name("Kids"), kids, pdf.Name("Count"), pdf.Integer(count)))
}

// catalog is what the document is besides its pages. How it is to be shown,
// the first document says.
func (j *joined) catalog(pages pdf.Ref) (*pdf.Dict, error) {
	c := pdf.NewDict(pdf.Name("Type"), pdf.Name("Catalog"), pdf.Name("Pages"), pages)
	front := j.sources[0]
	for _, key := range []pdf.Name{"Lang", "PageLayout", "PageMode", "ViewerPreferences"} {
		if v := front.catalog().Get(key); v != nil {
			c.Set(key, front.Object(v))
		}
	}
	for _, part := range []struct {
		key  pdf.Name
		make func(pdf.Ref) *pdf.Dict // nil: no document has it
	}{
		{"Outlines", j.outlines}, {"AcroForm", j.form}, {"OCProperties", j.layers}, {"Names", j.names},
	} {
		ref := j.out.Reserve()
		d := part.make(ref)
		if d == nil {
			continue
		}
		if err := j.out.Put(ref, d); err != nil {
			return nil, err
		}
		c.Set(part.key, ref)
	}
	return c, nil
}

// version is 2.0 where a document has it, 1.7 otherwise, which contains all
// the older ones.
func (j *joined) version() string {
	for _, s := range j.sources {
		head := make([]byte, 8)
		n, _ := s.Doc.ReadAt(head, 0) // a short read is no 2.0
		if strings.HasPrefix(string(head[:n]), "%PDF-2") || strings.HasPrefix(string(s.Doc.Name(s.catalog().Get("Version"))), "2") {
			return "2.0"
		}
	}
	return "1.7"
}

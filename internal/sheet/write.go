package sheet

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/typeface"
)

// Info is about the whole document.
type Info struct {
	Title, Lang, Producer string
	Made                  time.Time
	// Foot is the footer of page n.
	Foot func(n, of int) (left, right string)
	// Attached files.
	Attached []Attached
}

// Attached is a file inside the document.
type Attached struct {
	Name, About, MediaType string
	Data                   []byte
}

// adder writes objects as they come; the first error stays.
type adder struct {
	*pdf.File
	err error
}

func (a *adder) New(o pdf.Object) pdf.Ref {
	ref := a.Reserve()
	a.put(ref, o)
	return ref
}

func (a *adder) put(ref pdf.Ref, o pdf.Object) {
	if err := a.Put(ref, o); a.err == nil {
		a.err = err
	}
}

func names(pairs ...any) *pdf.Dict {
	d := pdf.NewDict()
	for i := 0; i < len(pairs); i += 2 {
		key := pdf.Name(pairs[i].(string))
		switch v := pairs[i+1].(type) {
		case string:
			d.Set(key, pdf.Name(v))
		case pdf.Object:
			d.Set(key, v)
		}
	}
	return d
}

// Bytes writes the document.
func (s *Sheet) Bytes(info Info) ([]byte, error) {
	for i, p := range s.pages {
		left, right := info.Foot(i+1, len(s.pages))
		y := Height - 44.0
		fmt.Fprintf(&p.content, "%s RG 0.6 w %.2f %.2f m %.2f %.2f l S\n", Rule, Margin, Height-y, Width-Margin, Height-y)
		st := Small.Sized(7.5)
		s.on(p, Margin, y+6, left, st)
		s.on(p, Width-Margin-st.Font().Width(right)*st.Size, y+6, right, st)
	}
	var b bytes.Buffer
	a := &adder{File: pdf.NewFile(&b, "1.7")}
	root, pages := a.Reserve(), a.Reserve()
	fonts := pdf.NewDict()
	for _, f := range s.order {
		fonts.Set(pdf.Name(f.name), f.subset.Embed(a))
	}
	resources := a.New(names("Font", fonts))
	kids := pdf.Array{}
	for _, p := range s.pages {
		d := names("Type", "Page", "Parent", pages, "Resources", resources, "MediaBox", rect(0, 0, Width, Height),
			"Contents", a.New(pdf.Compressed(pdf.NewDict(), p.content.Bytes())))
		annots := pdf.Array{}
		for _, l := range p.links {
			annots = append(annots, a.New(names("Type", "Annot", "Subtype", "Link", "F", pdf.Integer(4), "Border", pdf.Array{pdf.Integer(0), pdf.Integer(0), pdf.Integer(0)},
				"Rect", rect(l.x, Height-l.y-l.height, l.x+l.width, Height-l.y),
				"A", names("S", "URI", "URI", pdf.String{Bytes: []byte(l.address)}))))
		}
		if len(annots) > 0 {
			d.Set("Annots", annots)
		}
		kids = append(kids, a.New(d))
	}
	a.put(pages, names("Type", "Pages", "Kids", kids, "Count", pdf.Integer(len(kids))))
	profile := a.New(pdf.Compressed(names("N", pdf.Integer(3)), typeface.SRGB()))
	catalog := names("Type", "Catalog", "Pages", pages, "Lang", pdf.Text(info.Lang),
		"Metadata", a.New(&pdf.Stream{Dict: names("Type", "Metadata", "Subtype", "XML"), Data: metadata(info)}),
		"ViewerPreferences", names("DisplayDocTitle", pdf.Bool(true)),
		"OutputIntents", pdf.Array{names("Type", "OutputIntent", "S", "GTS_PDFA1", "OutputConditionIdentifier", pdf.Text("sRGB"), "Info", pdf.Text("sRGB"), "DestOutputProfile", profile)})
	attach(a, catalog, info)
	a.put(root, catalog)
	if err := a.Close(names("Root", root)); a.err == nil {
		a.err = err
	}
	if a.err != nil {
		return nil, fmt.Errorf("sheet: %w", a.err)
	}
	return b.Bytes(), nil
}

// attach adds the files (ISO 32000-2, 7.11.4; associated as required by ISO 19005-3).
func attach(a *adder, catalog *pdf.Dict, info Info) {
	var tree, associated pdf.Array
	for _, f := range info.Attached {
		dict := names("Type", "EmbeddedFile", "Subtype", f.MediaType, "Params", names("Size", pdf.Integer(len(f.Data)), "ModDate", pdf.Date(info.Made)))
		data := a.New(pdf.Compressed(dict, f.Data))
		spec := a.New(names("Type", "Filespec", "F", pdf.Text(f.Name), "UF", pdf.Text(f.Name), "Desc", pdf.Text(f.About), "AFRelationship", "Supplement", "EF", names("F", data, "UF", data)))
		tree, associated = append(tree, pdf.Text(f.Name), spec), append(associated, spec)
	}
	if len(associated) > 0 {
		catalog.Set("Names", names("EmbeddedFiles", names("Names", tree)))
		catalog.Set("AF", associated)
	}
}

func rect(x0, y0, x1, y1 float64) pdf.Array {
	return pdf.Array{pdf.Float(x0), pdf.Float(y0), pdf.Float(x1), pdf.Float(y1)}
}

// metadata is the XMP packet (ISO 16684-1).
func metadata(info Info) []byte {
	esc := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(typeface.Clean(s))) // a Builder never fails
		return b.String()
	}
	at := info.Made.UTC().Format(time.RFC3339)
	return fmt.Appendf(nil, `<?xpacket begin="%s" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:title>
<dc:language><rdf:Bag><rdf:li>%s</rdf:li></rdf:Bag></dc:language>
<xmp:CreateDate>%s</xmp:CreateDate><xmp:ModifyDate>%s</xmp:ModifyDate>
<pdf:Producer>%s</pdf:Producer><pdfaid:part>3</pdfaid:part><pdfaid:conformance>B</pdfaid:conformance>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>`, "\ufeff", esc(info.Title), esc(info.Lang), at, at, esc(info.Producer))
}

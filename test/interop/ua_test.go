package interop

import (
	"bytes"
	"fmt"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/pades"
)

// accessible is a document that keeps to PDF/UA-1: tagged, with a title, and
// nothing but a line to see. Its language is that of lang, "" for none.
func accessible(lang string) []byte {
	xmp := `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/"><dc:title><rdf:Alt><rdf:li xml:lang="en">Contract</rdf:li></rdf:Alt></dc:title><pdfuaid:part>1</pdfuaid:part></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`
	content := "/Artifact BMC 72 720 200 1 re f EMC"
	if lang != "" {
		lang = "/Lang(" + lang + ")"
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	var at []int
	for i, o := range []string{
		"<</Type/Catalog/Pages 2 0 R/MarkInfo<</Marked true>>/StructTreeRoot 5 0 R/Metadata 7 0 R/ViewerPreferences<</DisplayDocTitle true>>" + lang + ">>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<<>>/StructParents 0>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
		"<</Type/StructTreeRoot/K 6 0 R/ParentTree<</Nums[0[]]>>/ParentTreeNextKey 1>>", "<</Type/StructElem/S/Document/P 5 0 R>>",
		fmt.Sprintf("<</Type/Metadata/Subtype/XML/Length %d>>stream\n%s\nendstream", len(xmp), xmp),
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	end := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R/ID[<01020304><05060708>]>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, end)
	return b.Bytes()
}

// TestPAdESPDFUA has veraPDF look at what became of PDF/UA.
func TestPAdESPDFUA(t *testing.T) {
	tool(t, "java")
	for _, lang := range []string{"", "it-IT"} {
		for name, seen := range map[string]*pades.Appearance{"invisible": nil, "visible": {X: 50, Y: 50, Width: 164, Height: 45}} {
			for _, level := range []ades.Level{ades.LevelB, ades.LevelLTA} {
				t.Run(name+" "+level.String()+" "+lang, func(t *testing.T) {
					doc := accessible(lang)
					files := []string{write(t, "0.pdf", doc)}
					for i := range 2 {
						c := padesCase{actor: "p256", level: level}
						c.opts.Appearance = seen
						doc = signPAdES(t, doc, c)
						files = append(files, write(t, fmt.Sprintf("%d.pdf", i+1), doc))
					}
					answer := oracleRun(t, "bin/verapdf", append([]string{"--flavour", "ua1"}, files...)...)
					if n := bytes.Count(answer, []byte(`"compliant":true`)); n != len(files) {
						t.Errorf("veraPDF accepts %d of %d: %s", n, len(files), answer)
					}
				})
			}
		}
	}
}

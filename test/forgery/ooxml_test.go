package forgery

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func init() { register("ooxml", makeOffice) }

const (
	relBase    = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	relPackage = "http://schemas.openxmlformats.org/package/2006/relationships/"
	relSpace   = "http://schemas.openxmlformats.org/package/2006/relationships"
	ctMain     = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
	ctRels     = "application/vnd.openxmlformats-package.relationships+xml"
	ctSig      = "application/vnd.openxmlformats-package.digital-signature-xmlsignature+xml"
	wordNS     = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
)

// rel is a relationship.
type rel struct{ id, typ, target, mode string }

// relsXML writes relationships as products do.
func relsXML(list ...rel) []byte {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n" + `<Relationships xmlns="` + relSpace + `">`)
	for _, r := range list {
		mode := ""
		if r.mode != "" {
			mode = ` TargetMode="` + r.mode + `"`
		}
		fmt.Fprintf(&b, `<Relationship Id="%s" Type="%s" Target="%s"%s/>`, r.id, r.typ, r.target, mode)
	}
	return []byte(b.String() + "</Relationships>")
}

// transformed is what the digest of relationships is over, by ISO/IEC 29500-2.
func transformed(list []rel) []byte {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b rel) int { return strings.Compare(a.id, b.id) })
	var b strings.Builder
	b.WriteString(`<Relationships xmlns="` + relSpace + `">`)
	for _, r := range list {
		mode := r.mode
		if mode == "" {
			mode = "Internal"
		}
		fmt.Fprintf(&b, `<Relationship Id="%s" Target="%s" TargetMode="%s" Type="%s"></Relationship>`, r.id, r.target, mode, r.typ)
	}
	return []byte(b.String() + "</Relationships>")
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// officeSigned are the parts and relationships of a document, and what is signed
// of them.
type officeSigned struct {
	types map[string]string // of the parts that are signed
	rels  map[string][]rel  // signed, by the part that holds them
	group bool              // by type in place of ids
	blank bool              // with the elements that LibreOffice digests for blanks
}

// word is a contract with a style, a picture, a header, a link and properties.
func word() (archive, officeSigned) {
	body := `<w:document xmlns:w="` + wordNS + `"><w:body><w:p><w:r><w:t>` + contractText + `</w:t></w:r></w:p></w:body></w:document>`
	root := []rel{
		{"rId1", relBase + "officeDocument", "word/document.xml", ""},
		{"rId2", relPackage + "metadata/core-properties", "docProps/core.xml", ""},
		{"rId3", relPackage + "digital-signature/origin", "_xmlsignatures/origin.sigs", ""},
	}
	main := []rel{
		{"rId2", relBase + "image", "media/dot.png", ""},
		{"rId1", relBase + "styles", "styles.xml", ""},
		{"rId3", relBase + "hyperlink", "https://example.com/terms", "External"},
		{"rId10", relBase + "header", "/word/header1.xml", ""},
	}
	types := `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="` + ctRels + `"/><Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>` +
		`<Default Extension="sigs" ContentType="application/vnd.openxmlformats-package.digital-signature-origin"/>` +
		`<Override PartName="/word/document.xml" ContentType="` + ctMain + `"/><Override PartName="/_xmlsignatures/sig1.xml" ContentType="` + ctSig + `"/></Types>`
	a := archive{members: []member{
		{name: "[Content_Types].xml", data: []byte(types), method: 8},
		{name: "_rels/.rels", data: relsXML(root...), method: 8},
		{name: "word/document.xml", data: []byte(body), method: 8},
		{name: "word/_rels/document.xml.rels", data: relsXML(main...), method: 8},
		{name: "word/styles.xml", data: []byte(`<w:styles xmlns:w="` + wordNS + `"/>`), method: 8},
		{name: "word/header1.xml", data: []byte(`<w:hdr xmlns:w="` + wordNS + `"/>`), method: 8},
		{name: "word/media/dot.png", data: []byte("\x89PNG\r\n\x1a\n")},
		{name: "docProps/core.xml", data: []byte(`<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"/>`), method: 8},
		{name: "_xmlsignatures/origin.sigs"},
		{name: "_xmlsignatures/_rels/origin.sigs.rels", data: relsXML(rel{"rId1", relPackage + "digital-signature/signature", "sig1.xml", ""}), method: 8},
	}}
	return a, officeSigned{
		types: map[string]string{"word/document.xml": ctMain, "word/styles.xml": "application/xml", "word/header1.xml": "application/xml", "word/media/dot.png": "image/png"},
		rels:  map[string][]rel{"_rels/.rels": root[:1], "word/_rels/document.xml.rels": main},
	}
}

// office signs a document as Office does.
func (m *materials) office(a archive, s officeSigned) archive {
	f := &xmlForger{materials: m, files: map[string][]byte{}}
	var b strings.Builder
	b.WriteString(`<ds:Object Id="idPackageObject"><ds:Manifest>`)
	entry := func(uri, transforms string, digested []byte) {
		if transforms != "" {
			transforms = "<ds:Transforms>" + transforms + "</ds:Transforms>"
		}
		fmt.Fprintf(&b, `<ds:Reference URI="%s">%s<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>%s</ds:DigestValue></ds:Reference>`, uri, transforms, digestOf(digested))
	}
	for _, x := range a.members {
		if t := s.types[x.name]; t != "" {
			entry("/"+x.name+"?ContentType="+t, "", x.data)
		}
		list := s.rels[x.name]
		if len(list) == 0 {
			continue
		}
		var picks strings.Builder
		for _, r := range list {
			if s.group {
				fmt.Fprintf(&picks, `<p:RelationshipsGroupReference SourceType="%s"></p:RelationshipsGroupReference>`, r.typ)
			} else {
				fmt.Fprintf(&picks, `<p:RelationshipReference SourceId="%s"></p:RelationshipReference>`, r.id)
			}
		}
		digested := transformed(list)
		if s.blank {
			digested = bytes.Replace(digested, []byte("<Relationship "), []byte("<text></text><Relationship "), 1)
		}
		entry("/"+x.name+"?ContentType="+ctRels, `<ds:Transform xmlns:p="http://schemas.openxmlformats.org/package/2006/digital-signature" Algorithm="http://schemas.openxmlformats.org/package/2006/RelationshipTransform">`+
			picks.String()+`</ds:Transform><ds:Transform Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/>`, digested)
	}
	b.WriteString(`</ds:Manifest><ds:SignatureProperties><ds:SignatureProperty Id="idSignatureTime" Target="#S"><t:SignatureTime xmlns:t="http://schemas.openxmlformats.org/package/2006/digital-signature"><t:Format>YYYY-MM-DDThh:mm:ssTZD</t:Format><t:Value>2026-01-02T03:04:05Z</t:Value></t:SignatureTime></ds:SignatureProperty></ds:SignatureProperties></ds:Object>`)
	sig := f.xmldsig("@", b.String(), ref{"#idPackageObject", dsNS + "Object", ""})
	return a.with(-1, member{name: "_xmlsignatures/sig1.xml", data: []byte(sig), method: 8})
}

func replaced(old, new string) func(*member) {
	return func(x *member) {
		s := strings.Replace(string(x.data), old, new, 1)
		if s == string(x.data) {
			panic("nothing was changed: " + old)
		}
		x.data = []byte(s)
	}
}

func makeOffice(t *testing.T, m *materials) []specimen {
	plain, what := word()
	a := m.office(plain, what)
	byType := what
	byType.group = true
	var list []specimen
	good := func(name string, x archive) {
		list = append(list, specimen{name: name, data: x.bytes(), want: genuine})
	}
	bad := func(name string, x archive) {
		list = append(list, specimen{name: name, data: x.bytes(), want: forged})
	}
	const doc, rels, types, root = "word/document.xml", "word/_rels/document.xml.rels", "[Content_Types].xml", "_rels/.rels"
	blanks, byLibre := plain, what
	byLibre.blank = true
	for _, part := range []string{root, rels} {
		blanks = blanks.change(part, replaced("</Relationships>", "\n</Relationships>"))
	}
	blanks = m.office(blanks, byLibre)
	good("relationships digested as by LibreOffice", blanks)
	bad("relationships digested as by LibreOffice, another target", blanks.change(rels, replaced("styles.xml", "header1.xml")))
	bad("relationships digested as by LibreOffice, one more", blanks.change(rels, replaced("\n</Rel", `<Relationship Id="rId99" Type="t" Target="styles.xml"/>`+"\n</Rel")))
	good("as it was signed", a)
	good("relationships signed by their types", m.office(plain, byType))
	good("other properties", a.change("docProps/core.xml", func(x *member) { x.data = []byte(`<other/>`) }))
	good("without properties", a.without("docProps/core.xml"))
	good("relationships in another order", a.change(rels, func(x *member) {
		l := slices.Clone(what.rels[rels])
		slices.Reverse(l)
		x.data = relsXML(l...)
	}))
	good("Internal written out", a.change(rels, replaced(`Target="styles.xml"`, `Target="styles.xml" TargetMode="Internal"`)))
	good("types in another case", a.change(types, replaced(`Extension="png"`, `Extension="PNG"`)))
	good("a part that was removed before", a.with(-1, member{name: "[trash]/0000.dat", data: make([]byte, 40)}))
	good("with folders", a.with(1, member{name: "word/"}))

	// Parts.
	for name := range what.types {
		bad("another "+name, a.change(name, func(x *member) { x.data = append(slices.Clone(x.data), ' ') }))
		bad(name+" removed", a.without(name))
		bad(name+" renamed", a.change(name, func(x *member) { x.name = "word/x" + x.name[5:] }))
	}
	bad("another amount", a.change(doc, replaced("100", "900")))
	for _, n := range []string{"word/vbaProject.bin", "word/document2.xml", "document.xml", "word/comments.xml", "customXml/item1.xml", "xl/workbook.xml", "META-INF/signatures.xml", "docProps/evil.html", "word/media/dot2.png", "index.html", "_xmlsignatures/note.txt", "_rels/document.xml.rels", "word/_rels/styles.xml.rels"} {
		data := []byte("<x>" + forgedText + "</x>")
		if strings.HasSuffix(n, ".rels") {
			data = relsXML(rel{"rId1", relBase + "aFChunk", "evil.html", ""})
		}
		bad("a stranger "+n, a.with(-1, member{name: n, data: data}))
	}
	for _, n := range []string{"Word/Document.xml", "word/document.xml", "word/%64ocument.xml", "word//document.xml", "/word/document.xml", "word\\document.xml", "word/document.xml/[0].piece", "word/document.xml/[0].last.piece", "[content_types].xml"} {
		bad("a second "+n, a.with(1, member{name: n, data: []byte(strings.Replace(string(a.find(doc).data), "100", "900", 1))}))
	}

	m.properties(good, bad)

	// Relationships.
	evil := member{name: "word/evil.xml", data: []byte(strings.Replace(string(a.find(doc).data), "100", "900", 1))}
	more := func(part string, r rel) archive {
		return a.with(-1, evil).change(part, replaced("</Relationships>", fmt.Sprintf(`<Relationship Id="%s" Type="%s" Target="%s"%s/></Relationships>`, r.id, r.typ, r.target, r.mode)))
	}
	external := ` TargetMode="External"`
	for name, r := range map[string]rel{
		"a template from elsewhere": {"rId90", relBase + "attachedTemplate", "https://example.com/evil.dotm", external},
		"a picture from elsewhere":  {"rId91", relBase + "image", "https://example.com/evil.png", external},
		"an object from elsewhere":  {"rId92", relBase + "oleObject", "file:///evil", external},
		"a chunk of HTML":           {"rId93", relBase + "aFChunk", "evil.xml", ""},
		"macros":                    {"rId94", "http://schemas.microsoft.com/office/2006/relationships/vbaProject", "evil.xml", ""},
		"a second header":           {"rId95", relBase + "header", "evil.xml", ""},
		"properties of a part":      {"rId96", relBase + "custom-properties", "evil.xml", ""},
		"the same id":               {"rId1", relBase + "styles", "evil.xml", ""},
		"an id in another case":     {"RID1", relBase + "styles", "evil.xml", ""},
	} {
		bad("relationship added: "+name, more(rels, r))
	}
	for name, r := range map[string]rel{
		"a second document":          {"rId0", relBase + "officeDocument", "word/evil.xml", ""},
		"a second document, strict":  {"rId0", "http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument", "word/evil.xml", ""},
		"a user interface":           {"rId9", "http://schemas.microsoft.com/office/2006/relationships/ui/extensibility", "word/evil.xml", ""},
		"a task pane":                {"rId9", "http://schemas.microsoft.com/office/2011/relationships/webextensiontaskpanes", "word/evil.xml", ""},
		"the document as properties": {"rId9", relBase + "officeDocument", "docProps/core.xml", ""},
	} {
		bad("relationship of the package added: "+name, more(root, r))
	}
	bad("the document is another part", a.with(-1, evil).change(root, replaced(`"word/document.xml"`, `"word/evil.xml"`)))
	bad("the styles are another part", a.with(-1, evil).change(rels, replaced(`"styles.xml"`, `"evil.xml"`)))
	bad("a link to another place", a.change(rels, replaced("example.com/terms", "example.com/other")))
	bad("a link into the package", a.change(rels, replaced(` TargetMode="External"`, "")))
	bad("a picture outside", a.change(rels, replaced(`Target="media/dot.png"`, `Target="media/dot.png" TargetMode="External"`)))
	bad("a style that is a header", a.change(rels, replaced(relBase+"styles", relBase+"header")))
	bad("relationships removed", a.without(rels))
	bad("a relationship removed", a.change(rels, func(x *member) { x.data = relsXML(what.rels[rels][1:]...) }))
	bad("relationships of a part that had none", a.with(-1, evil).with(-1, member{name: "word/_rels/header1.xml.rels", data: relsXML(rel{"rId1", relBase + "image", "evil.xml", ""})}))
	bad("a relationship in no namespace", a.change(rels, replaced("</Relationships>", `<Relationship xmlns="" Id="rId9" Type="t" Target="evil.xml"/></Relationships>`)))
	bad("a relationship in an alternative", a.change(rels, replaced("</Relationships>", `<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><Relationship Id="rId9" Type="t" Target="evil.xml"/></mc:AlternateContent></Relationships>`)))
	bad("a base for the targets", a.change(rels, replaced(`<Relationships `, `<Relationships xml:base="https://example.com/" `)))
	bad("a document type in the relationships", a.change(rels, replaced("<Relationships", `<!DOCTYPE r [<!ENTITY x "y">]><Relationships`)))

	// Types.
	bad("the document is of another type", a.change(types, replaced(ctMain, "application/vnd.ms-word.document.macroEnabled.main+xml")))
	bad("the picture is of another type", a.change(types, replaced("image/png", "image/svg+xml")))
	bad("a type for one part more", a.change(types, replaced("</Types>", `<Override PartName="/word/styles.xml" ContentType="text/html"/></Types>`)))
	bad("a type for a part in another case", a.change(types, replaced("</Types>", `<Override PartName="/Word/Styles.xml" ContentType="text/html"/></Types>`)))
	bad("two types for a part", a.change(types, replaced("</Types>", `<Override PartName="/word/document.xml" ContentType="text/html"/></Types>`)))
	bad("two types for an extension", a.change(types, replaced("</Types>", `<Default Extension="XML" ContentType="text/html"/></Types>`)))
	bad("no types", a.change(types, func(x *member) { x.data = []byte("<Types/>") }))

	// Signatures.
	other := m.office(plain, officeSigned{types: map[string]string{"word/styles.xml": "application/xml"}})
	bad("the signature of a style alone", other)
	noLink := what
	noLink.rels = map[string][]rel{"_rels/.rels": what.rels["_rels/.rels"], rels: what.rels[rels][:2]}
	bad("a signature that leaves relationships out", m.office(plain, noLink))
	noRoot := what
	noRoot.rels = map[string][]rel{rels: what.rels[rels]}
	bad("a signature that leaves the package out", m.office(plain, noRoot))
	wrongType := what
	wrongType.types = map[string]string{doc: "text/plain", "word/styles.xml": "application/xml", "word/header1.xml": "application/xml", "word/media/dot.png": "image/png"}
	bad("signed as of another type", m.office(plain, wrongType))
	bad("a broken signature beside it", a.with(-1, member{name: "_xmlsignatures/sig2.xml", data: []byte("<x/>")}).change(types, replaced("</Types>", `<Override PartName="/_xmlsignatures/sig2.xml" ContentType="`+ctSig+`"/></Types>`)))
	const sig = "_xmlsignatures/sig1.xml"
	for name, object := range map[string]string{
		"a picture":      `<ds:Object Id="idValidSigLnImg">R0lGODlhAQABAAAAACw=</ds:Object>`,
		"comments":       `<ds:Object Id="idOfficeObject"><SignatureInfoV1 xmlns="http://schemas.microsoft.com/office/2006/digsig"><SignatureComments>I pay 900</SignatureComments></SignatureInfoV1></ds:Object>`,
		"another signer": `<ds:Object><ds:SignatureProperties><ds:SignatureProperty Target="#S"><SignatureInfoV1 xmlns="http://schemas.microsoft.com/office/2006/digsig"><SignatureText>Anna</SignatureText></SignatureInfoV1></ds:SignatureProperty></ds:SignatureProperties></ds:Object>`,
	} {
		bad(name+" that nobody signed in the signature", a.change(sig, replaced("</ds:Signature>", object+"</ds:Signature>")))
	}
	bad("the document as a signature", a.change("_xmlsignatures/_rels/origin.sigs.rels", replaced("</Relationships>", `<Relationship Id="rId2" Type="`+relPackage+`digital-signature/signature" Target="/word/document.xml"/></Relationships>`)))
	bad("the signature of another document", func() archive {
		b, s := word()
		b = b.change(doc, replaced("100", "900"))
		return b.with(-1, m.office(plain, s).members[len(plain.members)])
	}())
	bad("another amount, and the signature out of reach", a.change(doc, replaced("100", "900")).change(root, replaced("digital-signature/origin", "digital-signature/none")))
	structures("ooxml", a, bad)
	return list
}

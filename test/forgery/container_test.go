package forgery

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/xades"
)

func init() { register("container", makeContainers) }

const (
	contractText = "Anna pays 100 to Bruno"
	forgedText   = "Anna pays 900 to Carlo"
)

func text(name, content string) ades.File {
	return ades.File{Name: name, Source: strings.NewReader(content)}
}

// container signs files as ASiC.
func (m *materials) container(simple, cms bool, files ...ades.File) archive {
	m.t.Helper()
	format := ades.ASiCE
	if simple {
		format = ades.ASiCS
	}
	return take(m.t, m.sign(files, func(o *rogito.Options) {
		o.Format = format
		o.ASiC = asic.Options{Simple: simple, CAdES: cms}
	}))
}

// detachedXML is a signature by XAdES over files that it refers to by name.
func (m *materials) detachedXML(files ...ades.File) []byte {
	return m.sign(files, func(o *rogito.Options) {
		o.Format = ades.XAdES
		o.XAdES = xades.Options{Packaging: xades.Detached}
	})
}

func declared(b []byte) []byte { // less the XML declaration
	if i := bytes.Index(b, []byte("?>")); i >= 0 {
		return b[i+2:]
	}
	return b
}

const odfMime = "application/vnd.oasis.opendocument.text"

// odf is a signed OpenDocument: every part is under its signature.
func (m *materials) odf() archive {
	parts := [][2]string{
		{"mimetype", odfMime},
		{"content.xml", "<c>" + contractText + "</c>"},
		{"styles.xml", "<s>plain</s>"},
		{"META-INF/manifest.xml", `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>`},
	}
	var files []ades.File
	var a archive
	for _, p := range parts {
		files = append(files, text(p[0], p[1]))
		a.members = append(a.members, member{name: p[0], data: []byte(p[1])})
	}
	return a.with(-1, member{name: "META-INF/documentsignatures.xml", data: wrapODF(m.detachedXML(files...))})
}

func wrapODF(signature []byte) []byte {
	return bytes.Join([][]byte{[]byte(`<document-signatures xmlns="urn:oasis:names:tc:opendocument:xmlns:digitalsignature:1.0">`), declared(signature), []byte(`</document-signatures>`)}, nil)
}

func wrapASiC(signature []byte) []byte {
	return bytes.Join([][]byte{[]byte(`<asic:XAdESSignatures xmlns:asic="http://uri.etsi.org/02918/v1.2.1#">`), declared(signature), []byte(`</asic:XAdESSignatures>`)}, nil)
}

const (
	mimeE = "application/vnd.etsi.asic-e+zip"
	mimeS = "application/vnd.etsi.asic-s+zip"
)

func makeContainers(t *testing.T, m *materials) []specimen {
	one := text("contract.txt", contractText)
	bases := map[string]archive{
		"asic-e xades": m.container(false, false, text("contract.txt", contractText)),
		"asic-e cades": m.container(false, true, text("contract.txt", contractText)),
		"asic-s xades": m.container(true, false, text("contract.txt", contractText)),
		"asic-s cades": m.container(true, true, one),
		"odf":          m.odf(),
	}
	list := containerControls(m, bases)
	for base, a := range bases {
		add := func(name string, forgedFile archive) {
			list = append(list, specimen{name: base + ": " + name, data: forgedFile.bytes(), want: forged})
		}
		strangers(base, a, add)
		structures(base, a, add)
	}
	list = append(list, canonicalODF(m)...)
	return append(list, borrowed(m, bases)...)
}

// canonicalODF: the parts of an OpenDocument are signed in canonical form, which
// leaves comments out.
func canonicalODF(m *materials) []specimen {
	f := &xmlForger{materials: m, files: map[string][]byte{}}
	a := m.odf()
	part := "<c>" + contractText + "</c>"
	var refs []ref
	for _, x := range a.members[:4] {
		f.files[x.name] = x.data
		if strings.HasSuffix(x.name, ".xml") {
			refs = append(refs, ref{x.name, "", c14nTransform})
		} else {
			refs = append(refs, ref{x.name, "", ""})
		}
	}
	signature := f.xmldsig("@", "", refs...)
	a = a.change("META-INF/documentsignatures.xml", func(x *member) { x.data = wrapODF([]byte(signature)) })
	list := []specimen{
		{name: "odf in canonical form", data: a.bytes(), want: genuine},
		{name: "odf in canonical form, with a comment", data: a.change("content.xml", func(x *member) { x.data = []byte("<!-- made by hand -->" + part) }).bytes(), want: genuine},
	}
	for name, comment := range map[string]string{"a PDF": "%PDF-1.4", "objects of a PDF": "4 0 obj", "the end of a PDF": "startxref 5"} {
		list = append(list, specimen{name: "odf in canonical form, with " + name + " in a comment", data: a.change("content.xml", func(x *member) { x.data = []byte("<!-- " + comment + " -->" + part) }).bytes(), want: forged})
	}
	return list
}

// containerControls are containers as products write them.
func containerControls(m *materials, bases map[string]archive) []specimen {
	var list []specimen
	add := func(name string, a archive) {
		list = append(list, specimen{name: name, data: a.bytes(), want: genuine})
	}
	for base, a := range bases {
		add(base, a)
		deflated, described := a.clone(), a.clone()
		for i := range a.members[1:] {
			deflated.members[i+1].method = 8
			described.members[i+1].method, described.members[i+1].described = 8, true
		}
		add(base+" deflated", deflated)
		add(base+" with sizes after the content", described)
		add(base+" with folders", a.with(1, member{name: "META-INF/"}))
		a2 := a.clone()
		a2.suffix = []byte("\r\n")
		add(base+" with a line break at the end", a2)
		twin := a.members[1]
		add(base+" with equal twins", a.with(2, twin))
		commented := a.clone()
		commented.comment = []byte("mimetype=" + string(a.find("mimetype").data))
		add(base+" with a comment", commented)
		utf := a.clone()
		for i := range utf.members {
			utf.members[i].flags |= 1 << 11
		}
		add(base+" marked as UTF-8", utf)
	}
	// The name in the signature and the name of the entry, in other spellings.
	for _, n := range [][2]string{
		{"a b.txt", "a b.txt"},
		{"a+b.txt", "a b.txt"},
		{"a+b.txt", "a+b.txt"},
		{"a b.txt", "a%20b.txt"},
		{"caffè.txt", "caffè.txt"},
		{"caffe\u0300.txt", "caff\u00e8.txt"},
		{"50% (1).txt", "50% (1).txt"},
		{"x/y z.txt", "x/y z.txt"},
	} {
		a := archive{members: []member{
			{name: "mimetype", data: []byte(mimeE)},
			{name: n[1], data: []byte(contractText), flags: 1 << 11},
			{name: "META-INF/signatures.xml", data: wrapASiC(m.detachedXML(text(n[0], contractText)))},
		}}
		add(fmt.Sprintf("signed as %q, stored as %q", n[0], n[1]), a)
	}
	// BDOC 1.0, which ASiC-E came from: one signature a file, as it is, and
	// names from the root.
	for _, name := range []string{"contract.txt", "/contract.txt"} {
		add("BDOC 1.0, signed as "+name, archive{members: []member{
			{name: "mimetype", data: []byte("application/vnd.bdoc-1.0")},
			{name: "META-INF/manifest.xml", data: []byte(`<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.bdoc-1.0"/><manifest:file-entry manifest:full-path="contract.txt" manifest:media-type="text/plain"/></manifest:manifest>`)},
			{name: "contract.txt", data: []byte(contractText)},
			{name: "META-INF/signature0.xml", data: m.bdoc(name)},
		}})
	}
	add("two files", m.container(false, false, text("a.txt", "a"), text("b.txt", "b")))
	add("two files, cades", m.container(false, true, text("a.txt", "a"), text("b.txt", "b")))
	return list
}

// bdoc is a signature over the contract under a name.
func (m *materials) bdoc(name string) []byte {
	f := &xmlForger{materials: m, files: map[string][]byte{name: []byte(contractText)}}
	return []byte(f.xmldsig("@", "", ref{name, "", ""}))
}

// strangers puts files into a container that no signature covers.
func strangers(base string, a archive, add func(string, archive)) {
	signed := "contract.txt"
	if base == "odf" {
		signed = "content.xml"
	}
	names := []string{
		"contract2.txt", "./" + signed, "/" + signed, "x/../" + signed, "../" + signed, `x\..\` + signed, `.\` + signed, `\` + signed,
		strings.ToUpper(signed), signed + ".", signed + " ", signed + "\x00.pdf", signed + "/evil", signed + "::$DATA", "C:" + signed,
		"META-INF/" + signed, "META-INF/contract.pdf", "meta-inf/contract.html", "mimetype2", "x//" + signed, "\u202etxt.tcartnoc",
		"macros/evil.xml", "Basic/script-lc.xml", "Scripts/x.py", "Mimetype", "META-INF", "META-INF./contract.txt", "index.html",
		"META-INF/signature9.xml", "META-INF/metadata.xml", "META-INF/container.xml", "META-INF/.DS_Store", "META-INF/ASiCManifest9.xml", "META-INF/evidencerecord9.xml",
	}
	for _, n := range names {
		add(fmt.Sprintf("stranger %q last", n), a.with(-1, member{name: n, data: []byte(forgedText)}))
	}
	for _, n := range names[:4] {
		add(fmt.Sprintf("stranger %q first", n), a.with(0, member{name: n, data: []byte(forgedText)}))
	}
	other := a.change(signed, func(m *member) { m.data = []byte(forgedText) })
	add("another content", other)
	add("the signed file moved away", other.with(-1, member{name: "old/" + signed, data: a.find(signed).data}))
	add("twins, the forged first", a.with(1, member{name: signed, data: []byte(forgedText)}))
	add("twins, the forged last", a.with(-1, member{name: signed, data: []byte(forgedText)}))
	add("the document as its media type", a.change("mimetype", func(m *member) { m.data = []byte("<html>" + forgedText + "</html>") }))
	if base == "odf" {
		for _, n := range []string{"settings.xml", "Pictures/1.png", "ObjectReplacements/x", "Thumbnails/thumbnail.png"} {
			add("unsigned part "+n, a.with(1, member{name: n, data: []byte(forgedText)}))
		}
		add("another manifest", a.change("META-INF/manifest.xml", func(m *member) { m.data = bytes.Replace(m.data, []byte("text/xml"), []byte("text/html"), 1) }))
		add("another media type", a.change("mimetype", func(m *member) { m.data = []byte("application/vnd.oasis.opendocument.spreadsheet") }))
		add("other styles", a.change("styles.xml", func(m *member) { m.data = []byte("<s>hidden</s>") }))
	}
}

// structures makes archives that readers take apart in different ways.
func structures(base string, a archive, add func(string, archive)) {
	signed := "contract.txt"
	switch base {
	case "odf":
		signed = "content.xml"
	case "ooxml":
		signed = "word/document.xml"
	}
	evil := member{name: signed, data: []byte(forgedText)}
	hidden := evil
	hidden.hidden = true
	le := binary.LittleEndian
	add("a header that the directory does not name, first", a.with(0, hidden))
	add("a header that the directory does not name, between", a.with(2, hidden))
	add("a header that the directory does not name, last", a.with(-1, hidden))
	whole := archive{members: []member{evil}}.bytes()
	for name, f := range map[string]func(x *archive){
		"an archive before it":              func(x *archive) { x.prefix = whole },
		"an archive before it, shifted":     func(x *archive) { x.prefix, x.shift = whole, true },
		"an archive after it":               func(x *archive) { x.suffix = whole },
		"a page after it":                   func(x *archive) { x.suffix = []byte("<html>" + forgedText) },
		"an archive in the comment":         func(x *archive) { x.comment = whole },
		"a page in a long comment":          func(x *archive) { x.comment = bytes.Repeat([]byte("<p>"+forgedText), 100) },
		"bytes before the directory":        func(x *archive) { x.gap = []byte("<html>" + forgedText) },
		"an archive before the directory":   func(x *archive) { x.gap = whole },
		"many zeros before the directory":   func(x *archive) { x.gap = make([]byte, 100_000) },
		"one of two volumes":                func(x *archive) { x.end = func(e []byte) { e[4] = 1 } },
		"fewer entries in the end record":   func(x *archive) { x.end = func(e []byte) { e[8]--; e[10]-- } },
		"the directory elsewhere":           func(x *archive) { x.end = func(e []byte) { le.PutUint32(e[16:], le.Uint32(e[16:])-1) } },
		"a larger directory":                func(x *archive) { x.end = func(e []byte) { le.PutUint32(e[12:], le.Uint32(e[12:])+1) } },
		"one entry more on this disk":       func(x *archive) { x.end = func(e []byte) { e[8]++ } },
		"a comment that ends the file late": func(x *archive) { x.comment = []byte("PK\x05\x06" + strings.Repeat("\x00", 18)) },
	} {
		x := a.clone()
		f(&x)
		add(name, x)
	}
	for name, f := range map[string]func(x *member){
		"another name in the header":   func(x *member) { x.localName = "other.txt" },
		"another case in the header":   func(x *member) { x.localName = strings.ToUpper(x.name) },
		"another size in the header":   func(x *member) { x.local = func(h []byte) { le.PutUint32(h[22:], 5) } },
		"another length in the header": func(x *member) { x.local = func(h []byte) { le.PutUint32(h[18:], 5) } },
		"another sum in the header":    func(x *member) { x.local = func(h []byte) { h[14] ^= 1 } },
		"another method in the header": func(x *member) { x.local = func(h []byte) { h[8] = 8 - h[8] } },
		"encrypted in the header":      func(x *member) { x.local = func(h []byte) { h[6] |= 1 } },
		"encrypted everywhere":         func(x *member) { x.flags |= 1 },
		"sizes announced for later":    func(x *member) { x.local = func(h []byte) { h[6] |= 8 } },
		"data inside the entry":        func(x *member) { x.method, x.slack = 8, []byte("<html>"+forgedText) },
		"a link":                       func(x *member) { x.mode = 0o120777 },
		"a device":                     func(x *member) { x.mode = 0o020666 },
		"a folder by its mode":         func(x *member) { x.mode = 0o040755 },
		"the label of a volume":        func(x *member) { x.attributes = 8 },
		"a folder by its attributes":   func(x *member) { x.attributes = 16 },
		"a name in the extra field":    func(x *member) { x.extra = unicodePath("evil.txt") },
		"a second name in the extra field": func(x *member) {
			x.extra = append(unicodePath(x.name), unicodePath("evil.txt")...)
		},
		"an empty name in the extra field":      func(x *member) { x.extra = []byte{0x75, 0x70, 0, 0} },
		"an extra field that runs past the end": func(x *member) { x.extra = []byte{0x55, 0x54, 9, 0, 1} },
		"a PDF in the extra field":              func(x *member) { x.extra = append([]byte{0x99, 0x99, 8, 0}, "%PDF-1.7"...) },
		"bytes before the header":               func(x *member) { x.before = []byte("<html>" + forgedText) },
		"an archive before the header":          func(x *member) { x.before = whole },
		"the mark of its end inside": func(x *member) {
			end := make([]byte, 16)
			copy(end, "PK\x07\x08")
			le.PutUint32(end[4:], crc32.ChecksumIEEE([]byte(forgedText)))
			le.PutUint32(end[8:], uint32(len(forgedText)))
			le.PutUint32(end[12:], uint32(len(forgedText)))
			x.described, x.method, x.data = true, 0, append(append([]byte(forgedText), end...), x.data...)
		},
	} {
		add(name, a.change(signed, f))
	}
	add("a folder with content", a.with(1, member{name: "folder/", data: []byte(forgedText)}))
}

func unicodePath(name string) []byte {
	f := append([]byte{1, 0, 0, 0, 0}, name...)
	return append([]byte{0x75, 0x70, byte(len(f)), 0}, f...)
}

// manifest is an ASiCManifest for a signature over files.
func manifest(signature string, files ...member) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<ASiCManifest xmlns="http://uri.etsi.org/02918/v1.2.1#" xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><SigReference URI="%s" MimeType="application/pkcs7-signature"/>`, signature)
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&b, `<DataObjectReference URI="%s"><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>%s</ds:DigestValue></DataObjectReference>`, f.name, base64.StdEncoding.EncodeToString(sum[:]))
	}
	return []byte(b.String() + "</ASiCManifest>")
}

// borrowed puts signatures that were made for something else into containers.
func borrowed(m *materials, bases map[string]archive) []specimen {
	var list []specimen
	evil := member{name: "contract.txt", data: []byte(forgedText)}
	add := func(name string, members ...member) {
		list = append(list, specimen{name: "borrowed: " + name, data: archive{members: members}.bytes(), want: forged})
	}
	mime := func(s string) member { return member{name: "mimetype", data: []byte(s)} }
	p7s := func(b []byte) member { return member{name: "META-INF/signature.p7s", data: b} }
	list2 := map[string][]byte{
		"a p7m": m.signOne("x.txt", []byte(contractText), nil),
		"a p7s": m.signOne("x.txt", []byte(contractText), func(o *rogito.Options) { o.CAdES = cades.Options{Detached: true} }),
	}
	for name, b := range list2 {
		add(name+" in an ASiC-S", mime(mimeS), evil, p7s(b))
		add(name+" in an ASiC-S, the original beside", mime(mimeS), evil, member{name: "x.txt", data: []byte(contractText)}, p7s(b))
		add(name+" in an ASiC-S, the original first", mime(mimeS), member{name: "x.txt", data: []byte(contractText)}, evil, p7s(b))
		man := member{name: "META-INF/ASiCManifest.xml", data: manifest("META-INF/signature.p7s", evil)}
		add(name+" in an ASiC-E", mime(mimeE), evil, man, p7s(b))
		add(name+" in an ASiC-E without manifest", mime(mimeE), evil, p7s(b))
		add(name+" in a container without media type", evil, p7s(b))
		add(name+" in a container without media type, with a manifest", evil, man, p7s(b))
		// The manifest is what was signed, as a file of its own.
		own := m.signOne("man.xml", man.data, func(o *rogito.Options) { o.Format = ades.CAdES })
		add(name+" beside a manifest that is signed as content", mime(mimeE), evil, member{name: "META-INF/ASiCManifest2.xml", data: man.data}, man, p7s(own))
	}
	enveloping := m.signOne("x.txt", []byte(contractText), func(o *rogito.Options) {
		o.Format, o.XAdES = ades.XAdES, xades.Options{Packaging: xades.Enveloping}
	})
	enveloped := m.signOne("x.xml", []byte("<x>"+contractText+"</x>"), func(o *rogito.Options) { o.Format = ades.XAdES })
	elsewhere := m.detachedXML(text("other.txt", contractText))
	mimeOnly := m.detachedXML(text("mimetype", mimeE))
	self := m.detachedXML(text("META-INF/manifest.xml", "<m/>"))
	for name, sig := range map[string][]byte{"enveloping": enveloping, "enveloped": enveloped, "of another file": elsewhere, "of the media type": mimeOnly, "of the manifest": self} {
		for _, kind := range []string{mimeE, mimeS, odfMime} {
			file, wrap := "META-INF/signatures.xml", wrapASiC
			if kind == odfMime {
				file, wrap = "META-INF/documentsignatures.xml", wrapODF
			}
			man := member{name: "META-INF/manifest.xml", data: []byte("<m/>")}
			add(name+" in "+kind, mime(kind), evil, man, member{name: file, data: wrap(sig)})
			add(name+" as it is in "+kind, mime(kind), evil, man, member{name: file, data: sig})
			add(name+" in "+kind+", a file beside", mime(kind), evil, man, member{name: "x.txt", data: []byte(contractText)}, member{name: file, data: wrap(sig)})
		}
	}
	// A genuine container with a second manifest, signature or uncovered file.
	cad := bases["asic-e cades"]
	sigName, manName := "", ""
	for _, x := range cad.members {
		if strings.HasSuffix(x.name, ".p7s") {
			sigName = x.name
		}
		if strings.Contains(x.name, "ASiCManifest") {
			manName = x.name
		}
	}
	man := member{name: "META-INF/ASiCManifest0.xml", data: manifest(sigName, evil)}
	put := func(name string, a archive) {
		list = append(list, specimen{name: "borrowed: " + name, data: a.bytes(), want: forged})
	}
	put("a second manifest, last", cad.with(-1, man))
	put("a second manifest, first", cad.with(1, man))
	put("a second manifest over a stranger", cad.with(1, man).with(1, member{name: "evil.txt", data: []byte(forgedText)}))
	put("a manifest in place of the signed one", cad.change(manName, func(x *member) { x.data = man.data }).change("contract.txt", func(x *member) { x.data = evil.data }))
	put("a manifest of nobody", cad.with(1, member{name: "META-INF/ASiCManifest9.xml", data: manifest("contract.txt", evil)}))
	put("a p7m beside the signature", cad.with(-1, member{name: "META-INF/signature9.p7s", data: list2["a p7m"]}))
	put("an enveloping signature beside the signature", bases["asic-e xades"].with(-1, member{name: "META-INF/signatures9.xml", data: wrapASiC(enveloping)}))
	put("a document in place of a signature file", bases["asic-e xades"].with(-1, member{name: "META-INF/signatures9.xml", data: []byte("<html>" + forgedText + "</html>")}))
	put("a broken signature file", bases["asic-e xades"].with(-1, member{name: "META-INF/signatures9.xml", data: []byte("<x")}))
	return list
}

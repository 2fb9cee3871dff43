package forgery

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/xades"
)

func init() {
	register("encodings", makeEncodings)
	register("prefixes", makePrefixes)
	register("mediatypes", makeMediaTypes)
}

// makeEncodings: the bytes of a signed document are written anew under a label
// that readers take for different tables. xmllint reads another text than the
// one that was signed.
func makeEncodings(_ *testing.T, m *materials) []specimen {
	f := &xmlForger{materials: m}
	text := []string{"xmllint", "--xpath", "string(/*/amount)", "@"}
	const euro = "\u20ac 100"
	signed := f.signXML("<invoice><amount>"+euro+"</amount></invoice>", xades.Options{})
	labelled := func(label, body string) string { return "<?xml version='1.0' encoding='" + label + "'?>" + body }
	for _, label := range []string{
		"iso-8859-1", "ISO_8859-1", "iso8859-1", "latin1", "L1", "cp819", "IBM819", "iso-ir-100", "csISOLatin1", "iso88591", "ISO8859-1",
		"iso-8859-9", "latin5", "l5", "iso-ir-148",
	} {
		f.list = append(f.list, specimen{
			name: "the euro of a Windows code page as " + label, data: []byte(labelled(label, strings.ReplaceAll(signed, "\u20ac", "\x80"))),
			want: forged, shows: "\u0080 100", asks: text,
		})
	}
	for _, label := range []string{
		"us-ascii", "ascii", "ANSI_X3.4-1968", "iso-ir-6", "iso646-us", "csASCII", "cp1252", "x-cp1252", "x-user-defined", "tis-620", "iso-8859-11", "windows-874", "dos-874",
		"gb2312", "gbk", "x-gbk", "chinese", "big5", "shift_jis", "euc-kr", "ks_c_5601-1987", "utf-7", "utf-16", "utf-16le", "utf-16be", "iso-10646-ucs-2", "iso-2022-jp", "hz-gb-2312", "nonsense",
	} {
		f.forged("the euro of a code page as "+label, signed, labelled(label, strings.ReplaceAll(signed, "\u20ac", "\x80")))
	}
	for name, one := range map[string]struct{ label, text, bytes string }{
		"a byte without a character":          {"windows-1252", "a\u0081", "a\x81"},
		"a Hebrew point":                      {"windows-1255", "\u05ba", "\xca"},
		"a Ukrainian letter":                  {"koi8-u", "\u045e", "\xae"},
		"a Greek byte without a character":    {"windows-1253", "\ufffd", "\xaa"},
		"an Arabic byte without a character":  {"iso-8859-6", "\ufffd", "\xa1"},
		"a control character of ISO 8859-1":   {"iso-8859-1", "a\u0085b", "a\x85b"},
		"a control character of ISO 8859-2":   {"iso-8859-2", "a\u0090b", "a\x90b"},
		"a yen sign that is a backslash":      {"shift_jis", "\\100", "\\100"},
		"a Korean letter of the long table":   {"euc-kr", "\uac02", "\x81\x41"},
		"a tilde that is an overline":         {"iso-2022-jp", "~", "~"},
		"UTF-16 that says it is of one order": {"utf-16be", "100", ""},
	} {
		s := f.signXML("<invoice><amount>"+one.text+"</amount></invoice>", xades.Options{})
		d := labelled(one.label, strings.Replace(s, one.text, one.bytes, 1))
		if one.bytes == "" {
			d = encoded(f, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), labelled(one.label, s))
		}
		f.forged(name, s, d)
	}
	for label, one := range map[string]struct {
		text  string
		codec encoding.Encoding
	}{
		"ISO-8859-1":   {"caff\u00e8", charmap.ISO8859_1},
		"cp819":        {"caff\u00e8", charmap.ISO8859_1},
		"ISO-8859-2":   {"\u017ar\u00f3d\u0142o", charmap.ISO8859_2},
		"ISO-8859-15":  {euro, charmap.ISO8859_15},
		"windows-1250": {"\u017ar\u00f3d\u0142o " + euro, charmap.Windows1250},
		"windows-1251": {"\u0434\u043e\u0433\u043e\u0432\u043e\u0440", charmap.Windows1251},
		"windows-1252": {euro, charmap.Windows1252},
		"KOI8-R":       {"\u0434\u043e\u0433\u043e\u0432\u043e\u0440", charmap.KOI8R},
		"UTF-16":       {euro, unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
		"UTF-16LE":     {euro, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
		"UTF-8":        {euro, encoding.Nop},
		"US-ASCII":     {"100", encoding.Nop},
	} {
		d := encoded(f, one.codec, labelled(label, "<invoice><amount>"+one.text+"</amount></invoice>"))
		f.list = append(f.list, specimen{name: "in " + label, data: []byte(f.signXML(d, xades.Options{})), want: genuine, shows: one.text, asks: text})
	}
	return f.list
}

func encoded(f *xmlForger, e encoding.Encoding, text string) string {
	f.t.Helper()
	out, err := e.NewEncoder().String(text)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// makePrefixes: a value is a name whose prefix is bound anew. Exclusive
// canonicalisation does not write the declaration, and the digest stays.
func makePrefixes(_ *testing.T, m *materials) []specimen {
	f := &xmlForger{materials: m}
	const eur, usd = "urn:eur", "urn:usd"
	whole := envelopedTransform + c14nTransform
	listed := func(prefixes string) string {
		return strings.Replace(c14nTransform, "/>", `><ec:InclusiveNamespaces xmlns:ec="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList="`+prefixes+`"/></ds:Transform>`, 1)
	}
	inclusive := strings.Replace(c14nTransform, "http://www.w3.org/2001/10/xml-exc-c14n#", "http://www.w3.org/TR/2001/REC-xml-c14n-20010315", 1)
	bound := func(prefix string) []string {
		return []string{"xmllint", "--xpath", "string(//*[local-name()='m'][1]/namespace::*[name()='" + prefix + "'])", "@"}
	}
	add := func(name, prefix, doc string) {
		f.t.Helper()
		if !strings.Contains(doc, usd) {
			f.t.Fatalf("%s: nothing was changed", name)
		}
		f.list = append(f.list, specimen{name: name, data: []byte(doc), want: forged, shows: usd, asks: bound(prefix)})
	}
	rebound := func(doc string) string { return strings.Replace(doc, eur, usd, 1) }
	for name, one := range map[string]struct{ doc, transforms string }{
		"in a text":                           {`<r xmlns:cur="urn:eur"><m>cur:unit</m>@</r>`, whole},
		"in a text with white space":          {"<r xmlns:cur=\"urn:eur\"><m>\n  cur:unit\n</m>@</r>", whole},
		"in an attribute":                     {`<r xmlns:cur="urn:eur"><m k="cur:unit"/>@</r>`, whole},
		"in a list":                           {`<r xmlns:cur="urn:eur"><m k="a b cur:unit"/>@</r>`, whole},
		"in an expression":                    {`<r xmlns:cur="urn:eur"><m k="/a/ancestor::cur:unit[1]"/>@</r>`, whole},
		"in an expression for all":            {`<r xmlns:cur="urn:eur"><m k="sum(//cur:*)"/>@</r>`, whole},
		"in a short form":                     {`<r xmlns:cur="urn:eur"><m k="[cur:unit]"/>@</r>`, whole},
		"in a sentence":                       {`<r xmlns:cur="urn:eur"><m>pay 100 (cur:unit) today</m>@</r>`, whole},
		"in a section":                        {`<r xmlns:cur="urn:eur"><m><![CDATA[cur:unit]]></m>@</r>`, whole},
		"with a reference":                    {`<r xmlns:cur="urn:eur"><m>&#99;ur&#58;unit</m>@</r>`, whole},
		"in an instruction":                   {`<r xmlns:cur="urn:eur"><m><?unit cur:unit?></m>@</r>`, whole},
		"in a type":                           {`<r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:cur="urn:eur"><m xsi:type="cur:unit">1</m>@</r>`, whole},
		"declared where it is used":           {`<r><m xmlns:cur="urn:eur">cur:unit</m>@</r>`, whole},
		"used by an element beside":           {`<r xmlns:cur="urn:eur"><cur:x xmlns:cur="urn:other"/><m>cur:unit</m>@</r>`, whole},
		"another prefix is listed":            {`<r xmlns:cur="urn:eur"><m>cur:unit</m>@</r>`, envelopedTransform + listed("alt")},
		"canonical twice":                     {`<r xmlns:cur="urn:eur"><m>cur:unit</m>@</r>`, envelopedTransform + inclusive + c14nTransform},
		"canonical twice, listed once":        {`<r xmlns:cur="urn:eur"><m>cur:unit</m>@</r>`, envelopedTransform + listed("cur") + c14nTransform},
		"a letter beyond ASCII":               {"<r xmlns:\u00e9=\"urn:eur\" xmlns:cur=\"urn:eur\"><m>\u00e9:unit cur:x</m>@</r>", whole},
		"the default namespace":               {`<p:r xmlns:p="urn:p" xmlns="urn:eur"><p:m>unit</p:m>@</p:r>`, whole},
		"the default namespace, in attribute": {`<p:r xmlns:p="urn:p" xmlns="urn:eur"><p:m type="unit"/>@</p:r>`, whole},
	} {
		prefix := "cur"
		if strings.Contains(name, "default") {
			prefix = ""
		}
		signed := f.xmldsig(one.doc, "", ref{"", "", one.transforms})
		d := rebound(signed)
		if strings.Contains(name, "beyond") {
			d = strings.ReplaceAll(signed, eur, usd)
		}
		add("a prefix "+name, prefix, d)
	}
	below := f.xmldsig(`<cur:r xmlns:cur="urn:eur"><m>cur:unit</m>@</cur:r>`, "", ref{"", "", whole})
	f.genuine("a prefix that a name around uses", below)
	add("a prefix bound below the name that uses it", "cur", strings.Replace(below, "<m>", `<m xmlns:cur="urn:usd">`, 1))
	add("a prefix bound where none was", "cur", strings.Replace(f.xmldsig(`<r><m>cur:unit</m>@</r>`, "", ref{"", "", whole}), "<r>", `<r xmlns:cur="urn:usd">`, 1))
	element := f.xmldsig(`<r xmlns:cur="urn:eur"><o Id="o1"><m>cur:unit</m></o>@</r>`, "", ref{"#o1", "", c14nTransform})
	add("a prefix bound outside the signed element", "cur", rebound(element))
	unlisted := f.xmldsig(`<cur:r xmlns:cur="urn:eur"><o Id="o1"><m>cur:unit</m></o>@</cur:r>`, "", ref{"#o1", "", c14nTransform})
	add("a prefix used by the name of what is not signed", "cur", rebound(unlisted))
	f.beside = []byte(`<r xmlns:cur="urn:eur"><m>cur:unit</m></r>`)
	f.list = append(f.list, specimen{name: "a prefix in a file beside", data: []byte(f.xmldsig("@", "", ref{"o.xml", "", c14nTransform})), detached: []byte(rebound(string(f.beside))), want: forged})
	f.list = append(f.list, specimen{name: "a prefix in a file beside, all signed", data: []byte(f.xmldsig("@", "", ref{"o.xml", "", inclusive})), detached: slices.Clone(f.beside), want: genuine})

	f.genuine("a prefix in a text, inclusive", f.xmldsig(`<r xmlns:cur="urn:eur"><m>cur:unit</m>@</r>`, "", ref{"", "", envelopedTransform + inclusive}))
	f.genuine("a prefix in a text, listed", f.xmldsig(`<r xmlns:cur="urn:eur"><m>cur:unit</m>@</r>`, "", ref{"", "", envelopedTransform + listed("x cur")}))
	f.genuine("the default namespace, listed", f.xmldsig(`<p:r xmlns:p="urn:p" xmlns="urn:eur"><p:m>unit</p:m>@</p:r>`, "", ref{"", "", envelopedTransform + listed("#default")}))
	f.genuine("what only looks like a prefix", f.xmldsig(`<r xmlns:cur="urn:eur" xmlns:a="urn:a"><m k="http://x/y" t="12:30">note: see urn:a:b, mailto:a, a: b, acur:unit, cur</m>@</r>`, "", ref{"", "", whole}))
	f.genuine("types of XML Schema", f.xmldsig(`<r xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><m xsi:type="xs:unsignedLong">1</m>@</r>`, "", ref{"", "", whole}))
	f.genuine("words in the default namespace of the root", f.xmldsig(`<r xmlns="urn:eur" xmlns:c="urn:c"><c:m k="EUR">Anna</c:m>@</r>`, "", ref{"", "", whole}))

	// What we sign lists them, so that the digest tells.
	for name, doc := range map[string]string{
		"text": `<x:r xmlns:x="urn:x" xmlns:cur="urn:eur"><x:m>cur:unit</x:m></x:r>`, "default": `<x:r xmlns:x="urn:x" xmlns="urn:eur"><x:m>unit</x:m></x:r>`,
		"attribute": `<x:r xmlns:x="urn:x"><x:m xmlns:cur="urn:eur" k="cur:unit | x:y"/></x:r>`, "both": `<x:r xmlns:x="urn:x" xmlns="urn:eur" xmlns:cur="urn:a"><x:m k="cur:a">unit</x:m></x:r>`,
	} {
		for kind, o := range map[string]xades.Options{"enveloped": {}, "internally detached": {Packaging: xades.InternallyDetached}} {
			signed := f.signXML(doc, o)
			f.genuine("ours, "+kind+", "+name, signed)
			f.forged("ours, "+kind+", "+name+", bound anew", signed, rebound(signed))
		}
	}
	return f.list
}

// makeMediaTypes: the manifest of a container, which is not signed, says that a file is something
// else than its signer says.
func makeMediaTypes(_ *testing.T, m *materials) []specimen {
	var list []specimen
	manifest := func(shows string, b []byte, want, name string) {
		list = append(list, specimen{name: name, data: b, want: want, shows: shows, asks: []string{"unzip", "-p", "@", "META-INF/manifest.xml"}})
	}
	signed := func(types map[string]string) archive {
		return take(m.t, m.sign([]ades.File{text("contract.txt", contractText)}, func(o *rogito.Options) {
			o.Format, o.ASiC = ades.ASiCE, asic.Options{MediaTypes: types}
		}))
	}
	as := func(a archive, was, is string) []byte {
		return a.change("META-INF/manifest.xml", func(f *member) {
			f.data = bytes.Replace(f.data, []byte(`media-type="`+was+`"`), []byte(`media-type="`+is+`"`), 1)
		}).bytes()
	}
	vague, plain := signed(nil), signed(map[string]string{"contract.txt": "text/plain"})
	for _, t := range []string{
		"text/html", "TEXT/HTML; charset=utf-8", "application/xhtml+xml", "image/svg+xml", "application/pdf", "text/xml", "application/javascript", "application/x-msdownload", "text/rtf", "application/java-archive",
	} {
		manifest(t, as(vague, "application/octet-stream", t), forged, "data, said to be "+t)
		manifest(t, as(plain, "text/plain", t), forged, "text, said to be "+t)
	}
	manifest("image/png", as(plain, "text/plain", "image/png"), forged, "text, said to be a picture")
	manifest("text/plain", plain.bytes(), genuine, "text")
	manifest("Text/Plain", as(plain, "text/plain", "Text/Plain; charset=utf-8"), genuine, "text in a character set")
	manifest("octet-stream", as(plain, "text/plain", "application/octet-stream"), genuine, "text, said to be data")
	manifest("text/plain", as(vague, "application/octet-stream", "text/plain"), genuine, "data, said to be text")
	return list
}

// TestHoldersAreNamed: an element that only holds what is signed is no content
// by the contract. Its name is not signed, and the report says so.
func TestHoldersAreNamed(t *testing.T) {
	m := &materials{t: t, service: &shared}
	f := &xmlForger{materials: m}
	signed := f.signXML("<batch><approved>"+xmlOrder+"</approved></batch>", xades.Options{SignElement: "o1"})
	enveloping := signatureOf(f.signXML(xmlInvoice, xades.Options{Packaging: xades.Enveloping}))
	renamed := strings.NewReplacer("approved>", "rejected>", "batch>", "cancelled>").Replace(signed)
	for name, one := range map[string]struct {
		doc   string
		stand string // "" where the signature covers the whole document
	}{
		"as signed":             {signed, "/batch/approved"},
		"renamed":               {renamed, "/cancelled/rejected"},
		"one holder less":       {strings.NewReplacer("<approved>", "", "</approved>", "").Replace(signed), "/batch"},
		"one holder more":       {strings.NewReplacer("<approved>", "<approved><not>", "</approved>", "</not></approved>").Replace(signed), "/batch/approved/not"},
		"in a namespace":        {strings.Replace(signed, "<approved>", `<approved xmlns:x="urn:x">`, 1), "/batch/approved"},
		"with an Id":            {strings.Replace(signed, "<batch>", `<batch Id="b">`, 1), "/batch/approved"},
		"an enveloping one":     {"<cancelled>" + enveloping + "</cancelled>", "/cancelled"},
		"an enveloping one, in": {"<a><b>" + enveloping + "</b></a>", "/a/b"},
		"the whole":             {f.signXML(xmlInvoice, xades.Options{}), ""},
		"enveloping":            {enveloping, ""},
		"internally detached":   {f.signXML(xmlInvoice, xades.Options{Packaging: xades.InternallyDetached}), ""},
		"the root by its Id":    {f.signXML(`<r Id="r1"><a>1</a></r>`, xades.Options{SignElement: "r1"}), ""},
	} {
		r := m.verify([]byte(one.doc))
		c := r.Conclusions.Signatures[0]
		if c.Indication != report.TotalPassed || c.CoversWhole != (one.stand == "") {
			t.Errorf("%s: %s, covers the whole document %v", name, c.Indication, c.CoversWhole)
		}
		var said strings.Builder
		if err := paper.WriteText(&said, r, "doc.xml", paper.English); err != nil {
			t.Fatal(err)
		}
		if one.stand != "" && !strings.Contains(said.String(), "stands in "+one.stand+",") {
			t.Errorf("%s: %s is not named:\n%s", name, one.stand, said.String())
		}
	}
}

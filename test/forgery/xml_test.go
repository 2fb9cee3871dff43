package forgery

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/xades"

	"software.sslmate.com/src/go-pkcs12"
)

func init() { register("xml", makeXML) }

const (
	xmlOrder   = `<order Id="o1"><amount>100</amount></order>`
	xmlInvoice = `<invoice xmlns="urn:invoice" number="7"><seller>Anna</seller><amount currency="EUR">100</amount><note>paid on delivery</note></invoice>`
	dsNS       = xmldsig.Space
	xadesNS    = "http://uri.etsi.org/01903/v1.3.2#"
)

// xmlForger collects the specimens of the class.
type xmlForger struct {
	*materials
	list   []specimen
	beside []byte            // what references out of a document are to
	files  map[string][]byte // or these, by URI
}

func makeXML(t *testing.T, m *materials) []specimen {
	f := &xmlForger{materials: m}
	f.wrapped()
	f.enveloped()
	f.enveloping()
	f.internallyDetached()
	f.detached()
	f.custom()
	f.manifests()
	f.meanings()
	f.polyglots()
	f.names()
	f.xmlsec()
	f.dss()
	return f.list
}

// genuine and forged add a specimen. A forged one must differ from what it was
// made of.
func (f *xmlForger) genuine(name, doc string) {
	f.list = append(f.list, specimen{name: name, data: []byte(doc), want: genuine})
}

func (f *xmlForger) forged(name, from, doc string) {
	f.t.Helper()
	if from == doc {
		f.t.Fatalf("%s: nothing was changed", name)
	}
	f.list = append(f.list, specimen{name: name, data: []byte(doc), want: forged})
}

func (f *xmlForger) signXML(doc string, o xades.Options) string {
	f.t.Helper()
	return string(f.signOne("doc.xml", []byte(doc), func(r *rogito.Options) { r.Format, r.XAdES = ades.XAdES, o }))
}

// signatureOf cuts out the ds:Signature.
func signatureOf(doc string) string {
	return doc[strings.Index(doc, "<ds:Signature ") : strings.LastIndex(doc, "</ds:Signature>")+len("</ds:Signature>")]
}

// places inside a signature at which something can be put without touching
// what is signed.
var places = []struct{ name, before, open, close string }{
	{"an Object", "</ds:Signature>", "<ds:Object>", "</ds:Object>"},
	{"an Object with an Id", "</ds:Signature>", `<ds:Object Id="extra" MimeType="text/xml">`, "</ds:Object>"},
	{"the Object of the properties", "<xades:QualifyingProperties", "", ""},
	{"KeyInfo", "</ds:KeyInfo>", "", ""},
	{"a KeyName", "</ds:KeyInfo>", "<ds:KeyName>", "</ds:KeyName>"},
	{"X509Data", "</ds:X509Data>", "", ""},
	{"the unsigned properties", "</xades:QualifyingProperties>", "<xades:UnsignedProperties><xades:UnsignedSignatureProperties>", "</xades:UnsignedSignatureProperties></xades:UnsignedProperties>"},
	{"the unsigned data properties", "</xades:QualifyingProperties>", "<xades:UnsignedProperties><xades:UnsignedDataObjectProperties><xades:UnsignedDataObjectProperty>", "</xades:UnsignedDataObjectProperty></xades:UnsignedDataObjectProperties></xades:UnsignedProperties>"},
	{"a nested Signature", "</ds:Signature>", `<ds:Object><ds:Signature xmlns:ds="` + dsNS + `">`, "</ds:Signature></ds:Object>"},
	{"an empty Manifest", "</ds:Signature>", "<ds:Object><ds:Manifest>", "</ds:Manifest></ds:Object>"},
}

func put(doc, before, what string) string { return strings.Replace(doc, before, what+before, 1) }

// wrapped: one element is signed by its Id. It is moved to where few look, and
// another one takes its place.
func (f *xmlForger) wrapped() {
	signed := f.signXML("<batch>"+xmlOrder+"</batch>", xades.Options{SignElement: "o1"})
	f.genuine("element, all that there is", signed)
	f.genuine("element, its root with a namespace and an Id", strings.Replace(signed, "<batch>", `<batch xmlns:a="urn:a" Id="all">`, 1))
	f.genuine("element, under one more wrapper", strings.Replace(strings.Replace(signed, xmlOrder, "<orders>"+xmlOrder+"</orders>", 1), "<batch>", `<batch xmlns:a="urn:a" Id="all">`, 1))
	f.forged("element: moved into the key", signed, put(strings.Replace(signed, xmlOrder, "", 1), "</ds:KeyInfo>", xmlOrder))
	f.forged("element: text beside a CDATA section", signed, strings.Replace(signed, ">100<", ">10<![CDATA[0]]><", 1))
	evil := func(attrs string) string { return "<order" + attrs + "><amount>900</amount></order>" }
	moves := map[string]func(doc string) string{
		"in a wrapper after the signature":  func(d string) string { return put(d, "</batch>", "<old>"+xmlOrder+"</old>") },
		"in a wrapper before the signature": func(d string) string { return put(d, "<ds:Signature ", "<old><x><y>"+xmlOrder+"</y></x></old>") },
		"beside it":                         func(d string) string { return put(d, "</batch>", xmlOrder) },
	}
	for _, p := range places {
		moves["in "+p.name] = func(d string) string { return put(d, p.before, p.open+xmlOrder+p.close) }
	}
	for where, move := range moves {
		for how, attrs := range map[string]string{
			"no Id": "", "another Id": ` Id="o2"`, "the same Id": ` Id="o1"`, "ID": ` ID="o1"`, "xml:id": ` xml:id="o1"`,
			"Id in a namespace": ` xmlns:q="urn:q" q:Id="o1"`, "Id with a blank": ` Id=" o1"`,
		} {
			f.forged(fmt.Sprintf("moved %s, another in its place with %s", where, how), signed, move(strings.Replace(signed, xmlOrder, evil(attrs), 1)))
		}
	}
	for how, attrs := range map[string]string{"first": "", "with an Id": ` Id="o2"`} {
		f.forged("another element before the signed one, "+how, signed, strings.Replace(signed, xmlOrder, evil(attrs)+xmlOrder, 1))
		f.forged("another element around the signed one, "+how, signed, strings.Replace(signed, xmlOrder, "<order"+attrs+"><amount>900</amount>"+xmlOrder+"</order>", 1))
	}
	for name, into := range map[string]string{
		"text in the root":               "<batch>pay 900",
		"an attribute on the root":       `<batch amount="900">`,
		"an attribute with a namespace":  `<batch xmlns:b="urn:b" b:amount="900">`,
		"an instruction in the root":     `<batch><?pay 900?>`,
		"an empty element":               "<batch><paid/>",
		"xml:lang on the root":           `<batch xml:lang="en">`,
		"character data by a reference":  "<batch>&#57;00",
		"character data in CDATA":        "<batch><![CDATA[900]]>",
		"a stylesheet before the root":   `<?xml-stylesheet href="evil.xsl"?><batch>`,
		"an attribute of schema":         `<batch xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="evil">`,
		"an element in no namespace":     `<batch><amount xmlns="">900</amount>`,
		"an Id that speaks":              `<batch Id="pay 900 to Mallory">`,
		"an element of XML Signature":    `<batch><ds:KeyName xmlns:ds="` + dsNS + `">pay 900</ds:KeyName>`,
		"an element of XAdES":            `<batch><x:Description xmlns:x="` + xadesNS + `">pay 900</x:Description>`,
		"a signature that holds a text":  `<batch><ds:Signature xmlns:ds="` + dsNS + `">pay 900</ds:Signature>`,
		"a signature that holds nothing": `<batch><ds:Signature xmlns:ds="` + dsNS + `"/>`,
	} {
		f.forged("element: "+name, signed, strings.Replace(signed, "<batch>", into, 1))
	}
	f.forged("element: in a foreign document", signed, "<transfer><amount>900</amount>"+signed+"</transfer>")
	f.forged("element: an instruction after the root", signed, signed+"<?pay 900?>")
	f.forged("element: only the signature is left", signed, "<order><amount>900</amount>"+signatureOf(signed)+"</order>")
	f.forged("element: a comment parts the amount", signed, strings.Replace(signed, ">100<", ">1<!-- -->00<", 1))

	two := f.signXML("<batch><a Id='x1'>100</a><b Id='x2'>200</b></batch>", xades.Options{XPathQuery: "//a | //b"})
	f.genuine("two elements under one signature", two)
	f.forged("two elements, a third", two, strings.Replace(two, "<batch>", "<batch><c>300</c>", 1))
	first := f.signXML("<batch><a Id='x1'>100</a><b Id='x2'>200</b></batch>", xades.Options{SignElement: "x1"})
	f.forged("one element of two", "", first)
	f.genuine("each element under its own signature", f.signXML(first, xades.Options{SignElement: "x2"}))
}

// enveloped: the whole document is signed, and something is put where the
// transforms do not look.
func (f *xmlForger) enveloped() {
	signed := f.signXML(xmlInvoice, xades.Options{})
	f.genuine("enveloped", signed)
	f.genuine("enveloped, two signatures", f.signXML(signed, xades.Options{}))
	f.genuine("enveloped, the second keeps the first", f.signXML(signed, xades.Options{KeepSignatures: true}))
	f.genuine("enveloped, white space and a comment between elements", f.signXML("<?xml version=\"1.0\"?>\n<!-- note -->\n<a>\n  <!-- c -->\n <b>1</b>\n</a>\n<!-- end -->", xades.Options{}))
	f.genuine("enveloped, in UTF-8 with a mark", "\xEF\xBB\xBF"+signed)
	f.genuine("enveloped, in ISO 8859-1", f.signXML("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>caff\xe8</a>", xades.Options{}))
	f.genuine("enveloped, an electronic invoice", f.signXML(`<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="fatturapa_v1.2.xsl"?>
<p:FatturaElettronica xmlns:ds="http://www.w3.org/2000/09/xmldsig#" xmlns:p="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" versione="FPA12" xsi:schemaLocation="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2 fatturaordinaria_v1.2.xsd">
  <FatturaElettronicaHeader><DatiTrasmissione><ProgressivoInvio>00001</ProgressivoInvio></DatiTrasmissione></FatturaElettronicaHeader>
  <FatturaElettronicaBody><DatiGenerali><ImportoTotaleDocumento>100.00</ImportoTotaleDocumento></DatiGenerali></FatturaElettronicaBody>
</p:FatturaElettronica>`, xades.Options{}))
	evil := `<amount xmlns="urn:invoice" currency="EUR">900</amount>`
	for _, p := range places {
		f.forged("enveloped: another amount in "+p.name, signed, put(signed, p.before, p.open+evil+p.close))
		f.forged("enveloped: the whole invoice in "+p.name, signed, put(signed, p.before, p.open+strings.Replace(xmlInvoice, "100", "900", 1)+p.close))
	}
	f.forged("enveloped: a comment before the amount", signed, strings.Replace(signed, ">100<", "><!-- -->100<", 1))
	f.forged("enveloped: text beside a CDATA section", signed, strings.Replace(signed, ">100<", ">10<![CDATA[0]]><", 1))
	f.forged("enveloped: text beside an empty CDATA section", signed, strings.Replace(signed, ">100<", "><![CDATA[]]>100<", 1))
	f.forged("enveloped: the signature parts the amount", signed, strings.Replace(strings.Replace(signed, signatureOf(signed), "", 1), ">100<", ">1"+signatureOf(signed)+"00<", 1))
	f.forged("enveloped: the signature before the amount", signed, strings.Replace(strings.Replace(signed, signatureOf(signed), "", 1), ">100<", ">"+signatureOf(signed)+"100<", 1))
	f.forged("enveloped: an amount of XML Signature in the key", signed, put(signed, "</ds:KeyInfo>", "<ds:amount>900</ds:amount>"))
	f.forged("enveloped: an amount of ETSI in the key", signed, put(signed, "</ds:KeyInfo>", `<amount xmlns="http://uri.etsi.org/inv">900</amount>`))
	f.forged("enveloped: a sentence for a key's name", signed, put(signed, "</ds:KeyInfo>", "<ds:KeyName>PAY 900 TO MALLORY</ds:KeyName>"))
	f.forged("enveloped: management data", signed, put(signed, "</ds:KeyInfo>", "<ds:MgmtData>PAY 900</ds:MgmtData>"))
	f.forged("enveloped: an attribute of the key", signed, strings.Replace(signed, "<ds:KeyInfo", `<ds:KeyInfo amount="900"`, 1))
	f.forged("enveloped: an attribute of the signature", signed, strings.Replace(signed, "<ds:Signature ", `<ds:Signature amount="900" `, 1))
	f.forged("enveloped: text in the signature", signed, put(signed, "<ds:KeyInfo>", "pay 900"))
	f.forged("enveloped: an element in the value", signed, put(signed, "</ds:SignatureValue>", evil))
	f.forged("enveloped: an instruction in the signature", signed, put(signed, "<ds:KeyInfo>", "<?pay 900?>"))
	f.forged("enveloped: a stylesheet", signed, `<?xml-stylesheet href="evil.xsl"?>`+signed)
	f.forged("enveloped: inside another document", signed, "<all>"+signed+"</all>")
	f.forged("enveloped: a comment parts the amount", signed, strings.Replace(signed, ">100<", ">1<!-- -->00<", 1))
	f.forged("enveloped: an empty comment parts the name", signed, strings.Replace(signed, ">Anna<", ">Ann<!---->a<", 1))
	f.forged("enveloped: two comments part the amount", signed, strings.Replace(signed, ">100<", ">1<!--a--><!--b-->00<", 1))
	f.forged("enveloped: a comment parts the note", signed, strings.Replace(signed, "paid on", "paid<!-- not --> on", 1))
	f.forged("enveloped: a comment parts the time of signing", signed, partTime(signed))
	f.forged("enveloped: an instruction parts the amount", signed, strings.Replace(signed, ">100<", ">1<?x?>00<", 1))
	f.forged("enveloped: an attribute", signed, strings.Replace(signed, `currency="EUR"`, `currency="EUR" factor="9"`, 1))
	f.forged("enveloped: another namespace", signed, strings.Replace(signed, "urn:invoice", "urn:invoice2", 1))
	f.forged("enveloped: the signature alone in another document", signed, strings.Replace(xmlInvoice, "100", "900", 1)[:len(xmlInvoice)-len("</invoice>")]+signatureOf(signed)+"</invoice>")
	for name, wrap := range map[string][2]string{
		"in an Object of its own signature": {"<ds:Object>", "</ds:Object>"},
		"in a nested element":               {"<old>", "</old>"},
	} {
		f.forged("enveloped: the original "+name, signed, strings.Replace(strings.Replace(xmlInvoice, "100", "900", 1), "</invoice>", "", 1)+strings.Replace(signatureOf(signed), "</ds:Signature>", wrap[0]+signed+wrap[1]+"</ds:Signature>", 1)+"</invoice>")
	}
	f.forged("enveloped: twice the same signature", signed, put(signed, "</invoice>", signatureOf(signed)))
	twin := strings.Replace(signed, "</invoice>", signatureOf(f.signXML("<other/>", xades.Options{SignatureID: between(signed, `<ds:Signature xmlns:ds="`+dsNS+`" Id="`, `"`)}))+"</invoice>", 1)
	f.forged("enveloped: another signature of the same Id", signed, twin)
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

// partTime puts a comment into the signed time.
func partTime(doc string) string {
	t := between(doc, "<xades:SigningTime>", "<")
	return strings.Replace(doc, t, t[:4]+"<!-- -->"+t[4:], 1)
}

// enveloping: the signature holds what it signs, and stands in, or beside,
// something else.
func (f *xmlForger) enveloping() {
	signed := f.signXML(xmlInvoice, xades.Options{Packaging: xades.Enveloping})
	sig := signatureOf(signed)
	f.genuine("enveloping", signed)
	f.genuine("enveloping, in a wrapper that says nothing", "<signatures>"+sig+"</signatures>")
	for name, wrap := range map[string][2]string{
		"an invoice":             {"<invoice><amount>900</amount>", "</invoice>"},
		"an invoice, after it":   {"<invoice>", "<amount>900</amount></invoice>"},
		"a text":                 {"<p>pay 900 ", "</p>"},
		"an element with amount": {`<pay amount="900">`, "</pay>"},
		"an instruction":         {`<p><?pay 900?>`, "</p>"},
		"a stylesheet":           {`<?xml-stylesheet href="evil.xsl"?><p>`, "</p>"},
		"depth":                  {"<a><b><c>", "</c>pay 900</b></a>"},
		"a nested element":       {"<a><b>", "</b><amount>900</amount></a>"},
	} {
		f.forged("enveloping: in "+name, sig, wrap[0]+sig+wrap[1])
	}
	for _, p := range places {
		f.forged("enveloping: another amount in "+p.name, signed, put(signed, p.before, p.open+"<amount>900</amount>"+p.close))
	}
	f.forged("enveloping: an element beside the base64", signed, strings.Replace(signed, "</ds:Object></ds:Signature>", "<amount v='900'/></ds:Object></ds:Signature>", 1))
	f.forged("enveloping: an instruction beside the base64", signed, strings.Replace(signed, "</ds:Object></ds:Signature>", "<?pay 900?></ds:Object></ds:Signature>", 1))
	object := sig[strings.LastIndex(sig, "<ds:Object "):strings.LastIndex(sig, "</ds:Signature>")]
	f.forged("enveloping: the object moved out, another inside", signed, "<a>"+object+strings.Replace(sig, object, strings.Replace(object, `Id="o-`, `Id="p-`, 1), 1)+"</a>")
	f.forged("enveloping: the object moved into another signature's object", signed, strings.Replace(sig, object, "<ds:Object>"+object+"</ds:Object>", 1))
}

func (f *xmlForger) internallyDetached() {
	signed := f.signXML(xmlInvoice, xades.Options{Packaging: xades.InternallyDetached})
	f.genuine("internally detached", signed)
	bin := string(f.signOne("a.txt", []byte("pay 100"), func(r *rogito.Options) {
		r.Format, r.XAdES = ades.XAdES, xades.Options{Packaging: xades.InternallyDetached}
	}))
	f.genuine("internally detached, base64", bin)
	root := "<internally-detached>"
	for name, into := range map[string]string{
		"an element":   root + "<amount>900</amount>",
		"a text":       root + "pay 900",
		"an attribute": `<internally-detached amount="900">`,
		"a twin":       root + strings.Replace(xmlInvoice, "100", "900", 1),
	} {
		f.forged("internally detached: "+name, signed, strings.Replace(signed, root, into, 1))
		f.forged("internally detached, base64: "+name, bin, strings.Replace(bin, root, into, 1))
	}
	f.forged("internally detached, base64: an attribute on the content", bin, strings.Replace(bin, "<content ", `<content amount="900" `, 1))
	f.forged("internally detached, base64: an element in the content", bin, strings.Replace(bin, "</content>", `<amount v="900"/></content>`, 1))
	for _, p := range places {
		f.forged("internally detached: another amount in "+p.name, signed, put(signed, p.before, p.open+"<amount>900</amount>"+p.close))
	}
}

func (f *xmlForger) detached() {
	content := []byte("pay 100 to Anna")
	signed := string(f.signOne("a.txt", content, func(r *rogito.Options) {
		r.Format, r.XAdES = ades.XAdES, xades.Options{Packaging: xades.Detached}
	}))
	add := func(name, doc string, beside []byte, want string) {
		f.list = append(f.list, specimen{name: name, data: []byte(doc), detached: beside, want: want})
	}
	add("detached", signed, content, genuine)
	add("detached: other content", signed, []byte("pay 900 to Anna"), forged)
	add("detached: no content", signed, nil, forged)
	add("detached: in a foreign document", "<p>pay 900"+signatureOf(signed)+"</p>", content, forged)
	add("detached: an Object beside", put(signed, "</ds:Signature>", "<ds:Object>pay 900</ds:Object>"), content, forged)
	// References to a file may leave some of it out.
	f.beside = []byte("<o><amount>100</amount><note>x</note></o>")
	evil := bytes.Replace(f.beside, []byte("100"), []byte("900"), 1)
	add("detached, canonical", f.xmldsig("@", "", ref{"o.xml", "", c14nTransform}), f.beside, genuine)
	add("detached, canonical: a comment parts the amount", f.xmldsig("@", "", ref{"o.xml", "", c14nTransform}), bytes.Replace(f.beside, []byte("100"), []byte("1<!-- -->00"), 1), forged)
	for name, transforms := range map[string]string{
		"without the amount": filter2("subtract", "//amount") + c14nTransform,
		"without anything":   filter2("subtract", "/") + c14nTransform,
		"the note only":      filter2("intersect", "//note") + c14nTransform,
	} {
		part := f.xmldsig("@", "", ref{"o.xml", "", transforms})
		add("detached: signed "+name, part, f.beside, forged)
		add("detached: signed "+name+", another amount", part, evil, forged)
	}
	whole := f.signXML(xmlInvoice, xades.Options{})
	add("enveloped, the same document beside", whole, []byte(xmlInvoice), genuine)
	add("enveloped: another document beside", whole, []byte(strings.Replace(xmlInvoice, "100", "900", 1)), forged)
	inside := f.signXML(xmlInvoice, xades.Options{Packaging: xades.Enveloping})
	add("enveloping, the same document beside", inside, []byte(xmlInvoice), genuine)
	add("enveloping: another document beside", inside, []byte("pay 900"), forged)
}

// ref is a reference to be made: a URI and the transforms before
// canonicalisation.
type ref struct{ uri, typ, transforms string }

const (
	envelopedTransform = `<ds:Transform Algorithm="` + dsNS + `enveloped-signature"/>`
	c14nTransform      = `<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>`
	commentsTransform  = `<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#WithComments"/>`
)

func filter2(how, path string) string {
	return `<ds:Transform Algorithm="http://www.w3.org/2002/06/xmldsig-filter2"><f:XPath xmlns:f="http://www.w3.org/2002/06/xmldsig-filter2" Filter="` + how + `">` + path + `</f:XPath></ds:Transform>`
}

func xpathTransform(expr string) string {
	return `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>` + expr + `</ds:XPath></ds:Transform>`
}

// xmldsig makes a plain XML signature with any references, put where doc has @.
func (f *xmlForger) xmldsig(doc string, objects string, refs ...ref) string {
	f.t.Helper()
	a := f.signer()
	const hole = "0000000000000000000000000000000000000000000="
	var info strings.Builder
	info.WriteString(`<ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"/>`)
	for i, r := range refs {
		info.WriteString(reference(r, fmt.Sprintf("%04d%s", i, hole[4:])))
	}
	info.WriteString(`</ds:SignedInfo>`)
	sig := `<ds:Signature xmlns:ds="` + dsNS + `" Id="S">` + info.String() + `<ds:SignatureValue>AAAA</ds:SignatureValue><ds:KeyInfo Id="K"><ds:X509Data><ds:X509Certificate>` +
		base64.StdEncoding.EncodeToString(a.Certificate.Raw) + `</ds:X509Certificate></ds:X509Data></ds:KeyInfo>` + objects + `</ds:Signature>`
	doc = strings.Replace(doc, "@", sig, 1)
	parsed := func() *xmldsig.Signature {
		d, err := xmldom.Parse(doc, xmldom.Limits{})
		if err != nil {
			f.t.Fatal(err)
		}
		found := d.Root()
		for _, n := range xmldsig.Find(d) {
			if n.Attr("Id") == "S" {
				found = n
			}
		}
		s, err := xmldsig.Read(d, found)
		if err != nil {
			f.t.Fatal(err)
		}
		return s
	}
	for i := range refs {
		s := parsed()
		h := sha256.New()
		beside := func(r *xmldsig.Reference) xmldsig.Source {
			if b, ok := f.files[r.URI]; ok {
				return bytes.NewReader(b)
			}
			return bytes.NewReader(f.beside)
		}
		if err := s.Write(h, s.References[i], beside, xmldsig.Method{}); err != nil {
			f.t.Fatal(err)
		}
		doc = strings.Replace(doc, fmt.Sprintf("%04d%s", i, hole[4:]), base64.StdEncoding.EncodeToString(h.Sum(nil)), 1)
	}
	digest := sha256.Sum256(parsed().ToBeSigned())
	value, err := a.Key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err == nil {
		value, err = pkix.PlainValue(a.Key.Public(), value)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Replace(doc, ">AAAA<", ">"+base64.StdEncoding.EncodeToString(value)+"<", 1)
}

func reference(r ref, digest string) string {
	typ := ""
	if r.typ != "" {
		typ = ` Type="` + r.typ + `"`
	}
	return `<ds:Reference` + typ + ` URI="` + r.uri + `"><ds:Transforms>` + r.transforms + `</ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>` + digest + `</ds:DigestValue></ds:Reference>`
}

// custom: genuine keys over references that mean less than they seem to.
func (f *xmlForger) custom() {
	const doc = `<r><order Id="o1"><amount>100</amount></order><note Id="n1">thanks</note>@</r>`
	changed := func(s string) string { return strings.Replace(s, ">100<", ">900<", 1) }
	whole := f.xmldsig(doc, "", ref{"", "", envelopedTransform + c14nTransform})
	f.genuine("plain signature over the document", whole)
	f.genuine("plain signature, XPath that leaves signatures out", f.xmldsig(doc, "", ref{"", "", xpathTransform("not(ancestor-or-self::ds:Signature)") + c14nTransform}))
	f.genuine("plain signature, filter that leaves signatures out", f.xmldsig(doc, "", ref{"", "", filter2("subtract", "//ds:Signature") + c14nTransform}))
	f.genuine("plain signature, filter by here()", f.xmldsig(doc, "", ref{"", "", filter2("subtract", "here()/ancestor::ds:Signature[1]") + c14nTransform}))
	f.genuine("plain signature over both elements", f.xmldsig(doc, "", ref{"#o1", "", c14nTransform}, ref{"#n1", "", c14nTransform}))
	f.genuine("plain signature with comments, one of which parts a text", f.xmldsig(`<r><a>1<!-- -->00</a>@</r>`, "", ref{"#xpointer(/)", "", envelopedTransform + commentsTransform}))
	f.genuine("plain signature, the Id quoted", f.xmldsig(`<r><a Id="x">1</a>@</r>`, "", ref{"#xpointer(id('x'))", "", c14nTransform}))
	for name, r := range map[string]ref{
		"a filter removes everything":             {"", "", filter2("subtract", "/") + c14nTransform},
		"a filter removes the root":               {"", "", filter2("subtract", "/r") + c14nTransform},
		"a filter removes all elements":           {"", "", filter2("subtract", "//*") + c14nTransform},
		"a filter removes the amount":             {"", "", filter2("subtract", "//amount") + envelopedTransform + c14nTransform},
		"a filter removes the order":              {"", "", filter2("subtract", "/r/order") + envelopedTransform + c14nTransform},
		"a filter removes by Id":                  {"", "", filter2("subtract", "id('o1')") + envelopedTransform + c14nTransform},
		"a filter keeps the note":                 {"", "", filter2("intersect", "//note") + c14nTransform},
		"a filter keeps nothing":                  {"", "", filter2("intersect", "//nothing") + c14nTransform},
		"a filter keeps and removes":              {"", "", filter2("intersect", "/r") + filter2("subtract", "//order") + envelopedTransform + c14nTransform},
		"the note only":                           {"#n1", "", c14nTransform},
		"the note by pointer":                     {"#xpointer(id('n1'))", "", c14nTransform},
		"a filter that removes what has the name": {"", "", filter2("subtract", "/*/*") + c14nTransform},
		"its own key":                             {"#K", "", c14nTransform},
	} {
		signed := f.xmldsig(doc, "", r)
		f.forged("plain: signs "+name, "", signed)
		f.forged("plain: signs "+name+", and the amount is another", signed, changed(signed))
	}
	objects := `<ds:Object Id="O">thanks</ds:Object>`
	f.forged("plain: signs its own Object less its own signature", "", f.xmldsig("<r>@</r>", objects, ref{"#O", "", envelopedTransform + c14nTransform}))
	f.forged("plain: signs its own Object in a foreign document", "", f.xmldsig(doc, objects, ref{"#O", "", c14nTransform}))
	f.genuine("plain: signs its own Object, which is all there is", f.xmldsig("<r>@</r>", objects, ref{"#O", "", c14nTransform}))
	properties := `<ds:Object><ds:SignatureProperties Id="P"><ds:SignatureProperty Target="#S"><when xmlns="urn:w">now</when></ds:SignatureProperty></ds:SignatureProperties></ds:Object>`
	f.forged("plain: signs its own properties in a foreign document", "", f.xmldsig(doc, properties, ref{"#P", "", c14nTransform}))
	f.forged("plain: signs its own properties and nothing else", "", f.xmldsig("<r>@</r>", properties, ref{"#P", "", c14nTransform}))
	f.forged("plain: signs its own key and nothing else", "", f.xmldsig("<r>@</r>", "", ref{"#K", "", c14nTransform}))

	// An order that was signed so as to leave signatures out stands in one now.
	free := f.xmldsig(`<r><order Id="o1"><amount>100</amount></order>@</r>`, "", ref{"#o1", "", xpathTransform("not(ancestor-or-self::ds:Signature)") + c14nTransform})
	f.genuine("plain: an element, signatures left out", free)
	const order = `<order Id="o1"><amount>100</amount></order>`
	f.forged("plain: the element in an Object", free, put(strings.Replace(free, order, `<order><amount>900</amount></order>`, 1), "</ds:Signature>", "<ds:Object>"+order+"</ds:Object>"))
	f.forged("plain: the element in an Object, nothing in its place", free, put(strings.Replace(free, order, "", 1), "</ds:Signature>", "<ds:Object>"+order+"</ds:Object>"))
	byID := f.xmldsig(`<r><order Id="o1"><amount>100</amount></order>@</r>`, "", ref{"#o1", "", c14nTransform})
	for place, into := range map[string]string{"KeyInfo": "</ds:KeyInfo>", "X509Data": "</ds:X509Data>"} {
		f.forged("plain: the element in "+place+", nothing in its place", byID, put(strings.Replace(byID, order, "", 1), into, order))
	}

	// The meaning of a type hangs on a prefix that exclusive canonicalisation
	// does not sign.
	const typed = `<r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:t="urn:cheap"><a xsi:type="t:price">100</a>@</r>`
	bound := f.xmldsig(typed, "", ref{"", "", envelopedTransform + c14nTransform})
	f.forged("plain: a prefix used in a type is bound anew", bound, strings.Replace(bound, "urn:cheap", "urn:dear", 1))
	f.genuine("plain: types of XML Schema", f.xmldsig(strings.ReplaceAll(strings.ReplaceAll(typed, "urn:cheap", "http://www.w3.org/2001/XMLSchema"), "t:price", "t:decimal"), "", ref{"", "", envelopedTransform + c14nTransform}))
	f.genuine("our signature over a document with types", f.signXML(strings.Replace(typed, "@", "", 1), xades.Options{}))
	f.genuine("our signature over a text with a comment in it", f.signXML("<a><b>1<!-- x -->00</b></a>", xades.Options{}))
}

// manifests: what is signed is a list of digests.
func (f *xmlForger) manifests() {
	const order = `<order Id="o1"><amount>100</amount></order>`
	d, err := xmldom.Parse(order, xmldom.Limits{})
	if err != nil {
		f.t.Fatal(err)
	}
	sum := sha256.Sum256(xmldsig.Canonical(d.Root(), xmldsig.Method{Exclusive: true}))
	entry := reference(ref{"#o1", "", c14nTransform}, base64.StdEncoding.EncodeToString(sum[:]))
	manifest := `<ds:Manifest Id="M">` + entry + `</ds:Manifest>`
	to := ref{"#M", dsNS + "Manifest", c14nTransform}
	signed := f.xmldsig("<r>"+order+"@</r>", "<ds:Object>"+manifest+"</ds:Object>", to)
	f.genuine("manifest", signed)
	f.forged("manifest: the element is another", signed, strings.Replace(signed, ">100<", ">900<", 1))
	f.forged("manifest: a false one beside it", signed, put(signed, "</ds:Signature>", "<ds:Object>"+strings.Replace(manifest, `"M"`, `"N"`, 1)+"</ds:Object>"))
	fake := strings.Replace(manifest, `"M"`, `"N"`, 1)
	moved := strings.Replace(signed, "<ds:Object>"+manifest+"</ds:Object>", "<ds:Object>"+fake+"</ds:Object>", 1)
	f.forged("manifest: moved, a false one in its place", signed, strings.Replace(moved, "<r>", "<r>"+strings.Replace(manifest, "<ds:Manifest ", `<ds:Manifest xmlns:ds="`+dsNS+`" `, 1), 1))
	f.forged("manifest: moved under a wrapper", signed, strings.Replace(moved, "<r>", "<r><w>"+strings.Replace(manifest, "<ds:Manifest ", `<ds:Manifest xmlns:ds="`+dsNS+`" `, 1)+"</w>", 1))
	f.forged("manifest: two of one Id", signed, put(signed, "</ds:Signature>", "<ds:Object>"+manifest+"</ds:Object>"))
	f.forged("manifest: an entry to a file that is not there", "", f.xmldsig("<r>"+order+"@</r>", `<ds:Object><ds:Manifest Id="M">`+entry+reference(ref{"other.pdf", "", ""}, base64.StdEncoding.EncodeToString(sum[:]))+`</ds:Manifest></ds:Object>`, to))
	f.forged("manifest: an entry to an element that is not there", "", f.xmldsig("<r>"+order+"@</r>", `<ds:Object><ds:Manifest Id="M">`+entry+reference(ref{"#nowhere", "", c14nTransform}, base64.StdEncoding.EncodeToString(sum[:]))+`</ds:Manifest></ds:Object>`, to))
	wrong := sha256.Sum256([]byte("another"))
	f.forged("manifest: an entry with another digest", "", f.xmldsig("<r>"+order+"@</r>", `<ds:Object><ds:Manifest Id="M">`+reference(ref{"#o1", "", c14nTransform}, base64.StdEncoding.EncodeToString(wrong[:]))+`</ds:Manifest></ds:Object>`, to))
	f.forged("manifest: as part of an Object, an entry with another digest", "", f.xmldsig("<r>"+order+"@</r>", `<ds:Object Id="M"><ds:Manifest>`+reference(ref{"#o1", "", c14nTransform}, base64.StdEncoding.EncodeToString(wrong[:]))+`</ds:Manifest></ds:Object>`, ref{"#M", dsNS + "Object", c14nTransform}))
	f.forged("manifest: it does not list the order", "", f.xmldsig(`<r>`+order+`<n Id="n1">x</n>@</r>`, `<ds:Object><ds:Manifest Id="M"></ds:Manifest></ds:Object>`, to, ref{"#n1", "", c14nTransform}))
}

// meanings: texts that readers take in two ways.
func (f *xmlForger) meanings() {
	signed := f.signXML("<a><b Id=\"x\">caff\u00e8 \u20ac 100</b></a>", xades.Options{})
	plain := f.signXML(xmlInvoice, xades.Options{})
	f.genuine("XML 1.1 without its line ends", `<?xml version="1.1"?>`+plain)
	nel := f.signXML("<a>100\u0085000</a>", xades.Options{})
	for name, doc := range map[string]string{
		"a mark of UTF-8 and another declaration":     "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" + signed,
		"declared as another alphabet":                "<?xml version=\"1.0\" encoding=\"windows-1252\"?>" + signed,
		"declared as ASCII":                           "<?xml version=\"1.0\" encoding=\"US-ASCII\"?>" + signed,
		"declared as UTF-16":                          "<?xml version=\"1.0\" encoding=\"UTF-16\"?>" + signed,
		"declared as an unknown alphabet":             "<?xml version=\"1.0\" encoding=\"UTF-7\"?>" + signed,
		"an encoding in another place":                "<?xml version=\"1.0\" standalone='encoding=\"x\"'?>" + signed,
		"two encodings":                               "<?xml version=\"1.0\" encoding=\"UTF-8\" encoding=\"ISO-8859-1\"?>" + signed,
		"a document type":                             "<!DOCTYPE a>" + signed,
		"an Id by a document type":                    "<!DOCTYPE a [<!ATTLIST b name ID #IMPLIED>]>" + signed,
		"an attribute by a document type":             "<!DOCTYPE a [<!ATTLIST b amount CDATA '900'>]>" + signed,
		"an entity":                                   strings.Replace("<!DOCTYPE a [<!ENTITY e '900'>]>"+signed, "100", "&e;", 1),
		"line ends of XML 1.1":                        `<?xml version="1.1"?>` + nel,
		"an XML declaration after the first":          `<?xml version="1.0"?><?xml version="1.0"?>` + signed,
		"bytes after the root":                        signed + "pay 900",
		"a second root":                               signed + "<a>900</a>",
		"a null byte":                                 signed + "\x00",
		"an attribute twice by two prefixes":          strings.Replace(signed, "<b ", `<b xmlns:p="urn:p" xmlns:q="urn:p" p:v="1" q:v="2" `, 1),
		"an Id on a second element":                   strings.Replace(signed, "<a>", `<a id="x">`, 1),
		"the Id of the properties on another element": put(signed, "</ds:Signature>", `<ds:Object Id="`+between(signed, `<xades:SignedProperties Id="`, `"`)+`"/>`),
		"the Id of the signature on an Object":        put(signed, "</ds:Signature>", `<ds:Object Id="`+between(signed, `<ds:Signature xmlns:ds="`+dsNS+`" Id="`, `"`)+`"/>`),
	} {
		f.forged("meaning: "+name, signed, doc)
	}
	escaped := f.xmldsig(`<r><a Id="xy">100</a>@</r>`, "", ref{"#x%79", "", c14nTransform})
	f.genuine("a reference with an escape", escaped)
	f.forged("meaning: an escape that is the Id of another", escaped, strings.Replace(escaped, "<r>", `<r><a Id="x%79">900</a>`, 1))
}

// polyglots: a PDF that begins, or goes on, in an unsigned part. In signed text its mark is a word
// like another, but for the place where every reader of PDF looks for the header.
func (f *xmlForger) polyglots() {
	long := "<text>" + strings.Repeat("a long contract ", 100) + "</text>"
	signed := f.signXML("<doc>"+long+"<p>how %PDF-1.7 files end: startxref, and 1 0 obj</p><!--c--></doc>", xades.Options{})
	f.genuine("PDF words in signed text", signed)
	element := f.signXML(`<doc><e Id="e1">`+long+`<p>%PDF-1.7 startxref 1 0 obj</p></e></doc>`, xades.Options{SignElement: "e1"})
	f.genuine("PDF words in a signed element", element)
	for name, mark := range map[string]string{"header": "%PDF-1.4", "table": "startxref 5", "object": "4 0 obj", "object with a comment": "4 0 %x\nobj"} {
		for where, doc := range map[string]string{
			"after the root":               signed + "<!--" + mark + "-->",
			"in a comment in signed text":  strings.Replace(signed, "<!--c-->", "<!--"+mark+"-->", 1),
			"in a KeyName":                 put(signed, "</ds:KeyInfo>", "<ds:KeyName>"+mark+"</ds:KeyName>"),
			"in an unsigned property":      put(signed, "</xades:QualifyingProperties>", "<xades:UnsignedProperties><xades:UnsignedSignatureProperties><x>"+mark+"</x></xades:UnsignedSignatureProperties></xades:UnsignedProperties>"),
			"in the Id of the root":        strings.Replace(element, "<doc>", `<doc Id="`+mark+`">`, 1),
			"in a namespace of the root":   strings.Replace(element, "<doc>", `<doc xmlns:q="`+mark+`">`, 1),
			"in an instruction":            signed + "<?x " + mark + "?>",
			"in a comment beside elements": strings.Replace(element, "<doc>", "<doc><!--"+mark+"-->", 1),
		} {
			f.forged("PDF "+name+" "+where, signed, doc)
		}
	}
	early := f.signXML("<doc><p>%PDF-1.7</p></doc>", xades.Options{})
	f.forged("PDF header in signed text where readers look for it", "", early)
}

// names: what stands in KeyInfo beside the certificate may name its holder, and
// nothing else.
func (f *xmlForger) names() {
	signed := f.signXML(xmlInvoice, xades.Options{})
	subject := f.signer().Certificate.Subject
	cn := subject.CommonName
	for name, text := range map[string]string{"as a DN": subject.String(), "by the common name": "CN=" + cn, "by the name alone": cn} {
		f.genuine("the holder "+name, put(signed, "</ds:KeyInfo>", "<ds:KeyName>"+text+"</ds:KeyName>"))
		f.genuine("the subject "+name, put(signed, "</ds:X509Data>", "<ds:X509SubjectName>"+text+"</ds:X509SubjectName>"))
	}
	f.genuine("a word for the key", put(signed, "</ds:KeyInfo>", "<ds:KeyName>key-7</ds:KeyName>"))
	for _, text := range []string{"CN=Carlo receives 900", "CN=" + cn + ", O=pay 900", "Carlo receives 900", "O=900,CN=" + cn, "CN=" + cn + " pays 900", "pay=" + cn} {
		f.forged("a key called "+text, signed, put(signed, "</ds:KeyInfo>", "<ds:KeyName>"+text+"</ds:KeyName>"))
		f.forged("a subject called "+text, signed, put(signed, "</ds:X509Data>", "<ds:X509SubjectName>"+text+"</ds:X509SubjectName>"))
	}
}

// xmlsec adds what xmlsec1 signs: transforms that we do not evaluate, under which anything may be
// changed.
func (f *xmlForger) xmlsec() {
	if _, err := exec.LookPath("xmlsec1"); err != nil {
		f.t.Log("SKIPPED: xmlsec1 is not installed")
		return
	}
	f.genuine("xmlsec1: the document", f.byXMLSec(envelopedTransform+c14nTransform))
	f.genuine("xmlsec1: the document, inclusive", f.byXMLSec(envelopedTransform+`<ds:Transform Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/>`))
	f.genuine("xmlsec1: signatures left out", f.byXMLSec(xpathTransform("not(ancestor-or-self::ds:Signature)")))
	xslt := `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"><xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform" version="1.0"><xsl:template match="/"><ok/></xsl:template></xsl:stylesheet></ds:Transform>`
	for name, transforms := range map[string]string{
		"an XPath that removes the amount":    envelopedTransform + xpathTransform("not(self::text()[parent::amount])") + c14nTransform,
		"an XPath that takes nothing":         xpathTransform("false()") + c14nTransform,
		"an XPath with a condition":           envelopedTransform + xpathTransform("not(ancestor-or-self::amount) or ../@x='1'") + c14nTransform,
		"a filter with a condition":           envelopedTransform + filter2("subtract", "//amount[1]") + c14nTransform,
		"a filter with a union":               envelopedTransform + filter2("intersect", "//note") + filter2("union", "//seller") + c14nTransform,
		"a stylesheet":                        envelopedTransform + xslt + c14nTransform,
		"a filter that removes all amounts":   envelopedTransform + filter2("subtract", "//amount") + c14nTransform,
		"a filter that keeps only the seller": filter2("intersect", "//seller") + c14nTransform,
	} {
		signed := f.byXMLSec(transforms)
		f.forged("xmlsec1: "+name, "", signed)
		f.forged("xmlsec1: "+name+", another amount", signed, strings.Replace(signed, ">100<", ">900<", 1))
	}
}

func (f *xmlForger) byXMLSec(transforms string) string {
	f.t.Helper()
	dir := f.t.TempDir()
	key, cert := f.pemFiles(dir)
	template, out := filepath.Join(dir, "template.xml"), filepath.Join(dir, "signed.xml")
	doc := `<invoice><seller>Anna</seller><amount>100</amount><note>paid</note><ds:Signature xmlns:ds="` + dsNS + `"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"/>` +
		reference(ref{"", "", transforms}, "") + `</ds:SignedInfo><ds:SignatureValue/><ds:KeyInfo><ds:X509Data><ds:X509Certificate/></ds:X509Data></ds:KeyInfo></ds:Signature></invoice>`
	if err := os.WriteFile(template, []byte(doc), 0o600); err != nil {
		f.t.Fatal(err)
	}
	c := exec.Command("xmlsec1", "--sign", "--privkey-pem", key+","+cert, "--output", out, template)
	if msg, err := c.CombinedOutput(); err != nil {
		f.t.Fatalf("xmlsec1: %v\n%s", err, msg)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(bytes.TrimSpace(b))
}

// dss adds forgeries of what EU DSS signs, where it is asked for.
func (f *xmlForger) dss() {
	dir, ok := f.oracle()
	if !ok {
		return
	}
	a := f.signer()
	tmp := f.t.TempDir()
	p12, content := filepath.Join(tmp, "signer.p12"), filepath.Join(tmp, "doc.xml")
	b, err := pkcs12.Modern.Encode(a.Key, a.Certificate, a.Chain, "password")
	if err == nil {
		err = os.WriteFile(p12, b, 0o600)
	}
	if err == nil {
		err = os.WriteFile(content, []byte(xmlInvoice), 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	for _, packaging := range []string{"enveloped", "enveloping"} {
		out := filepath.Join(tmp, packaging+".xml")
		f.command(filepath.Join(dir, "bin", "dss"), "sign", "--p12", p12, "--password", "password", "--format", "xades", "--packaging", packaging, "--offline", "--out", out, content)
		b, err := os.ReadFile(out)
		if err != nil {
			f.t.Fatal(err)
		}
		signed := string(b)
		f.genuine("DSS, "+packaging, signed)
		f.forged("DSS, "+packaging+": an Object beside", signed, put(signed, "</ds:Signature>", "<ds:Object>pay 900</ds:Object>"))
		f.forged("DSS, "+packaging+": in a foreign document", signed, "<p>pay 900"+signatureOf(signed)+"</p>")
		f.forged("DSS, "+packaging+": a stylesheet", signed, strings.Replace(signed, "?>", `?><?xml-stylesheet href="evil.xsl"?>`, 1))
	}
}

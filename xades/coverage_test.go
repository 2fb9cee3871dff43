package xades

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/internal/yardstick"
)

// partsOf writes the parts of a document as one line.
func partsOf(doc *ades.Document) string {
	var list []string
	for _, p := range doc.Parts {
		s := p.Name
		if p.Expected {
			s += "!"
		}
		list = append(list, s+"="+strings.Join(p.CoveredBy, "+"))
	}
	return strings.Join(list, " ")
}

func TestParts(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "p256")
	signed := func(doc string, o Options) string { return string(sign(t, a, []ades.File{file("a.xml", doc)}, o)) }
	whole := signed(`<r><a>1</a></r>`, Options{SignatureID: "S"})
	element := signed(`<r><a Id="x">1</a></r>`, Options{SignatureID: "S", SignElement: "x"})
	both := signed(signed(`<r><a Id="x">1</a><b Id="y">2</b></r>`, Options{SignatureID: "S", SignElement: "x"}), Options{SignatureID: "T", SignElement: "y"})
	over := signed(element, Options{SignatureID: "T"})
	for name, tt := range map[string]struct{ doc, expect, want string }{
		"whole":                        {whole, "", "/r=S"},
		"instruction before":           {strings.Replace(element, "<r>", "<?p x?><r>", 1), "", "/r/a=S /processing-instruction()="},
		"element":                      {element, "", "/r/a=S"},
		"text beside":                  {strings.Replace(element, "<r>", "<r>x", 1), "", "/r/a=S /r/text()="},
		"attribute":                    {strings.Replace(element, "<r>", `<r v="1">`, 1), "", "/r/a=S /r/@v="},
		"identifier":                   {strings.Replace(element, "<r>", `<r xml:id="v">`, 1), "", "/r/a=S"},
		"element beside":               {strings.Replace(element, "<r>", `<r><b/>`, 1), "", "/r/a=S /r/b="},
		"comment between elements":     {strings.Replace(element, "<r>", `<r> <!-- c --> `, 1), "", "/r/a=S"},
		"comment in text":              {strings.Replace(element, ">1<", `>1 <!-- c --><`, 1), "", "/r/a="}, // the digest is another
		"two":                          {both, "", "/r/a=S /r/b=T"},
		"one over the other":           {over, "", "/r=T /r/a=S+T"},
		"an object":                    {strings.Replace(whole, "</ds:Signature>", "<ds:Object>x</ds:Object></ds:Signature>", 1), "", "/r=S /r/Signature/Object[2]/text()="},
		"an object with a signature":   {strings.Replace(whole, "</ds:Signature>", "<ds:Object> </ds:Object></ds:Signature>", 1), "", "/r=S"},
		"in KeyInfo":                   {strings.Replace(whole, "</ds:KeyInfo>", "<evil/></ds:KeyInfo>", 1), "", "/r=S /r/Signature/KeyInfo/evil="},
		"expected by Id":               {both, "y", "/r/a=S /r/b=T /r/b!=T"},
		"expected with a sign":         {both, "#y", "/r/a=S /r/b=T /r/b!=T"},
		"expected by path":             {both, "/r/a", "/r/a=S /r/b=T /r/a!=S"},
		"expected is a wrapper":        {both, "/r", "/r/a=S /r/b=T /r/a!=S /r/b!=T"},
		"expected is not there":        {both, "z", "/r/a=S /r/b=T z!="},
		"expected twice":               {both, "/r/*[self::a or self::b]", "/r/a=S /r/b=T /r/*[self::a or self::b]!="},
		"expected is no path":          {both, "/r[", "/r/a=S /r/b=T /r[!="},
		"expected is not covered":      {strings.Replace(element, "<r>", `<r><b Id="y">2</b>`, 1), "y", "/r/a=S /r/b= /r/b!="},
		"expected under a wrapper":     {strings.Replace(element, `<a Id="x">1</a>`, `<w><a Id="x">1</a></w><a>2</a>`, 1), "/r/a", "/r/w/a=S /r/a= /r/a!="},
		"expected has an Id like this": {strings.Replace(element, "<r>", `<r><b Id="/r/a">2</b>`, 1), "/r/a", "/r/a=S /r/b= /r/a!=S"},
	} {
		doc, err := Read(t.Context(), bytes.NewReader([]byte(tt.doc)), ades.ReadOptions{Expect: ades.Expectation{Element: tt.expect}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := partsOf(doc)
		if name == "comment in text" { // c14n leaves the comment out and keeps the blank: the reference does not match
			if doc.Signatures[0].Intact() == ades.Yes {
				t.Errorf("%s: intact", name)
			}
			continue
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

// TestContentIsCovered: what is handed out is what was digested.
func TestContentIsCovered(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "p256")
	element := string(sign(t, a, []ades.File{file("", `<r><a Id="x">1</a></r>`)}, Options{SignElement: "x"}))
	for name, tt := range map[string]struct{ doc, want string }{
		"element":          {strings.Replace(element, "<r>", "<r><b>9</b>", 1), `<a Id="x">1</a>`},
		"moved":            {strings.Replace(element, `<a Id="x">1</a>`, `<a>9</a><w><a Id="x">1</a></w>`, 1), `<a Id="x">1</a>`},
		"changed":          {strings.Replace(element, ">1<", ">9<", 1), ""},
		"nothing but self": {strings.Replace(element, `<a Id="x">1</a>`, "", 1), ""},
	} {
		doc := readBack(t, []byte(tt.doc), nil)
		var got bytes.Buffer
		for _, f := range doc.Content {
			b := make([]byte, f.Source.Size())
			if _, err := f.Source.ReadAt(b, 0); err != nil && len(b) > 0 {
				t.Fatal(err)
			}
			got.Write(b)
		}
		if got.String() != tt.want {
			t.Errorf("%s: %q, want %q", name, &got, tt.want)
		}
	}
}

// TestNamesOfFiles: a URI names a file as it stands, decoded or with plus signs
// for blanks; where that is two files, it is none.
func TestNamesOfFiles(t *testing.T) {
	for _, tt := range []struct {
		uri, names, want string
	}{
		{"a.txt", "a.txt", "a.txt"},
		{"a%20b.txt", "a b.txt", "a b.txt"},
		{"a+b.txt", "a b.txt", "a b.txt"},
		{"a+b.txt", "a+b.txt", "a+b.txt"},
		{"/a.txt", "a.txt", "a.txt"},
		{"./a.txt", "a.txt", "a.txt"},
		{"a%2Bb.txt", "a+b.txt", "a+b.txt"},
		{"caff%C3%A8.txt", "caffè.txt", "caffè.txt"},
		{"a+b.txt", "a b.txt|a+b.txt", "two"},
		{"a%20b.txt", "a%20b.txt|a b.txt", "two"},
		{"d/a.txt", "a.txt", "none"},
		{"a.txt", "d/a.txt", "none"},
	} {
		o := outside{container: true}
		for n := range strings.SplitSeq(tt.names, "|") {
			o.files = append(o.files, file(n, ""))
		}
		f, err := o.find(&xmldsig.Reference{URI: tt.uri})
		got := "none"
		switch {
		case errors.Is(err, errAmbiguous):
			got = "two"
		case f != nil:
			got = f.Name
		}
		if got != tt.want {
			t.Errorf("%s among %s: %s, want %s", tt.uri, tt.names, got, tt.want)
		}
	}
}

// TestOneFileOfTwo: one of the signed files is at hand, under whatever name. The other one is missing,
// not changed.
func TestOneFileOfTwo(t *testing.T) {
	p := adestest.Must(t, clock)
	b := sign(t, p.Actor(t, "p256"), []ades.File{file("a.txt", "a"), file("b.txt", "b")}, Options{Packaging: Detached})
	for _, given := range []ades.File{file("a.txt", "a"), file("b.txt", "b"), file("A (1).txt", "a"), file("", "b"), file("c.txt", "c")} {
		doc := readBack(t, b, []ades.File{given})
		if s := doc.Signatures[0]; s.Intact() != ades.Unknown {
			t.Errorf("%q: intact %v, %+v", given.Name, s.Intact(), s.References)
		}
	}
	if s := readBack(t, b, []ades.File{file("a.txt", "c")}).Signatures[0]; s.Intact() != ades.No {
		t.Errorf("changed: intact %v, %+v", s.Intact(), s.References)
	}
	single := sign(t, p.Actor(t, "p256"), []ades.File{file("a.txt", "a")}, Options{Packaging: Detached})
	if s := readBack(t, single, []ades.File{file("c.txt", "c")}).Signatures[0]; s.Intact() != ades.No {
		t.Errorf("the only one, changed: intact %v, %+v", s.Intact(), s.References)
	}
}

// TestGivenBeside: a file given beside a signature that has the content itself is that content, unless
// it can be read in another way.
func TestGivenBeside(t *testing.T) {
	p := adestest.Must(t, clock)
	const order = `<a Id="x" xmlns:c="urn:cheap" t="c:price">100</a>`
	b := sign(t, p.Actor(t, "p256"), []ades.File{file("a.xml", order)}, Options{Packaging: InternallyDetached})
	exclusive := sign(t, p.Actor(t, "p256"), []ades.File{file("a.xml", `<a Id="x">100</a>`)}, Options{Packaging: InternallyDetached})
	for name, tt := range map[string]struct {
		signed []byte
		given  ades.File
		want   bool
	}{
		"the same":                 {exclusive, file("a.xml", `<a Id="x">100</a>`), true},
		"in other spelling":        {exclusive, file("a.xml", "<?xml version='1.0'?>\n<a Id = 'x'>&#49;00</a >"), true},
		"a comment at the end":     {exclusive, file("a.xml", `<a Id="x">100</a><!-- end -->`), true},
		"changed":                  {exclusive, file("a.xml", `<a Id="x">900</a>`), false},
		"a comment in the text":    {exclusive, file("a.xml", `<a Id="x">1<!-- -->00</a>`), false},
		"a section in the text":    {exclusive, file("a.xml", `<a Id="x">1<![CDATA[00]]></a>`), false},
		"a PDF in a comment":       {exclusive, file("a.xml", `<a Id="x">100</a><!--%PDF-1.4-->`), false},
		"as a page":                {exclusive, file("a.svg", `<a Id = "x">100</a>`), false},
		"with a prefix in a value": {b, file("a.xml", order), true},
	} {
		parts := readBack(t, tt.signed, []ades.File{tt.given}).Parts
		if got := len(parts[len(parts)-1].CoveredBy) == 1; got != tt.want {
			t.Errorf("%s: %+v", name, parts)
		}
	}
}

// TestTextNobodySigned: in a signature free text stands where a counter-signature signs it, and not
// where somebody put the names of one around it.
func TestTextNobodySigned(t *testing.T) {
	p := adestest.Must(t, clock)
	doc := string(sign(t, p.Actor(t, "p256"), []ades.File{file("a.xml", `<r><a>100</a></r>`)}, Options{}))
	unsigned := func(content string) string {
		return strings.Replace(doc, "</xades:QualifyingProperties>", `<xades:UnsignedProperties><xades:UnsignedSignatureProperties>`+content+
			`</xades:UnsignedSignatureProperties></xades:UnsignedProperties></xades:QualifyingProperties>`, 1)
	}
	const (
		city  = `<xades:SignedProperties><xades:SignedSignatureProperties><xades:SignatureProductionPlace><xades:City>pay 900 to Carlo</xades:City></xades:SignatureProductionPlace></xades:SignedSignatureProperties></xades:SignedProperties>`
		space = ` xmlns:x="http://uri.etsi.org/01903/v1.4.1#" xmlns:xades="` + ns132 + `"`
		about = `<x:SPDocSpecification` + space + `><xades:Identifier>urn:p</xades:Identifier></x:SPDocSpecification>`
	)
	store := func(about string) string {
		return `<x:SignaturePolicyStore` + space + `>` + about + `</x:SignaturePolicyStore>`
	}
	for name, tt := range map[string]struct {
		doc  string
		want bool
	}{
		"nothing":                       {doc, false},
		"a sentence in base64":          {strings.Replace(doc, "</ds:X509Data>", "<ds:X509SKI>pay 900 to Carlo</ds:X509SKI></ds:X509Data>", 1), true},
		"lines of base64":               {strings.Replace(doc, "</ds:X509Data>", "<ds:X509SKI>\n "+strings.Repeat(strings.Repeat("AAAA", 8)+"\n  ", 2)+"AA==\n</ds:X509SKI></ds:X509Data>", 1), false},
		"a policy":                      {unsigned(store(about)), false},
		"a described policy":            {unsigned(store(strings.Replace(about, "</xades:Identifier>", "</xades:Identifier><xades:Description>pay 900 to Carlo</xades:Description>", 1))), true},
		"a policy with an attribute":    {unsigned(store(strings.Replace(about, "<xades:Identifier", `<xades:Identifier note="pay 900 to Carlo"`, 1))), true},
		"a policy that is a role":       {unsigned(store(strings.Replace(about, "urn:p", `<xades:ClaimedRole>pay 900 to Carlo</xades:ClaimedRole>`, 1))), true},
		"a counter-signature of nobody": {unsigned(`<xades:CounterSignature>` + city + `</xades:CounterSignature>`), true},
		"what it signs, of nobody":      {unsigned(`<xades:CounterSignature><ds:SignedInfo><ds:Reference><ds:Transforms><ds:Transform Algorithm="x"><ds:XPath>pay 900 to Carlo</ds:XPath></ds:Transform></ds:Transforms></ds:Reference></ds:SignedInfo></xades:CounterSignature>`), true},
		"a policy in the key":           {strings.Replace(doc, "</ds:KeyInfo>", `<xades:UnsignedSignatureProperties`+space+`>`+store(strings.Replace(about, "urn:p", "pay 900 to Carlo", 1))+"</xades:UnsignedSignatureProperties></ds:KeyInfo>", 1), true},
	} {
		if got := uncovered(readBack(t, []byte(tt.doc), nil)); got != tt.want {
			t.Errorf("%s: uncovered %v", name, got)
		}
	}
}

// TestAttributesNobodySigned: the unsigned attributes of a signature are words, or lists that mean
// something there, and not a sentence. The type of an Object is what the signer says.
func TestAttributesNobodySigned(t *testing.T) {
	p := adestest.Must(t, clock)
	doc := string(sign(t, p.Actor(t, "p256"), []ades.File{file("a.xml", `<r><a>100</a></r>`)}, Options{}))
	const (
		xsi = `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation=`
		exc = `<c:InclusiveNamespaces xmlns:c="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList=`
	)
	for with, want := range map[string]bool{
		`<ds:Object Encoding="http://www.w3.org/2000/09/xmldsig#base64" Id="o">`: false,
		`<ds:Object MimeType="text/html">`:                                       true,
		`<ds:Object Encoding="pay 900 to Carlo">`:                                true,
		`<ds:Object Id="pay 900 to Carlo">`:                                      true,
		`<ds:Object Id="pay` + "\u00a0" + `900">`:                                true,
		exc + `"ds #default"/><ds:Object>`:                                       true, // out of place
	} {
		if got := uncovered(readBack(t, []byte(strings.Replace(doc, "<ds:Object>", with, 1)), nil)); got != want {
			t.Errorf("%s: uncovered %v", with, got)
		}
	}
	for with, want := range map[string]bool{
		exc + `"ds #default"/>`:                                                   false,
		`<ds:KeyValue ` + xsi + `"` + ds + ` xmldsig.xsd"/>`:                      false,
		`<ds:KeyValue ` + xsi + `"pay 900 to Carlo"/>`:                            true,
		`<ds:KeyValue ` + xsi + `"http://uri.etsi.org/01903/v1.4.1# XAdES.xsd"/>`: false, // declared further down
		exc + `"pay 900 to Carlo"/>`:                                              true,
		"<ds:KeyName>pay_900</ds:KeyName>":                                        false,
		"<ds:KeyName>pay\u00a0900\u2003to</ds:KeyName>":                           true,
	} {
		if got := uncovered(readBack(t, []byte(strings.Replace(doc, "</ds:KeyInfo>", with+"</ds:KeyInfo>", 1)), nil)); got != want {
			t.Errorf("%s: uncovered %v", with, got)
		}
	}
}

// TestTextOfCounterSigner: a counter-signature signs the text in itself, and not one beside it that
// its references are to: that would be taken for a statement of the signer.
func TestTextOfCounterSigner(t *testing.T) {
	p := adestest.Must(t, clock)
	doc := string(sign(t, p.Actor(t, "p256"), []ades.File{file("a.xml", `<r><a>100</a></r>`)}, Options{}))
	const (
		role    = `<xades:SignerRole Id="x"><xades:ClaimedRoles><xades:ClaimedRole>pay 900 to Carlo</xades:ClaimedRole></xades:ClaimedRoles></xades:SignerRole>`
		counter = `<xades:CounterSignature><ds:Signature><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="` + xmldsig.ExcC14N + `"/><ds:SignatureMethod Algorithm="urn:m"/><ds:Reference URI="#x"><ds:Transforms>` +
			transformExclusive + `</ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>AA==</ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue>AA==</ds:SignatureValue>` +
			`<ds:Object><xades:QualifyingProperties>@</xades:QualifyingProperties></ds:Object></ds:Signature></xades:CounterSignature>`
	)
	for name, tt := range map[string]struct {
		unsigned string
		want     bool
	}{
		"in it":                       {strings.Replace(counter, "@", role, 1), false},
		"in it, and it does not sign": {strings.Replace(strings.Replace(counter, "#x", "#y", 1), "@", role, 1), true},
		"beside it":                   {strings.Replace(counter, "@", "", 1) + role, true},
		"all but itself":              {strings.NewReplacer("@", "", "#x", "", transformExclusive, transformEnveloped).Replace(counter) + role, true},
	} {
		signed := strings.Replace(doc, "</xades:QualifyingProperties>", `<xades:UnsignedProperties><xades:UnsignedSignatureProperties>`+tt.unsigned+
			`</xades:UnsignedSignatureProperties></xades:UnsignedProperties></xades:QualifyingProperties>`, 1)
		if got := uncovered(readBack(t, []byte(signed), nil)); got != tt.want {
			t.Errorf("%s: uncovered %v", name, got)
		}
	}
}

// TestNamespaceNobodySigned: a declaration that no name uses is left out of the digest, and a
// sentence in it can be read.
func TestNamespaceNobodySigned(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "p256")
	doc := string(sign(t, a, []ades.File{file("a.xml", `<r><a Id="x">100</a></r>`)}, Options{SignElement: "x"}))
	for uri, want := range map[string]bool{"urn:x": false, "pay 900 to Carlo": true} {
		for _, at := range []string{"<r", "<a", "<ds:Signature", "<ds:KeyInfo", "<xades:SignedProperties"} {
			declared := strings.Replace(doc, at, at+` xmlns:n="`+uri+`"`, 1)
			if got := readBack(t, []byte(declared), nil); got.Signatures[0].Intact() != ades.Yes || uncovered(got) != want {
				t.Errorf("%s in %s>: uncovered %v, intact %v", uri, at, uncovered(got), got.Signatures[0].Intact())
			}
		}
	}
	odd := sign(t, a, []ades.File{file("a.xml", `<r xmlns:n="a name with blanks"><n:a>100</n:a></r>`)}, Options{})
	if got := readBack(t, odd, nil); uncovered(got) {
		t.Errorf("a name that is used: %s", partsOf(got))
	}
}

// TestNameOfStranger: a key may have the name of the signer or of the issuer, and not one in a
// certificate that anybody put beside it.
func TestNameOfStranger(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "p256")
	doc := string(sign(t, a, []ades.File{file("a.xml", `<r><a>100</a></r>`)}, Options{}))
	stranger := p.Actor(t, "good").Certificate
	doc = strings.Replace(doc, "</xades:QualifyingProperties>", `<xades:UnsignedProperties><xades:UnsignedSignatureProperties><xades:CertificateValues><xades:EncapsulatedX509Certificate>`+
		base64.StdEncoding.EncodeToString(stranger.Raw)+`</xades:EncapsulatedX509Certificate></xades:CertificateValues></xades:UnsignedSignatureProperties></xades:UnsignedProperties></xades:QualifyingProperties>`, 1)
	for name, want := range map[string]bool{
		a.Certificate.Subject.String(): false,
		a.Certificate.Issuer.String():  false,
		stranger.Subject.String():      true,
	} {
		if got := uncovered(readBack(t, []byte(strings.Replace(doc, "</ds:KeyInfo>", "<ds:KeyName>"+name+"</ds:KeyName></ds:KeyInfo>", 1)), nil)); got != want {
			t.Errorf("%s: uncovered %v", name, got)
		}
	}
}

// TestNameOfCounterSigner: in a counter-signature a key has the name of the counter-signer, and
// nowhere else.
func TestNameOfCounterSigner(t *testing.T) {
	p := adestest.Must(t, clock)
	doc := string(sign(t, p.Actor(t, "p256"), []ades.File{file("a.xml", `<r><a>100</a></r>`)}, Options{}))
	other := p.Actor(t, "good").Certificate
	key := `<ds:KeyName>` + other.Subject.String() + `</ds:KeyName>`
	counter := `<ds:KeyInfo><ds:X509Data><ds:X509Certificate>` + base64.StdEncoding.EncodeToString(other.Raw) + `</ds:X509Certificate></ds:X509Data>@</ds:KeyInfo>`
	counter = `<xades:CounterSignature><ds:Signature><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="` + xmldsig.ExcC14N + `"/><ds:SignatureMethod Algorithm="urn:m"/><ds:Reference URI="#x">` +
		`<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>AA==</ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue>AA==</ds:SignatureValue>` + counter + `</ds:Signature></xades:CounterSignature>`
	for name, tt := range map[string]struct {
		counter, beside string
		want            bool
	}{
		"no name":       {counter, "", false},
		"in it":         {strings.Replace(counter, "@", key, 1), "", false},
		"another in it": {strings.Replace(counter, "@", "<ds:KeyName>pay 900 to Carlo</ds:KeyName>", 1), "", true},
		"beside it":     {counter, key, true},
	} {
		signed := strings.Replace(doc, "</ds:KeyInfo>", tt.beside+"</ds:KeyInfo>", 1)
		signed = strings.Replace(signed, "</xades:QualifyingProperties>", `<xades:UnsignedProperties><xades:UnsignedSignatureProperties>`+strings.Replace(tt.counter, "@", "", 1)+
			`</xades:UnsignedSignatureProperties></xades:UnsignedProperties></xades:QualifyingProperties>`, 1)
		if got := uncovered(readBack(t, []byte(signed), nil)); got != tt.want {
			t.Errorf("%s: uncovered %v", name, got)
		}
	}
}

// TestBudget: what a document may hold in memory is bounded, and too much is a
// fact about the document.
func TestBudget(t *testing.T) {
	doc := []byte("<r>" + strings.Repeat("<a  />", 200_000) + "</r>")
	b := limits.NewBudget(8 << 20)
	_, err := Read(limits.WithBudget(t.Context(), b), bytes.NewReader(doc), ades.ReadOptions{})
	var malformed *ades.MalformedError
	if !errors.As(err, &malformed) || !errors.Is(err, limits.ErrBudget) {
		t.Errorf("error %v, want that the budget is spent", err)
	}
	const enough = 64 << 20
	b = limits.NewBudget(enough)
	if _, err := Read(limits.WithBudget(t.Context(), b), bytes.NewReader(doc), ades.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Spend(enough - int64(len(doc))); err != nil {
		t.Error("the tree was not given back")
	}
}

// TestNamespaceBomb: a small document whose canonical form is very large.
func TestNamespaceBomb(t *testing.T) {
	p := adestest.Must(t, clock)
	signed := string(sign(t, p.Actor(t, "p256"), []ades.File{file("", `<r><a Id="x">1</a></r>`)}, Options{SignElement: "x"}))
	var in strings.Builder
	fmt.Fprintf(&in, `<a Id="x"><w xmlns:p="urn:%s">`, strings.Repeat("u", 1<<20))
	in.WriteString(strings.Repeat("<p:b/>", 50_000) + "</w></a>")
	doc := readBack(t, []byte(strings.Replace(signed, `<a Id="x">1</a>`, in.String(), 1)), nil)
	if !ades.Fatal(doc.Signatures[0].Problems) || doc.Signatures[0].Intact() == ades.Yes {
		t.Errorf("50 GB of canonical form: %+v", doc.Signatures[0].Problems)
	}
}

// TestCancelled: a reader whose caller has gone stops.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, bytes.NewReader([]byte("<r>"+strings.Repeat("<a/>", 100_000)+"</r>")), ades.ReadOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestOneManifestManyTimes: the entries of a manifest are paid for with every reference to it.
func TestOneManifestManyTimes(t *testing.T) {
	const (
		method    = `<DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><DigestValue>AAAA</DigestValue></Reference>`
		reference = `<Reference URI="#m" Type="` + ds + `Manifest">` + method
		entry     = `<Reference URI="a.txt">` + method
		info      = `<CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>`
	)
	doc := `<Signature xmlns="` + ds + `"><SignedInfo>` + info + strings.Repeat(reference, 300) + `</SignedInfo><SignatureValue>AAAA</SignatureValue>` +
		`<Object><Manifest Id="m">` + strings.Repeat(entry, 300) + `</Manifest></Object></Signature>`
	b := limits.NewBudget(32 << 20)
	out, err := Read(limits.WithBudget(t.Context(), b), strings.NewReader(doc), ades.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.Parts); !b.Exceeded() || !ades.Fatal(out.Signatures[0].Problems) || n > 40_000 {
		t.Errorf("%d entries were read", n)
	}
}

// TestLongNameAmongManyFiles: the name in a reference is decoded once, and not for every file.
func TestLongNameAmongManyFiles(t *testing.T) {
	o := outside{files: make([]ades.File, 5000)}
	for i := range o.files {
		o.files[i].Name = fmt.Sprint(i)
	}
	start := yardstick.Processor()
	if f, err := o.find(&xmldsig.Reference{URI: strings.Repeat("%41", 100_000)}); f != nil || err != nil {
		t.Errorf("found %v, %v", f, err)
	}
	if d := yardstick.Processor() - start; d > yardstick.Second()/2 {
		t.Errorf("took %v", d)
	}
}

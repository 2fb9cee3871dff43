package xmldsig

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
)

// listCerts are the certificates that a list's own signature names.
func listCerts(t testing.TB, d *xmldom.Document) []*pkix.Certificate {
	t.Helper()
	var certs []*pkix.Certificate
	for _, s := range d.Root().Children(Space, "Signature") {
		for _, der := range Certificates(s.Child(Space, "KeyInfo")) {
			c, err := pkix.ParseCertificate(der)
			if err != nil {
				t.Fatal(err)
			}
			certs = append(certs, c)
		}
	}
	return certs
}

func TestVerifyEnvelopedTrustedLists(t *testing.T) {
	type list struct {
		File   string
		Intact []bool `json:"signatures_intact"`
	}
	checked := 0
	for _, m := range corpus.Lines[list](t, "tl", "manifest.jsonl") {
		d, err := xmldom.Parse(string(corpus.Read(t, "tl", m.File)), xmldom.Limits{})
		if err != nil {
			if len(m.Intact) > 0 && m.Intact[0] {
				t.Errorf("%s: %v", m.File, err)
			}
			continue
		}
		_, err = VerifyEnveloped(d, listCerts(t, d))
		want := len(m.Intact) == 1 && m.Intact[0]
		if (err == nil) != want {
			t.Errorf("%s: intact %v, want %v (%v)", filepath.Base(m.File), err == nil, want, err)
		}
		checked++
	}
	if checked < 10 {
		t.Errorf("only %d lists checked", checked)
	}
}

func BenchmarkItalianList(b *testing.B) {
	data := corpus.Read(b, "tl", "cache-IT.xml")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := xmldom.Parse(string(data), xmldom.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := VerifyEnveloped(d, listCerts(b, d)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const head = `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#">`
	const info = `<ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><ds:Reference URI=""><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>AA==</ds:DigestValue></ds:Reference></ds:SignedInfo>`
	const value = `<ds:SignatureValue>AA==</ds:SignatureValue>`
	for name, tt := range map[string]struct {
		body string
		ok   bool
	}{
		"plain":                {info + value, true},
		"two SignedInfo":       {info + info + value, false},
		"two values":           {info + value + value, false},
		"value first":          {value + info, false},
		"no value":             {info, false},
		"no references":        {strings.Replace(info, "<ds:Reference", "<ds:Object/><ds:Reference", 1) + value, false},
		"foreign element":      {info + value + `<x xmlns=""/>`, false},
		"value not base64":     {info + `<ds:SignatureValue>*</ds:SignatureValue>`, true},
		"unknown c14n":         {strings.Replace(info, "2001/10/xml-exc-c14n#", "x", 1) + value, false},
		"key info after value": {info + value + `<ds:KeyInfo/><ds:Object/><ds:Object/>`, true},
		"two key infos":        {info + value + `<ds:KeyInfo/><ds:KeyInfo/>`, false},
	} {
		d, err := xmldom.Parse(head+tt.body+"</ds:Signature>", xmldom.Limits{})
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := Read(d, d.Root()); (err == nil) != tt.ok {
			t.Errorf("%s: error %v, want ok %v", name, err, tt.ok)
		}
	}
}

func TestTransformsRefused(t *testing.T) {
	for alg, inner := range map[string]string{
		"http://www.w3.org/TR/1999/REC-xslt-19991116": "",
		"http://example.org/mine":                     "",
		XPath:                                         `<ds:XPath>true()</ds:XPath>`,
		XPathFilter2:                                  `<f:XPath xmlns:f="` + FilterNS + `" Filter="intersect">//*[starts-with(.,'x')]</f:XPath>`,
	} {
		doc := `<r xmlns:ds="` + Space + `"><ds:Signature><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="` + ExcC14N +
			`"/><ds:SignatureMethod Algorithm="` + MoreSpace + `rsa-sha256"/><ds:Reference URI=""><ds:Transforms><ds:Transform Algorithm="` + alg + `">` +
			inner + `</ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="` + encSpace + `sha256"/><ds:DigestValue>AA==</ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue>AA==</ds:SignatureValue></ds:Signature></r>`
		d, err := xmldom.Parse(doc, xmldom.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(d, Find(d)[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(s.References[0], nil); !errors.Is(err, ErrNotEvaluated) {
			t.Errorf("%s: %v, want that it is not evaluated", alg, err)
		}
		if g, err := s.Region(s.References[0]); err == nil {
			t.Errorf("%s: covers %v", alg, g)
		}
	}
}

// TestFilters: what filters leave of a document in canonical form, which is what xmlsec1 digests.
func TestFilters(t *testing.T) {
	filter := func(kind, path string) string {
		return `<ds:Transform Algorithm="` + XPathFilter2 + `"><f:XPath xmlns:f="` + FilterNS + `" Filter="` + kind + `">` + path + `</f:XPath></ds:Transform>`
	}
	canonical := `<ds:Transform Algorithm="` + inclusive + `"/>`
	enveloped := `<ds:Transform Algorithm="` + Enveloped + `"/>`
	for _, tt := range []struct{ doc, transforms, want string }{
		{`<r xmlns="urn:d"><a>1</a>@</r>`, enveloped + filter("subtract", "//a") + canonical, `<r xmlns="urn:d"><a>1</a></r>`},
		{`<r xmlns="urn:d"><a>1</a>@</r>`, filter("intersect", "//a") + canonical, ""},
		{`<r><a>1</a><a xmlns="urn:d">2</a>@</r>`, filter("intersect", "/r/a") + canonical, `<a>1</a>`},
		{`<r xmlns:d="urn:d"><a>1</a><a xmlns="urn:d">2</a>@</r>`, filter("intersect", "//d:a") + canonical, `<a xmlns="urn:d" xmlns:d="urn:d">2</a>`},
		{`<r xml:lang="it"><a>1<a>2</a></a><a>3</a>@</r>`, filter("intersect", "//a") + canonical, `<a xml:lang="it">1<a>2</a></a><a xml:lang="it">3</a>`},
	} {
		signature := `<ds:Signature xmlns:ds="` + Space + `"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="` + ExcC14N + `"/><ds:SignatureMethod Algorithm="` + MoreSpace +
			`rsa-sha256"/><ds:Reference URI=""><ds:Transforms>` + tt.transforms + `</ds:Transforms><ds:DigestMethod Algorithm="` + encSpace +
			`sha256"/><ds:DigestValue>AA==</ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue>AA==</ds:SignatureValue></ds:Signature>`
		d, err := xmldom.Parse(strings.Replace(tt.doc, "@", signature, 1), xmldom.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(d, Find(d)[0])
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := s.Write(&got, s.References[0], nil, Method{}); err != nil || got.String() != tt.want {
			t.Errorf("%s %s: %v\n got %s\nwant %s", tt.doc, tt.transforms, err, &got, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo/><ds:SignatureValue/></ds:Signature>`))
	corpus.Seeds(f, 16<<10, "files", "xmldsig", "*.xml")
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := xmldom.Parse(string(b), xmldom.Limits{})
		if err != nil {
			return
		}
		for _, n := range Find(d) {
			s, err := Read(d, n)
			if err != nil {
				continue
			}
			pub, _ := PublicKey(s.KeyInfo)
			_ = s.CheckValue(pub)
			for _, r := range s.References {
				_ = s.Check(r, nil)
				s.Region(r)
			}
		}
	})
}

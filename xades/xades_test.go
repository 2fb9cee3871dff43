package xades

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/internal/yardstick"
)

var clock = func() time.Time { return time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC) }

const invoice = `<?xml version="1.0" encoding="UTF-8"?>
<!-- before -->
<f:Invoice xmlns:f="urn:invoice" xmlns:x="urn:x" xml:lang="it">
  <Header Id="head" x:a="1"
     b="two&#10;lines">caff` + "\u00e8" + `</Header><!-- inside -->
  <Body><![CDATA[<1 & 2>]]></Body>
</f:Invoice>
<?after all?>`

func file(name, content string) ades.File {
	return ades.File{Name: name, Source: bytes.NewReader([]byte(content))}
}

func sign(t testing.TB, a *adestest.Actor, files []ades.File, o Options) []byte {
	t.Helper()
	return signWith(t, a, files, a.Signing(clock()), o)
}

func signWith(t testing.TB, a *adestest.Actor, files []ades.File, p ades.SignParams, o Options) []byte {
	t.Helper()
	d, err := Prepare(t.Context(), files, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return a.Finish(t, d, p)
}

func raise(t testing.TB, p *adestest.PKI, b []byte, level ades.Level, detached []ades.File) []byte {
	t.Helper()
	var out bytes.Buffer
	err := Augment(context.Background(), bytes.NewReader(b), &out, ades.AugmentOptions{Level: level, Stamper: p.Unit, Gatherer: p, Detached: detached, Time: clock()})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readBack(t testing.TB, b []byte, detached []ades.File) *ades.Document {
	t.Helper()
	doc, err := Read(context.Background(), bytes.NewReader(b), ades.ReadOptions{Detached: detached})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// check demands n intact signatures at a level.
func check(t testing.TB, doc *ades.Document, n int, level string) {
	t.Helper()
	if len(doc.Signatures) != n {
		t.Fatalf("%d signatures, want %d", len(doc.Signatures), n)
	}
	for _, s := range doc.Signatures {
		for _, f := range s.Content {
			known := LooksLikeXML(f.Source)
			b, err := io.ReadAll(io.NewSectionReader(f.Source, 0, f.Source.Size()))
			if read := LooksLikeXML(bytes.NewReader(b)); err != nil || known != read {
				t.Errorf("%v: content %q looks like XML: %v, and %v when it was read", err, b[:min(len(b), 20)], known, read)
			}
		}
		if s.Intact() != ades.Yes || len(s.Problems) > 0 {
			t.Errorf("signature %s: intact %v, value %v, references %+v, problems %v", s.ID, s.Intact(), s.ValueIntact, s.References, s.Problems)
		}
		if got := Profile(s, doc, nil).Name; level != "" && got != level {
			t.Errorf("level %s, want %s", got, level)
		}
		for _, ts := range s.Timestamps {
			if ts.ImprintIntact != ades.Yes || ts.Signature.Intact() != ades.Yes {
				t.Errorf("%s time-stamp: imprint %v, signature %v, %v", ts.Kind, ts.ImprintIntact, ts.Signature.Intact(), ts.Problems)
			}
		}
	}
}

func TestPackagingsAndLevels(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "good")
	xml, bin := file("a b.xml", invoice), file("data.bin", "\x00\x01binary\r\n")
	for name, tt := range map[string]struct {
		packaging Packaging
		files     []ades.File
		detached  []ades.File
	}{
		"enveloped":             {Enveloped, []ades.File{xml}, nil},
		"enveloping xml":        {Enveloping, []ades.File{xml}, nil},
		"enveloping several":    {Enveloping, []ades.File{bin, xml}, nil},
		"enveloping empty":      {Enveloping, []ades.File{file("e", "")}, nil},
		"detached":              {Detached, []ades.File{bin}, []ades.File{bin}},
		"detached several":      {Detached, []ades.File{bin, xml}, []ades.File{xml, bin}},
		"detached nameless":     {Detached, []ades.File{{Source: bin.Source}}, []ades.File{bin}},
		"internally detached":   {InternallyDetached, []ades.File{xml}, nil},
		"internally det. mixed": {InternallyDetached, []ades.File{bin, xml}, nil},
		"by content, xml":       {ByContent, []ades.File{xml}, nil},
		"by content, other":     {ByContent, []ades.File{bin}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := sign(t, a, tt.files, Options{Packaging: tt.packaging})
			doc := readBack(t, b, tt.detached)
			check(t, doc, 1, "XAdES-BASELINE-B")
			s := doc.Signatures[0]
			if !s.ContentIsWhole {
				t.Error("content is not whole")
			}
			if !s.ClaimedTime.Equal(clock()) || !bytes.Equal(s.SigningCertificate, a.Certificate.Raw) {
				t.Error("signer or time is wrong")
			}
			if r := s.CertificateRefs; len(r) != 1 || r[0].DigestMatch != ades.Yes || r[0].IssuerSerial != ades.Yes {
				t.Errorf("certificate references %+v", r)
			}
			for level, want := range map[ades.Level]string{ades.LevelT: "XAdES-BASELINE-T", ades.LevelLT: "XAdES-BASELINE-LT", ades.LevelLTA: "XAdES-BASELINE-LTA"} {
				check(t, readBack(t, raise(t, p, b, level, tt.detached), tt.detached), 1, want)
			}
		})
	}
}

func TestAlgorithms(t *testing.T) {
	p := adestest.Must(t, clock)
	for _, name := range []string{"good", "p256", "p384", "p521", "ed25519"} {
		a := p.Actor(t, name)
		for _, h := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			for _, pss := range []bool{false, true} {
				if pss && name != "good" {
					continue
				}
				t.Run(fmt.Sprintf("%s %v pss=%v", name, h, pss), func(t *testing.T) {
					params := a.Signing(clock())
					params.Hash, params.PSS = h, pss
					b := signWith(t, a, []ades.File{file("a.xml", invoice)}, params, Options{})
					check(t, readBack(t, b, nil), 1, "XAdES-BASELINE-B")
				})
			}
		}
	}
}

// step raises one level after another, and renews LTA twice.
func TestAugmentStepByStep(t *testing.T) {
	p := adestest.Must(t, clock)
	b := sign(t, p.Actor(t, "good"), []ades.File{file("a.xml", invoice)}, Options{})
	for _, l := range []ades.Level{ades.LevelT, ades.LevelT, ades.LevelLT, ades.LevelLTA, ades.LevelLTA, ades.LevelLTA} {
		b = raise(t, p, b, l, nil)
	}
	doc := readBack(t, b, nil)
	check(t, doc, 1, "XAdES-BASELINE-LTA")
	kinds := map[ades.TimestampKind]int{}
	for _, ts := range doc.Signatures[0].Timestamps {
		kinds[ts.Kind]++
	}
	if kinds[ades.SignatureTimestamp] != 1 || kinds[ades.ArchiveTimestamp] != 3 {
		t.Errorf("time-stamps %v", kinds)
	}
	last := doc.Signatures[0].Timestamps[3]
	for _, e := range doc.Signatures[0].Evidence {
		if !contains(last.Covers, e.ID()) {
			t.Errorf("last archive time-stamp does not cover %s from %s", e.Kind, e.Origin)
		}
	}
	if !strings.Contains(string(b), "<!-- inside -->") || !strings.HasSuffix(string(b), "\n<?after all?>") {
		t.Error("the document was not kept as it was")
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func TestEnvelopedKeepsBytes(t *testing.T) {
	p := adestest.Must(t, clock)
	b := string(sign(t, p.Actor(t, "good"), []ades.File{file("", invoice)}, Options{}))
	start, end := strings.Index(b, "<ds:Signature"), strings.LastIndex(b, "</ds:Signature>")+len("</ds:Signature>")
	if b[:start]+b[end:] != invoice {
		t.Error("bytes outside the signature changed")
	}
}

func TestSeveralSignatures(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "good")
	b := sign(t, a, []ades.File{file("", invoice)}, Options{})
	b = sign(t, a, []ades.File{file("", string(b))}, Options{})
	doc := readBack(t, b, nil)
	check(t, doc, 2, "XAdES-BASELINE-B")
	b = raise(t, p, b, ades.LevelLTA, nil)
	check(t, readBack(t, b, nil), 2, "XAdES-BASELINE-LTA")

	// A third one keeps the others in its data: they can no longer change,
	// and no fourth one may be added beside them.
	b = sign(t, a, []ades.File{file("", string(b))}, Options{KeepSignatures: true, SignatureID: "third"})
	doc = readBack(t, b, nil)
	check(t, doc, 3, "")
	again := readBack(t, raise(t, p, b, ades.LevelT, nil), nil)
	check(t, again, 3, "")
	if n := len(again.Signatures[0].Timestamps); n != len(doc.Signatures[0].Timestamps) {
		t.Error("a signature under another one was raised")
	}
	// A fourth one stands in the third, where it breaks none.
	b = sign(t, a, []ades.File{file("", string(b))}, Options{})
	check(t, readBack(t, b, nil), 4, "")
	// An Id cannot be added any more.
	o := Options{XPathQuery: "//Body"}
	if _, err := Prepare(t.Context(), []ades.File{file("", string(b))}, a.Signing(clock()), o); !errors.Is(err, ErrBreaks) {
		t.Errorf("error %v, want ErrBreaks", err)
	}
}

// TestEnvelopedIsPortable: one signature needs only the transform that every
// reader knows, and parallel ones go on to verify when archive time-stamps are
// renewed.
func TestEnvelopedIsPortable(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "good")
	b := sign(t, a, []ades.File{file("", invoice)}, Options{})
	if bytes.Contains(b, []byte(xmldsig.FilterNS)) || !bytes.Contains(b, []byte(xmldsig.Enveloped)) {
		t.Error("the first signature does not use enveloped-signature alone")
	}
	b = raise(t, p, b, ades.LevelLTA, nil)
	b = sign(t, a, []ades.File{file("", string(b))}, Options{})
	for range 2 {
		b = raise(t, p, b, ades.LevelLTA, nil)
	}
	doc := readBack(t, b, nil)
	check(t, doc, 2, "XAdES-BASELINE-LTA")
	for _, s := range doc.Signatures {
		for _, ts := range s.Timestamps {
			if ts.ImprintIntact != ades.Yes {
				t.Errorf("%s: the imprint of a time-stamp (%s): %v", s.ID, ts.Kind, ts.ImprintIntact)
			}
		}
	}
}

func TestSignPart(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "good")
	for name, o := range map[string]Options{
		"by id":            {SignElement: "head"},
		"by xpath":         {XPathQuery: "/f:Invoice/Header"},
		"by xpath, no id":  {XPathQuery: "//Body"},
		"two":              {XPathQuery: "//Header | //Body"},
		"root by xpath":    {XPathQuery: "/f:Invoice"},
		"other namespaces": {XPathQuery: "/i:Invoice/Body", Prefixes: map[string]string{"i": "urn:invoice"}},
	} {
		in := invoice
		if name == "root by xpath" { // instructions beside the root are not under it
			in = invoice[strings.Index(invoice, "<f:Invoice") : strings.LastIndex(invoice, ">")+1]
			in = in[:strings.Index(in, "</f:Invoice>")+len("</f:Invoice>")]
		}
		b := sign(t, a, []ades.File{file("", in)}, o)
		doc := readBack(t, b, nil)
		check(t, doc, 1, "XAdES-BASELINE-B")
		if whole := doc.Signatures[0].ContentIsWhole; whole != (name == "root by xpath") {
			t.Errorf("%s: content is whole: %v", name, whole)
		}
		if bytes.Contains(b, []byte("REC-xpath")) {
			t.Errorf("%s: an XPath transform was written", name)
		}
		tampered := strings.Replace(string(b), "caff", "thé ", 1)
		if found := readBack(t, []byte(tampered), nil).Signatures[0].Intact() == ades.No; found == strings.Contains(o.XPathQuery, "Body") && name != "two" {
			t.Errorf("%s: tampering with the header found: %v", name, found)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	p := adestest.Must(t, clock)
	s := p.Actor(t, "good").Signing(clock())
	for name, tt := range map[string]struct {
		doc       string
		o         Options
		malformed bool
		want      error
	}{
		"dtd":              {`<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, Options{Packaging: Enveloped}, true, xmldom.ErrDoctype},
		"not well-formed":  {"<a><b></a>", Options{Packaging: Enveloped}, true, nil},
		"no such element":  {invoice, Options{SignElement: "nope"}, false, ades.ErrNotFound},
		"nothing selected": {invoice, Options{XPathQuery: "//nope"}, false, ades.ErrNotFound},
		"bad xpath":        {invoice, Options{XPathQuery: "//["}, false, nil},
		"attribute xpath":  {invoice, Options{XPathQuery: "//@Id"}, false, nil},
		"bad id":           {invoice, Options{SignatureID: `x" y="`}, false, nil},
		"id in use":        {invoice, Options{SignatureID: "head"}, false, nil},
		"duplicate id":     {`<a><b Id="x"/><c Id="x"/></a>`, Options{SignElement: "x"}, false, xmldom.ErrDuplicate},
		"control in mime":  {invoice, Options{MediaTypes: map[string]string{"": "text/\x00"}}, false, nil},
		"control in id":    {invoice, Options{Policy: &ades.SignaturePolicy{ID: "urn:\x1b", Hash: crypto.SHA256, Digest: make([]byte, 32)}}, false, nil},
		"policy not UTF-8": {invoice, Options{Policy: &ades.SignaturePolicy{ID: "urn:\xff", Hash: crypto.SHA256, Digest: make([]byte, 32)}}, false, nil},
	} {
		_, err := Prepare(t.Context(), []ades.File{file("", tt.doc)}, s, tt.o)
		var bad *ades.MalformedError
		if err == nil || errors.As(err, &bad) != tt.malformed {
			t.Errorf("%s: error %v", name, err)
		}
		if tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
	}
}

// TestWordsOfTheCaller has every character that canonical XML escapes in text or
// in values stand in what is signed: it is digested as it is written.
func TestWordsOfTheCaller(t *testing.T) {
	t.Parallel()
	const words = "a&b <c> \"d\" 'e'\tf\ng\rh &amp; ]]> è"
	p := adestest.Must(t, clock)
	for _, packaging := range []Packaging{Enveloped, Enveloping, InternallyDetached} {
		o := Options{Packaging: packaging, MediaTypes: map[string]string{words: words}, Policy: &ades.SignaturePolicy{ID: words, URI: words, Hash: crypto.SHA256, Digest: make([]byte, 32)}}
		signed := sign(t, p.Actor(t, "good"), []ades.File{file(words, invoice)}, o)
		check(t, readBack(t, signed, nil), 1, "")
		if d, err := xmldom.Parse(string(signed), xmldom.Limits{}); err != nil || d.Descendants(ns132, "MimeType")[0].Text() != words || d.Descendants(ns132, "SPURI")[0].Text() != words {
			t.Errorf("packaging %v: %v, or other words than those that were given", packaging, err)
		}
	}
}

func TestTampering(t *testing.T) {
	p := adestest.Must(t, clock)
	b := string(raise(t, p, sign(t, p.Actor(t, "good"), []ades.File{file("", invoice)}, Options{}), ades.LevelLTA, nil))
	for name, edit := range map[string][2]string{
		"content":      {"caff", "thé "},
		"attribute":    {`x:a="1"`, `x:a="2"`},
		"signing time": {"2026-11-15T12:00:00Z", "2026-11-15T12:00:01Z"},
		"method":       {"rsa-sha256", "rsa-sha384"},
		"new element":  {"<Body>", "<Extra/><Body>"},
		"target":       {`Target="#`, `Target="#x`},
	} {
		changed := strings.Replace(b, edit[0], edit[1], 1)
		if changed == b {
			t.Fatalf("%s: nothing to change", name)
		}
		s := readBack(t, []byte(changed), nil).Signatures[0]
		fatal := false
		for _, pr := range s.Problems {
			fatal = fatal || pr.Fatal
		}
		if s.Intact() == ades.Yes && !fatal {
			t.Errorf("%s: not found", name)
		}
	}
	// What is unsigned is under the archive time-stamp.
	s := readBack(t, []byte(strings.Replace(b, "<xades:OCSPValues>", "<xades:OCSPValues> ", 1)), nil).Signatures[0]
	if ts := s.Timestamps[len(s.Timestamps)-1]; ts.ImprintIntact != ades.No {
		t.Errorf("change of unsigned properties: archive time-stamp's imprint %v", ts.ImprintIntact)
	}
}

func TestAugmentRefuses(t *testing.T) {
	p := adestest.Must(t, clock)
	good := sign(t, p.Actor(t, "good"), []ades.File{file("", invoice)}, Options{})
	for name, b := range map[string][]byte{
		"broken":    bytes.Replace(good, []byte("caff"), []byte("th\u00e9 "), 1),
		"unsigned":  []byte(invoice),
		"not xml":   []byte("hello"),
		"truncated": good[:len(good)-20],
	} {
		var out bytes.Buffer
		if err := Augment(context.Background(), bytes.NewReader(b), &out, ades.AugmentOptions{Level: ades.LevelT, Stamper: p.Unit}); err == nil {
			t.Errorf("%s: raised", name)
		}
	}
	var out bytes.Buffer
	if err := Augment(context.Background(), bytes.NewReader(good), &out, ades.AugmentOptions{Level: ades.LevelLT, Stamper: p.Unit}); err == nil {
		t.Error("LT without sources of validation data")
	}
}

func TestEncodings(t *testing.T) {
	p := adestest.Must(t, clock)
	utf16 := []byte{0xFF, 0xFE}
	for _, r := range "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>\u20ac</a>" {
		utf16 = append(utf16, byte(r), byte(r>>8))
	}
	for _, doc := range []string{string(utf16), "<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe8</a>", "\xEF\xBB\xBF<a/>"} {
		b := sign(t, p.Actor(t, "good"), []ades.File{file("", doc)}, Options{Packaging: Enveloped})
		check(t, readBack(t, b, nil), 1, "XAdES-BASELINE-B")
		check(t, readBack(t, raise(t, p, b, ades.LevelLTA, nil), nil), 1, "XAdES-BASELINE-LTA")
	}
}

// BenchmarkSign reports processor time as well: on a busy machine only that can
// be compared with the raw rate.
func BenchmarkSign(b *testing.B) {
	p := adestest.Must(b, clock)
	a := p.Actor(b, "good")
	doc := bytes.NewReader(document(50 << 10))
	signed := sign(b, a, []ades.File{{Source: doc}}, Options{})
	for _, bench := range []struct {
		name string
		do   func(b *testing.B)
	}{
		{"raw RSA-2048", func(b *testing.B) {
			if _, err := a.Key.Sign(nil, make([]byte, 32), crypto.SHA256); err != nil {
				b.Fatal(err)
			}
		}},
		{"XAdES-B 50 KB", func(b *testing.B) { sign(b, a, []ades.File{{Source: doc}}, Options{}) }},
		{"read XAdES-B 50 KB", func(b *testing.B) {
			if readBack(b, bytes.Clone(signed), nil).Signatures[0].Intact() != ades.Yes {
				b.Fatal("not intact")
			}
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			start := yardstick.Processor()
			for b.Loop() {
				bench.do(b)
			}
			b.ReportMetric(float64(b.N)/(yardstick.Processor()-start).Seconds(), "per-cpu-second")
		})
	}
}

// document is XML of about that many bytes.
func document(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`<r:list xmlns:r="urn:r">`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<r:entry n=\"%d\"><name>Name of entry %d</name><value unit=\"EUR\">%d.00</value></r:entry>\n", i, i, i)
	}
	b.WriteString("</r:list>")
	return b.Bytes()
}

func FuzzRead(f *testing.F) {
	p, err := adestest.New(clock, "")
	if err != nil {
		f.Fatal(err)
	}
	a, err := p.Enter("good")
	if err != nil {
		f.Fatal(err)
	}
	b := sign(f, a, []ades.File{file("", invoice)}, Options{})
	f.Add(b)
	f.Add(raise(f, p, b, ades.LevelLTA, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		doc, err := Read(context.Background(), bytes.NewReader(b), ades.ReadOptions{})
		if err != nil {
			return
		}
		for _, s := range doc.Signatures {
			Profile(s, doc, nil)
		}
	})
}

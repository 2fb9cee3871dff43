package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// rewritten opens a document as it is to be written anew, writes it, and opens
// the copy strictly.
func rewritten(t *testing.T, b []byte, password string) (d, copied *pdf.Document, out []byte) {
	t.Helper()
	d, err := Open(t.Context(), bytes.NewReader(b), password)
	if err != nil {
		t.Fatal(err)
	}
	var w bytes.Buffer
	if err := Write(&w, d); err != nil {
		t.Fatal(err)
	}
	copied, err = pdf.Open(bytes.NewReader(w.Bytes()), pdf.Options{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	if err := Same(d, copied); err != nil {
		t.Fatal(err)
	}
	list, err := copied.Audit(t.Context())
	if err != nil || len(list) > 0 {
		t.Errorf("the copy reads in two ways: %v, %v", list, err)
	}
	return d, copied, w.Bytes()
}

// paper is a document with what a document may have: a form, an annotation, an
// attachment, a structure, metadata, a PDF/A claim.
func paper() []string {
	stream := func(dict, data string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
	}
	return []string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[6 0 R]>>/Names<</EmbeddedFiles<</Names[(a.txt)7 0 R]>>>>" +
			"/StructTreeRoot 9 0 R/MarkInfo<</Marked true>>/Metadata 10 0 R/OutputIntents[<</Type/OutputIntent/S/GTS_PDFA1>>]>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 300 200]>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>/Annots[6 0 R]/StructParents 0>>",
		stream("", "BT /F 12 Tf 20 100 Td (as it was) Tj ET"),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
		"<</Type/Annot/Subtype/Widget/FT/Tx/T(amount)/V(12.50)/Rect[10 10 90 30]/P 3 0 R>>",
		"<</Type/Filespec/F(a.txt)/EF<</F 8 0 R>>>>",
		stream("/Type/EmbeddedFile", "9 0 obj\n<</Type/Catalog>>\nendobj\nstartxref\n0\n%%EOF"),
		"<</Type/StructTreeRoot/K[]>>",
		stream("/Type/Metadata/Subtype/XML", "<x:xmpmeta/>"),
	}
}

func TestWriteKeepsEverything(t *testing.T) {
	t.Parallel()
	id := "/ID[<01><02>]"
	_, c, out := rewritten(t, pdf.Build(paper(), id), "")
	if !bytes.HasPrefix(out, []byte("%PDF-1.7\n")) {
		t.Errorf("header %q", out[:9])
	}
	for _, want := range []string{"as it was", "<x:xmpmeta/>", "GTS_PDFA1", "(amount)", "(12.50)", "%%EOF", "/ID[<01> <02>]"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s is lost", want)
		}
	}
	if n, err := c.PageCount(); n != 1 || err != nil {
		t.Errorf("%d pages, %v", n, err)
	}
	if n := c.Trailer().Get("Size"); n != pdf.Integer(11) {
		t.Errorf("Size %v", n)
	}
}

// What nothing refers to is left out, and what is defined twice is there once.
func TestWriteOnlyWhatIsReached(t *testing.T) {
	t.Parallel()
	b := pdf.Build(append(paper(), "(nobody asks for this)"), "")
	b = append(b, "4 0 obj\nnull\nendobj\n"...) // found by those who look for objects
	_, _, out := rewritten(t, b, "")
	if bytes.Contains(out, []byte("nobody")) {
		t.Error("what nothing refers to was written")
	}
	if n := bytes.Count(out, []byte("as it was")); n != 1 {
		t.Errorf("the content is there %d times", n)
	}
}

// A page tree that readers walk in different ways becomes one that they do not.
func TestWriteStraightens(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"count":       {"/Kids[3 0 R]/Count 1", "/Kids[3 0 R]/Count 7"},
		"null kid":    {"/Kids[3 0 R]", "/Kids[3 0 R 99 0 R]"},
		"loop":        {"/Kids[3 0 R]", "/Kids[3 0 R 2 0 R]"},
		"no parent":   {"/Parent 2 0 R", ""},
		"other":       {"/Parent 2 0 R", "/Parent 5 0 R"},
		"wrong type":  {"/Type/Page/", "/Type/Pages/"},
		"page twice":  {"/Kids[3 0 R]/Count 1", "/Kids[3 0 R 3 0 R]/Count 2"},
		"direct page": {"/Kids[3 0 R]/Count 1", "/Kids[3 0 R<</Type/Page/Contents 4 0 R>>]/Count 2"},
	} {
		t.Run(name, func(t *testing.T) {
			list := paper()
			for i := range list {
				list[i] = strings.Replace(list[i], change[0], change[1], 1)
			}
			d, c, _ := rewritten(t, pdf.Build(list, ""), "")
			if text, err := crookedTree(d); text == "" || err != nil {
				t.Errorf("nothing is wrong with it: %v", err)
			}
			if text, err := crookedTree(c); text != "" || err != nil {
				t.Errorf("%s, %v", text, err)
			}
			p, err := c.Page(0)
			if err != nil || p.MediaBox.URX != 300 {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// A number that some readers take a part of is written so that none does.
func TestWriteLongNumbers(t *testing.T) {
	t.Parallel()
	list := paper()
	list[8] = "<</Type/StructTreeRoot/K[]/Private[4294967296 -99999999999 123456789012345678901234567890 2147483647]>>"
	_, _, out := rewritten(t, pdf.Build(list, ""), "")
	if want := "[4294967296.0 -99999999999.0 123456789012345678901234567890.0 2147483647]"; !bytes.Contains(out, []byte(want)) {
		t.Errorf("%s is not there", want)
	}
}

// What is encrypted stays so, under its passwords; a wrong one opens nothing.
func TestWriteStaysEncrypted(t *testing.T) {
	t.Parallel()
	d, err := Open(t.Context(), bytes.NewReader(pdf.Build(paper(), "")), "")
	if err != nil {
		t.Fatal(err)
	}
	var sealed bytes.Buffer
	if err := Encrypt(&sealed, d, "secret"); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(sealed.Bytes(), []byte("startxref"), []byte("startxxxx"), 1)
	_, c, out := rewritten(t, damaged, "secret")
	if !c.Encrypted() || bytes.Contains(out, []byte("as it was")) {
		t.Error("the copy is not encrypted")
	}
	if _, err := pdf.Open(bytes.NewReader(out), pdf.Options{Password: "other"}); !errors.Is(err, ades.ErrPassword) {
		t.Errorf("a wrong password: %v", err)
	}
}

// Same finds what differs.
func TestSameFinds(t *testing.T) {
	t.Parallel()
	whole := pdf.Build(paper(), "")
	d, err := pdf.Open(bytes.NewReader(whole), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"(12.50)", "(92.50)"},
		{"as it was", "as it is "},
		{"[10 10 90 30]", "[10 10 90 31]"},
		{"/Marked true", "/Marked null"},
		{"/Contents 4 0 R", "/Contents 9 0 R"},
		{"/S/GTS_PDFA1", "/S/GTS_PDFA2"},
		{"/Annots[6 0 R]", "/Annots[5 0 R]"},
		{"/Helvetica", "/Courier  "},
		{"0 0 300 200", "0 0 300 201"},
		{"/StructParents 0", "/StructParents 1"},
		{"/Kids[3 0 R]", "/Kids[3 0 R 3 0 R]"},
		{"/FT/Tx", "/FT/Tx/MK<<>>"},
	} {
		list := paper()
		for i := range list {
			list[i] = strings.Replace(list[i], change[0], change[1], 1)
		}
		c, err := pdf.Open(bytes.NewReader(pdf.Build(list, "")), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Same(d, c); !errors.Is(err, ErrOther) {
			t.Errorf("%s became %s: %v", change[0], change[1], err)
		}
	}
}

// Whatever comes: no panic, and what was written reads in one way and says the
// same, if it can be written at all.
func FuzzWrite(f *testing.F) {
	f.Add(pdf.Build(paper(), ""))
	f.Add(bytes.Replace(pdf.Build(paper(), ""), []byte("startxref"), []byte("startxxxx"), 1))
	f.Add(bytes.ReplaceAll(pdf.Build(paper(), ""), []byte("endobj"), []byte("      ")))
	f.Add(bytes.ReplaceAll(pdf.Build(paper(), ""), []byte("endstream"), []byte("         ")))
	f.Add(bytes.ReplaceAll(pdf.Build(paper(), ""), []byte(">>"), []byte("> ")))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Open(t.Context(), bytes.NewReader(b), "")
		if err != nil {
			return
		}
		var w bytes.Buffer
		if err := Write(&w, d); err != nil {
			return
		}
		c, err := pdf.Open(bytes.NewReader(w.Bytes()), pdf.Options{Context: t.Context()})
		if err != nil {
			t.Fatalf("the copy does not open: %v", err)
		}
		if err := Same(d, c); err != nil {
			t.Fatalf("the copy is not the same: %v", err)
		}
	})
}

// Streams that readers decode in different ways are written with what most of them
// show, and no other: a file that is damaged stays as it is.
func TestWriteMends(t *testing.T) {
	t.Parallel()
	const said = "BT /F 12 Tf 20 100 Td (as it was) Tj ET"
	size := string([]byte{byte(len(said)), 0, ^byte(len(said)), 0xff})
	flate := "\x78\x01\x01" + size + said + "\xc5\x6e\x0c\x61"
	more := "\x78\x01\x00" + size + said
	for name, c := range map[string]struct{ dict, data, want string }{
		"as the standard has it":    {"/Filter/FlateDecode", flate, ""},
		"damaged behind the text":   {"/Filter/FlateDecode", more + "\xff\xff", said},
		"no header":                 {"/Filter/FlateDecode", "\x00\x00" + flate[2:], "\x00"},
		"no block":                  {"/Filter/FlateDecode", flate[:2] + "\xff\xff\xff" + flate[5:], "\x00"},
		"hexadecimal":               {"/Filter/ASCIIHexDecode", fmt.Sprintf("%xzz20>", said), said},
		"base 85":                   {"/Filter/ASCII85Decode", "6<#'\\7PQ#@1a#b0+>GQ(+?(u.+B2ko-qIocCi:FtDfTZ)F*,Om\xff\x7f~>", "BT /F"},
		"a filter of pictures":      {"/Filter/JBIG2Decode", said, "\x00"},
		"a filter of nobody":        {"/Filter/Foo", said, said},
		"parameters beside no name": {"/DecodeParms<</Predictor 12>>", said, said},
	} {
		t.Run(name, func(t *testing.T) {
			list := paper()
			list[3] = fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", c.dict, len(c.data), c.data)
			list[7] = strings.Replace(list[3], "<<", "<</Type/EmbeddedFile", 1)
			file, _, _ := strings.Cut(list[7], "/Length")
			_, copied, out := rewritten(t, pdf.Build(list, ""), "")
			p, err := copied.Page(0)
			if err != nil {
				t.Fatal(err)
			}
			o, err := copied.Resolve(p.Dict.Get("Contents"))
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if !bytes.Contains(out, []byte(list[3])) {
					t.Error("not as it was")
				}
				return
			}
			got, err := copied.Strict(o.(*pdf.Stream))
			if err != nil || !bytes.HasPrefix(append(got, 0), []byte(c.want)) {
				t.Errorf("%q, %v", got, err)
			}
			if strings.HasSuffix(name, "pictures") && !bytes.Contains(out, []byte(file)) {
				t.Error("the file is not as it was")
			}
		})
	}
}

// A document that readers take in one way needs no rewriting; for any other there is a reason.
func TestReasons(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]byte) []byte
		why    string
	}{
		"as it is":  {func(b []byte) []byte { return b }, ""},
		"a comment": {func(b []byte) []byte { return bytes.Replace(b, []byte("/Count 1"), []byte("/Count 1%"), 1) }, "%"},
		"a prefix":  {func(b []byte) []byte { return append([]byte("hello\n"), b...) }, "6 bytes before it"},
	} {
		d, err := pdf.Open(bytes.NewReader(c.change(pdf.Build(paper(), ""))), pdf.Options{Repair: true})
		if err != nil {
			t.Fatal(err)
		}
		why, err := Reasons(t.Context(), d)
		if err != nil || (len(why) == 0) != (c.why == "") || c.why != "%" && !strings.Contains(strings.Join(why, "\n"), c.why) {
			t.Errorf("%s: %q, %v", name, why, err)
		}
	}
}

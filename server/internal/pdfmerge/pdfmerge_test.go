package pdfmerge

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// document writes a PDF from its objects, the first being the catalog.
func document(version string, objects ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%%PDF-%s\n", version)
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, off := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", off)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

func content(text string) string {
	s := "BT /F1 18 Tf 50 500 Td (" + text + ") Tj ET"
	return fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(s), s)
}

const (
	font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
	tree = "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 400 600]/Resources<</Font<</F1 5 0 R>>>>>>"
	leaf = "<</Type/Page/Parent 2 0 R/Contents 4 0 R>>"
)

// plain is a page with a word on it; its box and font stand above it.
func plain(word string) []byte {
	return document("1.4", "<</Type/Catalog/Pages 2 0 R>>", tree, leaf, content(word), font)
}

func merge(t *testing.T, docs ...[]byte) *pdf.Document {
	t.Helper()
	d, err := pdf.Open(bytes.NewReader(mergeBytes(t, docs...)), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mergeBytes(t *testing.T, docs ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	srcs := make([]ades.Source, len(docs))
	for i, d := range docs {
		srcs[i] = bytes.NewReader(d)
	}
	if err := Merge(t.Context(), &b, "secret", srcs...); err != nil {
		t.Fatal(err)
	}
	checkWithOthers(t, b.Bytes(), "")
	return b.Bytes()
}

// checkWithOthers asks qpdf, where it is installed.
func checkWithOthers(t *testing.T, b []byte, password string) {
	t.Helper()
	qpdf, err := exec.LookPath("qpdf")
	if err != nil {
		t.Log("SKIPPED: qpdf is not installed")
		return
	}
	name := filepath.Join(t.TempDir(), "x.pdf")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(qpdf, "--check", "--password="+password, name).CombinedOutput(); err != nil {
		t.Errorf("qpdf: %v: %s", err, out)
	}
}

// words are what stands on each page, by its content.
func words(t *testing.T, d *pdf.Document) (all []string) {
	t.Helper()
	n, err := d.PageCount()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		p, err := d.Page(i)
		if err != nil {
			t.Fatal(err)
		}
		o, err := d.Resolve(p.Dict.Get("Contents"))
		if err != nil {
			t.Fatal(err)
		}
		data, err := d.Data(o.(*pdf.Stream))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(data, []byte("("))
		word, _, _ := bytes.Cut(rest, []byte(")"))
		all = append(all, string(word))
	}
	return all
}

func catalog(t *testing.T, d *pdf.Document) *pdf.Dict {
	t.Helper()
	c, err := d.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dict(t *testing.T, d *pdf.Document, o pdf.Object) *pdf.Dict {
	t.Helper()
	v, err := d.Dict(o)
	if err != nil || v == nil {
		t.Fatalf("%v is no dictionary: %v", o, err)
	}
	return v
}

func TestMergeKeepsOrderAndWhatIsInherited(t *testing.T) {
	d := merge(t, plain("one"), plain("two"), plain("three"))
	if got := fmt.Sprint(words(t, d)); got != "[one two three]" {
		t.Errorf("pages %s", got)
	}
	for i := range 3 {
		p, err := d.Page(i)
		if err != nil || p.MediaBox.Width() != 400 || p.Dict.Get("Resources") == nil {
			t.Errorf("page %d: %+v, %v", i, p, err)
		}
	}
}

// What a validating library refuses, though every viewer shows it.
func TestMergeOfSlightlyWrongDocuments(t *testing.T) {
	cat := "<</Type/Catalog/Pages 2 0 R%s>>"
	with := func(more string, objects ...string) []byte {
		return document("1.4", append([]string{fmt.Sprintf(cat, more), tree, leaf, content("shown"), font}, objects...)...)
	}
	for name, b := range map[string][]byte{
		"a form field that is not there":       with("/AcroForm<</Fields[18 0 R 3 0 R null (x)]>>"),
		"a field with a wrong DA":              with("/AcroForm<</Fields[6 0 R]/DA 7>>", "<</T(a)/FT/Tx/DA[1 2]/Subtype/Widget/Rect[0 0 1 1]>>"),
		"fields that are no array":             with("/AcroForm<</Fields 5 0 R>>"),
		"an unknown page mode":                 with("/PageMode/Use0"),
		"a class map that is a name":           with("/StructTreeRoot<</Type/StructTreeRoot/ClassMap<</A/B>>>>"),
		"associated files of 2.0 in a 1.4":     with("/AF[<</Type/Filespec/F(a)>>]"),
		"metadata that is no stream":           with("/Metadata 5 0 R"),
		"a page count that lies":               document("1.4", fmt.Sprintf(cat, ""), strings.Replace(tree, "/Count 1", "/Count 9999999", 1), leaf, content("shown"), font),
		"no page count":                        document("1.4", fmt.Sprintf(cat, ""), strings.Replace(tree, "/Count 1", "", 1), leaf, content("shown"), font),
		"a kid that is nothing":                document("1.4", fmt.Sprintf(cat, ""), strings.Replace(tree, "[3 0 R]", "[3 0 R 99 0 R]", 1), leaf, content("shown"), font),
		"a font without its kind":              document("1.4", fmt.Sprintf(cat, ""), tree, leaf, content("shown"), "<</Type/Font>>"),
		"an annotation that is nothing":        document("1.4", fmt.Sprintf(cat, ""), tree, "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Annots[<<>> null 77 0 R]>>", content("shown"), font),
		"bookmarks in a circle":                with("/Outlines<</First 6 0 R/Last 6 0 R>>", "<</Title(x)/Next 6 0 R/Prev 6 0 R>>"),
		"a number without a space behind it":   document("1.4", fmt.Sprintf(cat, ""), tree, leaf, strings.Replace(content("shown"), "<</Length 46>>", "<</Length 6 0 R>>", 1), font, "46"),
		"cross-references that are off by one": bytes.Replace(plain("shown"), []byte("%PDF-1.4\n"), []byte("%PDF-1.4\n\n"), 1),
		"an object of a huge number":           append(plain("shown"), "2147483647 0 obj <</Root 1 0 R>>\nendobj\n"...),
	} {
		t.Run(name, func(t *testing.T) {
			b = bytes.ReplaceAll(b, []byte("\n46\nendobj"), []byte("\n 46endobj"))
			for _, order := range [][][]byte{{b, plain("after")}, {plain("before"), b}} {
				if got := fmt.Sprint(words(t, merge(t, order...))); !strings.Contains(got, "shown") || !strings.Contains(got, " ") {
					t.Errorf("pages %s", got)
				}
			}
		})
	}
}

func TestMergeOfVersions(t *testing.T) {
	old, new := plain("old"), document("2.0", "<</Type/Catalog/Pages 2 0 R>>", tree, leaf, content("new"), font)
	for _, docs := range [][][]byte{{old, new}, {new, old}} {
		if b := mergeBytes(t, docs...); !bytes.HasPrefix(b, []byte("%PDF-2.0")) {
			t.Errorf("begins with %.8s", b)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	cat := "<</Type/Catalog/Pages 2 0 R>>"
	for name, b := range map[string][]byte{
		"nothing":      nil,
		"no PDF":       []byte("hello"),
		"no pages":     document("1.4", cat, "<</Type/Pages/Kids[]/Count 0>>"),
		"no page tree": document("1.4", "<</Type/Catalog>>"),
		"a circle":     document("1.4", cat, "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Pages/Kids[2 0 R]/Count 1>>"),
		"locked":       encrypted(t, "other"),
	} {
		if err := Merge(t.Context(), new(bytes.Buffer), "", bytes.NewReader(b), bytes.NewReader(plain("x"))); err == nil {
			t.Errorf("%s: merged", name)
		}
	}
	if err := Merge(t.Context(), new(bytes.Buffer), "", bytes.NewReader(encrypted(t, "x"))); !errors.Is(err, ades.ErrPassword) {
		t.Errorf("of a locked one: %v", err)
	}
	if Merge(t.Context(), new(bytes.Buffer), "") == nil {
		t.Error("merged nothing")
	}
}

func TestMergeKeepsForms(t *testing.T) {
	form := func(word string) []byte {
		return document("1.4", "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[6 0 R]/DA(/Helv 0 Tf)/Q 1/DR<</Font<</Helv 5 0 R>>>>/NeedAppearances true>>>>", tree,
			"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Annots[6 0 R]>>", content(word), font, "<</T(name)/FT/Tx/V("+word+")/Type/Annot/Subtype/Widget/Rect[0 0 9 9]/P 3 0 R>>")
	}
	d := merge(t, form("one"), plain("x"), form("two"))
	f := dict(t, d, catalog(t, d).Get("AcroForm"))
	fields, err := d.Array(f.Get("Fields"))
	if err != nil || len(fields) != 2 {
		t.Fatalf("%v %v", fields, err)
	}
	names, values := "", ""
	for _, o := range fields {
		field := dict(t, d, o)
		names += d.Text(field.Get("T")) + " "
		values += d.Text(field.Get("V")) + " "
		if d.Text(field.Get("DA")) != "/Helv 0 Tf" || field.Get("Q") != pdf.Integer(1) {
			t.Errorf("what the form said is lost: %v", field)
		}
	}
	if names != "name name_3 " || values != "one two " || f.Get("NeedAppearances") != pdf.Bool(true) || dict(t, d, dict(t, d, f.Get("DR")).Get("Font")).Get("Helv") == nil {
		t.Errorf("names %q, values %q: %v", names, values, f)
	}
	p, err := d.Page(2)
	if err != nil {
		t.Fatal(err)
	}
	annots, err := d.Array(p.Dict.Get("Annots"))
	if err != nil || len(annots) != 1 || annots[0] != fields[1] || dict(t, d, annots[0]).Get("P") != p.Ref {
		t.Errorf("the field on the page is another: %v %v", annots, fields)
	}
}

func TestMergeKeepsBookmarksAndLinks(t *testing.T) {
	book := func(word string) []byte {
		return document("1.4", "<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R/Names<</Dests<</Names[(there)[3 0 R/Fit]]>>>>/Dests<</old<</D[3 0 R/FitH 9]>>>>>>", tree,
			"<</Type/Page/Parent 2 0 R/Contents 4 0 R/StructParents 0/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/GoTo/D(there)>>>><</Type/Annot/Subtype/Link/Rect[0 0 9 9]/Dest/old>>]>>",
			content(word), font, "<</Type/Outlines/First 7 0 R/Last 8 0 R/Count 2>>",
			"<</Title("+word+" a)/Parent 6 0 R/Next 8 0 R/Dest(there)>>", "<</Title("+word+" b)/Parent 6 0 R/Prev 7 0 R/Dest[3 0 R/Fit]>>")
	}
	d := merge(t, book("one"), plain("x"), book("two"))
	out := dict(t, d, catalog(t, d).Get("Outlines"))
	titles, pages := "", []pdf.Object{}
	var before pdf.Object
	for o := out.Get("First"); o != nil; {
		item := dict(t, d, o)
		titles += d.Text(item.Get("Title")) + ", "
		dest, err := d.Array(item.Get("Dest"))
		if err != nil || len(dest) == 0 || item.Get("Prev") != before || item.Get("Parent") != catalog(t, d).Get("Outlines") {
			t.Fatalf("%v %v", item, err)
		}
		pages = append(pages, dest[0])
		before, o = o, item.Get("Next")
	}
	if titles != "one a, one b, two a, two b, " || out.Get("Last") != before || out.Get("Count") != pdf.Integer(4) {
		t.Errorf("%s %v", titles, out)
	}
	for i, index := range []int{0, 0, 2, 2} {
		p, err := d.Page(index)
		if err != nil || pages[i] != p.Ref {
			t.Errorf("bookmark %d leads to %v, page %d is %v", i, pages[i], index, p.Ref)
		}
		if p.Dict.Has("StructParents") {
			t.Error("points into a structure tree that is not there")
		}
		annots, err := d.Array(p.Dict.Get("Annots"))
		if err != nil || len(annots) != 2 {
			t.Fatal(err)
		}
		link := dict(t, d, dict(t, d, annots[0]).Get("A"))
		for _, dest := range []pdf.Object{link.Get("D"), dict(t, d, annots[1]).Get("Dest")} {
			if a, err := d.Array(dest); err != nil || len(a) < 2 || a[0] != p.Ref {
				t.Errorf("link of page %d: %v, %v", index, dest, err)
			}
		}
	}
}

func TestMergeKeepsLayersAndAttachments(t *testing.T) {
	rich := func(d string) []byte {
		return document("1.5", "<</Type/Catalog/Pages 2 0 R/OCProperties<</OCGs[6 0 R 7 0 R]/D<<"+d+">>>>/Names<</EmbeddedFiles<</Kids[<</Names[(a.txt)8 0 R]>>]>>>>>>", tree, leaf, content("x"), font,
			"<</Type/OCG/Name(A)>>", "<</Type/OCG/Name(B)>>", "<</Type/Filespec/F(a.txt)/EF<</F 9 0 R>>>>", "<</Type/EmbeddedFile/Length 2>>\nstream\nhi\nendstream")
	}
	d := merge(t, rich("/OFF[7 0 R]/Order[6 0 R 7 0 R]"), rich("/BaseState/OFF/ON[7 0 R]"))
	oc := dict(t, d, catalog(t, d).Get("OCProperties"))
	groups, _ := d.Array(oc.Get("OCGs"))
	off, _ := d.Array(dict(t, d, oc.Get("D")).Get("OFF"))
	if len(groups) != 4 || len(off) != 2 || off[0] != groups[1] || off[1] != groups[2] {
		t.Errorf("groups %v, hidden %v", groups, off)
	}
	names, err := d.Array(dict(t, d, dict(t, d, catalog(t, d).Get("Names")).Get("EmbeddedFiles")).Get("Names"))
	if err != nil || len(names) != 4 || d.Text(names[0]) != "a.txt" || d.Text(names[2]) != "a.txt_2" {
		t.Errorf("%v %v", names, err)
	}
}

func encrypted(t *testing.T, password string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Encrypt(t.Context(), &b, bytes.NewReader(plain("hidden")), password); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEncrypt(t *testing.T) {
	whole := document("1.4", "<</Type/Catalog/Version/1.6/Pages 2 0 R/Lang(it)/StructTreeRoot<</Type/StructTreeRoot/K 3 0 R>>>>", tree, leaf, content("hidden"), font)
	var b bytes.Buffer
	if err := Encrypt(t.Context(), &b, bytes.NewReader(whole), "secret"); err != nil {
		t.Fatal(err)
	}
	checkWithOthers(t, b.Bytes(), "secret")
	if bytes.Contains(b.Bytes(), []byte("hidden")) {
		t.Error("the text is in clear")
	}
	if _, err := pdf.Open(bytes.NewReader(b.Bytes()), pdf.Options{}); !errors.Is(err, ades.ErrPassword) {
		t.Errorf("opens without a password: %v", err)
	}
	d, err := pdf.Open(bytes.NewReader(b.Bytes()), pdf.Options{Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	c := catalog(t, d)
	if got := fmt.Sprint(words(t, d)); got != "[hidden]" || d.Text(c.Get("Lang")) != "it" || c.Get("StructTreeRoot") == nil || c.Has("Version") {
		t.Errorf("%s %v", got, c)
	}
}

// An encrypted document is opened, and the whole is not encrypted.
func TestMergeOfEncrypted(t *testing.T) {
	d := merge(t, encrypted(t, "secret"), plain("x"))
	if got := fmt.Sprint(words(t, d)); got != "[hidden x]" || d.Encrypted() {
		t.Errorf("%s, encrypted %v", got, d.Encrypted())
	}
}

// Every PDF of the corpus that can be opened can be merged.
func TestMergeCorpus(t *testing.T) {
	root := os.Getenv("ROGITO_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(root, "corpus", "files", "pades", "*.pdf"))
	if err != nil || len(files) == 0 {
		t.Skip("SKIPPED: the corpus is not here (ROGITO_SHARED)")
	}
	merged := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before, err := pdf.Open(bytes.NewReader(b), pdf.Options{Repair: true})
		if errors.Is(err, ades.ErrPassword) {
			continue
		}
		if err != nil {
			t.Errorf("%.8s: %v", filepath.Base(name), err)
			continue
		}
		n, err := before.PageCount()
		if err != nil {
			t.Errorf("%.8s: %v", filepath.Base(name), err)
			continue
		}
		var out bytes.Buffer
		if err := Merge(t.Context(), &out, "", bytes.NewReader(b), bytes.NewReader(plain("x"))); err != nil {
			t.Errorf("%.8s: %v", filepath.Base(name), err)
			continue
		}
		d, err := pdf.Open(bytes.NewReader(out.Bytes()), pdf.Options{})
		if err != nil {
			t.Errorf("%.8s: %v", filepath.Base(name), err)
			continue
		}
		if got, err := d.PageCount(); err != nil || got != n+1 {
			t.Errorf("%.8s: %d pages of %d: %v", filepath.Base(name), got, n+1, err)
		}
		merged++
	}
	t.Logf("%d of %d merged; the others are locked", merged, len(files))
}

// A destination that holds links to destinations would be copied for ever, or
// double with every name.
func TestMergeOfDestinationsInDestinations(t *testing.T) {
	for _, dests := range []string{
		"<</a[3 0 R<</Dest/a>>]>>",
		"<</a[<</S/GoTo/D/b>><</S/GoTo/D/b>>]/b[<</S/GoTo/D/a>><</S/GoTo/D/a>>]>>",
	} {
		doc := document("1.4", "<</Type/Catalog/Pages 2 0 R/Dests 6 0 R>>", tree, "<</Type/Page/Contents 4 0 R/Annots[<</Subtype/Link/Dest/a>>]>>",
			content("y"), font, dests)
		if n, err := merge(t, doc).PageCount(); err != nil || n != 1 {
			t.Errorf("%s: %d pages, %v", dests, n, err)
		}
	}
}

// What is small in the file must not become large, or take long, by being
// referred to from many places.
func TestMergeOfWhatIsRepeated(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	long := strings.Repeat("n", 1<<20)
	for name, doc := range map[string][]byte{
		"a page of many entries": document("1.4", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids["+many("3 0 R ", 100)+"]>>",
			"<</Type/Page"+many("/a 0", 50_000)+">>"),
		"empty kids":       document("1.4", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids["+many("<</Kids 4 0 R>>", 5_000)+"3 0 R]>>", leaf, "["+many("null ", 500_000)+"]"),
		"a field":          document("1.4", "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields["+many("6 0 R ", 300_000)+"]>>>>", tree, leaf, content("y"), font, "<</T(a)>>"),
		"a name of fields": document("1.4", "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields["+many("<</T(a)>>", 100_000)+"]>>>>", tree, leaf, content("y"), font),
		"a long name": document("1.4", "<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles<</Names["+many("6 0 R 5 0 R ", 50_000)+"]>>>>>>", tree, leaf, content("y"), font,
			"("+long+")"),
		"entries of an action": document("1.4", "<</Type/Catalog/Pages 2 0 R>>", tree, "<</Type/Page/Contents 4 0 R/A<<"+many("/D 0", 300_000)+">>>>", content("y"), font),
	} {
		at := time.Now()
		var out countWriter
		err := Merge(t.Context(), &out, "", bytes.NewReader(doc))
		if d := time.Since(at); d > time.Minute {
			t.Errorf("%s: took %v", name, d)
		}
		if most := 128<<20 + 8*int64(len(doc)); int64(out) > most {
			t.Errorf("%s: %d bytes became %d", name, len(doc), out)
		}
		t.Logf("%s: %d to %d bytes in %v: %v", name, len(doc), out, time.Since(at), err)
	}
}

type countWriter int64

func (c *countWriter) Write(p []byte) (int, error) {
	*c += countWriter(len(p))
	return len(p), nil
}

func FuzzMerge(f *testing.F) {
	f.Add(plain("x"))
	f.Add(document("1.4", "<</Type/Catalog/Pages 2 0 R/Dests<</a[3 0 R/Fit]>>/Names<</Dests<</Names[(b)[3 0 R/Fit]]>>/EmbeddedFiles<</Kids[6 0 R]>>>>>>", tree,
		"<</Type/Page/Contents 4 0 R/Annots[<</Dest/a>><</A<</S/GoTo/D(b)>>>>]>>", content("y"), font, "<</Names[(f)<</F(f)>>]/Kids[6 0 R]>>"))
	f.Add(document("1.4", "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[6 0 R]>>/Outlines 6 0 R>>", tree, leaf, content("y"), font, "<</First 6 0 R/T(a)/Kids[6 0 R]>>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var out bytes.Buffer
		if Merge(t.Context(), &out, "", bytes.NewReader(b), bytes.NewReader(plain("x"))) != nil {
			return
		}
		d, err := pdf.Open(bytes.NewReader(out.Bytes()), pdf.Options{})
		if err != nil {
			t.Fatalf("what was merged cannot be opened: %v", err)
		}
		if n, err := d.PageCount(); err != nil || n < 2 {
			t.Fatalf("%d pages, %v", n, err)
		}
	})
}

package pades

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/pdf"
)

var ctx = context.Background()

// signed signs a document as one actor of the PKI.
func signed(t testing.TB, pki *adestest.PKI, doc []byte, level ades.Level, o Options) []byte {
	t.Helper()
	a := pki.Actor(t, "p256")
	var out bytes.Buffer
	r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki}
	if err := sign(ctx, bytes.NewReader(doc), &out, a.Key, a.Signing(pki.Now()), o, r); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(out.Bytes(), doc) {
		t.Fatal("the document was not kept byte for byte")
	}
	return out.Bytes()
}

func prepare(t testing.TB, pki *adestest.PKI, doc []byte, o Options) error {
	t.Helper()
	_, err := Prepare(t.Context(), bytes.NewReader(doc), pki.Actor(t, "p256").Signing(pki.Now()), o)
	return err
}

func readAll(t testing.TB, doc []byte, password string) *ades.Document {
	t.Helper()
	facts, err := Read(ctx, bytes.NewReader(doc), ades.ReadOptions{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func always(...[]byte) bool { return true }

// intact demands that all is well with every signature and time-stamp.
func intact(t testing.TB, facts *ades.Document, signatures int) {
	t.Helper()
	if len(facts.Signatures) != signatures {
		t.Fatalf("%d signatures, want %d", len(facts.Signatures), signatures)
	}
	for _, s := range facts.Signatures {
		if s.Intact() != ades.Yes || len(s.Problems) > 0 {
			t.Errorf("%s: %v", s.Path, corpus.Describe(facts, nil))
		}
		for _, c := range s.PDF.Changes {
			if !c.Permitted {
				t.Errorf("%s: %s: %s", s.Path, c.Kind, c.Description)
			}
		}
	}
	for _, ts := range facts.Timestamps {
		if ts.ImprintIntact != ades.Yes || ts.Signature.Intact() != ades.Yes || len(ts.Problems) > 0 {
			t.Errorf("time-stamp %s: %v", ts.Path, ts.Problems)
		}
	}
}

func TestLevels(t *testing.T) {
	pki := adestest.Must(t, nil)
	for _, level := range []ades.Level{ades.LevelB, ades.LevelT, ades.LevelLT, ades.LevelLTA} {
		doc := signed(t, pki, simplePDF(1000), level, Options{Reason: "Perché sì", Location: "Roma"})
		facts := readAll(t, doc, "")
		intact(t, facts, 1)
		s := facts.Signatures[0]
		if got, want := Profile(s, facts, always).Name, "PAdES-BASELINE-"+level.String(); got != want {
			t.Errorf("level %s, want %s", got, want)
		}
		if s.PDF.Reason != "Perché sì" || s.PDF.Location != "Roma" || s.PDF.Field != "Signature1" || !s.ClaimedTime.Equal(pki.Now().Truncate(1e9)) && s.ClaimedTime.IsZero() {
			t.Errorf("facts %+v", s.PDF)
		}
		for _, up := range []ades.Level{ades.LevelT, ades.LevelLT, ades.LevelLTA} {
			var out bytes.Buffer
			r := ades.AugmentOptions{Level: up, Stamper: pki.Unit, Gatherer: pki, VRI: up == ades.LevelLT}
			if err := Augment(ctx, bytes.NewReader(doc), &out, r); err != nil {
				t.Fatal(err)
			}
			facts := readAll(t, out.Bytes(), "")
			intact(t, facts, 1)
			want := "PAdES-BASELINE-" + max(level, up).String()
			if level == ades.LevelLT && up == ades.LevelT {
				want = "PAdES-BASELINE-LTA" // a time-stamp over validation data is what LTA is
			}
			if got := Profile(facts.Signatures[0], facts, always).Name; got != want {
				t.Errorf("%v raised to %v: %s, want %s", level, up, got, want)
			}
			if up == ades.LevelLT && !bytes.Contains(out.Bytes(), []byte("/VRI")) {
				t.Error("no VRI entry")
			}
		}
	}
}

func TestLTAAgainAndAgain(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := signed(t, pki, simplePDF(1000), ades.LevelLTA, Options{})
	for n := 2; n < 5; n++ {
		var out bytes.Buffer
		if err := Augment(ctx, bytes.NewReader(doc), &out, ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki}); err != nil {
			t.Fatal(err)
		}
		doc = out.Bytes()
		facts := readAll(t, doc, "")
		intact(t, facts, 1)
		if len(facts.Timestamps) != n {
			t.Fatalf("%d time-stamps, want %d", len(facts.Timestamps), n)
		}
		last := facts.Timestamps[n-1]
		for _, e := range facts.Evidence {
			if !contains(last.Covers, e.ID()) {
				t.Errorf("evidence of revision %d is not covered", e.Revision)
			}
		}
		if !contains(last.Covers, facts.Timestamps[0].ID) || !contains(last.Covers, facts.Signatures[0].ID) || contains(last.Covers, last.ID) {
			t.Error("the last time-stamp does not cover what came before it, or covers itself")
		}
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

func TestSeveralSigners(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := simplePDF(1000)
	for n := 1; n <= 5; n++ {
		doc = signed(t, pki, doc, ades.Level(n%3), Options{})
		facts := readAll(t, doc, "")
		intact(t, facts, n)
		for i, s := range facts.Signatures {
			if !s.PDF.CoversWholeDocument {
				t.Errorf("%d of %d: does not cover the whole document: %+v", i+1, n, s.PDF.Changes)
			}
		}
	}
}

func TestAlgorithms(t *testing.T) {
	pki := adestest.Must(t, nil)
	for _, who := range []string{"good", "p256", "p384", "p521", "ed25519", "rsa3072"} {
		a := pki.Actor(t, who)
		for _, hash := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			for _, pss := range []bool{false, true} {
				p := a.Signing(pki.Now())
				p.Hash, p.PSS = hash, pss && strings.HasPrefix(a.Name, "rsa")
				var out bytes.Buffer
				if err := sign(ctx, bytes.NewReader(simplePDF(10)), &out, a.Key, p, Options{}, ades.AugmentOptions{}); err != nil {
					t.Fatalf("%s %v: %v", who, hash, err)
				}
				intact(t, readAll(t, out.Bytes(), ""), 1)
			}
		}
	}
}

// formPDF has empty signature fields: one plain, one below another field with
// a lock and a widget of its own, and a text field.
func formPDF() []byte {
	b := newBuilder()
	b.object(1, "<</Type/Catalog/Pages 2 0 R/AcroForm 6 0 R>>")
	b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	b.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Annots 7 0 R>>")
	b.object(6, "<</Fields 8 0 R/DA(/Helv 0 Tf)>>")
	b.object(7, "[9 0 R 12 0 R 13 0 R]")
	b.object(8, "[9 0 R 10 0 R 13 0 R]")
	b.object(9, "<</Type/Annot/Subtype/Widget/FT/Sig/T(Plain)/Rect[10 10 110 60]/P 3 0 R>>")
	b.object(10, "<</T(Group)/FT/Sig/Kids[11 0 R]>>")
	b.object(11, "<</T(Inner)/Parent 10 0 R/Kids[12 0 R]/Lock<</Type/SigFieldLock/Action/Include/Fields[(Text)]>>>>")
	b.object(12, "<</Type/Annot/Subtype/Widget/Parent 11 0 R/Rect[10 100 110 160]/P 3 0 R>>")
	b.object(13, "<</Type/Annot/Subtype/Widget/FT/Tx/T(Text)/Rect[10 200 110 220]/P 3 0 R>>")
	return b.table("/Root 1 0 R")
}

func TestFields(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := formPDF()
	names, err := EmptyFields(t.Context(), bytes.NewReader(doc), "")
	if err != nil || fmt.Sprint(names) != "[Plain Group.Inner]" {
		t.Fatalf("empty fields %v, %v", names, err)
	}
	if err := prepare(t, pki, doc, Options{Field: "Nowhere"}); !errors.Is(err, ades.ErrNotFound) {
		t.Errorf("no such field: %v", err)
	}
	if err := prepare(t, pki, doc, Options{Field: "Text"}); !errors.Is(err, ades.ErrNotFound) {
		t.Errorf("a text field: %v", err)
	}
	doc = signed(t, pki, doc, ades.LevelB, Options{Field: "Group.Inner", Appearance: &Appearance{Lines: []string{"x"}}})
	intact(t, readAll(t, doc, ""), 1)
	if err := prepare(t, pki, doc, Options{Field: "Group.Inner"}); !errors.Is(err, ErrForbidden) {
		t.Errorf("signed already: %v", err)
	}
	for range 2 { // the second time there is no empty field left
		doc = signed(t, pki, doc, ades.LevelB, Options{AnyField: true})
	}
	facts := readAll(t, doc, "")
	intact(t, facts, 3)
	for i, want := range []string{"Group.Inner", "Plain", "Signature1"} {
		if got := facts.Signatures[i].PDF.Field; got != want {
			t.Errorf("signature %d is in %q, want %q", i, got, want)
		}
	}
	if err := prepare(t, pki, doc, Options{NewField: "Text"}); !errors.Is(err, ErrForbidden) {
		t.Errorf("name in use: %v", err)
	}
}

func TestCertification(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := signed(t, pki, simplePDF(10), ades.LevelB, Options{Certify: 1})
	if got := readAll(t, doc, "").Signatures[0].PDF.DocMDP; got != 1 {
		t.Errorf("DocMDP %d", got)
	}
	if err := prepare(t, pki, doc, Options{}); !errors.Is(err, ErrForbidden) {
		t.Errorf("signing under P 1: %v", err)
	}
	var out bytes.Buffer
	if err := Augment(ctx, bytes.NewReader(doc), &out, ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki}); err != nil {
		t.Fatal(err)
	}
	intact(t, readAll(t, out.Bytes(), ""), 1)

	doc = signed(t, pki, simplePDF(10), ades.LevelB, Options{Certify: 2})
	if err := prepare(t, pki, doc, Options{Certify: 2}); !errors.Is(err, ErrForbidden) {
		t.Errorf("certified twice: %v", err)
	}
	intact(t, readAll(t, signed(t, pki, doc, ades.LevelB, Options{}), ""), 2)
	doc = signed(t, pki, simplePDF(10), ades.LevelB, Options{})
	if err := prepare(t, pki, doc, Options{Certify: 2}); !errors.Is(err, ErrForbidden) {
		t.Errorf("certified after a signature: %v", err)
	}
}

func TestLocks(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := signed(t, pki, formPDF(), ades.LevelB, Options{Lock: &Lock{Fields: []string{"Plain"}}})
	if err := prepare(t, pki, doc, Options{Field: "Plain"}); !errors.Is(err, ErrForbidden) {
		t.Errorf("locked field: %v", err)
	}
	if err := prepare(t, pki, doc, Options{Field: "Group.Inner"}); err != nil {
		t.Errorf("other field: %v", err)
	}
	for _, c := range []struct {
		action LockAction
		names  []string
		name   string
		want   bool
	}{
		{LockInclude, []string{"Signature1"}, "Signature1", true},
		{LockInclude, []string{"Signature1"}, "Signature10", false},
		{LockInclude, []string{"Group"}, "Group.Inner", true},
		{LockExclude, []string{"Group"}, "Group.Inner", false},
		{LockExclude, []string{"Group"}, "Other", true},
		{LockAll, nil, "Any", true},
	} {
		if got := lockCovers(c.action, c.names, c.name); got != c.want {
			t.Errorf("%s %v, %s: %v", c.action, c.names, c.name, got)
		}
	}
}

// fat is a stamper whose tokens are larger than any reserve.
type fat struct{ ades.Stamper }

func (f fat) Stamp(ctx context.Context, h crypto.Hash, digest []byte) ([]byte, error) {
	token, err := f.Stamper.Stamp(ctx, h, digest)
	return append(token, make([]byte, 20<<10)...), err // padding is harmless
}

func TestRoom(t *testing.T) {
	pki := adestest.Must(t, nil)
	a := pki.Actor(t, "p256")
	d, err := Prepare(t.Context(), bytes.NewReader(simplePDF(10)), a.Signing(pki.Now()), Options{Reserve: 100})
	if err != nil {
		t.Fatal(err)
	}
	value, err := d.Value(a.Key)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var noRoom *NoRoomError
	if err := d.Finish(&out, value); !errors.As(err, &noRoom) || out.Len() > 0 {
		t.Fatalf("%v, %d bytes written", err, out.Len())
	}
	r := ades.AugmentOptions{Level: ades.LevelLTA, Stamper: fat{pki.Unit}, Gatherer: pki}
	if err := sign(ctx, bytes.NewReader(simplePDF(10)), &out, a.Key, a.Signing(pki.Now()), Options{}, r); !errors.As(err, &noRoom) || noRoom.Need < 20<<10 {
		t.Fatalf("a large time-stamp: %v", err)
	}
	if err := sign(ctx, bytes.NewReader(simplePDF(10)), &out, a.Key, a.Signing(pki.Now()), Options{Reserve: noRoom.Need}, r); err != nil {
		t.Fatal(err)
	}
	if s := readAll(t, out.Bytes(), "").Signatures[0]; s.Intact() != ades.Yes {
		t.Error(corpus.Describe(readAll(t, out.Bytes(), ""), nil))
	}
}

func TestBadInput(t *testing.T) {
	pki := adestest.Must(t, nil)
	for name, doc := range map[string]string{"not a PDF": "hello", "empty": "", "nothing in it": "%PDF-1.7\n"} {
		var malformed *ades.MalformedError
		if err := prepare(t, pki, []byte(doc), Options{}); !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Read(ctx, strings.NewReader(doc), ades.ReadOptions{}); !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var out bytes.Buffer
	if err := Augment(ctx, bytes.NewReader(simplePDF(10)), &out, ades.AugmentOptions{Level: ades.LevelT, Stamper: pki.Unit}); !errors.Is(err, ades.ErrNotFound) {
		t.Errorf("augment without a signature: %v", err)
	}
	if err := prepare(t, pki, simplePDF(10), Options{Appearance: &Appearance{Page: 7, Width: 10, Height: 10}}); !errors.Is(err, ades.ErrNotFound) {
		t.Errorf("no such page: %v", err)
	}
	if facts := readAll(t, simplePDF(10), ""); len(facts.Signatures) != 0 {
		t.Error("signature in an unsigned document")
	}
}

// TestForgeries changes a signed document in the ways of the known attacks.
// Each keeps the length, so that everything else stays where it was.
func TestForgeries(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := signed(t, pki, simplePDF(500), ades.LevelB, Options{})
	intact(t, readAll(t, doc, ""), 1)
	replace := func(old, new string) []byte {
		if len(old) != len(new) || bytes.Count(doc, []byte(old)) != 1 {
			t.Fatalf("%q cannot be replaced", old)
		}
		return bytes.Replace(doc, []byte(old), []byte(new), 1)
	}
	at := bytes.Index(doc, []byte("/Contents<"))
	if at < 0 {
		at = bytes.Index(doc, []byte("/Contents <"))
	}
	open := at + bytes.IndexByte(doc[at:], '<')
	end := open + bytes.IndexByte(doc[open:], '>')
	zeros := bytes.Clone(doc)
	for i := open + 1; i < end; i++ {
		zeros[i] = '0'
	}
	blank := bytes.Clone(doc)
	copy(blank[open:end+1], bytes.Repeat([]byte(" "), end+1-open))
	copy(blank[open:], "<>")
	null := bytes.Clone(blank)
	copy(null[open:], "null")
	br := bytes.Index(doc, []byte("/ByteRange"))
	ranges := doc[br : br+bytes.IndexByte(doc[br:], ']')+1]
	var b, c, d int64
	if _, err := fmt.Sscanf(string(ranges[bytes.IndexByte(ranges, '['):]), "[0 %d %d %d]", &b, &c, &d); err != nil {
		t.Fatal(err)
	}
	rewrite := func(text string) []byte {
		out := bytes.Clone(doc)
		field := out[br : br+len("/ByteRange ")+byteRangeWidth]
		copy(field, bytes.Repeat([]byte(" "), len(field)))
		copy(field, "/ByteRange "+text)
		return out
	}
	cases := map[string][]byte{
		"no ByteRange":         replace("/ByteRange", "/ByteRangX"),
		"no Contents":          bytes.Replace(doc, []byte("/Contents <"), []byte("/Contentz <"), 1),
		"zero Contents":        zeros,
		"empty Contents":       blank,
		"null Contents":        null,
		"null ByteRange":       rewrite("null"),
		"empty ByteRange":      rewrite("[]"),
		"odd ByteRange":        rewrite(fmt.Sprintf("[0 %d %d]", b, c)),
		"negative ByteRange":   rewrite(fmt.Sprintf("[0 %d -%d %d]", b, c, d)),
		"six numbers":          rewrite(fmt.Sprintf("[0 %d %d %d 1 1]", b, c, d)),
		"not from the start":   rewrite(fmt.Sprintf("[1 %d %d %d]", b-1, c, d)),
		"past the end":         rewrite(fmt.Sprintf("[0 %d %d %d]", b, c, d+9)),
		"end too early":        rewrite(fmt.Sprintf("[0 %d %d %d]", b, c, d-9)),
		"gap too wide":         rewrite(fmt.Sprintf("[0 %d %d %d]", b-4, c, d)),
		"gap too narrow":       rewrite(fmt.Sprintf("[0 %d %d %d]", b, c-2, d+2)),
		"one range":            rewrite(fmt.Sprintf("[0 %d %d 0]", b, c+d)),
		"overflow":             rewrite("[0 1 9223372036854775807 9223372036854775807]"),
		"reference, not array": rewrite("1 0 R"),
		"changed byte":         replace("Lorem ipsum dolor sit amet) Tj ET\n\nendstream", "Lorem ipsum dolor sit amex) Tj ET\n\nendstream"),
		"no SubFilter, broken": bytes.Replace(zeros, []byte("/SubFilter"), []byte("/SubFilteX"), 1),
	}
	for name, forged := range cases {
		facts, err := Read(ctx, bytes.NewReader(forged), ades.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(facts.Signatures) != 1 {
			t.Errorf("%s: %d signatures", name, len(facts.Signatures))
			continue
		}
		s := facts.Signatures[0]
		if s.Intact() == ades.Yes || name == "changed byte" && s.Intact() != ades.No {
			t.Errorf("%s: %v", name, s.Intact()) // where nothing was digested it is unknown
		}
		if fatal := len(s.Problems) > 0 && s.Problems[0].Fatal; !fatal && name != "changed byte" {
			t.Errorf("%s: no fatal problem", name)
		}
	}
}

// update appends a change to a document.
func update(t *testing.T, doc []byte, change func(*pdf.Document, *pdf.Update)) []byte {
	t.Helper()
	d, err := pdf.Open(bytes.NewReader(doc), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	u := d.Update()
	change(d, u)
	tail, err := u.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Clone(doc), tail...)
}

func TestChangesAfterSigning(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := signed(t, pki, simplePDF(500), ades.LevelB, Options{})
	all, _, err := fields(mustOpen(t, doc))
	if err != nil {
		t.Fatal(err)
	}
	sig := all[0].value.(pdf.Ref)

	white := readAll(t, append(bytes.Clone(doc), " \r\n\x00\n"...), "").Signatures[0]
	if !white.PDF.CoversWholeDocument || len(white.PDF.Changes) > 0 {
		t.Errorf("white space at the end: %+v", white.PDF)
	}
	junk := readAll(t, append(bytes.Clone(doc), "junk"...), "").Signatures[0]
	if junk.PDF.CoversWholeDocument || len(junk.PDF.Changes) != 1 || junk.PDF.Changes[0].Kind != "trailing-data" {
		t.Errorf("junk at the end: %+v", junk.PDF)
	}
	shadow := update(t, doc, func(_ *pdf.Document, u *pdf.Update) {
		u.Set(pdf.Ref{Num: 4}, &pdf.Stream{Dict: &pdf.Dict{}, Data: []byte("BT (Other text) Tj ET")})
	})
	s := readAll(t, shadow, "").Signatures[0]
	if s.PDF.CoversWholeDocument || len(s.PDF.Changes) == 0 || s.PDF.Changes[0].Permitted {
		t.Errorf("other page content: %+v", s.PDF)
	}
	swapped := update(t, doc, func(_ *pdf.Document, u *pdf.Update) {
		d, err := u.Edit(sig)
		if err != nil {
			t.Fatal(err)
		}
		d.Set("Reason", pdf.Text("another"))
	})
	s = readAll(t, swapped, "").Signatures[0]
	if s.Intact() == ades.Yes || len(s.Problems) == 0 || !s.Problems[0].Fatal {
		t.Errorf("other dictionary: %v %v", s.Intact(), s.Problems)
	}
}

func mustOpen(t testing.TB, doc []byte) *pdf.Document {
	t.Helper()
	d, err := pdf.Open(bytes.NewReader(doc), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// huge is a PDF of a gigabyte that takes no memory: one stream of zeros.
type huge struct {
	head, tail []byte
	size       int64
}

func newHuge(size int64) *huge {
	h := &huge{size: size}
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n")
	offsets := []int64{9}
	add := func(num int, body string) {
		offsets = append(offsets, int64(b.Len()))
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", num, body)
	}
	add(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	add(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>")
	offsets = append(offsets, int64(b.Len()))
	fmt.Fprintf(&b, "4 0 obj\n<</Length %d>>\nstream\n", size)
	h.head = bytes.Clone(b.Bytes())
	at := int64(len(h.head)) + size
	b.Reset()
	b.WriteString("\nendstream\nendobj\n")
	at += int64(b.Len())
	b.WriteString("xref\n0 5\n0000000000 65535 f \n")
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", at)
	h.tail = b.Bytes()
	return h
}

func (h *huge) Size() int64 { return int64(len(h.head)) + h.size + int64(len(h.tail)) }

func (h *huge) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= h.Size() {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && off+int64(n) < h.Size() {
		at := off + int64(n)
		switch head, body := int64(len(h.head)), int64(len(h.head))+h.size; {
		case at < head:
			n += copy(p[n:], h.head[at:])
		case at < body:
			k := int(min(int64(len(p)-n), body-at))
			clear(p[n : n+k])
			n += k
		default:
			n += copy(p[n:], h.tail[at-body:])
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// TestHuge signs a gigabyte in little memory.
func TestHuge(t *testing.T) {
	await.All(t)
	pki := adestest.Must(t, nil)
	a := pki.Actor(t, "p256")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out sink
	err := sign(ctx, newHuge(1<<30), &out, a.Key, a.Signing(pki.Now()), Options{}, ades.AugmentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes allocated", n)
	}
	if int64(out.n) <= 1<<30 {
		t.Errorf("%d bytes written", out.n)
	}
}

// TestTools signs what qpdf makes of a document, and asks qpdf and pdfsig.
func TestTools(t *testing.T) {
	qpdf, err := exec.LookPath("qpdf")
	if err != nil {
		t.Skip("SKIPPED: no qpdf")
	}
	pdfsig, _ := exec.LookPath("pdfsig")
	pki := adestest.Must(t, nil)
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pdf")
	if err := os.WriteFile(in, simplePDF(20<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"plain":          nil,
		"objects":        {"--object-streams=generate"},
		"linear":         {"--linearize"},
		"linear objects": {"--linearize", "--object-streams=generate"},
		"RC4-40":         {"--encrypt", "u", "o", "40", "--"},
		"RC4-128":        {"--encrypt", "u", "o", "128", "--use-aes=n", "--"},
		"AES-128":        {"--encrypt", "u", "o", "128", "--use-aes=y", "--"},
		"AES-256 R5":     {"--encrypt", "u", "o", "256", "--force-R5", "--"},
		"AES-256":        {"--object-streams=generate", "--encrypt", "u", "o", "256", "--"},
		"AES-256 empty":  {"--encrypt", "", "o", "256", "--"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, "out.pdf")
			if msg, err := exec.Command(qpdf, append(append([]string{"--allow-weak-crypto"}, args...), in, file)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, msg)
			}
			doc, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			password := ""
			if strings.Contains(strings.Join(args, " "), "--encrypt u") {
				password = "u"
				for _, wrong := range []string{"", "nope"} {
					if err := prepare(t, pki, doc, Options{Password: wrong}); !errors.Is(err, ades.ErrPassword) {
						t.Errorf("password %q: %v", wrong, err)
					}
				}
			}
			for n := 1; n <= 2; n++ {
				a := pki.Actor(t, "good")
				var out bytes.Buffer
				o := Options{Password: password, Reason: "Perché"}
				if n == 2 {
					o.Appearance = &Appearance{Page: -1, X: 20, Y: 20, Width: 164, Height: 45, Lines: []string{"Firmato"}}
				}
				r := ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki}
				if err := sign(ctx, bytes.NewReader(doc), &out, a.Key, a.Signing(pki.Now()), o, r); err != nil {
					t.Fatal(err)
				}
				doc = out.Bytes()
				facts := readAll(t, doc, password)
				intact(t, facts, n)
				if facts.Signatures[0].PDF.Reason != "Perché" {
					t.Errorf("reason %q", facts.Signatures[0].PDF.Reason)
				}
			}
			if err := os.WriteFile(file, doc, 0o600); err != nil {
				t.Fatal(err)
			}
			if msg, err := exec.Command(qpdf, "--password="+password, "--check", file).CombinedOutput(); err != nil {
				t.Errorf("qpdf: %v: %s", err, msg)
			}
			if pdfsig == "" {
				return
			}
			asked := []string{"-nocert", file}
			if password != "" {
				asked = []string{"-nocert", "-upw", password, file}
			}
			msg, _ := exec.Command(pdfsig, asked...).CombinedOutput()
			if n := strings.Count(string(msg), "Signature is Valid"); n != 2 {
				t.Errorf("pdfsig finds %d valid: %s", n, msg)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"minimal.pdf", "signed.pdf", "lta.pdf"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		facts, err := Read(ctx, bytes.NewReader(b), ades.ReadOptions{})
		if err != nil {
			return
		}
		for _, s := range facts.Signatures {
			Profile(s, facts, always)
		}
	})
}

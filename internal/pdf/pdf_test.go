package pdf

import (
	"bytes"
	"compress/lzw"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
)

func TestParse(t *testing.T) {
	cases := []struct {
		in   string
		want Object
	}{
		{"null ", nil},
		{"true ", Bool(true)},
		{"-17 ", Integer(-17)},
		{"+3 ", Integer(3)},
		{"4.50 ", Real("4.50")},
		{"-.002 ", Real("-.002")},
		{"12 0 R ", Ref{12, 0}},
		{"[1 2 0 R 3 4]", Array{Integer(1), Ref{2, 0}, Integer(3), Integer(4)}},
		{"/A#42C ", Name("ABC")},
		{"/ ", Name("")},
		{`(a\(b\)(c)\101\n\
d)`, String{Bytes: []byte("a(b)(c)A\nd")}},
		{"(a\r\nb)", String{Bytes: []byte("a\nb")}},
		{"<48 65 6C6>", String{Bytes: []byte("Hel`"), Hex: true}},
		{"<</A 1/B[/C]/D<</E(f)>>>>", NewDict(Name("A"), Integer(1), Name("B"), Array{Name("C")},
			Name("D"), NewDict(Name("E"), String{Bytes: []byte("f")}))},
		{"<</A>>", NewDict(Name("A"), nil)},
		{"% comment\n7 ", Integer(7)},
	}
	for _, c := range cases {
		p := parser{lexer: lexer{buf: []byte(c.in), last: true}}
		got, err := p.object()
		if err != nil || !Equal(got, c.want) {
			t.Errorf("%q: %#v, %v", c.in, got, err)
		}
	}
	for _, bad := range []string{"", ")", "<zz>", "<<1 2>>", "[1", "(a", "<</A", "foo ", strings.Repeat("[", 1000)} {
		p := parser{lexer: lexer{buf: []byte(bad), last: true}}
		if o, err := p.object(); err == nil {
			t.Errorf("%q: %#v, no error", bad, o)
		}
	}
}

// TestParseAnyWindow cuts the input everywhere: a window that ends too early
// must say so and never give another object.
func TestParseAnyWindow(t *testing.T) {
	in := []byte(`<</A 12 0 R/B(x\)y)/C[1 2 3.5 true null]/D<414243>/E/Name#20x>> `)
	whole := parser{lexer: lexer{buf: in, last: true}}
	want, err := whole.object()
	if err != nil {
		t.Fatal(err)
	}
	for n := range in {
		p := parser{lexer: lexer{buf: in[:n]}}
		got, err := p.object()
		if err == nil && !Equal(got, want) || err != nil && !errors.Is(err, errShort) {
			t.Fatalf("cut at %d: %#v, %v", n, got, err)
		}
	}
}

func TestOpenStyles(t *testing.T) {
	odd := bytes.ReplaceAll(classic(), []byte(" n \n"), []byte(" n\n"))
	for name, b := range map[string][]byte{
		"classic": classic(), "modern": modern(), "hybrid": hybrid(), "one-byte line ends": odd,
		"junk before":  append([]byte("MIME junk\r\n"), classic()...),
		"junk counted": shifted(),
		"junk after":   append(classic(), strings.Repeat("x", 5000)...),
	} {
		d := open(t, b, Options{})
		if n, err := d.PageCount(); n != 1 || err != nil {
			t.Errorf("%s: %d pages, %v", name, n, err)
		}
		p, err := d.Page(-1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Ref != (Ref{3, 0}) || p.MediaBox != (Rect{0, 0, 200, 300}) {
			t.Errorf("%s: page %v %v", name, p.Ref, p.MediaBox)
		}
		if len(d.Revisions()) != 1 || d.Repaired() != nil {
			t.Errorf("%s: %d revisions, %v", name, len(d.Revisions()), d.Repaired())
		}
	}
}

// shifted has junk before its header and counts its offsets from there.
func shifted() []byte {
	f := &file{offsets: make(map[int]int)}
	f.WriteString("\xEF\xBB\xBF\n%PDF-1.7\n")
	f.body().table("/Size 5/Root 1 0 R")
	return f.Bytes()
}

func TestPageGeometry(t *testing.T) {
	d := open(t, classic(), Options{})
	p, err := d.Page(0)
	if err != nil {
		t.Fatal(err)
	}
	if w, h := p.Visible(); p.Rotate != 90 || w != 280 || h != 180 {
		t.Errorf("rotated %d, visible %g x %g", p.Rotate, w, h)
	}
	if got, want := p.Place(Rect{0, 0, 50, 20}), (Rect{170, 10, 190, 60}); got != want {
		t.Errorf("placed at %v, want %v", got, want)
	}
	up, err := d.PageOf(Ref{3, 0})
	if err != nil || up.MediaBox != p.MediaBox || up.CropBox != p.CropBox || up.Rotate != 90 {
		t.Errorf("from below: %+v, %v", up, err)
	}
	if _, err := d.Page(1); !errors.Is(err, ades.ErrNotFound) {
		t.Errorf("page 2 of 1: %v", err)
	}
}

func TestDamage(t *testing.T) {
	b := classic()
	at := bytes.LastIndex(b, []byte("startxref"))
	wrong := append(append([]byte{}, b[:at]...), "startxref\n3\n%%EOF\n"...)
	cut := b[:bytes.Index(b, []byte("xref\n"))]
	m := modern()
	at = bytes.LastIndex(m, []byte("startxref"))
	for name, b := range map[string][]byte{
		"wrong startxref": wrong, "cut": cut, "wrong startxref, object stream": append(append([]byte{}, m[:at]...), "startxref\n3\n%%EOF"...),
	} {
		var malformed *ades.MalformedError
		if _, err := Open(bytes.NewReader(b), Options{}); !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
		d := open(t, b, Options{Repair: true})
		if n, err := d.PageCount(); n != 1 || err != nil || d.Repaired() == nil {
			t.Errorf("%s: %d pages, %v, repaired %v", name, n, err, d.Repaired())
		}
	}
}

func TestRefusals(t *testing.T) {
	loop := newFile().body()
	at := loop.Len()
	loop.table(fmt.Sprintf("/Size 5/Root 1 0 R/Prev %d", at))
	for name, b := range map[string][]byte{
		"empty": nil, "no header": []byte("hello"), "header only": []byte("%PDF-1.7\n"), "Prev loop": loop.Bytes(),
		"no root": func() []byte { f := newFile().body(); f.table("/Size 5"); return f.Bytes() }(),
	} {
		var malformed *ades.MalformedError
		_, err := Open(bytes.NewReader(b), Options{})
		if !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeepPageTree(t *testing.T) {
	f := newFile().object(1, "<</Type/Catalog/Pages 2 0 R>>")
	for n := 2; n < 1000; n++ {
		f.object(n, fmt.Sprintf("<</Type/Pages/Kids[%d 0 R]>>", n+1))
	}
	f.object(2, "<</Type/Pages/Count 1/Kids[3 0 R]>>").object(1000, "<</Type/Page>>")
	f.table("/Size 1001/Root 1 0 R")
	var malformed *ades.MalformedError
	if _, err := open(t, f.Bytes(), Options{}).Page(0); !errors.As(err, &malformed) {
		t.Error(err)
	}
}

func TestRevisions(t *testing.T) {
	f := newFile().body()
	first := f.table("/Size 5/Root 1 0 R")
	one := f.Len()
	f.object(4, "<</Length 5>>\nstream\n9 9 l\nendstream").object(5, "(new)")
	f.table(fmt.Sprintf("/Size 6/Root 1 0 R/Prev %d", first))
	d := open(t, f.Bytes(), Options{})
	revs := d.Revisions()
	if len(revs) != 2 || revs[0].End != int64(one) || revs[1].End != int64(f.Len()) {
		t.Fatalf("revisions %+v", revs)
	}
	for n, want := range map[int]string{1: "0 0 m", 2: "9 9 l"} {
		old, err := d.At(n)
		if err != nil {
			t.Fatal(err)
		}
		o, err := old.Get(Ref{4, 0})
		if err != nil {
			t.Fatal(err)
		}
		if data, err := old.Data(o.(*Stream)); string(data) != want || err != nil {
			t.Errorf("revision %d: %q, %v", n, data, err)
		}
	}
	old, _ := d.At(1)
	if o, err := old.Get(Ref{5, 0}); o != nil || err != nil {
		t.Errorf("object of the future: %v, %v", o, err)
	}
	var nums []int
	for _, def := range d.Defined(2) {
		if !def.Free {
			nums = append(nums, def.Ref.Num)
		}
	}
	if fmt.Sprint(nums) != "[4 5]" || d.DefinedIn(4) != 2 || d.DefinedIn(1) != 1 {
		t.Errorf("revision 2 defines %v", nums)
	}
}

func TestUpdate(t *testing.T) {
	for name, b := range map[string][]byte{"classic": classic(), "modern": modern(), "hybrid": hybrid(), "junk": append([]byte("zz\n"), classic()...)} {
		d := open(t, b, Options{})
		u := d.Update()
		page, err := u.Edit(Ref{3, 0})
		if err != nil {
			t.Fatal(err)
		}
		hole := &Placeholder{Open: "<", Close: ">", Fill: '0', Size: 8}
		ref := u.New(NewDict(Name("Weird name"), Text("Perché (€)"), Name("Hole"), hole))
		page.Set("Extra", ref)
		if err := u.Append(page, "Annots", ref); err != nil {
			t.Fatal(err)
		}
		tail, err := u.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if string(tail[hole.Offset:hole.Offset+10]) != "<00000000>" {
			t.Errorf("%s: placeholder at %q", name, tail[hole.Offset:hole.Offset+10])
		}
		if styled := bytes.Contains(tail, []byte("/XRef")); styled != (name == "modern") {
			t.Errorf("%s: written in another style", name)
		}
		d2 := open(t, append(append([]byte{}, b...), tail...), Options{})
		if len(d2.Revisions()) != 2 {
			t.Errorf("%s: %d revisions", name, len(d2.Revisions()))
		}
		p2, err := d2.Page(0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		extra, err := d2.Dict(p2.Dict.Get("Extra"))
		if err != nil || d2.Text(extra.Get("Weird name")) != "Perché (€)" {
			t.Errorf("%s: %v, %v", name, extra, err)
		}
		if !Equal(d2.Trailer().Get("ID"), d.Trailer().Get("ID")) {
			t.Errorf("%s: ID changed", name)
		}
	}
}

func TestFilters(t *testing.T) {
	plain := bytes.Repeat([]byte("abcabcabd\x00\x00\x00\x00"), 40)
	cases := map[string]struct {
		data  []byte
		parms *Dict
		want  []byte
	}{
		"FlateDecode":     {[]byte(deflate(plain)), nil, plain},
		"ASCIIHexDecode":  {[]byte("61 62 6>"), nil, []byte("ab`")},
		"ASCII85Decode":   {[]byte("87cURD]i,\"Ebo80~>"), nil, []byte("Hello World!")},
		"RunLengthDecode": {[]byte{2, 'a', 'b', 'c', 254, 'x', 128, 'z'}, nil, []byte("abcxxx")},
		"LZWDecode":       {[]byte{0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01}, nil, []byte("-----A---B")},
	}
	d := &Document{work: newWork(context.Background())}
	for name, c := range cases {
		got, _, err := d.filter(Name(name), c.parms, c.data)
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	rows := []byte{0, 1, 2, 3, 1, 1, 1, 1, 2, 1, 1, 1, 3, 1, 1, 1, 4, 1, 1, 1}
	parms := NewDict(Name("Predictor"), Integer(15), Name("Columns"), Integer(3))
	got, _, err := d.filter("FlateDecode", parms, []byte(deflate(rows)))
	if want := []byte{1, 2, 3, 1, 2, 3, 2, 3, 4, 2, 3, 4, 3, 4, 5}; err != nil || !bytes.Equal(got, want) {
		t.Errorf("PNG predictors: %v, %v", got, err)
	}
	bomb := []byte(deflate(make([]byte, 200<<20)))
	if _, _, err := d.filter("FlateDecode", nil, bomb); !errors.Is(err, errTooLarge) {
		t.Errorf("bomb: %v", err)
	}
}

func TestTextAndDates(t *testing.T) {
	for _, s := range []string{"", "plain", "già €", "日本", "a\nb"} {
		if got := DecodeText(Text(s).Bytes); got != s {
			t.Errorf("%q: %q", s, got)
		}
	}
	if got := DecodeText([]byte("\x80 caf\xe9")); got != "• café" {
		t.Errorf("PDFDocEncoding: %q", got)
	}
	rome := time.FixedZone("", 3600)
	for in, want := range map[string]time.Time{
		"D:20260301120000+01'00'": time.Date(2026, 3, 1, 12, 0, 0, 0, rome),
		"D:20260301120000Z":       time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		"D:2026":                  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"20260301120000-0330":     time.Date(2026, 3, 1, 15, 30, 0, 0, time.UTC),
	} {
		got, ok := ParseDate(in)
		if !ok || !got.Equal(want) {
			t.Errorf("%s: %v %v", in, got, ok)
		}
		if again, ok := ParseDate(string(Date(got).Bytes)); !ok || !again.Equal(want) {
			t.Errorf("%s: written as %s", in, Date(got).Bytes)
		}
	}
	for _, bad := range []string{"", "D:", "D:2026130", "yesterday", "D:20261301000000Z"} {
		if got, ok := ParseDate(bad); ok {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestEncrypted opens and updates what qpdf encrypted in six ways.
func TestEncrypted(t *testing.T) {
	qpdf, err := exec.LookPath("qpdf")
	if err != nil {
		t.Skip("SKIPPED: no qpdf")
	}
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.pdf")
	f := newFile().body().object(5, "<</Title(Titolo segreto)>>")
	f.table("/Size 6/Root 1 0 R/Info 5 0 R/ID[<AA><BB>]")
	if err := os.WriteFile(plain, f.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"RC4-40":            {"--encrypt", "u", "o", "40", "--"},
		"RC4-128":           {"--encrypt", "u", "o", "128", "--use-aes=n", "--"},
		"AES-128":           {"--encrypt", "u", "o", "128", "--use-aes=y", "--"},
		"AES-128, metadata": {"--encrypt", "u", "o", "128", "--use-aes=y", "--cleartext-metadata", "--"},
		"AES-256 R5":        {"--encrypt", "u", "o", "256", "--force-R5", "--"},
		"AES-256 R6":        {"--encrypt", "u", "o", "256", "--"},
		"object streams":    {"--object-streams=generate", "--encrypt", "u", "o", "256", "--"},
		"Unicode":           {"--encrypt", "pä€ ß", "o", "256", "--"},
		"empty":             {"--encrypt", "", "o", "256", "--"},
	} {
		out := filepath.Join(dir, "out.pdf")
		cmd := exec.Command(qpdf, append([]string{"--allow-weak-crypto"}, append(args, plain, out)...)...)
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", name, err, msg)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		user := map[string]string{"Unicode": "pä€ ß", "empty": ""}
		pw, ok := user[name]
		if !ok {
			pw = "u"
		}
		if _, err := Open(bytes.NewReader(b), Options{Password: "wrong", Repair: true}); !errors.Is(err, ades.ErrPassword) {
			t.Errorf("%s: wrong password: %v", name, err)
		}
		for _, pw := range []string{pw, "o"} {
			d := open(t, b, Options{Password: pw})
			info, err := d.Dict(d.Trailer().Get("Info"))
			if err != nil || d.Text(info.Get("Title")) != "Titolo segreto" {
				t.Errorf("%s, password %q: %v %v", name, pw, info, err)
			}
			u := d.Update()
			ref := u.New(NewDict(Name("Note"), Text("nuovo"), Name("Data"), u.New(&Stream{Dict: &Dict{}, Data: []byte("data")})))
			tail, err := u.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(tail, []byte("nuovo")) {
				t.Errorf("%s: written in clear", name)
			}
			d = open(t, append(append([]byte{}, b...), tail...), Options{Password: pw})
			note, err := d.Dict(ref)
			if err != nil || d.Text(note.Get("Note")) != "nuovo" {
				t.Errorf("%s: %v, %v", name, note, err)
				continue
			}
			o, _ := d.Resolve(note.Get("Data"))
			if data, err := d.Data(o.(*Stream)); string(data) != "data" || err != nil {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
	}
}

// walk reads everything that a document holds.
func walk(d *Document) {
	_, _ = d.PageCount()
	_, _ = d.Page(0)
	_, _ = d.Page(-1)
	for _, r := range d.Revisions() {
		old, err := d.At(r.Number)
		if err != nil {
			continue
		}
		for i, def := range d.Defined(r.Number) {
			if i > 500 {
				break
			}
			o, err := old.Get(def.Ref)
			if s, ok := o.(*Stream); ok && err == nil {
				_, _ = old.Data(s)
			}
		}
	}
	u := d.Update()
	u.New(NewDict(Name("A"), Integer(1)))
	_, _ = u.Bytes()
}

// TestHostile changes bytes at random: nothing may panic, and what opens can
// be walked.
func TestHostile(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	seeds := [][]byte{classic(), modern(), hybrid()}
	for range 3000 {
		for _, seed := range seeds {
			b := bytes.Clone(seed)
			for range 1 + rnd.IntN(6) {
				b[rnd.IntN(len(b))] = byte(rnd.IntN(256))
			}
			if d, err := Open(bytes.NewReader(b), Options{Repair: true}); err == nil {
				walk(d)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, b := range [][]byte{classic(), modern(), hybrid(), append([]byte("x\n"), classic()...)} {
		f.Add(b)
		f.Add(b[:len(b)-40])
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		if d, err := Open(bytes.NewReader(b), Options{Repair: true}); err == nil {
			walk(d)
		}
	})
}

// Defined lists the objects that revision n defines anew or frees, in order of
// their numbers.
func (d *Document) Defined(n int) []Definition {
	r := d.revisions[n-1]
	seen := make(map[int]bool)
	var out []Definition
	for _, s := range d.sections[r.first : r.first+r.count] {
		for _, part := range []*section{s, s.hybrid} {
			if part == nil {
				continue
			}
			for _, run := range part.runs {
				for i := range run.entries {
					if num := run.first + i; !seen[num] {
						seen[num] = true
						e, _ := s.lookup(num)
						out = append(out, definition(num, e))
					}
				}
			}
		}
	}
	return out
}

// What Go's own writer of LZW packs is unpacked, whatever repeats in it.
func TestLZW(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []int{1, 2, 3, 17, 256} {
		for _, size := range []int{0, 1, 2, 3, 100, 5000, 300_000} {
			want := make([]byte, size)
			for i := range want {
				want[i] = byte(random.IntN(alphabet))
			}
			var packed bytes.Buffer
			w := lzw.NewWriter(&packed, lzw.MSB, 8)
			_, _ = w.Write(want)
			w.Close()
			got, odd, err := newWork(t.Context()).lzw(packed.Bytes(), false)
			if err != nil || odd != "" || !bytes.Equal(got, want) {
				t.Errorf("%d bytes of %d values: %q, %v", size, alphabet, odd, err)
			}
		}
	}
}

package asic

import (
	"archive/zip"
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
)

var clock = func() time.Time { return time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC) }

func file(name, content string) ades.File {
	return ades.File{Name: name, Source: bytes.NewReader([]byte(content))}
}

func sign(t testing.TB, a *adestest.Actor, files []ades.File, o Options) []byte {
	t.Helper()
	p := a.Signing(clock())
	d, err := Prepare(t.Context(), files, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return a.Finish(t, d, p)
}

func raise(t testing.TB, p *adestest.PKI, b []byte, l ades.Level) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Augment(context.Background(), bytes.NewReader(b), &out, ades.AugmentOptions{Level: l, Stamper: p.Unit, Gatherer: p, Time: clock()}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(t testing.TB, b []byte) *ades.Document {
	t.Helper()
	doc, err := Read(context.Background(), bytes.NewReader(b), ades.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func check(t testing.TB, doc *ades.Document, n int, level string) {
	t.Helper()
	if len(doc.Signatures) != n || len(doc.Problems) > 0 {
		t.Fatalf("%d signatures, want %d; problems %v", len(doc.Signatures), n, doc.Problems)
	}
	for _, s := range doc.Signatures {
		if s.Intact() != ades.Yes || len(s.Problems) > 0 || !s.ContentIsWhole {
			t.Errorf("%s: intact %v, whole %v, references %+v, problems %v", s.Path, s.Intact(), s.ContentIsWhole, s.References, s.Problems)
		}
		if got := Profile(s, doc, nil).Name; level != "" && got != level {
			t.Errorf("level %s, want %s", got, level)
		}
	}
	for _, ts := range doc.Timestamps {
		if ts.ImprintIntact != ades.Yes || ts.Signature.Intact() != ades.Yes {
			t.Errorf("%s: imprint %v, signature %v", ts.Path, ts.ImprintIntact, ts.Signature.Intact())
		}
	}
}

var kinds = []struct {
	name   string
	o      Options
	format ades.Format
	prefix string
}{
	{"ASiC-E XAdES", Options{}, ades.ASiCE, "XAdES-BASELINE-"},
	{"ASiC-S XAdES", Options{Simple: true}, ades.ASiCS, "XAdES-BASELINE-"},
	{"ASiC-E CAdES", Options{CAdES: true}, ades.ASiCE, "CAdES-BASELINE-"},
	{"ASiC-S CAdES", Options{Simple: true, CAdES: true}, ades.ASiCS, "CAdES-BASELINE-"},
}

func TestKindsAndLevels(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "good")
	for _, k := range kinds {
		for _, files := range [][]ades.File{
			{file("hello world.txt", "hello")},
			{file("a/b.xml", "<a/>"), file("\u00e8 &.bin", "\x00\x01"), file("empty", "")},
		} {
			t.Run(fmt.Sprintf("%s %d", k.name, len(files)), func(t *testing.T) {
				b := sign(t, a, files, k.o)
				doc := read(t, b)
				if doc.Format != k.format {
					t.Errorf("format %s", doc.Format)
				}
				check(t, doc, 1, k.prefix+"B")
				for l := ades.LevelT; l <= ades.LevelLTA; l++ {
					check(t, read(t, raise(t, p, b, l)), 1, k.prefix+l.String())
				}
				for l := ades.LevelT; l <= ades.LevelLTA; l++ {
					b = raise(t, p, b, l)
				}
				for range 2 {
					b = raise(t, p, b, ades.LevelLTA)
				}
				check(t, read(t, b), 1, k.prefix+"LTA")
			})
		}
	}
}

func TestParallel(t *testing.T) {
	p := adestest.Must(t, clock)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			b := sign(t, p.Actor(t, "good"), []ades.File{file("a.txt", "a")}, k.o)
			second := p.Actor(t, "second")
			params := second.Signing(clock())
			d, err := Parallel(t.Context(), bytes.NewReader(b), params, Options{})
			if err != nil {
				t.Fatal(err)
			}
			b = second.Finish(t, d, params)
			check(t, read(t, b), 2, k.prefix+"B")
			check(t, read(t, raise(t, p, b, ades.LevelLTA)), 2, k.prefix+"LTA")
		})
	}
}

// rewrite makes a container anew with changes.
func rewrite(t testing.TB, b []byte, change func(name string, content []byte) []byte, extra map[string]string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	put := func(name string, content []byte) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if content = change(f.Name, content); content != nil {
			put(f.Name, content)
		}
	}
	for name, content := range extra {
		put(name, []byte(content))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func keep(_ string, b []byte) []byte { return b }

func TestTampering(t *testing.T) {
	p := adestest.Must(t, clock)
	for _, k := range kinds {
		b := sign(t, p.Actor(t, "good"), []ades.File{file("a.txt", "hello")}, k.o)
		t.Run(k.name, func(t *testing.T) {
			changed := read(t, rewrite(t, b, func(n string, c []byte) []byte { return bytes.ReplaceAll(c, []byte("hello"), []byte("HELLO")) }, nil))
			if got := changed.Signatures[0].Intact(); got != ades.No {
				t.Errorf("changed file: intact %v", got)
			}
			missing := read(t, rewrite(t, b, func(n string, c []byte) []byte {
				if n == "a.txt" {
					return nil
				}
				return c
			}, nil))
			if got := missing.Signatures[0].Intact(); got != ades.Unknown {
				t.Errorf("missing file: intact %v", got)
			}
			added := read(t, rewrite(t, b, keep, map[string]string{"extra.txt": "not signed"}))
			if len(added.Problems) == 0 || added.Signatures[0].ContentIsWhole {
				t.Error("added file: not noticed")
			}
			twice := read(t, rewrite(t, b, keep, map[string]string{"a.txt": "other"}))
			fatal := false
			for _, pr := range twice.Signatures[0].Problems {
				fatal = fatal || pr.Fatal
			}
			if !fatal {
				t.Error("two entries of one name: not fatal")
			}
			broken := read(t, rewrite(t, b, func(n string, c []byte) []byte {
				if r := roleOf(n); r == roleXML || r == roleCMS {
					return []byte("<not a signature")
				}
				return c
			}, nil))
			if len(broken.Signatures) != 1 || !ades.Fatal(broken.Signatures[0].Problems) || broken.Signatures[0].Intact() == ades.Yes {
				t.Error("a signature file that cannot be read is not a broken signature")
			}
		})
	}
}

func TestMimetypeAtItsPlace(t *testing.T) {
	p := adestest.Must(t, clock)
	b := sign(t, p.Actor(t, "p256"), []ades.File{file("a", "a")}, Options{})
	if got := string(b[30 : 38+len(MediaTypeE)]); got != "mimetype"+MediaTypeE {
		t.Errorf("at offset 30: %q", got)
	}
	if f, ok := Detect(bytes.NewReader(b)); !ok || f != ades.ASiCE {
		t.Errorf("Detect: %s, %v", f, ok)
	}
}

func TestBomb(t *testing.T) {
	var bomb bytes.Buffer
	w := zip.NewWriter(&bomb)
	f, err := w.Create("zeros")
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 64 {
		if _, err := f.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := open(t.Context(), bytes.NewReader(bomb.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	c.budget.Store(1 << 20)
	if _, err := c.entries[0].digest(crypto.SHA256); !errors.Is(err, errBomb) {
		t.Errorf("error %v, want errBomb", err)
	}
}

func TestSourceGoesBack(t *testing.T) {
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	f, err := w.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789", 1000)
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := open(t.Context(), bytes.NewReader(z.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{5000, 3, 9990, 0, 9999, 4096} {
		b := make([]byte, 10)
		n, err := c.entries[0].ReadAt(b, off)
		want := text[off:min(off+10, int64(len(text)))]
		if string(b[:n]) != want || (n < 10) != errors.Is(err, io.EOF) {
			t.Errorf("at %d: %q, %v, want %q", off, b[:n], err, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	p := adestest.Must(t, clock)
	s := p.Actor(t, "p256").Signing(clock())
	for _, name := range []string{"META-INF/x", "mimetype", "meta-inf/signatures.xml", "a\nb"} {
		if _, err := Prepare(t.Context(), []ades.File{file(name, "x")}, s, Options{}); err == nil {
			t.Errorf("name %q was taken", name)
		}
	}
	var bad *ades.MalformedError
	if _, err := Read(context.Background(), bytes.NewReader([]byte("not a zip")), ades.ReadOptions{}); !errors.As(err, &bad) {
		t.Errorf("error %v, want a MalformedError", err)
	}
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	if _, err := w.Create("a"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(context.Background(), bytes.NewReader(z.Bytes()), ades.ReadOptions{}); !errors.Is(err, ErrNotContainer) {
		t.Errorf("error %v, want ErrNotContainer", err)
	}
}

func TestNames(t *testing.T) {
	got, err := cleanNames([]ades.File{file("a.txt", ""), file("A.txt", ""), file("", ""), file("../../b", ""), file(`c\d`, "")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.txt", "A-2.txt", "document-3", "b", "c/d"}
	for i := range want {
		if got[i].Name != want[i] {
			t.Errorf("%d: %q, want %q", i, got[i].Name, want[i])
		}
	}
}

func FuzzRead(f *testing.F) {
	p, err := adestest.New(clock, "")
	if err != nil {
		f.Fatal(err)
	}
	a, err := p.Enter("p256")
	if err != nil {
		f.Fatal(err)
	}
	for _, k := range kinds {
		f.Add(sign(f, a, []ades.File{file("a.txt", "a")}, k.o))
	}
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

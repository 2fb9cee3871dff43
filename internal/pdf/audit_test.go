package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/limits"
)

func slipsOf(t testing.TB, b []byte) []Slip {
	t.Helper()
	list, err := open(t, b, Options{}).Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOneMeaning(t *testing.T) {
	for name, b := range map[string][]byte{
		"classic": classic(), "modern": modern(), "hybrid": hybrid(),
		"white space at the end": append(classic(), bytes.Repeat([]byte(" "), 800)...),
	} {
		if list := slipsOf(t, b); len(list) > 0 {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// TestLinearised: poppler follows a linearisation dictionary from when the file has its length, so
// blanks behind a signature may show another document.
func TestLinearised(t *testing.T) {
	far := strings.Repeat("%"+strings.Repeat("x", 98)+"\n", 11)
	for name, c := range map[string]struct {
		head string
		end  int64 // of the slip
	}{
		"at the beginning":    {"9 0 obj <</Linearized 1/L 2000>> endobj\n", 2000},
		"far behind":          {far + "9 0 obj <</Linearized 1/L 2000>> endobj\n", 2000},
		"of another length":   {"9 0 obj <</Linearized 1/L 2001>> endobj\n", 0},
		"that cannot be read": {far + "9 0 obj <</Linearized 1 x/L 2000>> endobj\n", 1990},
	} {
		f := newFile()
		f.WriteString(c.head)
		f.body().table("/Size 5/Root 1 0 R")
		b := append(f.Bytes(), bytes.Repeat([]byte("\n"), 2000-f.Len())...)
		var end int64
		for _, s := range slipsOf(t, b) {
			if s.Kind == slipLinearised {
				end = s.End
			}
		}
		if end > 1000 && end < 2000 {
			end = 1990 // in the first revision
		}
		if end != c.end {
			t.Errorf("%s: the slip ends at %d, want %d", name, end, c.end)
		}
	}
}

// TestSlips wants the place and the reason to be named.
func TestSlips(t *testing.T) {
	object := func(old, changed string) []byte {
		f := newFile().body()
		b := strings.Replace(f.String(), old, changed, 1)
		f.Reset()
		f.WriteString(b)
		for n := range f.offsets {
			f.offsets[n] = strings.Index(b, fmt.Sprintf("\n%d 0 obj", n)) + 1
		}
		f.table("/Size 5/Root 1 0 R")
		return f.Bytes()
	}
	for _, c := range []struct {
		name, where, text string
		file              []byte
	}{
		{"key", "object 3 0", "/Rotate twice", object("/Rotate 90", "/Rotate 90/Rotate 0")},
		{"escaped key", "object 3 0", "/Rotate twice", object("/Rotate 90", "/R#6ftate 0/Rotate 90")},
		{"Length", "object 4 0", "Length is wrong", object("/Length 5", "/Length 3")},
		{"no Length", "object 4 0", "without a valid Length", object("/Length 5", "/L 5")},
		{"stream line", "object 4 0", "new line", object("stream\n0", "stream\r0")},
		{"endobj", "object 2 0", "not closed", object("300]>>\nendobj", "300]>>\n")},
		{"number", "object 2 0", "word", object("200 300", "2-00 300")},
		{"hidden", "offset", "no object", object("endobj\n3 0 obj", "endobj\n9 0 obj null endobj\n3 0 obj")},
		{"comment", "offset", "no table names", object("endobj\n3 0 obj", "endobj\n% 9 0 obj null endobj\n3 0 obj")},
		{"digits", "offset", "no object", bytes.Replace(classic(), []byte("endobj\n3 0 obj"), []byte("endobj93 0 obj"), 1)},
		{"tail", "the end", "startxref", append(classic(), bytes.Repeat([]byte(" "), 2000)...)},
		{"after the end", "offset", "no object", append(classic(), "hello\n"...)},
	} {
		list := slipsOf(t, c.file)
		if len(list) == 0 || !strings.Contains(list[0].Where(), c.where) || !strings.Contains(list[0].String(), c.text) {
			t.Errorf("%s: %v", c.name, list)
		}
	}
}

// TestComesAndGoes: a reference to nothing that a later revision fills, or
// whose target a later revision takes away, concerns who signed before.
func TestComesAndGoes(t *testing.T) {
	f := newFile()
	f.object(1, "<</Type/Catalog/Pages 2 0 R/X 7 0 R>>")
	f.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	f.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]>>")
	prev := f.table("/Size 8/Root 1 0 R")
	f.object(7, "(filled)")
	filled := f.table(fmt.Sprintf("/Size 8/Root 1 0 R/Prev %d", prev))
	list := slipsOf(t, f.Bytes())
	if len(list) != 1 || list[0].Until != 1 || !strings.Contains(list[0].String(), "only revision 2 defines") {
		t.Errorf("filled: %v", list)
	}
	at := f.Len()
	fmt.Fprintf(f, "xref\n3 1\n0000000000 00001 f \ntrailer\n<</Size 8/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", filled, at)
	list = slipsOf(t, f.Bytes())
	if len(list) != 2 || list[1].Until != 2 || !strings.Contains(list[1].String(), "takes away") {
		t.Errorf("taken away: %v", list)
	}
}

// TestBudget: what inflates beyond the budget is refused with ErrBudget, and
// what fits is returned to it.
func TestBudget(t *testing.T) {
	f := newFile()
	f.object(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.object(2, "<</Type/Pages/Kids[]/Count 0>>")
	z := deflate(bytes.Repeat([]byte{' '}, 4<<20))
	f.object(3, fmt.Sprintf("<</Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream", len(z), z))
	f.table("/Size 4/Root 1 0 R")
	for _, c := range []struct {
		bytes int64
		fits  bool
	}{{1 << 20, false}, {32 << 20, true}} {
		budget := limits.NewBudget(c.bytes)
		d := open(t, f.Bytes(), Options{Context: limits.WithBudget(t.Context(), budget)})
		o, err := d.Get(Ref{Num: 3})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Data(o.(*Stream))
		if (err == nil) != c.fits || err != nil && !errors.Is(err, limits.ErrBudget) || budget.Exceeded() == c.fits {
			t.Errorf("%d bytes: %v, exceeded %v", c.bytes, err, budget.Exceeded())
		}
		if left := budget.Left(); c.fits && c.bytes-left > 1<<20 {
			t.Errorf("%d bytes are still held", c.bytes-left)
		}
	}
}

// TestInterrupted: a context that is done ends the reading.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(bytes.NewReader(classic()), Options{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("open: %v", err)
	}
}

func FuzzAudit(f *testing.F) {
	for _, b := range [][]byte{classic(), modern(), hybrid(), append([]byte("x\n"), classic()...)} {
		f.Add(b)
		f.Add(b[:len(b)-40])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		budget := limits.NewBudget(64 << 20)
		d, err := Open(bytes.NewReader(b), Options{Repair: true, Context: limits.WithBudget(t.Context(), budget)})
		if err != nil {
			return
		}
		if _, err := d.Audit(t.Context()); err != nil && !errors.Is(err, limits.ErrBudget) {
			t.Error(err)
		}
	})
}

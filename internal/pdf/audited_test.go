package pdf

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// auditedAt is the audit of the first bytes of a file; nil where they are no file
// with one meaning.
func auditedAt(t *testing.T, b []byte) *Audited {
	d, err := Open(bytes.NewReader(b), Options{})
	if err != nil {
		return nil
	}
	if _, err := d.Audit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d.Audited()
}

// sameVerdict holds the audit that goes on from an earlier one against that of
// the whole file, and says whether it did go on.
func sameVerdict(t *testing.T, whole []byte, before *Audited) (wentOn, clean bool) {
	t.Helper()
	full, err := Open(bytes.NewReader(whole), Options{Repair: true})
	if err != nil {
		return false, false
	}
	short, err := Open(bytes.NewReader(whole), Options{Repair: true, Audited: before})
	if err != nil {
		t.Fatal(err)
	}
	wentOn = short.Repaired() == nil && before.updates(short)
	want, err1 := full.Audit(t.Context())
	got, err2 := short.Audit(t.Context())
	if err1 != nil || err2 != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%v, %v: the whole has %v, going on finds %v\n%q", err1, err2, want, got, whole)
	}
	if a, b := full.Audited(), short.Audited(); !reflect.DeepEqual(a, b) {
		t.Fatalf("what is left is %v, and %v", a, b)
	}
	return wentOn, len(want) == 0
}

// An audit that goes on from one of the file without its updates finds what an
// audit of the whole finds, in files with one or two deviations anywhere.
func TestAuditGoesOn(t *testing.T) {
	t.Parallel()
	var on, clean, found int
	for seed := range uint64(3000) {
		m := &mutant{rnd: rand.New(rand.NewPCG(seed, 7)), odds: 40}
		b := m.file()
		d, err := Open(bytes.NewReader(b), Options{})
		if err != nil {
			continue
		}
		for _, r := range d.Revisions() {
			if r.End == 0 || r.End >= int64(len(b)) {
				continue
			}
			if before := auditedAt(t, b[:r.End]); before != nil {
				wentOn, is := sameVerdict(t, b, before)
				switch {
				case wentOn && is:
					on++
				case wentOn:
					found++
				case is:
					clean++
				}
			}
		}
	}
	t.Logf("went on: %d clean, %d with findings; read whole and clean: %d", on, found, clean)
	if on < 300 || found < 50 {
		t.Errorf("it went on in %d clean files and %d others: the test is of little use", on, found)
	}
}

// What an update does to objects before it is found although they are not read
// again.
func TestUpdatesThatReachBack(t *testing.T) {
	base := func() (*file, int) {
		f := newFile()
		f.object(1, "<</Type/Catalog/Pages 2 0 R/X 7 0 R/Y 5 1 R>>")
		f.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
		f.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]/Contents 4 0 R>>")
		f.object(4, "<</Length 6 0 R>>\nstream\n0 0 m\nendstream")
		f.object(6, "5")
		return f, f.table("/Size 9/Root 1 0 R")
	}
	for name, c := range map[string]struct {
		change func(*file)
		plain  bool // nothing before it is touched
	}{
		"a new object":                 {func(f *file) { f.object(8, "null") }, true},
		"an object in place":           {func(f *file) { f.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]>>") }, true},
		"a reference is filled":        {func(f *file) { f.object(7, "null") }, false},
		"of another generation":        {func(f *file) { f.object(5, "null") }, false},
		"a length":                     {func(f *file) { f.object(6, "4") }, false},
		"an object that was there":     {func(f *file) { f.offsets[8] = bytes.Index(f.Bytes(), []byte("\n3 0 obj")) + 1 }, false},
		"a key twice":                  {func(f *file) { f.object(8, "<</A 1/A 2>>") }, true},
		"a reference to what is gone":  {func(f *file) { f.object(8, "[7 0 R]") }, true},
		"bytes that belong to nothing": {func(f *file) { f.WriteString("hello\n"); f.object(8, "null") }, true},
	} {
		f, prev := base()
		before := auditedAt(t, bytes.Clone(f.Bytes()))
		if before == nil {
			t.Fatal("the file has two meanings before any update")
		}
		c.change(f)
		f.table(fmt.Sprintf("/Size 9/Root 1 0 R/Prev %d", prev))
		if wentOn, _ := sameVerdict(t, f.Bytes(), before); wentOn != c.plain {
			t.Errorf("%s: went on %v", name, wentOn)
		}
	}
}

// A linearisation may state the length that the file has only with its update,
// itself or by an object that the update replaces.
func TestLinearisedForItsUpdate(t *testing.T) {
	for name, c := range map[string]struct {
		stated string // %d: the length with the update
		update func(f *file, whole int)
		wentOn bool
	}{
		"of the whole":    {"%08d", func(f *file, _ int) { f.object(8, "null") }, true},
		"of another file": {"1%07d", func(f *file, _ int) { f.object(8, "null") }, true},
		"by an object":    {"8 0 R %%%08d\n", func(f *file, whole int) { f.object(8, fmt.Sprintf("%08d", whole)) }, false},
	} {
		make := func(whole int) (*file, []byte) {
			f := newFile()
			f.object(9, "<</Linearized 1/L "+fmt.Sprintf(c.stated, whole)+"/O 3/N 1>>")
			if !c.wentOn {
				f.object(8, "00000001")
			}
			f.body()
			prev := f.table("/Size 10/Root 1 0 R")
			before := bytes.Clone(f.Bytes())
			c.update(f, whole)
			f.table(fmt.Sprintf("/Size 10/Root 1 0 R/Prev %d", prev))
			return f, before
		}
		f, _ := make(1)
		f, before := make(f.Len())
		known := auditedAt(t, before)
		if known == nil {
			t.Fatalf("%s: the file has two meanings before its update", name)
		}
		wentOn, clean := sameVerdict(t, f.Bytes(), known)
		if wentOn != c.wentOn || clean != (name == "of another file") {
			t.Errorf("%s: went on %v, clean %v", name, wentOn, clean)
		}
	}
}

package xades

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"rogito.dev/rogito/ades"
)

// corpusCase is a line of the corpus' manifest.
type corpusCase struct {
	ID, File, Format, Agreement, Class string
	Control                            bool
	Inputs                             struct {
		Detached []struct{ Name, File string } `json:"detached"`
	}
	Expect struct {
		Integrity  string
		Signatures *int
		Valid      *bool `json:"may_be_reported_valid"`
		Scope      string
	}
}

func corpusDir(t testing.TB) string {
	t.Helper()
	root := os.Getenv("ROGITO_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(root, "corpus")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED: no corpus: %v", err)
	}
	return dir
}

func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// integrity sums up a document in the words of the manifest.
func integrity(doc *ades.Document) (string, int) {
	var yes, no, unknown, count int
	var walk func([]*ades.Signature)
	walk = func(list []*ades.Signature) {
		for _, s := range list {
			count++
			intact := s.Intact()
			for _, p := range s.Problems {
				if p.Fatal {
					intact = ades.No
				}
			}
			switch intact {
			case ades.Yes:
				yes++
			case ades.No:
				no++
			default:
				unknown++
			}
			walk(s.CounterSignatures)
		}
	}
	walk(doc.Signatures)
	switch {
	case count == 0:
		return "no-signature", 0
	case yes == count:
		return "intact", count
	case no == count:
		return "broken", count
	case unknown == count:
		return "undetermined", count
	}
	return "mixed", count
}

func (c corpusCase) read(t testing.TB, dir string) (*ades.Document, error) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, c.File))
	if err != nil {
		t.Fatal(err)
	}
	return c.readBytes(t, dir, b)
}

func (c corpusCase) readBytes(t testing.TB, dir string, b []byte) (*ades.Document, error) {
	t.Helper()
	var files []ades.File
	for _, d := range c.Inputs.Detached {
		content, err := os.ReadFile(filepath.Join(dir, d.File))
		if err != nil {
			t.Fatal(err)
		}
		name := d.Name
		if name == "" {
			name = filepath.Base(d.File)
		}
		files = append(files, ades.File{Name: name, Source: bytes.NewReader(content)})
	}
	return Read(context.Background(), bytes.NewReader(b), ades.Reading{Detached: files})
}

// divergences are the cases in which we say something else, and why.
var divergences = map[string]string{
	"signxml-xmldsig-7d2b412c": "names its key by a digest of a certificate that is not there",
}

func TestCorpus(t *testing.T) {
	dir := corpusDir(t)
	agree, total := 0, 0
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl")) {
		if c.Format != "XAdES" && c.Format != "XMLDSig" || divergences[c.ID] != "" {
			continue
		}
		total++
		doc, err := c.read(t, dir)
		got, n := "refuse", 0
		if err == nil {
			got, n = integrity(doc)
		}
		if !same(got, c.Expect.Integrity) || err == nil && c.Expect.Signatures != nil && n != *c.Expect.Signatures {
			t.Errorf("%s (%s): %s with %d signatures, want %s with %v: %v", c.ID, c.Agreement, got, n, c.Expect.Integrity, deref(c.Expect.Signatures), err)
			if doc != nil {
				for _, s := range doc.Signatures {
					t.Logf("   value %v, refs %v, problems %v", s.ValueIntact, details(s), s.Problems)
				}
			}
			continue
		}
		agree++
	}
	t.Logf("%d of %d agree", agree, total)
	if total < 90 {
		t.Errorf("only %d cases", total)
	}
}

// same compares verdicts. Data that is missing makes a signature undetermined
// with us and with DSS, broken in the manifest; neither is ever valid.
func same(got, want string) bool {
	notIntact := map[string]bool{"broken": true, "undetermined": true, "refuse": true}
	return got == want || notIntact[got] && notIntact[want]
}

func TestCorpusLevels(t *testing.T) {
	dir := corpusDir(t)
	type verdict struct {
		ID         string
		Signatures []struct{ Level string }
	}
	levels := map[string]verdict{}
	for _, v := range lines[verdict](t, filepath.Join(dir, "dss.jsonl")) {
		levels[v.ID] = v
	}
	agree, total := 0, 0
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl")) {
		if c.Format != "XAdES" {
			continue
		}
		doc, err := c.read(t, dir)
		want := levels[c.ID].Signatures
		if err != nil || len(doc.Signatures) == 0 || len(want) == 0 {
			continue
		}
		total++
		// Whether revocation data is complete is for the judge; here only the
		// form is compared, so LT and above may be T to DSS.
		got := Level(doc.Signatures[0], doc, nil)
		if got == want[0].Level || want[0].Level == Level(doc.Signatures[0], doc, func(...[]byte) bool { return false }) {
			agree++
		} else {
			t.Logf("%s: %s, DSS says %s", c.ID, got, want[0].Level)
		}
	}
	t.Logf("%d of %d levels agree", agree, total)
	if agree*100 < total*95 {
		t.Errorf("only %d of %d levels agree", agree, total)
	}
}

func TestAttacks(t *testing.T) {
	dir := corpusDir(t)
	total := 0
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "attacks", "manifest.jsonl")) {
		if filepath.Ext(c.File) != ".xml" {
			continue
		}
		total++
		doc, err := c.read(t, dir)
		got, n := "refuse", 0
		if err == nil {
			got, n = integrity(doc)
		}
		if got == "intact" && c.Expect.Valid != nil && !*c.Expect.Valid {
			t.Errorf("%s: intact", c.ID)
		}
		if doc != nil && got == "intact" && c.Expect.Scope != "" {
			for _, s := range doc.Signatures {
				if s.ContentIsWhole {
					t.Errorf("%s: said to cover everything", c.ID)
				}
			}
		}
		t.Logf("%s: %s, %d signatures", c.ID, got, n)
	}
	if total < 15 {
		t.Errorf("only %d attacks", total)
	}
}

func details(s *ades.Signature) []string {
	var out []string
	for _, r := range s.References {
		if r.Intact != ades.Yes {
			out = append(out, r.Kind+" "+r.URI+" "+r.Detail)
		}
	}
	return out
}

func deref(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

// TestMutations changes single bytes of good files; none may stay intact.
func TestMutations(t *testing.T) {
	dir := corpusDir(t)
	type mutation struct {
		ID, Base, File string
		Edit           struct {
			Offset   int
			Old, New byte
		}
	}
	formats := map[string]corpusCase{}
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl")) {
		formats[c.ID] = c
	}
	total := 0
	for _, m := range lines[mutation](t, filepath.Join(dir, "mutations.jsonl")) {
		c, ok := formats[m.Base]
		if !ok || c.Format != "XAdES" && c.Format != "XMLDSig" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, m.File))
		if err != nil {
			t.Fatal(err)
		}
		if b[m.Edit.Offset] != m.Edit.Old {
			t.Fatalf("%s: not the byte it should be", m.ID)
		}
		b[m.Edit.Offset] = m.Edit.New
		total++
		doc, err := c.readBytes(t, dir, b)
		if err != nil {
			continue
		}
		if got, _ := integrity(doc); got == "intact" {
			t.Errorf("%s: intact", m.ID)
		}
	}
	t.Logf("%d mutations", total)
	if total < 20 {
		t.Errorf("only %d mutations", total)
	}
}

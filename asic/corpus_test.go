package asic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
)

// corpusCase is a line of the corpus' manifest.
type corpusCase struct {
	ID, File, Format, Agreement, Class string
	Control                            bool
	Expect                             struct {
		Integrity  string
		Signatures *int
		Valid      *bool `json:"may_be_reported_valid"`
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
	tally := map[ades.Tri]int{}
	count := 0
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
			tally[intact]++
			walk(s.CounterSignatures)
		}
	}
	walk(doc.Signatures)
	switch count {
	case 0:
		return "no-signature", 0
	case tally[ades.Yes]:
		return "intact", count
	case tally[ades.No]:
		return "broken", count
	case tally[ades.Unknown]:
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
	return Read(context.Background(), bytes.NewReader(b), ades.Reading{})
}

// same compares verdicts. Data that is missing makes a signature undetermined
// with us and with DSS, broken in the manifest; neither is ever valid.
func same(got, want string) bool {
	notIntact := map[string]bool{"broken": true, "undetermined": true, "refuse": true}
	return got == want || notIntact[got] && notIntact[want]
}

// divergences are the cases in which we say something else, and why.
var divergences = map[string]string{}

func TestCorpus(t *testing.T) {
	dir := corpusDir(t)
	agree, total := 0, 0
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl")) {
		if !strings.HasPrefix(c.Format, "ASiC") && c.Format != "ODF" || divergences[c.ID] != "" {
			continue
		}
		total++
		doc, err := c.read(t, dir)
		got, n := "refuse", 0
		switch {
		case err == nil:
			got, n = integrity(doc)
		case errors.Is(err, ErrNotContainer):
			got = "no-signature"
		}
		if !same(got, c.Expect.Integrity) || c.Expect.Signatures != nil && n != *c.Expect.Signatures {
			t.Errorf("%s %s (%s): %s with %d signatures, want %s: %v", c.ID, c.Format, c.Agreement, got, n, c.Expect.Integrity, err)
			if doc != nil {
				for _, s := range doc.Signatures {
					t.Logf("   %s value %v, refs %v, problems %v", s.Format, s.ValueIntact, details(s), s.Problems)
				}
			}
			continue
		}
		agree++
	}
	t.Logf("%d of %d agree", agree, total)
	if total < 150 {
		t.Errorf("only %d cases", total)
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
		want := levels[c.ID].Signatures
		if !strings.HasPrefix(c.Format, "ASiC") || len(want) == 0 {
			continue
		}
		doc, err := c.read(t, dir)
		if err != nil || len(doc.Signatures) == 0 {
			continue
		}
		total++
		s := doc.Signatures[0]
		yes, no := func(...[]byte) bool { return true }, func(...[]byte) bool { return false }
		if want[0].Level == Level(s, doc, yes) || want[0].Level == Level(s, doc, no) {
			agree++
		} else {
			t.Logf("%s: %s, DSS says %s", c.ID, Level(s, doc, yes), want[0].Level)
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
		switch filepath.Ext(c.File) {
		case ".asice", ".asics", ".odt", ".zip", ".sce", ".scs":
		default:
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
		t.Logf("%s: %s, %d signatures", c.ID, got, n)
	}
	if total < 8 {
		t.Errorf("only %d attacks", total)
	}
}

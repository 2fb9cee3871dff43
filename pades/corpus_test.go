package pades

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
	"rogito.dev/rogito/adestest"
)

// corpus is the folder of signed documents that other implementations judged.
func corpus(t testing.TB) string {
	root := os.Getenv("ROGITO_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(root, "corpus")
	if _, err := os.Stat(filepath.Join(dir, "manifest.jsonl")); err != nil {
		t.Skip("SKIPPED: no corpus; set ROGITO_SHARED to the folder that holds it")
	}
	return dir
}

func eachLine(t testing.TB, file string, f func(line []byte)) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		f(append([]byte{}, sc.Bytes()...))
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}

// integrity sums up a document in the corpus's words.
func integrity(doc *ades.Document, err error) string {
	if err != nil {
		return "refuse"
	}
	yes, no, unknown := 0, 0, 0
	for _, s := range doc.Signatures {
		switch s.Intact() {
		case ades.Yes:
			yes++
		case ades.No:
			no++
		default:
			unknown++
		}
	}
	switch n := len(doc.Signatures); {
	case n == 0:
		return "no-signature"
	case yes == n:
		return "intact"
	case yes > 0:
		return "mixed"
	case unknown > 0:
		return "undetermined"
	}
	return "broken"
}

type corpusCase struct {
	ID        string `json:"id"`
	File      string `json:"file"`
	Agreement string `json:"agreement"`
	Inputs    struct {
		Password string `json:"password"`
	} `json:"inputs"`
	Expect struct {
		Integrity  string `json:"integrity"`
		Signatures *int   `json:"signatures"`
		Valid      *bool  `json:"may_be_reported_valid"`
	} `json:"expect"`
	Edit *struct {
		Offset int64 `json:"offset"`
		New    byte  `json:"new"`
	} `json:"edit"`
}

func (c corpusCase) read(t *testing.T, dir string) (*ades.Document, error) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, c.File))
	if err != nil {
		t.Fatal(err)
	}
	if c.Edit != nil {
		b[c.Edit.Offset] = c.Edit.New
	}
	return Read(context.Background(), bytes.NewReader(b), ades.Reading{Password: c.Inputs.Password})
}

func pdfCases(t *testing.T, file string) []corpusCase {
	var out []corpusCase
	eachLine(t, file, func(line []byte) {
		var c corpusCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(strings.ToLower(c.File), ".pdf") {
			out = append(out, c)
		}
	})
	return out
}

// contested are the cases on which other implementations disagree, with our
// stance.
var contested = map[string]string{
	"dss-pades-00e823c8": "broken", // signed attributes are not in DER order
	"dss-pades-1b978c37": "broken",
	"dss-pades-4e2d4212": "undetermined", // digestAlgorithm holds a signature algorithm
	"dss-pades-a009c079": "mixed",
	"dss-pades-ff4bc55e": "broken",
}

func TestCorpus(t *testing.T) {
	dir := corpus(t)
	for _, c := range pdfCases(t, filepath.Join(dir, "manifest.jsonl")) {
		t.Run(c.ID, func(t *testing.T) {
			doc, err := c.read(t, dir)
			got := integrity(doc, err)
			want := c.Expect.Integrity
			if stance, ok := contested[c.ID]; ok && c.Agreement == "contested" {
				want = stance
			}
			if got != want {
				t.Errorf("integrity %s, want %s (%s): %v", got, want, c.Agreement, describe(doc, err))
			}
			if err == nil && c.Expect.Signatures != nil && len(doc.Signatures) != *c.Expect.Signatures {
				t.Errorf("%d signatures, want %d", len(doc.Signatures), *c.Expect.Signatures)
			}
		})
	}
}

// describe tells what is wrong without naming anybody.
func describe(doc *ades.Document, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, s := range doc.Signatures {
		for _, p := range s.Problems {
			out = append(out, p.Where+": "+p.Text)
		}
		for _, ref := range s.References {
			if ref.Intact != ades.Yes {
				out = append(out, ref.Kind+" "+ref.Detail)
			}
		}
		if s.ValueIntact != ades.Yes {
			out = append(out, "value not intact")
		}
	}
	return out
}

func TestCorpusMutations(t *testing.T) {
	dir := corpus(t)
	passwords := make(map[string]string)
	for _, c := range pdfCases(t, filepath.Join(dir, "manifest.jsonl")) {
		passwords[c.File] = c.Inputs.Password
	}
	for _, c := range pdfCases(t, filepath.Join(dir, "mutations.jsonl")) {
		c.Inputs.Password = passwords[c.File]
		doc, err := c.read(t, dir)
		if got := integrity(doc, err); got == "intact" && !changed(doc) {
			t.Errorf("%s: intact", c.ID)
		}
	}
}

// changed reports whether something was done to a signed document that its
// signatures do not permit.
func changed(doc *ades.Document) bool {
	for _, s := range doc.Signatures {
		for _, p := range s.Problems {
			if p.Fatal {
				return true
			}
		}
		for _, c := range s.PDF.Changes {
			if !c.Permitted {
				return true
			}
		}
	}
	return false
}

func TestCorpusAttacks(t *testing.T) {
	dir := corpus(t)
	for _, c := range pdfCases(t, filepath.Join(dir, "attacks", "manifest.jsonl")) {
		doc, err := c.read(t, dir)
		var malformed *ades.MalformedError
		if err != nil && !errors.As(err, &malformed) && !errors.Is(err, ades.ErrPassword) {
			t.Errorf("%s: %v", c.ID, err)
		}
		if c.Expect.Valid != nil && !*c.Expect.Valid && integrity(doc, err) == "intact" && !changed(doc) {
			t.Errorf("%s: may be taken for valid", c.ID)
		}
	}
}

// TestCorpusSignAgain adds a signature to every document of the corpus: what
// was there before keeps its verdict.
func TestCorpusSignAgain(t *testing.T) {
	dir := corpus(t)
	pki := adestest.Must(t, nil)
	a := pki.Actor(t, "p256")
	n := 0
	cases := append(pdfCases(t, filepath.Join(dir, "manifest.jsonl")), pdfCases(t, filepath.Join(dir, "attacks", "manifest.jsonl"))...)
	for _, c := range cases {
		before, err := c.read(t, dir)
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, c.File))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		o := Options{Signing: a.Signing(pki.Now()), Password: c.Inputs.Password}
		err = Sign(ctx, bytes.NewReader(b), &out, a.Key, o, ades.Raising{Level: ades.LevelLT, Stamper: pki.Unit, Sources: pki})
		var malformed *ades.MalformedError
		if errors.Is(err, ErrForbidden) || errors.As(err, &malformed) {
			t.Logf("%s: %v", c.ID, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		n++
		if folder := os.Getenv("ROGITO_KEEP"); folder != "" {
			if err := os.WriteFile(filepath.Join(folder, c.ID+".pdf"), out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		after, err := Read(ctx, bytes.NewReader(out.Bytes()), ades.Reading{Password: c.Inputs.Password})
		if err != nil || len(after.Signatures) != len(before.Signatures)+1 {
			t.Errorf("%s: %v, %d signatures after %d", c.ID, err, len(after.Signatures), len(before.Signatures))
			continue
		}
		verdicts := make(map[string]ades.Tri)
		for _, s := range after.Signatures {
			verdicts[s.ID] = s.Intact()
		}
		for _, s := range before.Signatures {
			if got, ok := verdicts[s.ID]; !ok || got != s.Intact() {
				t.Errorf("%s: signature %v is now %v", c.ID, s.Intact(), got)
			}
		}
		if last := after.Signatures[len(after.Signatures)-1]; last.Intact() != ades.Yes {
			t.Errorf("%s: the new signature is not intact: %v", c.ID, last.Problems)
		}
	}
	t.Logf("%d documents signed", n)
}

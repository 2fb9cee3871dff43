package pades

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/corpus"
)

// readCase reads a document of the corpus.
func readCase(t *testing.T, c corpus.Case) (*ades.Document, error) {
	t.Helper()
	return Read(t.Context(), c.Source(t), c.Reading(t))
}

// pdfs are the cases that are PDF documents.
func pdfs(cases []corpus.Case) []corpus.Case {
	return slices.DeleteFunc(cases, func(c corpus.Case) bool { return !strings.HasSuffix(strings.ToLower(c.File), ".pdf") })
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
	for _, c := range pdfs(corpus.Manifest(t)) {
		t.Run(c.ID, func(t *testing.T) {
			doc, err := readCase(t, c)
			got, n := corpus.Integrity(doc, err)
			want := c.Expect.Integrity
			if stance, ok := contested[c.ID]; ok && c.Agreement == "contested" {
				want = stance
			}
			if got != want {
				t.Errorf("integrity %s, want %s (%s): %s", got, want, c.Agreement, corpus.Describe(doc, err))
			}
			if err == nil && c.Expect.Signatures != nil && n != *c.Expect.Signatures {
				t.Errorf("%d signatures, want %d", n, *c.Expect.Signatures)
			}
		})
	}
}

func TestCorpusMutations(t *testing.T) {
	for _, c := range pdfs(corpus.Mutations(t)) {
		doc, err := readCase(t, c)
		if got, _ := corpus.Integrity(doc, err); got == "intact" && !changed(doc) {
			t.Errorf("%s: intact", c.ID)
		}
	}
}

// changed reports whether something was done to a signed document that its
// signatures do not permit.
func changed(doc *ades.Document) bool {
	if corpus.Deformed(doc) {
		return true
	}
	for _, s := range doc.Signatures {
		for _, c := range s.PDF.Changes {
			if !c.Permitted {
				return true
			}
		}
	}
	return false
}

func TestCorpusAttacks(t *testing.T) {
	for _, c := range pdfs(corpus.Attacks(t)) {
		doc, err := readCase(t, c)
		var malformed *ades.MalformedError
		if err != nil && !errors.As(err, &malformed) && !errors.Is(err, ades.ErrPassword) {
			t.Errorf("%s: %v", c.ID, err)
		}
		if got, _ := corpus.Integrity(doc, err); got == "intact" && c.Refused() && !changed(doc) {
			t.Errorf("%s: may be taken for valid", c.ID)
		}
	}
}

// TestCorpusSignAgain adds a signature to every document of the corpus: what
// was there before keeps its verdict.
func TestCorpusSignAgain(t *testing.T) {
	pki := adestest.Must(t, nil)
	a := pki.Actor(t, "p256")
	n := 0
	for _, c := range pdfs(append(corpus.Manifest(t), corpus.Attacks(t)...)) {
		before, err := readCase(t, c)
		if err != nil {
			continue
		}
		var out bytes.Buffer
		o := Options{Password: c.Inputs.Password}
		err = sign(ctx, c.Source(t), &out, a.Key, a.Signing(pki.Now()), o, ades.AugmentOptions{Level: ades.LevelLT, Stamper: pki.Unit, Gatherer: pki})
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
		after, err := Read(ctx, bytes.NewReader(out.Bytes()), ades.ReadOptions{Password: c.Inputs.Password})
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

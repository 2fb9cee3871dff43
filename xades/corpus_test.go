package xades

import (
	"path/filepath"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/corpus"
)

func readCase(t testing.TB, c corpus.Case) (*ades.Document, error) {
	t.Helper()
	return Read(t.Context(), c.Source(t), c.Reading(t))
}

// divergences are the cases in which we say something else, and why.
var divergences = map[string]string{
	"signxml-xmldsig-7d2b412c": "names its key by a digest of a certificate that is not there",
}

func TestCorpus(t *testing.T) {
	agree, total := 0, 0
	for _, c := range corpus.Manifest(t) {
		if !c.Is("XAdES", "XMLDSig") || divergences[c.ID] != "" {
			continue
		}
		total++
		doc, err := readCase(t, c)
		got, n := corpus.Integrity(doc, err)
		if got == "intact" && corpus.Deformed(doc) {
			got = "broken"
		}
		if !corpus.Same(got, c.Expect.Integrity) || err == nil && c.Expect.Signatures != nil && n != *c.Expect.Signatures {
			t.Errorf("%s (%s): %s with %d signatures, want %s: %s", c.ID, c.Agreement, got, n, c.Expect.Integrity, corpus.Describe(doc, err))
			continue
		}
		agree++
	}
	t.Logf("%d of %d agree", agree, total)
	if total < 90 {
		t.Errorf("only %d cases", total)
	}
}

func TestCorpusLevels(t *testing.T) {
	dss := corpus.DSS(t)
	agree, total := 0, 0
	for _, c := range corpus.Manifest(t) {
		if !c.Is("XAdES") {
			continue
		}
		doc, err := readCase(t, c)
		want := dss[c.ID].Signatures
		if err != nil || len(doc.Signatures) == 0 || len(want) == 0 {
			continue
		}
		total++
		// Whether revocation data is complete is for the judge; here only the
		// form is compared, so LT and above may be T to DSS.
		got := Profile(doc.Signatures[0], doc, nil).Name
		if got == want[0].Level || want[0].Level == Profile(doc.Signatures[0], doc, func(...[]byte) bool { return false }).Name {
			agree++
		} else {
			t.Errorf("%s: %s, DSS says %s", c.ID, got, want[0].Level)
		}
	}
	t.Logf("%d of %d levels agree", agree, total)
	if total < 80 {
		t.Errorf("only %d cases", total)
	}
}

func TestAttacks(t *testing.T) {
	total := 0
	for _, c := range corpus.Attacks(t) {
		if filepath.Ext(c.File) != ".xml" {
			continue
		}
		total++
		doc, err := readCase(t, c)
		got, n := corpus.Integrity(doc, err)
		valid := got == "intact" && !corpus.Deformed(doc)
		if valid && c.Refused() {
			t.Errorf("%s: intact", c.ID)
		}
		if valid && c.Expect.Scope != "" {
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

// TestMutations changes single bytes of good files; none may stay intact.
func TestMutations(t *testing.T) {
	total := 0
	for _, c := range corpus.Mutations(t) {
		if !c.Is("XAdES", "XMLDSig") {
			continue
		}
		total++
		doc, err := readCase(t, c)
		if got, _ := corpus.Integrity(doc, err); got == "intact" && !corpus.Deformed(doc) {
			t.Errorf("%s: intact", c.ID)
		}
	}
	t.Logf("%d mutations", total)
	if total < 20 {
		t.Errorf("only %d mutations", total)
	}
}

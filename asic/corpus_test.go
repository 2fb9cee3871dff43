package asic

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/corpus"
)

func readCase(t testing.TB, c corpus.Case) (*ades.Document, error) {
	t.Helper()
	return Read(t.Context(), c.Source(t), c.Reading(t))
}

// divergences are the containers that we refuse and others do not;
// docs/divergences.md tells why.
var divergences = map[string]string{
	"dss-asic-e-cades-819be425":  "the CMS carries content of its own",
	"dd4j-asic-s-xades-a316e603": "an ASiC-S with two data files",
	"dd4j-asic-e-xades-b0aad466": "the signature names a file in a folder, the container holds one of that name elsewhere",
}

func TestCorpus(t *testing.T) {
	total := 0
	for _, c := range corpus.Manifest(t) {
		if !strings.HasPrefix(c.Format, "ASiC") && !c.Is("ODF") {
			continue
		}
		total++
		doc, err := readCase(t, c)
		got, n := corpus.Integrity(doc, err)
		switch {
		case errors.Is(err, ErrNotContainer):
			got = "no-signature"
		case got == "intact" && corpus.Deformed(doc):
			got = "broken"
		}
		if divergences[c.ID] != "" {
			if corpus.Same(got, c.Expect.Integrity) {
				t.Errorf("%s: no divergence any more, take it off the list", c.ID)
			}
			continue
		}
		if !corpus.Same(got, c.Expect.Integrity) || c.Expect.Signatures != nil && n != *c.Expect.Signatures {
			t.Errorf("%s %s (%s): %s with %d signatures, want %s: %s", c.ID, c.Format, c.Agreement, got, n, c.Expect.Integrity, corpus.Describe(doc, err))
		}
	}
	if total < 150 {
		t.Errorf("only %d cases", total)
	}
}

// levelDivergences are the levels that we name otherwise than DSS;
// docs/divergences.md tells why.
var levelDivergences = map[string]string{
	"dd4j-asic-e-xades-a46ec108": "DSS cannot read the signer's key",
	"siva-asic-e-xades-fefb0be5": "DSS cannot read the signer's key",
	"dss-asic-e-xades-59504e41":  "the SignedProperties are not signed",
}

func TestCorpusLevels(t *testing.T) {
	dss := corpus.DSS(t)
	total := 0
	for _, c := range corpus.Manifest(t) {
		want := dss[c.ID].Signatures
		if !strings.HasPrefix(c.Format, "ASiC") || len(want) == 0 {
			continue
		}
		doc, err := readCase(t, c)
		if err != nil || len(doc.Signatures) == 0 {
			continue
		}
		total++
		s := doc.Signatures[0]
		yes, no := func(...[]byte) bool { return true }, func(...[]byte) bool { return false }
		agree := want[0].Level == Profile(s, doc, yes).Name || want[0].Level == Profile(s, doc, no).Name
		if agree != (levelDivergences[c.ID] == "") {
			t.Errorf("%s: %s, DSS says %s", c.ID, Profile(s, doc, yes).Name, want[0].Level)
		}
	}
	if total < 100 {
		t.Errorf("only %d cases", total)
	}
}

func TestAttacks(t *testing.T) {
	total := 0
	for _, c := range corpus.Attacks(t) {
		switch filepath.Ext(c.File) {
		case ".asice", ".asics", ".odt", ".zip", ".sce", ".scs":
		default:
			continue
		}
		total++
		doc, err := readCase(t, c)
		got, n := corpus.Integrity(doc, err)
		if got == "intact" && c.Refused() && !corpus.Deformed(doc) {
			t.Errorf("%s: intact", c.ID)
		}
		t.Logf("%s: %s, %d signatures", c.ID, got, n)
	}
	if total < 8 {
		t.Errorf("only %d attacks", total)
	}
}

// TestCorpusRecords: evidence records are over what the container holds, but
// for those that were made wrong on purpose.
func TestCorpusRecords(t *testing.T) {
	wrong := map[string]int{ // time-stamps whose imprint does not follow
		"dss-asic-e-cades-58ba4c4a": 1, "dss-asic-e-cades-fff806c0": 1, "dss-asic-e-xades-8d1a4171": 1, "dss-asic-e-none-4c9ccead": 2,
	}
	total := 0
	for _, c := range corpus.Manifest(t) {
		if !strings.HasPrefix(c.Format, "ASiC") {
			continue
		}
		doc, err := readCase(t, c)
		if err != nil {
			continue
		}
		failed, records := 0, 0
		for _, ts := range doc.Timestamps {
			if strings.Contains(ts.Path, "evidencerecord") {
				records++
				if ts.ImprintIntact != ades.Yes {
					failed++
				}
			}
		}
		total += records
		if records > 0 && failed != wrong[c.ID] {
			t.Errorf("%s: %d of %d time-stamps are not over the data, want %d", c.ID, failed, records, wrong[c.ID])
		}
	}
	if total < 20 {
		t.Errorf("only %d time-stamps", total)
	}
}

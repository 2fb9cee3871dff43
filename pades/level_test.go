package pades

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"rogito.dev/rogito/ades"
)

// withRevocation is a rough answer to whether the file carries what its chains
// need, good enough to compare levels: there is revocation data in it.
func withRevocation(doc *ades.Document) func(...[]byte) bool {
	return func(...[]byte) bool { return hasRevocation(doc) }
}

// TestCorpusLevels compares the levels with those of DSS, which knows no anchor
// and says T where we may say LT.
func TestCorpusLevels(t *testing.T) {
	dir := corpus(t)
	type verdict struct {
		ID         string `json:"id"`
		Signatures []struct {
			Level string `json:"level"`
		} `json:"signatures"`
	}
	theirs := make(map[string][]string)
	eachLine(t, filepath.Join(dir, "dss.jsonl"), func(line []byte) {
		var v verdict
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		for _, s := range v.Signatures {
			theirs[v.ID] = append(theirs[v.ID], s.Level)
		}
	})
	same, all := 0, 0
	for _, c := range pdfCases(t, filepath.Join(dir, "manifest.jsonl")) {
		doc, err := c.read(t, dir)
		if err != nil || len(doc.Signatures) != len(theirs[c.ID]) {
			continue
		}
		for i, s := range doc.Signatures {
			all++
			got, want := Level(s, doc, withRevocation(doc)), theirs[c.ID][i]
			if got == want || beyond(got, want) {
				same++
				continue
			}
			t.Logf("%s[%d]: %s, DSS %s", c.ID, i, got, want)
		}
	}
	if same*100 < all*97 {
		t.Errorf("%d of %d levels agree", same, all)
	}
}

// beyond: ours is LT or LTA where DSS, without anchors, says T.
func beyond(ours, theirs string) bool {
	for _, family := range []string{"PAdES-BASELINE-", "PKCS7-"} {
		if theirs == family+"T" && (ours == family+"LT" || ours == family+"LTA") {
			return true
		}
	}
	return false
}

package asic

import (
	"slices"
	"testing"

	"rogito.dev/rogito/ades"
)

// TestIdsAreUnique: proofs of existence are looked up by id, and signature files choose the Ids of
// their signatures and counter-signatures.
func TestIdsAreUnique(t *testing.T) {
	signed := func() *ades.Signature {
		return &ades.Signature{
			ID: "A", CounterSignatures: []*ades.Signature{{ID: "B"}},
			Timestamps: []*ades.Timestamp{{Covers: []string{"A", "B", "evidence"}}},
		}
	}
	r := &reader{ids: map[string]bool{}}
	list := []*ades.Signature{signed(), {ID: "B"}, signed()}
	seen := map[string]bool{}
	for _, s := range list {
		r.unique(s, "META-INF/signatures.xml")
		withCounters(s, func(s *ades.Signature) {
			if seen[s.ID] {
				t.Errorf("%s is twice", s.ID)
			}
			seen[s.ID] = true
		})
	}
	last := list[2]
	if want := []string{last.ID, last.CounterSignatures[0].ID, "evidence"}; !slices.Equal(last.Timestamps[0].Covers, want) {
		t.Errorf("covers %v, want %v", last.Timestamps[0].Covers, want)
	}
}

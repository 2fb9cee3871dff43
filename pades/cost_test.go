package pades

import (
	"errors"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/yardstick"
)

// TestStampsOverManySignatures: a report repeats a document time-stamp with every signature under
// it, so the pairs are paid for.
func TestStampsOverManySignatures(t *testing.T) {
	r := &reader{ctx: limits.WithBudget(t.Context(), limits.NewBudget(1<<20)), out: new(ades.Document)}
	for i := range 60 {
		f := &signatureEntry{end: int64(i + 1), revision: i + 1, rangeOK: true}
		if i < 30 {
			f.signature = &ades.Signature{ID: "s"}
		} else {
			f.timestamp = &ades.Timestamp{ID: "t"}
		}
		r.found = append(r.found, f)
	}
	if err := r.cover(); !errors.Is(err, limits.ErrBudget) {
		t.Errorf("error %v", err)
	}
}

// TestLevelsBesideLargeEvidence: naming the level of a signature does not hash the evidence for
// every time-stamp over it.
func TestLevelsBesideLargeEvidence(t *testing.T) {
	stamp := &ades.Timestamp{PDF: &ades.PDFFacts{Revision: 1}}
	doc := &ades.Document{Evidence: []ades.Evidence{{Kind: ades.EvidenceCRL, Raw: make([]byte, 8<<20), Revision: 2}}}
	start := yardstick.Processor()
	for range 1000 {
		if coversRevocation(stamp, doc) {
			t.Fatal("covered")
		}
	}
	if d := yardstick.Processor() - start; d > yardstick.Second() {
		t.Errorf("took %v", d)
	}
}

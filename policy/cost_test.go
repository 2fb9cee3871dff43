package policy

import (
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/report"
)

// TestManyCountersAndStamps: the time-stamps of a document are not searched for every signature.
func TestManyCountersAndStamps(t *testing.T) {
	s := &ades.Signature{ID: "s"}
	for range 15_000 {
		s.CounterSignatures = append(s.CounterSignatures, &ades.Signature{ID: "c"})
		s.Timestamps = append(s.Timestamps, new(ades.Timestamp))
	}
	facts := &report.Facts{Layers: []*report.Layer{{Document: &ades.Document{Format: ades.CAdES, Signatures: []*ades.Signature{s}}}}}
	start := yardstick.Processor()
	Judge(facts, Default(), time.Now())
	if d := yardstick.Processor() - start; d > yardstick.Second() {
		t.Errorf("took %v", d)
	}
}

// TestSharedEvidence: evidence that signatures share is hashed once, where a time-stamp around the
// document proves it.
func TestSharedEvidence(t *testing.T) {
	list := []ades.Evidence{{Kind: ades.EvidenceCRL, Raw: make([]byte, 4<<20)}}
	d := new(ades.Document)
	for range 1000 {
		d.Signatures = append(d.Signatures, &ades.Signature{ID: "s", Evidence: list})
	}
	now := time.Now()
	j := &judge{at: now, poe: map[string]time.Time{}}
	start := yardstick.Processor()
	j.applyProof(d, now.Add(-time.Hour))
	if took := yardstick.Processor() - start; took > yardstick.Second() {
		t.Errorf("took %v", took)
	}
	if len(j.poe) != 2 || j.poe[list[0].ID()].IsZero() {
		t.Errorf("%d proofs", len(j.poe))
	}
}

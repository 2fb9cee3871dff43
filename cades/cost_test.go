package cades

import (
	"crypto"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/yardstick"
)

// TestLongHashIndex: what an archive time-stamp covers is looked up in its index, which may be as
// long as the list of what there is.
func TestLongHashIndex(t *testing.T) {
	const n = 50_000
	var sums, values [][]byte
	for i := range n {
		sum := make([]byte, 32)
		binary.BigEndian.PutUint32(sum, uint32(i))
		sums = append(sums, cms.TLV(cms.TagOctetString, sum))
		values = append(values, cms.TLV(cms.TagOctetString, sum[:4]))
	}
	empty := cms.TLV(cms.TagSequence)
	index, err := decodeIndex(cms.TLV(cms.TagSequence, cms.DigestAlgorithm(crypto.SHA256), empty, empty, cms.TLV(cms.TagSequence, sums...)))
	if err != nil {
		t.Fatal(err)
	}
	start := yardstick.Processor()
	if got := index.covered(cms.Attribute{Values: values}); len(got) > 0 {
		t.Errorf("%d values are covered", len(got))
	}
	if d := yardstick.Processor() - start; d > yardstick.Second() {
		t.Errorf("took %v", d)
	}
}

// TestLongReferences: references of megabytes are not searched for each of thousands of certificates.
func TestLongReferences(t *testing.T) {
	s := new(ades.Signature)
	for i := range 30_000 {
		s.Evidence = append(s.Evidence, ades.Evidence{Kind: ades.EvidenceCertificate, Raw: binary.BigEndian.AppendUint32(nil, uint32(i))})
	}
	start := yardstick.Processor()
	referenced(s, [][]byte{make([]byte, 4<<20)})
	if d := yardstick.Processor() - start; d > yardstick.Second() {
		t.Errorf("took %v", d)
	}
	s.Evidence = s.Evidence[:20]
	last := sha256.Sum256(s.Evidence[19].Raw)
	if got := referenced(s, [][]byte{last[:], make([]byte, 1<<20)}); len(got) != 1 {
		t.Errorf("%d are referenced", len(got))
	}
}

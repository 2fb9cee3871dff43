package pades

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// TestHostile changes bytes of signed documents at random: nothing may panic
// or take long, and what no longer is what was signed may not be intact.
func TestHostile(t *testing.T) {
	pki := adestest.Must(t, nil)
	rnd := rand.New(rand.NewPCG(3, 4))
	seeds := [][]byte{
		signed(t, pki, simplePDF(10), ades.LevelLTA, Options{}),
		signed(t, pki, formPDF(), ades.LevelB, Options{Certify: 2, Field: "Plain"}),
	}
	for range 400 {
		for _, seed := range seeds {
			b := bytes.Clone(seed)
			for range 1 + rnd.IntN(4) {
				at := rnd.IntN(len(b))
				for b[at] == '0' { // leave the padding of Contents alone
					at = rnd.IntN(len(b))
				}
				b[at] = byte(rnd.IntN(256))
			}
			start := time.Now()
			facts, err := Read(ctx, bytes.NewReader(b), ades.ReadOptions{})
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if err == nil && len(facts.Signatures) == 1 {
				Level(facts.Signatures[0], facts, always)
			}
		}
	}
}

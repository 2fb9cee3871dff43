package pades

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/yardstick"
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
			start := yardstick.Processor()
			facts, err := Read(ctx, bytes.NewReader(b), ades.ReadOptions{})
			if took := yardstick.Processor() - start; took > time.Second && took > 5*yardstick.Second() {
				t.Errorf("took %v of the processor", took)
			}
			if err == nil && len(facts.Signatures) == 1 {
				Profile(facts.Signatures[0], facts, always)
			}
		}
	}
}

// TestPrefix: what stands before the header is left out when a document is
// signed, and a document that needs it is refused.
func TestPrefix(t *testing.T) {
	pki := adestest.Must(t, nil)
	a := pki.Actor(t, "p256")
	var out bytes.Buffer
	src := bytes.NewReader(append([]byte("junk\n"), simplePDF(1)...))
	if err := sign(ctx, src, &out, a.Key, a.Signing(pki.Now()), Options{}, ades.AugmentOptions{}); err != nil {
		t.Fatal(err)
	}
	doc := out.Bytes()
	if !bytes.HasPrefix(doc, []byte("%PDF-")) {
		t.Errorf("the signed document begins with %q", doc[:8])
	}
	intact(t, readAll(t, doc, ""), 1)
	if err := prepare(t, pki, append([]byte("junk\n"), doc...), Options{}); err == nil {
		t.Error("a signed document with bytes before its header is signed again")
	}
}

// TestCut: a file that ends before the signed bytes do does not hold what was
// signed.
func TestCut(t *testing.T) {
	pki := adestest.Must(t, nil)
	b := signed(t, pki, simplePDF(1), ades.LevelB, Options{})
	for _, n := range []int{2, 5, 7} {
		facts, err := Read(ctx, bytes.NewReader(b[:len(b)-n]), ades.ReadOptions{})
		if err != nil || len(facts.Signatures) != 1 {
			t.Fatalf("%d bytes less: %v, %v", n, facts, err)
		}
		if s := facts.Signatures[0]; s.Intact() != ades.No || !ades.Fatal(s.Problems) {
			t.Errorf("%d bytes less: intact %v, problems %v", n, s.Intact(), s.Problems)
		}
	}
}

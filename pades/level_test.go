package pades

import (
	"bytes"
	"context"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/corpus"
)

// withRevocation is a rough answer to whether the file carries what its chains
// need, good enough to compare levels: there is revocation data in it.
func withRevocation(doc *ades.Document) func(...[]byte) bool {
	return func(...[]byte) bool { return hasRevocation(doc) }
}

// TestCorpusLevels compares the levels with those of DSS, which knows no anchor
// and says T where we may say LT.
func TestCorpusLevels(t *testing.T) {
	dss := corpus.DSS(t)
	all := 0
	for _, c := range pdfs(corpus.Manifest(t)) {
		doc, err := readCase(t, c)
		theirs := dss[c.ID].Signatures
		if err != nil || len(doc.Signatures) != len(theirs) {
			continue
		}
		for i, s := range doc.Signatures {
			all++
			got, want := Profile(s, doc, withRevocation(doc)).Name, theirs[i].Level
			if got != want && !beyond(got, want) {
				t.Errorf("%s[%d]: %s, DSS %s", c.ID, i, got, want)
			}
		}
	}
	if all < 80 {
		t.Errorf("only %d signatures", all)
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

// once answers with what it gathered the first time.
type once struct {
	ades.Gatherer
	got *ades.Bundle
}

func (o *once) Gather(ctx context.Context, leaves [][]byte, carried ades.Bundle) (ades.Bundle, error) {
	if o.got == nil {
		b, err := o.Gatherer.Gather(ctx, leaves, carried)
		if err != nil {
			return b, err
		}
		o.got = &b
	}
	return *o.got, nil
}

// TestStoreOfAnother: validation data that was stored before a signature was
// made does not raise it, until it is filed for it too.
func TestStoreOfAnother(t *testing.T) {
	pki := adestest.Must(t, nil)
	sources := &once{Gatherer: pki}
	sign := func(doc []byte, level ades.Level) []byte {
		t.Helper()
		var out bytes.Buffer
		a := pki.Actor(t, "good")
		r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: sources}
		if err := sign(t.Context(), bytes.NewReader(doc), &out, a.Key, a.Signing(pki.Now()), Options{}, r); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	doc := sign(sign(simplePDF(1000), ades.LevelLT), ades.LevelT)
	levels(t, doc, "LT", "T")
	doc = sign(doc, ades.LevelLT)
	levels(t, doc, "LT", "LT", "LT")
	intact(t, readAll(t, doc, ""), 3)
	if n := bytes.Count(doc, []byte("/Type/VRI")); n != 1 {
		t.Errorf("%d signatures filed, want the one just made", n)
	}
}

// levels compares the levels of all signatures.
func levels(t *testing.T, doc []byte, want ...string) {
	t.Helper()
	facts := readAll(t, doc, "")
	if len(facts.Signatures) != len(want) {
		t.Fatalf("%d signatures, want %d", len(facts.Signatures), len(want))
	}
	for i, s := range facts.Signatures {
		if got := Profile(s, facts, always).Name; got != "PAdES-BASELINE-"+want[i] {
			t.Errorf("signature %d: %s, want %s", i, got, want[i])
		}
	}
}

// TestTypeOfTimestamp: a time-stamp in a dictionary of Type Sig proves
// something, but makes no level.
func TestTypeOfTimestamp(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := signed(t, pki, simplePDF(1000), ades.LevelLTA, Options{})
	levels(t, doc, "LTA")
	was, is := []byte("/Type/DocTimeStamp"), []byte("/Type/Sig         ")
	if bytes.Count(doc, was) != 1 {
		t.Fatal("no document time-stamp to change")
	}
	doc = bytes.Replace(doc, was, is, 1)
	levels(t, doc, "LT")
	facts := readAll(t, doc, "")
	if len(facts.Timestamps) != 1 || conforms(facts.Timestamps[0]) {
		t.Errorf("the time-stamp is not found, or its Type not noticed: %+v", facts.Timestamps)
	}
}

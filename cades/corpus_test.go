package cades_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/corpus"
)

// needsEvidence tells the levels that depend on complete validation data,
// which this package leaves to its caller.
func needsEvidence(level string) bool {
	for _, end := range []string{"-LT", "-LTA", "-XL", "-A", "-ERS"} {
		if strings.HasSuffix(level, end) {
			return true
		}
	}
	return false
}

func TestCorpus(t *testing.T) {
	dss := corpus.DSS(t)
	checked := 0
	for _, c := range corpus.Manifest(t) {
		if !c.Is("CAdES") {
			continue
		}
		checked++
		t.Run(c.ID, func(t *testing.T) {
			doc, err := cades.Read(t.Context(), c.Source(t), c.Reading(t))
			got, n := corpus.Integrity(doc, err)
			if got != c.Expect.Integrity && !(got == "refuse" && c.Expect.Integrity == "broken") {
				t.Errorf("%s, want %s (%s): %s", got, c.Expect.Integrity, c.Agreement, corpus.Describe(doc, err))
			}
			if err != nil {
				return
			}
			if n != *c.Expect.Signatures {
				t.Errorf("%d signatures, want %d", n, *c.Expect.Signatures)
			}
			theirs := dss[c.ID].Signatures
			if n != len(theirs) || len(doc.Signatures) != n {
				return
			}
			for i, s := range doc.Signatures {
				level := cades.Profile(s, doc, func(...[]byte) bool { return false }).Name
				if want := theirs[i].Level; !needsEvidence(want) && want != level {
					t.Errorf("signature %d: level %s, DSS says %s: %v", i, level, want, s.Attributes)
				}
			}
		})
	}
	if checked == 0 {
		t.Fatal("no case in the manifest")
	}
}

// TestMutations changes a byte of files of the corpus: none may still be
// intact.
func TestMutations(t *testing.T) {
	checked := 0
	for _, m := range corpus.Mutations(t) {
		if !m.Is("CAdES") {
			continue
		}
		checked++
		doc, err := cades.Read(t.Context(), m.Source(t), m.Reading(t))
		if got, _ := corpus.Integrity(doc, err); got == "intact" {
			t.Errorf("%s is still intact", m.ID)
		}
	}
	if checked == 0 {
		t.Fatal("no mutation in the corpus")
	}
}

// given hands out the same validation data whatever it is asked for.
type given struct{ bundle ades.Bundle }

func (g given) Gather(context.Context, [][]byte, ades.Bundle) (ades.Bundle, error) {
	return g.bundle, nil
}

// TestOldArchivesSurvive raises the files of the corpus with older archive
// time-stamps: what was intact must stay so.
func TestOldArchivesSurvive(t *testing.T) {
	pki := adestest.Must(t, nil)
	bundle, err := pki.Gather(context.Background(), [][]byte{pki.Unit.Certificate.Raw}, ades.Bundle{})
	if err != nil {
		t.Fatal(err)
	}
	raised := 0
	for _, c := range corpus.Manifest(t) {
		if !c.Is("CAdES") || c.Expect.Integrity != "intact" {
			continue
		}
		r, src := c.Reading(t), c.Source(t)
		before, err := cades.Read(context.Background(), src, r)
		if err != nil || !before.Signatures[0].Has("archive-time-stamp-v2") && !before.Signatures[0].Has("archive-time-stamp-v3") {
			continue
		}
		var out bytes.Buffer
		err = cades.Augment(context.Background(), src, &out, ades.AugmentOptions{
			Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: given{bundle}, Detached: r.Detached,
		})
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		raised++
		after, err := cades.Read(context.Background(), bytes.NewReader(out.Bytes()), r)
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		compareStamps(t, c.ID, before, after)
	}
	if raised == 0 {
		t.Fatal("no file with an archive time-stamp")
	}
}

func compareStamps(t *testing.T, id string, before, after *ades.Document) {
	t.Helper()
	for i, s := range before.Signatures {
		again := after.Signatures[i]
		if again.Intact() != ades.Yes || len(again.Timestamps) != len(s.Timestamps)+1 {
			t.Errorf("%s: signature %d: intact %v, %d time-stamps", id, i, again.Intact(), len(again.Timestamps))
			continue
		}
		for j, ts := range s.Timestamps {
			if now := again.Timestamps[j]; now.ImprintIntact != ts.ImprintIntact || now.Signature.Intact() != ts.Signature.Intact() {
				t.Errorf("%s: %s: imprint %v, was %v", id, ts.Path, now.ImprintIntact, ts.ImprintIntact)
			}
		}
		if last := again.Timestamps[len(s.Timestamps)]; last.ImprintIntact != ades.Yes {
			t.Errorf("%s: the new time-stamp is not intact", id)
		}
	}
}

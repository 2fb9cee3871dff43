package cades_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
)

// corpus is the folder of given signatures; the test is skipped without it.
func corpus(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("ROGITO_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "corpus")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("SKIPPED: no corpus: set ROGITO_SHARED to the folder that holds it")
	}
	return dir
}

type corpusCase struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Format string `json:"format"`
	Inputs struct {
		Detached []struct {
			File string `json:"file"`
		} `json:"detached"`
	} `json:"inputs"`
	Expect struct {
		Integrity  string `json:"integrity"`
		Signatures int    `json:"signatures"`
		Level      string `json:"level"`
	} `json:"expect"`
	Agreement string `json:"agreement"`
}

func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func source(t testing.TB, path string) ades.Source {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b)
}

// integrity sums up signatures and counter-signatures as the manifest does.
func integrity(sigs []*ades.Signature) (verdict string, count int) {
	seen := map[ades.Tri]int{}
	var walk func([]*ades.Signature)
	walk = func(list []*ades.Signature) {
		for _, s := range list {
			seen[s.Intact()]++
			count++
			walk(s.CounterSignatures)
		}
	}
	walk(sigs)
	switch {
	case count == 0:
		return "no-signature", 0
	case seen[ades.Yes] == count:
		return "intact", count
	case seen[ades.Yes] > 0:
		return "mixed", count
	case seen[ades.No] > 0:
		return "broken", count
	}
	return "undetermined", count
}

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
	dir := corpus(t)
	type dssLine struct {
		ID         string `json:"id"`
		Signatures []struct {
			Level  string `json:"level"`
			Intact *bool  `json:"intact"`
		} `json:"signatures"`
	}
	dss := map[string]dssLine{}
	for _, l := range lines[dssLine](t, filepath.Join(dir, "dss.jsonl")) {
		dss[l.ID] = l
	}
	checked := 0
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl")) {
		if c.Format != "CAdES" {
			continue
		}
		checked++
		t.Run(c.ID, func(t *testing.T) {
			var r ades.Reading
			for _, d := range c.Inputs.Detached {
				r.Detached = append(r.Detached, ades.File{Name: filepath.Base(d.File), Source: source(t, filepath.Join(dir, d.File))})
			}
			doc, err := cades.Read(context.Background(), source(t, filepath.Join(dir, c.File)), r)
			if err != nil {
				if c.Expect.Integrity != "refuse" && c.Expect.Integrity != "broken" {
					t.Fatalf("expect %s: %v", c.Expect.Integrity, err)
				}
				return
			}
			got, n := integrity(doc.Signatures)
			if got != c.Expect.Integrity {
				t.Errorf("%s, want %s (%s)", got, c.Expect.Integrity, c.Agreement)
			}
			if n != c.Expect.Signatures {
				t.Errorf("%d signatures, want %d", n, c.Expect.Signatures)
			}
			for i, s := range doc.Signatures {
				level := cades.Level(s, doc, func(...[]byte) bool { return false })
				if i < len(dss[c.ID].Signatures) && n == len(dss[c.ID].Signatures) && len(doc.Signatures) == n {
					if want := dss[c.ID].Signatures[i].Level; !needsEvidence(want) && want != level {
						t.Errorf("signature %d: level %s, DSS says %s: %v", i, level, want, s.Attributes)
					}
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
	dir := corpus(t)
	type mutation struct {
		ID   string `json:"id"`
		Base string `json:"base"`
		File string `json:"file"`
		Edit struct {
			Offset int  `json:"offset"`
			New    byte `json:"new"`
		} `json:"edit"`
	}
	bases := map[string]corpusCase{}
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl")) {
		bases[c.ID] = c
	}
	checked := 0
	for _, m := range lines[mutation](t, filepath.Join(dir, "mutations.jsonl")) {
		base := bases[m.Base]
		if base.Format != "CAdES" {
			continue
		}
		checked++
		b, err := os.ReadFile(filepath.Join(dir, m.File))
		if err != nil {
			t.Fatal(err)
		}
		b[m.Edit.Offset] = m.Edit.New
		var r ades.Reading
		for _, d := range base.Inputs.Detached {
			r.Detached = append(r.Detached, ades.File{Source: source(t, filepath.Join(dir, d.File))})
		}
		doc, err := cades.Read(context.Background(), bytes.NewReader(b), r)
		if err != nil {
			continue
		}
		if got, _ := integrity(doc.Signatures); got == "intact" {
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
	dir := corpus(t)
	pki := adestest.Must(t, nil)
	bundle, err := pki.Gather(context.Background(), [][]byte{pki.Unit.Certificate.Raw}, ades.Bundle{})
	if err != nil {
		t.Fatal(err)
	}
	raised := 0
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl")) {
		if c.Format != "CAdES" || c.Expect.Integrity != "intact" {
			continue
		}
		var r ades.Reading
		for _, d := range c.Inputs.Detached {
			r.Detached = append(r.Detached, ades.File{Source: source(t, filepath.Join(dir, d.File))})
		}
		src := source(t, filepath.Join(dir, c.File))
		before, err := cades.Read(context.Background(), src, r)
		if err != nil || !before.Signatures[0].Has("archive-time-stamp-v2") && !before.Signatures[0].Has("archive-time-stamp-v3") {
			continue
		}
		var out bytes.Buffer
		err = cades.Augment(context.Background(), src, &out, ades.Raising{
			Level: ades.LevelLTA, Stamper: pki.Unit, Sources: given{bundle}, Detached: r.Detached,
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

package interop

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
)

func signCAdES(t testing.TB, a *adestest.Actor, content []byte, s ades.SignParams, o cades.Options) []byte {
	t.Helper()
	d, err := cades.Prepare(context.Background(), bytes.NewReader(content), s, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Hash = cms.HashFor(s)
	return a.Finish(t, d, s)
}

func raiseCAdES(t testing.TB, signed []byte, level ades.Level, detached ...ades.File) []byte {
	t.Helper()
	if level == ades.LevelB {
		return signed
	}
	var out bytes.Buffer
	err := cades.Augment(context.Background(), bytes.NewReader(signed), &out, ades.AugmentOptions{
		Level: level, Stamper: pki.Unit, Gatherer: pki, Detached: detached,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var levels = []ades.Level{ades.LevelB, ades.LevelT, ades.LevelLT, ades.LevelLTA}

func someBytes(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return b
}

func TestCAdES(t *testing.T) {
	content := someBytes(5000)
	for _, v := range variants {
		for _, level := range levels {
			for _, detached := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/%v/detached=%v", v, level, detached), func(t *testing.T) {
					a := pki.Actor(t, v.actor)
					p := a.Signing(pki.Now())
					p.Hash, p.PSS = v.hash, v.pss
					ask := Ask{}
					var files []ades.File
					if detached {
						ask.Detached = []any{write(t, "content.bin", content)}
						files = []ades.File{{Source: bytes.NewReader(content)}}
					}
					signed := raiseCAdES(t, signCAdES(t, a, content, p, cades.Options{Detached: detached}), level, files...)
					ask.File = write(t, "a.p7m", signed)
					dss.Passed(t, ask, "CAdES-BASELINE-"+level.String())
				})
			}
		}
	}
}

// TestCAdESEmpty signs nothing at all.
func TestCAdESEmpty(t *testing.T) {
	a := pki.Actor(t, "good")
	signed := raiseCAdES(t, signCAdES(t, a, nil, a.Signing(pki.Now()), cades.Options{}), ades.LevelLTA)
	dss.Passed(t, Ask{File: write(t, "empty.p7m", signed), What: "attached, empty file"}, "CAdES-BASELINE-LTA")
}

func TestCAdESEd25519Intact(t *testing.T) {
	a := pki.Actor(t, "ed25519")
	v := dss.Validate(t, Ask{File: write(t, "a.p7m", signCAdES(t, a, []byte("x"), a.Signing(pki.Now()), cades.Options{}))})
	if len(v.Signatures) != 1 || v.Signatures[0].Intact == nil || !*v.Signatures[0].Intact {
		t.Fatalf("not intact: %s", v.Raw)
	}
}

func TestCAdESParallelAndCounter(t *testing.T) {
	content := someBytes(3000)
	first, second, third := pki.Actor(t, "good"), pki.Actor(t, "second"), pki.Actor(t, "third")
	for _, level := range levels {
		t.Run(level.String(), func(t *testing.T) {
			signed := raiseCAdES(t, signCAdES(t, first, content, first.Signing(pki.Now()), cades.Options{}), level)
			d, err := cades.Parallel(context.Background(), bytes.NewReader(signed), nil, second.Signing(pki.Now()), cades.Options{})
			if err != nil {
				t.Fatal(err)
			}
			signed = raiseCAdES(t, second.Finish(t, d, second.Signing(pki.Now())), level)
			v := dss.Passed(t, Ask{File: write(t, "two.p7m", signed)}, "CAdES-BASELINE-"+level.String())
			if len(v.Signatures) != 2 {
				t.Fatalf("%d signatures, want 2", len(v.Signatures))
			}
			doc, err := cades.Read(context.Background(), bytes.NewReader(signed), ades.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := cades.Counter(context.Background(), bytes.NewReader(signed), doc.Signatures[0].ID, third.Signing(pki.Now()), cades.Options{})
			if err != nil {
				t.Fatal(err)
			}
			signed = third.Finish(t, c, third.Signing(pki.Now()))
			v = dss.Passed(t, Ask{File: write(t, "three.p7m", signed)}, "")
			if len(v.Signatures) != 3 {
				t.Fatalf("%d signatures, want 3", len(v.Signatures))
			}
		})
	}
}

func TestCAdESAgainAndAgain(t *testing.T) {
	a := pki.Actor(t, "good")
	signed := signCAdES(t, a, []byte("again"), a.Signing(pki.Now()), cades.Options{})
	for _, level := range []ades.Level{ades.LevelT, ades.LevelLT, ades.LevelLTA, ades.LevelLTA, ades.LevelLTA} {
		signed = raiseCAdES(t, signed, level)
		dss.Passed(t, Ask{File: write(t, "a.p7m", signed)}, "CAdES-BASELINE-"+level.String())
	}
}

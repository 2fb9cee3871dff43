package interop

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
)

// asicKinds are the four kinds of container.
var asicKinds = []struct {
	name, ext, level string
	o                asic.Options
}{
	{"asic-e-xades", ".asice", "XAdES-BASELINE-", asic.Options{}},
	{"asic-s-xades", ".asics", "XAdES-BASELINE-", asic.Options{Simple: true}},
	{"asic-e-cades", ".asice", "CAdES-BASELINE-", asic.Options{CAdES: true}},
	{"asic-s-cades", ".asics", "CAdES-BASELINE-", asic.Options{Simple: true, CAdES: true}},
}

func raiseASiC(t testing.TB, b []byte, level ades.Level) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := asic.Augment(context.Background(), bytes.NewReader(b), &out, ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki, Time: pki.Now()}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestASiC(t *testing.T) {
	for _, k := range asicKinds {
		for _, files := range [][]ades.File{
			{memory("hello world.txt", "hello")},
			{memory("a/b.xml", invoiceXML), memory("caff\u00e8 & more.bin", "\x00\x01"), memory("empty", "")},
		} {
			for i, actor := range []string{"good", "p384"} {
				a := pki.Actor(t, actor)
				d, err := asic.Prepare(t.Context(), files, a.Signing(pki.Now()), k.o)
				if err != nil {
					t.Fatal(err)
				}
				b := a.Finish(t, d, a.Signing(pki.Now()))
				for level := ades.LevelB; level <= ades.LevelLTA; level++ {
					if i > 0 && level != ades.LevelB {
						continue
					}
					t.Run(fmt.Sprintf("%s-%d-%s-%s", k.name, len(files), actor, level), func(t *testing.T) {
						signed := b
						if level > ades.LevelB {
							signed = raiseASiC(t, b, level)
						}
						v := dss.Passed(t, Ask{File: write(t, "signed"+k.ext, signed)}, k.level+level.String())
						for _, s := range v.Signatures {
							if len(s.Warnings) > 0 {
								t.Logf("warnings: %v", s.Warnings)
							}
						}
					})
				}
			}
		}
	}
}

// TestASiCSeveral has two signers, then LTA, then LTA renewed.
func TestASiCSeveral(t *testing.T) {
	for _, k := range asicKinds {
		t.Run(k.name, func(t *testing.T) {
			a := pki.Actor(t, "good")
			d, err := asic.Prepare(t.Context(), []ades.File{memory("a.txt", "a")}, a.Signing(pki.Now()), k.o)
			if err != nil {
				t.Fatal(err)
			}
			b := a.Finish(t, d, a.Signing(pki.Now()))
			second := pki.Actor(t, "second")
			if d, err = asic.Parallel(t.Context(), bytes.NewReader(b), second.Signing(pki.Now()), k.o); err != nil {
				t.Fatal(err)
			}
			b = second.Finish(t, d, second.Signing(pki.Now()))
			for range 3 {
				b = raiseASiC(t, b, ades.LevelLTA)
			}
			v := dss.Passed(t, Ask{File: write(t, "two"+k.ext, b)}, k.level+"LTA")
			if len(v.Signatures) != 2 {
				t.Errorf("%d signatures, want 2", len(v.Signatures))
			}
		})
	}
}

package interop

import (
	"bytes"
	"context"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/xades"
)

// TestClaims has DSS look at commitments and at time-stamps over the content.
func TestClaims(t *testing.T) {
	shared(t)
	xml := []byte(`<a xmlns="urn:x"><b>text</b><!-- said --></a>`)
	for name, c := range map[string]struct {
		content []byte
		level   string
		change  func(*rogito.Options)
	}{
		"cades":      {[]byte("a text"), "CAdES", func(o *rogito.Options) { o.Format = ades.CAdES }},
		"pades":      {accessible("en"), "PAdES", func(o *rogito.Options) { o.Format = ades.PAdES }},
		"enveloped":  {xml, "XAdES", func(o *rogito.Options) { o.Format = ades.XAdES }},
		"enveloping": {xml, "XAdES", func(o *rogito.Options) { o.Format, o.XAdES = ades.XAdES, xades.Options{Packaging: xades.Enveloping} }},
		"internally detached": {xml, "XAdES", func(o *rogito.Options) {
			o.Format, o.XAdES = ades.XAdES, xades.Options{Packaging: xades.InternallyDetached}
		}},
		"asic-e xades": {xml, "XAdES", func(o *rogito.Options) { o.Format = ades.ASiCE }},
		"asic-e cades": {xml, "CAdES", func(o *rogito.Options) { o.Format, o.ASiC = ades.ASiCE, asic.Options{CAdES: true} }},
	} {
		for _, level := range []ades.Level{ades.LevelB, ades.LevelLTA} {
			t.Run(name+" "+level.String(), func(t *testing.T) {
				a := pki.Actor(t, "good")
				o := rogito.Options{SignParams: a.Signing(pki.Now()), Level: level, Stamper: pki.Unit, Gatherer: pki, ContentTimestamp: true}
				o.Commitments = []string{ades.Commitment("proof-of-approval")}
				c.change(&o)
				var out bytes.Buffer
				if _, err := rogito.Sign(context.Background(), rogito.File("a", bytes.NewReader(c.content)), &out, a.Key, o); err != nil {
					t.Fatal(err)
				}
				dss.Passed(t, Ask{File: write(t, "signed", out.Bytes()), What: "content time-stamp, commitment"}, c.level+"-BASELINE-"+level.String())
			})
		}
	}
}

package interop

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/xades"
)

// family has the verbs of a format, whatever it is.
type family struct {
	read    func(context.Context, ades.Source, ades.ReadOptions) (*ades.Document, error)
	augment func(context.Context, ades.Source, io.Writer, ades.AugmentOptions) error
	profile func(*ades.Signature, *ades.Document, func(...[]byte) bool) ades.Profile
}

var (
	xadesFamily = family{xades.Read, xades.Augment, xades.Profile}
	asicFamily  = family{asic.Read, asic.Augment, asic.Profile}
)

// checkOwn has us read a file, and demands that everything in it holds.
func (f family) checkOwn(t testing.TB, file, level string, detached []ades.File) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := f.read(context.Background(), bytes.NewReader(b), ades.ReadOptions{Detached: detached})
	if err != nil {
		t.Fatal(err)
	}
	ok := len(doc.Signatures) > 0
	for _, s := range doc.Signatures {
		ok = ok && s.Intact() == ades.Yes && f.profile(s, doc, nil).Name == level
		for _, ts := range append(s.Timestamps, doc.Timestamps...) {
			ok = ok && ts.ImprintIntact == ades.Yes && ts.Signature.Intact() == ades.Yes
		}
		if !ok {
			t.Errorf("%s: intact %v, level %s, want %s, problems %v", filepath.Base(file), s.Intact(), f.profile(s, doc, nil), level, s.Problems)
		}
	}
	table.add(row{"rogito, of DSS", string(doc.Format), "", level, ""}, ok)
}

// TestXMLOfDSS reads and raises what DSS has signed, and has DSS raise what we
// have.
func TestXMLOfDSS(t *testing.T) {
	bin := filepath.Join(shared(t), "oracle", "bin", "dss")
	tool(t, "java")
	a := pki.Actor(t, "good")
	p12 := writeP12(t, a)
	xml := strings.Replace(invoiceXML, "<f:Invoice", `<f:Invoice Id="root"`, 1)
	content := write(t, "invoice.xml", []byte(xml))
	files := []ades.File{memory("invoice.xml", xml)}
	for _, c := range []struct {
		format, packaging, ext, level string
		family                        family
		own                           func() (ades.Draft, error)
	}{
		{"xades", "enveloped", ".xml", "XAdES-BASELINE-", xadesFamily, func() (ades.Draft, error) {
			return xades.Prepare(t.Context(), files, a.Signing(pki.Now()), xades.Options{Packaging: xades.Enveloped})
		}},
		{"xades", "enveloping", ".xml", "XAdES-BASELINE-", xadesFamily, func() (ades.Draft, error) {
			return xades.Prepare(t.Context(), files, a.Signing(pki.Now()), xades.Options{Packaging: xades.Enveloping})
		}},
		{"xades", "detached", ".xml", "XAdES-BASELINE-", xadesFamily, func() (ades.Draft, error) {
			return xades.Prepare(t.Context(), files, a.Signing(pki.Now()), xades.Options{Packaging: xades.Detached})
		}},
		{"xades", "internally-detached", ".xml", "XAdES-BASELINE-", xadesFamily, func() (ades.Draft, error) {
			return xades.Prepare(t.Context(), files, a.Signing(pki.Now()), xades.Options{Packaging: xades.InternallyDetached})
		}},
		{"asice-xades", "", ".asice", "XAdES-BASELINE-", asicFamily, func() (ades.Draft, error) {
			return asic.Prepare(t.Context(), files, a.Signing(pki.Now()), asic.Options{})
		}},
		{"asics-xades", "", ".asics", "XAdES-BASELINE-", asicFamily, func() (ades.Draft, error) {
			return asic.Prepare(t.Context(), files, a.Signing(pki.Now()), asic.Options{Simple: true})
		}},
		{"asice-cades", "", ".asice", "CAdES-BASELINE-", asicFamily, func() (ades.Draft, error) {
			return asic.Prepare(t.Context(), files, a.Signing(pki.Now()), asic.Options{CAdES: true})
		}},
		{"asics-cades", "", ".asics", "CAdES-BASELINE-", asicFamily, func() (ades.Draft, error) {
			return asic.Prepare(t.Context(), files, a.Signing(pki.Now()), asic.Options{CAdES: true, Simple: true})
		}},
	} {
		t.Run(c.format+c.packaging, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"sign", "--p12", p12, "--password", "password", "--format", c.format}
			ask := Ask{What: c.packaging}
			var detached []ades.File
			if c.packaging != "" {
				args = append(args, "--packaging", c.packaging)
			}
			extend := []string{"extend", "--level", "LTA", "--tsa", pki.TSA(), "--trust", rootPEM}
			if c.packaging == "detached" {
				detached = files
				ask.Detached = []any{content}
				extend = append(extend, "--detached", content)
			}

			theirs := filepath.Join(dir, "dss"+c.ext)
			runTool(t, bin, append(args, "--out", theirs, content)...)
			c.family.checkOwn(t, theirs, c.level+"B", detached)
			b, err := os.ReadFile(theirs)
			if err != nil {
				t.Fatal(err)
			}
			var raised bytes.Buffer
			r := ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki, Detached: detached, Time: pki.Now()}
			if err := c.family.augment(context.Background(), bytes.NewReader(b), &raised, r); err != nil {
				t.Fatal(err)
			}
			ask.File = write(t, "raised"+c.ext, raised.Bytes())
			dss.Passed(t, ask, c.level+"LTA")

			d, err := c.own()
			if err != nil {
				t.Fatal(err)
			}
			ours := write(t, "ours"+c.ext, a.Finish(t, d, a.Signing(pki.Now())))
			ask.File = filepath.Join(dir, "extended"+c.ext)
			runTool(t, bin, append(extend, "--out", ask.File, ours)...)
			dss.Passed(t, ask, c.level+"LTA")
			c.family.checkOwn(t, ask.File, c.level+"LTA", detached)

			// And once more by us: their archive time-stamp under ours.
			if b, err = os.ReadFile(ask.File); err != nil {
				t.Fatal(err)
			}
			raised.Reset()
			if err := c.family.augment(context.Background(), bytes.NewReader(b), &raised, r); err != nil {
				t.Fatal(err)
			}
			ask.File = write(t, "again"+c.ext, raised.Bytes())
			dss.Passed(t, ask, c.level+"LTA")
		})
	}
}

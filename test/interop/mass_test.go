package interop

import (
	"bytes"
	"context"
	"crypto"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/xades"
)

// dice makes random choices that can be made again.
type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// document is random content of a random kind.
func (d dice) document(t testing.TB, name string) ades.File {
	size := pick(d, 0, 1, 100, 10_000, 100_000)
	switch d.IntN(3) {
	case 0:
		return ades.File{Name: name + ".pdf", Source: bytes.NewReader(somePDF(t))}
	case 1:
		text := fmt.Sprintf("<r xmlns:x=\"urn:%d\"><!-- %d --><x:a b=\"%d\">%x</x:a></r>", size, size, size, someBytes(size%5000))
		return ades.File{Name: name + ".xml", Source: bytes.NewReader([]byte(text))}
	}
	return ades.File{Name: name + ".bin", Source: bytes.NewReader(someBytes(size))}
}

// options are random options that suit the document.
func (d dice) options(t testing.TB, doc *rogito.Input) (o rogito.Options, key crypto.Signer, detached bool) {
	a := pki.Actor(t, pick(d, "good", "p256", "p384", "p521", "crl", "eseal"))
	o = rogito.Options{
		SignParams: a.Signing(pki.Now()), Stamper: pki.Unit, Gatherer: pki,
		Level:  pick(d, levels...),
		Format: pick(d, "", "", ades.CAdES, ades.XAdES, ades.ASiCS, ades.ASiCE),
	}
	o.Hash = pick(d, 0, crypto.SHA256, crypto.SHA384, crypto.SHA512)
	o.PSS = d.IntN(4) == 0
	switch o.Format {
	case ades.CAdES:
		detached = d.IntN(2) == 0
		o.CAdES = cades.Options{Detached: detached}
	case ades.XAdES:
		o.XAdES = xades.Options{Packaging: pick(d, xades.ByContent, xades.Enveloping, xades.Detached)}
		detached = o.XAdES.Packaging == xades.Detached
	case ades.ASiCE, ades.ASiCS:
		o.ASiC = asic.Options{CAdES: d.IntN(2) == 0}
		if o.Format == ades.ASiCE && d.IntN(2) == 0 {
			doc.Files = append(doc.Files, d.document(t, "second"))
		}
	}
	return o, a.Key, detached
}

// TestMass signs random documents in random ways. Each is read again by our
// own verifier, and one in twenty by DSS. ROGITO_MASS says how many; without it
// they are a thousand for `make interop`, and a handful else.
func TestMass(t *testing.T) {
	n := 60
	if full {
		n = 1000
	}
	if s := os.Getenv("ROGITO_MASS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	failed := 0
	for i := range n {
		ok := massOne(t, i)
		table.add(row{"rogito, of itself", "all", "random documents and options", "", ""}, ok)
		if !ok {
			failed++
		}
	}
	t.Logf("%d documents, %d failures", n, failed)
}

func massOne(t *testing.T, i int) bool {
	d := dice{rand.New(rand.NewPCG(uint64(i), 1))}
	doc := rogito.Input{Files: []ades.File{d.document(t, "first")}}
	o, key, detached := d.options(t, &doc)
	what := fmt.Sprintf("%d: %s %v %v %v", i, o.Format, o.Level, o.Hash, o.Certificate.Subject.CommonName)
	var signed bytes.Buffer
	if _, err := rogito.Sign(context.Background(), doc, &signed, key, o); err != nil {
		t.Errorf("%s: %v", what, err)
		return false
	}
	var given []ades.File
	if detached {
		given = doc.Files
	}
	v := rogito.Verifier{}
	r, err := v.Verify(context.Background(), bytes.NewReader(signed.Bytes()), rogito.VerifyOptions{Detached: given})
	if err != nil || len(r.Facts.Layers) == 0 {
		t.Errorf("%s: %v", what, err)
		return false
	}
	sigs := r.Facts.Layers[0].Document.Signatures
	if len(sigs) != 1 || sigs[0].Intact() != ades.Yes {
		t.Errorf("%s: %d signatures, not intact", what, len(sigs))
		return false
	}
	if full && i%20 == 0 {
		massDSS(t, doc, signed.Bytes(), detached)
	}
	return !t.Failed()
}

func massDSS(t *testing.T, doc rogito.Input, signed []byte, detached bool) {
	t.Helper()
	kind := rogito.Detect(bytes.NewReader(signed))
	ask := Ask{File: write(t, "signed."+map[rogito.Kind]string{
		rogito.KindPDF: "pdf", rogito.KindXML: "xml", rogito.KindCMS: "p7m", rogito.KindASiC: "asice",
	}[kind], signed)}
	if detached {
		content := make([]byte, doc.Files[0].Source.Size())
		if _, err := doc.Files[0].Source.ReadAt(content, 0); err != nil && len(content) > 0 {
			t.Fatal(err)
		}
		ask.Detached = []any{map[string]string{"file": write(t, "content", content), "name": doc.Files[0].Name}}
	}
	ask.What = "random"
	dss.Passed(t, ask, "")
}

// TestLargeCMS signs 128 MB, and lets OpenSSL read them.
func TestLargeCMS(t *testing.T) {
	if !full {
		t.Skip("SKIPPED: 128 MB are signed by `make interop` (ROGITO_INTEROP=1)")
	}
	openssl := tool(t, "openssl")
	a := pki.Actor(t, "good")
	file := write(t, "large.p7m", signCAdES(t, a, make([]byte, 128<<20), a.Signing(pki.Now()), cades.Options{}))
	runTool(t, openssl, "cms", "-verify", "-binary", "-inform", "DER", "-in", file, "-out", os.DevNull, "-CAfile", rootPEM, "-purpose", "any")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := cades.Read(context.Background(), sized{f, info.Size()}, ades.ReadOptions{})
	if err != nil || doc.Signatures[0].Intact() != ades.Yes {
		t.Errorf("%v", err)
	}
}

type sized struct {
	*os.File
	size int64
}

func (s sized) Size() int64 { return s.size }

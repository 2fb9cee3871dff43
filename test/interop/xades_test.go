package interop

import (
	"bytes"
	"context"
	"crypto"
	"fmt"
	"os/exec"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/xades"
)

const invoiceXML = `<?xml version="1.0" encoding="UTF-8"?>
<!-- before -->
<f:Invoice xmlns:f="urn:invoice" xmlns:x="urn:x" xml:lang="it">
  <Header Id="head" x:a="1"
     b="two&#10;lines">caff` + "\u00e8" + `</Header><!-- inside -->
  <Body xmlns="urn:default"><![CDATA[<1 & 2>]]></Body>
</f:Invoice>
<?after all?>`

// xadesCase is one way of making a XAdES signature.
type xadesCase struct {
	name      string
	packaging xades.Packaging
	files     []ades.File
	detached  bool
}

func memory(name, content string) ades.File {
	return ades.File{Name: name, Source: bytes.NewReader([]byte(content))}
}

func xadesCases() []xadesCase {
	xml, bin := memory("invoice.xml", invoiceXML), memory("my data.bin", "\x00\x01binary\r\n")
	return []xadesCase{
		{"enveloped", xades.Enveloped, []ades.File{xml}, false},
		{"enveloping", xades.Enveloping, []ades.File{bin}, false},
		{"enveloping-two", xades.Enveloping, []ades.File{bin, xml}, false},
		{"detached", xades.Detached, []ades.File{bin}, true},
		{"detached-two", xades.Detached, []ades.File{bin, xml}, true},
		{"internally-detached", xades.InternallyDetached, []ades.File{xml}, false},
	}
}

// ask writes the document and its detached content for DSS.
func (c xadesCase) ask(t testing.TB, signed []byte) Ask {
	t.Helper()
	ask := Ask{File: write(t, "signed.xml", signed), What: c.name}
	if c.detached {
		for _, f := range c.files {
			b := make([]byte, f.Source.Size())
			if _, err := f.Source.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			ask.Detached = append(ask.Detached, map[string]string{"file": write(t, "content", b), "name": f.Name})
		}
	}
	return ask
}

func (c xadesCase) raise(t testing.TB, signed []byte, level ades.Level) []byte {
	t.Helper()
	var out bytes.Buffer
	r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki}
	if c.detached {
		r.Detached = c.files
	}
	if err := xades.Augment(context.Background(), bytes.NewReader(signed), &out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// xmlsec has xmlsec1 check the first signature of a document.
func xmlsec(t testing.TB, what row, file string, attrs ...string) {
	t.Helper()
	args := []string{"--verify", "--insecure", "--enabled-key-data", "x509"}
	for _, a := range append(attrs, "Id:http://uri.etsi.org/01903/v1.3.2#:SignedProperties") {
		args = append(args, "--id-attr:"+a[:2], a[3:])
	}
	args = append(args, "--trusted-pem", rootPEM, file)
	out, err := exec.Command(tool(t, "xmlsec1"), args...).CombinedOutput()
	what.validator = "xmlsec1"
	table.add(what, err == nil)
	if err != nil {
		t.Errorf("xmlsec1: %v: %s", err, bytes.TrimSpace(out))
	}
}

func TestXAdESPackagingsAndLevels(t *testing.T) {
	a := pki.Actor(t, "good")
	for _, c := range xadesCases() {
		o := xades.Options{Packaging: c.packaging}
		d, err := xades.Prepare(t.Context(), c.files, a.Signing(pki.Now()), o)
		if err != nil {
			t.Fatal(err)
		}
		b := a.Finish(t, d, a.Signing(pki.Now()))
		for level := ades.LevelB; level <= ades.LevelLTA; level++ {
			t.Run(fmt.Sprintf("%s-%s", c.name, level), func(t *testing.T) {
				signed := b
				if level > ades.LevelB {
					signed = c.raise(t, b, level)
				}
				ask := c.ask(t, signed)
				dss.Passed(t, ask, "XAdES-BASELINE-"+level.String())
				if !c.detached {
					xmlsec(t, row{"", "XAdES", c.name, level.String(), "RSA SHA256"}, ask.File, "Id:http://www.w3.org/2000/09/xmldsig#:Object", "Id:urn:invoice:Invoice")
				}
			})
		}
	}
}

func TestXAdESAlgorithms(t *testing.T) {
	c := xadesCases()[0]
	for _, actor := range []string{"good", "rsa3072", "p256", "p384", "p521", "ed25519"} {
		a := pki.Actor(t, actor)
		for _, hash := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			for _, pss := range []bool{false, true} {
				if pss && actor != "good" || actor == "ed25519" && hash != crypto.SHA512 {
					continue
				}
				t.Run(fmt.Sprintf("%s-%s-pss=%v", actor, hash, pss), func(t *testing.T) {
					p := a.Signing(pki.Now())
					p.Hash, p.PSS = hash, pss
					d, err := xades.Prepare(t.Context(), c.files, p, xades.Options{})
					if err != nil {
						t.Fatal(err)
					}
					signed := c.raise(t, a.Finish(t, d, p), ades.LevelLTA)
					ask := c.ask(t, signed)
					if actor == "ed25519" {
						intact(t, ask)
						return
					}
					dss.Passed(t, ask, "XAdES-BASELINE-LTA")
					if !pss { // xmlsec1 1.2 knows no PSS
						xmlsec(t, row{"", "XAdES", c.name, "LTA", algorithm(p)}, ask.File)
					}
				})
			}
		}
	}
}

// intact is all that can be asked of DSS for algorithms beyond its policy.
func intact(t testing.TB, ask Ask) {
	t.Helper()
	v := dss.Validate(t, ask)
	if len(v.Signatures) != 1 || v.Signatures[0].Intact == nil || !*v.Signatures[0].Intact {
		t.Errorf("not intact: %s", v.Raw)
	}
}

// TestXAdESEmpty signs nothing at all.
func TestXAdESEmpty(t *testing.T) {
	a := pki.Actor(t, "p256")
	c := xadesCase{name: "enveloping, empty file", packaging: xades.Enveloping, files: []ades.File{memory("empty", "")}}
	d, err := xades.Prepare(t.Context(), c.files, a.Signing(pki.Now()), xades.Options{Packaging: c.packaging})
	if err != nil {
		t.Fatal(err)
	}
	dss.Passed(t, c.ask(t, c.raise(t, a.Finish(t, d, a.Signing(pki.Now())), ades.LevelLTA)), "XAdES-BASELINE-LTA")
}

func TestXAdESPartsAndSeveral(t *testing.T) {
	a := pki.Actor(t, "p256")
	for name, o := range map[string]xades.Options{
		"element":   {SignElement: "head", SignatureID: "mine"},
		"xpath":     {XPathQuery: "//Header | //d:Body", Prefixes: map[string]string{"d": "urn:default"}},
		"no-filter": {KeepSignatures: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := xades.Prepare(t.Context(), []ades.File{memory("", invoiceXML)}, a.Signing(pki.Now()), o)
			if err != nil {
				t.Fatal(err)
			}
			dss.Passed(t, Ask{File: write(t, "part.xml", a.Finish(t, d, a.Signing(pki.Now())))}, "XAdES-BASELINE-B")
		})
	}
	t.Run("two signatures", func(t *testing.T) {
		doc := []byte(invoiceXML)
		for _, who := range []string{"good", "second"} {
			a := pki.Actor(t, who)
			d, err := xades.Prepare(t.Context(), []ades.File{memory("", string(doc))}, a.Signing(pki.Now()), xades.Options{})
			if err != nil {
				t.Fatal(err)
			}
			doc = a.Finish(t, d, a.Signing(pki.Now()))
		}
		v := dss.Passed(t, Ask{File: write(t, "two.xml", xadesCase{}.raise(t, doc, ades.LevelLTA))}, "XAdES-BASELINE-LTA")
		if len(v.Signatures) != 2 {
			t.Errorf("%d signatures, want 2", len(v.Signatures))
		}
	})
}

// TestXAdESRenewal takes archive time-stamps one after another.
func TestXAdESRenewal(t *testing.T) {
	for _, c := range xadesCases() {
		t.Run(c.name, func(t *testing.T) {
			a := pki.Actor(t, "crl")
			o := xades.Options{Packaging: c.packaging}
			d, err := xades.Prepare(t.Context(), c.files, a.Signing(pki.Now()), o)
			if err != nil {
				t.Fatal(err)
			}
			b := a.Finish(t, d, a.Signing(pki.Now()))
			for range 3 {
				b = c.raise(t, b, ades.LevelLTA)
			}
			dss.Passed(t, c.ask(t, b), "XAdES-BASELINE-LTA")
		})
	}
}

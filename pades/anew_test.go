package pades

import (
	"bytes"
	"errors"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/rewrite"
)

// A document that reads in more than one way is written anew and signed, at every
// level; as it is it is refused.
func TestPrepareWritesAnew(t *testing.T) {
	t.Parallel()
	pki := adestest.Must(t, nil)
	signer := pki.Actor(t, "good")
	whole := simplePDF(300)
	for name, data := range map[string][]byte{
		"no startxref":   bytes.Replace(whole, []byte("startxref"), []byte("startxxxx"), 1),
		"before":         append([]byte("junk\n"), whole...),
		"wrong Count":    bytes.Replace(whole, []byte("/Count 1"), []byte("/Count 2"), 1),
		"Size too small": bytes.Replace(whole, []byte("/Size 6"), []byte("/Size 1"), 1),
		"not closed":     bytes.Replace(whole, []byte("<</Type/Catalog/Pages 2 0 R>>"), []byte("<</Type/Catalog/Pages 2 0 R>x"), 1),
	} {
		p := signer.Signing(pki.Now())
		var m *ades.MalformedError
		if _, err := Prepare(t.Context(), bytes.NewReader(data), p, Options{AsIs: true}); !errors.As(err, &m) {
			t.Errorf("%s, as it is: %v", name, err)
		}
		d, err := Prepare(t.Context(), bytes.NewReader(data), p, Options{})
		if err != nil || len(d.Anew()) == 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var out bytes.Buffer
		if err := sign(t.Context(), bytes.NewReader(data), &out, signer.Key, p, Options{}, ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		doc, err := Read(t.Context(), bytes.NewReader(out.Bytes()), ades.ReadOptions{})
		if err != nil || len(doc.Signatures) != 1 || doc.Signatures[0].Intact() != ades.Yes || len(doc.Signatures[0].Problems) > 0 {
			t.Errorf("%s: %v, %+v", name, err, doc)
		}
	}
	d, err := Prepare(t.Context(), bytes.NewReader(whole), signer.Signing(pki.Now()), Options{AsIs: true})
	if err != nil || d.Anew() != nil {
		t.Errorf("nothing is wrong with it: %v", err)
	}
}

// What is encrypted stays so when it is written anew.
func TestAnewKeepsEncryption(t *testing.T) {
	t.Parallel()
	d, err := pdf.Open(bytes.NewReader(simplePDF(300)), pdf.Options{Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	var sealed bytes.Buffer
	if err := rewrite.Encrypt(&sealed, d, "secret"); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.NewReader(bytes.Replace(sealed.Bytes(), []byte("startxref"), []byte("startxxxx"), 1))
	pki := adestest.Must(t, nil)
	signer := pki.Actor(t, "good")
	var out bytes.Buffer
	if err := sign(t.Context(), damaged, &out, signer.Key, signer.Signing(pki.Now()), Options{Password: "secret"}, ades.AugmentOptions{}); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Bytes(), []byte("Lorem")) {
		t.Error("the content is in clear")
	}
	if _, err := Read(t.Context(), bytes.NewReader(out.Bytes()), ades.ReadOptions{Password: "other"}); !errors.Is(err, ades.ErrPassword) {
		t.Errorf("another password: %v", err)
	}
	doc, err := Read(t.Context(), bytes.NewReader(out.Bytes()), ades.ReadOptions{Password: "secret"})
	if err != nil || len(doc.Signatures) != 1 || doc.Signatures[0].Intact() != ades.Yes {
		t.Errorf("%v, %+v", err, doc)
	}
	if _, err := Prepare(t.Context(), damaged, signer.Signing(pki.Now()), Options{}); !errors.Is(err, ades.ErrPassword) {
		t.Errorf("no password: %v", err)
	}
}

// A document that has a signature is never written anew, however damaged it is.
func TestAnewRefusesSignatures(t *testing.T) {
	t.Parallel()
	pki := adestest.Must(t, nil)
	signer := pki.Actor(t, "good")
	var out bytes.Buffer
	if err := sign(t.Context(), bytes.NewReader(simplePDF(300)), &out, signer.Key, signer.Signing(pki.Now()), Options{}, ades.AugmentOptions{}); err != nil {
		t.Fatal(err)
	}
	hidden := bytes.Replace(out.Bytes(), []byte("/AcroForm"), []byte("/AcroFern"), 1)
	for name, data := range map[string][]byte{
		"no startxref": bytes.ReplaceAll(out.Bytes(), []byte("startxref"), []byte("startxxxx")),
		"hidden":       bytes.ReplaceAll(hidden, []byte("startxref"), []byte("startxxxx")),
	} {
		room := new(memory)
		if err := Anew(t.Context(), room, bytes.NewReader(data), ""); !errors.Is(err, ErrForbidden) || room.Len() > 0 {
			t.Errorf("%s: %v, %d bytes written", name, err, room.Len())
		}
		if d, err := Prepare(t.Context(), bytes.NewReader(data), signer.Signing(pki.Now()), Options{}); err == nil {
			t.Errorf("%s: prepared, anew for %v", name, d.Anew())
		}
	}
}

// A document with usage rights is signed as it is, also where another one would be
// written anew: they would not survive that.
func TestUsageRights(t *testing.T) {
	t.Parallel()
	pki := adestest.Must(t, nil)
	signer := pki.Actor(t, "good")
	b := newBuilder()
	b.object(1, "<</Type/Catalog/Pages 2 0 R/Perms<</UR3 5 0 R>>>>")
	b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	b.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R>>")
	b.stream(4, "", "0 0 9 9 re f")
	b.object(5, "<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/adbe.pkcs7.detached/ByteRange[0 1 2 3]/Contents<3000>>>")
	whole := b.table("/Root 1 0 R/ID[<01><02>]")
	data := bytes.Replace(whole, []byte("/Size 6"), []byte("/Size 1"), 1)
	var out bytes.Buffer
	if err := sign(t.Context(), bytes.NewReader(data), &out, signer.Key, signer.Signing(pki.Now()), Options{}, ades.AugmentOptions{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(out.Bytes(), data) {
		t.Error("written anew")
	}
	doc, err := Read(t.Context(), bytes.NewReader(out.Bytes()), ades.ReadOptions{})
	if err != nil || len(doc.Signatures) != 1 || doc.Signatures[0].Intact() != ades.Yes || ades.Fatal(doc.Signatures[0].Problems) {
		t.Errorf("%v, %+v", err, doc)
	}
}

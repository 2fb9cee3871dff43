package forgery

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	raw "rogito.dev/rogito/internal/pdf"
)

// materials are what specimens are made of.
type materials struct {
	t *testing.T
	*service
}

// signer is the person whose signatures are abused.
func (m *materials) signer() *adestest.Actor { return m.pki.Actor(m.t, "p256") }

// sign signs files at level B, or as change says.
func (m *materials) sign(files []ades.File, change func(*rogito.Options)) []byte {
	m.t.Helper()
	return m.signAs(m.signer(), files, change)
}

func (m *materials) signAs(a *adestest.Actor, files []ades.File, change func(*rogito.Options)) []byte {
	m.t.Helper()
	o := rogito.Options{SignParams: a.Signing(m.pki.Now()), Stamper: m.pki.Unit, Gatherer: m.pki}
	if change != nil {
		change(&o)
	}
	var out bytes.Buffer
	if _, err := rogito.Sign(context.Background(), rogito.Input{Files: files}, &out, a.Key, o); err != nil {
		m.t.Fatal(err)
	}
	return out.Bytes()
}

// signOne signs one document.
func (m *materials) signOne(name string, content []byte, change func(*rogito.Options)) []byte {
	m.t.Helper()
	return m.sign([]ades.File{{Name: name, Source: bytes.NewReader(content)}}, change)
}

// pdf is a document of one page that says "Pay EUR 100 to Anna", with a font,
// a picture, a text field "amount", a check box "agreed" and a note. The
// objects have fixed numbers, so that forgers can aim:
// 1 catalog, 2 pages, 3 page, 4 content, 5 font, 6 form, 7 amount,
// 8 its appearance, 9 agreed, 10 on, 11 off, 12 note, 13 info.
func pdf() []byte {
	stream := func(dict, data string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
	}
	form := "/Type/XObject/Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</Helv 5 0 R>>>>"
	box := "/Type/XObject/Subtype/Form/BBox[0 0 20 20]"
	return build([]string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm 6 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R/Annots[7 0 R 9 0 R 12 0 R]>>",
		stream("", "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET"),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Fields[7 0 R 9 0 R]/DR<</Font<</Helv 5 0 R>>>>/DA(/Helv 12 Tf 0 g)>>",
		"<</Type/Annot/Subtype/Widget/FT/Tx/T(amount)/V(100)/DA(/Helv 12 Tf 0 g)/Rect[20 100 120 120]/F 4/P 3 0 R/AP<</N 8 0 R>>>>",
		stream(form, "/Tx BMC BT /Helv 12 Tf 0 g 2 5 Td (100) Tj ET EMC"),
		"<</Type/Annot/Subtype/Widget/FT/Btn/T(agreed)/V/Off/AS/Off/Rect[20 60 40 80]/F 4/P 3 0 R/AP<</N<</Yes 10 0 R/Off 11 0 R>>>>>>",
		stream(box, "0 0 20 20 re S 2 2 m 18 18 l S"),
		stream(box, "0 0 20 20 re S"),
		"<</Type/Annot/Subtype/Text/Contents(a note)/Rect[250 150 270 170]/F 28/P 3 0 R>>",
		"<</Title(Contract)/Producer(forgery suite)>>",
	}, "/Info 13 0 R")
}

// build writes objects 1 to n as a PDF with a classic table.
func build(objects []string, trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	at := make([]int, len(objects))
	for i, o := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, off := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", off)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, xref)
	return b.Bytes()
}

// oracle is the folder of other people's programs; makers that need it leave
// their specimens out, loudly, where it is not asked for.
func (m *materials) oracle() (dir string, ok bool) {
	if os.Getenv("ROGITO_INTEROP") == "" {
		m.t.Log("SKIPPED: documents signed by others are added by `make interop` (ROGITO_INTEROP=1)")
		return "", false
	}
	dir = os.Getenv("ROGITO_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "oracle"))
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		m.t.Log("SKIPPED: no oracles: set ROGITO_SHARED to the folder that holds them")
		return "", false
	}
	return dir, true
}

// command runs a program and returns what it printed.
func (m *materials) command(name string, args ...string) []byte {
	m.t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		m.t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return out
}

// signUnchecked signs a PDF as another program would that does not look at what
// it signs: Rogito itself writes a document anew that reads in more than one way.
func (m *materials) signUnchecked(content []byte) []byte {
	m.t.Helper()
	signed, err := m.tryUnchecked(content)
	if err != nil {
		m.t.Fatal(err)
	}
	return signed
}

func (m *materials) tryUnchecked(content []byte) ([]byte, error) {
	d, err := raw.Open(bytes.NewReader(content), raw.Options{Repair: true})
	if err != nil {
		return nil, err
	}
	const room = 8192
	u := d.Update()
	ranges := fmt.Sprintf("%-60s", "[0 0 0 0]")
	sig := u.New(raw.Raw("<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/ETSI.CAdES.detached/ByteRange" + ranges + "/Contents<" + strings.Repeat("0", room) + ">>>"))
	page, err := d.Page(0)
	if err != nil {
		return nil, err
	}
	widget := u.New(raw.Raw(fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Sig/T(Unchecked)/V %v/Rect[0 0 0 0]/F 132/P %v>>", sig, page.Ref)))
	cat, err := d.Catalog()
	if err != nil {
		return nil, err
	}
	form, ok := cat.Get("AcroForm").(raw.Ref)
	if !ok {
		form = u.New(raw.Raw(fmt.Sprintf("<</Fields[%v]/SigFlags 3>>", widget)))
		root, err := u.Edit(d.Root())
		if err != nil {
			return nil, err
		}
		root.Set("AcroForm", form)
	}
	for _, to := range []struct {
		ref raw.Ref
		key raw.Name
	}{{page.Ref, "Annots"}, {form, "Fields"}} {
		if !ok && to.key == "Fields" {
			continue
		}
		holder, err := u.Edit(to.ref)
		if err != nil {
			return nil, err
		}
		if err := u.Append(holder, to.key, widget); err != nil {
			return nil, err
		}
		if to.key == "Fields" {
			holder.Set("SigFlags", raw.Integer(3))
		}
	}
	more, err := u.Bytes()
	if err != nil {
		return nil, err
	}
	out := append(bytes.Clone(content), more...)
	from := bytes.LastIndex(out, []byte("/Contents<00")) + len("/Contents")
	to := from + room + 2
	copy(out[bytes.LastIndex(out, []byte(ranges)):], fmt.Sprintf("%-60s", fmt.Sprintf("[0 %d %d %d]", from, to, len(out)-to)))
	value := m.sign([]ades.File{{Name: "x.pdf", Source: bytes.NewReader(append(bytes.Clone(out[:from]), out[to:]...))}}, func(o *rogito.Options) {
		o.Format, o.CAdES = ades.CAdES, cades.Options{Detached: true}
	})
	copy(out[from+1:], fmt.Sprintf("%x", value))
	return out, nil
}

// pemFiles writes the signer's key and certificate for other programs.
func (m *materials) pemFiles(dir string) (key, cert string) {
	m.t.Helper()
	a := m.signer()
	der, err := x509.MarshalPKCS8PrivateKey(a.Key)
	if err != nil {
		m.t.Fatal(err)
	}
	key, cert = filepath.Join(dir, "key.pem"), filepath.Join(dir, "cert.pem")
	for path, block := range map[string]*pem.Block{key: {Type: "PRIVATE KEY", Bytes: der}, cert: {Type: "CERTIFICATE", Bytes: a.Certificate.Raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	return key, cert
}

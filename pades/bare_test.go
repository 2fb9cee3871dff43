package pades

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha1"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// barePDF is signed by a PKCS#1 value over SHA-1 beside its certificate, as the
// first versions of Acrobat did (ISO 32000-1, 12.8.3.2).
func barePDF(t *testing.T, a *adestest.Actor, cert string) []byte {
	t.Helper()
	const room = 2048
	b := newBuilder()
	b.object(1, "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[4 0 R]/SigFlags 3>>>>")
	b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	b.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Annots[4 0 R]>>")
	b.object(4, "<</Type/Annot/Subtype/Widget/FT/Sig/T(s)/V 5 0 R/Rect[0 0 0 0]/P 3 0 R>>")
	b.object(5, "<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/adbe.x509.rsa_sha1"+cert+"/ByteRange[0 1111111111 2222222222 3333333333]/Contents<"+strings.Repeat("0", room)+">>>")
	doc := b.table("/Root 1 0 R/ID[<01020304><05060708>]")
	at := bytes.Index(doc, []byte("/Contents<")) + len("/Contents")
	end := at + room + 2
	ranges := fmt.Sprintf("/ByteRange[0 %d %d %d]", at, end, len(doc)-end)
	place := bytes.Index(doc, []byte("/ByteRange["))
	copy(doc[place:], ranges+strings.Repeat(" ", len("/ByteRange[0 1111111111 2222222222 3333333333]")-len(ranges)))
	h := sha1.New()
	h.Write(doc[:at])
	h.Write(doc[end:])
	value, err := a.Key.Sign(rand.Reader, h.Sum(nil), crypto.SHA1)
	if err != nil {
		t.Fatal(err)
	}
	der, err := asn1.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	copy(doc[at+1:], hex.EncodeToString(der))
	return doc
}

func TestBareValues(t *testing.T) {
	pki := adestest.Must(t, nil)
	a := pki.Actor(t, "rsa3072")
	hexOf := func(a *adestest.Actor) string { return "<" + hex.EncodeToString(a.Certificate.Raw) + ">" }
	good := barePDF(t, a, "/Cert"+hexOf(a))
	for name, row := range map[string]struct {
		doc  []byte
		want ades.Tri
	}{
		"one certificate":          {good, ades.Yes},
		"a list of certificates":   {barePDF(t, a, "/Cert["+hexOf(a)+"<"+hex.EncodeToString(pki.Issuing.Raw)+">]"), ades.Yes},
		"another's certificate":    {barePDF(t, a, "/Cert"+hexOf(pki.Actor(t, "rsa4096"))), ades.No},
		"no certificate":           {barePDF(t, a, ""), ades.Unknown},
		"another size of the page": {bytes.Replace(good, []byte("595 842"), []byte("595 843"), 1), ades.No},
	} {
		s := readAll(t, row.doc, "").Signatures[0]
		if s.Intact() != row.want {
			t.Errorf("%s: intact %v, want %v; %+v", name, s.Intact(), row.want, s.Problems)
		}
	}
}

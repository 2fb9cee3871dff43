package cms

import (
	"bytes"
	"crypto"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// signer is a SignerInfo of the right form whose value is not one.
func signer(t testing.TB, unsigned ...[]byte) *SignerInfo {
	t.Helper()
	attrs := SetOf(TagSet, [][]byte{
		NewAttribute(oid.AttrContentType, TLV(TagOID, oid.Content(oid.Data))),
		NewAttribute(oid.AttrMessageDigest, TLV(TagOctetString, make([]byte, 32))),
	})
	si, err := ParseSignerInfo(NewSigner{
		Issuer: TLV(TagSequence), Serial: []byte{TagInteger, 1, 7}, DigestAlgorithm: DigestAlgorithm(crypto.SHA256),
		SignedAttrs: attrs, SignatureAlgorithm: TLV(TagSequence, TLV(TagOID, oid.Content(oid.SHA256WithRSA))),
		Signature: []byte("value"), UnsignedAttrs: unsigned,
	}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return si
}

func sample(t testing.TB, content string) []byte {
	t.Helper()
	sd := &SignedData{ContentType: oid.Data, SignerInfos: []*SignerInfo{signer(t)}}
	if content != "" {
		sd.Content = strings.NewReader(content)
	}
	sd.AddCertificates(TLV(TagSequence, TLV(TagOctetString, []byte("certificate"))))
	sd.AddRevocations(TLV(TagSequence), OCSPChoice(pkix.WrapBasicOCSP(TLV(TagSequence))))
	if err := sd.AddDigestAlgorithm(DigestAlgorithm(crypto.SHA256)); err != nil {
		t.Fatal(err)
	}
	b, err := sd.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// indefinite re-encodes every constructed value with an indefinite length, and
// octet strings in chunks, except inside signed attributes.
func indefinite(t testing.TB, raw []byte) []byte {
	t.Helper()
	e, _, err := ReadElement(raw)
	if err != nil {
		t.Fatal(err)
	}
	if e.Tag == TagOctetString && len(e.Body) > 3 {
		half := len(e.Body) / 2
		return chunks(TLV(TagOctetString, e.Body[:half]), TLV(TagOctetString|constructed, TLV(TagOctetString, e.Body[half:])))
	}
	if !e.Constructed() {
		return raw
	}
	out := []byte{e.Tag, 0x80}
	children, err := e.Children()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		out = append(out, indefinite(t, c.Raw)...)
	}
	return append(out, 0, 0)
}

func chunks(parts ...[]byte) []byte {
	out := []byte{TagOctetString | constructed, 0x80}
	for _, p := range parts {
		out = append(out, p...)
	}
	return append(out, 0, 0)
}

func TestDefiniteAndIndefiniteAreTheSame(t *testing.T) {
	der := sample(t, "some content")
	ber := indefinite(t, der)
	if bytes.Equal(der, ber) {
		t.Fatal("nothing was re-encoded")
	}
	for name, form := range map[string][]byte{"DER": der, "BER": ber, "padded": append(ber, make([]byte, 100)...)} {
		sd, err := Parse(bytes.NewReader(form))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		content, err := io.ReadAll(io.NewSectionReader(sd.Content, 0, sd.Content.Size()))
		if err != nil || string(content) != "some content" {
			t.Errorf("%s: content %q, %v", name, content, err)
		}
		if name != "padded" && sd.Length != int64(len(form)) || len(sd.X509()) != 1 || len(sd.CRLs()) != 1 || len(sd.OCSPs()) != 1 {
			t.Errorf("%s: length %d, %d, %d, %d", name, sd.Length, len(sd.X509()), len(sd.CRLs()), len(sd.OCSPs()))
		}
		si := sd.SignerInfos[0]
		if string(si.Signature) != "value" || !bytes.Equal(si.ToBeSigned(), signer(t).ToBeSigned()) {
			t.Errorf("%s: signer differs", name)
		}
	}
	back, err := DER(ber)
	if err != nil || !bytes.Equal(back, der) {
		t.Errorf("DER: %v", err)
	}
}

func TestRewritingKeepsBytes(t *testing.T) {
	ber := indefinite(t, sample(t, "some content"))
	sd, err := Parse(bytes.NewReader(ber))
	if err != nil {
		t.Fatal(err)
	}
	old := sd.SignerInfos[0].Raw
	sd.SignerInfos = append(sd.SignerInfos, signer(t))
	out, err := sd.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if len(again.SignerInfos) != 2 || !bytes.Equal(again.SignerInfos[0].Raw, old) {
		t.Error("the first signer has changed")
	}
	if again.Version != 5 {
		t.Errorf("version %d", again.Version)
	}
}

func TestSignedAttributesAreSorted(t *testing.T) {
	si := signer(t)
	children, err := (Element{Tag: 0xa0, Raw: si.RawSignedAttrs, Body: si.RawSignedAttrs[2:]}).Children()
	if err != nil {
		t.Fatal(err)
	}
	swapped := TLV(0xa0, children[1].Raw, children[0].Raw)
	raw := bytes.Replace(si.Raw, si.RawSignedAttrs, swapped, 1)
	other, err := ParseSignerInfo(raw)
	if err != nil {
		t.Fatal(err)
	}
	if other.StoredInOrder() || !si.StoredInOrder() {
		t.Error("order not noticed")
	}
	if !bytes.Equal(other.ToBeSigned(), si.ToBeSigned()) {
		t.Error("not sorted")
	}
}

func TestMalformed(t *testing.T) {
	der := sample(t, "content")
	for i := range der {
		_, _ = Parse(bytes.NewReader(der[:i])) // must not panic
		if _, err := Parse(bytes.NewReader(der[:i])); err == nil {
			t.Errorf("%d of %d bytes are taken", i, len(der))
		}
	}
	deep := bytes.Repeat([]byte{0x30, 0x80}, 10_000)
	if _, err := Parse(bytes.NewReader(deep)); err == nil {
		t.Error("deep nesting is taken")
	}
	if _, _, err := ReadElement(deep); err == nil {
		t.Error("deep nesting is taken")
	}
	if _, _, err := ReadElement([]byte{0x30, 0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}); err == nil {
		t.Error("a huge length is taken")
	}
}

func TestContentReadsAcrossPieces(t *testing.T) {
	c := newContent(strings.NewReader("xxabcxdefx"), []span{{2, 3}, {5, 0}, {6, 3}})
	for off := range 6 {
		buf := make([]byte, 6-off)
		if n, err := c.ReadAt(buf, int64(off)); n != len(buf) || err != nil || string(buf) != "abcdef"[off:] {
			t.Errorf("at %d: %q, %v", off, buf[:n], err)
		}
	}
	if n, err := c.ReadAt(make([]byte, 1), 6); n != 0 || err != io.EOF {
		t.Errorf("past the end: %d, %v", n, err)
	}
}

func FuzzParse(f *testing.F) {
	der := sample(f, "content")
	f.Add(der)
	f.Add(indefinite(f, der))
	f.Add(sample(f, ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		sd, err := Parse(bytes.NewReader(b))
		mem, merr := ParseBytes(b)
		if fmt.Sprint(err) != fmt.Sprint(merr) {
			t.Fatalf("from a source: %v; in memory: %v", err, merr)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(sd.SignerInfos, mem.SignerInfos) || !reflect.DeepEqual(sd.Certificates, mem.Certificates) ||
			!reflect.DeepEqual(sd.Revocations, mem.Revocations) || sd.ContentType != mem.ContentType || sd.Length != mem.Length {
			t.Fatalf("from a source: %+v; in memory: %+v", sd, mem)
		}
		for _, si := range sd.SignerInfos {
			_ = si.ToBeSigned()
			if _, err := Facts(si, Subject{ContentType: sd.ContentType, Digest: OfSource(sd.Content), Certificates: Candidates(sd.X509())}); err != nil {
				t.Fatal(err)
			}
		}
		out, err := sd.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(bytes.NewReader(out))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if len(again.SignerInfos) != len(sd.SignerInfos) || len(again.Certificates) != len(sd.Certificates) {
			t.Fatal("what was written is not what was read")
		}
	})
}

func FuzzDER(f *testing.F) {
	f.Add(indefinite(f, sample(f, "content")))
	f.Fuzz(func(t *testing.T, b []byte) {
		der, err := DER(b)
		if err != nil {
			return
		}
		again, err := DER(der)
		if err != nil || !bytes.Equal(again, der) {
			t.Fatalf("DER of DER differs: %v", err)
		}
	})
}

func FuzzUnarmour(f *testing.F) {
	f.Add([]byte("-----BEGIN PKCS7-----\nMIIB\n-----END PKCS7-----"))
	f.Add([]byte("MIIB"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = Unarmour(bytes.NewReader(b)) })
}

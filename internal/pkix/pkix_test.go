package pkix

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	stdpkix "crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

func attribute(oid string, tag byte, value string) []byte {
	return encode(tagSet, encode(tagSequence, encodeOID(oid), encode(tag, []byte(value))))
}

func TestNames(t *testing.T) {
	a := encode(tagSequence, attribute(OIDCountry, tagPrintableString, "IT"), attribute(OIDCommonName, tagPrintableString, "Mario  ROSSI "))
	b := encode(tagSequence, attribute(OIDCountry, tagUTF8String, "it"), attribute(OIDCommonName, tagBMPString, "\x00M\x00a\x00r\x00i\x00o\x00 \x00R\x00o\x00s\x00s\x00i"))
	if !EqualNames(a, b) {
		t.Error("prepared names differ")
	}
	c := encode(tagSequence, attribute(OIDCommonName, tagUTF8String, "Mario Rossi"), attribute(OIDCountry, tagUTF8String, "IT"))
	if EqualNames(b, c) {
		t.Error("order must matter")
	}
	for _, row := range []struct {
		der  []byte
		want string
	}{
		{encode(tagSequence, attribute(OIDCountry, tagPrintableString, "IT"), attribute(OIDOrganization, tagUTF8String, "A, B + C"), attribute(OIDSerialNumber, tagPrintableString, "TINIT-X")), `C=IT,O=A\, B \+ C,serialNumber=TINIT-X`},
		{encode(tagSequence, attribute("1.2.3.4", tagUTF8String, "x")), "1.2.3.4=#0c0178"},
		{encode(tagSequence, attribute(OIDCommonName, tagT61String, "Andr\xe9 ")), `CN=André\ `},
		{encode(tagSequence, attribute(OIDCommonName, tagUTF8String, "#x\x00y")), `CN=\#x\00y`},
	} {
		n, err := ParseName(row.der)
		if err != nil || n.String() != row.want {
			t.Errorf("got %q, %v; want %q", n, err, row.want)
		}
	}
}

func TestOIDs(t *testing.T) {
	for _, s := range []string{"2.5.4.3", "1.2.840.113549.1.1.11", "0.9.2342.19200300.100.1.25", "2.999.3"} {
		r := reader(encodeOID(s))
		e, _ := r.next()
		if got := parseOID(e.body); got != s {
			t.Errorf("%s came back as %s", s, got)
		}
	}
}

func selfSigned(t testing.TB) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: stdpkix.Name{Country: []string{"IT"}, CommonName: "Root"},
		NotBefore: time.Unix(1e9, 0), NotAfter: time.Unix(2e9, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, MaxPathLen: 1,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestParseCertificate(t *testing.T) {
	der := selfSigned(t)
	c, err := ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if !c.SelfSigned() || c.SubjectDN() != "C=IT,CN=Root" || c.BasicConstraints.MaxPathLen != 1 || !c.HasUsage(KeyCertSign) || c.HasUsage(CRLSign) {
		t.Errorf("read wrongly: %+v", c)
	}
	bad := append([]byte(nil), der...)
	bad[len(bad)-1] ^= 1
	if c, err := ParseCertificate(bad); err == nil && c.SelfSigned() {
		t.Error("a broken signature verifies")
	}
	if _, err := ParseCertificate(append(der, 1)); err == nil {
		t.Error("data after the certificate goes unnoticed")
	}
}

func TestNegativeSerial(t *testing.T) {
	for _, n := range []int64{-1, -128, -129, -32768, 0, 127, 128} {
		e, _ := func() (element, bool) { r := reader(encodeInt(big.NewInt(n))); return r.next() }()
		if Integer(e.body).Int64() != n {
			t.Errorf("%d came back as %v", n, Integer(e.body))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(selfSigned(f))
	f.Add([]byte{0x30, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseCertificate(b); err == nil {
			_ = c.SubjectDN()
			_ = c.SelfSigned()
			_ = c.KeyBits()
		}
		if o, err := ParseOCSPResponse(b); err == nil {
			_ = len(o.Responses)
		}
		if l, err := ParseCRL(b); err == nil {
			_, _, _ = l.Find(&Certificate{SerialNumber: big.NewInt(1)})
		}
	})
}

func BenchmarkParseCertificate(b *testing.B) {
	der := selfSigned(b)
	for b.Loop() {
		if _, err := ParseCertificate(der); err != nil {
			b.Fatal(err)
		}
	}
}

// A name is recognised in every form that programs write, and nothing else is.
func TestNameWrote(t *testing.T) {
	str := func(oid []byte, tag byte, v string) []byte {
		attr := append(append([]byte{6, byte(len(oid))}, oid...), append([]byte{tag, byte(len(v))}, v...)...)
		rdn := append([]byte{0x30, byte(len(attr))}, attr...)
		return append([]byte{0x31, byte(len(rdn))}, rdn...)
	}
	var body []byte
	for _, rdn := range [][]byte{
		str([]byte{0x55, 4, 6}, 0x13, "IT"), str([]byte{0x55, 4, 10}, 0x0c, "Rossi, Bianchi & C."), str([]byte{0x55, 4, 97}, 0x0c, "VATIT-123"), str([]byte{0x55, 4, 3}, 0x0c, "Mario Rossì"),
	} {
		body = append(body, rdn...)
	}
	n, err := ParseName(append([]byte{0x30, byte(len(body))}, body...))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		n.String(): true, "Mario Rossì": true, "mario  rossì": true,
		`CN=Mario Rossì, OID.2.5.4.97=VATIT-123, O="Rossi, Bianchi & C.", C=IT`:            true,
		`CN=Mario Ross\C3\AC,2.5.4.97=#0c0956415449542d313233,O=Rossi\, Bianchi & C.,C=IT`: true,
		`/C=IT/O=Rossi, Bianchi & C./organizationIdentifier=VATIT-123/CN=Mario Rossì`:      true,
		"CN=Mario Rossì": true, "CN=Carlo": false, "CN=Mario Rossì pays 900": false, "CN=Mario Rossì, O=900": false, "CN=": false, "": false, "pay=IT": false, "Mario": false,
		"C=IT, pay 900": false, "pay 900, C=IT": false,
	} {
		if got := n.Wrote(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

package keyfile

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pkcs12 "software.sslmate.com/src/go-pkcs12"

	"rogito.dev/rogito/internal/cms"
)

// tool runs a program of others, or skips the test.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed", name)
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// pair is a key with its certificate, and the files that others want.
type pair struct {
	key      *ecdsa.PrivateKey
	cert     *x509.Certificate
	keyFile  string
	certFile string
}

func newPair(t *testing.T, name string) *pair {
	t.Helper()
	p := &pair{}
	var err error
	if p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, p.key.Public(), p.key)
	if err != nil {
		t.Fatal(err)
	}
	if p.cert, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p.keyFile, p.certFile = filepath.Join(dir, "k.pem"), filepath.Join(dir, "c.pem")
	write(t, p.keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	write(t, p.certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	return p
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// export has OpenSSL make a file.
func (p *pair) export(t *testing.T, password string, args ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "x.p12")
	tool(t, "openssl", append([]string{"pkcs12", "-export", "-inkey", p.keyFile, "-in", p.certFile, "-out", out, "-passout", "pass:" + password}, args...)...)
	return read(t, out)
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (p *pair) isIn(t *testing.T, pfx []byte, password string) {
	t.Helper()
	c, err := Read(pfx, password)
	if err != nil {
		t.Error(err)
		return
	}
	if !p.key.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(c.Key.Public()) || !c.Certificate.Equal(p.cert) {
		t.Error("another key or certificate")
	}
}

func TestOpenSSLFiles(t *testing.T) {
	p := newPair(t, "Prova")
	for name, c := range map[string]struct {
		args     string
		password string
	}{
		"today's":        {"", "secret"},
		"RC2-40, 3DES":   {"-legacy", "secret"},
		"3DES":           {"-legacy -descert", "secret"},
		"RC2-128":        {"-legacy -certpbe PBE-SHA1-RC2-128 -keypbe PBE-SHA1-RC2-128", "secret"},
		"RC4-128":        {"-legacy -certpbe PBE-SHA1-RC4-128 -keypbe PBE-SHA1-RC4-128", "secret"},
		"RC4-40":         {"-legacy -certpbe PBE-SHA1-RC4-40 -keypbe PBE-SHA1-RC4-40", "secret"},
		"2DES":           {"-legacy -certpbe PBE-SHA1-2DES -keypbe PBE-SHA1-2DES", "secret"},
		"PBES2 AES-128":  {"-certpbe AES-128-CBC -keypbe AES-128-CBC", "secret"},
		"PBES2 AES-192":  {"-certpbe AES-192-CBC -keypbe AES-192-CBC", "secret"},
		"PBES2 3DES":     {"-certpbe DES-EDE3-CBC -keypbe DES-EDE3-CBC", "secret"},
		"MAC SHA-512":    {"-macalg sha512", "secret"},
		"MAC SHA-1":      {"-macalg sha1", "secret"},
		"no MAC":         {"-nomac", "secret"},
		"no encryption":  {"-certpbe NONE -keypbe NONE", "secret"},
		"empty":          {"", ""},
		"empty, old":     {"-legacy", ""},
		"other letters":  {"", "pässwörd €"},
		"other, old":     {"-legacy", "pässwörd €"},
		"a name":         {"-name Àlias", "secret"},
		"many rounds":    {"-iter 100000", "secret"},
		"a longer chain": {"-certfile " + newPair(t, "Other").certFile, "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			b := p.export(t, c.password, strings.Fields(c.args)...)
			p.isIn(t, b, c.password)
			p.isIn(t, indefinite(t, b), c.password)
			if name == "no encryption" {
				return // its MAC is all that a password is for
			}
			if _, err := Read(b, c.password+"x"); !errors.Is(err, ErrPassword) {
				t.Errorf("with a wrong password: %v", err)
			}
		})
	}
}

// What is not supported is named.
func TestRefusalsNameTheAlgorithm(t *testing.T) {
	p := newPair(t, "Prova")
	for want, args := range map[string]string{
		"Camellia-256-CBC":   "-certpbe CAMELLIA-256-CBC -keypbe CAMELLIA-256-CBC",
		"MD5":                "-macalg md5",
		"SHA3-256":           "-macalg sha3-256",
		"has no certificate": "-nocerts",
		"has no private key": "-nokeys",
	} {
		t.Run(want, func(t *testing.T) {
			b := p.export(t, "secret", strings.Fields(args)...)
			if _, err := Read(b, "secret"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a curve", func(t *testing.T) {
		dir := t.TempDir()
		key, cert, out := filepath.Join(dir, "k"), filepath.Join(dir, "c"), filepath.Join(dir, "o")
		tool(t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:brainpoolP256r1", "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=B", "-days", "2")
		tool(t, "openssl", "pkcs12", "-export", "-inkey", key, "-in", cert, "-out", out, "-passout", "pass:secret")
		if _, err := Read(read(t, out), "secret"); err == nil || !strings.Contains(err.Error(), "brainpoolP256r1") {
			t.Errorf("%v", err)
		}
	})
}

// Iteration counts that only an attacker uses are refused before any iteration.
func TestHugeIterationCounts(t *testing.T) {
	p := newPair(t, "Prova")
	b, err := pkcs12.LegacyDES.WithIterations(0x1234).Encode(p.key, p.cert, nil, "secret")
	if err != nil {
		t.Fatal(err)
	}
	small := []byte{0x02, 0x02, 0x12, 0x34}
	if !bytes.Contains(b, small) {
		t.Fatal("no iteration count to change")
	}
	for _, count := range [][]byte{{0x40, 0, 0, 0}, {0x7f, 0xff, 0xff, 0xff}, {0x2d, 0xc6, 0xc1}, {1, 0, 0, 0, 0, 0, 0, 0}, {0xff}, {0}} {
		huge := replaced(t, b, small, append([]byte{0x02, byte(len(count))}, count...))
		if _, err := Read(huge, "secret"); err == nil || !strings.Contains(err.Error(), "iterations") {
			t.Errorf("count %x: %v", count, err)
		}
	}
}

// replaced rewrites a DER file with every element old as another.
func replaced(t *testing.T, b, old, other []byte) []byte {
	t.Helper()
	e, _, err := cms.ReadElement(b)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(e.Raw, old) {
		return other
	}
	if e.Tag&0x20 == 0 && (e.Tag != cms.TagOctetString || !bytes.Contains(e.Body, old)) {
		return e.Raw
	}
	var out []byte
	for rest := e.Body; len(rest) > 0; {
		c, after, err := cms.ReadElement(rest)
		if err != nil {
			return e.Raw
		}
		out, rest = append(out, replaced(t, c.Raw, old, other)...), after
	}
	return cms.TLV(e.Tag, out)
}

// indefinite writes a file as BER: lengths left open, strings in pieces. What
// the MAC is over keeps its bytes.
func indefinite(t *testing.T, b []byte) []byte {
	t.Helper()
	e, _, err := cms.ReadElement(b)
	if err != nil {
		t.Fatal(err)
	}
	if e.Tag == cms.TagOctetString {
		half := len(e.Body) / 2
		out := append([]byte{0x24, 0x80}, cms.TLV(cms.TagOctetString, e.Body[:half])...)
		return append(append(out, cms.TLV(cms.TagOctetString, e.Body[half:])...), 0, 0)
	}
	if e.Tag&0x20 == 0 {
		return e.Raw
	}
	out := []byte{e.Tag, 0x80}
	for rest := e.Body; len(rest) > 0; {
		c, after, err := cms.ReadElement(rest)
		if err != nil {
			t.Fatal(err)
		}
		out, rest = append(out, indefinite(t, c.Raw)...), after
	}
	return append(out, 0, 0)
}

// What Firefox and Thunderbird save is BER.
func TestNSSFiles(t *testing.T) {
	p := newPair(t, "Prova")
	dir := t.TempDir()
	db, in := filepath.Join(dir, "db"), filepath.Join(dir, "in.p12")
	if err := os.Mkdir(db, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, in, p.export(t, "secret", "-name", "mine"))
	tool(t, "certutil", "-N", "-d", db, "--empty-password")
	tool(t, "pk12util", "-i", in, "-W", "secret", "-d", db, "-K", "")
	for name, args := range map[string][]string{
		"default":      nil,
		"RC2-40, 3DES": {"-c", "PKCS #12 V2 PBE With SHA-1 And 3KEY Triple DES-CBC", "-C", "PKCS #12 V2 PBE With SHA-1 And 40 Bit RC2 CBC"},
		"AES-128":      {"-c", "AES-128-CBC", "-C", "AES-128-CBC", "-M", "SHA-512"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "o.p12")
			tool(t, "pk12util", append([]string{"-o", out, "-n", "mine", "-d", db, "-W", "secret", "-K", ""}, args...)...)
			b := read(t, out)
			if b[1] != 0x80 {
				t.Log("this version writes definite lengths")
			}
			p.isIn(t, b, "secret")
			if _, err := Read(b, "wrong"); !errors.Is(err, ErrPassword) {
				t.Errorf("with a wrong password: %v", err)
			}
		})
	}
}

// A Java key store may hold several keys: then we do not guess.
func TestSeveralKeys(t *testing.T) {
	store := filepath.Join(t.TempDir(), "k.p12")
	gen := func(alias, alg string) {
		tool(t, "keytool", "-genkeypair", "-alias", alias, "-keyalg", alg, "-dname", "CN="+alias, "-storetype", "PKCS12", "-keystore", store, "-storepass", "secret")
	}
	gen("first", "EC")
	if c, err := Read(read(t, store), "secret"); err != nil || c.Certificate.Subject.CommonName != "first" {
		t.Fatalf("%+v %v", c, err)
	}
	gen("second", "RSA")
	_, err := Read(read(t, store), "secret")
	if err == nil || !strings.Contains(err.Error(), `"first"`) || !strings.Contains(err.Error(), `"second"`) {
		t.Errorf("of two keys: %v", err)
	}
}

// The issuers come in their order, whatever the file's.
func TestChainOrder(t *testing.T) {
	cert := func(name, issuer string) *x509.Certificate {
		return &x509.Certificate{Raw: []byte(name), RawSubject: []byte(name), RawIssuer: []byte(issuer)}
	}
	leaf, mid, root, other := cert("leaf", "mid"), cert("mid", "root"), cert("root", "root"), cert("other", "x")
	r := &reader{certs: []*x509.Certificate{other, root, leaf, mid}}
	got := ""
	for _, c := range r.chain(leaf) {
		got += string(c.Raw) + " "
	}
	if got != "mid root other " {
		t.Error(got)
	}
}

func TestNotAFile(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("x"), {0x30, 0x80}, {0x30, 0}, bytes.Repeat([]byte{0x30, 0x80}, 5000), make([]byte, maxFile+1)} {
		if _, err := Read(b, "secret"); err == nil {
			t.Errorf("%.10x was read", b)
		}
	}
}

func FuzzRead(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(7), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		f.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range []*pkcs12.Encoder{pkcs12.Passwordless, pkcs12.LegacyRC2.WithIterations(1), pkcs12.Modern.WithIterations(1)} {
		password := "secret"
		if e == pkcs12.Passwordless {
			password = ""
		}
		b, err := e.Encode(key, cert, nil, password)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, password)
	}
	f.Fuzz(func(t *testing.T, b []byte, password string) {
		at := time.Now()
		c, err := Read(b, password)
		if err == nil && (c.Key == nil || c.Certificate == nil) {
			t.Error("nothing, and no error")
		}
		if d := time.Since(at); d > time.Minute {
			t.Errorf("took %v", d)
		}
	})
}

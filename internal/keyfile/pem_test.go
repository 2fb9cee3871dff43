package keyfile

import (
	"crypto"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Keys as OpenSSL encrypts them, today and long ago.
func TestEncryptedPEM(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	tool(t, "openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", at("rsa"))
	tool(t, "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", at("ec"))
	read := func(name, password string) (crypto.Signer, error) {
		t.Helper()
		b, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(b)
		return Key(block, func() (string, error) { return password, nil })
	}
	const password = "pässword 1"
	pkcs8 := []string{"-v2 aes-256-cbc", "-v2 aes-128-cbc -v2prf hmacWithSHA1", "-v2 des3", "-scrypt", "-v1 PBE-SHA1-3DES", "-v1 PBE-SHA1-RC2-128 -provider legacy -provider default", "-v1 PBE-MD5-DES -provider legacy -provider default", "-v1 PBE-SHA1-DES -provider legacy -provider default"}
	for _, kind := range []string{"rsa", "ec"} {
		plain, err := read(kind, "")
		if err != nil {
			t.Fatal(err)
		}
		for i, args := range append(pkcs8, "traditional -aes256", "traditional -des3", "traditional -aes128") {
			out := strings.ReplaceAll(kind+args, "/", "")
			if i < len(pkcs8) {
				tool(t, "openssl", append([]string{"pkcs8", "-topk8", "-in", at(kind), "-out", at(out), "-passout", "pass:" + password}, strings.Fields(args)...)...)
			} else {
				tool(t, "openssl", "pkey", "-in", at(kind), "-out", at(out), "-traditional", strings.Fields(args)[1], "-passout", "pass:"+password)
			}
			key, err := read(out, password)
			if err != nil {
				t.Errorf("%s: %v", out, err)
				continue
			}
			if same, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !same.Equal(plain.Public()) {
				t.Errorf("%s: another key", out)
			}
			for _, wrong := range []string{"", "password 1"} {
				if _, err := read(out, wrong); !errors.Is(err, ErrPassword) {
					t.Errorf("%s with %q: %v", out, wrong, err)
				}
			}
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add("ENCRYPTED PRIVATE KEY", "", []byte{0x30, 0x03, 0x02, 0x01, 0x00})
	f.Add("RSA PRIVATE KEY", "AES-256-CBC,00", make([]byte, 32))
	f.Fuzz(func(_ *testing.T, kind, info string, b []byte) {
		block := &pem.Block{Type: kind, Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": info}, Bytes: b}
		_, _ = Key(block, func() (string, error) { return "secret", nil })
	})
}

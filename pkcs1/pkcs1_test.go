package pkcs1_test

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/pkcs1"
)

func sign(t testing.TB, a *adestest.Actor, content []byte, p ades.SignParams) []byte {
	t.Helper()
	d, err := pkcs1.Prepare(t.Context(), bytes.NewReader(content), p)
	if err != nil {
		t.Fatal(err)
	}
	return a.Finish(t, d, p)
}

func verdict(t testing.TB, value, content []byte, p ades.SignParams) ades.Tri {
	t.Helper()
	r := ades.ReadOptions{Detached: []ades.File{{Source: bytes.NewReader(content)}}, Bare: &p}
	doc, err := pkcs1.Read(context.Background(), bytes.NewReader(value), r)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Signatures[0].Intact()
}

func TestRoundTrip(t *testing.T) {
	pki := adestest.Must(t, nil)
	content := []byte("a document")
	for _, name := range []string{"good", "p256", "p384", "p521", "ed25519"} {
		for _, pss := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/pss=%v", name, pss), func(t *testing.T) {
				a := pki.Actor(t, name)
				p := a.Signing(time.Now())
				p.PSS = pss
				value := sign(t, a, content, p)
				if verdict(t, value, content, p) != ades.Yes {
					t.Error("does not verify")
				}
				text := []byte(base64.StdEncoding.EncodeToString(value) + "\n")
				if verdict(t, text, content, p) != ades.Yes {
					t.Error("does not verify as base64")
				}
				if verdict(t, value, []byte("another document"), p) != ades.No {
					t.Error("verifies over another document")
				}
				value[len(value)/2] ^= 1
				if verdict(t, value, content, p) != ades.No {
					t.Error("verifies with another value")
				}
			})
		}
	}
}

func TestDigest(t *testing.T) {
	pki := adestest.Must(t, nil)
	a := pki.Actor(t, "good")
	p := a.Signing(time.Now())
	p.Hash = crypto.SHA384
	h := crypto.SHA384.New()
	h.Write([]byte("kept at home"))
	d, err := pkcs1.PrepareDigest(t.Context(), h.Sum(nil), p)
	if err != nil {
		t.Fatal(err)
	}
	value, err := d.Value(a.Key)
	if err != nil {
		t.Fatal(err)
	}
	if verdict(t, value, []byte("kept at home"), p) != ades.Yes {
		t.Error("does not verify")
	}
	if _, err := pkcs1.PrepareDigest(t.Context(), []byte("short"), p); err == nil {
		t.Error("a digest of the wrong length is taken")
	}
}

func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("SKIPPED: openssl is not installed")
	}
	pki := adestest.Must(t, nil)
	content := []byte("a document")
	for _, name := range []string{"good", "p256", "p521"} {
		a := pki.Actor(t, name)
		p := a.Signing(time.Now())
		dir := t.TempDir()
		files := map[string][]byte{
			"doc": content, "sig": sign(t, a, content, p),
			"cert": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw}),
		}
		for f, b := range files {
			if err := os.WriteFile(filepath.Join(dir, f), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		key, err := exec.Command(openssl, "x509", "-in", filepath.Join(dir, "cert"), "-pubkey", "-noout").Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "key"), key, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(openssl, "dgst", "-sha256", "-verify", filepath.Join(dir, "key"),
			"-signature", filepath.Join(dir, "sig"), filepath.Join(dir, "doc")).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func ExamplePrepare() {
	pki, err := adestest.New(nil, "")
	if err != nil {
		panic(err)
	}
	a, err := pki.Enter("good")
	if err != nil {
		panic(err)
	}
	p := a.Signing(pki.Now())
	draft, err := pkcs1.Prepare(context.Background(), bytes.NewReader([]byte("hello")), p)
	if err != nil {
		panic(err)
	}
	value, err := draft.Value(a.Key)
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	if err := draft.Finish(&out, value); err != nil {
		panic(err)
	}
	fmt.Println(out.Len(), "bytes")
	// Output: 256 bytes
}

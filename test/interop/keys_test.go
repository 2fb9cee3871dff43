package interop

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"rogito.dev/rogito/adestest"
)

// variant is a key with a way to use it.
type variant struct {
	actor string
	hash  crypto.Hash
	pss   bool
}

func (v variant) String() string { return fmt.Sprintf("%s/%v/pss=%v", v.actor, v.hash, v.pss) }

// variants are the keys and algorithms that CAdES and PAdES are signed with.
var variants = []variant{
	{"good", crypto.SHA256, false},
	{"good", crypto.SHA512, true},
	{"p256", crypto.SHA256, false},
	{"p384", crypto.SHA384, false},
	{"p521", crypto.SHA512, false},
	{"crl", crypto.SHA384, false},
	{"eseal", crypto.SHA256, false},
	{"rsa3072", crypto.SHA384, false},
	{"good", crypto.SHA384, true},
	{"good", crypto.SHA256, true},
}

func keyPEM(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// writeP12 writes an actor's key and chain, with the password "password".
func writeP12(t testing.TB, a *adestest.Actor) string {
	t.Helper()
	b, err := pkcs12.Modern.Encode(a.Key, a.Certificate, a.Chain, "password")
	if err != nil {
		t.Fatal(err)
	}
	return write(t, a.Name+".p12", b)
}

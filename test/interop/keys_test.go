package interop

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"rogito.dev/rogito/adestest"
)

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

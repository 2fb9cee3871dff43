// Package keys turns credentials into a crypto.Signer.
//
// A private key is kept encrypted twice: under the holder's password (Argon2id,
// RFC 9106) and under the master key that lives outside the database. Neither
// the database nor the master key alone can sign. A key may instead live in a
// PKCS#11 token; then what the password opens is only its name.
//
// One key pair serves one kind (automatic, otp, eseal) and no other: Italian
// law asks for a pair of its own for the automatic procedure.
package keys

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/internal/hsm"
)

// Kind says what a key pair is for.
type Kind string

// The kinds, and the start of their usernames as clients of hosted services
// know them.
const (
	Automatic Kind = "automatic" // AHI
	OTP       Kind = "otp"       // RHI
	ESeal     Kind = "eseal"     // SHI
)

// Kinds are all of them.
var Kinds = []Kind{Automatic, OTP, ESeal}

// Prefix of the usernames of a kind.
func (k Kind) Prefix() string {
	switch k {
	case OTP:
		return "RHI"
	case ESeal:
		return "SHI"
	}
	return "AHI"
}

// CertificateType is the kind as the wire spells it.
func (k Kind) CertificateType() string { return "EU-QES_" + string(k) }

// Known says whether the kind is one of the three.
func (k Kind) Known() bool { return slices.Contains(Kinds, k) }

// Algorithms that a key pair can be made for.
var Algorithms = hsm.Algorithms

// ErrPassword says that the password does not open the key.
var ErrPassword = errors.New("keys: wrong password")

// Generate makes a key pair in memory.
func Generate(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case "RSA2048":
		return rsa.GenerateKey(rand.Reader, 2048)
	case "RSA3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "RSA4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "P256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "P384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	}
	return nil, fmt.Errorf("keys: %q is none of %v", algorithm, Algorithms)
}

// AlgorithmOf names the algorithm of a public key; the empty string when it is
// none of ours.
func AlgorithmOf(pub crypto.PublicKey) string {
	name := ""
	switch k := pub.(type) {
	case *rsa.PublicKey:
		name = fmt.Sprintf("RSA%d", k.N.BitLen())
	case *ecdsa.PublicKey:
		name = fmt.Sprintf("P%d", k.Curve.Params().BitSize)
	}
	if !slices.Contains(Algorithms, name) {
		return ""
	}
	return name
}

// NewPassword makes a password for a person to write down: twenty letters and
// digits that cannot be taken for one another, over 95 bits.
func NewPassword() string {
	return randomText(20, "abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789")
}

// NewUsername makes a device name of a kind.
func NewUsername(k Kind) string {
	return k.Prefix() + randomText(13, "0123456789")
}

func randomText(n int, alphabet string) string {
	out := make([]byte, 0, n)
	var b [1]byte
	limit := 256 - 256%len(alphabet)
	for len(out) < n {
		_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
		if int(b[0]) < limit {
			out = append(out, alphabet[int(b[0])%len(alphabet)])
		}
	}
	return string(out)
}

func publicBytes(pub crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, fmt.Errorf("keys: public key: %w", err)
	}
	return der, nil
}

package pkix

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"math/big"
	"testing"

	"rogito.dev/rogito/internal/oid"
)

// A key that crypto/rsa refuses as too short is checked all the same, and what
// is not the signature is refused by it: other octets, another digest, the
// digest without the name of its hash, and a number that is the same modulo n.
func TestShortRSA(t *testing.T) {
	t.Parallel()
	for _, size := range []int{512, 768, 1000, 1024} {
		p, q := prime(t, size/2), prime(t, size-size/2)
		n, one := new(big.Int).Mul(p, q), big.NewInt(1)
		d := new(big.Int).ModInverse(big.NewInt(65537), new(big.Int).Mul(p.Sub(p, one), q.Sub(q, one)))
		pub := &rsa.PublicKey{N: n, E: 65537}
		if standard(pub) != (n.BitLen() >= 1024) {
			t.Fatalf("%d bits: standard is %v", n.BitLen(), standard(pub))
		}
		digest := oid.Sum(crypto.SHA256, []byte("message"))
		sign := func(info []byte) []byte {
			em := append(bytes.Repeat([]byte{0xff}, pub.Size()), info...)
			em = em[len(em)-pub.Size():]
			em[0], em[1], em[len(em)-len(info)-1] = 0, 1, 0
			c := new(big.Int).SetBytes(em)
			return c.Exp(c, d, n).FillBytes(make([]byte, pub.Size()))
		}
		sig := sign(append(digestInfo(crypto.SHA256), digest...))
		flipped := bytes.Clone(sig)
		flipped[len(sig)/2] ^= 4
		more := new(big.Int).SetBytes(sig)
		s := Scheme{Kind: RSA, Hash: crypto.SHA256}
		for i, c := range []struct{ digest, sig []byte }{
			{digest, sig},
			{digest, flipped},
			{oid.Sum(crypto.SHA256, nil), sig},
			{digest, sign(digest)},
			{digest, more.Add(more, n).Bytes()},
			{digest, append([]byte{0}, sig...)},
			{digest, sig[1:]},
			{digest, make([]byte, pub.Size())},
			{digest, nil},
		} {
			if err := s.VerifyDigest(pub, c.digest, c.sig); (err == nil) != (i == 0) || err != nil && !errors.Is(err, ErrSignature) {
				t.Errorf("%d bits, case %d: %v", size, i, err)
			}
		}
	}
}

func prime(t *testing.T, size int) *big.Int {
	t.Helper()
	for {
		p, err := rand.Prime(rand.Reader, size)
		if err != nil {
			t.Fatal(err)
		}
		if new(big.Int).Mod(p, big.NewInt(65537)).Int64() != 1 {
			return p
		}
	}
}

// The length of the salt is what the parameters say, also where it is none.
func TestPSSSalt(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	digest := oid.Sum(crypto.SHA256, []byte("message"))
	with := map[int][]byte{}
	for _, salt := range []int{1, 20, 32} {
		if with[salt], err = rsa.SignPSS(rand.Reader, key, crypto.SHA256, digest, &rsa.PSSOptions{SaltLength: salt}); err != nil {
			t.Fatal(err)
		}
	}
	with[0] = withoutSalt(key, digest)
	for made, sig := range with {
		for _, stated := range []int{-1, 0, 1, 20, 32} {
			s := Scheme{Kind: PSS, Hash: crypto.SHA256, MGF: crypto.SHA256, Salt: stated}
			if err := s.VerifyDigest(&key.PublicKey, digest, sig); (err == nil) != (stated == -1 || stated == made) {
				t.Errorf("a salt of %d, stated as %d: %v", made, stated, err)
			}
			s.MGF = crypto.SHA1
			if err := s.VerifyDigest(&key.PublicKey, digest, sig); !errors.Is(err, ErrSignature) {
				t.Errorf("a salt of %d under a mask of SHA-1: %v", made, err)
			}
		}
	}
}

// withoutSalt is EMSA-PSS-ENCODE of RFC 8017 with an empty salt, which
// crypto/rsa does not make, and RSASP1.
func withoutSalt(key *rsa.PrivateKey, digest []byte) []byte {
	h := oid.Sum(crypto.SHA256, make([]byte, 8), digest)
	db := make([]byte, 256-32-1)
	db[len(db)-1] = 1
	mgf1(db, h, crypto.SHA256)
	db[0] &= 0x7f
	c := new(big.Int).SetBytes(append(append(db, h...), 0xbc))
	return c.Exp(c, key.D, key.N).FillBytes(make([]byte, 256))
}

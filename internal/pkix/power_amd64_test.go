package pkix

import (
	"bytes"
	"crypto"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"math/big"
	"math/rand/v2"
	"testing"

	"rogito.dev/rogito/internal/oid"
)

// The power of the vector instructions is that of math/big, for any modulus that
// is quick: random ones, and ones whose digits are full or empty, where a carry
// that is lost or made twice would show.
func TestPower(t *testing.T) {
	if !vectors {
		t.Skip("this processor has no AVX-512 IFMA")
	}
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same numbers each time
	one := big.NewInt(1)
	number := func(size int) *big.Int {
		b := make([]byte, size/8)
		for at := 0; at < len(b); {
			run, kind := 1+r.IntN(40), r.IntN(4)
			for ; run > 0 && at < len(b); run, at = run-1, at+1 {
				switch kind {
				case 0:
					b[at] = 0xff
				case 1:
				default:
					b[at] = byte(r.Uint32())
				}
			}
		}
		return new(big.Int).SetBytes(b)
	}
	for range 3000 {
		size := 256 + 8*r.IntN(225)
		if r.IntN(2) == 0 {
			size = 2048
		}
		n := number(size)
		n.SetBit(n, 0, 1)
		if n.Cmp(one) <= 0 {
			continue
		}
		c := number(size)
		for _, c := range []*big.Int{c.Mod(c, n), new(big.Int), one, new(big.Int).Sub(n, one)} {
			samePower(t, c, n)
		}
	}
}

func samePower(t *testing.T, c, n *big.Int) {
	t.Helper()
	key := &rsa.PublicKey{N: n, E: 65537}
	if !quick(key) {
		t.Fatalf("not quick: %x", n)
	}
	size := (n.BitLen() + 7) / 8
	want := new(big.Int).Exp(c, big.NewInt(65537), n).FillBytes(make([]byte, size))
	if got, ok := power(key, c.FillBytes(make([]byte, size))); !ok || !bytes.Equal(got, want) {
		t.Fatalf("power of %x modulo %x is %x, want %x", c, n, got, want)
	}
	if _, ok := power(key, n.FillBytes(make([]byte, size))); ok {
		t.Fatalf("the modulus %x itself was taken", n)
	}
}

// FuzzPower looks for a number and a modulus that the two disagree about.
func FuzzPower(f *testing.F) {
	f.Add([]byte{2}, bytes.Repeat([]byte{0xff}, 256))
	f.Add(bytes.Repeat([]byte{0x80}, 256), append(bytes.Repeat([]byte{0x80}, 255), 1))
	f.Fuzz(func(t *testing.T, c, n []byte) {
		if !vectors || len(n) > 256 || len(c) > 256 {
			t.Skip()
		}
		modulus := new(big.Int).SetBytes(n)
		if modulus.SetBit(modulus, 0, 1).BitLen() < 2 {
			t.Skip()
		}
		x := new(big.Int).SetBytes(c)
		samePower(t, x.Mod(x, modulus), modulus)
	})
}

// What the vectors accept and refuse is what crypto/rsa does: for every hash, and
// for values that are not the signature, though one of them is the same modulo n.
func TestPKCS1AsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(crand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pub := &key.PublicKey
	for _, hash := range hashOIDs {
		if hash == crypto.RIPEMD160 { // its prefix there is another
			continue
		}
		digest := oid.Sum(hash, []byte("message"))
		sig, err := rsa.SignPKCS1v15(nil, key, hash, digest)
		if err != nil {
			t.Fatal(err)
		}
		flipped, other := bytes.Clone(sig), bytes.Clone(digest)
		flipped[200] ^= 4
		other[3] ^= 1
		bare, err := rsa.SignPKCS1v15(nil, key, 0, digest) // without the name of the hash
		if err != nil {
			t.Fatal(err)
		}
		more := new(big.Int).SetBytes(sig)
		more.Add(more, pub.N)
		for i, c := range []struct{ digest, sig []byte }{
			{digest, sig},
			{digest, flipped},
			{other, sig},
			{digest, bare},
			{digest, more.Bytes()},
			{digest, append([]byte{0}, sig...)},
			{digest, sig[1:]},
			{digest, make([]byte, 256)},
			{digest, nil},
		} {
			good := rsa.VerifyPKCS1v15(pub, hash, c.digest, c.sig) == nil
			if good != (i == 0) || verifyPKCS1(pub, hash, c.digest, c.sig) != good {
				t.Errorf("%v, case %d: crypto/rsa says %v", hash, i, good)
			}
			if len(c.sig) != pub.Size() || !vectors {
				continue
			}
			if em, ok := power(pub, c.sig); (ok && isPKCS1(em, hash, c.digest)) != good {
				t.Errorf("%v, case %d: the vectors alone do not say %v", hash, i, good)
			}
		}
	}
}

// A signature value checked by crypto/rsa, and with the vectors.
func BenchmarkPKCS1(b *testing.B) {
	key, err := rsa.GenerateKey(crand.Reader, 2048)
	if err != nil {
		b.Fatal(err)
	}
	digest := sha256.Sum256(nil)
	sig, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		b.Fatal(err)
	}
	b.Run("crypto/rsa", func(b *testing.B) {
		for b.Loop() {
			if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, digest[:], sig); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("vectors", func(b *testing.B) {
		for b.Loop() {
			if !verifyPKCS1(&key.PublicKey, crypto.SHA256, digest[:], sig) {
				b.Fatal("does not verify")
			}
		}
	})
}

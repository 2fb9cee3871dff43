// Package yardstick gives tests a measure of processor time that is the same on
// a slow or busy machine: bounds are counted in checks of a signature, not in
// seconds of the clock.
package yardstick

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"time"
)

// perSecond is how many P-256 signatures a core checks in a second where the
// bounds of the tests were written (Go 1.26, amd64; 13,000 to 19,000 as its
// neighbours let it).
const perSecond = 15_000

// Second is how long this machine takes now for the work of a second there. A
// faster machine has the second of the clock: a bound never shrinks.
func Second() time.Duration {
	const n = perSecond / 50
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	digest := sha256.Sum256(nil)
	sig, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		panic(err)
	}
	start := Processor()
	for range n {
		if !ecdsa.VerifyASN1(&key.PublicKey, digest[:], sig) {
			panic("yardstick: a signature of this process does not verify")
		}
	}
	return max(time.Second, (Processor()-start)*perSecond/n)
}

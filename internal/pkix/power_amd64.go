package pkix

import (
	"crypto/fips140"
	"crypto/rsa"
	"math/big"

	"golang.org/x/sys/cpu"
)

// vectors says that this processor has the instructions of power_amd64.s. Who
// wants the validated module gets its arithmetic and no other.
var vectors = cpu.X86.HasAVX512IFMA && !fips140.Enabled()

// quick says that a key is one for them: it has the exponent that nearly all
// have, and a modulus that leaves room for its double in forty digits.
func quick(key *rsa.PublicKey) bool {
	return vectors && key.E == 65537 && key.N.BitLen() <= 2048 && key.N.Bit(0) == 1
}

// digits are a number of up to 2,080 bits in digits of 52, with a zero behind.
type digits [41]uint64

const digit = 1<<52 - 1

// multiply is the product of Montgomery, a·b/2^2080 modulo n, for a and b below
// 2n. It is below 2n as well, with sums for digits that are yet to be carried.
// The product of inverse and n is -1 modulo 2^52.
//
//go:noescape
func multiply(out, a, b, n *digits, inverse uint64)

// power is c raised to the exponent of a key modulo its modulus, which c is below.
// crypto/rsa, which prepares the modulus anew for every value and multiplies
// word by word, takes four times as long as the vectors.
func power(c *big.Int, key *rsa.PublicKey) *big.Int {
	if !quick(key) {
		return c.Exp(c, big.NewInt(int64(key.E)), key.N)
	}
	var n, once, x digits
	n.set(key.N)
	once.set(c)
	inverse := n[0] // of an odd number: right in its lowest three bits, and each step doubles them
	for range 5 {
		inverse *= 2 - n[0]*inverse
	}
	in := new(big.Int).Lsh(c, 52*40)
	x.set(in.Rem(in, key.N)) // as Montgomery has it: c·2^2080
	for range 16 {
		multiply(&x, &x, &x, &n, -inverse)
		x.carry()
	}
	multiply(&x, &x, &once, &n, -inverse) // and back
	x.carry()
	y := x.number()
	if y.Cmp(key.N) >= 0 {
		y.Sub(y, key.N)
	}
	return y
}

func (d *digits) set(x *big.Int) {
	words := x.Bits()
	for i := range 40 {
		at, shift := i*52/64, i*52%64
		if at >= len(words) {
			return
		}
		v := uint64(words[at]) >> shift
		if at+1 < len(words) {
			v |= uint64(words[at+1]) << (64 - shift)
		}
		d[i] = v & digit
	}
}

func (d *digits) carry() {
	var over uint64
	for i := range 40 {
		over += d[i]
		d[i] = over & digit
		over >>= 52
	}
}

func (d *digits) number() *big.Int {
	words := make([]big.Word, 33)
	for i := range 40 {
		at, shift := i*52/64, i*52%64
		words[at] |= big.Word(d[i] << shift)
		if shift > 12 {
			words[at+1] |= big.Word(d[i] >> (64 - shift))
		}
	}
	return new(big.Int).SetBits(words)
}

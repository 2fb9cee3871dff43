package pkix

import (
	"crypto/fips140"
	"crypto/rsa"
	"encoding/binary"
	"math/big"
	"sync"

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

// scratch is the memory of one power, to be used again by the next: that of
// eight values was an eighth of what judging a PDF allocates.
type scratch struct {
	c, quotient, remainder big.Int
}

// root is 2^(2080+2080/8).
var root = new(big.Int).Lsh(big.NewInt(1), 2340)

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// power is RSAVP1 for a key that is quick: sig, of the modulus's length, raised
// to the exponent; false when it is no number below the modulus. crypto/rsa,
// which prepares the modulus anew for every value and multiplies word by word,
// takes four times as long.
func power(key *rsa.PublicKey, sig []byte) ([]byte, bool) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	if s.c.SetBytes(sig).Cmp(key.N) >= 0 {
		return nil, false
	}
	var n, value, x digits
	n.set(key.N)
	value.set(&s.c)
	inverse := n[0] // of an odd number: right in its lowest three bits, and each step doubles them
	for range 5 {
		inverse *= 2 - n[0]*inverse
	}
	// c is multiplied by 2^2080, which is how Montgomery has it: by way of 2^4160,
	// which three squares make of 2^2340. To divide c·2^2080 takes longer.
	s.quotient.QuoRem(root, key.N, &s.remainder)
	x.set(&s.remainder)
	for range 3 {
		multiply(&x, &x, &x, &n, -inverse)
		x.carry()
	}
	multiply(&x, &x, &value, &n, -inverse)
	x.carry()
	for range 16 {
		multiply(&x, &x, &x, &n, -inverse)
		x.carry()
	}
	multiply(&x, &x, &value, &n, -inverse) // and back
	x.carry()
	x.reduce(&n)
	return x.octets(len(sig)), true
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

// reduce takes n away where that leaves something.
func (d *digits) reduce(n *digits) {
	var less digits
	var borrow uint64
	for i := range 40 {
		v := d[i] - n[i] - borrow
		less[i], borrow = v&digit, v>>63
	}
	if borrow == 0 {
		*d = less
	}
}

// octets writes the number as size octets, of which it needs no more.
func (d *digits) octets(size int) []byte {
	var words [33]uint64
	for i := range 40 {
		at, shift := i*52/64, i*52%64
		words[at] |= d[i] << shift
		words[at+1] |= d[i] >> (64 - shift) // nothing, where all went into the first
	}
	var all [264]byte
	for i, w := range words {
		binary.BigEndian.PutUint64(all[256-8*i:], w)
	}
	return append([]byte(nil), all[264-size:]...)
}

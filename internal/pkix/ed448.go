package pkix

import (
	"crypto/sha3"
	"math/big"
	"slices"
	"sync"
)

// Ed448PublicKey is a public key of RFC 8032 section 5.2, which the standard
// library does not know. Only verification is here; it is not in constant
// time and need not be, since nothing in it is secret.
type Ed448PublicKey []byte

type ed448Curve struct {
	p, d, order *big.Int
	base        ed448Point
}

type ed448Point struct{ x, y, z *big.Int }

var ed448 = sync.OnceValue(func() *ed448Curve {
	c := new(ed448Curve)
	one := big.NewInt(1)
	c.p = new(big.Int).Lsh(one, 448)
	c.p.Sub(c.p, new(big.Int).Lsh(one, 224)).Sub(c.p, one)
	c.d = new(big.Int).Sub(c.p, big.NewInt(39081))
	c.order, _ = new(big.Int).SetString("181709681073901722637330951972001133588410340171829515070372549795146003961539585716195755291692375963310293709091662304773755859649779", 10)
	x, _ := new(big.Int).SetString("224580040295924300187604334099896036246789641632564134246125461686950415467406032909029192869357953282578032075146446173674602635247710", 10)
	y, _ := new(big.Int).SetString("298819210078481492676017930443930673437544040154080242095928241372331506189835876003536878655418784733982303233503462500531545062832660", 10)
	c.base = ed448Point{x, y, big.NewInt(1)}
	return c
})

func (k Ed448PublicKey) verify(message, sig []byte) bool {
	c := ed448()
	if len(k) != 57 || len(sig) != 114 {
		return false
	}
	a, okA := c.decode(k)
	r, okR := c.decode(sig[:57])
	s := littleEndian(sig[57:])
	if !okA || !okR || s.Cmp(c.order) >= 0 {
		return false
	}
	h := sha3.NewSHAKE256()
	h.Write([]byte("SigEd448\x00\x00"))
	h.Write(sig[:57])
	h.Write(k)
	h.Write(message)
	digest := make([]byte, 114)
	h.Read(digest)
	n := littleEndian(digest)
	n.Mod(n, c.order)
	left := c.mul(c.base, s)
	right := c.add(r, c.mul(a, n))
	return c.equal(left, right)
}

func littleEndian(b []byte) *big.Int {
	be := slices.Clone(b)
	slices.Reverse(be)
	return new(big.Int).SetBytes(be)
}

// decode is RFC 8032 section 5.2.3.
func (c *ed448Curve) decode(b []byte) (ed448Point, bool) {
	if b[56]&0x7f != 0 {
		return ed448Point{}, false
	}
	sign := uint(b[56] >> 7)
	y := littleEndian(b[:56])
	if y.Cmp(c.p) >= 0 {
		return ed448Point{}, false
	}
	one := big.NewInt(1)
	y2 := new(big.Int).Mul(y, y)
	u := new(big.Int).Sub(y2, one)
	v := new(big.Int).Mul(c.d, y2)
	v.Sub(v, one).Mod(v, c.p)
	u.Mul(u, v.ModInverse(v, c.p)).Mod(u, c.p)
	x := new(big.Int).ModSqrt(u, c.p)
	if x == nil || (x.Sign() == 0 && sign == 1) {
		return ed448Point{}, false
	}
	if x.Bit(0) != sign {
		x.Sub(c.p, x)
	}
	return ed448Point{x, y, big.NewInt(1)}, true
}

// add is the projective addition of RFC 8032 section 5.2.4.
func (c *ed448Curve) add(p, q ed448Point) ed448Point {
	mul := func(a, b *big.Int) *big.Int { m := new(big.Int).Mul(a, b); return m.Mod(m, c.p) }
	a := mul(p.z, q.z)
	b := mul(a, a)
	cc := mul(p.x, q.x)
	d := mul(p.y, q.y)
	e := mul(c.d, mul(cc, d))
	f := new(big.Int).Sub(b, e)
	g := new(big.Int).Add(b, e)
	h := mul(new(big.Int).Add(p.x, p.y), new(big.Int).Add(q.x, q.y))
	h.Sub(h, cc).Sub(h, d)
	return ed448Point{mul(mul(a, f), h), mul(mul(a, g), new(big.Int).Sub(d, cc)), mul(f, g)}
}

func (c *ed448Curve) mul(p ed448Point, n *big.Int) ed448Point {
	out := ed448Point{new(big.Int), big.NewInt(1), big.NewInt(1)}
	for i := n.BitLen() - 1; i >= 0; i-- {
		out = c.add(out, out)
		if n.Bit(i) == 1 {
			out = c.add(out, p)
		}
	}
	return out
}

func (c *ed448Curve) equal(p, q ed448Point) bool {
	cross := func(a, b, d, e *big.Int) bool {
		l, r := new(big.Int).Mul(a, b), new(big.Int).Mul(d, e)
		return l.Mod(l, c.p).Cmp(r.Mod(r, c.p)) == 0
	}
	return cross(p.x, q.z, q.x, p.z) && cross(p.y, q.z, q.y, p.z)
}

package keyfile

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/pbkdf2"
	_ "crypto/sha1" // hash functions of MACs and derivations
	_ "crypto/sha256"
	_ "crypto/sha512"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/oid"
)

// pkcs12Key is the derivation of RFC 7292, appendix B.2; id is 1 for a key, 2
// for a vector and 3 for a MAC.
func pkcs12Key(h crypto.Hash, password []byte, d derivation, id byte, size int) []byte {
	u, v := h.Size(), h.New().BlockSize()
	diversifier := bytes.Repeat([]byte{id}, v)
	in := append(stretch(d.salt, v), stretch(password, v)...)
	var out []byte
	for len(out) < size {
		a := oid.Sum(h, diversifier, in)
		for range d.iterations - 1 {
			a = oid.Sum(h, a)
		}
		out = append(out, a...)
		if len(out) < size {
			addBlocks(in, stretch(a[:u], v), v)
		}
	}
	return out[:size]
}

// stretch repeats b to a whole number of blocks; empty input remains empty.
func stretch(b []byte, block int) []byte {
	if len(b) == 0 {
		return nil
	}
	size := (len(b) + block - 1) / block * block
	return bytes.Repeat(b, size/len(b)+1)[:size]
}

// addBlocks adds b and one to every block, as numbers.
func addBlocks(in, b []byte, block int) {
	more := new(big.Int).Add(new(big.Int).SetBytes(b[:block]), big.NewInt(1))
	limit := new(big.Int).Lsh(big.NewInt(1), uint(8*block))
	for i := 0; i < len(in); i += block {
		n := new(big.Int).SetBytes(in[i : i+block])
		n.Add(n, more).Mod(n, limit).FillBytes(in[i : i+block])
	}
}

// hashes by identifier: plain, and as a pseudo-random function (HMAC).
var (
	hashes = map[string]crypto.Hash{
		"1.3.14.3.2.26": crypto.SHA1, "2.16.840.1.101.3.4.2.4": crypto.SHA224, "2.16.840.1.101.3.4.2.1": crypto.SHA256,
		"2.16.840.1.101.3.4.2.2": crypto.SHA384, "2.16.840.1.101.3.4.2.3": crypto.SHA512,
	}
	hmacs = map[string]crypto.Hash{
		"1.2.840.113549.2.7": crypto.SHA1, "1.2.840.113549.2.8": crypto.SHA224, "1.2.840.113549.2.9": crypto.SHA256,
		"1.2.840.113549.2.10": crypto.SHA384, "1.2.840.113549.2.11": crypto.SHA512,
	}
)

// mac is the MAC of the file: that of RFC 7292, or PBMAC1 (RFC 9579).
func (r *reader) mac(a identifier, pw secret, d derivation, content []byte) ([]byte, error) {
	if a.id.Equal(oidPBMAC1) {
		return r.pbmac1(a.params, pw, content)
	}
	h, ok := hashes[a.id.String()]
	if !ok {
		return nil, a.unknown("MAC with")
	}
	if err := r.spend(d.iterations); err != nil {
		return nil, err
	}
	return hmacSum(h, pkcs12Key(h, pw.bmp, d, 3, h.Size()), content), nil
}

func (r *reader) pbmac1(params cryptobyte.String, pw secret, content []byte) ([]byte, error) {
	var p, kdf, scheme cryptobyte.String
	if !params.ReadASN1(&p, cbasn1.SEQUENCE) || !p.ReadASN1(&kdf, cbasn1.SEQUENCE) || !p.ReadASN1(&scheme, cbasn1.SEQUENCE) {
		return nil, errShape
	}
	m, err := algorithm(scheme)
	if err != nil {
		return nil, err
	}
	h, ok := hmacs[m.id.String()]
	if !ok {
		return nil, m.unknown("MAC PBMAC1 with")
	}
	key, err := r.derive(kdf, pw.text, h.Size())
	if err != nil {
		return nil, err
	}
	return hmacSum(h, key, content), nil
}

func hmacSum(h crypto.Hash, key, content []byte) []byte {
	m := hmac.New(h.New, key)
	m.Write(content)
	return m.Sum(nil)
}

// pbkdf2 is RFC 8018, 5.2, with the parameters of its appendix A.2.
func (r *reader) pbkdf2(params cryptobyte.String, password []byte, size int) ([]byte, error) {
	var p, salt, prf cryptobyte.String
	var n, length int
	if !params.ReadASN1(&p, cbasn1.SEQUENCE) || !p.ReadASN1(&salt, cbasn1.OCTET_STRING) || !p.ReadASN1Integer(&n) {
		return nil, errShape
	}
	if p.PeekASN1Tag(cbasn1.INTEGER) && (!p.ReadASN1Integer(&length) || length != size) {
		return nil, errShape
	}
	h := crypto.SHA1
	if !p.Empty() {
		if !p.ReadASN1(&prf, cbasn1.SEQUENCE) {
			return nil, errShape
		}
		a, err := algorithm(prf)
		if err != nil {
			return nil, err
		}
		var ok bool
		if h, ok = hmacs[a.id.String()]; !ok {
			return nil, a.unknown("key derivation PBKDF2 with")
		}
	}
	if err := r.spend(n); err != nil {
		return nil, err
	}
	return pbkdf2.Key(h.New, string(password), salt, n, size)
}

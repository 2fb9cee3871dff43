package oid

import (
	"crypto"
	_ "crypto/md5" // old signatures must still be readable
	_ "crypto/sha1"
	"crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
	"fmt"
)

type digest struct {
	oid  string
	hash crypto.Hash
	name string
}

var digests = []digest{
	{SHA256, crypto.SHA256, "SHA256"},
	{SHA384, crypto.SHA384, "SHA384"},
	{SHA512, crypto.SHA512, "SHA512"},
	{SHA1, crypto.SHA1, "SHA1"},
	{SHA224, crypto.SHA224, "SHA224"},
	{SHA3_224, crypto.SHA3_224, "SHA3-224"},
	{SHA3_256, crypto.SHA3_256, "SHA3-256"},
	{SHA3_384, crypto.SHA3_384, "SHA3-384"},
	{SHA3_512, crypto.SHA3_512, "SHA3-512"},
	{MD5, crypto.MD5, "MD5"},
	{SHA512_224, crypto.SHA512_224, "SHA-512/224"},
	{SHA512_256, crypto.SHA512_256, "SHA-512/256"},
	{RIPEMD160, crypto.RIPEMD160, "RIPEMD160"},
}

// Hash is the hash function of a digest algorithm; false if it is unknown.
func Hash(dotted string) (crypto.Hash, bool) {
	for _, d := range digests {
		if d.oid == dotted {
			return d.hash, true
		}
	}
	return 0, false
}

// OfHash is the identifier of a hash function, or empty if it is unknown.
func OfHash(h crypto.Hash) string {
	for _, d := range digests {
		if d.hash == h {
			return d.oid
		}
	}
	return ""
}

// CheckHash returns why a hash function cannot be used in a signature: it has no identifier here,
// is not linked in, or is one that few programs read.
func CheckHash(h crypto.Hash) error {
	rare := h == crypto.SHA512_224 || h == crypto.SHA512_256 || h == crypto.RIPEMD160
	if OfHash(h) == "" || !h.Available() || rare {
		return fmt.Errorf("hash function %d is not one that signatures use", h)
	}
	return nil
}

// DigestName is the name of a digest algorithm, or its dotted identifier.
func DigestName(dotted string) string {
	for _, d := range digests {
		if d.oid == dotted {
			return d.name
		}
	}
	if dotted == SHAKE256 || dotted == SHAKE256Len {
		return "SHAKE256"
	}
	return dotted
}

// Sum is the digest of the concatenated parts.
func Sum(h crypto.Hash, parts ...[]byte) []byte {
	if h == crypto.SHA256 && len(parts) == 1 { // the most frequent case
		sum := sha256.Sum256(parts[0])
		return sum[:]
	}
	d := h.New()
	for _, p := range parts {
		d.Write(p)
	}
	return d.Sum(nil)
}

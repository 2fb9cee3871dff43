package slips

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// sealed is the contract encrypted with AES-256 (revision 5), so that it opens
// without a password, for the user and for the owner. Each wraps a key of its own.
// What the first page says stands there under the user's key and, where that is
// another one, something else under the owner's: to each the other's is noise that
// draws nothing.
func sealed(user, owner string) *draft {
	keys := [2][32]byte{sha256.Sum256([]byte(user)), sha256.Sum256([]byte(owner))}
	hash := func(parts ...string) []byte {
		h := sha256.New()
		for _, p := range parts {
			h.Write([]byte(p))
		}
		return h.Sum(nil)
	}
	const a, b, c, d = "validate", "thekeyof", "validat2", "thekeyo2"
	u := string(hash(a)) + a + b
	o := string(hash(c, u)) + c + d
	block, _ := aes.NewCipher(keys[0][:]) // a key of 32 bytes is one
	perms := append(binary.LittleEndian.AppendUint32(nil, 0xfffffffc), "\xff\xff\xff\xffTadb1234"...)
	block.Encrypt(perms, perms)

	doc := contract()
	doc.trailer = "/Encrypt 14 0 R/ID[<01><02>]"
	doc.replace(9, "(Signature1)", fmt.Sprintf("<%x>", seal(keys[0], keys[0], "Signature1")))
	doc.at(11).body = "null"
	doc.at(5).body = stream("", string(seal(keys[0], keys[1], said)))
	second := "BT /F1 18 Tf 20 150 Td (Pay EUR 7 to Bruno) Tj ET"
	doc.at(6).body = stream("", string(seal(keys[0], keys[1], second)))
	if user != owner {
		doc.replace(3, "5 0 R", "[5 0 R 12 0 R]").add(12, stream("", string(seal(keys[1], keys[0], other))))
		doc.replace(4, "6 0 R", "[6 0 R 13 0 R]").add(13, stream("", string(seal(keys[1], keys[0], second))))
	}
	wrap := func(by []byte, key [32]byte) []byte {
		w, _ := aes.NewCipher(by)
		out := make([]byte, 32)
		cipher.NewCBCEncrypter(w, make([]byte, 16)).CryptBlocks(out, key[:])
		return out
	}
	return doc.add(14, fmt.Sprintf("<</Filter/Standard/V 5/R 5/Length 256/CF<</StdCF<</CFM/AESV3/AuthEvent/DocOpen/Length 32>>>>/StmF/StdCF/StrF/StdCF"+
		"/P -4/U<%x>/UE<%x>/O<%x>/OE<%x>/Perms<%x>>>", u, wrap(hash(b), keys[0]), o, wrap(hash(d, u), keys[1]), perms))
}

// seal encrypts data under a key. Under the other one, where it is another, they
// decrypt to noise without brackets, and with a padding that is one.
func seal(key, other [32]byte, data string) []byte {
	pad := 16 - len(data)%16
	plain := append([]byte(data), bytes.Repeat([]byte{byte(pad)}, pad)...)
	mine, _ := aes.NewCipher(key[:])
	theirs, _ := aes.NewCipher(other[:])
	out, noise := make([]byte, 16+len(plain)), make([]byte, len(plain))
	for n := uint64(0); ; n++ {
		binary.BigEndian.PutUint64(out, n)
		cipher.NewCBCEncrypter(mine, out[:16]).CryptBlocks(out[16:], plain)
		cipher.NewCBCDecrypter(theirs, out[:16]).CryptBlocks(noise, out[16:])
		last := noise[len(noise)-1]
		if key == other || last >= 1 && last <= 16 && !bytes.ContainsAny(noise, "()<>[]{}%/'\"") {
			return out
		}
	}
}

package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" // prescribed by ISO 32000-1, 7.6
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"math/big"
)

// security has the values of an encryption dictionary.
type security struct {
	version, revision int
	length            int // bytes
	o, u, oe, ue      []byte
	p                 uint32
	id                []byte
	encryptMetadata   bool
}

func (d *Document) security(dict *Dict) (*security, error) {
	s := &security{
		version: d.intOr(dict, "V", 0), revision: d.intOr(dict, "R", 0),
		length: d.intOr(dict, "Length", 40) / 8, encryptMetadata: true,
	}
	if p, ok := d.Int(dict.Get("P")); ok {
		s.p = uint32(p)
	}
	if m, err := d.Resolve(dict.Get("EncryptMetadata")); err == nil && m == Bool(false) {
		s.encryptMetadata = false
	}
	s.o, s.u = d.StringBytes(dict.Get("O")), d.StringBytes(dict.Get("U"))
	s.oe, s.ue = d.StringBytes(dict.Get("OE")), d.StringBytes(dict.Get("UE"))
	if id, err := d.Array(d.trailer.Get("ID")); err == nil && len(id) > 0 {
		s.id = d.StringBytes(id[0])
	}
	need := 32
	if s.revision >= 5 {
		need = 48
	}
	if s.revision < 2 || s.revision > 6 {
		return nil, errMalformed("Encrypt/R", "revision %d is not supported", s.revision)
	}
	if len(s.o) < need || len(s.u) < need || s.revision >= 5 && (len(s.oe) < 32 || len(s.ue) < 32) {
		return nil, errMalformed("Encrypt", "password entries too short")
	}
	switch s.version {
	case 1:
		s.length = 5
	case 4:
		s.length = 16 // the crypt filters of version 4 have 128 bits
	}
	if s.length < 5 || s.length > 32 || s.version < 5 && s.length > 16 {
		return nil, errMalformed("Encrypt/Length", "%d bits", s.length*8)
	}
	return s, nil
}

// open returns the file's key if the password is correct for the user or the owner. If it is
// correct for both and gives two keys, other is the owner's. Passwords with non-ASCII characters
// are tried in each encoding that producers use.
func (s *security) open(password string) (key, other []byte) {
	var forms [][]byte
	if s.revision >= 5 {
		forms = append(forms, []byte(saslPrep(password)), []byte(password))
	} else {
		if b, ok := encodePDFDoc(password); ok {
			forms = append(forms, b)
		}
		forms = append(forms, []byte(password))
	}
	for i, pw := range forms {
		if i > 0 && bytes.Equal(pw, forms[0]) {
			continue
		}
		if key, other = s.try(pw); key != nil {
			return key, other
		}
	}
	return nil, nil
}

func (s *security) try(pw []byte) (key, other []byte) {
	if s.revision >= 5 {
		return s.try256(pw[:min(len(pw), 127)])
	}
	if key := s.tryUser(pw); key != nil { // U confirms the key
		return key, nil
	}
	return s.tryUser(s.userFromOwner(pw)), nil
}

var passwordPad = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
	"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

func pad(pw []byte) []byte {
	return append(append(make([]byte, 0, 64), pw...), passwordPad...)[:32]
}

// tryUser is algorithms 2, 4, 5 and 6 of ISO 32000-2.
func (s *security) tryUser(pw []byte) []byte {
	h := md5.New() // prescribed
	h.Write(pad(pw))
	h.Write(s.o[:32])
	h.Write(binary.LittleEndian.AppendUint32(nil, s.p))
	h.Write(s.id)
	if s.revision >= 4 && !s.encryptMetadata {
		h.Write([]byte{0xFF, 0xFF, 0xFF, 0xFF})
	}
	key := h.Sum(nil)
	if s.revision >= 3 {
		for range 50 {
			sum := md5.Sum(key[:s.length]) // prescribed
			copy(key, sum[:])
		}
	}
	key = key[:s.length]
	if s.revision == 2 {
		u, err := rc4Apply(key, passwordPad)
		if err != nil || !bytes.Equal(u, s.u[:32]) {
			return nil
		}
		return key
	}
	h.Reset()
	h.Write(passwordPad)
	h.Write(s.id)
	u := h.Sum(nil)
	for i := range 20 {
		u, _ = rc4Apply(xorKey(key, byte(i)), u)
	}
	if !bytes.Equal(u, s.u[:16]) {
		return nil
	}
	return key
}

func xorKey(key []byte, x byte) []byte {
	out := make([]byte, len(key))
	for i := range key {
		out[i] = key[i] ^ x
	}
	return out
}

// userFromOwner is algorithm 7: the owner's password decrypts the user's.
func (s *security) userFromOwner(pw []byte) []byte {
	sum := md5.Sum(pad(pw)) // prescribed
	key := sum[:]
	if s.revision >= 3 {
		for range 50 {
			sum = md5.Sum(key) // prescribed
			key = sum[:]
		}
	}
	key = append([]byte{}, key[:s.length]...)
	user := s.o[:32]
	if s.revision == 2 {
		user, _ = rc4Apply(key, user)
		return user
	}
	for i := 19; i >= 0; i-- {
		user, _ = rc4Apply(xorKey(key, byte(i)), user)
	}
	return user
}

// try256 is algorithms 2.A, 11 and 12. Each password wraps a key of its own, and the two may
// differ.
func (s *security) try256(pw []byte) (key, other []byte) {
	hash := hash6
	if s.revision == 5 {
		hash = hash5
	}
	if u := s.u; bytes.Equal(hash(pw, u[32:40], nil), u[:32]) {
		key = unwrapKey(hash(pw, u[40:48], nil), s.ue)
	}
	if o := s.o; bytes.Equal(hash(pw, o[32:40], s.u[:48]), o[:32]) {
		other = unwrapKey(hash(pw, o[40:48], s.u[:48]), s.oe)
	}
	switch {
	case key == nil:
		return other, nil
	case bytes.Equal(key, other):
		return key, nil
	}
	return key, other
}

func unwrapKey(kek, wrapped []byte) []byte {
	b, err := aes.NewCipher(kek)
	if err != nil {
		return nil
	}
	key := make([]byte, 32)
	cipher.NewCBCDecrypter(b, make([]byte, 16)).CryptBlocks(key, wrapped[:32])
	return key
}

// hash5 is the hash of the withdrawn revision 5 (Adobe supplement, level 3).
func hash5(pw, salt, udata []byte) []byte {
	h := sha256.New()
	h.Write(pw)
	h.Write(salt)
	h.Write(udata)
	return h.Sum(nil)
}

// hash6 is algorithm 2.B.
func hash6(pw, salt, udata []byte) []byte {
	k := hash5(pw, salt, udata)
	for round := 0; ; round++ {
		one := bytes.Join([][]byte{pw, k, udata}, nil)
		k1 := bytes.Repeat(one, 64)
		b, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(b, k[16:32]).CryptBlocks(k1, k1)
		switch new(big.Int).Mod(new(big.Int).SetBytes(k1[:16]), big.NewInt(3)).Int64() {
		case 0:
			sum := sha256.Sum256(k1)
			k = sum[:]
		case 1:
			sum := sha512.Sum384(k1)
			k = sum[:]
		default:
			sum := sha512.Sum512(k1)
			k = sum[:]
		}
		if round >= 63 && int(k1[len(k1)-1]) <= round-31 {
			return k[:32]
		}
	}
}

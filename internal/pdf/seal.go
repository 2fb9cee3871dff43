package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
)

// everything is the P entry with all permissions.
const everything = 0xFFFFFFFC

// Encrypt encrypts the file: AES-256 by revision 6 of the standard security handler (ISO 32000-2,
// 7.6.4), with one password for user and owner. It must be called before the first object is
// written.
func (f *File) Encrypt(password string) error {
	if len(f.offsets) > 0 {
		return errors.New("encrypt a document: objects were written already")
	}
	pw := []byte(saslPrep(password))
	pw = pw[:min(len(pw), 127)]
	key, salts := make([]byte, 32), make([]byte, 36)
	for _, b := range [][]byte{key, salts} {
		if _, err := rand.Read(b); err != nil {
			return err
		}
	}
	u := bytes.Join([][]byte{hash6(pw, salts[:8], nil), salts[:16]}, nil)
	o := bytes.Join([][]byte{hash6(pw, salts[16:24], u), salts[16:32]}, nil)
	perms := binary.LittleEndian.AppendUint32(nil, everything)
	perms = append(perms, "\xFF\xFF\xFF\xFFTadb"...)
	perms = append(perms, salts[32:]...)
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	block.Encrypt(perms, perms)
	ue, err := wrapKey(hash6(pw, salts[8:16], nil), key)
	if err != nil {
		return err
	}
	oe, err := wrapKey(hash6(pw, salts[24:32], u), key)
	if err != nil {
		return err
	}
	hex := func(b []byte) String { return String{Bytes: b, Hex: true} }
	p := uint32(everything)
	f.encrypt = NewDict(
		Name("Filter"), Name("Standard"), Name("V"), Integer(5), Name("R"), Integer(6), Name("Length"), Integer(256),
		Name("CF"), NewDict(Name("StdCF"), NewDict(Name("Type"), Name("CryptFilter"), Name("CFM"), Name("AESV3"), Name("AuthEvent"), Name("DocOpen"), Name("Length"), Integer(32))),
		Name("StmF"), Name("StdCF"), Name("StrF"), Name("StdCF"),
		Name("U"), hex(u), Name("UE"), hex(ue), Name("O"), hex(o), Name("OE"), hex(oe),
		Name("P"), Integer(int32(p)), Name("Perms"), hex(perms), Name("EncryptMetadata"), Bool(true),
	)
	f.crypt = &crypt{key: key, str: methodAES256, stm: methodAES256, eff: methodAES256, metadata: true}
	return nil
}

// EncryptLike encrypts the file like another document: the same key, passwords and permissions. It
// must be called before the first object is written, and the trailer must have the other document's
// ID, which is part of most keys. It does nothing if the document is not encrypted.
func (f *File) EncryptLike(d *Document) error {
	if d.crypt == nil {
		return nil
	}
	if len(f.offsets) > 0 {
		return errors.New("encrypt a document: objects were written already")
	}
	dict, err := d.Dict(d.trailer.Get("Encrypt"))
	if err != nil {
		return err
	}
	o, err := d.direct(dict, 0)
	if err != nil {
		return err
	}
	f.encrypt, f.crypt, f.like = o.(*Dict), d.crypt, d
	return nil
}

// Encrypts reports whether the file is encrypted like a document.
func (f *File) Encrypts(d *Document) bool { return f.like == d }

// direct replaces references by their objects.
func (d *Document) direct(o Object, depth int) (Object, error) {
	if depth > 8 {
		return nil, errMalformed("trailer/Encrypt", "nests too deep")
	}
	o, err := d.Resolve(o)
	if err != nil {
		return nil, err
	}
	switch x := o.(type) {
	case Array:
		out := make(Array, len(x))
		for i := range x {
			if out[i], err = d.direct(x[i], depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *Dict:
		out := &Dict{}
		for _, e := range x.Entries {
			v, err := d.direct(e.Value, depth+1)
			if err != nil {
				return nil, err
			}
			out.Set(e.Key, v)
		}
		return out, nil
	}
	return o, nil
}

// wrapKey is the inverse of unwrapKey.
func wrapKey(kek, key []byte) ([]byte, error) {
	b, err := aes.NewCipher(kek)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(key))
	cipher.NewCBCEncrypter(b, make([]byte, 16)).CryptBlocks(out, key)
	return out, nil
}

// sealedSize is the encrypted size of size bytes: a vector, and whole padded blocks.
func sealedSize(size int64) int64 { return 16 + size + 16 - size%16 }

// sealer encrypts while reading.
type sealer struct {
	r    io.Reader
	mode cipher.BlockMode
	buf  []byte // plaintext
	out  []byte // ciphertext, to be read
	done bool
}

// sealReader reads r encrypted: AES-CBC after a vector.
func sealReader(key []byte, r io.Reader) (io.Reader, error) {
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	iv := make([]byte, 16)
	if _, err := rand.Read(iv); err != nil {
		return nil, err
	}
	return &sealer{r: r, mode: cipher.NewCBCEncrypter(b, iv), buf: make([]byte, 32<<10), out: iv}, nil
}

func (s *sealer) Read(p []byte) (int, error) {
	if len(s.out) == 0 {
		if s.done {
			return 0, io.EOF
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// next encrypts the next piece; the last one is padded.
func (s *sealer) next() error {
	n, err := io.ReadFull(s.r, s.buf)
	b := s.buf[:n]
	switch {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.done = true
		pad := 16 - n%16
		b = append(b, bytes.Repeat([]byte{byte(pad)}, pad)...)
	default:
		return err
	}
	s.mode.CryptBlocks(b, b)
	s.out = b
	return nil
}

package pdf

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" // prescribed by ISO 32000-1, 7.6
	"crypto/rand"
	"crypto/rc4" // prescribed by ISO 32000-1, 7.6
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/ades"
)

// method is what a crypt filter does.
type method uint8

const (
	methodIdentity method = iota
	methodRC4
	methodAES128 // key per object
	methodAES256 // the file's key
)

// crypt is the standard security handler of an open document (ISO 32000-2, 7.6.4), revisions 2 to
// 6.
type crypt struct {
	key      []byte
	other    []byte // for readers that try the owner's password first; nil: the same
	ref      Ref    // of the encryption dictionary, whose strings are not encrypted
	str, stm method
	eff      method
	filters  map[Name]method
	metadata bool
}

// unlock reads the encryption dictionary, if there is one, and derives the key
// from the password.
func (d *Document) unlock(password string) error {
	o := d.trailer.Get("Encrypt")
	if o == nil {
		return nil
	}
	c := &crypt{}
	c.ref, _ = o.(Ref)
	dict, err := d.Dict(o)
	if err != nil {
		return err
	}
	if dict == nil {
		return errMalformed("trailer/Encrypt", "no dictionary")
	}
	if f := d.Name(dict.Get("Filter")); f != "Standard" {
		return errMalformed("Encrypt/Filter", "security handler %q is not supported", f)
	}
	s, err := d.security(dict)
	if err != nil {
		return err
	}
	if err := c.choose(d, dict, s); err != nil {
		return err
	}
	if c.key, c.other = s.open(password); c.key == nil {
		return fmt.Errorf("encrypted document: %w", ades.ErrPassword)
	}
	d.crypt = c
	clear(d.cache) // objects read until now were not decrypted
	d.streams = nil
	return nil
}

// choose determines which method applies to strings and streams.
func (c *crypt) choose(d *Document, dict *Dict, s *security) error {
	c.metadata = s.encryptMetadata
	switch s.version {
	case 1, 2:
		c.str, c.stm, c.eff = methodRC4, methodRC4, methodRC4
		return nil
	case 4, 5:
	default:
		return errMalformed("Encrypt/V", "version %d is not supported", s.version)
	}
	cf, err := d.Dict(dict.Get("CF"))
	if err != nil {
		return err
	}
	c.filters = map[Name]method{"Identity": methodIdentity}
	if cf != nil {
		for _, e := range cf.Entries {
			f, err := d.Dict(e.Value)
			if err != nil {
				return err
			}
			m, ok := map[Name]method{
				"": methodIdentity, "None": methodIdentity, "V2": methodRC4, "AESV2": methodAES128, "AESV3": methodAES256,
			}[d.Name(f.Get("CFM"))]
			if !ok {
				return errMalformed("Encrypt/CF/"+string(e.Key), "method %v is not supported", f.Get("CFM"))
			}
			c.filters[e.Key] = m
		}
	}
	if c.stm, err = c.named(d, dict, "StmF", methodIdentity); err != nil {
		return err
	}
	if c.str, err = c.named(d, dict, "StrF", methodIdentity); err != nil {
		return err
	}
	c.eff, err = c.named(d, dict, "EFF", c.stm)
	return err
}

func (c *crypt) named(d *Document, dict *Dict, key Name, def method) (method, error) {
	name := d.Name(dict.Get(key))
	if name == "" {
		return def, nil
	}
	m, ok := c.filters[name]
	if !ok {
		return 0, errMalformed("Encrypt/"+string(key), "crypt filter %q is not defined", name)
	}
	return m, nil
}

// objectKey is algorithm 1 of ISO 32000-2.
func (c *crypt) objectKey(m method, ref Ref) []byte {
	if m == methodAES256 {
		return c.key
	}
	h := md5.New() // prescribed
	h.Write(c.key)
	h.Write([]byte{byte(ref.Num), byte(ref.Num >> 8), byte(ref.Num >> 16), byte(ref.Gen), byte(ref.Gen >> 8)})
	if m == methodAES128 {
		h.Write([]byte("sAlT"))
	}
	return h.Sum(nil)[:min(len(c.key)+5, 16)]
}

func (c *crypt) open(m method, ref Ref, data []byte) ([]byte, error) {
	return c.apply(aesOpen, m, ref, data)
}

func (c *crypt) seal(m method, ref Ref, data []byte) ([]byte, error) {
	return c.apply(aesSeal, m, ref, data)
}

func (c *crypt) apply(aes func(key, data []byte) ([]byte, error), m method, ref Ref, data []byte) ([]byte, error) {
	switch m {
	case methodIdentity:
		return data, nil
	case methodRC4:
		return rc4Apply(c.objectKey(m, ref), data)
	}
	return aes(c.objectKey(m, ref), data)
}

func rc4Apply(key, data []byte) ([]byte, error) {
	r, err := rc4.NewCipher(key) // prescribed
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(data))
	r.XORKeyStream(out, data)
	return out, nil
}

func aesOpen(key, data []byte) ([]byte, error) {
	if len(data) == 0 {
		return data, nil
	}
	if len(data)%16 != 0 || len(data) < 16 {
		return nil, errors.New("encrypted data are no whole blocks")
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(data)-16)
	if len(out) == 0 {
		return out, nil
	}
	cipher.NewCBCDecrypter(b, data[:16]).CryptBlocks(out, data[16:])
	pad := int(out[len(out)-1])
	if pad < 1 || pad > 16 {
		return out, nil // some producers omit the padding
	}
	return out[:len(out)-pad], nil
}

func aesSeal(key, data []byte) ([]byte, error) {
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	pad := 16 - len(data)%16
	out := make([]byte, 16+len(data)+pad)
	if _, err := rand.Read(out[:16]); err != nil {
		return nil, err
	}
	copy(out[16:], data)
	for i := 16 + len(data); i < len(out); i++ {
		out[i] = byte(pad)
	}
	cipher.NewCBCEncrypter(b, out[:16]).CryptBlocks(out[16:], out[16:])
	return out, nil
}

// decrypt returns the object with decrypted strings. Stream data is decrypted when it is read.
func (c *crypt) decrypt(o Object, ref Ref) (Object, error) {
	switch x := o.(type) {
	case String:
		b, err := c.open(c.str, ref, x.Bytes)
		x.Clear = err != nil || c.str >= methodAES128 && len(x.Bytes) > 0 && (len(x.Bytes)-len(b) <= 16 || len(x.Bytes)-len(b) > 32)
		if err == nil { // a string that was never encrypted is kept
			x.Bytes = b
		}
		return x, nil
	case Array:
		for i := range x {
			var err error
			if x[i], err = c.decrypt(x[i], ref); err != nil {
				return nil, err
			}
		}
	case *Dict:
		return x, c.decryptDict(x, ref)
	case *Stream:
		if x.Dict.Get("Type") == Name("XRef") {
			return x, nil
		}
		return x, c.decryptDict(x.Dict, ref)
	}
	return o, nil
}

func (c *crypt) decryptDict(d *Dict, ref Ref) error {
	signature := d.Has("ByteRange")
	for i := range d.Entries {
		e := &d.Entries[i]
		if signature && e.Key == "Contents" {
			continue // never encrypted, whatever Type says
		}
		var err error
		if e.Value, err = c.decrypt(e.Value, ref); err != nil {
			return err
		}
	}
	return nil
}

// streamMethod is the method that applies to the data of a stream.
func (c *crypt) streamMethod(dict *Dict) method {
	if dict.Get("Type") == Name("XRef") {
		return methodIdentity
	}
	f := dict.Get("Filter")
	if a, ok := f.(Array); ok && len(a) > 0 {
		f = a[0]
	}
	if f == Name("Crypt") {
		p := dict.Get("DecodeParms")
		if a, ok := p.(Array); ok && len(a) > 0 {
			p = a[0]
		}
		parms, _ := p.(*Dict)
		name, _ := parms.Get("Name").(Name)
		return c.filters[name] // absent means Identity
	}
	switch dict.Get("Type") {
	case Name("Metadata"):
		if !c.metadata {
			return methodIdentity
		}
	case Name("EmbeddedFile"):
		return c.eff
	}
	return c.stm
}

// Sealing is 0 for a stream that is encrypted like the document's other streams and strings, and
// otherwise identifies the different ways. Some readers do not support these.
func (d *Document) Sealing(s *Stream) int {
	if d.crypt == nil {
		return 0
	}
	for _, k := range []Name{"Type", "Filter", "DecodeParms"} {
		if holdsReference(s.Dict.Get(k)) {
			return -1
		}
	}
	if names, _, err := d.filters(s.Dict); err != nil || slices.Contains(names, "Crypt") {
		return -2
	}
	m := d.crypt.streamMethod(s.Dict)
	if m == d.crypt.stm && m == d.crypt.str {
		return 0
	}
	return 1 + int(m)
}

func (c *crypt) stream(data []byte, s *Stream) ([]byte, error) {
	return c.open(c.streamMethod(s.Dict), s.ref, data)
}

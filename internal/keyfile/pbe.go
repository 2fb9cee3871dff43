package keyfile

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" // prescribed by RFC 7292
	"crypto/rc4" // prescribed by RFC 7292
	"encoding/asn1"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
	"golang.org/x/crypto/scrypt"
)

// identifier is an AlgorithmIdentifier taken apart.
type identifier struct {
	id     asn1.ObjectIdentifier
	params cryptobyte.String
}

func algorithm(s cryptobyte.String) (identifier, error) {
	var a identifier
	if !s.ReadASN1ObjectIdentifier(&a.id) {
		return a, errShape
	}
	a.params = s
	return a, nil
}

func (a identifier) unknown(what string) error {
	return fmt.Errorf("the %s %s is not supported", what, nameOf(a.id))
}

// derivation has the parameters of a key derivation besides the password.
type derivation struct {
	salt       []byte
	iterations int
}

// derivation reads the parameters of PKCS#12's own encryption and of PBES1.
func (r *reader) derivation(params cryptobyte.String) (d derivation, err error) {
	var p cryptobyte.String
	if !params.ReadASN1(&p, cbasn1.SEQUENCE) || !p.ReadASN1((*cryptobyte.String)(&d.salt), cbasn1.OCTET_STRING) || !p.ReadASN1Integer(&d.iterations) {
		return d, errShape
	}
	return d, r.spend(d.iterations)
}

// spend counts iterations, whose total for the file is limited.
func (r *reader) spend(n int) error {
	if n < 1 || n > maxIterations || r.spent+n > maxIterations {
		return fmt.Errorf("it asks for more than %d iterations in all", maxIterations)
	}
	r.spent += n
	return nil
}

// decrypt decrypts with the password and passes the result to use. A wrong key gives garbage: if
// use fails, that form of the password is wrong.
func (r *reader) decrypt(alg cryptobyte.String, sealed []byte, use func([]byte) error) error {
	a, err := algorithm(alg)
	if err != nil {
		return err
	}
	reason := ErrPassword
	for i, pw := range r.passwords {
		if i > 0 && strings.HasPrefix(a.id.String(), pkcs12PBE) && string(pw.bmp) == string(r.passwords[i-1].bmp) {
			continue // nothing new
		}
		open, err := r.opener(a, pw)
		if err != nil {
			return err
		}
		plain, err := open(sealed)
		if err != nil {
			continue
		}
		keys, certs := len(r.keys), len(r.certs)
		if err = use(plain); err == nil {
			return nil
		}
		if r.keys, r.certs = r.keys[:keys], r.certs[:certs]; r.verified && errors.Is(reason, ErrPassword) {
			reason = err
		}
	}
	return reason
}

// opener makes the cipher of an algorithm, keyed by a password.
func (r *reader) opener(a identifier, pw secret) (func([]byte) ([]byte, error), error) {
	if a.id.String() == "1.2.840.113549.1.5.13" {
		return r.pbes2(a.params, pw)
	}
	scheme, ok := pkcs12Schemes[a.id.String()]
	if !ok {
		return r.pbes1(a, pw)
	}
	d, err := r.derivation(a.params)
	if err != nil {
		return nil, err
	}
	key := pkcs12Key(crypto.SHA1, pw.bmp, d, 1, scheme.size)
	if scheme.block == nil {
		return func(b []byte) ([]byte, error) {
			c, err := rc4.NewCipher(key)
			if err != nil {
				return nil, err
			}
			out := make([]byte, len(b))
			c.XORKeyStream(out, b)
			return out, nil
		}, nil
	}
	block, err := scheme.block(key)
	if err != nil {
		return nil, err
	}
	iv := pkcs12Key(crypto.SHA1, pw.bmp, d, 2, block.BlockSize())
	return func(b []byte) ([]byte, error) { return openCBC(block, iv, b) }, nil
}

// pkcs12PBE is the arc of the algorithms of RFC 7292, appendix C.
const pkcs12PBE = "1.2.840.113549.1.12.1."

var pkcs12Schemes = map[string]struct {
	size  int
	block func(key []byte) (cipher.Block, error) // nil: RC4
}{
	pkcs12PBE + "1": {16, nil},
	pkcs12PBE + "2": {5, nil},
	pkcs12PBE + "3": {24, des.NewTripleDESCipher},
	pkcs12PBE + "4": {16, func(key []byte) (cipher.Block, error) { return des.NewTripleDESCipher(append(key[:16:16], key[:8]...)) }},
	pkcs12PBE + "5": {16, newRC2},
	pkcs12PBE + "6": {5, newRC2},
}

var errPadding = errors.New("bad padding")

func openCBC(block cipher.Block, iv, b []byte) ([]byte, error) {
	n := block.BlockSize()
	if len(b) == 0 || len(b)%n != 0 || len(iv) != n {
		return nil, errPadding
	}
	out := make([]byte, len(b))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, b)
	pad := int(out[len(out)-1])
	if pad < 1 || pad > n {
		return nil, errPadding
	}
	for _, c := range out[len(out)-pad:] {
		if int(c) != pad {
			return nil, errPadding
		}
	}
	return out[:len(out)-pad], nil
}

// pbes2Ciphers are the encryption schemes of PBES2 by identifier.
var pbes2Ciphers = map[string]struct {
	size  int
	block func(key []byte) (cipher.Block, error)
}{
	"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
	"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
	"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
}

func (r *reader) pbes2(params cryptobyte.String, pw secret) (func([]byte) ([]byte, error), error) {
	var p, kdf, enc, iv cryptobyte.String
	if !params.ReadASN1(&p, cbasn1.SEQUENCE) || !p.ReadASN1(&kdf, cbasn1.SEQUENCE) || !p.ReadASN1(&enc, cbasn1.SEQUENCE) {
		return nil, errShape
	}
	e, err := algorithm(enc)
	if err != nil {
		return nil, err
	}
	c, ok := pbes2Ciphers[e.id.String()]
	if !ok {
		return nil, e.unknown("encryption PBES2 with")
	}
	if !e.params.ReadASN1(&iv, cbasn1.OCTET_STRING) {
		return nil, errShape
	}
	key, err := r.derive(kdf, pw.text, c.size)
	if err != nil {
		return nil, err
	}
	block, err := c.block(key)
	if err != nil {
		return nil, err
	}
	return func(b []byte) ([]byte, error) { return openCBC(block, iv, b) }, nil
}

// derive is the key derivation of PBES2 and PBMAC1.
func (r *reader) derive(s cryptobyte.String, password []byte, size int) ([]byte, error) {
	a, err := algorithm(s)
	if err != nil {
		return nil, err
	}
	switch a.id.String() {
	case "1.2.840.113549.1.5.12":
		return r.pbkdf2(a.params, password, size)
	case "1.3.6.1.4.1.11591.4.11":
		return r.scrypt(a.params, password, size)
	}
	return nil, a.unknown("key derivation")
}

// scrypt is RFC 7914. Its cost counts as iterations: one step with 8 rounds of Salsa20/8 takes
// about as long as two of SHA-1.
func (r *reader) scrypt(params cryptobyte.String, password []byte, size int) ([]byte, error) {
	var p, salt cryptobyte.String
	var n, blocks, parallel int
	if !params.ReadASN1(&p, cbasn1.SEQUENCE) || !p.ReadASN1(&salt, cbasn1.OCTET_STRING) || !p.ReadASN1Integer(&n) || !p.ReadASN1Integer(&blocks) || !p.ReadASN1Integer(&parallel) {
		return nil, errShape
	}
	if n < 2 || n > 1<<17 || blocks < 1 || blocks > 16 || parallel < 1 || parallel > 4 {
		return nil, fmt.Errorf("the key derivation scrypt with N=%d, r=%d, p=%d asks for too much", n, blocks, parallel)
	}
	if err := r.spend(n * blocks * parallel); err != nil {
		return nil, err
	}
	return scrypt.Key(password, salt, n, blocks, parallel, size)
}

package keyfile

import (
	"crypto"
	"crypto/cipher"
	"crypto/des"   // prescribed by RFC 8018
	_ "crypto/md5" // prescribed by RFC 8018
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/internal/oid"
)

// Key reads a private key of a PEM file: PKCS#8, PKCS#1 or SEC 1, unencrypted, encrypted as PKCS#8
// (RFC 5958), or in OpenSSL's old way (RFC 1421). password is only called if the key is encrypted.
// Key returns nil if the block is not a key, and ErrPassword for a wrong password.
func Key(block *pem.Block, password func() (string, error)) (crypto.Signer, error) {
	parse, ok := blocks[block.Type]
	if !ok {
		return nil, nil
	}
	plain := block.Bytes
	if len(plain) > maxFile {
		return nil, errors.New("private key over 1 MiB")
	}
	old := x509.IsEncryptedPEMBlock(block) //nolint:staticcheck // people have such keys
	if block.Type == "ENCRYPTED PRIVATE KEY" || old {
		pw, err := password()
		if err != nil {
			return nil, err
		}
		if !old {
			return readPKCS8(plain, pw)
		}
		plain, err = x509.DecryptPEMBlock(block, []byte(pw)) //nolint:staticcheck // the same
		if errors.Is(err, x509.IncorrectPasswordError) {
			return nil, ErrPassword
		}
		if err != nil {
			return nil, fmt.Errorf("private key: %w", err)
		}
	}
	key, err := parse(plain)
	switch {
	case err != nil && old: // a wrong password sometimes gives valid padding
		return nil, ErrPassword
	case err != nil:
		return nil, fmt.Errorf("private key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a private key of type %T cannot sign", key)
	}
	return signer, nil
}

// blocks are the types of PEM blocks with keys.
var blocks = map[string]func([]byte) (any, error){
	"PRIVATE KEY":           x509.ParsePKCS8PrivateKey,
	"ENCRYPTED PRIVATE KEY": x509.ParsePKCS8PrivateKey,
	"RSA PRIVATE KEY":       func(b []byte) (any, error) { return x509.ParsePKCS1PrivateKey(b) },
	"EC PRIVATE KEY":        func(b []byte) (any, error) { return x509.ParseECPrivateKey(b) },
}

// readPKCS8 opens an EncryptedPrivateKeyInfo that is a file of its own.
func readPKCS8(b []byte, password string) (crypto.Signer, error) {
	s, err := der(b)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	r := &reader{passwords: secrets(password)}
	if err := r.shrouded(s, ""); err != nil {
		if errors.Is(err, ErrPassword) {
			return nil, ErrPassword
		}
		return nil, fmt.Errorf("private key: %w", err)
	}
	return r.keys[0].signer, nil
}

// pbes1Schemes are those of PBES1 (RFC 8018, appendix A.3) with DES or 64-bit RC2, used by old
// PKCS#8 files.
var pbes1Schemes = map[string]struct {
	hash  crypto.Hash
	block func(key []byte) (cipher.Block, error)
}{
	"1.2.840.113549.1.5.3":  {crypto.MD5, des.NewCipher},
	"1.2.840.113549.1.5.6":  {crypto.MD5, newRC2},
	"1.2.840.113549.1.5.10": {crypto.SHA1, des.NewCipher},
	"1.2.840.113549.1.5.11": {crypto.SHA1, newRC2},
}

// pbes1 makes the cipher of PBES1: PBKDF1 gives eight bytes of key and eight of
// the vector.
func (r *reader) pbes1(a identifier, pw secret) (func([]byte) ([]byte, error), error) {
	scheme, ok := pbes1Schemes[a.id.String()]
	if !ok {
		return nil, a.unknown("encryption")
	}
	d, err := r.derivation(a.params)
	if err != nil {
		return nil, err
	}
	t := slices.Concat(pw.text, d.salt)
	for range d.iterations {
		t = oid.Sum(scheme.hash, t)
	}
	block, err := scheme.block(t[:8])
	if err != nil {
		return nil, err
	}
	return func(b []byte) ([]byte, error) { return openCBC(block, t[8:16], b) }, nil
}

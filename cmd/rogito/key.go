package main

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"

	"rogito.dev/rogito"
	"rogito.dev/rogito/internal/hsm"
	"rogito.dev/rogito/internal/keyfile"
	"rogito.dev/rogito/trust"
)

// keyFlags say with what to sign.
type keyFlags struct {
	Key          string `required:"" placeholder:"FILE|URI" help:"PKCS#12 file, PEM file (encrypted or not), or pkcs11:token=…;object=…?module-path=… (RFC 7512)"`
	PasswordFile string `type:"path" placeholder:"FILE" help:"file with the key's password or PIN (else ROGITO_KEY_PASSWORD, else asked for)"`
	Cert         string `type:"path" placeholder:"FILE" help:"certificate and chain (PEM), where the key does not bring them"`
}

// identity is a key with its certificate and chain.
type identity struct {
	key   crypto.Signer
	cert  *x509.Certificate
	chain []*x509.Certificate
	close func()
}

func (f keyFlags) open(s *session) (*identity, error) {
	ask := secret{file: f.PasswordFile, variable: "ROGITO_KEY_PASSWORD", prompt: "password of the key"}
	id := &identity{close: func() {}}
	var err error
	if strings.HasPrefix(f.Key, "pkcs11:") {
		err = f.fromToken(s, ask, id)
	} else {
		err = f.fromFile(s, ask, id)
	}
	if err == nil && f.Cert != "" {
		var b []byte
		if b, err = os.ReadFile(f.Cert); err == nil {
			err = id.choose(b)
		}
	}
	if err == nil && id.cert == nil {
		err = errors.New("no certificate comes with the key: use --cert")
	}
	if err != nil {
		return nil, err
	}
	return id, nil
}

func (f keyFlags) fromFile(s *session, ask secret, id *identity) error {
	b, err := os.ReadFile(f.Key)
	if err != nil {
		return err
	}
	if block, rest := pem.Decode(b); block != nil {
		if err := id.pem(block, rest, sync.OnceValues(func() (string, error) { return ask.read(s) })); err != nil {
			return fmt.Errorf("%s: %w", f.Key, err)
		}
		return nil
	}
	if bytes.HasPrefix(b, []byte("\xfe\xed\xfe\xed")) || bytes.HasPrefix(b, []byte("\xce\xce\xce\xce")) {
		return fmt.Errorf("%s is a key store of Java: make a PKCS#12 file of it (keytool -importkeystore -deststoretype pkcs12)", f.Key)
	}
	password, err := ask.read(s)
	if err != nil {
		return err
	}
	in, err := rogito.LoadPKCS12(b, password)
	switch {
	case errors.Is(err, rogito.ErrKeyPassword):
		return fmt.Errorf("%s: wrong password (--password-file FILE or ROGITO_KEY_PASSWORD has it)", f.Key)
	case err != nil:
		return fmt.Errorf("--key %s: it is no PKCS#12 or PEM file with a private key, or is damaged (%w)", f.Key, err)
	}
	id.key, id.cert, id.chain = in.Key, in.Certificate, in.Chain
	return nil
}

// pem takes a key, and certificates if the file has any. The password is asked for
// once, where the key has one.
func (id *identity) pem(block *pem.Block, rest []byte, password func() (string, error)) error {
	var certs []byte
	for ; block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			certs = append(certs, pem.EncodeToMemory(block)...)
			continue
		}
		key, err := keyfile.Key(block, password)
		if err != nil {
			return err
		}
		if key != nil {
			id.key = key
		}
	}
	if id.key == nil {
		return errors.New("the PEM file holds no private key")
	}
	if certs == nil {
		return nil
	}
	return id.choose(certs)
}

func (f keyFlags) fromToken(s *session, ask secret, id *identity) error {
	u, err := parseTokenURI(f.Key)
	if err != nil {
		return err
	}
	pin, err := ask.read(s)
	if err != nil {
		return err
	}
	token, err := hsm.Open(hsm.Config{Library: u.module, Label: u.token, PIN: pin})
	if err != nil {
		return err
	}
	id.close = func() { token.Close() }
	id.key, err = token.Find(u.object)
	return err
}

type tokenURI struct {
	token, object, module string
}

// parseTokenURI reads the parts of a PKCS#11 URI that name a key.
func parseTokenURI(raw string) (tokenURI, error) {
	var u tokenURI
	path, query, _ := strings.Cut(strings.TrimPrefix(raw, "pkcs11:"), "?")
	for _, attr := range append(strings.Split(path, ";"), strings.Split(query, "&")...) {
		name, value, _ := strings.Cut(attr, "=")
		value, err := url.PathUnescape(value)
		if err != nil {
			return u, fmt.Errorf("pkcs11 URI: %s: %w", name, err)
		}
		switch name {
		case "token":
			u.token = value
		case "object":
			u.object = value
		case "module-path":
			u.module = value
		case "pin-value":
			return u, errors.New("pkcs11 URI: a PIN is not taken from the command line; use --password-file")
		}
	}
	if u.token == "" || u.object == "" || u.module == "" {
		return u, errors.New("pkcs11 URI: token, object and module-path are needed")
	}
	return u, nil
}

// choose takes the certificate of the key, and the others as its chain.
func (id *identity) choose(file []byte) error {
	id.cert, id.chain = nil, nil
	for _, der := range trust.Certificates(file) {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		pub, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		if ok && id.cert == nil && pub.Equal(id.key.Public()) {
			id.cert = c
		} else {
			id.chain = append(id.chain, c)
		}
	}
	if id.cert == nil {
		return errors.New("none of the certificates is that of the key")
	}
	return nil
}

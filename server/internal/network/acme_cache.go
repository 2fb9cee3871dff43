package network

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/acme/autocert"
)

// Sealer is the master key.
type Sealer interface {
	SealFor(purpose, owner string, plaintext []byte) ([]byte, error)
	UnsealFor(purpose, owner string, sealed []byte) ([]byte, error)
}

// purpose separates what ACME keeps from all else under the master key.
const purpose = "acme"

// publicly is the end of the names of files that hold certificates alone.
const publicly = ".pem"

// ACMECache keeps what ACME obtained in a folder: keys sealed, so that a copy of
// the folder is no server of that name, and the certificates beside them in clear.
type ACMECache struct {
	dir    autocert.DirCache
	opened chan struct{}
	sealer Sealer
}

// NewACMECache is the cache in a folder. A server listens before it has its master
// key; until Open hands that over, a handshake that needs a certificate waits.
func NewACMECache(folder string) *ACMECache {
	return &ACMECache{dir: autocert.DirCache(folder), opened: make(chan struct{})}
}

// Open hands the master key over, once.
func (c *ACMECache) Open(s Sealer) {
	c.sealer = s
	close(c.opened)
}

func (c *ACMECache) wait(ctx context.Context) error {
	select {
	case <-c.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Get implements autocert.Cache. What the master key does not open is not there:
// a new one is obtained.
func (c *ACMECache) Get(ctx context.Context, name string) ([]byte, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	b, err := c.dir.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if b, err = c.sealer.UnsealFor(purpose, name, b); err != nil {
		return nil, autocert.ErrCacheMiss
	}
	return b, nil
}

// Put implements autocert.Cache.
func (c *ACMECache) Put(ctx context.Context, name string, data []byte) error {
	if err := c.wait(ctx); err != nil {
		return err
	}
	sealed, err := c.sealer.SealFor(purpose, name, data)
	if err != nil {
		return err
	}
	var chain bytes.Buffer
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			_ = pem.Encode(&chain, block) // to memory
		}
	}
	if err := c.dir.Put(ctx, name, sealed); err != nil || chain.Len() == 0 {
		return err
	}
	return c.dir.Put(ctx, name+publicly, chain.Bytes())
}

// Delete implements autocert.Cache.
func (c *ACMECache) Delete(ctx context.Context, name string) error {
	return errors.Join(c.dir.Delete(ctx, name), c.dir.Delete(ctx, name+publicly))
}

// certificate is the one of a domain that was obtained; autocert has one of an RSA
// key as well for clients that know no other.
func (c *ACMECache) certificate(domain string) (*x509.Certificate, error) {
	for _, name := range []string{domain, domain + "+rsa"} {
		b, err := os.ReadFile(filepath.Join(string(c.dir), name+publicly))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		block, _ := pem.Decode(b)
		if block == nil {
			return nil, fmt.Errorf("%s%s holds no certificate", name, publicly)
		}
		return x509.ParseCertificate(block.Bytes)
	}
	return nil, fmt.Errorf("none was obtained yet for %s", domain)
}

package signing

import (
	"crypto/x509"
	"sync"
)

// certificateCache holds certificates that were parsed before: those of who
// signs are few, and met again with every signature.
type certificateCache struct {
	mu sync.Mutex
	m  map[string]*x509.Certificate // by their bytes
}

const maxCertificates = 1000

func (p *certificateCache) parse(der []byte) (*x509.Certificate, error) {
	p.mu.Lock()
	c := p.m[string(der)]
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil || len(p.m) >= maxCertificates {
		p.m = map[string]*x509.Certificate{} // what is often used is soon back
	}
	p.m[string(der)] = c
	return c, nil
}

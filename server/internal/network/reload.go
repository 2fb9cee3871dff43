package network

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// reloading is a certificate that is read again when its file changes, so that
// a renewal needs no restart.
type reloading struct {
	cfg TLSConfig

	mu      sync.Mutex
	pair    *tls.Certificate
	changed time.Time
	looked  time.Time
}

func (r *reloading) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pair != nil && time.Since(r.looked) < 10*time.Second {
		return r.pair, nil
	}
	r.looked = time.Now()
	st, err := os.Stat(r.cfg.Cert)
	if err == nil && r.pair != nil && st.ModTime().Equal(r.changed) {
		return r.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(r.cfg.Cert, r.cfg.Key)
	if err != nil {
		if r.pair != nil {
			return r.pair, nil // half written: the old one still serves
		}
		return nil, fmt.Errorf("tls: %w", err)
	}
	r.pair = &pair
	if st != nil {
		r.changed = st.ModTime()
	}
	return r.pair, nil
}

package pkix

import "sync"

// parsed remembers certificates by their bytes: the same issuers and
// time-stamping units come with every document. Two generations bound it.
// Certificates are never changed after parsing, so they may be shared.
var parsed struct {
	mu         sync.RWMutex
	young, old map[string]*Certificate
}

const cacheSize = 2048

func cached(der []byte) *Certificate {
	parsed.mu.RLock()
	defer parsed.mu.RUnlock()
	if c := parsed.young[string(der)]; c != nil {
		return c
	}
	return parsed.old[string(der)]
}

func remember(c *Certificate) {
	parsed.mu.Lock()
	defer parsed.mu.Unlock()
	if parsed.young == nil || len(parsed.young) >= cacheSize {
		parsed.old, parsed.young = parsed.young, make(map[string]*Certificate)
	}
	parsed.young[string(c.Raw)] = c
}

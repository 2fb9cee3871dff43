//go:build pkcs11

package hsm

import "time"

// AllowReconnect ends the pause between two logins.
func AllowReconnect(t Token) {
	k := t.(*token)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = time.Time{}
}

// Pause is how long the token is left alone from now.
func Pause(t Token) time.Duration {
	k := t.(*token)
	k.mu.RLock()
	defer k.mu.RUnlock()
	return time.Until(k.next)
}

//go:build pkcs11

package hsm

import "time"

// AllowReconnect ends the pause between two logins.
func AllowReconnect(t Token) {
	k := t.(*token)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried = time.Time{}
}

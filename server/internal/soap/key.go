package soap

import (
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/remote"
)

// Key is one that is ready to be used, by calls that are alone or under a session. The service
// signs with it by PKCS #1 v1.5.
type Key struct {
	Login  remote.Login
	Cert   *pkix.Certificate
	Opened time.Time // the session
	Spent  bool      // the one-time password is used up
}

// sessionLife is how long a session is used: they last three minutes.
const sessionLife = 150 * time.Second

// most digests are asked for at once.
const most = 100

// Certificate of the key.
func (k *Key) Certificate() (*pkix.Certificate, [][]byte) { return k.Cert, nil }

// Most digests of a request.
func (k *Key) Most() int { return most }

// NeedsPSS says no.
func (k *Key) NeedsPSS() bool { return false }

// InSession says that a session is open, and not about to end.
func (k *Key) InSession() bool {
	return k.Login.Session != "" && time.Since(k.Opened) < sessionLife
}

// UsedUp is the error for a one-time password that nothing more is signed with.
func UsedUp() error {
	return remote.Errorf(remote.Refused, nil, "the one-time password was used for the signatures before, and its session is over")
}

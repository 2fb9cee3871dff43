package keys

import (
	"errors"

	"rogito.dev/rogito/internal/keyfile"
)

// Imported is what a PKCS#12 file held.
type Imported = keyfile.Contents

// ReadPKCS12 opens a PKCS#12 file, the old algorithms too. It returns
// ErrPassword for a wrong password.
func ReadPKCS12(pfx []byte, password string) (*Imported, error) {
	in, err := keyfile.Read(pfx, password)
	if errors.Is(err, keyfile.ErrPassword) {
		return nil, ErrPassword
	}
	return in, err
}

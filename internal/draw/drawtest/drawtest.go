// Package drawtest lets servers under test share what was compiled of PDFium,
// which takes ten seconds of processor for each that draws its first page.
package drawtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Cache is the folder that all tests of a user share.
func Cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "rogito-test", "draw")
	return dir, os.MkdirAll(dir, 0o700)
}

// Share makes the folder that all share the one of a server's data. Where that
// cannot be, the server compiles for itself.
func Share(t testing.TB, data string) {
	t.Helper()
	cache, err := Cache()
	if err == nil {
		err = os.Symlink(cache, filepath.Join(data, "draw"))
	}
	if err != nil && !os.IsExist(err) {
		t.Logf("PDFium is compiled anew: %v", err)
	}
}

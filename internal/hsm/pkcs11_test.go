//go:build pkcs11

package hsm_test

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rogito.dev/rogito/internal/hsm"
)

const softHSM = "/usr/lib/softhsm/libsofthsm2.so"

// newToken makes a SoftHSM token of the test's own.
func newToken(t *testing.T) hsm.Config {
	t.Helper()
	if _, err := os.Stat(softHSM); err != nil {
		t.Skip("SKIPPED: SoftHSM is not installed")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "softhsm2.conf")
	if err := os.WriteFile(conf, []byte("directories.tokendir = "+dir+"\nobjectstore.backend = file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOFTHSM2_CONF", conf)
	out, err := exec.Command("softhsm2-util", "--init-token", "--free", "--label", "rogito", "--pin", "1234", "--so-pin", "5678").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return hsm.Config{Library: softHSM, Label: "rogito", PIN: "1234"}
}

// A session that is lost is opened again.
func TestTokenSessionLost(t *testing.T) {
	token, err := hsm.Open(newToken(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := token.Generate("k", "P256"); err != nil {
		t.Fatal(err)
	}
	key, err := token.Find("k")
	if err != nil {
		t.Fatal(err)
	}
	d := sha256.Sum256([]byte("x"))
	for i := range 5 {
		if err := token.Close(); err != nil { // what a restarted module looks like
			t.Fatal(err)
		}
		hsm.AllowReconnect(token)
		if _, err := key.Sign(rand.Reader, d[:], crypto.SHA256); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	_ = token.Close()
	if _, err := key.Sign(rand.Reader, d[:], crypto.SHA256); err == nil {
		t.Error("reconnects without a pause")
	}
}

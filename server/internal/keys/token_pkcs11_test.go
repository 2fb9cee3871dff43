//go:build pkcs11

package keys_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rogito.dev/rogito/server/internal/keys"
)

const softHSM = "/usr/lib/softhsm/libsofthsm2.so"

// newToken makes a SoftHSM token of the test's own.
func newToken(t *testing.T) keys.TokenConfig {
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
	return keys.TokenConfig{Library: softHSM, Label: "rogito", PIN: "1234"}
}

type plainMaster struct{}

func (plainMaster) SealFor(_, _ string, b []byte) ([]byte, error)   { return append([]byte{}, b...), nil }
func (plainMaster) UnsealFor(_, _ string, b []byte) ([]byte, error) { return b, nil }
func (plainMaster) MAC(string, []byte) [32]byte                     { return [32]byte{} }

func TestToken(t *testing.T) {
	token, err := keys.OpenToken(newToken(t))
	if err != nil {
		t.Fatal(err)
	}
	defer token.Close()
	ctx := context.Background()
	v := keys.NewVault(plainMaster{}, keys.VaultConfig{Cost: cheap, Token: token})
	for _, alg := range []string{"RSA2048", "P256"} {
		made, err := token.Generate("key-"+alg, alg)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := v.ProtectLabel(ctx, alg, "key-"+alg, "pw")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Open(ctx, alg, sealed, "bad"); err == nil {
			t.Error("a wrong password opens the token's key")
		}
		key, err := v.Open(ctx, alg, sealed, "pw")
		if err != nil {
			t.Fatal(err)
		}
		if keys.AlgorithmOf(key.Public()) != alg {
			t.Errorf("algorithm %s", keys.AlgorithmOf(made.Public()))
		}
		d := sha256.Sum256([]byte("x"))
		sig, err := key.Sign(rand.Reader, d[:], crypto.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		if pub, ok := key.Public().(*ecdsa.PublicKey); ok && !ecdsa.VerifyASN1(pub, d[:], sig) {
			t.Error("signature does not verify")
		}
	}
	if _, err := token.Find("nothing"); err == nil {
		t.Error("finds a key that is not there")
	}
}

//go:build pkcs11

package hsm_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/miekg/pkcs11"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/hsm"
	"rogito.dev/rogito/internal/hsm/hsmtest"
)

var digest = sha256.Sum256([]byte("x"))

// bench is a token with one key.
type bench struct {
	*hsmtest.Token
	t     *testing.T
	token hsm.Token
	key   crypto.Signer
}

func newBench(t *testing.T, sessions int) *bench {
	t.Helper()
	b := &bench{Token: hsmtest.New(t), t: t}
	b.Config.Sessions = sessions
	var err error
	if b.token, err = hsm.Open(b.Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.token.Close() })
	if _, err := b.token.Generate("k", "P256"); err != nil {
		t.Fatal(err)
	}
	if b.key, err = b.token.Find("k"); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) sign() error {
	sig, err := b.key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return err
	}
	if !ecdsa.VerifyASN1(b.key.Public().(*ecdsa.PublicKey), digest[:], sig) {
		return errors.New("the signature does not verify")
	}
	return nil
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("SKIPPED: needs /proc")
	}
	return len(files)
}

// A session that is lost in the middle of the work is opened again, a thousand
// times, and nothing is left behind: no session, file or goroutine.
func TestTokenSessionLost(t *testing.T) {
	b := newBench(t, 0)
	rounds := 1000
	lose := func() {
		b.SignFailures.Store(1)
		b.SignAnswer.Store(pkcs11.CKR_SESSION_HANDLE_INVALID)
		hsm.AllowReconnect(b.token)
		if err := b.sign(); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		lose()
	}
	sessions, files, routines := b.Live(), openFiles(t), runtime.NumGoroutine()
	for range rounds {
		lose()
	}
	if got := b.Live(); got != sessions {
		t.Errorf("%d sessions, %d before", got, sessions)
	}
	if got := openFiles(t); got > files+2 {
		t.Errorf("%d files open, %d before", got, files)
	}
	if got := runtime.NumGoroutine(); got > routines+2 {
		t.Errorf("%d goroutines, %d before", got, routines)
	}
	if got := b.Inits.Load(); got < uint64(rounds) {
		t.Errorf("only %d new logins", got)
	}
}

// A token that is gone is asked at most a few times a second however many want
// to sign; when it is back, all goes on without a restart.
func TestTokenRemoved(t *testing.T) {
	b := newBench(t, 0)
	b.SignAnswer.Store(pkcs11.CKR_TOKEN_NOT_PRESENT)
	b.OpenAnswer.Store(pkcs11.CKR_TOKEN_NOT_PRESENT)
	before := b.Inits.Load()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			await.Never(t, 2*time.Second, "another answer than that it is away", func() bool { return !errors.Is(b.sign(), hsm.ErrUnavailable) })
		})
	}
	all.Wait()
	if tries := b.Inits.Load() - before; tries > 10 || tries == 0 {
		t.Errorf("%d logins in two seconds", tries)
	}
	b.SignAnswer.Store(0)
	b.OpenAnswer.Store(0)
	var err error
	for range await.Within(5 * time.Second) {
		if err = b.sign(); err == nil {
			return
		}
	}
	t.Error(err)
}

// The files of the token are taken away for real, and put back.
func TestTokenPulled(t *testing.T) {
	b := newBench(t, 0)
	if err := os.Rename(b.Dir, b.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	b.token.Close() // a module that was restarted
	hsm.AllowReconnect(b.token)
	if err := b.sign(); !errors.Is(err, hsm.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := os.Rename(b.Dir+".away", b.Dir); err != nil {
		t.Fatal(err)
	}
	hsm.AllowReconnect(b.token)
	if err := b.sign(); err != nil {
		t.Error(err)
	}
}

// A PIN that is refused is not tried again soon: a token locks itself after a
// few wrong ones.
func TestTokenPINRefused(t *testing.T) {
	for name, answer := range map[string]uint64{"locked": pkcs11.CKR_PIN_LOCKED, "wrong": pkcs11.CKR_PIN_INCORRECT} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 0)
			b.LoginAnswer.Store(answer)
			b.token.Close()
			hsm.AllowReconnect(b.token)
			before := b.Logins.Load()
			await.Never(t, time.Second, "another answer than that it cannot be used", func() bool { return !errors.Is(b.sign(), hsm.ErrUnavailable) })
			if tries := b.Logins.Load() - before; tries != 1 {
				t.Errorf("%d logins", tries)
			}
			if p := hsm.Pause(b.token); p < time.Minute {
				t.Errorf("tried again in %v", p)
			}
			b.LoginAnswer.Store(0)
			hsm.AllowReconnect(b.token)
			if err := b.sign(); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A key that was destroyed is gone for who held it too; one that is not there
// needs no destroying; a refusal is told, and leaves the key.
func TestTokenDestroy(t *testing.T) {
	b := newBench(t, 0)
	if _, err := b.token.Generate("other", "RSA2048"); err != nil {
		t.Fatal(err)
	}
	b.DestroyAnswer.Store(pkcs11.CKR_ACTION_PROHIBITED)
	if err := b.token.Destroy("k"); err == nil {
		t.Error("a token that refuses is believed to have destroyed the key")
	}
	if err := b.sign(); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
	b.DestroyAnswer.Store(0)
	for range 2 {
		if err := b.token.Destroy("k"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.sign(); err == nil {
		t.Error("a destroyed key signs")
	}
	if _, err := b.token.Find("k"); err == nil {
		t.Error("a destroyed key is found")
	}
	if _, err := b.token.Find("other"); err != nil {
		t.Errorf("another key: %v", err)
	}
}

// What is wrong with one key does not cost the others their login.
func TestTokenKeyMissing(t *testing.T) {
	b := newBench(t, 0)
	before := b.Inits.Load()
	for range 50 {
		if _, err := b.token.Find("nobody"); err == nil || errors.Is(err, hsm.ErrUnavailable) {
			t.Fatalf("%v", err)
		}
	}
	if got := b.Inits.Load(); got != before {
		t.Errorf("%d new logins", got-before)
	}
}

// A token that is slow to sign has as many signatures under way as it has
// sessions, and no more.
func TestTokenSlow(t *testing.T) {
	const sessions = 4
	b := newBench(t, sessions)
	if err := b.sign(); err != nil {
		t.Fatal(err)
	}
	b.Hold.Store(1)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := b.sign(); err != nil {
				t.Error(err)
			}
		})
	}
	b.Await(t, sessions)
	b.Hold.Store(0)
	all.Wait()
	if most := b.Most.Load(); most != sessions {
		t.Errorf("%d signatures at a time, want %d", most, sessions)
	}
	if got := b.Live(); got > sessions+1 {
		t.Errorf("%d sessions", got)
	}
}

package keys_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pkcs12 "software.sslmate.com/src/go-pkcs12"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// clock is a time that the test moves.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC).UnixMilli())
	return c
}
func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

var cheap = keys.Cost{Time: 1, Memory: 64}

type bench struct {
	db    *store.DB
	store *keys.Store
	vault *keys.Vault
	clock *clock
}

func setup(db *store.DB, m *master.Key) *bench {
	c := newClock()
	v := keys.NewVault(m, keys.VaultConfig{Cost: cheap, Now: c.now})
	return &bench{db, keys.NewStore(db, v, m, keys.Config{Now: c.now}), v, c}
}

func (b *bench) add(t *testing.T, kind keys.Kind, username, password, totp string) *keys.Credential {
	t.Helper()
	ctx := context.Background()
	key, err := keys.Generate("P256")
	if err != nil {
		t.Fatal(err)
	}
	id := store.NewID()
	sealed, err := b.vault.Protect(ctx, keys.Owner(id, kind, 0), key, password)
	if err != nil {
		t.Fatal(err)
	}
	err = b.db.Write(ctx, func(tx *store.Tx) error {
		return b.store.Add(ctx, tx, keys.New{ID: id, AccountID: "acc", Username: username, Kind: kind, Public: key.Public(), Sealed: sealed, TOTPSecret: totp})
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.store.Find(ctx, "acc", username)
	if err != nil || c == nil {
		t.Fatalf("find: %v %v", c, err)
	}
	return c
}

func isLocked(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Code == fault.CertificateLocked && f.HTTP() == 423
}

func TestKeyNeedsBothSecrets(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		ctx := context.Background()
		for _, alg := range []string{"RSA2048", "P256", "P384"} {
			key, err := keys.Generate(alg)
			if err != nil {
				t.Fatal(err)
			}
			if got := keys.AlgorithmOf(key.Public()); got != alg {
				t.Errorf("algorithm %s, want %s", got, alg)
			}
			sealed, err := b.vault.Protect(ctx, "one", key, "right")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.vault.Open(ctx, "one", sealed, "wrong"); !errors.Is(err, keys.ErrPassword) {
				t.Errorf("wrong password: %v", err)
			}
			if _, err := b.vault.Open(ctx, "two", sealed, "right"); err == nil {
				t.Error("opens under another id")
			}
			again, err := b.vault.Open(ctx, "one", sealed, "right")
			if err != nil {
				t.Fatal(err)
			}
			d := sha256.Sum256([]byte("x"))
			if _, err := again.Sign(rand.Reader, d[:], crypto.SHA256); err != nil {
				t.Error(err)
			}
			b.vault.Forget("one")
			if _, err := keys.NewVault(other{}, keys.VaultConfig{Cost: cheap}).Open(ctx, "one", sealed, "right"); err == nil {
				t.Error("opens without the master key")
			}
		}
	})
}

type other struct{}

func (other) SealFor(_, _ string, _ []byte) ([]byte, error)   { return nil, errors.New("no") }
func (other) UnsealFor(_, _ string, _ []byte) ([]byte, error) { return nil, errors.New("no") }
func (other) MAC(string, []byte) [32]byte                     { return [32]byte{} }

func TestHeldKeysExpire(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		c := b.add(t, keys.Automatic, "AHI1", "pw", "")
		if _, err := b.store.Authenticate(context.Background(), "acc", "AHI1", "pw"); err != nil {
			t.Fatal(err)
		}
		if !b.store.Holds(c, "pw") {
			t.Error("not held after use")
		}
		if b.store.Holds(c, "other") {
			t.Error("held for a wrong password")
		}
		b.clock.advance(61 * time.Second)
		if b.store.Holds(c, "pw") {
			t.Error("held for more than a minute")
		}
	})
}

func TestLockout(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		ctx := context.Background()
		for _, user := range []string{"AHI1", "nobody"} {
			for i := range 5 {
				if _, err := b.store.Authenticate(ctx, "acc", user, "bad"); !errors.Is(err, keys.ErrPassword) {
					t.Fatalf("%s, failure %d: %v", user, i+1, err)
				}
			}
			if _, err := b.store.Authenticate(ctx, "acc", user, "pw"); !isLocked(err) {
				t.Errorf("%s after five failures: %v", user, err)
			}
		}
		if _, err := b.store.Authenticate(ctx, "other account", "AHI1", "pw"); !errors.Is(err, keys.ErrPassword) {
			t.Errorf("another account sees a lock: %v", err)
		}
		b.clock.advance(15*time.Minute + time.Second)
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); err != nil {
			t.Errorf("after the lock: %v", err)
		}
		for i := range 4 {
			if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "bad"); !errors.Is(err, keys.ErrPassword) {
				t.Fatalf("new failure %d: %v", i, err)
			}
		}
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); err != nil {
			t.Errorf("four failures lock: %v", err)
		}
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "bad"); !errors.Is(err, keys.ErrPassword) {
			t.Errorf("success does not clear failures: %v", err)
		}
	})
}

func TestHeldKeyDoesNotPassALock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		ctx := context.Background()
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			_, _ = b.store.Authenticate(ctx, "acc", "AHI1", "bad")
		}
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); !isLocked(err) {
			t.Errorf("a key in memory passes the lock: %v", err)
		}
	})
}

func TestDayLimitLocksUntilUnlocked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		ctx := context.Background()
		for i := range 50 {
			if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "bad"); !errors.Is(err, keys.ErrPassword) {
				t.Fatalf("failure %d: %v", i+1, err)
			}
			if i%5 == 4 {
				b.clock.advance(16 * time.Minute)
			}
		}
		b.clock.advance(48 * time.Hour)
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); !isLocked(err) {
			t.Errorf("after fifty failures: %v", err)
		}
		if err := b.store.Unlock(ctx, "acc", "AHI1"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); err != nil {
			t.Errorf("after unlock: %v", err)
		}
	})
}

// A crowd of parallel guesses gets no more tries than five.
func TestParallelGuesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		var wrong, locked atomic.Int64
		parallel(100, func() {
			_, err := b.store.Authenticate(context.Background(), "acc", "AHI1", "bad")
			switch {
			case errors.Is(err, keys.ErrPassword):
				wrong.Add(1)
			case isLocked(err):
				locked.Add(1)
			default:
				t.Errorf("unexpected: %v", err)
			}
		})
		if wrong.Load() != 5 || locked.Load() != 95 {
			t.Errorf("%d judged, %d locked", wrong.Load(), locked.Load())
		}
	})
}

// The right password from many callers at once locks no one out.
func TestParallelRightPasswords(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		b.add(t, keys.Automatic, "AHI1", "pw", "")
		parallel(50, func() {
			if _, err := b.store.Authenticate(context.Background(), "acc", "AHI1", "pw"); err != nil {
				t.Errorf("right password: %v", err)
			}
		})
	})
}

func parallel(n int, fn func()) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(fn)
	}
	wg.Wait()
}

func TestOneTimePasswords(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		secret := keys.NewTOTPSecret()
		c := b.add(t, keys.OTP, "RHI1", "pw", secret)
		ctx := context.Background()
		code := func(d time.Duration) string {
			s, err := keys.Code(secret, b.clock.now().Add(d))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if err := b.store.VerifyOTP(ctx, c, code(-90*time.Second)); !errors.Is(err, keys.ErrOTP) {
			t.Errorf("three steps back: %v", err)
		}
		if err := b.store.VerifyOTP(ctx, c, code(-30*time.Second)); err != nil {
			t.Errorf("one step back: %v", err)
		}
		var good, used atomic.Int64
		now := code(0)
		parallel(4, func() {
			err := b.store.VerifyOTP(ctx, c, now)
			if err == nil {
				good.Add(1)
			} else if errors.Is(err, keys.ErrOTP) {
				used.Add(1)
			}
		})
		if good.Load() != 1 || used.Load() != 3 {
			t.Errorf("parallel use: %d good, %d used", good.Load(), used.Load())
		}
		if err := b.store.VerifyOTP(ctx, c, code(-30*time.Second)); !errors.Is(err, keys.ErrOTP) {
			t.Errorf("an older code after a newer one: %v", err)
		}
		if err := b.store.VerifyOTP(ctx, c, code(30*time.Second)); err != nil {
			t.Errorf("one step ahead: %v", err)
		}
	})
}

// A hundred parallel uses of one code: one success. The lock that the other
// uses bring may refuse the rest.
func TestOneTimePasswordOnceInParallel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		secret := keys.NewTOTPSecret()
		c := b.add(t, keys.OTP, "RHI1", "pw", secret)
		now, _ := keys.Code(secret, b.clock.now())
		var good atomic.Int64
		parallel(100, func() {
			if b.store.VerifyOTP(context.Background(), c, now) == nil {
				good.Add(1)
			}
		})
		if good.Load() != 1 {
			t.Errorf("%d successes", good.Load())
		}
	})
}

// Knowing the password must not hide guesses at the one-time password.
func TestPasswordDoesNotClearOTPGuesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		c := b.add(t, keys.OTP, "RHI1", "pw", keys.NewTOTPSecret())
		ctx := context.Background()
		for i := range 5 {
			if _, err := b.store.Authenticate(ctx, "acc", "RHI1", "pw"); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			if err := b.store.VerifyOTP(ctx, c, "000000x"); !errors.Is(err, keys.ErrOTP) {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		if _, err := b.store.Authenticate(ctx, "acc", "RHI1", "pw"); !isLocked(err) {
			t.Errorf("after five wrong codes: %v", err)
		}
	})
}

func TestOneKeyPairOneKind(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		key, _ := keys.Generate("P256")
		ctx := context.Background()
		add := func(kind keys.Kind, name string) error {
			return db.Write(ctx, func(tx *store.Tx) error {
				return b.store.Add(ctx, tx, keys.New{ID: store.NewID(), AccountID: "acc", Username: name, Kind: kind, Public: key.Public(), Sealed: []byte("x")})
			})
		}
		if err := add(keys.Automatic, "a"); err != nil {
			t.Fatal(err)
		}
		if err := add(keys.OTP, "b"); !errors.Is(err, fault.BadField) {
			t.Errorf("the same key in another kind: %v", err)
		}
	})
}

func TestChangePassword(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		b := setup(db, m)
		c := b.add(t, keys.Automatic, "AHI1", "old", "")
		ctx := context.Background()
		if err := b.store.ChangePassword(ctx, c, "bad", "new"); !errors.Is(err, keys.ErrPassword) {
			t.Errorf("wrong old password: %v", err)
		}
		if err := b.store.ChangePassword(ctx, c, "old", "new"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "new"); err != nil {
			t.Errorf("new password: %v", err)
		}
		if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "old"); !errors.Is(err, keys.ErrPassword) {
			t.Errorf("old password: %v", err)
		}
	})
}

func TestPKCS12(t *testing.T) {
	key, _ := keys.Generate("RSA2048")
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := x509.ParseCertificate(der)
	for name, enc := range map[string]*pkcs12.Encoder{"RC2": pkcs12.LegacyRC2, "3DES": pkcs12.LegacyDES, "AES": pkcs12.Modern2023} {
		pfx, err := enc.Encode(key, cert, nil, "pw")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.ReadPKCS12(pfx, "bad"); !errors.Is(err, keys.ErrPassword) {
			t.Errorf("%s, wrong password: %v", name, err)
		}
		in, err := keys.ReadPKCS12(pfx, "pw")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !in.Certificate.Equal(cert) {
			t.Errorf("%s: another certificate", name)
		}
	}
}

// A file that asks for 2^30 rounds is refused before any of them.
func TestPKCS12Iterations(t *testing.T) {
	// PFX { version 3, authSafe data, macData { digest, salt, iterations 2^30 } }
	pfx := []byte{
		0x30, 0x2f, 0x02, 0x01, 0x03, 0x30, 0x0f, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01, 0xa0, 0x02, 0x04, 0x00,
		0x30, 0x19, 0x30, 0x0d, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x00,
		0x04, 0x02, 0x01, 0x02, 0x02, 0x04, 0x40, 0x00, 0x00, 0x00,
	}
	if _, err := keys.ReadPKCS12(pfx, "pw"); err == nil || !strings.Contains(err.Error(), "iterations") {
		t.Error(err)
	}
}

func FuzzReadPKCS12(f *testing.F) {
	f.Add([]byte{0x30, 0x03, 0x02, 0x01, 0x03})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = keys.ReadPKCS12(b, "pw")
	})
}

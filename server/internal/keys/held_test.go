package keys_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A password that was changed at one server is of no use at another, although
// that one holds the key in memory.
func TestOldPasswordAtAnotherServer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		here, there := setup(db, m), setup(db, m)
		ctx := context.Background()
		c := here.add(t, keys.Automatic, "AHI1", "before", "")
		if _, err := there.store.Authenticate(ctx, "acc", "AHI1", "before"); err != nil {
			t.Fatal(err)
		}
		if !there.store.Holds(c, "before") {
			t.Fatal("the other server does not hold the key: nothing is tested")
		}
		if err := here.store.ChangePassword(ctx, c, "before", "after"); err != nil {
			t.Fatal(err)
		}
		if _, err := there.store.Authenticate(ctx, "acc", "AHI1", "before"); !errors.Is(err, keys.ErrPassword) {
			t.Errorf("the old password at the other server: %v", err)
		}
		if _, err := there.store.Authenticate(ctx, "acc", "AHI1", "after"); err != nil {
			t.Errorf("the new password: %v", err)
		}
	})
}

// An erased key is gone from the row and from every server's memory; the
// password is still known to be right or wrong.
func TestErase(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		here, there := setup(db, m), setup(db, m)
		ctx := context.Background()
		here.add(t, keys.Automatic, "AHI1", "pw", "")
		c, err := there.store.Authenticate(ctx, "acc", "AHI1", "pw")
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Write(ctx, func(tx *store.Tx) error { return here.store.Erase(ctx, tx, c.ID) }); err != nil {
			t.Fatal(err)
		}
		if c, err = there.store.Find(ctx, "acc", "AHI1"); err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string]*bench{"here": here, "there": there} {
			if _, err := b.store.Open(ctx, c, "pw"); !errors.Is(err, keys.ErrErased) {
				t.Errorf("%s: opens with %v", name, err)
			}
			if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "pw"); err != nil {
				t.Errorf("%s: the right password: %v", name, err)
			}
			if _, err := b.store.Authenticate(ctx, "acc", "AHI1", "wrong"); !errors.Is(err, keys.ErrPassword) {
				t.Errorf("%s: a wrong password: %v", name, err)
			}
		}
		var sealed []byte
		if err := db.Read().QueryRow(ctx, `select sealed from credentials where id = $1`, c.ID).Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		if inner, err := m.UnsealFor("signing-key", c.ID, sealed); err != nil || len(inner) != 37+48 {
			t.Errorf("%d bytes are left of the key: %v", len(inner), err)
		}
	})
}

// counting counts how often something is unsealed: once for each derivation.
type counting struct {
	keys.Sealer
	n atomic.Int64
}

func (c *counting) UnsealFor(purpose, owner string, sealed []byte) ([]byte, error) {
	c.n.Add(1)
	return c.Sealer.UnsealFor(purpose, owner, sealed)
}

// A crowd that finds its key just dropped from memory has it opened once.
func TestCrowdOpensOnce(t *testing.T) {
	t.Parallel()
	_, m := storetest.Open(t, store.Config{Data: t.TempDir(), Reserve: -1})
	c := &counting{Sealer: m}
	vault := keys.NewVault(c, keys.VaultConfig{Cost: keys.Cost{Time: 1, Memory: 8 << 10}})
	key, err := keys.Generate("P256")
	if err != nil {
		t.Fatal(err)
	}
	ctx, id := t.Context(), keys.Owner("c1", keys.Automatic, 0)
	sealed, err := vault.Protect(ctx, id, key, "pw")
	if err != nil {
		t.Fatal(err)
	}
	var crowd sync.WaitGroup
	for range 16 {
		crowd.Go(func() {
			if _, err := vault.Open(ctx, id, sealed, "pw"); err != nil {
				t.Error(err)
			}
		})
	}
	crowd.Wait()
	if n := c.n.Load(); n != 1 {
		t.Errorf("opened %d times", n)
	}
	if _, err := vault.Open(ctx, id, sealed, "wrong"); !errors.Is(err, keys.ErrPassword) {
		t.Errorf("a wrong password beside a key in memory: %v", err)
	}
}

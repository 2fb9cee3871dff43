package store

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// masterKey is the key outside the database that opens the one inside.
type masterKey [32]byte

func newMasterKey() (k masterKey) {
	_, _ = rand.Read(k[:])
	return k
}

// ID names the key without giving anything of it away.
func (k masterKey) ID() string {
	sum := sha256.Sum256(append([]byte("rogito master key id\x00"), k[:]...))
	return hex.EncodeToString(sum[:8])
}

func (k masterKey) seal(plain []byte, label string) []byte {
	aead, err := newGCM(k.wrapping())
	if err != nil {
		panic(err) // a 32 byte key is always good
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	return aead.Seal(nonce, nonce, plain, []byte(label))
}

func (k masterKey) open(sealed []byte, label string) ([]byte, error) {
	aead, err := newGCM(k.wrapping())
	if err != nil {
		return nil, err
	}
	n := aead.NonceSize()
	if len(sealed) < n {
		return nil, ErrUnseal
	}
	plain, err := aead.Open(nil, sealed[:n], sealed[n:], []byte(label))
	if err != nil {
		return nil, ErrUnseal
	}
	return plain, nil
}

func (k masterKey) wrapping() []byte {
	key, err := hkdf.Key(sha256.New, k[:], nil, "rogito wrap data keys", 32)
	if err != nil {
		panic(err) // only for lengths that no caller asks for
	}
	return key
}

func parseMasterKey(s string) (k masterKey, err error) {
	b, err := hex.DecodeString(strings.TrimSpace(s))
	if err != nil || len(b) != len(k) {
		return k, errors.New("store: a master key is 64 hexadecimal digits")
	}
	copy(k[:], b)
	return k, nil
}

// MasterKeyPath is the file of the master key.
func (c Config) MasterKeyPath() string {
	if c.MasterKeyFile != "" {
		return c.MasterKeyFile
	}
	return filepath.Join(c.data(), "master.key")
}

// findMasterKey looks for the key with an id: the configured one, the file,
// and the file of a rotation that was cut short.
func (c Config) findMasterKey(id string) (masterKey, error) {
	if c.MasterKey != "" {
		k, err := parseMasterKey(c.MasterKey)
		if err != nil {
			return k, err
		}
		if k.ID() == id {
			return k, nil
		}
	}
	var found []string
	for _, path := range []string{c.MasterKeyPath(), c.nextMasterKeyPath()} {
		k, err := readMasterKey(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return k, err
		}
		if k.ID() == id {
			return k, nil
		}
		found = append(found, k.ID())
	}
	if len(found) == 0 {
		return masterKey{}, fmt.Errorf("store: the database is sealed under master key %s, and there is none at %s: put it there or in ROGITO_MASTER_KEY", id, c.MasterKeyPath())
	}
	return masterKey{}, fmt.Errorf("store: the database is sealed under master key %s, and the one given is %s", id, strings.Join(found, ", "))
}

func (c Config) nextMasterKeyPath() string { return c.MasterKeyPath() + ".next" }

func (c Config) masterKeyOrNew() (masterKey, error) {
	if c.MasterKey != "" {
		return parseMasterKey(c.MasterKey)
	}
	k, err := readMasterKey(c.MasterKeyPath())
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	k = newMasterKey()
	err = writeMasterKey(c.MasterKeyPath(), k)
	if errors.Is(err, fs.ErrExist) { // a process that started with us was first
		return readMasterKey(c.MasterKeyPath())
	}
	return k, err
}

func readMasterKey(path string) (k masterKey, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return k, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return k, fmt.Errorf("store: %s is open to others: chmod 600 it", path)
	}
	return parseMasterKey(string(b))
}

// writeMasterKey makes the file whole and durable, or not at all. It never
// writes over another key.
func writeMasterKey(path string, k masterKey) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".master-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(hex.EncodeToString(k[:]) + "\n")
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// RotateMasterKey makes a new master key and wraps the data key under it. The
// new key is on disk before the database depends on it, and the old one goes
// only afterwards. Servers that run keep running; each needs the new file at
// its next start. It returns the new key's id.
func RotateMasterKey(ctx context.Context, db *DB, cfg Config) (string, error) {
	if cfg.MasterKey != "" {
		return "", errors.New("store: the master key comes from the environment: unset it, put it in a file, and rotate that")
	}
	wrapped, id, err := loadDataKey(ctx, db)
	if err != nil {
		return "", fmt.Errorf("store: read data key: %w", err)
	}
	old, err := cfg.findMasterKey(id)
	if err != nil {
		return "", err
	}
	data, err := old.open(wrapped, dataKeyLabel(firstDataKey))
	if err != nil {
		return "", err
	}
	if err := cfg.settleMasterKey(old); err != nil {
		return "", err
	}
	next := newMasterKey()
	if err := writeMasterKey(cfg.nextMasterKeyPath(), next); err != nil {
		return "", fmt.Errorf("store: write new master key: %w", err)
	}
	err = db.Write(ctx, func(tx *Tx) error {
		n, err := tx.Exec(ctx, `update data_keys set wrapped = $1, master_id = $2 where id = $3 and master_id = $4`,
			next.seal(data, dataKeyLabel(firstDataKey)), next.ID(), firstDataKey, id)
		if err == nil && n != 1 {
			err = errors.New("store: the master key was rotated by somebody else")
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return next.ID(), cfg.settleMasterKey(next)
}

// settleMasterKey leaves key as the one key file: it finishes a rotation, or
// clears what a rotation left that did not get as far as the database.
func (c Config) settleMasterKey(key masterKey) error {
	next, err := readMasterKey(c.nextMasterKeyPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case next == key:
		err = os.Rename(c.nextMasterKeyPath(), c.MasterKeyPath())
	default:
		err = os.Remove(c.nextMasterKeyPath())
	}
	return errors.Join(err, syncDir(filepath.Dir(c.MasterKeyPath())))
}

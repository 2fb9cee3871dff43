package master

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/store"
)

// fileKey is the key outside the database that opens the one inside.
type fileKey [32]byte

func newFileKey() (k fileKey) {
	_, _ = rand.Read(k[:])
	return k
}

// ID names the key without giving anything of it away.
func (k fileKey) ID() string {
	sum := sha256.Sum256(append([]byte("rogito master key id\x00"), k[:]...))
	return hex.EncodeToString(sum[:8])
}

func (k fileKey) seal(plain []byte, label string) []byte {
	aead, err := NewGCM(k.wrapping())
	if err != nil {
		panic(err) // a 32 byte key is always good
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	return aead.Seal(nonce, nonce, plain, []byte(label))
}

func (k fileKey) open(sealed []byte, label string) ([]byte, error) {
	aead, err := NewGCM(k.wrapping())
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

func (k fileKey) wrapping() []byte {
	key, err := hkdf.Key(sha256.New, k[:], nil, "rogito wrap data keys", 32)
	if err != nil {
		panic(err) // only for lengths that no caller asks for
	}
	return key
}

func parseFileKey(s string) (k fileKey, err error) {
	b, err := hex.DecodeString(strings.TrimSpace(s))
	if err != nil || len(b) != len(k) {
		return k, errors.New("master: a master key is 64 hexadecimal digits")
	}
	copy(k[:], b)
	return k, nil
}

// Config says where the master key is.
type Config struct {
	// Data is the data folder of the server.
	Data string
	// File is the file of the key; "" means Data/master.key.
	File string
	// Hex is the key itself (64 hexadecimal digits), for deployments that keep
	// secrets in the environment; it wins over the file.
	Hex string
	// Command prints the key, in place of a file: the client of a vault or of a
	// key management service.
	Command []string
	// Token has the key, in place of a file; nil: none.
	Token *Token
}

// Where the master key is, for people.
func (c Config) Where() string {
	if len(c.Command) > 0 {
		return "what master.command prints"
	}
	if c.Token != nil {
		return "what the PKCS#11 token of master.pkcs11 derives"
	}
	return c.Path()
}

// Path is the file of the master key.
func (c Config) Path() string {
	if c.File != "" {
		return c.File
	}
	return filepath.Join(c.Data, "master.key")
}

// find looks for the key with an id: the configured one, the file,
// and the file of a rotation that was cut short.
func (c Config) find(id string) (fileKey, error) {
	if c.Token != nil {
		return c.Token.find(id)
	}
	if len(c.Command) > 0 {
		k, err := c.printed()
		if err == nil && k.ID() != id {
			return fileKey{}, fmt.Errorf("%w: the data is sealed under master key %s, and master.command prints %s", ErrNoKey, id, k.ID())
		}
		return k, err
	}
	if c.Hex != "" {
		k, err := parseFileKey(c.Hex)
		if err != nil {
			return k, err
		}
		if k.ID() == id {
			return k, nil
		}
	}
	var found []string
	for _, path := range []string{c.Path(), c.nextPath()} {
		k, err := readFileKey(path)
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
		return fileKey{}, fmt.Errorf("%w: the data is sealed under master key %s, and there is none at %s: put it there or in ROGITO_MASTER_KEY", ErrNoKey, id, c.Path())
	}
	return fileKey{}, fmt.Errorf("%w: the data is sealed under master key %s, and the one given is %s", ErrNoKey, id, strings.Join(found, ", "))
}

// ErrNoKey says that the master key that is wanted is not there.
var ErrNoKey = errors.New("master: no key")

// BackupMAC is a keyed digest of a backup's list of files, under the master key
// of that id and no key that is in the backup.
func (c Config) BackupMAC(id string, sums []byte) ([]byte, error) {
	k, err := c.find(id)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, k[:], nil, "rogito backup", 32)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, key)
	h.Write(sums)
	return h.Sum(nil), nil
}

func (c Config) nextPath() string { return c.Path() + ".next" }

func (c Config) fileKeyOrNew() (fileKey, error) {
	if c.Token != nil {
		return c.Token.keyOrNew()
	}
	if len(c.Command) > 0 {
		return c.printed()
	}
	if c.Hex != "" {
		return parseFileKey(c.Hex)
	}
	k, err := readFileKey(c.Path())
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	k = newFileKey()
	err = writeFileKey(c.Path(), k)
	if errors.Is(err, fs.ErrExist) { // a process that started with us was first
		return readFileKey(c.Path())
	}
	return k, err
}

func readFileKey(path string) (k fileKey, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return k, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return k, fmt.Errorf("master: %s is open to others: chmod 600 it", path)
	}
	return parseFileKey(string(b))
}

// writeFileKey makes the file whole and durable, or not at all. It never
// writes over another key.
func writeFileKey(path string, k fileKey) error {
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
	return disk.SyncDir(filepath.Dir(path))
}

// Rotate makes a new master key and wraps the data key under it. The
// new key is on disk before the database depends on it, and the old one goes
// only afterwards. Servers that run keep running; each needs the new file at
// its next start. It returns the new key's id.
//
// A key in a token is replaced there. One from the environment or a command cannot
// be replaced from here: the new one is then made and stored by the operator first,
// and to is a file of it.
func Rotate(ctx context.Context, db *store.DB, cfg Config, to string) (string, error) {
	elsewhere := cfg.Hex != "" || len(cfg.Command) > 0
	var given fileKey
	switch {
	case elsewhere && to == "":
		return "", errors.New("master: the master key comes from the environment or from master.command, and the new one cannot be written there: make one (openssl rand -hex 32), store it, and name a file of it with --to")
	case !elsewhere && to != "":
		return "", errors.New("master: the master key is in a file or a token of its own, where the new one is made: --to is for keys from the environment or from master.command")
	case elsewhere:
		var err error
		if given, err = readFileKey(to); err != nil {
			return "", fmt.Errorf("master: read new master key: %w", err)
		}
	}
	wrapped, id, err := loadDataKey(ctx, db)
	if err != nil {
		return "", fmt.Errorf("master: read data key: %w", err)
	}
	swap := func(old, next fileKey) error { return rewrap(ctx, db, wrapped, old, next) }
	if cfg.Token != nil {
		next, err := cfg.Token.rotate(id, swap)
		return next.ID(), err
	}
	old, err := cfg.find(id)
	if err != nil {
		return "", err
	}
	next := given
	if !elsewhere {
		if err := cfg.finishRotation(old); err != nil {
			return "", err
		}
		next = newFileKey()
		if err := writeFileKey(cfg.nextPath(), next); err != nil {
			return "", fmt.Errorf("master: write new master key: %w", err)
		}
	}
	if err := swap(old, next); err != nil {
		return "", err
	}
	if elsewhere {
		return next.ID(), nil
	}
	return next.ID(), cfg.finishRotation(next)
}

// rewrap wraps the data key under another master key.
func rewrap(ctx context.Context, db *store.DB, wrapped []byte, old, next fileKey) error {
	if next == old {
		return errors.New("master: the new master key is the old one")
	}
	data, err := old.open(wrapped, dataKeyLabel)
	if err != nil {
		return err
	}
	return db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update data_keys set wrapped = $1, master_id = $2 where id = $3 and master_id = $4`,
			next.seal(data, dataKeyLabel), next.ID(), firstDataKey, old.ID())
		if err == nil && n != 1 {
			err = errors.New("master: the master key was rotated by somebody else")
		}
		return err
	})
}

// finishRotation leaves key as the one key file: it finishes a rotation, or removes the file of a
// rotation that did not reach the database.
func (c Config) finishRotation(key fileKey) error {
	next, err := readFileKey(c.nextPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case next == key:
		err = os.Rename(c.nextPath(), c.Path())
	default:
		err = os.Remove(c.nextPath())
	}
	return errors.Join(err, disk.SyncDir(filepath.Dir(c.Path())))
}

// Package master seals secrets under a key that is not in the database.
package master

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"rogito.dev/rogito/server/internal/store"
)

// ErrUnseal is what Unseal returns for bytes that were not sealed here, for
// this purpose, or were changed since.
var ErrUnseal = errors.New("master: sealed value cannot be opened")

// Key seals secrets. A value is sealed under a data key, which is in
// the database wrapped under the master key, which does not: who has only the
// database has nothing, and changing the master key re-wraps one row instead
// of every secret.
type Key struct {
	id      uint32
	data    []byte   // the data key
	sealers sync.Map // purpose → cipher.AEAD
	macs    sync.Map // purpose → []byte
}

// firstDataKey is the id of the data key made at the first start.
const firstDataKey = 1

// dataKeyLabel ties what wraps it to that one.
const dataKeyLabel = "data key 1"

// Open opens the data key with the master key of the configuration.
// Where the database has no data key yet, one is made, and with it, unless the
// configuration names one, the master key's file.
func Open(ctx context.Context, db *store.DB, cfg Config) (*Key, error) {
	wrapped, masterID, err := loadDataKey(ctx, db)
	if errors.Is(err, store.ErrNoRows) {
		if err := makeDataKey(ctx, db, cfg); err != nil {
			return nil, fmt.Errorf("master: make master key: %w", err)
		}
		wrapped, masterID, err = loadDataKey(ctx, db)
	}
	if err != nil {
		return nil, fmt.Errorf("master: read data key: %w", err)
	}
	key, err := cfg.find(masterID)
	if err != nil {
		return nil, err
	}
	data, err := key.open(wrapped, dataKeyLabel)
	if err != nil {
		return nil, fmt.Errorf("master: open data key: %w", err)
	}
	return &Key{id: firstDataKey, data: data}, nil
}

// WantedID names the master key that a database wants.
func WantedID(ctx context.Context, db *store.DB) (string, error) {
	_, id, err := loadDataKey(ctx, db)
	return id, err
}

func loadDataKey(ctx context.Context, db *store.DB) (wrapped []byte, masterID string, err error) {
	var n int
	err = db.Read().QueryRow(ctx, `select wrapped, master_id, (select count(*) from data_keys) from data_keys where id = $1`, firstDataKey).Scan(&wrapped, &masterID, &n)
	if err == nil && n != 1 {
		err = fmt.Errorf("there are %d data keys, and this program makes one", n)
	}
	return wrapped, masterID, err
}

// makeDataKey writes the first data key; of several nodes that start together
// one wins, and the others then want its master key.
func makeDataKey(ctx context.Context, db *store.DB, cfg Config) error {
	key, err := cfg.fileKeyOrNew()
	if err != nil {
		return err
	}
	data := make([]byte, 32)
	_, _ = rand.Read(data)
	wrapped := key.seal(data, dataKeyLabel)
	return db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into data_keys (id, wrapped, master_id) values ($1, $2, $3) on conflict do nothing`,
			firstDataKey, wrapped, key.ID())
		return err
	})
}

// Seal seals a small secret (AES-256-GCM). Only Unseal with the same purpose
// opens it: a value copied into another column stays shut. Purposes are few:
// a key is kept for each.
func (m *Key) Seal(purpose string, plaintext []byte) ([]byte, error) {
	return m.SealFor(purpose, "", plaintext)
}

// SealFor is Seal for one owner, such as a row: moved to another row the value
// stays shut too.
func (m *Key) SealFor(purpose, owner string, plaintext []byte) ([]byte, error) {
	aead, err := m.sealer(purpose)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 5+12, 5+12+len(plaintext)+aead.Overhead())
	out[0] = 1
	binary.BigEndian.PutUint32(out[1:], m.id)
	_, _ = rand.Read(out[5:17])
	return aead.Seal(out, out[5:17], plaintext, bound(out, owner)), nil
}

// bound is what is sealed along: the version, the data key, and the owner.
func bound(sealed []byte, owner string) []byte {
	return append(sealed[:5:5], owner...)
}

// Unseal opens what Seal sealed for the same purpose, or returns ErrUnseal.
func (m *Key) Unseal(purpose string, sealed []byte) ([]byte, error) {
	return m.UnsealFor(purpose, "", sealed)
}

// UnsealFor opens what SealFor sealed for the same purpose and owner.
func (m *Key) UnsealFor(purpose, owner string, sealed []byte) ([]byte, error) {
	if len(sealed) < 5+12+16 || sealed[0] != 1 || binary.BigEndian.Uint32(sealed[1:]) != m.id {
		return nil, ErrUnseal
	}
	aead, err := m.sealer(purpose)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, sealed[5:17], sealed[17:], bound(sealed, owner))
	if err != nil {
		return nil, ErrUnseal
	}
	return plain, nil
}

// MAC is a keyed digest, for secrets that are only ever compared: without the
// master key a stolen table cannot even be guessed against.
func (m *Key) MAC(purpose string, data []byte) [32]byte {
	key, ok := m.macs.Load(purpose)
	if !ok {
		key, _ = m.macs.LoadOrStore(purpose, m.derive("mac "+purpose))
	}
	h := hmac.New(sha256.New, key.([]byte))
	h.Write(data)
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

func (m *Key) sealer(purpose string) (cipher.AEAD, error) {
	if a, ok := m.sealers.Load(purpose); ok {
		return a.(cipher.AEAD), nil
	}
	a, err := NewGCM(m.derive("seal " + purpose))
	if err != nil {
		return nil, err
	}
	m.sealers.Store(purpose, a)
	return a, nil
}

func (m *Key) derive(label string) []byte {
	key, err := hkdf.Key(sha256.New, m.data, nil, "rogito "+label, 32)
	if err != nil {
		panic(err) // only for lengths that no caller asks for
	}
	return key
}

// NewGCM is AES-256-GCM with a key of 32 bytes.
func NewGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

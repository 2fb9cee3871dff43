package server

import (
	"context"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/server/internal/backup"
)

// Backup writes a backup of an embedded installation, the master key left out.
func Backup(ctx context.Context, cfg Config, w io.Writer) error {
	return backup.Write(ctx, cfg.database(nil), cfg.masterKey(), w)
}

// Restore writes a backup into an empty data folder and says which master key
// it wants, and where.
func Restore(ctx context.Context, cfg Config, r io.Reader) (keyID, keyPath string, err error) {
	if cfg.Database != "" && cfg.Database != "sqlite" {
		return "", "", errors.New("restore is for the embedded database")
	}
	if keyID, err = backup.Restore(ctx, cfg.Data, cfg.masterKey(), r); err != nil {
		return "", "", fmt.Errorf("restore: %w", err)
	}
	return keyID, cfg.masterKey().Where(), nil
}

package audit

import (
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/store"
)

// Checkpoint is a statement about the tree: so many leaves, this root.
type Checkpoint struct {
	Size      int64  `json:"size"`
	Note      string `json:"note"`  // C2SP signed note
	Token     []byte `json:"token"` // RFC 3161, over the SHA-256 of the note
	CreatedAt int64  `json:"createdAt"`
}

// Checkpointer signs, time-stamps and files checkpoints.
type Checkpointer struct {
	Log     *Log
	Signer  note.Signer
	Stamper ades.Stamper // nil: no time-stamps
	// File gets every checkpoint that this process makes, appended; empty: none.
	File  string
	Every time.Duration // zero means a minute
	After int64         // leaves; zero means 1000
	Warn  *slog.Logger
}

// Run sequences and makes checkpoints until the context ends, and once more
// then.
func (k *Checkpointer) Run(ctx context.Context) {
	every, after := k.Every, k.After
	if every == 0 {
		every = time.Minute
	}
	if after == 0 {
		after = 1000
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	last, lastSize := time.Time{}, int64(0)
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			k.step(end, func(int64) bool { return true })
			return
		case <-tick.C:
			size := k.step(ctx, func(size int64) bool {
				return size-lastSize >= after || time.Since(last) >= every
			})
			if size >= 0 {
				last, lastSize = time.Now(), size
			}
		}
	}
}

// step returns the size of the checkpoint it made, or -1.
func (k *Checkpointer) step(ctx context.Context, due func(size int64) bool) int64 {
	if _, err := k.Log.Sequence(ctx); err != nil {
		k.warn(ctx, "sequence the audit log", err)
		return -1
	}
	var size int64
	if err := k.Log.db.Read().QueryRow(ctx, `select size from audit_head where id = 1`).Scan(&size); err != nil {
		k.warn(ctx, "read the audit log's head", err)
		return -1
	}
	if size == 0 || !due(size) {
		return -1
	}
	c, err := k.Make(ctx)
	if err != nil {
		k.warn(ctx, "make an audit checkpoint", err)
		return -1
	}
	return c.Size
}

func (k *Checkpointer) warn(ctx context.Context, what string, err error) {
	if k.Warn != nil && !errors.Is(err, context.Canceled) {
		k.Warn.ErrorContext(ctx, what, "error", err)
	}
}

// Make makes a checkpoint of the tree as it is, unless there is one.
func (k *Checkpointer) Make(ctx context.Context) (*Checkpoint, error) {
	size, root, err := k.Log.root(ctx)
	if err != nil {
		return nil, err
	}
	var have int64
	if err := k.Log.db.Read().QueryRow(ctx, `select count(*) from audit_checkpoints where size = $1`, size).Scan(&have); err != nil {
		return nil, fmt.Errorf("audit: read checkpoint: %w", err)
	}
	c := &Checkpoint{Size: size, CreatedAt: store.Millis(k.Log.now())}
	if have > 0 || size == 0 {
		return c, nil
	}
	signed, err := note.Sign(&note.Note{Text: checkpointText(k.Signer.Name(), size, root)}, k.Signer)
	if err != nil {
		return nil, fmt.Errorf("audit: sign checkpoint: %w", err)
	}
	c.Note = string(signed)
	if k.Stamper != nil {
		d := sha256.Sum256(signed)
		if c.Token, err = k.Stamper.Stamp(ctx, crypto.SHA256, d[:]); err != nil {
			k.warn(ctx, "time-stamp an audit checkpoint", err) // a signed one is better than none
		}
	}
	return c, k.keep(ctx, c)
}

func (k *Checkpointer) keep(ctx context.Context, c *Checkpoint) error {
	err := k.Log.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into audit_checkpoints (size, note, token, created_at) values ($1, $2, $3, $4)
			on conflict (size) do nothing`, c.Size, c.Note, c.Token, c.CreatedAt)
		return err
	})
	if err != nil {
		return fmt.Errorf("audit: store checkpoint: %w", err)
	}
	if k.File == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(k.File), 0o700); err != nil {
		return fmt.Errorf("audit: checkpoint file: %w", err)
	}
	f, err := os.OpenFile(k.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("audit: checkpoint file: %w", err)
	}
	_, err = f.WriteString(c.Note + fileSeparator)
	return errors.Join(err, f.Sync(), f.Close())
}

// fileSeparator stands between notes in the file of checkpoints.
const fileSeparator = "\n--\n\n"

// ReadFile reads the checkpoints that a Checkpointer filed; none when there is no
// file.
func ReadFile(path string) ([]Checkpoint, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoint file: %w", err)
	}
	var all []Checkpoint
	for _, n := range strings.Split(string(b), fileSeparator) {
		if strings.TrimSpace(n) == "" {
			continue
		}
		size, _, err := parseCheckpoint(n)
		if err != nil {
			return nil, fmt.Errorf("audit: checkpoint file: %w", err)
		}
		all = append(all, Checkpoint{Size: size, Note: n})
	}
	return all, nil
}

func checkpointText(origin string, size int64, root tlog.Hash) string {
	return fmt.Sprintf("%s\n%d\n%s\n", origin, size, base64.StdEncoding.EncodeToString(root[:]))
}

func parseCheckpoint(text string) (size int64, root tlog.Hash, err error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 {
		return 0, root, errors.New("a checkpoint has three lines")
	}
	size, err = strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return 0, root, fmt.Errorf("size of a checkpoint: %w", err)
	}
	b, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(b) != tlog.HashSize {
		return 0, root, errors.New("root of a checkpoint is no hash")
	}
	return size, tlog.Hash(b), nil
}

// Checkpoints returns all checkpoints, oldest first.
func (l *Log) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	rows, err := l.db.Read().Query(ctx, `select size, note, token, created_at from audit_checkpoints order by size`)
	if err != nil {
		return nil, fmt.Errorf("audit: read checkpoints: %w", err)
	}
	defer rows.Close()
	var all []Checkpoint
	for rows.Next() {
		var c Checkpoint
		if err := rows.Scan(&c.Size, &c.Note, &c.Token, &c.CreatedAt); err != nil {
			return nil, fmt.Errorf("audit: read checkpoint: %w", err)
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

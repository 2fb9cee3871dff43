// Package backup copies the data folder of the embedded engine into an archive,
// and back.
package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
)

// The last entries of a backup: the digests of all others, and a keyed digest of
// those, which only the master key can make. A backup without both is not whole.
const (
	sumsFile = "SHA256SUMS"
	macFile  = "SHA256SUMS.hmac"
)

// pendingFile keeps both in a data folder that was restored without the master
// key, until it is there: then they are compared before anything is opened.
const pendingFile = "restored.sums"

// notBackedUp are names in the data folder that are no data, or must not lie
// beside it: who finds the backup must not find the key.
func notBackedUp(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, "rogito.db") || strings.HasPrefix(base, "master.key") || strings.HasPrefix(base, ".") ||
		base == "sandbox.json" || name == pendingFile || name == "spool" || strings.HasPrefix(name, "blobs") && strings.HasSuffix(name, blob.PartialSuffix)
}

// Write writes the data folder of the embedded engine as a tar archive, the
// master key left out. Work goes on meanwhile, so the order matters. First come
// the checkpoints of the audit log, which speak of entries of the database: one
// of entries that are not in it would say that they were taken away. Then the
// database, a consistent snapshot. Blobs never change, so each that it refers to
// is there to be copied at last.
func Write(ctx context.Context, cfg store.Config, key master.Config, w io.Writer) error {
	if cfg.Database != "" && cfg.Database != "sqlite" {
		return errors.New("backup: back up PostgreSQL with its own tools, and the bucket with its service's")
	}
	b := &backup{tar: tar.NewWriter(w), dir: cfg.Data}
	for _, step := range []func(context.Context) error{b.checkpoints, b.database, b.rest} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("back up: %w", err)
		}
	}
	id, err := wantedKey(ctx, cfg)
	if err == nil {
		err = b.close(key, id)
	}
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

func wantedKey(ctx context.Context, cfg store.Config) (string, error) {
	db, err := store.Open(ctx, store.Config{Data: cfg.Data, Reserve: -1})
	if err != nil {
		return "", err
	}
	defer db.Close()
	return master.WantedID(ctx, db)
}

// checkpointFolder holds the checkpoints of the audit log.
const checkpointFolder = "audit"

func (b *backup) checkpoints(ctx context.Context) error {
	return b.folder(ctx, checkpointFolder, func(string) bool { return false })
}

func (b *backup) database(ctx context.Context) error {
	tmp, err := os.MkdirTemp(b.dir, ".backup-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	snapshot := filepath.Join(tmp, "rogito.db")
	if err := store.Snapshot(ctx, b.dir, snapshot); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return b.add(snapshot, "rogito.db")
}

func (b *backup) rest(ctx context.Context) error {
	return b.folder(ctx, ".", func(name string) bool { return name == checkpointFolder || notBackedUp(name) })
}

// folder adds what is in a folder of the data folder.
func (b *backup) folder(ctx context.Context, of string, skip func(name string) bool) error {
	return filepath.WalkDir(filepath.Join(b.dir, of), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return skipGone(err)
		}
		name, err := filepath.Rel(b.dir, path)
		if err != nil {
			return err
		}
		switch {
		case name == ".":
		case skip(name) && d.IsDir():
			return fs.SkipDir
		case skip(name), !d.Type().IsRegular():
		default:
			return errors.Join(ctx.Err(), skipGone(b.add(path, filepath.ToSlash(name))))
		}
		return nil
	})
}

// skipGone ignores a file that was deleted between being seen and being read.
func skipGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

type backup struct {
	tar  *tar.Writer
	dir  string // the data folder
	sums bytes.Buffer
}

func (b *backup) add(path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := b.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(b.tar, sum), io.LimitReader(f, info.Size())); err != nil {
		return err
	}
	fmt.Fprintf(&b.sums, "%x  %s\n", sum.Sum(nil), name)
	return nil
}

// close adds the digests, and the keyed digest of them: who can write to where
// backups lie cannot put another one there.
func (b *backup) close(key master.Config, id string) error {
	mac, err := key.BackupMAC(id, b.sums.Bytes())
	if err != nil {
		return err
	}
	for _, e := range []struct {
		name string
		text []byte
	}{{sumsFile, b.sums.Bytes()}, {macFile, fmt.Appendf(nil, "%s  %x\n", id, mac)}} {
		err := b.tar.WriteHeader(&tar.Header{Name: e.name, Mode: 0o600, Size: int64(len(e.text)), ModTime: time.Now()})
		if err != nil {
			return err
		}
		if _, err := b.tar.Write(e.text); err != nil {
			return err
		}
	}
	return b.tar.Close()
}

// digests are what a backup ends with.
type digests struct {
	sums []byte
	id   string // of the master key that it was made under
	mac  []byte
}

func parseDigests(sums, line []byte) (d digests, err error) {
	id, text, _ := strings.Cut(strings.TrimSpace(string(line)), "  ")
	d = digests{sums: sums, id: id}
	if d.mac, err = hex.DecodeString(text); err != nil || id == "" {
		return d, errors.New("the backup's keyed digest is not one")
	}
	return d, nil
}

// compare says whether the backup is one that the master key made: of a key
// that is not there it says [master.ErrNoKey].
func (d digests) compare(key master.Config) error {
	want, err := key.BackupMAC(d.id, d.sums)
	if err == nil && !hmac.Equal(want, d.mac) {
		err = errors.New("the backup was changed, or is not one of this installation: its keyed digest differs")
	}
	return err
}

// CheckRestored compares what a restore without the master key left to compare.
// It belongs before anything in the data folder is opened.
func CheckRestored(data string, key master.Config) error {
	path := filepath.Join(data, pendingFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	line, sums, _ := bytes.Cut(b, []byte("\n"))
	d, err := parseDigests(sums, line)
	if err == nil {
		err = d.compare(key)
	}
	if err != nil {
		return fmt.Errorf("backup: restored data: %w", err)
	}
	return os.Remove(path)
}

// Restore writes a backup into an empty data folder, and takes nothing for
// restored that its digests do not confirm. The keyed one is compared here where
// the master key is at hand, and else when the folder is first opened. It returns
// the id of the master key that the data wants.
func Restore(ctx context.Context, dir string, key master.Config, r io.Reader) (masterID string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if _, err := os.Stat(store.DatabaseFile(dir)); err == nil {
		return "", fmt.Errorf("backup: %s has a database: restore into an empty folder", dir)
	}
	tmp, err := os.MkdirTemp(dir, ".restore-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	d, err := unpack(ctx, tmp, r)
	if err == nil {
		err = d.compare(key)
	}
	if errors.Is(err, master.ErrNoKey) {
		_, err = writeFile(filepath.Join(tmp, pendingFile), io.MultiReader(strings.NewReader(fmt.Sprintf("%s  %x\n", d.id, d.mac)), bytes.NewReader(d.sums)))
	}
	if err == nil {
		err = moveAll(tmp, dir)
	}
	if err != nil {
		return "", fmt.Errorf("backup: restore: %w", err)
	}
	return d.id, nil
}

// maxSums bounds the list of digests: a hundred million files have none longer.
const maxSums = 1 << 33

func unpack(ctx context.Context, dir string, r io.Reader) (d digests, err error) {
	found := map[string]string{}
	var sums []byte
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return d, errors.New("the backup is not whole: its digests are missing")
		}
		if err != nil {
			return d, err
		}
		if err := ctx.Err(); err != nil {
			return d, err
		}
		switch {
		case h.Name == sumsFile && sums == nil:
			if sums, err = io.ReadAll(io.LimitReader(in, maxSums)); err != nil {
				return d, err
			}
			if err := checkSums(bytes.NewReader(sums), found); err != nil {
				return d, err
			}
			continue
		case h.Name == macFile && sums != nil:
			line, err := io.ReadAll(io.LimitReader(in, 1024))
			if err != nil {
				return d, err
			}
			return parseDigests(sums, line)
		}
		if sums != nil || !filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg || notRestored(h.Name) {
			return d, fmt.Errorf("%q has no place in a backup", h.Name)
		}
		if found[h.Name], err = writeFile(filepath.Join(dir, filepath.FromSlash(h.Name)), in); err != nil {
			return d, err
		}
	}
}

func notRestored(name string) bool {
	return name != "rogito.db" && notBackedUp(filepath.FromSlash(name))
}

func writeFile(path string, r io.Reader) (sum string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), r)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Sync(), f.Close())
}

func checkSums(r io.Reader, found map[string]string) error {
	n := 0
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		if found[name] != sum {
			return fmt.Errorf("%s was changed since the backup", name)
		}
		n++
	}
	if n != len(found) {
		return errors.New("the backup has files without a digest")
	}
	return lines.Err()
}

// moveAll moves what is in one folder into another; the database last, since
// it is what makes a data folder one.
func moveAll(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, last := range []bool{false, true} {
		for _, e := range list {
			if (e.Name() == "rogito.db") != last {
				continue
			}
			if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return disk.SyncDir(to)
}

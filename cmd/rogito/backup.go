//go:build !files

package main

import (
	"errors"
	"io"
	"os"

	"rogito.dev/rogito/internal/atomicfile"
	"rogito.dev/rogito/server"
)

func init() {
	add(groupCare, "backup", "back up an embedded installation, running or not", func() any { return &backupCommand{} })
	add(groupCare, "restore", "restore a backup into an empty data folder", func() any { return &restoreCommand{} })
}

type backupCommand struct {
	dataFlags
	outcome
	File string `arg:"" help:"archive to write (tar)"`
}

// Help is the page of the command.
func (backupCommand) Help() string {
	return example(`
Writes database and files as one tar archive, while the server runs. The master
key is left out on purpose: keep it elsewhere, for without it the backup cannot
be read, and with it anybody can. It ends with a digest that only the master key
can make, so that nobody can change a backup, or put another in its place.`,
		"rogito backup --data ./data rogito-backup.tar")
}

// Run writes the archive beside its place and moves it there when it is whole.
func (c *backupCommand) Run(s *session) error {
	cfg, err := c.load(s)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.File); err == nil {
		return errors.New(c.File + " exists already")
	}
	err = atomicfile.Write(c.File, 0o600, func(w io.Writer) error { return server.Backup(s.ctx, cfg, w) })
	if err != nil {
		return err
	}
	s.notef("the master key is not in it: keep a copy of it in another place")
	return c.report(s, map[string]any{"file": c.File}, "%s", c.File)
}

type restoreCommand struct {
	dataFlags
	outcome
	File string `arg:"" help:"archive that rogito backup wrote"`
}

// Help is the page of the command.
func (restoreCommand) Help() string {
	return example(`
Every file is checked against the archive's digests before the folder counts as
an installation. The master key has to be put there by hand; before anything is
opened with it, the archive's keyed digest is compared.`,
		"rogito restore --data ./restored rogito-backup.tar")
}

// Run restores the archive.
func (c *restoreCommand) Run(s *session) error {
	cfg, err := c.load(s)
	if err != nil {
		return err
	}
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	id, path, err := server.Restore(s.ctx, cfg, f)
	if err != nil {
		return err
	}
	_, missing := os.Stat(path)
	if missing != nil {
		s.notef("now put the master key %s at %s (chmod 600)", id, path)
	}
	return c.report(s, map[string]any{"data": cfg.Data, "masterKey": map[string]any{"id": id, "file": path, "there": missing == nil}},
		"restored into %s", cfg.Data)
}

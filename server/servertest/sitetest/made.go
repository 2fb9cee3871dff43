package sitetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest"
)

// made is the data folder of a sandbox, made once by this process. Most of what a first
// start takes is the RSA key of its certificate and the schema of its database, so sites
// are given copies of it.
var made struct {
	sync.Once
	dir string
	err error
}

// temp is the folder for it: a test may have changed the variable by the time that it is made.
var temp = os.TempDir()

// makeSandbox starts a server in a new folder, and ends it.
func makeSandbox(dir string) (err error) {
	cfg := TestDefaults()
	cfg.Listen, cfg.Data, cfg.Limits.Reserve = "127.0.0.1:0", dir, -1
	ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
	defer cancel()
	log := &lockedBuffer{}
	ready := false
	err = server.Run(ctx, cfg, server.Streams{Out: log, Err: log, Ready: func(string) { ready = true; cancel() }})
	if err == nil && !ready {
		err = errors.New("it was not ready")
	}
	if err != nil {
		return fmt.Errorf("make a sandbox: %w: %s", err, log)
	}
	return nil
}

// clean removes what was made, at the end of [Main].
func clean() {
	servertest.Clean()
	if made.dir != "" {
		_ = os.RemoveAll(made.dir)
	}
}

// Fresh gives a site a first start of its own at an address that it keeps: for tests of
// what its certificates name, and of two installations that know nothing of each other.
func Fresh(c *server.Config) {
	addr, err := servertest.Address()
	if err != nil {
		panic(err)
	}
	c.Listen, c.PublicURL = addr, "http://"+addr
}

// copySandbox fills an empty data folder with the copy of a sandbox, where the first start of
// a server of this configuration would make the same one but for its address.
func copySandbox(t *testing.T, c *server.Config) {
	t.Helper()
	plain := TestDefaults()
	same := *c
	// These the first start does not look at.
	same.Listen, same.Data, same.Limits, same.Network, same.Trust = plain.Listen, plain.Data, plain.Limits, plain.Network, plain.Trust
	same.Console, same.Identify, same.Mail, same.SMS, same.Metrics = plain.Console, plain.Identify, plain.Mail, plain.SMS, plain.Metrics
	same.Log, same.Jobs, same.CSC = plain.Log, plain.Jobs, plain.CSC
	same.Signing = plain.Signing
	same.Signing.PKCS11, same.Signing.Levels = c.Signing.PKCS11, c.Signing.Levels
	if !reflect.DeepEqual(same, plain) || !empty(t, c.Data) {
		return
	}
	made.Do(func() {
		if made.dir, made.err = os.MkdirTemp(temp, "rogito-sandbox-"); made.err == nil {
			made.err = makeSandbox(made.dir)
		}
	})
	if made.err != nil {
		t.Fatal(made.err)
	}
	if err := os.CopyFS(c.Data, os.DirFS(made.dir)); err != nil {
		t.Fatal(err)
	}
	// CopyFS leaves the modes of files to the umask.
	err := filepath.WalkDir(made.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		to, err := filepath.Rel(made.dir, path)
		if err != nil {
			return err
		}
		return os.Chmod(filepath.Join(c.Data, to), info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// empty says that nothing is in a folder but what tests share.
func empty(t *testing.T, dir string) bool {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Name() != "draw" {
			return false
		}
	}
	return true
}

// Alone gives a site a data folder with nothing in it that others share, for tests that
// search all of it.
func Alone(t *testing.T) func(*server.Config) {
	return func(c *server.Config) { c.Data = t.TempDir() }
}

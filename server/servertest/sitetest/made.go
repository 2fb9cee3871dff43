package sitetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest"
)

// madeFolder is the data folder of a sandbox, made once by this process. Most of what a first
// start takes is the RSA key of its certificate and the schema of its database, so sites
// are given copies of it.
type madeFolder struct {
	dir string
	err error
}

// One is all in its folder; of the other the database is on PostgreSQL, and there is one for
// each server of it that storetest starts.
var (
	made, madeBeside madeFolder
	once             sync.Once // for the first
)

// temp is the folder for them: a test may have changed the variable by the time that one is made.
var temp = os.TempDir()

// make starts a server in a new folder, and ends it.
func (m *madeFolder) make(database string) {
	if m.dir, m.err = os.MkdirTemp(temp, "rogito-sandbox-"); m.err != nil {
		return
	}
	cfg := TestDefaults()
	cfg.Listen, cfg.Data, cfg.Limits.Reserve = "127.0.0.1:0", m.dir, -1
	if database != "" {
		cfg.Database = database
	}
	ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
	defer cancel()
	log := &lockedBuffer{}
	ready := false
	err := server.Run(ctx, cfg, server.Streams{Out: log, Err: log, Ready: func(string) { ready = true; cancel() }})
	if err == nil && !ready {
		err = errors.New("it was not ready")
	}
	if err != nil {
		m.err = fmt.Errorf("make a sandbox: %w: %s", err, log)
	}
}

// clean removes what was made, at the end of [Main].
func clean() {
	servertest.Clean()
	for _, m := range []*madeFolder{&made, &madeBeside} {
		_ = os.RemoveAll(m.dir)
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

// fill gives a site its database, a new one on PostgreSQL if it asks for that, and a copy of a
// sandbox where the first start of a server of this configuration would make the same one but
// for its address.
func fill(t *testing.T, c *server.Config, postgres bool) {
	t.Helper()
	same := usual(c) && empty(t, c.Data)
	if postgres {
		if same {
			c.Database = storetest.FilledPostgres(t, "with_sandbox", func(t testing.TB, url string) {
				t.Helper()
				_ = os.RemoveAll(madeBeside.dir) // of a PostgreSQL that has ended
				if madeBeside.make(url); madeBeside.err != nil {
					t.Fatal(madeBeside.err)
				}
			})
			if c.Database != "" {
				madeBeside.copy(t, c.Data)
				return
			}
		}
		c.Database = storetest.Postgres(t)
		return
	}
	if same {
		fillFolder(t, c.Data)
	}
}

// fillFolder fills an empty data folder with the copy of a sandbox.
func fillFolder(t *testing.T, dir string) {
	t.Helper()
	once.Do(func() { made.make("") })
	made.copy(t, dir)
}

func (m *madeFolder) copy(t *testing.T, to string) {
	t.Helper()
	err := m.err
	if err == nil {
		err = servertest.CopyData(to, m.dir)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// usual says that a first start finds nothing unusual in a configuration.
func usual(c *server.Config) bool {
	plain := TestDefaults()
	same := *c
	// These the first start does not look at.
	same.Listen, same.Data, same.Limits, same.Network, same.Trust = plain.Listen, plain.Data, plain.Limits, plain.Network, plain.Trust
	same.Console, same.Identify, same.Mail, same.SMS, same.Metrics = plain.Console, plain.Identify, plain.Mail, plain.SMS, plain.Metrics
	same.Log, same.Jobs, same.CSC = plain.Log, plain.Jobs, plain.CSC
	same.Signing = plain.Signing
	same.Signing.PKCS11, same.Signing.Levels = c.Signing.PKCS11, c.Signing.Levels
	return reflect.DeepEqual(same, plain)
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

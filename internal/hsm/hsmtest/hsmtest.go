//go:build pkcs11

// Package hsmtest makes PKCS#11 tokens for tests: SoftHSM, behind a module that fails, refuses or
// is slow as a test sets it.
package hsmtest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/hsm"
)

//go:embed testdata/shim.c
var shim []byte

// Board is shared with the module: what it is to answer in place of the truth,
// and what it was asked. Answers are return values of PKCS#11; zero is the
// truth.
type Board struct {
	OpenAnswer, LoginAnswer, SignAnswer          atomic.Uint64
	Hold                                         atomic.Uint64 // signatures wait while it is not zero
	SignFailures                                 atomic.Uint64 // so many get SignAnswer; zero: all
	Opened, Closed, Logins, Signs, Inits, Finals atomic.Uint64
	DestroyAnswer                                atomic.Uint64
	Signing, Most                                atomic.Uint64 // signatures under way now, and at most
}

// Await waits until so many signatures are under way.
func (b *Board) Await(t testing.TB, n uint64) {
	t.Helper()
	for range await.Within(await.Limit) {
		if b.Signing.Load() == n {
			return
		}
	}
	t.Fatalf("%d signatures under way, want %d", b.Signing.Load(), n)
}

// Live is how many sessions are open now.
func (b *Board) Live() int64 { return int64(b.Opened.Load()) - int64(b.Closed.Load()) }

const softHSM = "/usr/lib/softhsm/libsofthsm2.so"

// Token is where it is, and how to make it fail.
type Token struct {
	hsm.Config
	*Board
	Dir string // of its files, for a test that takes them away
}

// New makes a token of the test's own.
func New(t testing.TB) *Token {
	t.Helper()
	if _, err := os.Stat(softHSM); err != nil {
		t.Skip("SKIPPED: SoftHSM is not installed")
	}
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.Mkdir(tokens, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "softhsm2.conf"), []byte("directories.tokendir = "+tokens+"\nobjectstore.backend = file\nlog.level = ERROR\n"))
	write(t, filepath.Join(dir, "shim.c"), shim)
	t.Setenv("SOFTHSM2_CONF", filepath.Join(dir, "softhsm2.conf"))
	run(t, "softhsm2-util", "--init-token", "--free", "--label", "rogito", "--pin", "1234", "--so-pin", "5678")
	module := filepath.Join(dir, "shim.so")
	run(t, "gcc", "-shared", "-fPIC", "-Wl,-z,nodelete", "-o", module, filepath.Join(dir, "shim.c"), "-ldl")
	t.Setenv("ROGITO_TEST_MODULE", softHSM)
	t.Setenv("ROGITO_TEST_BOARD", filepath.Join(dir, "board"))
	return &Token{
		Config: hsm.Config{Library: module, Label: "rogito", PIN: "1234"},
		Board:  board(t, filepath.Join(dir, "board")), Dir: tokens,
	}
}

func board(t testing.TB, path string) *Board {
	t.Helper()
	write(t, path, make([]byte, 4096))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	return (*Board)(unsafe.Pointer(&b[0])) // it stays mapped: the module keeps it too
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

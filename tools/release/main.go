// Command release makes what is given to others, in dist/: an archive for each
// platform, packages for Debian and for rpm, a bill of materials, and a file of
// checksums that names all of them, signed where a key is given.
//
// The same sources give the same bytes on every machine: the Go version is that
// of go.mod, the version and its date are those of the changelog (before the first release, of
// internal/version and the newest commit), and archives
// and packages are written here, not by programs that differ from one system to
// another.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// release is one run.
type release struct {
	root    string    // of the sources
	out     string    // dist
	work    string    // where binaries and pages lie meanwhile
	version string    // without a v
	date    time.Time // of every file
	key     string    // minisign key file; empty: no signature
	only    string    // the one platform to build for; empty: all
}

func main() {
	r := release{}
	flag.StringVar(&r.root, "root", "../..", "folder of the sources")
	flag.StringVar(&r.out, "out", "dist", "folder that is written, below the sources")
	flag.StringVar(&r.version, "version", "", "version; empty: the newest of CHANGELOG.md, or the release to come")
	flag.StringVar(&r.key, "key", os.Getenv("MINISIGN_KEY"), "file of a minisign key, opened by MINISIGN_PASSWORD; empty: nothing is signed")
	flag.StringVar(&r.only, "only", "", "build for one platform, e.g. linux/amd64, to try the packages; empty: for all")
	flag.Parse()
	if err := r.run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run() (err error) {
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if len(r.wanted()) == 0 {
		return fmt.Errorf("%s is none of %v", r.only, platforms)
	}
	if err := r.readChangelog(); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "rogito-release-*"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if r.out = filepath.Join(r.root, r.out); os.RemoveAll(r.out) != nil {
		return fmt.Errorf("cannot empty %s", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if err := r.writePages(); err != nil {
		return err
	}
	for _, p := range r.wanted() {
		fmt.Println("building for", p)
		if err := r.build(p); err != nil {
			return err
		}
		if err := r.archive(p); err != nil {
			return fmt.Errorf("archive for %s: %w", p, err)
		}
		if p.system == "linux" {
			if err := r.packages(p); err != nil {
				return fmt.Errorf("packages for %s: %w", p, err)
			}
		}
	}
	return errors.Join(r.bill(), r.sums())
}

// newest is the first heading of a version in the changelog.
var newest = regexp.MustCompile(`(?m)^## \[?v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)\]? - (\d{4}-\d\d-\d\d)$`)

func (r *release) readChangelog() error {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	m := newest.FindSubmatch(text)
	if m == nil { // nothing was released yet: what is built is the release to come
		return r.readVersion()
	}
	if r.version == "" {
		r.version = string(m[1])
	}
	r.date, err = time.Parse(time.DateOnly, string(m[2]))
	return err
}

// toCome is the version of the release to come.
var toCome = regexp.MustCompile(`(?m)^var Number = "(.+)"$`)

// readVersion takes the date of the newest commit, so that every machine writes the same bytes.
func (r *release) readVersion() error {
	text, err := os.ReadFile(filepath.Join(r.root, "internal", "version", "version.go"))
	if err != nil {
		return err
	}
	m := toCome.FindSubmatch(text)
	if m == nil {
		return errors.New("internal/version has no Number")
	}
	if r.version == "" {
		r.version = string(m[1])
	}
	day, err := exec.Command("git", "-C", r.root, "log", "-1", "--format=%cd", "--date=short").Output()
	if err != nil {
		return fmt.Errorf("date of the newest commit: %w", err)
	}
	r.date, err = time.Parse(time.DateOnly, strings.TrimSpace(string(day)))
	return err
}

// name of a file of the release.
func (r *release) name(rest string) string { return filepath.Join(r.out, "rogito_"+r.version+rest) }

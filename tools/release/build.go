package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
)

type platform struct{ system, machine string }

func (p platform) String() string { return p.system + "/" + p.machine }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// wanted are the platforms of this run.
func (r *release) wanted() (list []platform) {
	for _, p := range platforms {
		if r.only == "" || r.only == p.String() {
			list = append(list, p)
		}
	}
	return list
}

// binary is where the program for a platform is built.
func (r *release) binary(p platform) string {
	name := "rogito"
	if p.system == "windows" {
		name += ".exe"
	}
	return filepath.Join(r.work, p.system+"_"+p.machine, name)
}

var goVersion = regexp.MustCompile(`(?m)^go (\S+)$`)

// build builds the program. What the environment could change in it is set here.
func (r *release) build(p platform) error {
	to := r.binary(p)
	if _, err := os.Stat(to); err == nil {
		return nil // the one of this machine, which has written the pages
	}
	mod, err := os.ReadFile(filepath.Join(r.root, "go.mod"))
	if err != nil {
		return err
	}
	v := goVersion.FindSubmatch(mod)
	if v == nil {
		return fmt.Errorf("go.mod names no Go version")
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X rogito.dev/rogito/internal/version.Number="+r.version, "-o", to, "./cmd/rogito")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOOS="+p.system, "GOARCH="+p.machine, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GODEBUG=", "GOTOOLCHAIN=go"+string(v[1]))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build for %s: %w\n%s", p, err, out)
	}
	return nil
}

// pages are what the program writes about itself: the manual, and completions.
var pages = []struct {
	file string
	args []string
}{
	{"rogito.1", []string{"man"}},
	{"rogito.bash", []string{"completion", "bash"}},
	{"_rogito", []string{"completion", "zsh"}},
	{"rogito.fish", []string{"completion", "fish"}},
}

func (r *release) page(name string) string { return filepath.Join(r.work, "pages", name) }

// writePages has the program of this machine write them.
func (r *release) writePages() error {
	own := platform{runtime.GOOS, runtime.GOARCH}
	if err := r.build(own); err != nil {
		return err
	}
	if err := os.MkdirAll(r.page(""), 0o755); err != nil {
		return err
	}
	for _, p := range pages {
		var text, complaints bytes.Buffer
		cmd := exec.Command(r.binary(own), p.args...)
		cmd.Stdout, cmd.Stderr = &text, &complaints
		cmd.Env = append(os.Environ(), "NO_COLOR=1", "LANG=C", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()))
		if err := cmd.Run(); err != nil || text.Len() == 0 {
			return fmt.Errorf("rogito %v: %w\n%s", p.args, err, complaints.Bytes())
		}
		if err := os.WriteFile(r.page(p.file), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

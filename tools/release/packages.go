package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

// packages writes the .deb and the .rpm of a platform.
func (r *release) packages(p platform) error {
	if err := r.pack("rogito.1"); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(kind)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(r.describe(p, kind))
		if err := nfpm.PrepareForPackager(info, kind); err != nil {
			return err
		}
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, packager.ConventionalFileName(info)), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pack compresses a page, as manuals are kept.
func (r *release) pack(page string) error {
	b, err := os.ReadFile(r.page(page))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return errors.Join(err, w.Close(), os.WriteFile(r.page(page+".gz"), out.Bytes(), 0o644))
}

// describe says what a package is and what is in it. The data folder is not: it belongs to the
// operator, and stays when the package is removed.
func (r *release) describe(p platform, kind string) *nfpm.Info {
	deploy := func(name string) string { return filepath.Join(r.root, "deploy", name) }
	at := func(from, to, what string, mode os.FileMode) *files.Content {
		return &files.Content{
			Source: from, Destination: to, Type: what,
			FileInfo: &files.ContentFileInfo{Mode: mode, Owner: "root", Group: "root", MTime: r.date},
		}
	}
	plain := func(from, to string) *files.Content { return at(from, to, "", 0o644) }
	zsh := "/usr/share/zsh/vendor-completions/_rogito"
	if kind == "rpm" {
		zsh = "/usr/share/zsh/site-functions/_rogito"
	}
	info := &nfpm.Info{
		Name: "rogito", Arch: p.machine, Platform: p.system, Version: r.version, Section: "net", Priority: "optional",
		Maintainer: "The Rogito authors <maintainers@rogito.dev>", Homepage: "https://rogito.dev/rogito", License: "Apache-2.0", MTime: r.date,
		Description: "electronic signatures and real-estate quotations\n" +
			"Signs documents (CAdES, PAdES, XAdES, JAdES, ASiC, PKCS#1 up to LTA), verifies\n" +
			"signatures with the European trusted lists, and answers Italian real-estate\n" +
			"quotations: a server with an HTTP API, and commands for files.",
	}
	info.Depends = []string{"ca-certificates"}
	info.Scripts = nfpm.Scripts{
		PostInstall: deploy("package/postinstall.sh"), PreRemove: deploy("package/preremove.sh"), PostRemove: deploy("package/postremove.sh"),
	}
	info.RPM = nfpm.RPM{BuildHost: "rogito.dev", Group: "Applications/Internet", Summary: "electronic signatures and real-estate quotations"}
	info.Contents = files.Contents{
		at(r.binary(p), "/usr/bin/rogito", "", 0o755),
		plain(deploy("rogito.service"), "/usr/lib/systemd/system/rogito.service"),
		plain(deploy("package/sysusers.conf"), "/usr/lib/sysusers.d/rogito.conf"),
		at(deploy("package/rogito.yaml"), "/etc/rogito/rogito.yaml", files.TypeConfigNoReplace, 0o644),
		plain(r.page("rogito.1.gz"), "/usr/share/man/man1/rogito.1.gz"),
		plain(r.page("rogito.bash"), "/usr/share/bash-completion/completions/rogito"),
		plain(r.page("_rogito"), zsh),
		plain(r.page("rogito.fish"), "/usr/share/fish/vendor_completions.d/rogito.fish"),
		plain(deploy("package/copyright"), "/usr/share/doc/rogito/copyright"),
		plain(filepath.Join(r.root, "CHANGELOG.md"), "/usr/share/doc/rogito/CHANGELOG.md"),
		plain(deploy("prometheus/rules.yml"), "/usr/share/doc/rogito/examples/rules.yml"),
		plain(deploy("grafana/rogito.json"), "/usr/share/doc/rogito/examples/grafana.json"),
	}
	if kind == "rpm" {
		info.Release = "1"
		info.Contents = append(info.Contents, at(filepath.Join(r.root, "LICENSE"), "/usr/share/licenses/rogito/LICENSE", files.TypeRPMLicense, 0o644))
	}
	return info
}

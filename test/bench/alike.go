package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"rogito.dev/rogito"
	"rogito.dev/rogito/trust"
)

// alike has DSS make LT files as its bench does: each reading of them is by a new
// verifier. The files that verifying makes have authorities with
// P-256 keys and an OCSP answer, eleven signatures in all; those that DSS
// measures itself by have RSA-2048 throughout and two lists, which is less work.
func (b *bench) alike(dss string) ([]work, error) {
	dir := b.docs.path("pki")
	in := func(name string) string { return filepath.Join(dir, name) }
	if out, err := exec.Command(dss, "pki", "--password", password, dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pki: %w: %s", err, lastLine(string(out)))
	}
	root, err := os.ReadFile(in("root.pem"))
	if err != nil {
		return nil, err
	}
	var works []work
	for _, c := range []struct{ name, format, packaging, file string }{
		{"PAdES", "pades", "enveloped", "200.pdf"},
		{"CAdES", "cades", "enveloping", "100.bin"},
		{"XAdES", "xades", "enveloped", "50.xml"},
	} {
		path := in("lt-" + c.file)
		out, err := exec.Command(dss, "sign", "--p12", in("signer-rsa.p12"), "--password", password, "--format", c.format, "--packaging", c.packaging,
			"--level", "LT", "--tsa-p12", in("tsa.p12"), "--tsa-password", password, "--trust", in("root.pem"),
			"--crl", in("root.crl"), "--crl", in("issuing.crl"), "--offline", "--out", path, b.docs.path(c.file)).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("sign %s: %w: %s", c.file, err, lastLine(string(out)))
		}
		signed, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		works = append(works, work{"verify " + c.name + "-LT of DSS anew", func() error {
			store := new(trust.Store)
			if err := store.AddAnchors(bytes.Clone(root)); err != nil {
				return err
			}
			return valid(&rogito.Verifier{Trust: store}, signed)
		}})
	}
	return works, nil
}

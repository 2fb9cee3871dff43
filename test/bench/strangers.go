package main

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// oracles is where the validators of others are.
func oracles() string {
	dir := os.Getenv("ROGITO_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "shared")
	}
	return filepath.Join(dir, "oracle")
}

// strangers measures the validators that others wrote, on the same documents.
func (b *bench) strangers() {
	oracle := oracles()
	if _, err := os.Stat(oracle); err != nil {
		b.skip("DSS and pyHanko are not measured: no %s; set ROGITO_SHARED", oracle)
		return
	}
	for _, file := range []string{"100.pdf", "200.pdf", "100.bin", "50.xml"} {
		say("DSS, %s", file)
		b.ask("DSS", file, filepath.Join(oracle, "bin", "dss"), "bench", "--warmup", "2", "--seconds", "1.5", b.docs.path(file))
	}
	if err := b.alike(filepath.Join(oracle, "bin", "dss")); err != nil {
		b.skip("files that DSS made are not verified: %v", err)
	}
	p12, err := b.keyFile()
	if err != nil {
		b.skip("pyHanko is not measured: %v", err)
		return
	}
	for _, file := range []string{"100.pdf", "200.pdf"} {
		say("pyHanko, %s", file)
		b.ask("pyHanko", file, filepath.Join(oracle, "pyhanko-oracle"), "bench", "--p12", p12, "--password", password,
			"--warm", "0.5", "--seconds", "1.5", b.docs.path(file))
	}
}

// skip notes loudly what could not be measured.
func (b *bench) skip(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	say("SKIPPED: %s", note)
	b.notes = append(b.notes, note)
}

// ask runs a bench that prints a JSON object a line, and files its rates by
// who, file and what.
func (b *bench) ask(who, file, program string, args ...string) {
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.skip("%s is not measured on %s: %v %s", who, file, err, lastLine(stderr.String()))
		return
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var r struct {
			What         string  `json:"what"`
			PerCPUSecond float64 `json:"perCpuSecond"`
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.What == "" {
			continue
		}
		what, _, _ := strings.Cut(r.What, ",")
		b.rates[who+" "+file+" "+what] = r.PerCPUSecond
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

const password = "bench"

// keyFile is a PKCS #12 file for those who want one.
func (b *bench) keyFile() (string, error) {
	s, err := newStage()
	if err != nil {
		return "", err
	}
	chain := append(append([]*x509.Certificate{}, s.rsa.Chain...), s.pki.Root)
	data, err := pkcs12.Modern.Encode(s.rsa.Key, s.rsa.Certificate, chain, password)
	if err != nil {
		return "", err
	}
	path := b.docs.path("key.p12")
	return path, os.WriteFile(path, data, 0o600)
}

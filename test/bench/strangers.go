package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// strangers measures other validators, on the same documents and in turns with the library.
func (b *bench) strangers() {
	oracle := oracles()
	if _, err := os.Stat(oracle); err != nil {
		b.skip("DSS and pyHanko are not measured: no %s; set ROGITO_SHARED", oracle)
		return
	}
	works, p12, err := b.besideStrangers(oracle)
	if err != nil {
		b.skip("DSS and pyHanko are not measured: %v", err)
		return
	}
	for _, c := range []struct {
		file, works string
		rounds      int
	}{
		{"100.pdf", "^raw RSA|^sign PAdES.*RSA", 1},
		{"200.pdf", "^verify PAdES", 3}, // one start of DSS validates 14 a second and another 7, however long it warms up
		{"100.bin", "CAdES", 1},
		{"50.xml", "XAdES", 1},
	} {
		say("DSS, %s", c.file)
		for range c.rounds {
			b.ask("DSS", c.file, matching(works, c.works), filepath.Join(oracle, "bin", "dss"), "bench", "--warmup", "2", "--seconds", "1", b.docs.path(c.file))
		}
		if !strings.HasSuffix(c.file, ".pdf") {
			continue
		}
		say("pyHanko, %s", c.file)
		b.ask("pyHanko", c.file, matching(works, c.works), filepath.Join(oracle, "pyhanko-oracle"), "bench", "--p12", p12, "--password", password,
			"--warm", "0.5", "--seconds", "1.5", b.docs.path(c.file))
	}
}

// besideStrangers are the works that are measured beside others, and a key for those who want one.
func (b *bench) besideStrangers(oracle string) (works []work, p12 string, err error) {
	s, err := newStage()
	if err != nil {
		return nil, "", err
	}
	if works, err = s.verifying(b.docs); err != nil {
		return nil, "", err
	}
	works = append(works, s.signing(b.docs)...)
	theirs, err := b.alike(filepath.Join(oracle, "bin", "dss"))
	if err != nil {
		b.skip("files that DSS made are not verified: %v", err)
	}
	p12, err = b.keyFile(s)
	return append(works, theirs...), p12, err
}

func matching(works []work, pattern string) []work {
	wanted := regexp.MustCompile(pattern)
	return slices.DeleteFunc(slices.Clone(works), func(w work) bool { return !wanted.MatchString(w.name) })
}

// skip notes loudly what could not be measured.
func (b *bench) skip(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	say("SKIPPED: %s", note)
	b.notes = append(b.notes, note)
}

// ask runs a bench that prints a JSON object a line, and files each of its rates with that of
// each of our works in the same turns, by the work's name, who, file and what.
func (b *bench) ask(who, file string, works []work, program string, args ...string) {
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := inTurns(cmd, works, func(line string, ours map[string]float64) {
		var r struct {
			What         string  `json:"what"`
			PerCPUSecond float64 `json:"perCpuSecond"`
		}
		if json.Unmarshal([]byte(line), &r) != nil || r.What == "" {
			return
		}
		what, _, _ := strings.Cut(r.What, ",")
		for name, rate := range ours {
			key := name + " beside " + who + " " + file + " " + what
			b.pairs[key] = append(b.pairs[key], pair{rate, r.PerCPUSecond})
		}
	})
	if err != nil {
		b.skip("%s is not measured on %s: %v %s", who, file, err, lastLine(stderr.String()))
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

const password = "bench"

// keyFile is a PKCS #12 file for those who want one.
func (b *bench) keyFile(s *stage) (string, error) {
	chain := append(append([]*x509.Certificate{}, s.rsa.Chain...), s.pki.Root)
	data, err := pkcs12.Modern.Encode(s.rsa.Key, s.rsa.Certificate, chain, password)
	if err != nil {
		return "", err
	}
	path := b.docs.path("key.p12")
	return path, os.WriteFile(path, data, 0o600)
}

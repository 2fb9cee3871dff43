package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// signing takes over the account of time of one signature over HTTP, and the tables
// of mass signing and of several servers.
func (b *bench) signing() {
	b.takeOver("Where the time of one PAdES-B of 100 KB over HTTP goes: milliseconds of the server's own and of the system's", "./server", "TestSigningTime", "account: ")
	b.takeOver("Mass signing of small PDFs, client and server in one process", "./server", "TestMassSigning", "mass: ", "| what | measured |", "|---|---|")
	b.takeOver("Another account's signature of a small PDF beside a backlog, client and server apart", "./server/blackbox", "TestBesideABacklog", "backlog: ", "| what | measured |", "|---|---|")
	b.takeOver("A signature of a small PDF beside requests that people are about to sign, two installations in turns", "./server/blackbox", "TestBesidePeople", "people: ", "| what | measured |", "|---|---|")
	b.takeOver("PAdES-B of 100 KB on several servers with one PostgreSQL and one bucket, each on its share of the cores", "./server/blackbox", "TestSeveralServers", "servers: ")
}

// takeOver runs a test that prints a table, each of its lines behind a mark, and
// takes them over.
func (b *bench) takeOver(title, pkg, test, mark string, head ...string) {
	say("%s", test)
	cmd := exec.Command("go", "test", "-count=1", "-v", "-timeout", "20m", "-run", "^"+test+"$", pkg)
	cmd.Env = append(os.Environ(), "ROGITO_BENCH=1")
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(&b.out, "\n### %s\n\n", title)
	if err != nil || bytes.Contains(out, []byte("--- SKIP")) {
		say("SKIPPED: %s: %v\n%s", test, err, out)
		fmt.Fprintf(&b.out, "Not measured: the measurement ended with an error.\n")
		return
	}
	for _, line := range head {
		fmt.Fprintln(&b.out, line)
	}
	for line := range strings.Lines(string(out)) {
		if row, ok := strings.CutPrefix(line, mark); ok {
			b.out.WriteString(row)
		}
	}
}

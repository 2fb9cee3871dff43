package interop

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
)

// row is what one validator was asked about: a family of files.
type row struct {
	validator, format, level, algorithm string
}

// table counts what the strangers said, for docs/interop.md.
var table = results{counts: map[row][2]int{}}

type results struct {
	mu     sync.Mutex
	counts map[row][2]int // asked, agreed
}

// add records one answer.
func (r *results) add(what row, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[what]
	c[0]++
	if ok {
		c[1]++
	}
	r.counts[what] = c
}

// print writes the table to the file that ROGITO_INTEROP_TABLE names.
func (r *results) print() error {
	path := os.Getenv("ROGITO_INTEROP_TABLE")
	if path == "" || len(r.counts) == 0 {
		return nil
	}
	rows := make([]row, 0, len(r.counts))
	for k := range r.counts {
		rows = append(rows, k)
	}
	sort.Slice(rows, func(i, j int) bool { return fmt.Sprint(rows[i]) < fmt.Sprint(rows[j]) })
	var b strings.Builder
	b.WriteString(head)
	for _, k := range rows {
		c := r.counts[k]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d |\n", k.validator, k.format, k.level, k.algorithm, c[0], c[1])
	}
	b.WriteString(foot)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

const head = `# Interoperability

Printed by ` + "`make interop`" + `: what other implementations said about files that this one
made, and the other way round. "Agreed" means TOTAL-PASSED for DSS (with the test root as trust
anchor, revocation answered on loopback), and a good verification for the others.

| validator | format | level | algorithm or variant | asked | agreed |
|---|---|---|---|---|---|
`

const foot = `
## Not covered, and why

- Ed25519: the policy of DSS does not list it; its files are checked to be intact there.
- LTV (a document security store without a document time-stamp) reads as LT in DSS and is checked by structure.
- OpenSSL verifies value, chain and the signing-certificate attribute at every level, but looks at no time-stamp or OCSP response.
- Bare PKCS #1 values are checked by OpenSSL in the tests of package pkcs1.
- Counter-signatures are judged by DSS alone; no other validator here verifies them.
`

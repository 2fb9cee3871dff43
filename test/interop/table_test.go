package interop

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
)

// row is what one validator was asked about: a family of files.
type row struct {
	validator, format, packaging, level, algorithm string
}

// algorithm is spelled as DSS spells it.
func algorithm(s ades.SignParams) string {
	hash := strings.ReplaceAll(cms.HashFor(s).String(), "-", "")
	switch s.Certificate.PublicKey.(type) {
	case *ecdsa.PublicKey:
		return "ECDSA " + hash
	case ed25519.PublicKey:
		return "Ed25519"
	}
	if s.PSS {
		return "RSASSA_PSS " + hash
	}
	return "RSA " + hash
}

// table counts the verdicts of the other validators, for docs/interop.md.
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

// strangers are the other validators, the columns of the table.
var strangers = []string{"DSS", "pyHanko", "OpenSSL", "pdfsig", "qpdf", "xmlsec1", "veraPDF"}

// print writes the table to the file that ROGITO_INTEROP_TABLE names.
func (r *results) print() error {
	path := os.Getenv("ROGITO_INTEROP_TABLE")
	if path == "" || len(r.counts) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, head, time.Now().UTC().Format("2 January 2006"))
	r.ours(&b)
	r.theirs(&b)
	b.WriteString(foot)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// ours is what the other validators said of our files, a line for each combination.
func (r *results) ours(b *strings.Builder) {
	fmt.Fprintf(b, "| format | packaging or input | level | algorithm | %s |\n|---|---|---|---|%s\n",
		strings.Join(strangers, " | "), strings.Repeat("---|", len(strangers)))
	for _, k := range r.rows(func(validator string) bool { return slices.Contains(strangers, validator) }) {
		fmt.Fprintf(b, "| %s | %s | %s | %s |", k.format, k.packaging, k.level, k.algorithm)
		for _, s := range strangers {
			k.validator = s
			c, asked := r.counts[k]
			switch {
			case !asked:
				b.WriteString(" |")
			case c[0] == c[1]:
				fmt.Fprintf(b, " %d |", c[0])
			default:
				fmt.Fprintf(b, " **%d of %d** |", c[1], c[0])
			}
		}
		b.WriteString("\n")
	}
}

// theirs is our verdict on the files that the others made.
func (r *results) theirs(b *strings.Builder) {
	b.WriteString("\n## What Rogito says of theirs, and others of its reports\n\n| who says | format | input | level | asked | agreed |\n|---|---|---|---|---|---|\n")
	var keys []row
	for k := range r.counts {
		if !slices.Contains(strangers, k.validator) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compare)
	for _, k := range keys {
		c := r.counts[k]
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %d |\n", k.validator, k.format, k.packaging, k.level, c[0], c[1])
	}
}

// rows are the combinations that were tried with the given validators.
func (r *results) rows(of func(validator string) bool) []row {
	seen := map[row]bool{}
	for k := range r.counts {
		if of(k.validator) {
			k.validator = ""
			seen[k] = true
		}
	}
	rows := make([]row, 0, len(seen))
	for k := range seen {
		rows = append(rows, k)
	}
	slices.SortFunc(rows, compare)
	return rows
}

func compare(a, b row) int {
	order := func(level string) int { return slices.Index([]string{"B", "T", "LT", "LTA"}, level) }
	return cmp.Or(
		cmp.Compare(a.validator, b.validator), cmp.Compare(a.format, b.format), cmp.Compare(a.packaging, b.packaging),
		cmp.Compare(a.algorithm, b.algorithm), cmp.Compare(order(a.level), order(b.level)), cmp.Compare(a.level, b.level),
	)
}

const head = `# Interoperability

Written by ` + "`make interop`" + ` on %s: what other implementations said about files that this
one made, and the other way round. A number is how many signatures of that kind were shown, and
that all of them were accepted: TOTAL-PASSED, the level named and no warning for DSS (the test
root as trust anchor, revocation answered on loopback), a good verification for the others. Where
not all were, it says so in bold. An empty cell was not asked.

`

const foot = `
## Not covered, and why

- The CMS row is a signature of OpenSSL that we raised; DSS warns that it lacks the signing-certificate attribute, and is right.
- Ed25519: the policy of DSS does not list it; its files are checked to be intact there.
- LTV (validation data filed under each signature) reads as LT in DSS and is checked by structure.
- OpenSSL verifies value, chain and the signing-certificate attribute at every level, but looks at no time-stamp or OCSP response.
- pyHanko is asked about CAdES at level B only: it judges no CAdES time-stamps beyond T, and knows neither XAdES nor ASiC.
- pdfsig judges signatures, not document time-stamps or trust; xmlsec1 judges the first signature of a file, without its time-stamps, and knows no RSASSA-PSS.
- Detached XAdES is not shown to xmlsec1, which fetches nothing.
- Bare PKCS #1 values are checked by OpenSSL in the tests of package pkcs1.
- Counter-signatures are judged by DSS alone; no other validator here verifies them.
- Files over 100 MB are read by OpenSSL, pdfsig and ourselves: DSS would need more memory than these tests give it.
- Adobe Acrobat and the national validators of the member states cannot be run in a test.
`

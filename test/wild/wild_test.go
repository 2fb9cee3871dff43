package wild

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/trust"
)

// bench is who signs here, and who verifies.
type bench struct {
	pki      *adestest.PKI
	signer   *adestest.Actor
	verifier *rogito.Verifier
}

func newBench(t *testing.T) *bench {
	t.Helper()
	pki := adestest.Must(t, nil)
	b := &bench{pki: pki, signer: pki.Actor(t, "good")}
	store := &trust.Store{Client: pki.HTTP()}
	if err := store.AddAnchors(pki.RootPEM()); err != nil {
		t.Fatal(err)
	}
	b.verifier = &rogito.Verifier{Trust: store, CPU: time.Minute}
	return b
}

func (b *bench) sign(ctx context.Context, data []byte) ([]byte, *rogito.Signed, error) {
	var out bytes.Buffer
	o := rogito.Options{SignParams: b.signer.Signing(b.pki.Now()), Format: ades.PAdES}
	signed, err := rogito.Sign(ctx, rogito.File("paper.pdf", bytes.NewReader(data)), &out, b.signer.Key, o)
	return out.Bytes(), signed, err
}

// verdict is what is said of a signed document, and why.
func (b *bench) verdict(ctx context.Context, data []byte) (valid bool, why string) {
	r, err := b.verifier.Verify(ctx, bytes.NewReader(data), rogito.VerifyOptions{})
	if err != nil {
		return false, err.Error()
	}
	if r.Outcome() == report.OutcomeValid {
		return true, ""
	}
	return false, paper.Verdict(r, paper.English)
}

// TestSlips signs documents with one slip each: every one is signed, is valid,
// and shows what it showed before. Of a slip readers can make different things,
// which no one copy can show; one of them at least shows the same.
func TestSlips(t *testing.T) {
	await.All(t)
	b := newBench(t)
	eyes := newEyes(t)
	tried, anew := 0, 0
	views := map[string]int{}
	for _, base := range slices.Sorted(maps.Keys(bases)) {
		for _, slip := range slices.Sorted(maps.Keys(slips)) {
			d := bases[base]()
			slips[slip](d)
			data := d.bytes()
			tried++
			t.Run(base+"/"+slip, func(t *testing.T) {
				out, signed, err := b.sign(t.Context(), data)
				if err != nil {
					t.Fatalf("not signed: %v", err)
				}
				if len(signed.Anew) > 0 {
					anew++
				}
				if valid, why := b.verdict(t.Context(), out); !valid {
					t.Errorf("not valid: %s", why)
				}
				same, of := eyes.compare(t, data, out)
				views[fmt.Sprintf("%d of %d", same, of)]++
				if same == 0 && of > 0 {
					t.Errorf("all %d readers show something else", of)
				}
			})
		}
		t.Run(base+"/no slip", func(t *testing.T) {
			data := bases[base]().bytes()
			out, signed, err := b.sign(t.Context(), data)
			if err != nil || len(signed.Anew) > 0 || !bytes.HasPrefix(out, data) {
				t.Fatalf("written anew for %v: %v", signed, err)
			}
		})
	}
	t.Logf("%d documents, %d written anew; readers that show the same: %v", tried, anew, views)
	if tried < 200 {
		t.Errorf("%d documents are few", tried)
	}
}

// asked are the documents of the folder that ROGITO_WILD names.
func asked(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("ROGITO_WILD")
	if dir == "" {
		t.Skip("SKIPPED: real documents are signed where ROGITO_WILD names a folder of them (make wild)")
	}
	for _, name := range []string{"pdfinfo", "pdfsig", "pdftotext"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("SKIPPED: poppler's programs are not installed: ", err)
		}
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.EqualFold(filepath.Ext(path), ".pdf") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d documents in ROGITO_WILD: %v", len(files), err)
	}
	return files
}

// goal is how many of a hundred are to be signed, and valid.
const goal = 99.5

// tally counts what became of documents, and why. Names of files are digests of
// theirs; what stands in the documents is never printed.
type tally struct {
	lock    sync.Mutex
	t       *testing.T
	what    string
	of, yes int
	why     map[string][]string
}

func (c *tally) count(name string, ok bool, why string) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.of++
	if ok {
		c.yes++
		return true
	}
	if c.why == nil {
		c.why = map[string][]string{}
	}
	c.why[why] = append(c.why[why], name)
	return false
}

// list says how many there are, and why not the others.
func (c *tally) list() (share float64) {
	c.t.Helper()
	share = 100 * float64(c.yes) / float64(max(c.of, 1))
	c.t.Logf("%s: %d of %d (%.2f %%)", c.what, c.yes, c.of, share)
	for _, why := range slices.Sorted(maps.Keys(c.why)) {
		c.t.Logf("    %d: %s %v", len(c.why[why]), why, c.why[why][:min(8, len(c.why[why]))])
	}
	return share
}

// tell lists, and wants the goal to be reached.
func (c *tally) tell() {
	c.t.Helper()
	if share := c.list(); share < goal {
		c.t.Errorf("%s: %.2f %%, want %.1f", c.what, share, goal)
	}
}

// numbers in a reason tell one document from another, and not what is wrong.
var numbers = regexp.MustCompile(`[0-9]+`)

func reason(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = numbers.ReplaceAllString(s, "#")
	return s[:min(len(s), 160)]
}

// eachWild calls f for the documents that poppler opens, that are not encrypted and
// have no signature, a few at once, and tells how many there are.
func eachWild(t *testing.T, f func(i int, path string, data []byte, info popplerInfo)) {
	t.Helper()
	files := asked(t)
	opened, left := make([]bool, len(files)), make([]bool, len(files))
	var wait sync.WaitGroup
	for worker := range atOnce {
		wait.Go(func() {
			for i := worker; i < len(files); i += atOnce {
				info := poppler(t, files[i])
				if opened[i] = info.opens; !info.opens || info.encrypted || info.signed {
					continue
				}
				data, err := os.ReadFile(files[i])
				if err != nil {
					t.Error(err)
					continue
				}
				// Of an encryption that it cannot read poppler says that there is none, and
				// usage rights, which are signatures too, it does not list.
				if bytes.Contains(data, []byte("/Encrypt ")) || bytes.Contains(data, []byte("/ByteRange")) {
					continue
				}
				left[i] = true
				f(i, files[i], data, info)
			}
		})
	}
	wait.Wait()
	count := func(list []bool) (n int) {
		for _, yes := range list {
			if yes {
				n++
			}
		}
		return n
	}
	t.Logf("%d documents, poppler opens %d, %d are not encrypted and not signed", len(files), count(opened), count(left))
}

// atOnce is how many documents are worked on side by side: most of the time goes
// into programs that are waited for.
const atOnce = 4

// TestWildSigned signs real documents: they are valid here, for poppler and for
// pyHanko, and have the same text and pages.
func TestWildSigned(t *testing.T) {
	asked(t)
	py := python(t)
	b := newBench(t)
	dir := t.TempDir()
	signed, valid := &tally{t: t, what: "signed here"}, &tally{t: t, what: "valid here"}
	pdfsig, hanko := &tally{t: t, what: "valid for pdfsig"}, &tally{t: t, what: "valid for pyHanko"}
	same := &tally{t: t, what: "same text and pages in poppler"}
	shown := &tally{t: t, what: "written anew, and most readers show the same"}
	eyes := programs(t) // PDFium cannot be ended where a page takes it forever
	var lock sync.Mutex
	anew := 0
	var ours [][2]string
	eachWild(t, func(i int, path string, data []byte, info popplerInfo) {
		name := filepath.Base(path)
		out, s, err := b.sign(t.Context(), data)
		if !signed.count(name, err == nil, reason(fmt.Sprint(err))) {
			return
		}
		ok, why := b.verdict(t.Context(), out)
		valid.count(name, ok, reason(why))
		to := filepath.Join(dir, fmt.Sprintf("%d.pdf", i))
		if err := os.WriteFile(to, out, 0o600); err != nil {
			t.Error(err)
			return
		}
		said := program(t, "pdfsig", "-nocert", to)
		pdfsig.count(name, bytes.Contains(said, []byte("Signature is Valid")) && bytes.Contains(said, []byte("Total document signed")), "not valid")
		is := poppler(t, to)
		equal := bytes.Equal(program(t, "pdftotext", "-q", path, "-"), program(t, "pdftotext", "-q", to, "-"))
		same.count(name, equal && is.pages == info.pages, fmt.Sprintf("same text %v, pages %d and %d", equal, info.pages, is.pages))
		if len(s.Anew) > 0 {
			equal, of := eyes.compare(t, data, out)
			shown.count(name, 2*equal >= of, fmt.Sprintf("%d of %d", equal, of))
		}
		lock.Lock()
		defer lock.Unlock()
		ours = append(ours, [2]string{to, name})
		if len(s.Anew) > 0 {
			anew++
		}
	})
	t.Logf("%d were written anew", anew)
	for _, c := range []*tally{signed, valid, pdfsig, same} {
		c.tell()
	}
	shown.list() // of what is damaged readers make different things
	for name, why := range py.validate(t, b, ours) {
		hanko.count(name, why == "", reason(why))
	}
	hanko.tell()
}

// TestWildHonest has pyHanko sign real documents: they are valid here.
func TestWildHonest(t *testing.T) {
	asked(t)
	py := python(t)
	b := newBench(t)
	dir := t.TempDir()
	var lock sync.Mutex
	var pairs [][2]string
	eachWild(t, func(i int, path string, _ []byte, _ popplerInfo) {
		lock.Lock()
		defer lock.Unlock()
		pairs = append(pairs, [2]string{path, filepath.Join(dir, fmt.Sprintf("%d.pdf", i))})
	})
	theirs := &tally{t: t, what: "signed by pyHanko, valid here"}
	unsigned := 0
	for i, why := range py.sign(t, b, dir, pairs) {
		if why != "" {
			unsigned++
			continue
		}
		data, err := os.ReadFile(pairs[i][1])
		if err != nil {
			t.Fatal(err)
		}
		ok, why := b.verdict(t.Context(), data)
		theirs.count(filepath.Base(pairs[i][0]), ok, reason(why))
	}
	t.Logf("pyHanko does not sign %d", unsigned)
	theirs.tell()
}

// popplerInfo is what poppler says of a document.
type popplerInfo struct {
	opens, encrypted, signed bool
	pages                    int
}

func poppler(t *testing.T, path string) (p popplerInfo) {
	t.Helper()
	for line := range strings.Lines(string(program(t, "pdfinfo", path))) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Encrypted":
			p.encrypted = value != "no"
		case "Pages":
			p.pages, _ = strconv.Atoi(value)
			p.opens = true
		}
	}
	if p.opens {
		p.signed = bytes.Contains(program(t, "pdfsig", "-nocert", path), []byte("Signature #"))
	}
	return p
}

// program is the output of one that is given a minute.
func program(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	out, _ := exec.CommandContext(ctx, name, args...).Output()
	return out
}

// run is the output of a program; what it returns does not count, since readers
// complain of what they show.
func run(t *testing.T, data []byte, name string, args ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "paper.pdf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range args {
		if args[i] == "@" {
			args[i] = path
		}
	}
	return program(t, name, args...)
}

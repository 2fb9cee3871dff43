// Package corpus reads the signed documents, mutations and attacks that the
// tests of every format are judged by, with the verdicts that others state for
// them. It is for tests only.
//
// The files are not part of the module: many carry the names of real signers.
// They are looked for where ROGITO_SHARED points to, else in ../shared beside
// the module; a test that does not find them is skipped, and says so.
package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
)

// Shared is a path in the given data. The test is skipped where there is none.
func Shared(t testing.TB, parts ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{root(t)}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: %s is not there: set ROGITO_SHARED to the folder that holds it", filepath.Join(parts...))
	}
	return path
}

// Seeds adds files of the corpus of at most so many bytes to a fuzz target,
// where the corpus is there: a pattern of [filepath.Glob].
func Seeds(f *testing.F, most int, pattern ...string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(append([]string{root(f), "corpus"}, pattern...)...))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil && len(b) <= most {
			f.Add(b)
		}
	}
}

// root of the given data, whether it is there or not.
func root(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("ROGITO_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join(module(t), "..", "shared")
}

// module is the folder of go.mod: tests run in that of their package.
func module(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// Path is a path in the corpus.
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	return Shared(t, append([]string{"corpus"}, parts...)...)
}

// Read reads a file of the corpus.
func Read(t testing.TB, parts ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(Path(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Lines reads a file of the corpus that holds one JSON value a line.
func Lines[T any](t testing.TB, parts ...string) []T {
	t.Helper()
	var out []T
	sc := bufio.NewScanner(bytes.NewReader(Read(t, parts...)))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Case is a document with what is to be said of it.
type Case struct {
	ID        string
	Base      string // of a mutation: the case that it changes
	File      string
	Format    string
	Agreement string // "agree", "asserted", "policy", "oracle", "contested"
	Note      string
	Class     string // of an attack
	Control   bool   // its harmless counterpart
	Inputs    Inputs
	Edit      *Edit
	Expect    Expect
}

// Inputs are needed beside the document.
type Inputs struct {
	Detached []struct{ File, Name string }
	Password string
}

// Edit is the one byte that a mutation changes.
type Edit struct {
	Offset   int
	Old, New byte
}

// Expect is what others say of a case.
type Expect struct {
	Integrity     string
	Signatures    *int
	Valid         *bool `json:"may_be_reported_valid"`
	Scope         string
	Level         string
	LevelOfFirst  string            `json:"level_of_first"`
	LevelsByIndex map[string]string `json:"levels_by_index"`
	Nested        []struct {
		Format, Integrity string
		Signatures        int
	}
	Reports []Report
}

// Report is a verdict with anchors of its own.
type Report struct {
	Of           any
	Indication   string
	Sub          string    `json:"sub_indication"`
	TrustAnchors *[]string `json:"trust_anchors"`
	Time         time.Time `json:"validation_time"`
	Context      string
}

// Manifest lists the signed documents.
func Manifest(t testing.TB) []Case {
	t.Helper()
	return Lines[Case](t, "manifest.jsonl")
}

// Attacks lists the documents that were made to deceive, and their harmless
// counterparts.
func Attacks(t testing.TB) []Case {
	t.Helper()
	return Lines[Case](t, "attacks", "manifest.jsonl")
}

// Mutations lists documents with one byte changed, with format and inputs of
// the case that they change.
func Mutations(t testing.TB) []Case {
	t.Helper()
	bases := map[string]Case{}
	for _, c := range Manifest(t) {
		bases[c.ID] = c
	}
	list := Lines[Case](t, "mutations.jsonl")
	for i := range list {
		base, ok := bases[list[i].Base]
		if !ok {
			t.Fatalf("%s changes nothing that is in the manifest", list[i].ID)
		}
		list[i].Format, list[i].Inputs = base.Format, base.Inputs
	}
	return list
}

// Is reports whether a case is of one of the formats.
func (c Case) Is(formats ...string) bool { return slices.Contains(formats, c.Format) }

// Refused reports whether a case must not be reported as valid.
func (c Case) Refused() bool { return c.Expect.Valid != nil && !*c.Expect.Valid }

// Bytes is the document, with the byte changed where the case is a mutation.
func (c Case) Bytes(t testing.TB) []byte {
	t.Helper()
	b := Read(t, filepath.FromSlash(c.File))
	if c.Edit != nil {
		if b[c.Edit.Offset] != c.Edit.Old {
			t.Fatalf("%s: the file is not the one that the mutation is for", c.ID)
		}
		b[c.Edit.Offset] = c.Edit.New
	}
	return b
}

// Source is Bytes to read from.
func (c Case) Source(t testing.TB) ades.Source {
	t.Helper()
	return bytes.NewReader(c.Bytes(t))
}

// Reading are the inputs of the case.
func (c Case) Reading(t testing.TB) ades.ReadOptions {
	t.Helper()
	in := ades.ReadOptions{Password: c.Inputs.Password}
	for _, d := range c.Inputs.Detached {
		name := d.Name
		if name == "" {
			name = filepath.Base(d.File)
		}
		in.Detached = append(in.Detached, ades.File{Name: name, Source: bytes.NewReader(Read(t, filepath.FromSlash(d.File)))})
	}
	return in
}

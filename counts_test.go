package rogito_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What one person has to know of the service is counted: one more needs a reason, and
// is written down here.
const (
	mostTables = 49 // signers: who is asked to sign, and what they did; templates
	mostMemos  = 13
)

func TestTablesAreCounted(t *testing.T) {
	create := regexp.MustCompile(`(?m)^create table (\w+)`)
	var engines [2][]string
	for i, engine := range []string{"sqlite", "postgres"} {
		paths, err := filepath.Glob(filepath.Join("server", "internal", "store", "migrations", engine, "*.sql"))
		if err != nil || len(paths) == 0 {
			t.Fatal(paths, err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range create.FindAllStringSubmatch(string(b), -1) {
				engines[i] = append(engines[i], m[1])
			}
		}
		slices.Sort(engines[i])
		if n := len(engines[i]); n < 20 || n > mostTables {
			t.Errorf("%s has %d tables, want at most %d", engine, n, mostTables)
		}
	}
	if !slices.Equal(engines[0], engines[1]) {
		t.Errorf("the engines have other tables: %v, %v", engines[0], engines[1])
	}
	t.Logf("%d tables", len(engines[0]))
}

// A cache in memory is an internal/memo.
func TestMemosAreCounted(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^.*\bmemo\.Memo\[.*$`)
	var all []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && skipped(path, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, line := range declared.FindAllString(string(b), -1) {
			if !strings.HasPrefix(line, "func") {
				all = append(all, path+": "+strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 || len(all) > mostMemos {
		t.Errorf("%d memos, want at most %d:\n%s", len(all), mostMemos, strings.Join(all, "\n"))
	}
	t.Logf("%d memos", len(all))
}

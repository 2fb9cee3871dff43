package rogito_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of promises names tests that exist, and leaves out no scenario.
func TestReliabilityPage(t *testing.T) {
	page, err := os.ReadFile("docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9_./-]+) ((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 100 {
		t.Errorf("only %d tests are named", len(named))
	}
	sources := map[string]string{}
	for _, n := range named {
		dir, name := n[1], n[2]
		if _, read := sources[dir]; !read {
			files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
			var all strings.Builder
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				all.Write(b)
			}
			sources[dir] = all.String()
		}
		if !strings.Contains(sources[dir], "\nfunc "+name+"(") {
			t.Errorf("there is no %s in %s", name, dir)
		}
	}
	for _, part := range [][2]int{{1, 42}, {57, 70}} {
		for i := part[0]; i <= part[1]; i++ {
			if !strings.Contains(string(page), fmt.Sprintf("\n| %d |", i)) {
				t.Errorf("scenario %d is missing", i)
			}
		}
	}
}

package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The two linters that most people run have nothing to say.
func TestDocumentLinters(t *testing.T) {
	asked(t)
	dir := npm(t, linters)
	newest, old := fetched(t, "/openapi.json"), fetched(t, "/openapi-3.0.json")
	rules := filepath.Join(t.TempDir(), "spectral.yaml")
	if err := os.WriteFile(rules, []byte("extends: [\"spectral:oas\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("spectral", func(t *testing.T) {
		t.Parallel()
		out := tool(t, dir, dir, "spectral", "lint", "--fail-severity", "hint", "-r", rules, newest, old)
		if !strings.Contains(out, "No results") {
			t.Error(out)
		}
	})
	for _, file := range []string{newest, old} {
		t.Run("redocly "+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			var found struct {
				Totals   struct{ Errors, Warnings int }
				Problems []struct{ RuleID, Message string }
			}
			out := tool(t, dir, dir, "redocly", "lint", "--extends", "recommended", "--format", "json", file)
			at := strings.Index(out, `{`)
			if at < 0 || json.NewDecoder(strings.NewReader(out[at:])).Decode(&found) != nil {
				t.Fatalf("%.500s", out)
			}
			for _, p := range found.Problems {
				t.Errorf("%s: %s", p.RuleID, p.Message)
			}
		})
	}
}

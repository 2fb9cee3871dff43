package servertest

import (
	"bytes"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	Clean()
	os.Exit(code)
}

// The hooks by which tests end a process are in no binary but theirs.
func TestHooksBehindTag(t *testing.T) {
	for _, tags := range [][]string{nil, {"faults"}} {
		b, err := os.ReadFile(Binary(t, tags...))
		if err != nil {
			t.Fatal(err)
		}
		if has := bytes.Contains(b, []byte("ROGITO_TEST_CRASH_AT")); has != (len(tags) > 0) {
			t.Errorf("tags %v: hooks %v", tags, has)
		}
	}
}

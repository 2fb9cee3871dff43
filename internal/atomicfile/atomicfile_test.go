package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := WriteBytes(path, 0o640, []byte("first")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Write(path, 0o600, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("after a failure the file holds %q (%v)", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode is %v (%v)", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, Prefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err := WriteBytes(filepath.Join(dir, "absent", "file"), 0o600, nil); err == nil {
		t.Error("a folder that is not there takes a file")
	}
}

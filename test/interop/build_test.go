package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// built compiles a program of this folder where that is not done yet, each state
// of its sources in a place of its own, and returns java and the class path. Maven
// brings what it needs.
func built(t testing.TB, name string) (java, classes string) {
	t.Helper()
	mvn := tool(t, "mvn")
	java = tool(t, "java")
	var sources bytes.Buffer
	for _, f := range []string{"pom.xml", "src/main/java/" + name + "/Main.java"} {
		text, err := os.ReadFile(filepath.Join(name, filepath.FromSlash(f)))
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	state := sha256.Sum256(sources.Bytes())
	dir := filepath.Join(cache, "rogito-"+name, hex.EncodeToString(state[:8]))
	if _, err := os.Stat(filepath.Join(dir, "lib")); err != nil {
		if err := os.CopyFS(dir, os.DirFS(name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		build := exec.CommandContext(t.Context(), mvn, "-q", "-B", "package", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=new")
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s cannot be built: %v\n%s", name, err, out)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "lib")); err != nil {
			t.Fatal(err)
		}
	}
	return java, filepath.Join(dir, "lib", "*") + string(os.PathListSeparator) + filepath.Join(dir, "target", name+"-1.jar")
}

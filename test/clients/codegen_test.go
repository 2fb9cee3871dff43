package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The releases that are tested with. openapi-generator up to 7.16 forgets an
// import where a form has a list of files and no single one.
const (
	oapiCodegen    = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
	oapiRuntime    = "github.com/oapi-codegen/runtime@v1.8.0"
	generatorJar   = "org.openapitools:openapi-generator-cli:7.25.0"
	generatorNeeds = "urllib3==2.7.0 python-dateutil==2.9.0.post0 pydantic==2.12.5 typing-extensions==4.15.0"
)

// goModule lets the go command take modules from outside.
var goModule = []string{"GOFLAGS=-mod=mod", "CGO_ENABLED=0", "GOWORK=off"}

// fetchedOnce runs a command that brings something to this machine; where it
// cannot, the test is skipped.
func fetchedOnce(t testing.TB, what, dir string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), goModule...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: %s cannot be had: %v: %s", what, err, out[max(0, len(out)-1500):])
	}
}

// program is a folder with a main package of testdata and room for the package
// api that it is built on.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	main, err := os.ReadFile(filepath.Join("testdata", name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"main.go": string(main), "go.mod": "module example.org/signs\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "api"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// oapi-codegen with its defaults: types, client, server and the document itself.
func TestOAPICodegen(t *testing.T) {
	t.Parallel()
	asked(t)
	dir := program(t, "oapi")
	bin := kept(t, oapiCodegen)
	tool := filepath.Join(bin, "oapi-codegen")
	if _, err := os.Stat(tool); err != nil {
		cmd := exec.CommandContext(t.Context(), "go", "install", oapiCodegen)
		cmd.Env = append(os.Environ(), append([]string{"GOBIN=" + bin}, goModule...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s cannot be had: %v: %s", oapiCodegen, err, out[max(0, len(out)-1500):])
		}
	}
	run(t, dir, nil, tool, "-package", "api", "-o", "api/api.go", fetched(t, "/openapi.json"))
	fetchedOnce(t, oapiRuntime, dir, "go", "get", oapiRuntime)
	run(t, dir, goModule, "go", "mod", "tidy")
	signed(t, run(t, dir, append(environment(t), goModule...), "go", "run", "."))
}

// generate runs openapi-generator, which Maven brings once.
func generate(t *testing.T, language, dir string) {
	t.Helper()
	asked(t)
	for _, name := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %s is not tried: %v", generatorJar, err)
		}
	}
	part := strings.Split(generatorJar, ":")
	keep := kept(t, generatorJar)
	jar := filepath.Join(keep, part[1]+"-"+part[2]+".jar")
	if _, err := os.Stat(jar); err != nil {
		fetchedOnce(t, generatorJar, "", "mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy", "-Dartifact="+generatorJar, "-DoutputDirectory="+keep)
	}
	run(t, "", nil, "java", "-jar", jar, "generate", "-i", fetched(t, "/openapi.json"), "-g", language, "-o", dir, "--package-name", "rogitoapi")
}

// openapi-generator for Go, with its defaults.
func TestOpenAPIGeneratorGo(t *testing.T) {
	t.Parallel()
	asked(t)
	dir, out := program(t, "generator"), t.TempDir()
	generate(t, "go", out)
	files, err := filepath.Glob(filepath.Join(out, "*.go"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		if err := os.Rename(file, filepath.Join(dir, "api", filepath.Base(file))); err != nil {
			t.Fatal(err)
		}
	}
	fetchedOnce(t, "what the package is built on", dir, "go", "mod", "tidy")
	signed(t, run(t, dir, append(environment(t), goModule...), "go", "run", "."))
}

// openapi-generator for Python, with its defaults.
func TestOpenAPIGeneratorPython(t *testing.T) {
	t.Parallel()
	asked(t)
	out := t.TempDir()
	generate(t, "python", out)
	bin := virtual(t, generatorNeeds, "urllib3, dateutil, pydantic")
	signed(t, run(t, "", append(environment(t), "PYTHONPATH="+out), bin, filepath.Join("testdata", "openapi_generator.py")))
}

package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// copied is a client of this repository in a folder of its own, where models are
// generated and built.
func copied(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "clients", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// modules has a folder find what npm installed.
func modules(t *testing.T, installed, dir string) {
	t.Helper()
	if err := os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
}

func signed(t *testing.T, out string) {
	t.Helper()
	if !regexp.MustCompile(`signed [0-9a-f]{24}`).MatchString(out) {
		t.Errorf("it did not say what it signed: %s", out)
	}
}

// openapi-typescript and openapi-fetch: the client of clients/typescript, built
// under every strictness that there is.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	asked(t)
	installed := npm(t, generators)
	dir := copied(t, "typescript")
	modules(t, installed, dir)
	tool(t, installed, dir, "openapi-typescript", fetched(t, "/openapi.json"), "-o", "src/schema.ts")
	tool(t, installed, dir, "tsc", "-p", ".")
	signed(t, run(t, dir, environment(t), "node", "dist/test/against-server.js"))
}

// @hey-api/openapi-ts: what it generates, with the fewest lines around it.
func TestHeyAPIClient(t *testing.T) {
	t.Parallel()
	asked(t)
	installed := npm(t, generators)
	dir := t.TempDir()
	modules(t, installed, dir)
	script, err := os.ReadFile(filepath.Join("testdata", "hey.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"hey.ts": string(script), "package.json": `{"type":"module"}`,
		"tsconfig.json": `{"compilerOptions":{"target":"es2022","module":"esnext","moduleResolution":"bundler","strict":true,"skipLibCheck":true,"types":["node"],"outDir":"dist"},"include":["hey.ts"]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tool(t, installed, dir, "openapi-ts", "-i", fetched(t, "/openapi.json"), "-o", "sdk", "-c", "@hey-api/client-fetch", "--silent")
	tool(t, installed, dir, "tsc", "-p", ".")
	// Its modules name one another without an extension, which Node.js asks for.
	if err := os.WriteFile(filepath.Join(dir, "dist", "loader.mjs"), []byte(`
export async function resolve(name, from, next) {
  for (const end of ["", ".js", "/index.js"]) {
    try { return await next(name + end, from); } catch (e) { if (end === "/index.js") throw e; }
  }
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dist", "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	signed(t, run(t, dir, environment(t), "node", "--no-warnings", "--experimental-loader", "./dist/loader.mjs", "dist/hey.js"))
}

// openapi-python-client: the package that the generator makes, installed by pip,
// and the client of clients/python with it inside, installed too.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	asked(t)
	bin := python(t)
	document := fetched(t, "/openapi.json")
	env := []string{"PATH=" + filepath.Dir(bin) + string(os.PathListSeparator) + os.Getenv("PATH")}
	whole := filepath.Join(t.TempDir(), "whole")
	run(t, "", env, bin, "-m", "openapi_python_client", "generate", "--path", document, "--meta", "setup", "--fail-on-warning", "--output-path", whole)
	site := filepath.Join(t.TempDir(), "site")
	install := func(dir, target string) {
		run(t, dir, env, bin, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "--no-compile", "--target", target, ".")
	}
	install(whole, site)
	run(t, whole, []string{"PYTHONPATH=" + site}, bin, "-c", "import rogito_client.api.signatures.sign_automatic")

	dir := copied(t, "python")
	if err := os.CopyFS(filepath.Join(dir, "src", "rogito_client", "generated"), os.DirFS(filepath.Join(whole, "rogito_client"))); err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(t.TempDir(), "ours")
	install(dir, ours)
	signed(t, run(t, dir, append(environment(t), "PYTHONPATH="+ours), bin, "test/against_server.py"))
}

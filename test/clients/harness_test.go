// Package clients tests what others build on the API with: the OpenAPI document
// by its linters and generators, the clients of this repository, the collection
// of requests and the examples, each against the real binary. `make openapi` and
// `make clients` run it.
package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/servertest"
)

// asked says that these tests are to run: `make openapi` and `make clients` do.
func asked(t testing.TB) {
	t.Helper()
	if os.Getenv("ROGITO_KITS") == "" {
		t.Skip("SKIPPED: documents and clients are tested by `make openapi` and `make clients` (ROGITO_KITS=1)")
	}
}

var server struct {
	sync.Once
	cmd  *exec.Cmd
	dir  string
	url  string
	log  bytes.Buffer
	box  sandbox
	fail error
}

// sandbox is what sandbox.json has.
type sandbox struct {
	BaseURL       string `json:"base_url"`
	Email         string
	APIKey        string `json:"api_key"`
	Token         string
	WebhookSecret string `json:"webhook_secret"`
	Certificates  map[string]struct{ Username, Password, TotpSecret string }
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.cmd != nil && server.cmd.Process != nil {
		_ = server.cmd.Process.Kill()
		_ = server.cmd.Wait()
	}
	if server.dir != "" {
		_ = os.RemoveAll(server.dir)
	}
	os.Exit(code)
}

// running is a server in a sandbox that all tests share: the real binary, which
// may call receivers on this machine.
func running(t testing.TB) (url string, box sandbox) {
	t.Helper()
	asked(t)
	server.Do(func() { server.fail = start() })
	if server.fail != nil {
		t.Fatalf("%v: %s", server.fail, server.log.String())
	}
	return server.url, server.box
}

func start() error {
	var err error
	if server.dir, err = os.MkdirTemp("", "rogito-clients"); err != nil {
		return err
	}
	binary, err := servertest.Build()
	if err != nil {
		return err
	}
	addr, err := servertest.Address()
	if err != nil {
		return err
	}
	data := filepath.Join(server.dir, "data")
	server.url = "http://" + addr
	server.cmd = exec.Command(binary, "serve", "--listen", addr, "--data", data, "--allow-private", "127.0.0.1")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROGITO_") { // it would be taken for a setting
			server.cmd.Env = append(server.cmd.Env, v)
		}
	}
	server.cmd.Env = append(server.cmd.Env, "ROGITO_TRUST_LISTS=false", "ROGITO_LIMITS_RESERVE=-1")
	server.cmd.Stdout, server.cmd.Stderr = &server.log, &server.log
	if err := server.cmd.Start(); err != nil {
		return err
	}
	for range await.Within(await.Limit) {
		resp, err := http.Get(server.url + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			b, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
			if err != nil {
				return err
			}
			return json.Unmarshal(b, &server.box)
		}
	}
	return fmt.Errorf("the server is not ready")
}

// fetched is a document of the server in a file.
func fetched(t testing.TB, path string) string {
	t.Helper()
	base, _ := running(t)
	resp, err := http.Get(base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
	file := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The releases that are tested with.
const (
	linters    = "@stoplight/spectral-cli@6.16.3 @redocly/cli@2.73.0"
	generators = "openapi-typescript@7.13.0 openapi-fetch@0.17.0 @hey-api/openapi-ts@0.95.0 typescript@5.9.3 @types/node@20.19.43"
	pyGen      = "openapi-python-client==0.29.1 ruff==0.17.4 setuptools==80.9.0"
)

// kept is a folder of the user's cache for what is installed once.
func kept(t testing.TB, what string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(what))
	return filepath.Join(cache, "rogito-clients", hex.EncodeToString(sum[:6]))
}

// npm is a folder whose node_modules holds the packages. Install scripts do not
// run: none of them is needed.
func npm(t testing.TB, packages string) string {
	t.Helper()
	asked(t)
	dir := kept(t, packages)
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"install", "--no-audit", "--no-fund", "--no-progress", "--ignore-scripts", "--prefix", dir}, strings.Fields(packages)...)
	if out, err := exec.Command("npm", args...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: %s cannot be installed: %v: %s", packages, err, out)
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tool runs a program of an npm package.
func tool(t testing.TB, dir, where, name string, args ...string) string {
	t.Helper()
	return run(t, where, nil, filepath.Join(dir, "node_modules", ".bin", name), args...)
}

// python is an interpreter of an environment with the generator.
func python(t testing.TB) string {
	t.Helper()
	return virtual(t, pyGen, "openapi_python_client, httpx, attrs, setuptools")
}

// virtual is an interpreter of an environment with packages, made once, in which
// the modules can be imported.
func virtual(t testing.TB, packages, modules string) string {
	t.Helper()
	asked(t)
	dir := kept(t, packages)
	bin := filepath.Join(dir, "bin", "python")
	if exec.Command(bin, "-c", "import "+modules).Run() == nil {
		return bin
	}
	install := append([]string{bin, "-m", "pip", "install", "-q", "--disable-pip-version-check"}, strings.Fields(packages)...)
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", dir}, install} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s cannot be installed: %v: %s", packages, err, out)
		}
	}
	return bin
}

// run runs a program that must succeed.
func run(t testing.TB, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out[max(0, len(out)-6000):])
	}
	return string(out)
}

// environment is what the scripts of clients/ ask for.
func environment(t testing.TB) []string {
	t.Helper()
	url, box := running(t)
	sample, err := filepath.Abs(filepath.Join("..", "..", "sample", "contract.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"ROGITO_URL=" + url, "ROGITO_TOKEN=" + box.Token, "ROGITO_WEBHOOK_SECRET=" + box.WebhookSecret, "ROGITO_DOCUMENT=" + sample,
		"ROGITO_USERNAME=" + box.Certificates["automatic"].Username, "ROGITO_PASSWORD=" + box.Certificates["automatic"].Password,
	}
}

package wild

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// pyHanko is the release that is tested with.
const pyHanko = "pyhanko==0.38.0"

// interpreter is one of Python with pyHanko.
type interpreter string

// python is installed once into a folder that is kept.
func python(t *testing.T) interpreter {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "rogito-wild", "pyhanko-0.38.0")
	bin := filepath.Join(dir, "bin", "python")
	if exec.Command(bin, "-c", "import pyhanko.sign.signers, pyhanko_certvalidator").Run() == nil {
		return interpreter(bin)
	}
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", dir}, {bin, "-m", "pip", "install", "-q", "--disable-pip-version-check", pyHanko}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s cannot be installed: %v: %s", pyHanko, err, out)
		}
	}
	return interpreter(bin)
}

// ask has several processes of testdata/strangers.py work on the documents that stand under a key,
// side by side. It returns one text for each: empty if all went well.
func ask[T any](t *testing.T, py interpreter, key string, files []T, more map[string]string) []string {
	t.Helper()
	said := make([]string, len(files))
	var wait sync.WaitGroup
	var failed atomic.Bool
	for part := range atOnce {
		from, to := part*len(files)/atOnce, (part+1)*len(files)/atOnce
		q := map[string]any{key: files[from:to]}
		for k, v := range more {
			q[k] = v
		}
		wait.Go(func() {
			in, err := json.Marshal(q)
			if err != nil {
				failed.Store(true)
				t.Error(err)
				return
			}
			cmd := exec.CommandContext(t.Context(), string(py), filepath.Join("testdata", "strangers.py"))
			cmd.Stdin = bytes.NewReader(in)
			var complaints bytes.Buffer
			cmd.Stderr = &complaints
			out, err := cmd.Output()
			var answers []string
			if err == nil {
				err = json.Unmarshal(out, &answers)
			}
			if err != nil || len(answers) != to-from {
				failed.Store(true)
				t.Errorf("pyHanko: %d answers for %d documents, %v: %.2000s", len(answers), to-from, err, complaints.Bytes())
				return
			}
			copy(said[from:to], answers)
		})
	}
	wait.Wait()
	if failed.Load() {
		t.FailNow()
	}
	return said
}

// validate says of each document, by its name, why it is not valid.
func (py interpreter) validate(t *testing.T, b *bench, files [][2]string) map[string]string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(root, b.pki.RootPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := make([]string, len(files))
	for i := range files {
		paths[i] = files[i][0]
	}
	out := map[string]string{}
	for i, why := range ask(t, py, "validate", paths, map[string]string{"root": root}) {
		out[files[i][1]] = why
	}
	return out
}

// sign signs pairs of input and output, and says of each why it did not.
func (py interpreter) sign(t *testing.T, b *bench, dir string, files [][2]string) []string {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(b.signer.Key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, blocks ...*pem.Block) string {
		var out bytes.Buffer
		for _, block := range blocks {
			if err := pem.Encode(&out, block); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := b.signer.Signing(b.pki.Now())
	chain := []*pem.Block{}
	for _, c := range s.Chain {
		chain = append(chain, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	return ask(t, py, "sign", files, map[string]string{
		"key":  write("key.pem", &pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"cert": write("cert.pem", &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate.Raw}), "chain": write("chain.pem", chain...),
	})
}

//go:build linux

package abuse_test

import (
	"crypto/ecdsa"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/memory/memorytest"
	"software.sslmate.com/src/go-pkcs12"
)

// A minute after its use (here: some seconds after the key was to be dropped),
// with a little traffic since, neither the password nor the private key is in
// the memory of the process. While the key is held it is there, which shows
// that the search finds what there is.
func TestSecretsLeaveMemory(t *testing.T) {
	await.All(t)
	t.Parallel()
	p := newProgram(t, "")
	p.Start("ROGITO_SIGNING_HOLD=15s") // a busy machine takes seconds for what follows
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.Cmd.Process.Pid))
	if err != nil || !regexp.MustCompile(`Max core file size +0 +0 `).Match(limits) {
		t.Errorf("core dumps are on: %s %v", limits, err)
	}
	const password = "canary-memory-password-5150"
	file, _ := pfx(t, "P256", password)
	out, err := p.Command("cert", "import", p.Box().Email, "automatic", writeFile(t, "key.p12", file), "--username", "ida", "--password-file", writeFile(t, "pw", []byte(password+"\n")))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	secrets := map[string][]byte{"password": []byte(password)}
	for name, b := range privateOf(t, file, password) {
		secrets[name] = b
	}
	who := p.Box().Certificates["automatic"]
	who.Username, who.Password = "ida", password
	for _, o := range []m{nil, {"asyncSignature": true}, {"level": "T"}} {
		r := p.PostAs(who, o, "")
		if r == nil {
			t.Fatal("not accepted")
		}
		p.Finish([]string{r.ID})
	}
	during := memorytest.Find(t, p.Cmd.Process.Pid, secrets)
	if during["key"]+during["key, words"] == 0 {
		t.Errorf("the search does not find a key that is held: %v", during)
	}
	for range await.Within(5 * time.Second) {
		resp, err := http.Get("http://" + p.Addr + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	var after map[string]int
	for range await.Within(2 * time.Minute) { // the key is dropped, and the collector comes round in its own time
		if after = memorytest.Find(t, p.Cmd.Process.Pid, secrets); sum(after) == 0 {
			break
		}
	}
	t.Logf("while held %v, afterwards %v", during, after)
	if sum(after) != 0 {
		t.Errorf("still in memory: %v", after)
	}
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// privateOf are the forms in which a private key may lie in memory.
func privateOf(t *testing.T, file []byte, password string) map[string][]byte {
	t.Helper()
	k, _, _, err := pkcs12.DecodeChain(file, password)
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	words := slices.Clone(d)
	slices.Reverse(words)
	return map[string][]byte{"key": d, "key, words": words}
}

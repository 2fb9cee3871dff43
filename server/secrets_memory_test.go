//go:build linux

package server

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/memory"
)

// memoryOf searches what a process may write to for secrets; it returns how
// often each was found.
func memoryOf(t *testing.T, pid int, secrets map[string][]byte) map[string]int {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Skipf("SKIPPED: memory of other processes cannot be read here: %v", err)
	}
	defer mem.Close()
	found, read := map[string]int{}, 0
	for sc := bufio.NewScanner(maps); sc.Scan(); {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(sc.Text(), "%x-%x %s", &from, &to, &mode); err != nil || !strings.HasPrefix(mode, "rw") {
			continue
		}
		buf := make([]byte, 1<<20+512)
		for at := from; at < to; at += 1 << 20 {
			n, _ := mem.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
			read += n
			for name, secret := range secrets {
				found[name] += bytes.Count(buf[:n], secret)
			}
		}
	}
	if read < 1<<20 {
		t.Fatalf("only %d bytes were read", read)
	}
	return found
}

// A minute after its use (here: some seconds after the key was to be dropped),
// with a little traffic since, neither the password nor the private key is in
// the memory of the process. While the key is held it is there, which shows
// that the search finds what there is.
func TestSecretsLeaveMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: long")
	}
	t.Parallel()
	p := newProgram(t, "")
	p.start("ROGITO_SIGNING_HOLD=15s") // a busy machine takes seconds for what follows
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.cmd.Process.Pid))
	if err != nil || !regexp.MustCompile(`Max core file size +0 +0 `).Match(limits) {
		t.Errorf("core dumps are on: %s %v", limits, err)
	}
	const password = "canary-memory-password-5150"
	file, _ := pfx(t, "P256", password)
	out, err := p.command("cert", "import", p.box().Email, "automatic", writeFile(t, "key.p12", file), "--username", "ida", "--password-file", writeFile(t, "pw", []byte(password+"\n")))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	secrets := map[string][]byte{"password": []byte(password)}
	for name, b := range privateOf(t, file, password) {
		secrets[name] = b
	}
	who := p.box().Certificates["automatic"]
	who.Username, who.Password = "ida", password
	for _, o := range []m{nil, {"asyncSignature": true}, {"level": "T"}} {
		r := p.postAs(who, o, "")
		if r == nil {
			t.Fatal("not accepted")
		}
		p.settle([]string{r.ID})
	}
	during := memoryOf(t, p.cmd.Process.Pid, secrets)
	if during["key"]+during["key, words"] == 0 {
		t.Errorf("the search does not find a key that is held: %v", during)
	}
	for range await.Within(5 * time.Second) {
		resp, err := http.Get("http://" + p.addr + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	var after map[string]int
	for end := time.Now().Add(2 * time.Minute); ; await.Pause() { // the key is dropped, and the collector comes round in its own time
		after = memoryOf(t, p.cmd.Process.Pid, secrets)
		if sum(after) == 0 || time.Now().After(end) {
			break
		}
	}
	t.Logf("while held %v, afterwards %v", during, after)
	if sum(after) != 0 {
		t.Errorf("still in memory: %v", after)
	}
}

// What nobody refers to any more is overwritten by a scrub, whatever its size.
func TestScrub(t *testing.T) {
	mask := func(b []byte) []byte { // so that the search itself leaves no trace of it
		out := make([]byte, len(b))
		for i := range b {
			out[i] = b[i] ^ 0x5a
		}
		return out
	}
	hidden := mask([]byte("canary-in-the-heap"))
	leave := func() {
		var keep [][]byte
		for _, size := range []int{18, 24, 100, 1000, 5000, 40_000, 300_000} {
			for range 200 {
				b := make([]byte, size)
				copy(b[size-18:], hidden)
				for i := range 18 {
					b[size-18+i] ^= 0x5a
				}
				keep = append(keep, b)
			}
		}
		runtime.KeepAlive(keep)
	}
	count := func() int {
		n := 0
		needle := mask(hidden)
		for _, v := range memoryOf(t, os.Getpid(), map[string][]byte{"canary": needle}) {
			n += v
		}
		clear(needle)
		return n
	}
	leave()
	before := count()
	begin := time.Now()
	memory.Scrub()
	took := time.Since(begin)
	after := count()
	t.Logf("%d before, %d after, in %v", before, after, took)
	if before < 500 {
		t.Errorf("the search found only %d", before)
	}
	if after > before/20 { // the needle itself, and what other goroutines hold places beside
		t.Errorf("%d are left of %d", after, before)
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

package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// volume is a real file system of its own, in a file: it can be filled, made
// read-only, and copied as a power cut would leave it.
type volume struct {
	t     *testing.T
	image string
	dir   string
}

// newVolume makes one of some megabytes. It needs root and loop devices.
func newVolume(t *testing.T, megabytes int64) *volume {
	t.Helper()
	v := &volume{t: t, image: filepath.Join(t.TempDir(), "image")}
	f, err := os.Create(v.image)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(megabytes << 20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-m", "0", v.image).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: no file system of our own: %v %s", err, out)
	}
	v.mount("loop,commit=300,errors=remount-ro") // only what is synced is written
	return v
}

func (v *volume) mount(options string) {
	v.t.Helper()
	v.dir = v.t.TempDir()
	if out, err := exec.Command("mount", "-o", options, v.image, v.dir).CombinedOutput(); err != nil {
		v.t.Skipf("SKIPPED, NOT TESTED: cannot mount: %v %s", err, out)
	}
	dir := v.dir
	v.t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			v.t.Errorf("umount: %v %s", err, out)
		}
	})
}

// cut is the volume as it would be after a power cut now: what was not synced
// is not there.
func (v *volume) cut() *volume {
	v.t.Helper()
	after := &volume{t: v.t, image: filepath.Join(v.t.TempDir(), "image")}
	if out, err := exec.Command("cp", "--sparse=always", v.image, after.image).CombinedOutput(); err != nil {
		v.t.Fatalf("copy: %v %s", err, out)
	}
	after.mount("loop,commit=300,errors=remount-ro")
	return after
}

// fill leaves next to nothing free; empty gives it back.
func (v *volume) fill() {
	v.t.Helper()
	f, err := os.Create(filepath.Join(v.dir, "ballast"))
	if err != nil {
		v.t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10, 1} {
		for block := bytes.Repeat([]byte{1}, size); ; {
			if _, err := f.Write(block); err != nil {
				break
			}
		}
	}
	_ = f.Sync()
}

func (v *volume) empty() {
	v.t.Helper()
	if err := os.Remove(filepath.Join(v.dir, "ballast")); err != nil {
		v.t.Fatal(err)
	}
}

// programOn is the real binary with its data on a volume, and its database there
// too or where it is said.
func programOn(t *testing.T, v *volume, database string) *program {
	t.Helper()
	p := newProgram(t, database)
	keepAt(p, filepath.Join(v.dir, "data"))
	return p
}

// keepAt gives the program another data folder.
func keepAt(p *program, dir string) {
	p.Args[slices.Index(p.Args, "--data")+1] = dir
	p.Data = dir
}

// answerTo is the status and code of an answer, whatever it is; 0 without one.
func answerTo(p *program, method, path string, body any) (status, code int) {
	var rd io.Reader
	if body != nil {
		j, _ := json.Marshal(body)
		rd = bytes.NewReader(j)
	}
	req, err := http.NewRequest(method, "http://"+p.Addr+path, rd)
	if err != nil {
		p.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.Box().Token)
	resp, err := (&http.Client{Timeout: 20 * time.Second}).Do(req)
	if err != nil {
		return 0, 0
	}
	defer resp.Body.Close()
	var a struct{ Error *int }
	if json.NewDecoder(resp.Body).Decode(&a) == nil && a.Error != nil {
		code = *a.Error
	}
	return resp.StatusCode, code
}

func signBody(p *program, doc []byte, o m) m {
	c := p.Box().Certificates["automatic"]
	return m{"inputDocuments": b64(doc), "certificateUsername": c.Username, "certificatePassword": c.Password, "options": o}
}

// A disk that is really full (no reserve is kept here): new work is refused
// with a code, nothing half written can be seen, reading goes on, and when there
// is room again the same process works as before.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	await.All(t)
	v := newVolume(t, 96)
	p := programOn(t, v, "")
	p.Start()
	before := post(p, m{}, "")
	if before == nil || before.State != "DONE" {
		t.Fatalf("%+v", before)
	}
	large := append(bytes.Clone(sitetest.SamplePDF), bytes.Repeat([]byte("%\n"), 500_000)...)
	v.fill()
	refused := 0
	for i := range 12 {
		o := []m{{}, {"asyncSignature": true}, {"asyncDocumentsValidation": true}}[i%3]
		doc := sitetest.SamplePDF
		if i%2 == 1 {
			doc = large
		}
		switch status, code := answerTo(p, "POST", "/EU-QES_automatic", signBody(p, doc, o)); {
		case status == 200: // it fitted into what was allocated already
		case (status == 503 || status == 507) && code == 105:
			refused++
		default:
			t.Errorf("%d/%d on a full disk, want 503 with 105", status, code)
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: the disk was not full")
	}
	if status, _ := answerTo(p, "GET", "/signatures/"+before.ID, nil); status != 200 {
		t.Errorf("reading a record: %d", status)
	}
	v.empty()
	await.Until(t, "it signs with room again", func() bool {
		after := post(p, m{}, "")
		return after != nil && after.State == "DONE"
	})
	settleAll(p)
	p.Kill()
	p.Account("")
	examine(p)
}

// settleAll waits until no record of the account is on its way.
func settleAll(p *program) {
	p.T.Helper()
	await.Until(p.T, "no record waits", func() bool { return count(p, "WAIT_VALIDATION")+count(p, "WAIT_SIGN") == 0 })
}

func count(p *program, state string) int {
	p.T.Helper()
	req, _ := http.NewRequest("GET", "http://"+p.Addr+"/signatures?limit=100&state="+state, nil)
	req.Header.Set("Authorization", "Bearer "+p.Box().Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct{ Data []record }
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != 200 {
		p.T.Fatalf("%d %v", resp.StatusCode, err)
	}
	n := 0
	for _, r := range a.Data {
		if r.State == state {
			n++
		}
	}
	return n
}

// examine has rogito doctor and rogito audit verify look at the installation.
func examine(p *program) {
	p.T.Helper()
	for _, args := range [][]string{{"doctor"}, {"audit", "verify"}} {
		if out, err := p.Command(args...); err != nil {
			p.T.Errorf("rogito %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// A file system that turns read-only: not ready within five seconds, nothing new is
// acknowledged, the process lives and hands out what it has.
func TestReadOnlyFileSystem(t *testing.T) {
	await.All(t)
	v := newVolume(t, 96)
	p := programOn(t, v, "")
	p.Start()
	if r := post(p, m{}, ""); r == nil || r.State != "DONE" {
		t.Fatalf("%+v", r)
	}
	if err := v.breakDown(); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: cannot make it read-only: %v", err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for range await.Within(await.Limit) {
		if status, _ := answerTo(p, "GET", "/readyz", nil); status == 503 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("still ready after five seconds")
		}
	}
	for _, o := range []m{{}, {"asyncSignature": true}, {"asyncDocumentsValidation": true}} {
		if status, code := answerTo(p, "POST", "/EU-QES_automatic", signBody(p, sitetest.SamplePDF, o)); status != 503 || code != 105 {
			t.Errorf("%v: %d/%d, want 503 with 105", o, status, code)
		}
	}
	if status, _ := answerTo(p, "GET", "/healthz", nil); status != 200 {
		t.Errorf("healthz: %d", status)
	}
	if status, _ := answerTo(p, "GET", "/signatures", nil); status != 200 {
		t.Errorf("reading: %d", status)
	}
}

// breakDown has the kernel find the file system broken: it becomes read-only at
// once, under open files.
func (v *volume) breakDown() error {
	device, err := exec.Command("findmnt", "-no", "SOURCE", v.dir).Output()
	if err != nil {
		return err
	}
	name := filepath.Base(strings.TrimSpace(string(device)))
	return os.WriteFile("/sys/fs/ext4/"+name+"/trigger_fs_error", []byte("a test\n"), 0o200)
}

// A power cut at a random moment of the load, again and again: whatever was not
// synced is gone, and still everything acknowledged is there and comes to its
// end, doctor finds nothing wrong and the audit verifies. PostgreSQL is on another
// machine, which has its power: what it knows of must be on the disk here.
func TestPowerCut(t *testing.T) {
	await.All(t)
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = storetest.Postgres(t)
			}
			cutAgainAndAgain(t, database)
		})
	}
}

// stopped says whether all threads of a process are stopped, and no system call is under way.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	return !slices.ContainsFunc(threads, func(path string) bool {
		b, err := os.ReadFile(path)
		return err == nil && !strings.HasPrefix(string(b[bytes.LastIndexByte(b, ')')+1:]), " T ")
	})
}

func cutAgainAndAgain(t *testing.T, database string) {
	rounds := 2
	if soaking() {
		rounds = 25
	}
	size := int64(192)
	if database != "" { // every process that is killed leaves the rest of its pack, some megabytes, for a day
		size = 768
	}
	v := newVolume(t, size)
	p := programOn(t, v, database)
	p.Start()
	var mu sync.Mutex
	var ids []string
	acknowledged := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(ids)
	}
	for range rounds {
		until := len(ids) + 1 + rand.N(40)
		stop := load(6, func(i int) bool {
			o := []m{{}, {"asyncSignature": true}, {"asyncDocumentsValidation": true, "level": "T"}}[i%3]
			if r := post(p, o, ""); r != nil {
				mu.Lock()
				ids = append(ids, r.ID)
				mu.Unlock()
			}
			return true
		})
		await.Until(t, "enough is acknowledged", func() bool { return len(acknowledged()) >= until })
		if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "every thread stands still", func() bool { return stopped(t, p.Cmd.Process.Pid) })
		known := acknowledged()
		after := v.cut()
		if database != "" { // both would write to it
			if err := p.Cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		} else if err := p.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		stop()
		q := programOn(t, after, database)
		examine(q)
		q.Start()
		q.Finish(known)
		q.Kill()
		intents, signatures := q.Account(database)
		if signatures < len(known) || intents < signatures {
			t.Errorf("%d acknowledged, %d signatures, %d intents", len(known), signatures, intents)
		}
		t.Logf("power cut after %d acknowledged: all there, %d signatures, %d intents", len(known), signatures, intents)
		if database != "" {
			p.Kill()
			p, v = q, after
			p.Start()
		}
	}
}

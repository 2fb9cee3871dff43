package forgery

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/trust"
)

// repeated compresses a head and n bytes of a pattern.
func repeated(head, pattern string, n int) string {
	var z bytes.Buffer
	w, _ := zlib.NewWriterLevel(&z, zlib.BestCompression)
	_, _ = w.Write([]byte(head))
	block := strings.Repeat(pattern, 1+(1<<16)/len(pattern))
	for ; n > 0; n -= len(block) {
		_, _ = w.Write([]byte(block))
	}
	w.Close()
	return z.String()
}

// bombs are small documents that want to become large: in memory, or in work.
func bombs(m *materials) map[string][]byte {
	signed := m.signOne("contract.pdf", pdf(), nil)
	out := map[string][]byte{}
	flate := func(dict, data string) string { return content("/Filter/FlateDecode"+dict, data) }

	// Cross-reference streams with millions of entries, free and in use.
	for name, pattern := range map[string]string{"xref, free": "\x00\x00\x00\x00", "xref, in use": "\x01\x00\x10\x00", "xref, mixed": "\x01\x00\x10\x00\x02\x00\x04\x01"} {
		u := pdfUpdateOf(signed)
		at := u.object(50, 0, flate(fmt.Sprintf("/Type/XRef/W[1 2 1]/Size 9000000/Index[60 9000000]/Root 1 0 R/Prev %d", u.prev), repeated("", pattern, 60<<20)))
		u.end(at)
		out[name] = slices.Concat(signed, u.Bytes())
	}
	// Many tables that share one large stream.
	u := pdfUpdateOf(signed)
	stm := u.object(50, 0, flate("/Type/XRef/W[1 2 1]/Size 9000000/Index[60 300000]", repeated("", "\x01\x00\x10\x00", 1200000)))
	for range 2000 {
		u.extra = fmt.Sprintf("/XRefStm %d", stm)
		at := u.here()
		u.table("0 0\n")
		u.prev = at
	}
	out["xref, shared"] = slices.Concat(signed, u.Bytes())

	// Object streams full of blanks, all named.
	u = pdfUpdateOf(signed)
	var rows [][3]int
	for i := range 6 {
		rows = append(rows, [3]int{1, u.object(50+i, 0, flate("/Type/ObjStm/N 1/First 8", repeated(fmt.Sprintf("%d 0    ", 85+i), " ", 60<<20))), 0})
	}
	for i := range 6 {
		rows = append(rows, [3]int{2, 50 + i, 0})
	}
	at := u.here()
	rows = append(rows, [3]int{1, at, 0})
	u.size = 200
	u.stream(80, "50 6 85 6 80 1", rows)
	u.end(at)
	out["object streams"] = slices.Concat(signed, u.Bytes())

	// A catalog that is a large tree of tiny objects.
	for name, tiny := range map[string]string{"dictionaries": "<<>>", "arrays": "[]", "numbers": "777 ", "keys": "/A 1"} {
		u = pdfUpdateOf(signed)
		tree := "[" + strings.Repeat(tiny, 12<<20/len(tiny)) + "]"
		if name == "keys" {
			tree = "<<" + strings.Repeat(tiny, 12<<20/len(tiny)) + ">>"
		}
		at := u.object(1, 0, "<</Type/Catalog/Pages 2 0 R/AcroForm 6 0 R/X"+tree+">>")
		u.table("1 1\n" + line(at, 0, 'n'))
		out["tree of "+name] = slices.Concat(signed, u.Bytes())
	}

	// Revocation lists in the security store that inflate.
	u = pdfUpdateOf(signed)
	crls := ""
	list := repeated("", "0\x23\x02\x12\x01", 60<<20)
	lines := ""
	for i := range 40 {
		at := u.object(50+i, 0, flate("", list))
		crls += fmt.Sprintf("%d 0 R ", 50+i)
		lines += line(at, 0, 'n')
	}
	at = u.object(90, 0, "<</Type/DSS/CRLs["+crls+"]>>")
	cat := u.object(1, 0, "<</Type/Catalog/Pages 2 0 R/AcroForm 6 0 R/DSS 90 0 R>>")
	u.size = 100
	u.table("50 41\n" + lines + line(at, 0, 'n') + "1 1\n" + line(cat, 0, 'n'))
	out["revocation lists"] = slices.Concat(signed, u.Bytes())

	for _, name := range []string{"META-INF/signatures.xml", "data.bin"} {
		out["zip, "+name] = zipBomb(name)
	}
	return out
}

// zipBomb is a container in which one file inflates to a gigabyte.
func zipBomb(large string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.CreateHeader(&zip.FileHeader{Name: "mimetype", Method: zip.Store})
	_, _ = io.WriteString(w, "application/vnd.etsi.asic-e+zip")
	for _, name := range []string{"data.bin", "META-INF/signatures.xml"} {
		if name == large {
			const size = 1 << 30
			sum, block := uint32(0), make([]byte, 1<<20)
			for range size / len(block) {
				sum = crc32.Update(sum, crc32.IEEETable, block)
			}
			packed := inflating(size)
			w, _ := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, Flags: 0x8, CRC32: sum, CompressedSize64: uint64(len(packed)), UncompressedSize64: size})
			_, _ = w.Write(packed)
			continue
		}
		w, _ := z.Create(name)
		_, _ = io.WriteString(w, `<asic:XAdESSignatures xmlns:asic="http://uri.etsi.org/02918/v1.2.1#"/>`)
	}
	z.Close()
	return b.Bytes()
}

// TestBombs sends many bombs at once to a server of its own, in the default configuration: a
// hundred with ROGITO_TEST_SOAK=1. Its memory stays bounded, every request gets an answer, none of
// them is an internal error, and another caller is served meanwhile.
func TestBombs(t *testing.T) {
	await.All(t)
	m := &materials{t: t, service: &shared}
	all := allBombs(m)
	s := shared
	s.dir = t.TempDir()
	s.root = filepath.Join(s.dir, "roots.pem")
	if err := os.WriteFile(s.root, append(m.pki.RootPEM(), pemOfCertificate(bombRoot)...), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, err := s.serve()
	defer stop()
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(all))
	good := m.signOne("contract.pdf", pdf(), nil)
	for _, name := range someOf(names) { // each by itself: at most 5 s of processor
		before := cpu(t, s.process)
		if status := s.post(t, all[name]); status != http.StatusOK && status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", name, status)
		}
		used := cpu(t, s.process) - before
		t.Logf("%-24s %8d bytes, %5d ms of processor, peak %d MB", name, len(all[name]), used.Milliseconds(), peak(t, s.process)>>20)
		if used > 5*yardstick.Second() {
			t.Errorf("%s costs %v of processor", name, used)
		}
	}
	at := 24
	if os.Getenv("ROGITO_TEST_SOAK") != "" {
		at = 100
	}
	var running sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(at))
	for i := range at {
		running.Add(1)
		go func() {
			defer running.Done()
			defer left.Add(-1)
			name := names[i%len(names)]
			switch status := s.post(t, all[name]); status {
			case http.StatusOK, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable:
			default:
				t.Errorf("%s among others: %d", name, status)
			}
		}()
	}
	served := 0
	for left.Load() > 0 {
		if v := s.overHTTP(t, specimen{name: "another caller", data: good}); v.OverallVerified {
			served++
		} else {
			t.Errorf("another caller is told %v", v)
		}
		res, err := s.client.Get(s.base + "/healthz")
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("/healthz: %v, %v", res, err)
			break
		}
		res.Body.Close()
	}
	running.Wait()
	most := peak(t, s.process) >> 20
	t.Logf("peak %d MB, another caller was answered %d times meanwhile", most, served)
	if most > 700 {
		t.Errorf("the server took %d MB", most)
	}
	if served == 0 {
		t.Error("nobody else was served")
	}
}

// post sends a document for verification and returns the status.
func (s *service) post(t *testing.T, data []byte) int {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	w, err := form.CreateFormFile("inputDocument", "bomb.bin")
	if err != nil {
		t.Error(err)
		return 0
	}
	_, _ = w.Write(data)
	_ = form.WriteField("recursive", "true")
	_ = form.WriteField("withPlainDocument", "false")
	form.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/verify", &body)
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := s.client.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// peak is the most memory that a process ever had, in bytes.
func peak(t *testing.T, p *os.Process) (n int64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
	if err != nil {
		t.Skipf("SKIPPED: no /proc: %v", err)
	}
	_, text, _ := strings.Cut(string(b), "VmHWM:")
	_, _ = fmt.Sscan(text, &n)
	return n << 10
}

// cpu is the processor time of a process; the kernel counts in hundredths.
func cpu(t *testing.T, p *os.Process) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	if err != nil {
		t.Skipf("SKIPPED: no /proc: %v", err)
	}
	_, text, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(text)
	var user, system int64
	_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// TestHangUp: a caller who hangs up stops the work, in whatever parser it is.
// What counts is the processor time that is spent after the call was given up:
// 100 ms is what a look at the context between two steps costs at most, and as
// much again twice over is left for the collector. The least of three counts,
// since the collector and a busy machine only ever add to it.
func TestHangUp(t *testing.T) {
	await.All(t)
	m := &materials{t: t, service: &shared}
	const most = 300 * time.Millisecond
	all := allBombs(m)
	for _, name := range someOf(slices.Sorted(maps.Keys(all))) {
		b := all[name]
		for _, after := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
			least, quicker := time.Duration(math.MaxInt64), false
			for try := 0; try < 3 && least > most && !quicker; try++ {
				spent, err := hangUp(t, b, after)
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
				least, quicker = min(least, spent), err == nil
			}
			if least > most {
				t.Errorf("%s: %v of processor after the caller had hung up at %v", name, least, after)
			}
			if quicker {
				break
			}
		}
	}
}

// someOf is a third of the bombs, another each time; all with ROGITO_TEST_SOAK=1.
func someOf(names []string) (some []string) {
	turn := rand.IntN(3)
	for i, name := range names {
		if i%3 == turn || os.Getenv("ROGITO_TEST_SOAK") != "" {
			some = append(some, name)
		}
	}
	return some
}

// hangUp verifies b, hangs up after so much processor time, and says how much
// more was spent.
func hangUp(t *testing.T, b []byte, after time.Duration) (spent time.Duration, err error) {
	t.Helper()
	store := &trust.Store{Client: http.DefaultClient}
	if err := store.AddAnchor(bombRoot.Certificate.Raw); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, ended := ownTime(), make(chan struct{})
	hungUp := make(chan time.Duration, 1)
	go func() {
		for ownTime()-began < after {
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
		hungUp <- ownTime()
		cancel()
	}()
	_, err = (&rogito.Verifier{Trust: store}).Verify(ctx, bytes.NewReader(b), rogito.VerifyOptions{Recursive: true})
	now := ownTime()
	close(ended)
	select {
	case at := <-hungUp:
		return now - at, err
	default:
		return 0, err
	}
}

// ownTime is the processor time of this process.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func pemOfCertificate(p *party) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate.Raw})
}

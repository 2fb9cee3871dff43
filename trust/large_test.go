package trust_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	xpkix "crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

// lister is an authority that publishes one revocation list and nothing else.
type lister struct {
	Root          []byte
	Good, Revoked [][]byte // certificates
	URL           string
	key           *ecdsa.PrivateKey
	name          []byte
	fetched       atomic.Int64
	file          string
}

func newLister(t *testing.T) *lister {
	t.Helper()
	l := &lister{file: filepath.Join(t.TempDir(), "list")}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.fetched.Add(1)
		http.ServeFile(w, r, l.file)
	}))
	t.Cleanup(srv.Close)
	l.URL = srv.URL
	var err error
	if l.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: xpkix.Name{Country: []string{"IT"}, CommonName: "Large Root"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
	}
	if l.Root, err = x509.CreateCertificate(rand.Reader, root, root, l.key.Public(), l.key); err != nil {
		t.Fatal(err)
	}
	parsed, _ := x509.ParseCertificate(l.Root)
	l.name = parsed.RawSubject
	issue := func(serial int64) []byte {
		tpl := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: xpkix.Name{Country: []string{"IT"}, CommonName: fmt.Sprint("Holder ", serial)},
			KeyUsage: x509.KeyUsageContentCommitment, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 6, 0), CRLDistributionPoints: []string{l.URL + "/list"},
		}
		der, err := x509.CreateCertificate(rand.Reader, tpl, parsed, l.key.Public(), l.key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	for i := range int64(3) {
		l.Good, l.Revoked = append(l.Good, issue(firstSerial/3+i*1_000_003)), append(l.Revoked, issue(firstSerial+i*7))
	}
	return l
}

const firstSerial = 1 << 56

// publish signs a list of n entries by hand: crypto/x509 would take gigabytes.
func (l *lister) publish(t *testing.T, n int, pemBlock string) int {
	t.Helper()
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		addECDSA(b)
		b.AddBytes(l.name)
		b.AddASN1UTCTime(time.Now().Add(-time.Minute).UTC())
		b.AddASN1UTCTime(time.Now().Add(24 * time.Hour).UTC())
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
			entry := append([]byte{0x30, 0x19, 0x02, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0x17, 0x0d}, time.Now().Add(-time.Hour).UTC().Format("060102150405Z")...)
			for i := range uint64(n) {
				big := firstSerial + i
				for k := range 8 {
					entry[4+k] = byte(big >> (56 - 8*k))
				}
				b.AddBytes(entry)
			}
		})
	})
	tbs := b.BytesOrPanic()
	digest := sha256.Sum256(tbs)
	sig, err := ecdsa.SignASN1(rand.Reader, l.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	var whole cryptobyte.Builder
	whole.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(tbs)
		addECDSA(b)
		b.AddASN1BitString(sig)
	})
	out := whole.BytesOrPanic()
	size := len(out)
	if pemBlock != "" {
		out = pem.EncodeToMemory(&pem.Block{Type: pemBlock, Bytes: out})
	}
	if err := os.WriteFile(l.file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return size
}

func addECDSA(b *cryptobyte.Builder) {
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes([]byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02})
	})
}

func (l *lister) store(t testing.TB, dir string) *trust.Store {
	t.Helper()
	s := &trust.Store{Client: http.DefaultClient, Cache: &trust.Cache{Dir: dir}}
	if err := s.AddAnchor(l.Root); err != nil {
		t.Fatal(err)
	}
	return s
}

func (l *lister) expect(t testing.TB, s *trust.Store, i int) {
	t.Helper()
	if got := judge(s, l.Good[i], nil, time.Now(), policy.Default()); got.Indication != report.Passed {
		t.Errorf("good: %s %s %v", got.Indication, got.SubIndication, got.Messages)
	}
	if got := judge(s, l.Revoked[i], nil, time.Now(), policy.Default()); !strings.HasPrefix(string(got.SubIndication), "REVOKED") {
		t.Errorf("revoked: %s %s %v", got.Indication, got.SubIndication, got.Messages)
	}
}

// Lists on both sides of the line between memory and disk, bare and as PEM,
// with a folder and without: the same answers, fetched once.
func TestListsLieOnDisk(t *testing.T) {
	for _, n := range []int{20, 30_000} {
		for _, armour := range []string{"", "X509 CRL"} {
			for _, dir := range []string{"", t.TempDir()} {
				l := newLister(t)
				size := l.publish(t, n, armour)
				s := l.store(t, dir)
				for i := range l.Good {
					l.expect(t, s, i)
				}
				files, _ := filepath.Glob(filepath.Join(dir, "*.crl"))
				if dir != "" && (len(files) == 1) != (size > 1<<18) {
					t.Errorf("%d entries: %d files", n, len(files))
				}
				if dir != "" && n > 1000 { // the next process starts from the disk
					l.expect(t, l.store(t, dir), 0)
				}
				if got := l.fetched.Load(); got != 1 {
					t.Errorf("%d entries, %q, %q: fetched %d times", n, armour, dir, got)
				}
			}
		}
	}
}

// A list on disk that was changed, cut or lengthened says nothing any more.
func TestDamagedListOnDisk(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"changed":    func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"cut":        func(b []byte) []byte { return b[:len(b)-100] },
		"lengthened": func(b []byte) []byte { return append(b, 0) },
		"emptied":    func([]byte) []byte { return nil },
	} {
		l, dir := newLister(t), t.TempDir()
		l.publish(t, 30_000, "")
		l.expect(t, l.store(t, dir), 0)
		files, _ := filepath.Glob(filepath.Join(dir, "*.crl"))
		if len(files) != 1 {
			t.Fatalf("%d files", len(files))
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[0], damage(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(l.file); err != nil { // and the authority is away
			t.Fatal(err)
		}
		for _, leaf := range [][]byte{l.Good[0], l.Revoked[0]} {
			if got := judge(l.store(t, dir), leaf, nil, time.Now(), policy.Default()); got.Indication != report.Indeterminate {
				t.Errorf("%s: %s %s", name, got.Indication, got.SubIndication)
			}
		}
	}
}

// A list that never ends is cut at its limit and leaves nothing behind.
func TestEndlessList(t *testing.T) {
	dir := t.TempDir()
	l := newLister(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := bytes.Repeat([]byte{0x30}, 1<<20)
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	s := l.store(t, dir)
	s.Client = &http.Client{Transport: redirecting{srv.URL}}
	if got := judge(s, l.Good[0], nil, time.Now(), policy.Default()); got.Indication != report.Indeterminate {
		t.Errorf("%s", got.Indication)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// What is large and no list leaves nothing behind either.
func TestLargeButNoList(t *testing.T) {
	dir := t.TempDir()
	l := newLister(t)
	if err := os.WriteFile(l.file, bytes.Repeat([]byte{0x30}, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := judge(l.store(t, dir), l.Good[0], nil, time.Now(), policy.Default()); got.Indication != report.Indeterminate {
		t.Errorf("%s", got.Indication)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}

type redirecting struct{ to string }

func (r redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	again, err := http.NewRequestWithContext(req.Context(), req.Method, r.to, req.Body)
	if err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(again)
}

// A level that carries a large list says how much the document grows.
func TestLargeListIsAnnounced(t *testing.T) {
	l := newLister(t)
	size := l.publish(t, 60_000, "")
	told := int64(0)
	g := &trust.Gatherer{Store: l.store(t, t.TempDir()), Large: func(_ context.Context, subject string, n int64) {
		if !strings.Contains(subject, "Holder") {
			t.Errorf("about %s", subject)
		}
		told += n
	}}
	got, err := g.Gather(context.Background(), [][]byte{l.Good[0]}, ades.Bundle{})
	if err != nil || len(got.CRLs) != 1 || len(got.CRLs[0]) != size || told != int64(size) {
		t.Errorf("%d lists, told of %d bytes of %d, %v", len(got.CRLs), told, size, err)
	}
}

const largeListEnv = "ROGITO_TEST_LARGE_LIST"

// A list of sixty megabytes: the process that judges by it grows by no more
// than 32 MB, and the next looks do not read the list again from its beginning
// to its end: the same certificates are looked up in a fiftieth of the time that
// the first look took (measured: 60 µs of 1.3 s), others in a third (16 ms).
func TestSixtyMegabytesOfList(t *testing.T) {
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skip("SKIPPED: needs /proc to measure memory")
	}
	l := newLister(t)
	if size := l.publish(t, 2_400_000, ""); size < 60<<20 {
		t.Fatalf("only %d bytes", size)
	}
	arg, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSixtyMegabytesWorker$", "-test.v")
	cmd.Env = append(os.Environ(), largeListEnv+"="+base64.StdEncoding.EncodeToString(arg), "ROGITO_TEST_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Errorf("%v: %s", err, out)
	}
	t.Logf("%s", out)
	if n := l.fetched.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

// TestSixtyMegabytesWorker is the process that TestSixtyMegabytesOfList
// measures.
func TestSixtyMegabytesWorker(t *testing.T) {
	text := os.Getenv(largeListEnv)
	if text == "" {
		t.Skip("runs as a process of TestSixtyMegabytesOfList")
	}
	arg, _ := base64.StdEncoding.DecodeString(text)
	l := new(lister)
	if err := json.Unmarshal(arg, l); err != nil {
		t.Fatal(err)
	}
	s := l.store(t, os.Getenv("ROGITO_TEST_DIR"))
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := peak(t)
	begin := time.Now()
	l.expect(t, s, 0)
	first := time.Since(begin)
	grown := peak(t) - before
	t.Logf("grown by %d KB", grown)
	if grown > 32<<10 {
		t.Errorf("grown by %d KB", grown)
	}
	look := func(i int) time.Duration {
		begin := time.Now()
		judge(s, l.Good[i], nil, time.Now(), policy.Default())
		return time.Since(begin)
	}
	same, others := min(look(0), look(0), look(0)), look(1)
	t.Logf("the first look %v, the same certificates %v, others %v", first, same, others)
	if same > first/50 || others > first/3 {
		t.Errorf("the first look took %v, the same certificates %v, others %v", first, same, others)
	}
}

// peak is the most memory the process has had, in KB.
func peak(t *testing.T) int {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if rest, ok := strings.CutPrefix(sc.Text(), "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

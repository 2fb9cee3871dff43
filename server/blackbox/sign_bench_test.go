package blackbox

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/store/storetest"
)

// signer is a server with certificates of its sandbox.
type signer struct {
	n            *node
	token        string
	Certificates map[string]struct{ Username, Password string }
	client       *http.Client
}

func newSigner(b *testing.B, e storetest.Engine) *signer {
	b.Helper()
	s := &signer{n: newNode(b, onEngine(b, e)), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	s.n.start()
	s.token = sandbox(b, s.n.args[1]).Token
	text, err := os.ReadFile(filepath.Join(s.n.args[1], "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// sign sends documents in one request and returns the id of the record. Several
// are signed one by one, not merged into one.
func (s *signer) sign(kind string, docs ...string) (id string, err error) {
	c := s.Certificates[kind]
	a, err := call(s.client, "POST", s.n.url()+"/EU-QES_"+kind, map[string]any{
		"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password,
		"options": map[string]any{"batch": len(docs) > 1},
	}, "Authorization", bearer(s.token))
	if err != nil {
		return "", err
	}
	var record struct{ ID, State string }
	if err := json.Unmarshal(a.Data, &record); err != nil || a.Status != http.StatusOK || record.State != "DONE" {
		return "", fmt.Errorf("%d: %.300s", a.Status, a.Body)
	}
	return record.ID, nil
}

// signedIn counts the signed documents in the answer to a batch.
func (s *signer) signedIn(b *testing.B, id string) int {
	b.Helper()
	req, err := http.NewRequest("GET", s.n.url()+"/signatures/"+id+"/signedDocument", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", bearer(s.token))
	resp, err := s.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			b.Fatal(err)
		}
		if bytes.Contains(text, []byte("/ETSI.CAdES.detached")) {
			n++
		}
	}
	return n
}

// used is the processor time of the server; the database of its own is not in it.
func (s *signer) used(b *testing.B) time.Duration { return processorOf(b, s.n.cmd.Process.Pid) }

// processorOf is the processor time of a process so far.
func processorOf(t testing.TB, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skip("SKIPPED: no /proc to read processor times from")
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const ticks = 100 // a second, on every Linux
	return time.Duration(user+system) * time.Second / ticks
}

// peak is the largest resident memory of the server so far, in MB.
func (s *signer) peak(b testing.TB) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.n.cmd.Process.Pid))
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	if err != nil || !ok {
		b.Skip("SKIPPED: no /proc to read memory from")
	}
	kb, _ := strconv.Atoi(strings.Fields(rest)[0])
	return float64(kb) / 1024
}

// document is a PDF of that many bytes, most of them one stream, in base64.
func document(size int) string {
	var b bytes.Buffer
	var offsets []int
	for i, o := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", size, strings.Repeat("q Q\n", size/4)),
	} {
		if i == 0 {
			b.WriteString("%PDF-1.7\n")
		}
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	b.WriteString("xref\n0 5\n0000000000 65535 f \n")
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", start)
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// BenchmarkSign signs a PDF of 100 KB a request, with durable records, on both
// engines: RSA-2048 with the automatic certificate, P-256 with the seal's.
func BenchmarkSign(b *testing.B) {
	doc := document(100_000)
	for _, e := range storetest.Engines() {
		s := newSigner(b, e)
		for key, kind := range map[string]string{"RSA-2048": "automatic", "P-256": "eseal"} {
			b.Run(e.Name+"/"+key, func(b *testing.B) {
				if _, err := s.sign(kind, doc); err != nil { // the key is unlocked now
					b.Fatal(err)
				}
				b.SetParallelism(8)
				before := s.used(b)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := s.sign(kind, doc); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "signed/s")
				if used := s.used(b) - before; used > 0 {
					b.ReportMetric(float64(b.N)/used.Seconds(), "signed/cpu-s")
				}
			})
		}
	}
}

// BenchmarkSignMany signs a thousand small documents in one request, and looks
// whether there are a thousand signatures.
func BenchmarkSignMany(b *testing.B) {
	const many = 1000
	docs := make([]string, many)
	for i := range docs {
		docs[i] = document(1000 + 4*i)
	}
	for _, e := range storetest.Engines() {
		b.Run(e.Name, func(b *testing.B) {
			s := newSigner(b, e)
			before := s.used(b)
			b.ResetTimer()
			var id string
			for range b.N {
				var err error
				if id, err = s.sign("automatic", docs...); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			used := s.used(b) - before
			if n := s.signedIn(b, id); n != many {
				b.Fatalf("%d documents signed of %d", n, many)
			}
			b.ReportMetric(float64(many*b.N)/b.Elapsed().Seconds(), "signed/s")
			b.ReportMetric(float64(many*b.N)/used.Seconds(), "signed/cpu-s")
		})
	}
}

// BenchmarkSignLarge signs a hundred PDFs of 10 MB at once and reports the peak
// of the server's memory.
func BenchmarkSignLarge(b *testing.B) {
	const parallel = 100
	doc := document(10_000_000)
	for _, e := range storetest.Engines() {
		b.Run(e.Name, func(b *testing.B) {
			s := newSigner(b, e)
			b.ResetTimer()
			for range b.N {
				done := make(chan error, parallel)
				for range parallel {
					go func() { _, err := s.sign("automatic", doc); done <- err }()
				}
				for range parallel {
					if err := <-done; err != nil {
						b.Error(err)
					}
				}
			}
			b.ReportMetric(float64(parallel*b.N)/b.Elapsed().Seconds(), "signed/s")
			b.ReportMetric(s.peak(b), "peak-MB")
		})
	}
}

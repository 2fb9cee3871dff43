package verification

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/trust"
)

// drain is a client that reads answers and keeps the status only.
type drain struct {
	header http.Header
	status int
	size   int
}

func (n *drain) Header() http.Header         { return n.header }
func (n *drain) WriteHeader(status int)      { n.status = status }
func (n *drain) Write(b []byte) (int, error) { n.size += len(b); return len(b), nil }

func benchPDF(size int) []byte {
	var b bytes.Buffer
	var offsets []int
	add := func(s string) { offsets = append(offsets, b.Len()); b.WriteString(s) }
	b.WriteString("%PDF-1.7\n")
	add("1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n")
	add("2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n")
	add("3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R >>\nendobj\n")
	add(fmt.Sprintf("4 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n", size, strings.Repeat("q Q\n", size/4)))
	start := b.Len()
	b.WriteString("xref\n0 5\n0000000000 65535 f \n")
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", start)
	return b.Bytes()
}

func benchSign(b *testing.B, pki *adestest.PKI, store *trust.Store, level ades.Level) []byte {
	b.Helper()
	a := pki.Actor(b, "good")
	signing := a.Signing(pki.Now())
	d, err := pades.Prepare(context.Background(), bytes.NewReader(benchPDF(200<<10)), signing, pades.Options{Stamped: level > ades.LevelB})
	if err != nil {
		b.Fatal(err)
	}
	value, err := d.Value(a.Key)
	if err != nil {
		b.Fatal(err)
	}
	var out, raised bytes.Buffer
	if err := d.Finish(&out, value); err != nil {
		b.Fatal(err)
	}
	if level == ades.LevelB {
		return out.Bytes()
	}
	r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: &trust.Gatherer{Store: store}, Time: pki.Now()}
	if err := pades.Augment(context.Background(), bytes.NewReader(out.Bytes()), &raised, r); err != nil {
		b.Fatal(err)
	}
	return raised.Bytes()
}

// BenchmarkVerifyHTTP is POST /verify without the network; test/bench sets it beside the library.
func BenchmarkVerifyHTTP(b *testing.B) {
	pki := adestest.Must(b, time.Now)
	store := &trust.Store{Client: pki.HTTP()}
	if err := store.AddAnchor(pki.Root.Raw); err != nil {
		b.Fatal(err)
	}
	a := api.New(api.Options{Gate: anyGate{}})
	RegisterVerify(a, &Verify{Verifier: &rogito.Verifier{Trust: store}, MaxDocument: 10 << 20})
	handler := a.Handler()
	for _, level := range []ades.Level{ades.LevelB, ades.LevelLT} {
		doc := benchSign(b, pki, store, level)
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("inputDocument", "a.pdf")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := part.Write(doc); err != nil {
			b.Fatal(err)
		}
		if err := w.WriteField("withPlainDocument", "false"); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		text := base64.StdEncoding.EncodeToString(doc)
		for _, c := range []struct{ name, contentType, body string }{
			{"json", "application/json", `{"inputDocument":"` + text + `"}`},
			{"json, no plain", "application/json", `{"inputDocument":"` + text + `","withPlainDocument":false}`},
			{"multipart, no plain", w.FormDataContentType(), form.String()},
		} {
			b.Run("PAdES-"+level.String()+" "+c.name, func(b *testing.B) {
				once := func() {
					req, err := http.NewRequest(http.MethodPost, "/verify", io.NopCloser(strings.NewReader(c.body)))
					if err != nil {
						b.Fatal(err)
					}
					req.ContentLength = int64(len(c.body))
					req.Header.Set("Content-Type", c.contentType)
					n := &drain{header: http.Header{}, status: 200}
					handler.ServeHTTP(n, req)
					if n.status != 200 || n.size < 500 {
						b.Fatalf("%d, %d bytes", n.status, n.size)
					}
				}
				once()
				b.ReportAllocs()
				start := yardstick.Processor()
				for b.Loop() {
					once()
				}
				b.ReportMetric(float64(b.N)/(yardstick.Processor()-start).Seconds(), "verifications/cpu-s")
			})
		}
	}
}

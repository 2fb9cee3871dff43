//go:build unix

package pades

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/yardstick"
)

// BenchmarkRaw is the bare key operation, to set the others against.
func BenchmarkRaw(b *testing.B) {
	pki := adestest.Must(b, nil)
	for _, who := range []string{"good", "p256"} {
		key := pki.Actor(b, who).Key
		digest := sha256.Sum256([]byte("x"))
		b.Run(who, func(b *testing.B) {
			b.ReportAllocs()
			defer onCPU(b)()
			for b.Loop() {
				if _, err := key.Sign(rand.Reader, digest[:], crypto.SHA256); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSign makes PAdES-B of a document of 100 KB.
func BenchmarkSign(b *testing.B) {
	pki := adestest.Must(b, nil)
	doc := simplePDF(100 << 10)
	for _, who := range []string{"good", "p256"} {
		a := pki.Actor(b, who)
		p, o := a.Signing(pki.Now()), Options{Reason: "benchmark"}
		b.Run(who, func(b *testing.B) {
			b.ReportAllocs()
			defer onCPU(b)()
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				d, err := Prepare(context.Background(), bytes.NewReader(doc), p, o)
				if err != nil {
					b.Fatal(err)
				}
				value, err := d.Value(a.Key)
				if err != nil {
					b.Fatal(err)
				}
				if err := d.Finish(&sink{}, value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead reads PAdES-B and LT of 200 KB.
func BenchmarkRead(b *testing.B) {
	pki := adestest.Must(b, nil)
	a := pki.Actor(b, "good")
	for _, level := range []ades.Level{ades.LevelB, ades.LevelLT} {
		var out bytes.Buffer
		r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki}
		err := sign(context.Background(), bytes.NewReader(simplePDF(200<<10)), &out, a.Key, a.Signing(pki.Now()), Options{}, r)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(level.String(), func(b *testing.B) {
			b.ReportAllocs()
			defer onCPU(b)()
			for b.Loop() {
				doc, err := Read(context.Background(), bytes.NewReader(out.Bytes()), ades.ReadOptions{})
				if err != nil || doc.Signatures[0].Intact() != ades.Yes {
					b.Fatal(err)
				}
			}
		})
	}
}

// onCPU reports the processor time of an operation, which is what to compare
// on a machine that has other work.
func onCPU(b *testing.B) func() {
	start := yardstick.Processor()
	return func() { b.ReportMetric(float64(yardstick.Processor()-start)/float64(b.N), "cpu-ns/op") }
}

// pagesPDF is a document of n pages: tables of many objects.
func pagesPDF(n int) []byte {
	b := newBuilder()
	b.object(1, "<</Type/Catalog/Pages 2 0 R>>")
	kids := ""
	for i := range n {
		page, contents := 3+2*i, 4+2*i
		kids += fmt.Sprintf("%d 0 R ", page)
		b.object(page, fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R>>", contents))
		b.stream(contents, "", fmt.Sprintf("BT %d 0 Td ET", i))
	}
	b.object(2, fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids, n))
	return b.table("/Root 1 0 R/ID[<01020304><05060708>]")
}

// deflatedPDF is a document of about n bytes of compressed content.
func deflatedPDF(n int) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	for i := 0; z.Len() < n; i++ {
		fmt.Fprintf(w, "BT /F1 %d Tf %d %d Td (%x) Tj ET\n", i%13, i*31%577, i*77%801, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		if i%100 == 0 {
			_ = w.Flush()
		}
	}
	_ = w.Close()
	b := newBuilder()
	b.object(1, "<</Type/Catalog/Pages 2 0 R>>")
	b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	b.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>")
	b.stream(4, "/Filter/FlateDecode", z.String())
	b.object(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	return b.table("/Root 1 0 R/ID[<01020304><05060708>]")
}

package rogito_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/yardstick"
)

// bigPDF is a PDF of about size bytes, most of it one stream.
func bigPDF(size int) []byte {
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

func bigXML(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`<doc xmlns="urn:x">`)
	for b.Len() < size {
		fmt.Fprintf(&b, "<line n=\"%d\">some text of a line, so many words</line>\n", b.Len())
	}
	b.WriteString("</doc>")
	return b.Bytes()
}

// BenchmarkVerify verifies with warm caches; test/bench does the same beside others.
func BenchmarkVerify(b *testing.B) {
	noise := make([]byte, 100<<10)
	for i := range noise {
		noise[i] = byte(rand.N(256))
	}
	for _, c := range []struct {
		name, format string
		level        ades.Level
		content      []byte
		online       bool
	}{
		{"PAdES-B-200KB", "pades", ades.LevelB, bigPDF(200 << 10), true},
		{"PAdES-LT-200KB", "pades", ades.LevelLT, bigPDF(200 << 10), false},
		{"PAdES-LTA-200KB", "pades", ades.LevelLTA, bigPDF(200 << 10), false},
		{"CAdES-B-100KB", "cades", ades.LevelB, noise, true},
		{"CAdES-LT-100KB", "cades", ades.LevelLT, noise, false},
		{"XAdES-B-50KB", "xades", ades.LevelB, bigXML(50 << 10), true},
		{"XAdES-LT-50KB", "xades", ades.LevelLT, bigXML(50 << 10), false},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newStage(b)
			a := s.pki.Actor(b, "good")
			doc := s.signContent(c.format, a, a.Signing(s.now), c.level, c.content)
			v := s.verifier(c.online)
			verify := func() {
				r, err := v.Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{})
				if err != nil || !r.Valid() {
					b.Fatalf("%v %v", err, r.Conclusions.Signatures[0].Messages)
				}
			}
			verify() // warm
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			start := yardstick.Processor()
			for b.Loop() {
				verify()
			}
			// Processor time is the figure to take when the machine has other work.
			b.ReportMetric(float64(b.N)/(yardstick.Processor()-start).Seconds(), "verifications/cpu-s")
		})
	}
}

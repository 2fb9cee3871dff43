package rogito_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/yardstick"
)

// TestHostile: no input takes more than 5 seconds or 512 MB, and each gives a
// report or an error, never a panic.
func TestHostile(t *testing.T) {
	nested := []byte("innermost")
	s := newStage(t)
	a := s.pki.Actor(t, "p256")
	for range 20 {
		nested = s.signContent("cades", a, a.Signing(s.now), ades.LevelB, nested)
	}
	cases := map[string][]byte{
		"empty":               {},
		"one byte":            {0x30},
		"deep ASN.1":          bytes.Repeat([]byte{0x30, 0x80}, 1<<20),
		"huge length":         {0x30, 0x84, 0xff, 0xff, 0xff, 0xff},
		"deep XML":            []byte(strings.Repeat("<a>", 1<<20)),
		"XML attributes":      []byte("<a " + strings.Repeat(`x="1" `, 1<<18) + "/>"),
		"billion laughs":      []byte(`<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><a>&b;</a>`),
		"PDF loop":            []byte("%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R /AcroForm 1 0 R /Fields [1 0 R] /Kids [1 0 R] >>\nendobj\nxref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer << /Size 2 /Root 1 0 R /Prev 100 >>\nstartxref\n100\n%%EOF"),
		"zip of nothing":      []byte("PK\x05\x06" + strings.Repeat("\x00", 18)),
		"matryoshka":          nested,
		"base64 of brackets":  []byte(strings.Repeat("W1tb", 1<<18)),
		"broken p7m":          nested[:len(nested)/2],
		"MIME without an end": []byte("MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\n"),
	}
	for name, b := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := yardstick.Processor()
			r, err := new(rogito.Verifier).Verify(context.Background(), bytes.NewReader(b), rogito.VerifyOptions{Recursive: true})
			if d := yardstick.Processor() - start; d > 5*yardstick.Second() {
				t.Errorf("took %v of CPU", d)
			}
			runtime.ReadMemStats(&after)
			if grown := after.Sys - before.Sys; after.Sys > before.Sys && grown > 512<<20 {
				t.Errorf("took %d MB", grown>>20)
			}
			if err == nil && r.Valid() {
				t.Error("is valid")
			}
		})
	}
	r, err := new(rogito.Verifier).Verify(context.Background(), bytes.NewReader(nested), rogito.VerifyOptions{Recursive: true})
	if err != nil || len(r.Conclusions.Signatures) != 16 || !slices.ContainsFunc(r.Facts.Notes, func(p ades.Problem) bool { return p.Code == "TOO_MANY_LAYERS" }) {
		t.Errorf("matryoshka: %v, %d layers, notes %v", err, len(r.Conclusions.Signatures), r.Facts.Notes)
	}
}

// FuzzVerify drives every reader through the front door.
func FuzzVerify(f *testing.F) {
	f.Add(samplePDF())
	f.Add([]byte(sampleXML))
	s := newStage(f)
	for _, format := range formats {
		f.Add(s.sign(format, "p256", ades.LevelB, 0))
	}
	corpus.Seeds(f, 8<<10, "attacks", "malformed", "*")
	v := s.verifier(false)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := v.Verify(context.Background(), bytes.NewReader(b), rogito.VerifyOptions{Recursive: true})
		if err != nil {
			if strings.Contains(fmt.Sprint(err), "internal error") {
				t.Fatal(err)
			}
			return
		}
		if _, err := r.View(false, "en"); err != nil {
			t.Log(err)
		}
	})
}

// TestHostilePairs: finding out whether a file is a detached signature takes no more memory than
// verifying it may.
func TestHostilePairs(t *testing.T) {
	const (
		reference = `<Reference URI="a.txt"><DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><DigestValue>AAAA</DigestValue></Reference>`
		method    = `<CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>`
		signature = `<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"><SignedInfo>` + method + reference + `</SignedInfo><SignatureValue>AAAA</SignatureValue>`
	)
	for n, want := range map[int]bool{0: true, 3_000_000: false} {
		text := signature + "<Object>" + strings.Repeat("<b/>", n) + "</Object></Signature>"
		if got := rogito.IsDetached(t.Context(), strings.NewReader(text)); got != want {
			t.Errorf("with %d elements: %v", n, got)
		}
	}
}

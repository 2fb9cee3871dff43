package rogito_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/tsp"
	"rogito.dev/rogito/xades"
)

var signedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func signClock() time.Time { return signedAt }

// smallPDF is a page with nothing on it.
func smallPDF() []byte {
	var b bytes.Buffer
	var at []int
	object := func(text string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), text)
	}
	b.WriteString("%PDF-1.7\n")
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
	object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<<>>>>")
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, off := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", off)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

func one(content string) rogito.Input { return rogito.File("a", strings.NewReader(content)) }

type signCase struct {
	name     string
	doc      rogito.Input
	change   func(*rogito.Options)
	kind     rogito.Kind
	detached bool
}

func signCases() []signCase {
	pdf := string(smallPDF())
	format := func(f ades.Format) func(*rogito.Options) { return func(o *rogito.Options) { o.Format = f } }
	return []signCase{
		{name: "text", doc: one("text"), kind: rogito.KindCMS},
		{name: "PDF", doc: one(pdf), kind: rogito.KindPDF},
		{name: "PDF as CAdES", doc: one(pdf), change: format(ades.CAdES), kind: rogito.KindCMS},
		{name: "XML", doc: one("<a><b/></a>"), kind: rogito.KindXML},
		{name: "several", doc: rogito.Input{Files: append(one("1").Files, ades.File{Name: "b", Source: strings.NewReader("2")})}, kind: rogito.KindASiC},
		{name: "ASiC-S", doc: one("text"), change: format(ades.ASiCS), kind: rogito.KindASiC},
		{
			name: "ASiC-E CAdES", doc: one("text"), kind: rogito.KindASiC,
			change: func(o *rogito.Options) { o.Format, o.ASiC = ades.ASiCE, asic.Options{CAdES: true} },
		},
		{
			name: "detached CAdES", doc: one("text"), kind: rogito.KindCMS, detached: true,
			change: func(o *rogito.Options) { o.CAdES = cades.Options{Detached: true} },
		},
		{
			name: "detached XAdES", doc: one("text"), kind: rogito.KindXML, detached: true,
			change: func(o *rogito.Options) {
				o.Format, o.XAdES = ades.XAdES, xades.Options{Packaging: xades.Detached}
			},
		},
	}
}

func signatures(t testing.TB, signed []byte, detached []ades.File) []*ades.Signature {
	t.Helper()
	v := rogito.Verifier{Now: signClock}
	r, err := v.Verify(context.Background(), bytes.NewReader(signed), rogito.VerifyOptions{Detached: detached})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Facts.Layers) == 0 || r.Facts.Layers[0].Document == nil {
		t.Fatal("no signed document")
	}
	return r.Facts.Layers[0].Document.Signatures
}

func TestSign(t *testing.T) {
	pki := adestest.Must(t, signClock)
	for _, c := range signCases() {
		for _, actor := range []string{"good", "p256"} {
			for level := ades.LevelB; level <= ades.LevelLTA; level++ {
				t.Run(fmt.Sprintf("%s/%s/%v", c.name, actor, level), func(t *testing.T) {
					a := pki.Actor(t, actor)
					o := rogito.Options{SignParams: a.Signing(signedAt), Level: level, Stamper: pki.Unit, Gatherer: pki}
					if c.change != nil {
						c.change(&o)
					}
					var signed bytes.Buffer
					made, err := rogito.Sign(context.Background(), c.doc, &signed, a.Key, o)
					if err != nil {
						t.Fatal(err)
					}
					if made.Profile != ades.Baseline(made.Signature.Format, level) || made.Source != nil || made.Signature.Intact() != ades.Yes || made.Form != o.Form(c.doc) {
						t.Errorf("made %v, %+v", made.Profile, made.Form)
					}
					if got := rogito.Detect(bytes.NewReader(signed.Bytes())); got != c.kind {
						t.Errorf("kind %s, want %s", got, c.kind)
					}
					var detached []ades.File
					if c.detached {
						detached = c.doc.Files
					}
					sigs := signatures(t, signed.Bytes(), detached)
					if len(sigs) != 1 || sigs[0].Intact() != ades.Yes {
						t.Fatalf("signatures %+v", sigs)
					}
					var again bytes.Buffer
					r := ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki, Detached: detached, Time: signedAt}
					if err := rogito.Augment(context.Background(), bytes.NewReader(signed.Bytes()), &again, r); err != nil {
						t.Fatalf("augment: %v", err)
					}
					if sigs := signatures(t, again.Bytes(), detached); len(sigs) != 1 || sigs[0].Intact() != ades.Yes {
						t.Errorf("after augmenting: %+v", sigs)
					}
				})
			}
		}
	}
}

func TestTwoHalves(t *testing.T) {
	pki := adestest.Must(t, signClock)
	actors := []string{"good", "p521", "ed25519"}
	for i, c := range signCases() {
		a := pki.Actor(t, actors[i%len(actors)])
		o := rogito.Options{SignParams: a.Signing(signedAt), Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki}
		o.PSS = i%2 == 0
		if c.change != nil {
			c.change(&o)
		}
		d, err := rogito.Prepare(context.Background(), c.doc, o)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		value, err := d.Value(a.Key)
		if err != nil {
			t.Fatal(err)
		}
		var signed bytes.Buffer
		if _, err := d.Complete(context.Background(), &signed, make([]byte, len(value))); !errors.Is(err, rogito.ErrValue) || signed.Len() > 0 {
			t.Errorf("%s: a wrong value: %v", c.name, err)
		}
		if _, err := d.Complete(context.Background(), &signed, value); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var detached []ades.File
		if c.detached {
			detached = c.doc.Files
		}
		if sigs := signatures(t, signed.Bytes(), detached); len(sigs) != 1 || sigs[0].Intact() != ades.Yes {
			t.Errorf("%s: %+v", c.name, sigs)
		}
	}
}

// fatUnit makes time-stamps that are larger than the place usually kept.
type fatUnit struct{ ades.Stamper }

func (f fatUnit) Stamp(ctx context.Context, h crypto.Hash, digest []byte) ([]byte, error) {
	token, err := f.Stamper.Stamp(ctx, h, digest)
	return append(token, make([]byte, 20<<10)...), err // padding is harmless
}

// A place in a PDF that is too small is made larger inside the draft, so that
// both halves of signing have it: the draft asks for another value.
func TestDraftGrows(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a := pki.Actor(t, "p256")
	o := rogito.Options{SignParams: a.Signing(signedAt), Level: ades.LevelLTA, Stamper: fatUnit{pki.Unit}, Gatherer: pki}
	var signed bytes.Buffer
	if _, err := rogito.Sign(context.Background(), one(string(smallPDF())), &signed, a.Key, o); err != nil {
		t.Fatal(err)
	}
	d, err := rogito.Prepare(context.Background(), one(string(smallPDF())), o)
	if err != nil {
		t.Fatal(err)
	}
	for values := 1; ; values++ {
		value, err := d.Value(a.Key)
		if err != nil {
			t.Fatal(err)
		}
		digest := d.Digest()
		signed.Reset()
		_, err = d.Complete(context.Background(), &signed, value)
		if errors.Is(err, rogito.ErrSignAgain) && values < 3 {
			if bytes.Equal(digest, d.Digest()) || signed.Len() > 0 {
				t.Error("the draft asks for another value and has not changed")
			}
			continue
		}
		if err != nil || values != 2 {
			t.Fatalf("after %d values: %v", values, err)
		}
		break
	}
	if sigs := signatures(t, signed.Bytes(), nil); len(sigs) != 1 || sigs[0].Intact() != ades.Yes {
		t.Errorf("signatures %+v", sigs)
	}
	o.Stamper = &growing{fatUnit{pki.Unit}, 0}
	if _, err := rogito.Sign(context.Background(), one(string(smallPDF())), io.Discard, a.Key, o); err == nil {
		t.Error("a time-stamp that grows each time was taken")
	}
}

// growing makes each time-stamp larger than the one before.
type growing struct {
	ades.Stamper
	n int
}

func (g *growing) Stamp(ctx context.Context, h crypto.Hash, digest []byte) ([]byte, error) {
	token, err := g.Stamper.Stamp(ctx, h, digest)
	g.n += 40 << 10
	return append(token, make([]byte, g.n)...), err
}

func TestDigest(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a := pki.Actor(t, "good")
	content := []byte("a contract that stays at home")
	in := rogito.Input{Digest: sum(crypto.SHA256, content)}
	for level := ades.LevelB; level <= ades.LevelLTA; level++ {
		o := rogito.Options{SignParams: a.Signing(signedAt), Level: level, Stamper: pki.Unit, Gatherer: pki}
		var signed bytes.Buffer
		made, err := rogito.Sign(context.Background(), in, &signed, a.Key, o)
		if level == ades.LevelLTA {
			if err == nil {
				t.Error("LTA over a digest")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if made.Format != ades.CAdES || made.Extension != "p7s" || made.Profile != ades.Baseline(ades.CAdES, level) {
			t.Errorf("made %+v, %s", made.Form, made.Profile)
		}
		if sigs := signatures(t, signed.Bytes(), []ades.File{{Source: bytes.NewReader(content)}}); len(sigs) != 1 || sigs[0].Intact() != ades.Yes {
			t.Errorf("signatures %+v", sigs)
		}
	}
	o := rogito.Options{SignParams: a.Signing(signedAt), Format: ades.PKCS1}
	var value bytes.Buffer
	made, err := rogito.Sign(context.Background(), in, &value, a.Key, o)
	if err != nil || made.Extension != "sig" || made.Profile != (ades.Profile{}) || !bytes.Equal(made.Signature.Value, value.Bytes()) {
		t.Errorf("PKCS1: %+v, %v", made, err)
	}
	for _, format := range []ades.Format{ades.PAdES, ades.XAdES, ades.ASiCE, ades.ASiCS} {
		o.Format = format
		if _, err := rogito.Sign(context.Background(), in, io.Discard, a.Key, o); err == nil {
			t.Errorf("a digest was signed as %s", format)
		}
	}
}

func sum(h crypto.Hash, content []byte) []byte {
	d := h.New()
	d.Write(content)
	return d.Sum(nil)
}

func TestCounter(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a, b := pki.Actor(t, "good"), pki.Actor(t, "second")
	ctx := context.Background()
	var file, both bytes.Buffer
	o := rogito.Options{SignParams: a.Signing(signedAt)}
	if _, err := rogito.Sign(ctx, one("text"), &file, a.Key, o); err != nil {
		t.Fatal(err)
	}
	o = rogito.Options{SignParams: b.Signing(signedAt), Parallel: true}
	if _, err := rogito.Sign(ctx, one(file.String()), &both, b.Key, o); err != nil {
		t.Fatal(err)
	}
	for level := ades.LevelB; level <= ades.LevelLTA; level++ {
		o = rogito.Options{SignParams: b.Signing(signedAt), Counter: true, Level: level, Stamper: pki.Unit, Gatherer: pki}
		var signed bytes.Buffer
		made, err := rogito.Sign(ctx, one(both.String()), &signed, b.Key, o)
		if err != nil {
			t.Fatal(err)
		}
		if !made.InPlace || made.Signature.Intact() != ades.Yes {
			t.Errorf("made %+v", made.Form)
		}
		sigs := signatures(t, signed.Bytes(), nil)
		if len(sigs) != 2 {
			t.Fatalf("%d signatures", len(sigs))
		}
		for _, s := range sigs {
			if s.Intact() != ades.Yes || len(s.CounterSignatures) != 1 || s.CounterSignatures[0].Intact() != ades.Yes {
				t.Errorf("%v: %d counter-signatures", level, len(s.CounterSignatures))
			}
		}
	}
	if _, err := rogito.Sign(ctx, one("text"), io.Discard, b.Key, o); !errors.Is(err, rogito.ErrNotSigned) || !rogito.BadDocument(err) {
		t.Errorf("text was counter-signed: %v", err)
	}
}

// spoolBuffer is a writer that can be read again.
type spoolBuffer struct{ bytes.Buffer }

func (s *spoolBuffer) Source() ades.Source { return bytes.NewReader(s.Bytes()) }

// Without a writer the document is left where it was made.
func TestSignIntoSpool(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a := pki.Actor(t, "p256")
	for _, c := range signCases() {
		o := rogito.Options{SignParams: a.Signing(signedAt), Level: ades.LevelT, Stamper: pki.Unit}
		if c.change != nil {
			c.change(&o)
		}
		made := 0
		o.Spool = func() rogito.Spool { made++; return new(spoolBuffer) }
		signed, err := rogito.Sign(context.Background(), c.doc, nil, a.Key, o)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		out, err := io.ReadAll(io.NewSectionReader(signed.Source, 0, signed.Source.Size()))
		if err != nil {
			t.Fatal(err)
		}
		var detached []ades.File
		if c.detached {
			detached = c.doc.Files
		}
		if sigs := signatures(t, out, detached); len(sigs) != 1 || sigs[0].Intact() != ades.Yes {
			t.Errorf("%s: %d signatures", c.name, len(sigs))
		}
		if most := 2; signed.Format == ades.PAdES && made > 0 || made > most { // one for B, one for T
			t.Errorf("%s: %d documents between two steps", c.name, made)
		}
		o.Spool = nil
		used := false
		if _, err := rogito.SignWith(t.Context(), c.doc, nil, o, func(context.Context, *rogito.Draft) ([]byte, error) { used = true; return nil, nil }); err == nil || used {
			t.Errorf("%s: neither a writer nor a Spool: %v, the key was used: %v", c.name, err, used)
		}
	}
}

func TestMediaType(t *testing.T) {
	for _, c := range []struct {
		content, mediaType, extension string
		format                        ades.Format
	}{
		{string(smallPDF()), "application/pdf", "pdf", ades.PAdES},
		{"<?xml version='1.0'?><a/>", "application/xml", "xml", ades.XAdES},
		{"<p><b/></p>", "application/xml", "xml", ades.XAdES},
		{"<!DOCTYPE html><html><br></html>", "text/html", "html", ades.CAdES},
		{"<div>one<br>two</div>", "text/html", "html", ades.CAdES},
		{"PK\x03\x04", "application/zip", "zip", ades.CAdES},
		{"\x89PNG\r\n", "image/png", "png", ades.CAdES},
		{"words", "text/plain", "txt", ades.CAdES},
		{"\x00\x01\x02", "application/octet-stream", "bin", ades.CAdES},
		{"", "text/plain", "txt", ades.CAdES},
	} {
		src := strings.NewReader(c.content)
		if m, e := rogito.MediaType(src); m != c.mediaType || e != c.extension {
			t.Errorf("%.20q is %s, %s", c.content, m, e)
		}
		if f := (rogito.Options{}).Form(rogito.File("", src)); f.Format != c.format {
			t.Errorf("%.20q is signed as %s", c.content, f.Format)
		}
	}
}

func TestParallel(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a, b := pki.Actor(t, "good"), pki.Actor(t, "second")
	for _, format := range []ades.Format{ades.CAdES, ades.ASiCE, ades.ASiCS} {
		var first, second bytes.Buffer
		o := rogito.Options{SignParams: a.Signing(signedAt), Format: format}
		if _, err := rogito.Sign(context.Background(), one("text"), &first, a.Key, o); err != nil {
			t.Fatal(err)
		}
		o.SignParams, o.Parallel = b.Signing(signedAt), true
		if _, err := rogito.Sign(context.Background(), rogito.File("", bytes.NewReader(first.Bytes())), &second, b.Key, o); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		sigs := signatures(t, second.Bytes(), nil)
		if len(sigs) != 2 || sigs[0].Intact() != ades.Yes || sigs[1].Intact() != ades.Yes {
			t.Errorf("%s: %d signatures", format, len(sigs))
		}
	}
}

func TestSignRefuses(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a, b := pki.Actor(t, "p256"), pki.Actor(t, "second")
	o := rogito.Options{SignParams: a.Signing(signedAt)}
	ctx := context.Background()
	if _, err := rogito.Sign(ctx, one("x"), io.Discard, b.Key, o); err == nil {
		t.Error("another's key is taken")
	}
	if _, err := rogito.Sign(ctx, rogito.Input{}, io.Discard, a.Key, o); err == nil {
		t.Error("nothing is signed")
	}
	simple := o
	simple.Format, simple.ASiC.Simple = ades.ASiCE, true
	if _, err := rogito.Sign(ctx, one("x"), io.Discard, a.Key, simple); err == nil {
		t.Error("an option that contradicts the format is passed over")
	}
	o.Format = ades.PAdES
	var malformed *ades.MalformedError
	if _, err := rogito.Sign(ctx, one("x"), io.Discard, a.Key, o); !errors.As(err, &malformed) {
		t.Errorf("text as PDF: %v", err)
	}
	o.Format = "PGP"
	if _, err := rogito.Sign(ctx, one("x"), io.Discard, a.Key, o); err == nil {
		t.Error("an unknown format is made")
	}
	o.Format, o.Level = ades.CAdES, ades.LevelT
	if _, err := rogito.Sign(ctx, one("x"), io.Discard, a.Key, o); err == nil {
		t.Error("T without a time-stamping authority")
	}
	if err := rogito.Augment(ctx, strings.NewReader("x"), io.Discard, ades.AugmentOptions{}); err == nil {
		t.Error("text is augmented")
	}
}

// A key is not used for a signature that could not be read: with a certificate of more than the
// reader takes.
func TestSignLargeCertificate(t *testing.T) {
	key := adestest.Must(t, signClock).Actor(t, "p256").Key
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: signedAt.Add(time.Hour), DNSNames: slices.Repeat([]string{"a-name-of-thirty-letters.example"}, 9000)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	o := rogito.Options{SignParams: ades.SignParams{Time: signedAt}}
	if o.Certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	for _, o.Format = range []ades.Format{ades.CAdES, ades.XAdES, ades.JAdES} {
		_, err = rogito.SignWith(t.Context(), one("<a/>"), io.Discard, o, func(context.Context, *rogito.Draft) ([]byte, error) {
			t.Errorf("%s: the key is used", o.Format)
			return nil, errors.New("used")
		})
		if err == nil {
			t.Errorf("%s: no error", o.Format)
		}
	}
}

// A hash function that no format has a name for is an error, wherever it is
// given, and never a panic.
func TestHashWithoutName(t *testing.T) {
	pki := adestest.Start(t, signClock)
	ctx := context.Background()
	for _, h := range []crypto.Hash{crypto.MD4, crypto.MD5SHA1, crypto.RIPEMD160, crypto.SHA512_224, crypto.BLAKE2b_256, crypto.Hash(99)} {
		for _, c := range signCases() {
			for _, actor := range []string{"good", "p256"} {
				a := pki.Actor(t, actor)
				o := rogito.Options{SignParams: a.Signing(signedAt)}
				if c.change != nil {
					c.change(&o)
				}
				o.Hash = h
				if _, err := rogito.Sign(ctx, c.doc, io.Discard, a.Key, o); err == nil {
					t.Errorf("%s, %s: signed with hash %d", c.name, actor, h)
				}
			}
		}
		for _, stamper := range []ades.Stamper{pki.Unit, &tsp.Client{Servers: []tsp.Server{{URL: pki.TSA()}}}} {
			if _, err := stamper.Stamp(ctx, h, make([]byte, 32)); err == nil {
				t.Errorf("stamped with hash %d", h)
			}
			a := pki.Actor(t, "p256")
			var signed bytes.Buffer
			if _, err := rogito.Sign(ctx, one("x"), &signed, a.Key, rogito.Options{SignParams: a.Signing(signedAt)}); err != nil {
				t.Fatal(err)
			}
			r := ades.AugmentOptions{Level: ades.LevelT, Stamper: stamper, Time: signedAt, Hash: h}
			if err := rogito.Augment(ctx, bytes.NewReader(signed.Bytes()), io.Discard, r); err == nil {
				t.Errorf("raised with hash %d", h)
			}
		}
	}
}

func TestSpool(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a := pki.Actor(t, "p256")
	big := strings.Repeat("0123456789abcdef", 2<<20) // 32 MB: goes through a file
	o := rogito.Options{SignParams: a.Signing(signedAt), Level: ades.LevelT, Stamper: pki.Unit}
	var out bytes.Buffer
	if _, err := rogito.Sign(context.Background(), one(big), &out, a.Key, o); err != nil {
		t.Fatal(err)
	}
	if sigs := signatures(t, out.Bytes(), nil); len(sigs) != 1 || sigs[0].Intact() != ades.Yes || len(sigs[0].Timestamps) != 1 {
		t.Errorf("signatures %+v", sigs)
	}
}

// greedy are documents that take much more memory than they have bytes.
func greedy() map[string]rogito.Options {
	var picture bytes.Buffer
	_ = png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2000, 2000)))
	shown := rogito.Options{PAdES: pades.Options{Appearance: &pades.Appearance{Page: 1, Width: 10, Height: 10, Image: picture.Bytes()}}}
	return map[string]rogito.Options{
		"<a>" + strings.Repeat("<b  />", 100_000) + "</a>": {Format: ades.XAdES},
		string(smallPDF()): shown,
		"-----BEGIN PKCS7-----\n" + strings.Repeat(strings.Repeat("M", 64)+"\n", 20_000) + "-----END PKCS7-----\n": {Format: ades.CAdES, Counter: true},
	}
}

// A document that takes too much is a bad document, and told before the key is
// used; with enough memory it is signed or refused for what it is.
func TestSigningIsBounded(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a := pki.Actor(t, "p256")
	for text, o := range greedy() {
		o.SignParams, o.Memory = a.Signing(signedAt), 1<<20
		used := false
		value := func(_ context.Context, d *rogito.Draft) ([]byte, error) {
			used = true
			return d.Value(a.Key)
		}
		_, err := rogito.SignWith(t.Context(), one(text), io.Discard, o, value)
		if !errors.Is(err, limits.ErrBudget) && !errors.Is(err, rogito.ErrNotSigned) || !rogito.BadDocument(err) || used {
			t.Errorf("%.20q: %v, key used %v", text, err, used)
		}
		o.Memory = 0
		if _, err := rogito.SignWith(t.Context(), one(text), io.Discard, o, value); err != nil && !errors.Is(err, rogito.ErrNotSigned) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// A caller who is gone has nothing signed.
func TestSigningStops(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a := pki.Actor(t, "p256")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for text, o := range greedy() {
		o.SignParams = a.Signing(signedAt)
		_, err := rogito.SignWith(ctx, one(text), io.Discard, o, func(context.Context, *rogito.Draft) ([]byte, error) {
			t.Errorf("%.20q: the key was asked for", text)
			return nil, errors.New("no")
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// Options of another format are a mistake, which is told before the key is used.
func TestForeignOptions(t *testing.T) {
	t.Parallel()
	a := adestest.Must(t, signClock).Actor(t, "p256")
	for name, o := range map[string]rogito.Options{
		"CAdES": {Format: ades.XAdES, CAdES: cades.Options{Detached: true}},
		"PAdES": {Format: ades.CAdES, PAdES: pades.Options{Reason: "why"}},
		"XAdES": {Format: ades.ASiCE, XAdES: xades.Options{MediaTypes: map[string]string{"a": "b"}}},
		"ASiC":  {Format: ades.PKCS1, ASiC: asic.Options{CAdES: true}},
	} {
		o.SignParams = a.Signing(signedAt)
		if _, err := rogito.Prepare(t.Context(), one("<a/>"), o); err == nil || !strings.Contains(err.Error(), "options of "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyToCounterSign: a document is read and written again for each signature in it that is
// counter-signed, so there may not be thousands.
func TestManyToCounterSign(t *testing.T) {
	s := newStage(t)
	o := rogito.Options{SignParams: s.pki.Actor(t, "p256").Signing(s.now), Format: ades.JAdES, Counter: true}
	for n, ok := range map[int]bool{100: true, 101: false} {
		one := `{"protected":"eyJhbGciOiJFUzI1NiJ9","header":{"etsiU":[]},"signature":"AAAA"}`
		text := `{"payload":"AAAA","signatures":[` + one + strings.Repeat(","+one, n-1) + `]}`
		_, err := rogito.Prepare(t.Context(), rogito.Input{Files: []ades.File{{Source: strings.NewReader(text)}}}, o)
		if (err == nil) != ok || err != nil && !rogito.BadDocument(err) {
			t.Errorf("%d signatures: %v", n, err)
		}
	}
}

package cades_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return at }

// finished has the actor sign a draft.
func finished(t testing.TB, a *adestest.Actor, d ades.Draft, s ades.SignParams) []byte {
	t.Helper()
	s.Hash = cms.HashFor(s)
	return a.Finish(t, d, s)
}

func made(t testing.TB, a *adestest.Actor, content []byte, p ades.SignParams, o cades.Options) []byte {
	t.Helper()
	d, err := cades.Prepare(t.Context(), bytes.NewReader(content), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return finished(t, a, d, p)
}

func attached(t testing.TB, a *adestest.Actor, content []byte, pki *adestest.PKI) []byte {
	return made(t, a, content, a.Signing(pki.Now()), cades.Options{})
}

func raised(t testing.TB, pki *adestest.PKI, signed []byte, level ades.Level, detached ...ades.File) []byte {
	t.Helper()
	var out bytes.Buffer
	r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki, Detached: detached}
	if err := cades.Augment(context.Background(), bytes.NewReader(signed), &out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(t testing.TB, signed []byte, detached ...ades.File) *ades.Document {
	t.Helper()
	doc, err := cades.Read(context.Background(), bytes.NewReader(signed), ades.ReadOptions{Detached: detached})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func complete(...[]byte) bool { return true }

func TestSignAndRead(t *testing.T) {
	pki := adestest.Must(t, clock)
	for _, name := range []string{"good", "p256", "p384", "p521", "ed25519", "eseal"} {
		for _, h := range []crypto.Hash{0, crypto.SHA384, crypto.SHA512} {
			for _, pss := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%v", name, h, pss), func(t *testing.T) {
					a := pki.Actor(t, name)
					p := a.Signing(at)
					p.Hash, p.PSS = h, pss
					doc := read(t, made(t, a, []byte("text"), p, cades.Options{MediaType: "text/plain"}))
					s := doc.Signatures[0]
					if s.Intact() != ades.Yes || s.CertificateRefs[0].DigestMatch != ades.Yes || s.CertificateRefs[0].IssuerSerial != ades.Yes {
						t.Fatalf("not intact: %+v", s)
					}
					if !s.ClaimedTime.Equal(at) || len(s.Problems) > 0 || doc.Format != ades.CAdES {
						t.Errorf("time %v, problems %v, format %s", s.ClaimedTime, s.Problems, doc.Format)
					}
					if got := cades.Profile(s, doc, complete).Name; got != "CAdES-BASELINE-B" {
						t.Errorf("level %s", got)
					}
					content, err := io.ReadAll(io.NewSectionReader(doc.Content[0].Source, 0, doc.Content[0].Source.Size()))
					if err != nil || string(content) != "text" {
						t.Errorf("content %q, %v", content, err)
					}
				})
			}
		}
	}
}

// Certificates and revocation data stand in the order of DER, which ISO 32000-2 asks for
// in a PDF, however many are added later.
func TestSetsAreInOrder(t *testing.T) {
	pki := adestest.Must(t, clock)
	signed := attached(t, pki.Actor(t, "good"), []byte("text"), pki)
	for _, raw := range [][]byte{signed, raised(t, pki, signed, ades.LevelLT), raised(t, pki, signed, ades.LevelLTA)} {
		sd, err := cms.ParseBytes(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(sd.Certificates) < 2 || !slices.IsSortedFunc(sd.Certificates, bytes.Compare) || !slices.IsSortedFunc(sd.Revocations, bytes.Compare) {
			t.Errorf("%d certificates and %d revocations are out of order", len(sd.Certificates), len(sd.Revocations))
		}
	}
}

func TestFlippedBytesAreNoticed(t *testing.T) {
	pki := adestest.Must(t, clock)
	b := attached(t, pki.Actor(t, "p256"), []byte("some text"), pki)
	for signed, step := range map[string]int{string(b): 1, string(raised(t, pki, b, ades.LevelLTA)): 13} {
		whole := facts(read(t, []byte(signed)))
		// The version and digestAlgorithms of a SignedData are hints, under no signature.
		hints := strings.Index(signed, "\x02\x01") + 2
		for i := 0; i < len(signed); i += step {
			if i >= hints && i < hints+16 {
				continue
			}
			changed := []byte(signed)
			changed[i] ^= 0x01
			doc, err := cades.Read(context.Background(), bytes.NewReader(changed), ades.ReadOptions{})
			if err == nil && facts(doc) == whole {
				t.Errorf("byte %d of %d can be changed unnoticed", i, len(signed))
			}
		}
	}
}

// facts is a line that differs when a document is not what it was: integrity
// of everything, and the ids of all that it carries.
func facts(doc *ades.Document) string {
	var b strings.Builder
	for _, s := range doc.Signatures {
		fmt.Fprint(&b, s.ID, s.Intact(), s.CertificateRefs, s.Problems, s.Attributes, ades.FactID(s.SigningCertificate))
		for _, e := range s.Evidence {
			fmt.Fprint(&b, e.Kind, e.ID())
		}
		for _, ts := range s.Timestamps {
			fmt.Fprint(&b, ts.ID, ts.ImprintIntact, ts.Signature.Intact(), ts.Signature.Problems, len(ts.Covers))
		}
	}
	fmt.Fprint(&b, doc.Problems)
	return b.String()
}

func TestLevels(t *testing.T) {
	pki := adestest.Must(t, clock)
	a := pki.Actor(t, "good")
	want := map[ades.Level]int{ades.LevelT: 1, ades.LevelLT: 1, ades.LevelLTA: 2}
	for level, stamps := range want {
		for _, detached := range []bool{false, true} {
			o := cades.Options{Detached: detached}
			var files []ades.File
			if detached {
				files = []ades.File{{Source: bytes.NewReader([]byte("other"))}, {Source: bytes.NewReader([]byte("text"))}}
			}
			doc := read(t, raised(t, pki, made(t, a, []byte("text"), a.Signing(at), o), level, files...), files...)
			s := doc.Signatures[0]
			if s.Intact() != ades.Yes || len(s.Timestamps) != stamps {
				t.Fatalf("%v: intact %v, %d time-stamps", level, s.Intact(), len(s.Timestamps))
			}
			for _, ts := range s.Timestamps {
				if ts.ImprintIntact != ades.Yes || ts.Signature.Intact() != ades.Yes || !ts.Time.Equal(at) {
					t.Errorf("%v: %s: imprint %v, signature %v", level, ts.Path, ts.ImprintIntact, ts.Signature.Intact())
				}
			}
			if got := cades.Profile(s, doc, func(...[]byte) bool { return level > ades.LevelT }).Name; got != "CAdES-BASELINE-"+level.String() {
				t.Errorf("level %s, want %v", got, level)
			}
		}
	}
}

func TestArchiveCoversEverything(t *testing.T) {
	pki := adestest.Must(t, clock)
	signed := attached(t, pki.Actor(t, "good"), []byte("text"), pki)
	signed = raised(t, pki, raised(t, pki, signed, ades.LevelLTA), ades.LevelLTA)
	s := read(t, signed).Signatures[0]
	last := s.Timestamps[len(s.Timestamps)-1]
	covered := map[string]bool{}
	for _, id := range last.Covers {
		covered[id] = true
	}
	for _, e := range s.Evidence {
		if !covered[e.ID()] {
			t.Errorf("%s of %s is not covered", e.Kind, e.Origin)
		}
	}
	for _, ts := range s.Timestamps[:len(s.Timestamps)-1] {
		if !covered[ts.ID] {
			t.Errorf("%s is not covered", ts.Path)
		}
	}
	if !covered[s.ID] {
		t.Error("the signature is not covered")
	}
	if !slices.Equal(last.Digests, []string{"SHA256"}) { // of the ats-hash-index
		t.Errorf("digests %v", last.Digests)
	}
}

func TestParallelKeepsTheOthers(t *testing.T) {
	pki := adestest.Must(t, clock)
	first, second := pki.Actor(t, "good"), pki.Actor(t, "second")
	signed := raised(t, pki, attached(t, first, []byte("text"), pki), ades.LevelLTA)
	before := read(t, signed).Signatures[0]
	d, err := cades.Parallel(t.Context(), bytes.NewReader(signed), nil, second.Signing(at), cades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	doc := read(t, finished(t, second, d, second.Signing(at)))
	if len(doc.Signatures) != 2 {
		t.Fatalf("%d signatures", len(doc.Signatures))
	}
	after := doc.Signatures[0]
	if after.ID != before.ID || after.Intact() != ades.Yes || doc.Signatures[1].Intact() != ades.Yes {
		t.Error("a signature has changed")
	}
	for i, ts := range after.Timestamps {
		if ts.ID != before.Timestamps[i].ID || ts.ImprintIntact != ades.Yes {
			t.Errorf("%s has changed", ts.Path)
		}
	}
}

func TestCounter(t *testing.T) {
	pki := adestest.Must(t, clock)
	a, b := pki.Actor(t, "good"), pki.Actor(t, "second")
	signed := attached(t, a, []byte("text"), pki)
	d, err := cades.Counter(t.Context(), bytes.NewReader(signed), "", b.Signing(at), cades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := read(t, finished(t, b, d, b.Signing(at))).Signatures[0]
	if len(s.CounterSignatures) != 1 || s.CounterSignatures[0].Intact() != ades.Yes {
		t.Fatalf("counter-signatures %+v", s.CounterSignatures)
	}
	if _, err := cades.Counter(t.Context(), bytes.NewReader(signed), "nobody", b.Signing(at), cades.Options{}); !errors.Is(err, ades.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

func TestDetached(t *testing.T) {
	pki := adestest.Must(t, clock)
	a := pki.Actor(t, "p256")
	h := crypto.SHA256.New()
	h.Write([]byte("kept at home"))
	p := a.Signing(at)
	d, err := cades.PrepareDigest(t.Context(), h.Sum(nil), p, cades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	signed := finished(t, a, d, p)
	if got := read(t, signed).Signatures[0].Intact(); got != ades.Unknown {
		t.Errorf("without content: %v", got)
	}
	if got := read(t, signed, ades.File{Source: strings.NewReader("kept at home")}).Signatures[0].Intact(); got != ades.Yes {
		t.Errorf("with content: %v", got)
	}
	if got := read(t, signed, ades.File{Source: strings.NewReader("other")}).Signatures[0].Intact(); got != ades.No {
		t.Errorf("with other content: %v", got)
	}
}

func TestArmour(t *testing.T) {
	pki := adestest.Must(t, clock)
	signed := attached(t, pki.Actor(t, "p256"), []byte("text"), pki)
	text := base64.StdEncoding.EncodeToString(signed)
	var wrapped strings.Builder
	for rest := text; rest != ""; {
		n := min(64, len(rest))
		wrapped.WriteString(rest[:n] + "\r\n")
		rest = rest[n:]
	}
	forms := map[string]string{
		"PEM":            string(pem.EncodeToMemory(&pem.Block{Type: "PKCS7", Bytes: signed})),
		"base64":         text,
		"wrapped base64": wrapped.String(),
		"PEM, one line":  "-----BEGIN CMS-----\n" + text + "\n-----END CMS-----\n",
		"BOM and base64": "\xef\xbb\xbf" + wrapped.String(),
	}
	for name, form := range forms {
		if read(t, []byte(form)).Signatures[0].Intact() != ades.Yes {
			t.Errorf("%s is not intact", name)
		}
	}
}

func TestEmbeddedHasNoTime(t *testing.T) {
	pki := adestest.Must(t, clock)
	a := pki.Actor(t, "good")
	o := cades.Options{Embedded: true}
	s := read(t, made(t, a, []byte("range"), a.Signing(at), o), ades.File{Source: strings.NewReader("range")}).Signatures[0]
	if s.Has("signing-time") || s.Intact() != ades.Yes || !cms.IsBaseline(s, true) {
		t.Errorf("attributes %v", s.Attributes)
	}
}

func TestPolicyAndCommitment(t *testing.T) {
	pki := adestest.Must(t, clock)
	a := pki.Actor(t, "good")
	o := cades.Options{
		Policy: &ades.SignaturePolicy{ID: "1.3.76.16.1", Hash: crypto.SHA256, Digest: make([]byte, 32), URI: "https://policy.example/p.pdf"},
	}
	p := a.Signing(at)
	p.Commitments = []string{ades.Commitment("proof-of-origin"), "1.2.3.4"}
	s := read(t, made(t, a, []byte("text"), p, o)).Signatures[0]
	if s.Why() != "1.2.3.4, proof-of-origin" { // a SET has an order of its own
		t.Errorf("reason %q", s.Why())
	}
	if s.Policy == nil || s.Policy.ID != "1.3.76.16.1" || !s.Has("commitment-type-indication") || s.Intact() != ades.Yes {
		t.Errorf("policy %+v", s.Policy)
	}
}

func TestRefusals(t *testing.T) {
	pki := adestest.Must(t, clock)
	a := pki.Actor(t, "p256")
	signed := attached(t, a, []byte("text"), pki)
	raising := ades.AugmentOptions{Level: ades.LevelT, Stamper: pki.Unit}

	broken := bytes.Replace(signed, []byte("text"), []byte("tEXt"), 1)
	if err := cades.Augment(context.Background(), bytes.NewReader(broken), io.Discard, raising); err == nil {
		t.Error("a broken signature is time-stamped")
	}
	var malformed *ades.MalformedError
	for _, junk := range []string{"", "%PDF-1.7", "0\x80", "\x30\x84\xff\xff\xff\xff", strings.Repeat("\x30\x80", 200)} {
		if _, err := cades.Read(context.Background(), strings.NewReader(junk), ades.ReadOptions{}); !errors.As(err, &malformed) {
			t.Errorf("%q: %v", junk[:min(8, len(junk))], err)
		}
	}
	if _, err := cades.Prepare(t.Context(), strings.NewReader(""), ades.SignParams{}, cades.Options{}); err == nil {
		t.Error("no certificate, no error")
	}
	lacking := pki.Actor(t, "no-revocation")
	var missing *ades.MissingError
	err := cades.Augment(context.Background(), bytes.NewReader(attached(t, lacking, nil, pki)), io.Discard,
		ades.AugmentOptions{Level: ades.LevelLT, Stamper: pki.Unit, Gatherer: pki})
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "no-revocation") {
		t.Errorf("error %v does not name the certificate", err)
	}
}

// TestAttributesAreNoContent takes the signed attributes of a signature for
// content: the value verifies, but nobody signed that.
func TestAttributesAreNoContent(t *testing.T) {
	pki := adestest.Must(t, clock)
	signed := attached(t, pki.Actor(t, "p256"), []byte("text"), pki)
	sd, err := cms.Parse(bytes.NewReader(signed))
	if err != nil {
		t.Fatal(err)
	}
	si := sd.SignerInfos[0]
	fields := append([][]byte{}, si.RawFields[:3]...)
	forged, err := cms.ParseSignerInfo(cms.TLV(cms.TagSequence, append(fields, si.RawFields[4:]...)...))
	if err != nil {
		t.Fatal(err)
	}
	sd.Encap, sd.Content, sd.SignerInfos = nil, bytes.NewReader(si.ToBeSigned()), []*cms.SignerInfo{forged}
	out, err := sd.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	s := read(t, out).Signatures[0]
	if s.ValueIntact != ades.Yes {
		t.Fatal("the forgery is not one")
	}
	if len(s.Problems) == 0 || !s.Problems[0].Fatal {
		t.Error("the forgery is not noticed")
	}
}

// TestHeaderAmongAttributes: the only signer may sign the header of a message with the content, as in
// content-hints (RFC 5126, 5.10.3). Of several signers each would sign only their own.
func TestHeaderAmongAttributes(t *testing.T) {
	pki := adestest.Must(t, clock)
	a := pki.Actor(t, "p256")
	draft := func(d *cades.Draft, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return finished(t, a, d, a.Signing(at))
	}
	for text, fatal := range map[string]bool{"MIME-Version: 1.0": false, "%PDF-1.7": true} {
		one := draft(cades.Prepare(t.Context(), strings.NewReader("text"), a.Signing(at), cades.Options{MediaType: text}))
		if got := ades.Fatal(read(t, one).Signatures[0].Problems); got != fatal {
			t.Errorf("%s: refused %v", text, got)
		}
		two := draft(cades.Parallel(t.Context(), bytes.NewReader(one), nil, a.Signing(at), cades.Options{}))
		if !ades.Fatal(read(t, two).Signatures[0].Problems) {
			t.Errorf("%s: accepted beside another signer", text)
		}
	}
}

// zeros is a large document that is not in memory.
type zeros int64

func (z zeros) Size() int64 { return int64(z) }

func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), int64(z)-off))
	clear(p[:n])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func TestGigabyteStreams(t *testing.T) {
	await.All(t)
	pki := adestest.Must(t, clock)
	a := pki.Actor(t, "p256")
	p := a.Signing(at)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := cades.Prepare(t.Context(), zeros(1<<30), p, cades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	value, err := d.Value(a.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(io.Discard, value); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes allocated", used)
	}
}

func Example() {
	pki, err := adestest.New(clock, "")
	if err != nil {
		panic(err)
	}
	signer, err := pki.Enter("good")
	if err != nil {
		panic(err)
	}

	// Document to digest, digest to value, value to signed document.
	draft, err := cades.Prepare(context.Background(), strings.NewReader("a contract"), signer.Signing(pki.Now()), cades.Options{})
	if err != nil {
		panic(err)
	}
	value, err := draft.Value(signer.Key)
	if err != nil {
		panic(err)
	}
	var b, lta bytes.Buffer
	if err := draft.Finish(&b, value); err != nil {
		panic(err)
	}

	// B to LTA.
	err = cades.Augment(context.Background(), bytes.NewReader(b.Bytes()), &lta, ades.AugmentOptions{
		Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki,
	})
	if err != nil {
		panic(err)
	}

	doc, err := cades.Read(context.Background(), bytes.NewReader(lta.Bytes()), ades.ReadOptions{})
	if err != nil {
		panic(err)
	}
	s := doc.Signatures[0]
	fmt.Println(s.Format, s.Intact() == ades.Yes, len(s.Timestamps), "time-stamps")
	// Output: CAdES true 2 time-stamps
}

// A content-time-stamp is a signed attribute (EN 319 122-1, 5.2.8). What somebody adds as an unsigned
// one, with a token that holds evidence, is not as old as the signature.
func TestUnsignedContentTimestamp(t *testing.T) {
	pki := adestest.Must(t, clock)
	signed := raised(t, pki, attached(t, pki.Actor(t, "good"), []byte("text"), pki), ades.LevelT)
	sum := sha256.Sum256([]byte("text"))
	token, err := pki.Unit.Stamp(t.Context(), crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sd, err := cms.ParseBytes(signed)
	if err != nil {
		t.Fatal(err)
	}
	if sd.SignerInfos[0], err = sd.SignerInfos[0].AddUnsigned(cms.NewAttribute(oid.AttrContentTimestamp, token)); err != nil {
		t.Fatal(err)
	}
	changed, err := sd.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, ts := range read(t, changed).Signatures[0].Timestamps {
		if ts.Kind != ades.SignatureTimestamp || slices.Contains(ts.Covers, ades.FactID(token)) {
			t.Errorf("%s time-stamp, covers the added token: %v", ts.Kind, slices.Contains(ts.Covers, ades.FactID(token)))
		}
	}
}

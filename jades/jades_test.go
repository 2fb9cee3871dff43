package jades_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/jades"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return at }

func newPKI(t testing.TB) *adestest.PKI {
	t.Helper()
	pki, err := adestest.New(clock, "http://pki.test")
	if err != nil {
		t.Fatal(err)
	}
	return pki
}

func file(name, content string) ades.File {
	return ades.File{Name: name, Source: strings.NewReader(content)}
}

func made(t testing.TB, a *adestest.Actor, p ades.SignParams, o jades.Options, files ...ades.File) []byte {
	t.Helper()
	d, err := jades.Prepare(t.Context(), files, p, o)
	if err != nil {
		t.Fatal(err)
	}
	p.Hash = jades.Hash(p)
	return a.Finish(t, d, p)
}

func raised(t testing.TB, pki *adestest.PKI, signed []byte, level ades.Level, detached ...ades.File) []byte {
	t.Helper()
	var out bytes.Buffer
	r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki, Detached: detached}
	if err := jades.Augment(context.Background(), bytes.NewReader(signed), &out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(t testing.TB, signed []byte, detached ...ades.File) *ades.Document {
	t.Helper()
	doc, err := jades.Read(context.Background(), bytes.NewReader(signed), ades.ReadOptions{Detached: detached})
	if err != nil {
		t.Fatalf("%v\n%.300s", err, signed)
	}
	return doc
}

// good wants every signature and time-stamp intact and nothing wrong in the form.
func good(t testing.TB, doc *ades.Document) {
	t.Helper()
	for _, s := range doc.Signatures {
		if s.Intact() != ades.Yes || len(s.Problems) > 0 {
			t.Errorf("signature %s: intact %v, references %+v, problems %v", s.ID, s.Intact(), s.References, s.Problems)
		}
		for _, ts := range s.Timestamps {
			if ts.ImprintIntact != ades.Yes || ts.Signature.Intact() != ades.Yes || len(ts.Problems) > 0 {
				t.Errorf("%s time-stamp: imprint %v, problems %v", ts.Kind, ts.ImprintIntact, ts.Problems)
			}
		}
		good(t, &ades.Document{Signatures: s.CounterSignatures})
	}
}

const text = `{"pay":100,"to":"Anna"}`

var forms = []jades.Serialization{jades.Flattened, jades.General, jades.Compact}

// packagings are the ways in which a content can be signed.
func packagings() map[string]struct {
	o     jades.Options
	files []ades.File
} {
	type p = struct {
		o     jades.Options
		files []ades.File
	}
	one, two := file("order 1.json", text), file("second.txt", "two\n")
	types := map[string]string{"order 1.json": "application/json", "second.txt": "text/plain"}
	return map[string]p{
		"attached":           {jades.Options{MediaTypes: types}, []ades.File{one}},
		"attached unencoded": {jades.Options{Unencoded: true}, []ades.File{one}},
		"by hash":            {jades.Options{Detached: true, MediaTypes: types}, []ades.File{one}},
		"two by hash":        {jades.Options{Detached: true, MediaTypes: types}, []ades.File{one, two}},
		"by hash unencoded":  {jades.Options{Detached: true, Unencoded: true}, []ades.File{one, two}},
		"by URI":             {jades.Options{Detached: true, Mechanism: jades.ByURI}, []ades.File{one}},
		"by URI unencoded":   {jades.Options{Detached: true, Mechanism: jades.ByURI, Unencoded: true}, []ades.File{one}},
		"HTTP fields": {jades.Options{Detached: true, Mechanism: jades.HTTPHeaders}, []ades.File{
			file("Host", "example.org"), file("(request-target)", "post /orders"), file("X-Two", "a "), file("x-two", " b"),
			file("Digest", "SHA-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), file("", ""),
		}},
	}
}

func TestFormsPackagingsAndLevels(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	for name, p := range packagings() {
		for _, form := range forms {
			t.Run(fmt.Sprintf("%s/%v", name, form), func(t *testing.T) {
				p.o.Serialization = form
				var detached []ades.File
				if p.o.Detached {
					detached = p.files
				}
				signed := made(t, a, a.Signing(pki.Now()), p.o, p.files...)
				for level := ades.LevelB; level <= ades.LevelLTA; level++ {
					if level > ades.LevelB {
						if form == jades.Compact {
							r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki, Detached: detached}
							if err := jades.Augment(t.Context(), bytes.NewReader(signed), new(bytes.Buffer), r); err == nil {
								t.Error("the compact form was raised")
							}
							break
						}
						signed = raised(t, pki, signed, level, detached...)
					}
					doc := read(t, signed, detached...)
					good(t, doc)
					if l := jades.Profile(doc.Signatures[0], doc, nil).Name; l != "JAdES-BASELINE-"+level.String() {
						t.Errorf("level %s, want %v", l, level)
					}
					if !p.o.Detached {
						b := make([]byte, doc.Content[0].Source.Size())
						if _, err := doc.Content[0].Source.ReadAt(b, 0); err != nil || string(b) != text {
							t.Errorf("content %q", b)
						}
					}
				}
			})
		}
	}
}

func TestDetachedWithoutContentIsUndecided(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	for name, p := range packagings() {
		if !p.o.Detached {
			continue
		}
		s := read(t, made(t, a, a.Signing(pki.Now()), p.o, p.files...)).Signatures[0]
		if s.Intact() != ades.Unknown || ades.Fatal(s.Problems) {
			t.Errorf("%s: intact %v, problems %v", name, s.Intact(), s.Problems)
		}
		other := slices.Clone(p.files)
		for i := range other {
			other[i].Source = strings.NewReader("something else")
		}
		if s := read(t, made(t, a, a.Signing(pki.Now()), p.o, p.files...), other...).Signatures[0]; s.Intact() != ades.No {
			t.Errorf("%s, another content: intact %v", name, s.Intact())
		}
	}
}

func TestAlgorithms(t *testing.T) {
	pki := newPKI(t)
	for _, actor := range []string{"good", "rsa3072", "p256", "p384", "p521", "ed25519"} {
		for _, h := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			for _, pss := range []bool{false, true} {
				a := pki.Actor(t, actor)
				p := a.Signing(pki.Now())
				p.Hash, p.PSS = h, pss
				doc := read(t, made(t, a, p, jades.Options{}, file("a", text)))
				good(t, doc)
				if l := jades.Profile(doc.Signatures[0], doc, nil).Name; l != "JAdES-BASELINE-B" {
					t.Errorf("%s %v: level %s", actor, h, l)
				}
			}
		}
	}
}

func TestCounterSignature(t *testing.T) {
	pki := newPKI(t)
	a, b := pki.Actor(t, "good"), pki.Actor(t, "p256")
	for _, form := range forms {
		signed := made(t, a, a.Signing(pki.Now()), jades.Options{Serialization: form}, file("a", text))
		d, err := jades.Counter(t.Context(), bytes.NewReader(signed), "", b.Signing(pki.Now()), jades.Options{})
		if form == jades.Compact {
			if err == nil {
				t.Error("a counter-signature in the compact form")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		signed = b.Finish(t, d, b.Signing(pki.Now()))
		for level := ades.LevelB; level <= ades.LevelLTA; level++ {
			if level > ades.LevelB {
				signed = raised(t, pki, signed, level)
			}
			doc := read(t, signed)
			good(t, doc)
			if n := len(doc.Signatures[0].CounterSignatures); n != 1 {
				t.Fatalf("%d counter-signatures", n)
			}
		}
	}
}

// An archive time-stamp proves the counter-signatures before it, and not those that were added since.
func TestLaterCounterSignature(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	signed := made(t, a, a.Signing(pki.Now()), jades.Options{}, file("a", text))
	for _, name := range []string{"p256", "second"} {
		b := pki.Actor(t, name)
		d, err := jades.Counter(t.Context(), bytes.NewReader(signed), "", b.Signing(pki.Now()), jades.Options{})
		if err != nil {
			t.Fatal(err)
		}
		signed = b.Finish(t, d, b.Signing(pki.Now()))
		if name == "p256" {
			signed = raised(t, pki, signed, ades.LevelLTA)
		}
	}
	doc := read(t, signed)
	good(t, doc)
	s := doc.Signatures[0]
	archive := s.Timestamps[len(s.Timestamps)-1]
	if len(s.CounterSignatures) != 2 || archive.Kind != ades.ArchiveTimestamp {
		t.Fatalf("%d counter-signatures, %s", len(s.CounterSignatures), archive.Kind)
	}
	for i, c := range s.CounterSignatures {
		if slices.Contains(archive.Covers, c.ID) != (i == 0) {
			t.Errorf("counter-signature %d: proven %v", i, i != 0)
		}
	}
}

// What is added at LTA a second time is proven by the new archive time-stamp.
func TestRaisedAgain(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	signed := made(t, a, a.Signing(pki.Now()), jades.Options{}, file("a", text))
	for range 3 {
		signed = raised(t, pki, signed, ades.LevelLTA)
	}
	doc := read(t, signed)
	good(t, doc)
	archives := 0
	for _, ts := range doc.Signatures[0].Timestamps {
		if ts.Kind == ades.ArchiveTimestamp {
			archives++
		}
	}
	if archives != 3 || jades.Profile(doc.Signatures[0], doc, nil).Name != "JAdES-BASELINE-LTA" {
		t.Errorf("%d archive time-stamps", archives)
	}
}

func TestClaims(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	policy := &ades.SignaturePolicy{ID: "1.2.3.4", Hash: crypto.SHA256, Digest: make([]byte, 32), URI: "https://example.org/policy"}
	o := jades.Options{
		Policy: policy, Roles: []string{"notary"},
		Place: &jades.Place{Country: "IT", Locality: "Roma"},
	}
	p := a.Signing(pki.Now())
	p.Commitments = []string{ades.Commitment("proof-of-origin")}
	doc := read(t, made(t, a, p, o, file("a", text)))
	good(t, doc)
	s := doc.Signatures[0]
	if s.Where() != "Roma, IT" || s.Why() != "proof-of-origin" {
		t.Errorf("place %q, reason %q", s.Where(), s.Why())
	}
	if s.Policy == nil || s.Policy.ID != "urn:oid:1.2.3.4" || !s.ClaimedTime.Equal(at) {
		t.Errorf("policy %+v, time %v", s.Policy, s.ClaimedTime)
	}
	for _, name := range []string{"srCms", "srAts", "sigPl", "sigPId", "iat", "x5t#S256", "x5c"} {
		if !s.Has(name) {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestRefusedToBeMade(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	one, two := file("a", text), file("b", "two")
	for name, c := range map[string]struct {
		o     jades.Options
		files []ades.File
	}{
		"several attached":        {jades.Options{}, []ades.File{one, two}},
		"several by URI":          {jades.Options{Detached: true, Mechanism: jades.ByURI}, []ades.File{one, two}},
		"one name twice":          {jades.Options{Detached: true}, []ades.File{one, one}},
		"nothing":                 {jades.Options{}, nil},
		"an empty content":        {jades.Options{}, []ades.File{file("a", "")}},
		"unencoded, not UTF-8":    {jades.Options{Unencoded: true}, []ades.File{file("a", "\xff")}},
		"compact with a stop":     {jades.Options{Unencoded: true, Serialization: jades.Compact}, []ades.File{file("a", "a.b")}},
		"mechanism, not detached": {jades.Options{Mechanism: jades.ByURI}, []ades.File{one}},
		"an unknown form":         {jades.Options{Serialization: 7}, []ades.File{one}},
		"a field with a break":    {jades.Options{Detached: true, Mechanism: jades.HTTPHeaders}, []ades.File{file("Host", "a\nb: c")}},
	} {
		if _, err := jades.Prepare(t.Context(), c.files, a.Signing(pki.Now()), c.o); err == nil {
			t.Errorf("%s: made", name)
		}
	}
}

// TestStampOfReferencesAlone: rfsTst is over the references (TS 119 182-1, 5.3.4), here over none.
// Anybody may have such a token, which does not say when the signature was made.
func TestStampOfReferencesAlone(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	signed := string(made(t, a, a.Signing(at), jades.Options{}, file("order.json", text)))
	for over, name := range map[string]string{"": "rfsTst", regexp.MustCompile(`"signature":"([^"]+)"`).FindStringSubmatch(signed)[1]: "sigTst"} {
		sum := sha256.Sum256([]byte(over))
		token, err := pki.Unit.Stamp(t.Context(), crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		component := fmt.Sprintf(`{"%s":{"tstTokens":[{"val":"%s"}]}}`, name, base64.StdEncoding.EncodeToString(token))
		stamped := strings.TrimSuffix(signed, "}") + `,"header":{"etsiU":["` + base64.RawURLEncoding.EncodeToString([]byte(component)) + `"]}}`
		doc := read(t, []byte(stamped))
		good(t, doc)
		s := doc.Signatures[0]
		if len(s.Timestamps) != 1 || slices.Contains(s.Timestamps[0].Covers, s.ID) != (name == "sigTst") {
			t.Errorf("%s: %d time-stamps, covering %v", name, len(s.Timestamps), s.Timestamps[0].Covers)
		}
	}
}

// TestUnprotectedCertificates: an archive time-stamp is over the protected header and the components
// before it. Certificates in the unprotected header are not under it, and can be added later.
func TestUnprotectedCertificates(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "p256")
	signing := a.Signing(at)
	own := sha256.Sum256(signing.Certificate.Raw)
	list := `"x5c":["` + base64.StdEncoding.EncodeToString(signing.Certificate.Raw) + `","` + base64.StdEncoding.EncodeToString(signing.Chain[0].Raw) + `"]`
	sum := sha256.Sum256(nil)
	token, err := pki.Unit.Stamp(t.Context(), crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	archive := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"arcTst":{"tstTokens":[{"val":"%s"}]}}`, base64.StdEncoding.EncodeToString(token)))
	for _, protected := range []bool{true, false} {
		inside, beside := `,`+list, ``
		if !protected {
			inside, beside = ``, list+`,`
		}
		head := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"ES256","x5t#S256":"%s"%s}`, base64.RawURLEncoding.EncodeToString(own[:]), inside))
		payload := base64.RawURLEncoding.EncodeToString([]byte(text))
		digest := sha256.Sum256([]byte(head + "." + payload))
		value, err := a.Key.Sign(rand.Reader, digest[:], crypto.SHA256)
		if err == nil {
			value, err = pkix.PlainValue(a.Key.Public(), value)
		}
		if err != nil {
			t.Fatal(err)
		}
		s := read(t, fmt.Appendf(nil, `{"payload":"%s","protected":"%s","header":{%s"etsiU":["%s"]},"signature":"%s"}`,
			payload, head, beside, archive, base64.RawURLEncoding.EncodeToString(value))).Signatures[0]
		if s.Intact() != ades.Yes || len(s.Timestamps) != 1 {
			t.Fatalf("intact %v, %d time-stamps, %v", s.Intact(), len(s.Timestamps), s.Problems)
		}
		if proven := slices.Contains(s.Timestamps[0].Covers, ades.FactID(signing.Chain[0].Raw)); proven != protected {
			t.Errorf("protected %v: the issuer's certificate is proven: %v", protected, proven)
		}
	}
}

// TestUnprotectedPage: a browser that opens the file as a page shows what nobody signed.
func TestUnprotectedPage(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "p256")
	signed := made(t, a, a.Signing(at), jades.Options{Serialization: jades.Flattened}, file("order.json", text))
	for note, want := range map[string]bool{"<svg onload='document.write(900)'>": false, "1 0 obj": false, "paid on = 3 < 4": true} {
		s := read(t, append(fmt.Appendf(nil, `{"header":{"kid":"%s"},`, note), signed[1:]...)).Signatures[0]
		if s.Intact() != ades.Yes || ades.Fatal(s.Problems) == want {
			t.Errorf("%s: intact %v, %v", note, s.Intact(), s.Problems)
		}
	}
}

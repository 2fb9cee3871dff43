package interop

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/test/dialog"
)

// jsonDSS is EU DSS for JSON signatures: a program of its own, since the oracle
// knows none. One serves all tests.
var jsonDSS jsonOracle

type jsonOracle struct{ dialog.Program }

func (o *jsonOracle) start(t testing.TB) {
	t.Helper()
	if o.Runs() {
		return
	}
	if !full {
		t.Skip("SKIPPED: the oracles are asked by `make interop` (ROGITO_INTEROP=1)")
	}
	java, classes := built(t, "dssjades")
	c := exec.Command(java, "-Xmx1g", "-XX:+UseSerialGC", "-Djava.awt.headless=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", classes, "dssjades.Main", rootPEM)
	if err := o.Start(c); err != nil {
		t.Skipf("SKIPPED: DSS does not start: %v", err)
	}
}

// ask sends a request and wants an answer without an exception.
func (o *jsonOracle) ask(t testing.TB, request map[string]any) Verdict {
	t.Helper()
	o.Lock()
	defer o.Unlock()
	o.start(t)
	answer, err := o.Program.Ask(request)
	if err != nil {
		t.Fatalf("DSS: %v", err)
	}
	v := Verdict{Raw: string(bytes.TrimSpace(answer))}
	if err := json.Unmarshal(answer, &v); err != nil || v.Exception != "" {
		t.Fatalf("answer of DSS to %v: %v: %s", request, err, answer)
	}
	return v
}

// passed demands that DSS accepts every signature of a file.
func (o *jsonOracle) passed(t testing.TB, what, file string, detached []any, level string, warns ...string) {
	t.Helper()
	v := o.ask(t, map[string]any{"op": "validate", "file": file, "detached": detached})
	if len(v.Signatures) == 0 {
		t.Fatalf("DSS finds no signature: %s", v.Raw)
	}
	for i, s := range v.Signatures {
		faults := Ask{Warns: strings.Join(warns, "")}.faults(s, level)
		table.add(row{"DSS", "JAdES", what, s.Level[strings.LastIndexByte(s.Level, '-')+1:], s.Encryption + " " + s.DigestAlgorithm}, len(faults) == 0)
		for _, f := range faults {
			t.Errorf("signature %d: %s", i, f)
		}
	}
	if t.Failed() {
		t.Logf("DSS: %s", v.Raw)
	}
}

// jsonCase is one way of making a JAdES signature.
type jsonCase struct {
	name  string
	o     jades.Options
	files []ades.File
	warns string // the key of a warning of DSS that is wrong
}

const orderJSON = `{"pay":100,"to":"Anna"}`

func jsonCases() []jsonCase {
	one, two := memory("order.json", orderJSON), memory("data.bin", "\x00\x01binary\r\n")
	types := map[string]string{"order.json": "application/json", "data.bin": "application/octet-stream"}
	return []jsonCase{
		{"attached", jades.Options{MediaTypes: types}, []ades.File{one}, ""},
		{"attached, unencoded", jades.Options{Unencoded: true}, []ades.File{one}, ""},
		{"detached by hash", jades.Options{Detached: true, MediaTypes: types}, []ades.File{one}, ""},
		{"detached by hash, two", jades.Options{Detached: true, MediaTypes: types}, []ades.File{one, two}, ""},
		{"detached by hash, unencoded", jades.Options{Detached: true, Unencoded: true, MediaTypes: types}, []ades.File{one, two}, ""},
		{"detached by URI", jades.Options{Detached: true, Mechanism: jades.ByURI, MediaTypes: types}, []ades.File{one}, ""},
		{"detached by URI, unencoded", jades.Options{Detached: true, Mechanism: jades.ByURI, Unencoded: true, MediaTypes: types}, []ades.File{two}, ""},
		// In sigD a name is written as in a URI. DSS finds the file, and compares the names without
		// decoding.
		{"detached by hash, a name with a space", jades.Options{Detached: true}, []ades.File{memory("order 1.json", orderJSON), two}, "BBB_CV_DRNMND_ANS"},
	}
}

// contents writes the detached contents for DSS.
func (c jsonCase) contents(t testing.TB) []any {
	t.Helper()
	var all []any
	for _, f := range c.files {
		b := make([]byte, f.Source.Size())
		if _, err := f.Source.ReadAt(b, 0); err != nil && len(b) > 0 {
			t.Fatal(err)
		}
		all = append(all, map[string]string{"file": write(t, "content", b), "name": f.Name})
	}
	return all
}

func (c jsonCase) detached() []ades.File {
	if c.o.Detached {
		return c.files
	}
	return nil
}

func signJSON(t testing.TB, a *adestest.Actor, p ades.SignParams, c jsonCase) []byte {
	t.Helper()
	d, err := jades.Prepare(t.Context(), c.files, p, c.o)
	if err != nil {
		t.Fatal(err)
	}
	p.Hash = jades.Hash(p)
	return a.Finish(t, d, p)
}

func raiseJSON(t testing.TB, signed []byte, level ades.Level, detached []ades.File) []byte {
	t.Helper()
	var out bytes.Buffer
	r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki, Detached: detached}
	if err := jades.Augment(context.Background(), bytes.NewReader(signed), &out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestJAdESPackagingsFormsAndLevels(t *testing.T) {
	a := pki.Actor(t, "good")
	for _, c := range jsonCases() {
		for form := jades.Flattened; form <= jades.Compact; form++ {
			c.o.Serialization = form
			top := ades.LevelLTA
			if form == jades.Compact {
				top = ades.LevelB
			}
			b := signJSON(t, a, a.Signing(pki.Now()), c)
			for level := ades.LevelB; level <= top; level++ {
				t.Run(fmt.Sprintf("%s-%v-%s", c.name, form, level), func(t *testing.T) {
					signed := b
					if level > ades.LevelB {
						signed = raiseJSON(t, b, level, c.detached())
					}
					var detached []any
					if c.o.Detached {
						detached = c.contents(t)
					}
					jsonDSS.passed(t, c.name+", "+form.String(), write(t, "signed.json", signed), detached, "JAdES-BASELINE-"+level.String(), c.warns)
				})
			}
		}
	}
}

func TestJAdESHTTPFields(t *testing.T) {
	a := pki.Actor(t, "good")
	body := "pay 100"
	c := jsonCase{"HTTP fields", jades.Options{Detached: true, Mechanism: jades.HTTPHeaders}, []ades.File{
		memory("(request-target)", "post /orders"), memory("host", "example.org"),
		{},
		memory("", body),
	}, ""}
	theirs := []any{
		map[string]string{"name": "(request-target)", "value": "post /orders"},
		map[string]string{"name": "host", "value": "example.org"},
		map[string]string{"body": write(t, "body", []byte(body))},
	}
	sum := crypto.SHA256.New()
	sum.Write([]byte(body))
	c.files[2] = memory("Digest", "SHA-256="+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	b := signJSON(t, a, a.Signing(pki.Now()), c)
	for level := ades.LevelB; level <= ades.LevelLTA; level++ {
		signed := b
		if level > ades.LevelB {
			signed = raiseJSON(t, b, level, c.files)
		}
		jsonDSS.passed(t, c.name, write(t, "signed.json", signed), theirs, "JAdES-BASELINE-"+level.String())
	}
}

func TestJAdESAlgorithms(t *testing.T) {
	c := jsonCases()[0]
	for _, actor := range []string{"good", "rsa3072", "p256", "p384", "p521"} {
		for _, h := range []crypto.Hash{crypto.SHA256, crypto.SHA512} {
			for _, pss := range []bool{false, true} {
				if strings.HasPrefix(actor, "p") && (pss || h != crypto.SHA256) {
					continue // the curve decides
				}
				t.Run(fmt.Sprintf("%s-%v-%v", actor, h, pss), func(t *testing.T) {
					a := pki.Actor(t, actor)
					p := a.Signing(pki.Now())
					p.Hash, p.PSS = h, pss
					jsonDSS.passed(t, c.name, write(t, "signed.json", signJSON(t, a, p, c)), nil, "JAdES-BASELINE-B")
				})
			}
		}
	}
}

func TestJAdESClaimsAndCounterSignatures(t *testing.T) {
	a, b := pki.Actor(t, "good"), pki.Actor(t, "p256")
	c := jsonCases()[0]
	c.o.Roles, c.o.Place = []string{"notary"}, &jades.Place{Country: "IT", Locality: "Roma"}
	c.o.ContentTimestamps = [][]byte{contentStamp(t)}
	p := a.Signing(pki.Now())
	p.Commitments = []string{ades.Commitment("proof-of-origin")}
	signed := signJSON(t, a, p, c)
	jsonDSS.passed(t, "with claims", write(t, "signed.json", signed), nil, "JAdES-BASELINE-B")
	d, err := jades.Counter(t.Context(), bytes.NewReader(signed), "", b.Signing(pki.Now()), jades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	signed = b.Finish(t, d, b.Signing(pki.Now()))
	for level := ades.LevelB; level <= ades.LevelLTA; level++ {
		if level > ades.LevelB {
			signed = raiseJSON(t, signed, level, nil)
		}
		jsonDSS.passed(t, "counter-signed", write(t, "signed.json", signed), nil, "JAdES-BASELINE-"+level.String())
	}
}

// contentStamp is a token over the payload as it is signed.
func contentStamp(t testing.TB) []byte {
	t.Helper()
	h := crypto.SHA256.New()
	h.Write([]byte(base64.RawURLEncoding.EncodeToString([]byte(orderJSON))))
	token, err := pki.Unit.Stamp(t.Context(), crypto.SHA256, h.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// readJSON wants a file of theirs read by us, intact and at its level.
func readJSON(t testing.TB, file string, detached []ades.File, level string) *ades.Document {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jades.Read(t.Context(), bytes.NewReader(text), ades.ReadOptions{Detached: detached})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Signatures {
		if s.Intact() != ades.Yes || ades.Fatal(s.Problems) {
			t.Errorf("%v, %v", s.Intact(), s.Problems)
		}
		for _, ts := range s.Timestamps {
			if ts.ImprintIntact != ades.Yes {
				t.Errorf("%s time-stamp: %v, %v", ts.Kind, ts.ImprintIntact, ts.Problems)
			}
		}
		if l := jades.Profile(s, doc, nil).Name; l != level {
			t.Errorf("level %s, want %s", l, level)
		}
		table.add(row{"Rogito reads DSS", "JAdES", "by DSS", level[strings.LastIndexByte(level, '-')+1:], s.Algorithm.Key + " " + s.Algorithm.Digest}, !t.Failed())
	}
	return doc
}

func TestJAdESByDSS(t *testing.T) {
	a := pki.Actor(t, "good")
	p12 := writeP12(t, a)
	for _, form := range []string{"COMPACT_SERIALIZATION", "FLATTENED_JSON_SERIALIZATION", "JSON_SERIALIZATION"} {
		for _, c := range jsonCases() {
			for level := ades.LevelB; level <= ades.LevelLTA; level++ {
				if form == "COMPACT_SERIALIZATION" && level > ades.LevelB {
					continue
				}
				t.Run(fmt.Sprintf("%s-%s-%s", form, c.name, level), func(t *testing.T) {
					out := filepath.Join(t.TempDir(), "theirs.json")
					q := map[string]any{
						"op": "sign", "p12": p12, "password": "password", "tsa": pki.TSA(), "level": level.String(), "serialization": form,
						"unencoded": c.o.Unencoded, "documents": c.contents(t), "out": out,
					}
					if c.o.Detached {
						q["mechanism"] = map[jades.Mechanism]string{jades.ByURI: "OBJECT_ID_BY_URI", jades.ByURIHash: "OBJECT_ID_BY_URI_HASH"}[c.o.Mechanism]
					}
					jsonDSS.ask(t, q)
					readJSON(t, out, c.detached(), "JAdES-BASELINE-"+level.String())
				})
			}
		}
	}
}

// What one raises the other has made, and both ways.
func TestJAdESRaisedByTheOther(t *testing.T) {
	a := pki.Actor(t, "good")
	c := jsonCases()[0]
	ours := write(t, "ours.json", signJSON(t, a, a.Signing(pki.Now()), c))
	out := filepath.Join(t.TempDir(), "raised.json")
	jsonDSS.ask(t, map[string]any{"op": "extend", "file": ours, "level": "LTA", "tsa": pki.TSA(), "out": out})
	readJSON(t, out, nil, "JAdES-BASELINE-LTA")

	theirs := filepath.Join(t.TempDir(), "theirs.json")
	jsonDSS.ask(t, map[string]any{
		"op": "sign", "p12": writeP12(t, a), "password": "password", "tsa": pki.TSA(), "level": "LT", "documents": c.contents(t), "out": theirs,
	})
	text, err := os.ReadFile(theirs)
	if err != nil {
		t.Fatal(err)
	}
	raised := raiseJSON(t, raiseJSON(t, text, ades.LevelLTA, nil), ades.LevelLTA, nil)
	jsonDSS.passed(t, "of DSS, raised by us", write(t, "raised.json", raised), nil, "JAdES-BASELINE-LTA")
}

func TestJAdESCounterSignedByDSS(t *testing.T) {
	a := pki.Actor(t, "good")
	ours := write(t, "ours.json", signJSON(t, a, a.Signing(pki.Now()), jsonCases()[0]))
	for _, detached := range []bool{false, true} {
		for _, form := range []string{"COMPACT_SERIALIZATION", "FLATTENED_JSON_SERIALIZATION"} {
			out := filepath.Join(t.TempDir(), "counter.json")
			jsonDSS.ask(t, map[string]any{"op": "counter", "file": ours, "p12": writeP12(t, pki.Actor(t, "p256")), "password": "password", "serialization": form, "detached": detached, "out": out})
			doc := readJSON(t, out, nil, "JAdES-BASELINE-B")
			counters := doc.Signatures[0].CounterSignatures
			if len(counters) != 1 || counters[0].Intact() != ades.Yes || ades.Fatal(counters[0].Problems) {
				t.Errorf("%s, detached %v: %+v", form, detached, counters)
			}
		}
	}
}

// Components in clear are read, as far as they can be, and not raised.
func TestJAdESInClearByDSS(t *testing.T) {
	a := pki.Actor(t, "good")
	c := jsonCases()[0]
	out := filepath.Join(t.TempDir(), "clear.json")
	jsonDSS.ask(t, map[string]any{
		"op": "sign", "p12": writeP12(t, a), "password": "password", "tsa": pki.TSA(), "level": "LT", "clear": true, "documents": c.contents(t), "out": out,
	})
	readJSON(t, out, nil, "JAdES-BASELINE-LT")
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	r := ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki}
	if err := jades.Augment(t.Context(), bytes.NewReader(text), io.Discard, r); err == nil {
		t.Error("it was raised")
	}
}

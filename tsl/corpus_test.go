package tsl

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"testing"
	"time"

	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/xmldsig"
)

func readList(t testing.TB, name string) []byte {
	t.Helper()
	return corpus.Read(t, "tl", name)
}

// ownSigners are the certificates that a list's signature carries: good
// enough to test arithmetic, not to trust.
func ownSigners(_ testing.TB, l *List) [][]byte {
	var out [][]byte
	for _, n := range xmldsig.Find(l.doc) {
		out = append(out, xmldsig.Certificates(child(n, "KeyInfo"))...)
	}
	return out
}

func TestCorpusLists(t *testing.T) {
	type facts struct {
		File, Version, Sequence, Type, Territory string
		Issued                                   time.Time
		NextUpdate                               time.Time `json:"next_update"`
		Parses                                   bool
		Pointers, Providers, Services, Granted   int
		History                                  int    `json:"history_instances"`
		Intact                                   []bool `json:"signatures_intact"`
	}
	n := 0
	for _, m := range corpus.Lines[facts](t, "tl", "manifest.jsonl") {
		n++
		l, err := Parse(readList(t, m.File))
		if !m.Parses {
			if err == nil {
				t.Errorf("%s was read", m.File)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", m.File, err)
			continue
		}
		services, history, granted := 0, 0, 0
		for _, p := range l.Providers {
			services += len(p.Services)
			for _, s := range p.Services {
				history += len(s.History)
				if s.Status == "granted" {
					granted++
				}
			}
		}
		if l.Version != m.Version || l.Sequence != number(m.Sequence) || l.Type != m.Type || l.Territory != m.Territory ||
			!l.Issued.Equal(m.Issued) || !l.NextUpdate.Equal(m.NextUpdate) || len(l.Pointers) != m.Pointers ||
			len(l.Providers) != m.Providers || services != m.Services || history != m.History || granted != m.Granted {
			t.Errorf("%s read as %s %d %s %s %v %v, %d pointers, %d providers, %d services, %d past, %d granted; want %+v", m.File,
				l.Version, l.Sequence, l.Type, l.Territory, l.Issued, l.NextUpdate, len(l.Pointers), len(l.Providers), services, history, granted, m)
		}
		_, err = l.Verify(ownSigners(t, l))
		want := len(m.Intact) == 1 && m.Intact[0]
		if (err == nil) != want {
			t.Errorf("%s: signature: %v, want intact %v", m.File, err, m.Intact)
		}
	}
	if n != 18 {
		t.Errorf("%d lists", n)
	}
}

// number reads a sequence number; 0 where there is none.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// The list of lists of 2019 names the signers of the national ones.
func TestCorpusPointers(t *testing.T) {
	lotl, err := Parse(readList(t, "cache-EU.xml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"IT", "IE", "DK", "MT", "LU"} {
		l, err := Parse(readList(t, "cache-"+name+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range lotl.Pointers {
			if p.Territory == name {
				if _, err := l.Verify(p.Certificates); err == nil {
					found = true
				}
			}
		}
		if !found {
			t.Errorf("list of %s is not signed by whom the list of lists names", name)
		}
	}
}

// A list is parsed and its signature checked in at most three times what
// encoding/xml takes to find its tokens (measured: 0.75 times).
func TestItalianListSpeed(t *testing.T) {
	b := readList(t, "cache-IT.xml")
	ours, tokens := time.Hour, time.Hour
	for range 3 {
		start := time.Now()
		l, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Verify(ownSigners(t, l)); err != nil {
			t.Fatal(err)
		}
		ours = min(ours, time.Since(start))
		start = time.Now()
		for d := xml.NewDecoder(bytes.NewReader(b)); err == nil; {
			_, err = d.RawToken()
		}
		if err != io.EOF {
			t.Fatal(err)
		}
		tokens = min(tokens, time.Since(start))
	}
	t.Logf("parsed and checked in %v; the tokens alone, by encoding/xml, in %v", ours, tokens)
	if ours > 3*tokens {
		t.Errorf("parsed and checked in %v; the tokens alone, by encoding/xml, in %v", ours, tokens)
	}
}

func BenchmarkItalianList(b *testing.B) {
	raw := readList(b, "cache-IT.xml")
	for b.Loop() {
		l, err := Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.Verify(ownSigners(b, l)); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`<TrustServiceStatusList xmlns="http://uri.etsi.org/02231/v2#"><SchemeInformation/></TrustServiceStatusList>`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if l, err := Parse(b); err == nil {
			_ = l.Check()
			_, _ = l.Verify(nil)
		}
	})
}

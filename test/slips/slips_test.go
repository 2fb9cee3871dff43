// Package slips tries what readers make of documents that are not written as
// the standard has them, and holds the verdict to it. It has tests only.
package slips

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/trust"
)

var update = flag.Bool("update", false, "write the table of what readers do anew")

// slip is a document with a slip in it.
type slip struct {
	name string
	doc  *draft
	// one and two are what it may mean; nil: the contract, and nothing known.
	one, two *draft
}

// TestReaders tries every slip with the readers that people use, and keeps the
// table. Where they show different things the signature is never valid, and
// where they show the same it is.
func TestReaders(t *testing.T) {
	await.All(t)
	pki, err := adestest.New(nil, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	dir := t.TempDir()
	plain := contract()
	seen := map[*draft][]look{}
	looks := func(d *draft) []look {
		if known := seen[d]; known != nil {
			return known
		}
		var out []look
		for _, r := range readers {
			l, err := r.see(dir, sign(t, pki, d))
			missing(t, err)
			out = append(out, l)
		}
		seen[d] = out
		return out
	}
	for _, s := range all() {
		if s.one == nil {
			s.one = plain
		}
		got, one := looks(s.doc), looks(s.one)
		var two []look
		if s.two != nil {
			two = looks(s.two)
		}
		words := make([]string, len(readers))
		for i, l := range got {
			switch {
			case l == "":
				words[i] = "nothing"
			case l == one[i]:
				words[i] = "one"
			case two != nil && l == two[i]:
				words[i] = "two"
			default:
				words[i] = "else"
			}
		}
		v, codes := verdict(t, pki, sign(t, pki, s.doc))
		differ := false
		for _, w := range words {
			differ = differ || w != words[0] && w != "nothing" && words[0] != "nothing" || w == "else"
		}
		fmt.Fprintf(&table, "%-44s", s.name)
		for i, r := range readers {
			fmt.Fprintf(&table, " %s %-8s", r.name, words[i])
		}
		fmt.Fprintf(&table, " %-14s %s\n", v, strings.Join(codes, " "))
		switch {
		case strings.HasPrefix(s.name, "content: ") || v == "not signed": // differences of content are not looked for
		case differ && v == "TOTAL-PASSED":
			t.Errorf("%s: readers show different things (%v), and it is valid", s.name, words)
		case !differ && v != "TOTAL-PASSED":
			t.Errorf("%s: readers show the same (%v), and it is %s: %v", s.name, words, v, codes)
		}
	}
	path := filepath.Join("testdata", "readers.txt")
	if *update {
		if err := os.WriteFile(path, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != table.String() {
		t.Errorf("the table is another one (-update writes it):\n%s", table.String())
	}
}

// sign fills in the byte range and the signature.
func sign(t *testing.T, pki *adestest.PKI, d *draft) []byte {
	t.Helper()
	b := d.bytes()
	from := bytes.Index(b, []byte("/Contents<"+strings.Repeat("0", room))) + len("/Contents")
	to := from + room + 2
	b = bytes.Replace(b, []byte("[0 1111111111 2222222222 3333333333]"), fmt.Appendf(nil, "[0 %10d %10d %10d]", from, to, len(b)-to), 1)
	signed := append(bytes.Clone(b[:from]), b[to:]...)
	a := pki.Actor(t, "p256")
	o := rogito.Options{SignParams: a.Signing(pki.Now()), Format: ades.CAdES}
	o.CAdES.Detached = true
	var out bytes.Buffer
	if _, err := rogito.Sign(t.Context(), rogito.Input{Files: []ades.File{{Source: bytes.NewReader(signed)}}}, &out, a.Key, o); err != nil {
		t.Fatal(err)
	}
	hex.Encode(b[from+1:], out.Bytes())
	return b
}

// verdict is the indication, and the codes of what was found.
func verdict(t *testing.T, pki *adestest.PKI, b []byte) (string, []string) {
	t.Helper()
	store := &trust.Store{Client: pki.HTTP()}
	if err := store.AddAnchors(pki.RootPEM()); err != nil {
		t.Fatal(err)
	}
	r, err := (&rogito.Verifier{Trust: store}).Verify(t.Context(), bytes.NewReader(b), rogito.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	if len(r.Conclusions.Signatures) == 0 {
		return "not signed", nil
	}
	for _, c := range r.Conclusions.Signatures {
		for _, p := range c.Signature.Problems {
			if p.Code != "" {
				codes = append(codes, p.Code)
			} else {
				codes = append(codes, p.Text)
			}
		}
	}
	return string(r.Conclusions.Indication), codes
}

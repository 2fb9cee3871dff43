package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// row of a table: what, our figure, the yardstick's, what is wanted.
type row struct {
	what      string
	ours      float64
	yardstick float64
	goal      float64 // of the ratio; 0 where there is none
}

// heading begins a table.
func (b *bench) heading(title, ours, yardstick string) {
	fmt.Fprintf(&b.out, "\n### %s\n\n| what | %s | %s | ratio | goal | |\n|---|---|---|---|---|---|\n", title, ours, yardstick)
}

func (b *bench) row(r row) {
	if r.ours == 0 {
		fmt.Fprintf(&b.out, "| %s | not measured | | | | |\n", r.what)
		return
	}
	if r.yardstick == 0 {
		fmt.Fprintf(&b.out, "| %s | %s | not measured | | %s | |\n", r.what, number(r.ours), goal(r.goal))
		return
	}
	ratio := r.ours / r.yardstick
	fmt.Fprintf(&b.out, "| %s | %s | %s | %s | %s | %s |\n", r.what, number(r.ours), number(r.yardstick), number(ratio), goal(r.goal), met(ratio, r.goal))
}

// atMost is a row of a figure that is to stay small.
func (b *bench) atMost(what, unit string, got, most float64) {
	if got == 0 {
		return
	}
	fmt.Fprintf(&b.out, "| %s | %s | | | at most %s | %s |\n", what, strings.TrimSpace(number(got)+" "+unit), number(most), met(most/got, 1))
}

// allocated is a row about memory; a tree of nodes is larger than its text, so
// that XML has no goal.
func (b *bench) allocated(perByte float64, wanted bool) {
	const what = "… bytes allocated for a byte of the document"
	if wanted {
		b.atMost(what, "", perByte, 2)
		return
	}
	b.atLeast(what, "", perByte, 0)
}

// atLeast is a row of a figure that has no yardstick.
func (b *bench) atLeast(what, unit string, got, least float64) {
	if got == 0 {
		return
	}
	want := ""
	if least > 0 {
		want = "at least " + number(least)
	}
	fmt.Fprintf(&b.out, "| %s | %s | | | %s | %s |\n", what, strings.TrimSpace(number(got)+" "+unit), want, met(got, least))
}

func goal(g float64) string {
	if g == 0 {
		return ""
	}
	return number(g)
}

func met(got, want float64) string {
	switch {
	case want == 0:
		return ""
	case got >= want:
		return "yes"
	}
	return "no"
}

// number has three digits that count.
func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// libraryTables are those of signing beside the bare key.
func (b *bench) libraryTables() {
	r := b.rates
	b.heading("Signing, a second and core", "signed", "bare key operation")
	for _, w := range []struct {
		name, key string
		size      int
		goal      float64
		label     string
	}{
		{"sign PAdES-B RSA", "raw RSA", len(b.docs.pdf100), 0.85, "PAdES-B of 100 KB, RSA-2048"},
		{"sign CAdES-B RSA", "raw RSA", len(b.docs.bin), 0.85, "CAdES-B of 100 KB, attached, RSA-2048"},
		{"sign XAdES-B RSA", "raw RSA", len(b.docs.xml50), 0.60, "XAdES-B of 50 KB, enveloped, RSA-2048"},
		{"sign PAdES-B P-256", "raw P-256", len(b.docs.pdf100), 0, "PAdES-B of 100 KB, P-256"},
	} {
		b.row(row{w.label, r[w.name], r[w.key], w.goal})
		b.allocated(r[w.name+" bytes"]/float64(w.size), w.name != "sign XAdES-B RSA")
	}
	b.atLeast("PAdES-B of 100 KB, P-256", "a second", r["sign PAdES-B P-256"], 9000)
}

// pair are two rates of the same turns.
type pair struct{ ours, theirs float64 }

func (p pair) ratio() float64 { return p.ours / p.theirs }

// median is our rate and theirs in the round with the median ratio; where they were not
// measured, ours alone.
func (b *bench) median(ours, theirs string) pair {
	all := b.pairs[ours+" beside "+theirs]
	if len(all) == 0 {
		return pair{ours: b.rates[ours]}
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Compare(a.ratio(), b.ratio()) })
	return all[len(all)/2]
}

// strangersTables have the validators of others beside the library: of several rounds, that
// with the median ratio.
func (b *bench) strangersTables() {
	beside := func(label, ours, theirs string, goal float64) {
		p := b.median(ours, theirs)
		b.row(row{label, p.ours, p.theirs, goal})
	}
	b.heading("Signing beside others, a second and core", "Rogito", "the other")
	beside("PAdES-B of 100 KB, DSS", "sign PAdES-B RSA", "DSS 100.pdf PAdES-B sign", 0)
	beside("PAdES-B of 100 KB, pyHanko with its key loaded once", "sign PAdES-B RSA", "pyHanko 100.pdf pades-b-sign-kept-key", 0)
	beside("CAdES-B of 100 KB, DSS", "sign CAdES-B RSA", "DSS 100.bin CAdES-B sign", 0)
	beside("XAdES-B of 50 KB, DSS", "sign XAdES-B RSA", "DSS 50.xml XAdES-B sign", 0)
	beside("bare RSA-2048, the JDK's", "raw RSA", "DSS 100.pdf RSA-2048 SHA256withRSA sign", 0)
	beside("bare RSA-2048, OpenSSL's under pyHanko", "raw RSA", "pyHanko 100.pdf raw-sign", 0)

	b.heading("Verifying beside others, a second and core", "Rogito", "the other")
	beside("PAdES-B of 200 KB, pyHanko", "verify PAdES-B", "pyHanko 200.pdf validate", 0)
	for _, c := range []struct {
		name, file, size   string
		simple, kept, anew float64 // goals: level B, LT with the same verifier, and with a new one
	}{
		{"PAdES", "200.pdf", "200 KB", 100, 50, 50},
		{"CAdES", "100.bin", "100 KB", 20, 0, 12},
		{"XAdES", "50.xml", "50 KB", 50, 0, 25},
	} {
		lt := "DSS " + c.file + " " + c.name + "-LT validate"
		beside(c.name+"-B of "+c.size+", DSS", "verify "+c.name+"-B", "DSS "+c.file+" "+c.name+"-B validate", c.simple)
		beside(c.name+"-LT of "+c.size+", DSS", "verify "+c.name+"-LT", lt, c.kept)
		beside(c.name+"-LT of "+c.size+", nothing remembered, DSS", "verify "+c.name+"-LT anew", lt, c.anew)
		beside("… a file as DSS measures itself by, RSA-2048 throughout", "verify "+c.name+"-LT of DSS anew", lt, c.anew)
	}
	if len(b.notes) > 0 {
		fmt.Fprintf(&b.out, "\nLeft out: %s.\n", strings.Join(b.notes, "; "))
		b.notes = nil
	}
}

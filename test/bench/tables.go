package main

import (
	"fmt"
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

// libraryTables are those of signing and verifying.
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
		{"sign XAdES-B RSA", "raw RSA", len(b.docs.xml50), 0.75, "XAdES-B of 50 KB, enveloped, RSA-2048"},
		{"sign PAdES-B P-256", "raw P-256", len(b.docs.pdf100), 0, "PAdES-B of 100 KB, P-256"},
	} {
		b.row(row{w.label, r[w.name], r[w.key], w.goal})
		b.allocated(r[w.name+" bytes"]/float64(w.size), w.name != "sign XAdES-B RSA")
	}
	b.atLeast("PAdES-B of 100 KB, P-256", "a second", r["sign PAdES-B P-256"], 9000)

	b.heading("Signing beside others, a second and core", "Rogito", "the other")
	b.row(row{"PAdES-B of 100 KB, DSS", r["sign PAdES-B RSA"], r["DSS 100.pdf PAdES-B sign"], 0})
	b.row(row{"PAdES-B of 100 KB, pyHanko with its key loaded once", r["sign PAdES-B RSA"], r["pyHanko 100.pdf pades-b-sign-kept-key"], 0})
	b.row(row{"CAdES-B of 100 KB, DSS", r["sign CAdES-B RSA"], r["DSS 100.bin CAdES-B sign"], 0})
	b.row(row{"XAdES-B of 50 KB, DSS", r["sign XAdES-B RSA"], r["DSS 50.xml XAdES-B sign"], 0})
	b.row(row{"bare RSA-2048, the JDK's", r["raw RSA"], r["DSS 100.pdf RSA-2048 SHA256withRSA sign"], 0})
	b.row(row{"bare RSA-2048, OpenSSL's under pyHanko", r["raw RSA"], r["pyHanko 100.pdf raw-sign"], 0})

	b.heading("Verifying beside others, a second and core", "Rogito", "the other")
	b.row(row{"PAdES-B of 200 KB, DSS", r["verify PAdES-B"], r["DSS 200.pdf PAdES-B validate"], 100})
	b.row(row{"PAdES-B of 200 KB, pyHanko", r["verify PAdES-B"], r["pyHanko 200.pdf validate"], 0})
	b.row(row{"PAdES-LT of 200 KB, DSS", r["verify PAdES-LT"], r["DSS 200.pdf PAdES-LT validate"], 50})
	b.row(row{"PAdES-LT of 200 KB, nothing remembered, DSS", r["verify PAdES-LT anew"], r["DSS 200.pdf PAdES-LT validate"], 100})
	b.row(row{"… a file as DSS measures itself by, RSA-2048 throughout", r["verify PAdES-LT of DSS anew"], r["DSS 200.pdf PAdES-LT validate"], 100})
	b.row(row{"CAdES-B of 100 KB, DSS", r["verify CAdES-B"], r["DSS 100.bin CAdES-B validate"], 20})
	b.row(row{"CAdES-LT of 100 KB, DSS", r["verify CAdES-LT"], r["DSS 100.bin CAdES-LT validate"], 0})
	b.row(row{"CAdES-LT of 100 KB, nothing remembered, DSS", r["verify CAdES-LT anew"], r["DSS 100.bin CAdES-LT validate"], 25})
	b.row(row{"… a file as DSS measures itself by, RSA-2048 throughout", r["verify CAdES-LT of DSS anew"], r["DSS 100.bin CAdES-LT validate"], 25})
	b.row(row{"XAdES-B of 50 KB, DSS", r["verify XAdES-B"], r["DSS 50.xml XAdES-B validate"], 50})
	b.row(row{"XAdES-LT of 50 KB, DSS", r["verify XAdES-LT"], r["DSS 50.xml XAdES-LT validate"], 0})
	b.row(row{"XAdES-LT of 50 KB, nothing remembered, DSS", r["verify XAdES-LT anew"], r["DSS 50.xml XAdES-LT validate"], 50})
	b.row(row{"… a file as DSS measures itself by, RSA-2048 throughout", r["verify XAdES-LT of DSS anew"], r["DSS 50.xml XAdES-LT validate"], 50})
	if len(b.notes) > 0 {
		fmt.Fprintf(&b.out, "\nLeft out: %s.\n", strings.Join(b.notes, "; "))
		b.notes = nil
	}
}

package sheet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// written is a document with one of everything, long enough for a second page.
func written(t *testing.T) []byte {
	t.Helper()
	s := New()
	s.Head = func(s *Sheet) { s.Text("goes on", Small) }
	s.Text("Certificato (di) \\ completamento", Title)
	s.Section("Chi ha firmato")
	s.Pairs(Margin, Measure, 120, [2]Cell{{"Nome", Label}, {"林明 Łukasz Ωμέγα", Strong}}, [2]Cell{{"Vuoto", Label}, {" \n", Body}})
	s.Dots(Margin, s.Y, 40, 3, func(col, row int) bool { return col == row })
	s.Link(Margin, s.Y, 40, 40, "https://example.org/(a)?b=<c>")
	s.Space(48)
	rows := make([][]Cell, 80)
	for i := range rows {
		rows[i] = []Cell{{fmt.Sprintf("riga %d", i+1), Body}, {"valore", Code}}
	}
	s.Table([]Column{{Margin, 200, "Evento"}, {Margin + 210, 200, "Valore"}}, rows)
	if s.Page() < 2 {
		t.Fatalf("eighty rows fit %d page", s.Page())
	}
	b, err := s.Bytes(Info{
		Title: "Prova <&>", Lang: "it", Producer: "Rogito", Made: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Foot: func(n, of int) (string, string) { return "piede", fmt.Sprintf("%d/%d", n, of) },
		Attached: []Attached{{Name: "prova.json", About: "tutto", MediaType: "application/json", Data: []byte(`{"nome":"林明"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tool runs a program on the document; where there is none, the test is skipped.
func tool(t *testing.T, document []byte, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: sheets in other hands: there is no %s here", name)
	}
	file := filepath.Join(t.TempDir(), "sheet.pdf")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, a := range args {
		if a == "FILE" {
			args[i] = file
		}
	}
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

func TestSheetInOtherHands(t *testing.T) {
	t.Parallel()
	b := written(t)
	text := tool(t, b, "pdftotext", "-layout", "FILE", "-")
	for _, want := range []string{"Certificato (di) \\ completamento", "林明 Łukasz Ωμέγα", "riga 1 ", "riga 80", "goes on", "piede"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the text", want)
		}
	}
	if strings.Contains(text, "Vuoto") {
		t.Error("a pair without a value is shown")
	}
	if n := strings.Count(text, "Evento"); n < 2 {
		t.Errorf("the names of columns stand on %d page", n)
	}
	for line := range strings.Lines(strings.SplitN(tool(t, b, "pdffonts", "FILE"), "\n", 3)[2]) {
		if f := strings.Fields(line); len(f) < 7 || !strings.Contains(line, "yes yes yes") {
			t.Errorf("a font is not embedded as a subset that can be copied from: %s", line)
		}
	}
	if out := tool(t, b, "qpdf", "--check", "FILE"); !strings.Contains(out, "No syntax or stream encoding errors") {
		t.Errorf("qpdf: %s", out)
	}
	if out := tool(t, b, "pdfdetach", "-list", "FILE"); !strings.Contains(out, "prova.json") {
		t.Errorf("attached: %s", out)
	}
}

// A cell that is higher than a page goes on over pages, and nothing is lost.
func TestHighCell(t *testing.T) {
	t.Parallel()
	s := New()
	s.Pairs(Margin, Measure, 120, [2]Cell{{"Nome", Label}, {strings.Repeat("parola ", 146), Strong.Sized(40)}})
	if s.Page() < 3 {
		t.Errorf("%d pages", s.Page())
	}
	words := 0
	for _, p := range s.pages {
		words += strings.Count(p.content.String(), " Tj")
	}
	if words < 40 {
		t.Errorf("%d lines", words)
	}
}

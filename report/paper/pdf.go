package paper

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/sheet"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
)

// annexName is the file name of the attached details.
const annexName = "verification.xml"

// WritePDF writes the report as PDF/A-3: the verdict, who signed, the document and what the verdict
// is based on; for one signature that fits on one page. The details are attached, as the XML of
// ETSI TS 119 102-2. Every page has a footer with its number, the digest of the document and the
// producing program. The first page has space for a seal (see internal/sheet).
func WritePDF(w io.Writer, r *report.Report, name string, lang Lang) error {
	t := &page{r: r, l: lang}
	rows, err := t.documentRows(name)
	if err != nil {
		return err
	}
	var annex bytes.Buffer
	if err := WriteETSI(&annex, r); err != nil {
		return err
	}
	title, name := lang.T("Verification report"), visible.Line(name)
	a := AnswersTo(r, lang)
	s := sheet.New()
	s.Brand(title, name, lang.Date(r.MadeAt, r.Zone))
	s.Aside(0, lang.T("Details"), lang.f("All that was found is attached to this PDF as %s (ETSI TS 119 102-2).", annexName))
	s.Again(title, name)
	s.Panel(a.Class, a.Word, a.Kind, a.Rely)
	s.Space(8)
	pairs(s, []row{{label: lang.T("Why"), value: a.Why}, {label: lang.T("What to do"), value: a.Then}, {label: lang.T("Can be verified until"), value: a.Until}})
	signers(s, a, lang)
	s.Section(lang.T("Document"))
	pairs(s, rows)
	for _, sec := range t.sections() {
		if seen := t.visibleRows(sec.rows, a); len(seen) > 0 {
			s.Section(sec.title)
			pairs(s, seen)
		}
	}
	b, err := s.Bytes(sheet.Info{
		Title: strings.TrimSuffix(title+": "+name, ": "), Lang: string(lang), Producer: "Rogito", Made: r.MadeAt,
		Foot: func(n, of int) (left, right string) {
			left = r.Producer
			if r.Source != nil {
				left = strings.TrimPrefix(left+" · SHA-256 "+rows[len(rows)-1].value, " · ")
			}
			return left, lang.f("page %d of %d", n, of)
		},
		Attached: []sheet.Attached{{Name: annexName, About: title, MediaType: "application/xml", Data: annex.Bytes()}},
	})
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// signers is a row for each signer, or time-stamping authority.
func signers(s *sheet.Sheet, a Answers, l Lang) {
	if len(a.Signers) == 0 {
		return
	}
	s.Section(l.T("Who and when"))
	const who, when = 240.0, 150.0
	var rows [][]sheet.Cell
	for _, p := range a.Signers {
		ink, _ := sheet.Tone(p.Class)
		name := join(l.T(p.Label)+":", p.Name)
		if p.Label == "Signed by" || p.Label == "Time-stamped by" {
			name = p.Name
		}
		for _, more := range []string{p.Number, join(l.T("Covers only"), p.Only)} {
			if more != "" && more != l.T("Covers only") {
				name += " · " + more
			}
		}
		rows = append(rows, []sheet.Cell{{Text: name, Style: sheet.Strong}, {Text: join(p.When, parenthesis(p.How)), Style: sheet.Body}, {Text: p.Word, Style: sheet.Strong.In(ink)}})
	}
	s.Table([]sheet.Column{
		{X: sheet.Margin, Width: who, Name: l.T("Signer")},
		{X: sheet.Margin + who + 8, Width: when, Name: l.T("When")},
		{X: sheet.Margin + who + when + 16, Width: sheet.Measure - who - when - 16, Name: l.T("State")},
	}, rows)
	if a.More > 0 {
		s.Text(l.f("and %d more below", a.More), sheet.Small)
	}
}

// visibleRows omits rows that are folded on a page, and for a single signature also those that the
// verdict and the table of signers already have.
func (t *page) visibleRows(rows []row, a Answers) []row {
	said := a.Why
	again := []string{t.l.T("Issued by"), t.l.T("Time"), t.l.T("Can be verified until")}
	one := len(a.Signers) == 1 && a.More == 0
	var out []row
	for _, r := range rows {
		text := strings.TrimSuffix(r.value, ".")
		switch {
		case r.fold || one && slices.Contains(again, r.label):
			continue
		case one && r.class != "" && strings.Contains(said, text):
			continue
		case one && r.class != "" && slices.ContainsFunc(out, func(o row) bool {
			return o.class != "" && strings.Contains(text, strings.TrimSuffix(o.value, "."))
		}):
			continue
		}
		out = append(out, r)
	}
	return out
}

// pairs writes labels and values in two columns.
func pairs(s *sheet.Sheet, rows []row) {
	for _, r := range rows {
		st := sheet.Body
		switch {
		case r.class == "error":
			st = st.In(sheet.Bad)
		case r.class == "warning":
			st = st.In(sheet.Doubt)
		case r.label == "SHA-256":
			st = sheet.Code
		}
		s.Pairs(sheet.Margin, sheet.Measure, 118, [2]sheet.Cell{{Text: r.label, Style: sheet.Label}, {Text: r.value, Style: st}})
	}
}

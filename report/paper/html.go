package paper

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html/template"
	"io"
	"sync"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
)

//go:embed report.html
var htmlText string

// Style is the style sheet of a report for people. Pages that show one, or that
// want to look like one, begin theirs with it.
//
//go:embed report.css
var Style string

var style = template.CSS(Style) //nolint:gosec // our own

var htmlTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Parse(htmlText))
})

// htmlPage is what the page shows.
type htmlPage struct {
	Answers
	Lang     Lang
	Title    string
	Name     string
	Document []htmlRow
	Cards    []htmlCard
	Basis    htmlSection
	Producer string
	Style    template.CSS
}

// htmlCard is one signature or time-stamp.
type htmlCard struct {
	Signer
	Class, Word, Label string
	Indication         report.Indication
	Sub                report.SubIndication
	Nested             int
	Rows, More         []htmlRow
}

type htmlSection struct {
	Title string
	Rows  []htmlRow
}

type htmlRow struct {
	Label, Value, Class string
	Fold                bool
}

// T translates the words of the template.
func (h *htmlPage) T(phrase string) string { return h.Lang.T(phrase) }

// Others says how many signers are left out of the first lines.
func (h *htmlPage) Others(n int) string { return h.Lang.f("and %d more below", n) }

// WriteHTML writes a page that stands on its own.
func WriteHTML(w io.Writer, r *report.Report, name string, lang Lang) error {
	return writeHTML(w, r, "page", name, lang)
}

// WriteFragment writes what stands in the middle of such a page, for a page
// around it that has the style sheet of [Style]: the verdict as an element
// #verdict, and every signature as an element .signature, both with the
// indication as data-indication.
func WriteFragment(w io.Writer, r *report.Report, name string, lang Lang) error {
	return writeHTML(w, r, "fragment", name, lang)
}

func writeHTML(w io.Writer, r *report.Report, template, name string, lang Lang) error {
	t := &page{r: r, l: lang}
	name = visible.Line(name)
	h := &htmlPage{Answers: AnswersTo(r, lang), Lang: lang, Title: lang.T("Verification report"), Name: name, Producer: r.Producer, Style: style}
	rows, err := t.documentRows(name)
	if err != nil {
		return err
	}
	h.Document = htmlRows(rows)
	for i, c := range r.Conclusions.Signatures {
		h.Cards = append(h.Cards, t.card(i, c))
	}
	for _, c := range r.Conclusions.Timestamps {
		h.Cards = append(h.Cards, t.stampCard(c))
	}
	basis := t.basis()
	h.Basis = htmlSection{basis.title, htmlRows(basis.rows)}
	return htmlTemplate().ExecuteTemplate(w, template, h)
}

func htmlRows(rows []row) []htmlRow {
	out := make([]htmlRow, len(rows))
	for i, r := range rows {
		out[i] = htmlRow{r.label, r.value, r.class, r.fold}
	}
	return out
}

// digest is the SHA-256 of a document.
func digest(src ades.Source) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(src, 0, src.Size())); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

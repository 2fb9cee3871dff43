package paper

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html/template"
	"io"
	"sync"
	"time"

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

// htmlPage is the data of the page.
type htmlPage struct {
	Answers
	ID       string // of the verdict
	Part     bool   // one of several on a page: headings are one level lower
	Lang     Lang
	Title    string
	Name     string
	Document []htmlRow
	Cards    []htmlCard
	Basis    []htmlRow
	Producer string
	Style    template.CSS
	zone     *time.Location
}

// htmlCard is one signature or time-stamp.
type htmlCard struct {
	Signer
	Label      string
	Indication report.Indication
	Rows, More []htmlRow
}

type htmlRow struct {
	Label, Class string
	Value        template.HTML
	Fold         bool
}

// T translates the phrases of the template.
func (h *htmlPage) T(phrase string) string { return h.Lang.T(phrase) }

// When is the time of a signer.
func (h *htmlPage) When(s Signer) template.HTML {
	if s.At.IsZero() {
		return template.HTML(template.HTMLEscapeString(s.When)) //nolint:gosec // escaped
	}
	return h.Lang.Moment(s.At, h.zone)
}

// Others says how many signers are omitted from the first lines.
func (h *htmlPage) Others(n int) string { return h.Lang.f("and %d more below", n) }

// WriteHTML writes a complete page.
func WriteHTML(w io.Writer, r *report.Report, name string, lang Lang) error {
	return writeHTML(w, r, "page", name, lang, "verdict")
}

// WriteFragment writes the body of such a page, for a page around it that has the style sheet
// [Style]: the verdict as an element #verdict, and every signature as an element .signature, both
// with the indication as data-indication.
func WriteFragment(w io.Writer, r *report.Report, name string, lang Lang) error {
	return writeHTML(w, r, "fragment", name, lang, "verdict")
}

// WritePart writes a fragment for a page with several; id is that of the verdict.
func WritePart(w io.Writer, r *report.Report, name string, lang Lang, id string) error {
	return writeHTML(w, r, "fragment", name, lang, id)
}

func writeHTML(w io.Writer, r *report.Report, form, name string, lang Lang, id string) error {
	t := &page{r: r, l: lang}
	name = visible.Line(name)
	h := &htmlPage{Answers: AnswersTo(r, lang), ID: id, Part: id != "verdict", zone: r.Zone, Lang: lang, Title: lang.T("Verification report"), Name: name, Producer: r.Producer, Style: style}
	rows, err := t.documentRows(name)
	if err != nil {
		return err
	}
	h.Document = t.htmlRows(rows)
	for i, c := range r.Conclusions.Signatures {
		h.Cards = append(h.Cards, t.card(i, c))
	}
	for _, c := range r.Conclusions.Timestamps {
		h.Cards = append(h.Cards, t.stampCard(c))
	}
	h.Basis = t.htmlRows(t.basis().rows)
	return htmlTemplate().ExecuteTemplate(w, form, h)
}

func (t *page) htmlRows(rows []row) []htmlRow {
	out := make([]htmlRow, len(rows))
	for i, r := range rows {
		value := template.HTML(template.HTMLEscapeString(r.value)) //nolint:gosec // escaped
		if !r.at.IsZero() {
			value = t.l.Moment(r.at, t.r.Zone)
			if r.note != "" {
				value += template.HTML(" " + template.HTMLEscapeString(parenthesis(r.note))) //nolint:gosec // escaped
			}
		}
		out[i] = htmlRow{r.label, r.class, value, r.fold}
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

package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html/template"
	"io"
	"sync"

	"rogito.dev/rogito/ades"
)

//go:embed report.html
var htmlText string

// Style is the style sheet of a report for people. Pages that show one, or that
// want to look like one, begin theirs with it.
//
//go:embed report.css
var Style string

var htmlTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Parse(htmlText))
})

// htmlPage is what the page shows.
type htmlPage struct {
	Lang     Lang
	Title    string
	Summary  Summary
	Document htmlSection
	Sections []htmlSection
	Producer string
}

type htmlSection struct {
	Title string
	Rows  []htmlRow
}

type htmlRow struct{ Label, Value, Class string }

// WriteHTML writes a page that stands on its own.
func (r *Report) WriteHTML(w io.Writer, name string, lang Lang) error {
	t := &page{r: r, l: lang}
	h := htmlPage{Lang: lang, Title: lang.T("Verification report"), Summary: r.Summary(lang), Producer: r.Producer}
	rows, err := t.documentRows(name)
	if err != nil {
		return err
	}
	h.Document = htmlSection{name, htmlRows(rows)}
	for _, s := range t.sections() {
		h.Sections = append(h.Sections, htmlSection{s.title, htmlRows(s.rows)})
	}
	return htmlTemplate().Execute(w, h)
}

func htmlRows(rows []row) []htmlRow {
	out := make([]htmlRow, len(rows))
	for i, r := range rows {
		out[i] = htmlRow{r.label, r.value, r.class}
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

package report

import (
	_ "embed"
	"html/template"
	"io"
	"sync"
)

//go:embed report.html
var htmlText string

var htmlTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"p": pointed, "minute": shown,
	}).Parse(htmlText))
})

// htmlPage is what the page shows.
type htmlPage struct {
	Lang            Lang
	Name, Headline  string
	Who, Why, Class string
	PolicyName      string
	View            *View
	Signatures      []htmlSignature
	Messages        []string
}

type htmlSignature struct {
	SignatureView
	Number           int
	When             string
	Errors, Warnings []string
}

// T translates for the template.
func (h htmlPage) T(s string) string { return h.Lang.T(s) }

// WriteHTML writes a page that stands on its own.
func (r *Report) WriteHTML(w io.Writer, name string, lang Lang) error {
	v, err := r.View(false)
	if err != nil {
		return err
	}
	t := &page{r: r, l: lang}
	h := htmlPage{Lang: lang, Name: name, Headline: t.headline(), Who: t.who(), Why: t.why(), PolicyName: r.Conclusions.Policy, View: v, Class: "undetermined"}
	switch {
	case r.Valid():
		h.Class = "valid"
	case r.Conclusions.Indication == TotalFailed || len(v.Signatures) == 0:
		h.Class = "invalid"
	}
	for i, s := range v.Signatures {
		c := r.Conclusions.Signatures[i]
		h.Signatures = append(h.Signatures, htmlSignature{s, i + 1, t.when(c), lang.texts(c, Error), lang.texts(c, Warning)})
	}
	for _, m := range r.Conclusions.Messages {
		h.Messages = append(h.Messages, lang.Message(m))
	}
	return htmlTemplate().Execute(w, h)
}

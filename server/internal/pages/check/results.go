package check

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fattura"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

// answer gathers the verdicts on the documents of one form.
type answer struct {
	p             *Pages
	w             http.ResponseWriter
	r             *http.Request
	form          *form
	left, reports int64 // what the page may still carry: of signed files, of reports
}

// result is the verdict on one document.
type result struct {
	ID       string // of its part of the page
	Name     string
	Class    string // a colour
	Sign     string
	Word     string
	Why      string
	Signers  []paper.Signer
	Others   int // signers beyond those
	Zone     *time.Location
	Report   template.HTML
	PDF, XML template.URL // the reports, carried by the page; empty: too large
	File     string       // what they are called
	Contents []content
	More     int      // signed files that are not listed
	Invoice  *invoice // the signed content, where it is one
}

// overview is shown above several.
type overview struct {
	Class      string
	Sign       string
	Indication report.Indication
	Counts     []counted
	CSV        template.URL
}

// counted is how many documents have one verdict.
type counted struct {
	Class, Sign, Word string
	N                 int
}

// content is a signed file, carried by the page.
type content struct {
	Name string
	Size int64
	Link template.URL // empty: too large
}

// Begin says how many there are.
func (a *answer) Begin(n int) {
	a.form.Title = look.T("Result of the check", "Esito della verifica")
	if n > 1 {
		a.form.All = &overview{Class: "valid", Indication: report.TotalPassed}
	}
}

// More counts a further document.
func (a *answer) More() error { return a.p.allow(a.r) }

// Refuse shows the form again.
func (a *answer) Refuse(err error) { a.p.refuse(a.w, a.r, err) }

// Add puts a verdict on the page.
func (a *answer) Add(ctx context.Context, name string, verdict *report.Report, refused *fault.Error) error {
	lang := look.Language(a.r)
	res := &result{ID: fmt.Sprintf("file-%d", len(a.form.Results)+1), Name: visible.Line(name)}
	a.form.Results = append(a.form.Results, res)
	if refused != nil {
		res.Class, res.Sign, res.Word = "undetermined", paper.Sign(""), look.T("Not checked", "Non verificato").In(lang)
		res.Why = a.p.words(refused).In(lang)
		a.form.All.add(res, report.Indeterminate)
		return nil
	}
	if res.File = strings.TrimSuffix(visible.Name(path.Base(res.Name)), "."); res.File == "" {
		res.File = "document"
	}
	say := paper.AnswersTo(verdict, lang)
	res.Class, res.Sign, res.Word, res.Why = say.Class, say.Sign, say.Word, say.Why
	res.Signers, res.Others, res.Zone = say.Signers, say.More, verdict.Zone
	var page bytes.Buffer
	id := "verdict"
	if a.form.All != nil {
		id = res.ID + "-verdict"
		a.form.All.add(res, say.Indication)
	}
	if err := paper.WritePart(&page, verdict, res.Name, lang, id); err != nil {
		return err
	}
	res.Report = template.HTML(page.String()) //nolint:gosec // escaped by the report's own template
	if err := a.carry(ctx, res, verdict, lang); err != nil {
		return err
	}
	return a.hand(res, verdict.Contents)
}

// carry puts the reports into the page, while they fit it.
func (a *answer) carry(ctx context.Context, res *result, verdict *report.Report, lang paper.Lang) error {
	if a.reports <= 0 {
		return nil
	}
	pdf, err := a.p.pdf(ctx, verdict, res.Name, lang)
	if err != nil {
		return err
	}
	var xml bytes.Buffer
	if err := paper.WriteETSI(&xml, verdict); err != nil {
		return err
	}
	for _, one := range []struct {
		to   *template.URL
		kind string
		b    []byte
	}{{&res.PDF, "application/pdf", pdf}, {&res.XML, "application/xml", xml.Bytes()}} {
		if int64(len(one.b)) <= a.reports {
			*one.to = carried(one.kind, one.b)
		}
		a.reports -= int64(len(one.b))
	}
	return nil
}

// End answers with the page.
func (a *answer) End() {
	if all := a.form.All; all != nil {
		all.Sign = paper.Sign(all.Class)
		all.CSV = a.csv()
	}
	a.p.set.Render(a.w, a.r, http.StatusOK, "check", a.form)
}

// add counts a verdict; what is above several is as bad as the worst.
func (o *overview) add(res *result, i report.Indication) {
	if o == nil {
		return
	}
	switch {
	case i == report.TotalFailed || o.Indication == report.TotalFailed:
		o.Indication = report.TotalFailed
	case i != report.TotalPassed:
		o.Indication = report.Indeterminate
	}
	if res.Class == "invalid" || o.Class == "invalid" {
		o.Class = "invalid"
	} else if res.Class != "valid" {
		o.Class = "undetermined"
	}
	for k, c := range o.Counts {
		if c.Word == res.Word && c.Class == res.Class {
			o.Counts[k].N++
			return
		}
	}
	o.Counts = append(o.Counts, counted{res.Class, res.Sign, res.Word, 1})
}

// csv is the table as a file.
func (a *answer) csv() template.URL {
	lang := look.Language(a.r)
	var b strings.Builder
	b.WriteString("\ufeff") // a spreadsheet would take it for another encoding
	head := []string{}
	for _, t := range []look.Text{look.Same("File"), look.T("Verdict", "Esito"), look.T("Signers", "Firmatari"), look.T("Fiscal codes and organisations", "Codici fiscali e organizzazioni"), look.T("Times (UTC)", "Date e ore (UTC)"), look.T("Reason", "Motivo")} {
		head = append(head, t.In(lang))
	}
	b.WriteString(visible.Row(head...))
	for _, res := range a.form.Results {
		var names, numbers, times []string
		for _, s := range res.Signers {
			names, numbers = append(names, s.Name), append(numbers, s.Number)
			if !s.At.IsZero() {
				times = append(times, s.At.UTC().Format(time.RFC3339))
			}
		}
		if res.Others > 0 {
			names = append(names, fmt.Sprintf("+%d", res.Others))
		}
		list := func(of []string) string { return strings.Trim(strings.Join(of, "; "), "; ") }
		b.WriteString(visible.Row(res.Name, res.Word, list(names), list(numbers), list(times), res.Why))
	}
	return carried("text/csv", []byte(b.String()))
}

// When is the time of a signer.
func (r *result) When(l paper.Lang, s paper.Signer) template.HTML { return l.Moment(s.At, r.Zone) }

const (
	maxCarried = 4 << 20 // bytes of reports, and of signed files, that a page carries
	maxListed  = 100     // signed files that it names
)

// hand lists the signed files. The page carries the small ones itself, under a type that no browser
// displays: they are untrusted, and must not be opened in this site's origin.
func (a *answer) hand(res *result, files []ades.File) error {
	for i, file := range files {
		if i == maxListed {
			res.More = len(files) - maxListed
			break
		}
		c := content{Name: visible.Line(file.Name), Size: file.Source.Size()}
		if c.Size <= a.left {
			b, err := io.ReadAll(io.NewSectionReader(file.Source, 0, c.Size))
			if err != nil {
				return err
			}
			a.left -= c.Size
			c.Link = carried("application/octet-stream", b)
			if res.Invoice == nil && len(files) == 1 {
				if in, err := fattura.Read(b); err == nil {
					res.Invoice = &invoice{in}
				}
			}
		}
		res.Contents = append(res.Contents, c)
	}
	return nil
}

// Base is what a downloaded file is called.
func (c content) Base() string {
	if name := visible.Name(path.Base(c.Name)); name != "" {
		return name
	}
	return "content"
}

// carried is a file inside the page that leads to it.
func carried(kind string, b []byte) template.URL {
	return template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)) //nolint:gosec // our own bytes
}

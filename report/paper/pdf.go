package paper

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
)

// WritePDF writes the report as a PDF of plain pages: A4, the standard fonts,
// nothing that needs a library. Every page has a foot with its number, the
// digest of the document and the program that made it.
func WritePDF(w io.Writer, r *report.Report, name string, lang Lang) error {
	t := &page{r: r, l: lang}
	rows, err := t.documentRows(name)
	if err != nil {
		return err
	}
	p := &pdfWriter{title: strings.TrimSuffix(lang.T("Verification report")+": "+visible.Line(name), ": "), lang: lang}
	p.newPage()
	p.put(p.title, 9, true, grey)
	p.space(6)
	p.answers(AnswersTo(r, lang))
	p.heading(lang.T("Document"))
	p.rows(rows)
	for _, sec := range t.sections() {
		p.heading(sec.title)
		p.rows(sec.rows)
	}
	p.feet(func(n, of int) (left, right string) {
		left = r.Producer
		if r.Source != nil {
			left = strings.TrimPrefix(left+" · SHA-256 "+rows[len(rows)-1].value, " · ")
		}
		return left, lang.f("page %d of %d", n, of)
	})
	return p.write(w)
}

// answers writes the banner: the verdict, who, when, why, what to do.
func (p *pdfWriter) answers(a Answers) {
	c := banner[a.Class]
	l := p.lang
	p.box(c, func() {
		p.put(l.T("Can I rely on it?"), 9.5, true, grey)
		p.space(12)
		p.font = "F3"
		p.put(a.Word, 26, true, c.ink)
		p.space(-8)
		p.font = ""
		p.put(a.Rely, 11.5, true, black)
		if a.Kind != "" {
			p.put(a.Kind+" · "+string(a.Indication), 8, false, grey)
		}
		p.space(6)
		for _, s := range a.Signers {
			p.pair(l.T(s.Label), join(s.Name, parenthesis(s.Number)), 10, black)
			if s.Only != "" {
				p.pair(l.T("Covers only"), s.Only, 10, black)
			}
			p.pair(l.T("When"), join(s.When, parenthesis(s.How)), 10, black)
		}
		if a.More > 0 {
			p.pair("", l.f("and %d more below", a.More), 10, black)
		}
		if a.Until != "" {
			p.pair(l.T("Evidence lasts until"), a.Until, 10, black)
		}
		if a.Why != "" {
			p.pair(l.T("Why"), a.Why, 10, black)
		}
		if a.Then != "" {
			p.pair(l.T("What to do"), a.Then, 10, black)
		}
	})
}

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// rows writes labels and values in two columns.
func (p *pdfWriter) rows(rows []row) {
	for _, r := range rows {
		color := map[string]string{"error": red, "warning": amber}[r.class]
		if color == "" {
			color = black
		}
		p.pair(r.label, r.value, 9.5, color)
	}
}

// heading begins a section, on the next page where too little room is left.
func (p *pdfWriter) heading(text string) {
	p.space(10)
	if p.y < margin+80 {
		p.newPage()
	}
	p.put(text, 11, true, black)
	p.rule()
	p.space(3)
}

// Colours of text, as PDF operands: those of the style sheet.
const (
	black = "0.09 0.125 0.18"
	grey  = "0.3 0.345 0.42"
	green = "0.043 0.384 0.224"
	red   = "0.643 0.078 0.114"
	amber = "0.46 0.275 0"
)

// banner is how each verdict looks.
var banner = map[string]struct{ ink, paper, line string }{
	"valid":        {green, "0.902 0.961 0.925", "0.169 0.541 0.341"},
	"trial":        {amber, "1 0.953 0.851", "0.788 0.541 0.071"},
	"undetermined": {amber, "1 0.953 0.851", "0.788 0.541 0.071"},
	"invalid":      {red, "0.992 0.925 0.925", "0.812 0.227 0.255"},
}

const (
	pageWidth, pageHeight = 595.0, 842.0
	margin                = 56.0
)

type pdfWriter struct {
	title  string
	lang   Lang
	pages  []*bytes.Buffer
	y      float64
	indent float64 // from both margins
	font   string  // in place of the usual ones
}

func (p *pdfWriter) newPage() {
	p.pages = append(p.pages, new(bytes.Buffer))
	p.y = pageHeight - margin
}

func (p *pdfWriter) space(h float64) { p.y -= h }

// put writes a paragraph, wrapped at the margin.
func (p *pdfWriter) put(text string, size float64, bold bool, color string) {
	for _, part := range wrap(text, pageWidth-2*(margin+p.indent), size, bold) {
		p.needLine(size)
		p.show(part, margin+p.indent, size, bold, color)
		p.y -= size * 1.4
	}
}

// pair writes a label and its value beside it, both wrapped.
func (p *pdfWriter) pair(label, value string, size float64, color string) {
	const column = 126
	labels := wrap(label, column-6, size, false)
	values := wrap(value, pageWidth-2*(margin+p.indent)-column, size, false)
	for i := range max(len(labels), len(values)) {
		p.needLine(size)
		if i < len(labels) {
			p.show(labels[i], margin+p.indent, size, false, grey)
		}
		if i < len(values) {
			p.show(values[i], margin+p.indent+column, size, false, color)
		}
		p.y -= size * 1.4
	}
	p.space(1)
}

// needLine begins a new page where a line would run into the foot.
func (p *pdfWriter) needLine(size float64) {
	if p.y < margin+size {
		p.newPage()
	}
}

// box draws a coloured box around what inside writes. What goes on over the page
// has none.
func (p *pdfWriter) box(c struct{ ink, paper, line string }, inside func()) {
	top, first := p.y, len(p.pages)
	under := p.pages[first-1]
	before := bytes.Clone(under.Bytes())
	under.Reset()
	p.indent = 16
	p.space(16)
	inside()
	p.indent = 0
	p.space(4)
	text := bytes.Clone(under.Bytes())
	under.Reset()
	under.Write(before)
	if first == len(p.pages) {
		low, width := p.y+6, pageWidth-2*margin
		fmt.Fprintf(under, "q %s rg %s RG 0.7 w %.1f %.1f %.1f %.1f re B %s rg %.1f %.1f 5 %.1f re f Q\n", c.paper, c.line, margin, low, width, top-low+6, c.line, margin, low, top-low+6)
	}
	under.Write(text)
	p.space(4)
}

// rule draws a thin line under a heading.
func (p *pdfWriter) rule() {
	fmt.Fprintf(p.pages[len(p.pages)-1], "q 0.8 0.8 0.8 RG 0.5 w %.1f %.1f m %.1f %.1f l S Q\n", margin, p.y+10, pageWidth-margin, p.y+10)
}

// feet writes the foot of every page, once their number is known.
func (p *pdfWriter) feet(text func(n, of int) (left, right string)) {
	const size = 7.5
	for i, b := range p.pages {
		left, right := text(i+1, len(p.pages))
		fmt.Fprintf(b, "BT /F1 %.1f Tf %s rg %.1f %.1f Td (%s) Tj ET\n", size, grey, margin, margin/2, pdf.WinAnsi(left))
		x := pageWidth - margin - textWidth(right, size, false)
		fmt.Fprintf(b, "BT /F1 %.1f Tf %s rg %.1f %.1f Td (%s) Tj ET\n", size, grey, x, margin/2, pdf.WinAnsi(right))
	}
}

func (p *pdfWriter) show(s string, x, size float64, bold bool, color string) {
	font := "F1"
	if bold {
		font = "F2"
	}
	if p.font != "" {
		font = p.font
	}
	fmt.Fprintf(p.pages[len(p.pages)-1], "BT /%s %.1f Tf %s rg %.1f %.1f Td (%s) Tj ET\n", font, size, color, x, p.y, pdf.WinAnsi(s))
}

// wrap breaks a text at spaces, and inside words that are too long.
func wrap(s string, width, size float64, bold bool) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		for textWidth(word, size, bold) > width {
			cut := int(float64(len([]rune(word))) * width / textWidth(word, size, bold))
			cut = max(1, min(cut, len([]rune(word))-1))
			if line != "" {
				out = append(out, line)
				line = ""
			}
			out = append(out, string([]rune(word)[:cut]))
			word = string([]rune(word)[cut:])
		}
		switch {
		case line == "":
			line = word
		case textWidth(line+" "+word, size, bold) > width:
			out = append(out, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(out, line)
}

// textWidth estimates a width in Helvetica, on the wide side.
func textWidth(s string, size float64, bold bool) float64 {
	w := 0.0
	for _, c := range s {
		switch {
		case strings.ContainsRune("iljt.,:;'|!()[] fr/", c):
			w += 0.32
		case strings.ContainsRune("mwMW@", c):
			w += 0.9
		case c >= 'A' && c <= 'Z' || c == '_' || c == '=':
			w += 0.7
		default:
			w += 0.56
		}
	}
	if bold {
		w *= 1.07
	}
	return w * size
}

func (p *pdfWriter) write(w io.Writer) error {
	kids := make([]string, len(p.pages))
	for i := range p.pages {
		kids[i] = fmt.Sprintf("%d 0 R", 7+2*i)
	}
	objects := []string{
		fmt.Sprintf("<< /Type /Catalog /Pages 2 0 R /Lang (%s) /ViewerPreferences << /DisplayDocTitle true >> >>", p.lang),
		fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids)),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Bold /Encoding /WinAnsiEncoding >>",
		fmt.Sprintf("<< /Title (%s) /Producer (Rogito) >>", pdf.WinAnsi(p.title)),
	}
	for i, c := range p.pages {
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.0f %.0f] /Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> /Contents %d 0 R >>", pageWidth, pageHeight, 8+2*i),
			fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", c.Len(), c.String()))
	}
	_, err := w.Write(pdf.Build(objects, "/Info 6 0 R "))
	return err
}

package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// WritePDF writes the report as a PDF of plain pages: A4, the standard fonts,
// nothing that needs a library. Every page has a foot with its number, the
// digest of the document and the program that made it.
func (r *Report) WritePDF(w io.Writer, name string, lang Lang) error {
	t := &page{r: r, l: lang}
	rows, err := t.documentRows(name)
	if err != nil {
		return err
	}
	p := &pdfWriter{}
	p.newPage()
	p.put(lang.T("Verification report"), 16, true, black)
	p.space(8)
	s := r.Summary(lang)
	color := map[string]string{"valid": green, "invalid": red, "undetermined": amber}[s.Class]
	p.bar(color, func() {
		for i, line := range s.Lines {
			switch {
			case line == "":
			case i == 0:
				p.put(line, 12, true, color)
				p.space(2)
			default:
				p.put(line, 10, false, black)
				p.space(2)
			}
		}
	})
	p.space(8)
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

// Colours of text, as PDF operands.
const (
	black = "0.1 0.1 0.1"
	green = "0.1 0.5 0.2"
	red   = "0.7 0.15 0.12"
	amber = "0.6 0.4 0"
)

const (
	pageWidth, pageHeight = 595.0, 842.0
	margin                = 56.0
)

type pdfWriter struct {
	pages  []*bytes.Buffer
	y      float64
	indent float64 // from the left margin
}

func (p *pdfWriter) newPage() {
	p.pages = append(p.pages, new(bytes.Buffer))
	p.y = pageHeight - margin
}

func (p *pdfWriter) space(h float64) { p.y -= h }

// put writes a paragraph, wrapped at the margin.
func (p *pdfWriter) put(text string, size float64, bold bool, color string) {
	for _, part := range wrap(text, pageWidth-2*margin-p.indent, size, bold) {
		p.room(size)
		p.show(part, margin+p.indent, size, bold, color)
		p.y -= size * 1.4
	}
}

// pair writes a label and its value beside it, both wrapped.
func (p *pdfWriter) pair(label, value string, size float64, color string) {
	const column = 126
	labels := wrap(label, column-6, size, false)
	values := wrap(value, pageWidth-2*margin-column, size, false)
	for i := range max(len(labels), len(values)) {
		p.room(size)
		if i < len(labels) {
			p.show(labels[i], margin, size, false, "0.35 0.35 0.35")
		}
		if i < len(values) {
			p.show(values[i], margin+column, size, false, color)
		}
		p.y -= size * 1.4
	}
	p.space(1)
}

// room begins a new page where a line would run into the foot.
func (p *pdfWriter) room(size float64) {
	if p.y < margin+size {
		p.newPage()
	}
}

// bar draws a coloured bar beside what inside writes.
func (p *pdfWriter) bar(color string, inside func()) {
	top, first := p.y, len(p.pages)
	p.indent = 12
	inside()
	p.indent = 0
	if first == len(p.pages) {
		fmt.Fprintf(p.pages[first-1], "q %s rg %.1f %.1f 4 %.1f re f Q\n", color, margin, p.y+8, top-p.y+4)
	}
}

// rule draws a thin line under a heading.
func (p *pdfWriter) rule() {
	fmt.Fprintf(p.pages[len(p.pages)-1], "q 0.8 0.8 0.8 RG 0.5 w %.1f %.1f m %.1f %.1f l S Q\n", margin, p.y+10, pageWidth-margin, p.y+10)
}

// feet writes the foot of every page, once their number is known.
func (p *pdfWriter) feet(text func(n, of int) (left, right string)) {
	const size, grey = 7.5, "0.4 0.4 0.4"
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
		kids[i] = fmt.Sprintf("%d 0 R", 5+2*i)
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids)),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
	}
	for i, c := range p.pages {
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.0f %.0f] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents %d 0 R >>", pageWidth, pageHeight, 6+2*i),
			fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", c.Len(), c.String()))
	}
	_, err := w.Write(pdf.Build(objects, ""))
	return err
}

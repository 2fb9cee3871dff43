package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WritePDF writes the report as a PDF of plain pages: A4, the standard fonts,
// nothing that needs a library.
func (r *Report) WritePDF(w io.Writer, name string, lang Lang) error {
	var text bytes.Buffer
	if err := r.WriteText(&text, name, lang); err != nil {
		return err
	}
	p := &pdfWriter{}
	p.newPage()
	p.put(lang.T("Verification report"), 16, true, black)
	p.space(6)
	color := amber
	switch {
	case r.Valid():
		color = green
	case r.Conclusions.Indication == TotalFailed || len(r.Conclusions.Signatures) == 0:
		color = red
	}
	for i, line := range strings.Split(strings.TrimRight(text.String(), "\n"), "\n") {
		switch {
		case i == 0:
			p.put(line, 12, true, color)
		case i == 3:
			p.space(4)
			p.put(fmt.Sprintf("%s: %s   %s: %s", lang.T("Verdict for"), minute(r.Conclusions.At), lang.T("Made on"), minute(r.MadeAt)), 9, false, black)
			p.put(lang.T("Policy")+": "+r.Conclusions.Policy, 9, false, black)
			p.put(line, 9, false, black)
		case line != "" && line[0] != ' ' && i > 2:
			p.put(line, 11, true, black)
		default:
			p.put(line, 9.5, false, black)
		}
	}
	return p.write(w)
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
	pages []*bytes.Buffer
	y     float64
}

func (p *pdfWriter) newPage() {
	p.pages = append(p.pages, new(bytes.Buffer))
	p.y = pageHeight - margin
}

func (p *pdfWriter) space(h float64) { p.y -= h }

// put writes a paragraph, wrapped at the margin. A label of WriteText (two
// spaces, the label, its value) keeps its value in a column.
func (p *pdfWriter) put(line string, size float64, bold bool, color string) {
	label, value := "", line
	if strings.HasPrefix(line, "  ") {
		if runes := []rune(line); len(runes) > 29 {
			label, value = strings.TrimSpace(string(runes[:28])), strings.TrimSpace(string(runes[28:]))
		}
	}
	x, width := margin, pageWidth-2*margin
	if label != "" {
		x, width = margin+130, width-130
	}
	for i, part := range wrap(value, width, size, bold) {
		if p.y < margin+size {
			p.newPage()
		}
		if i == 0 && label != "" {
			p.show(label, margin+6, size, false, "0.35 0.35 0.35")
		}
		p.show(part, x, size, bold, color)
		p.y -= size * 1.4
	}
}

func (p *pdfWriter) show(s string, x, size float64, bold bool, color string) {
	font := "F1"
	if bold {
		font = "F2"
	}
	fmt.Fprintf(p.pages[len(p.pages)-1], "BT /%s %.1f Tf %s rg %.1f %.1f Td (%s) Tj ET\n", font, size, color, x, p.y, winAnsi(s))
}

// winAnsi encodes and escapes a string; what the encoding lacks becomes "?".
func winAnsi(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '(' || c == ')' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '–' || c == '—':
			b.WriteString(map[rune]string{'–': `\226`, '—': `\227`}[c])
		case c == '…':
			b.WriteString(`\205`)
		case c == '’':
			b.WriteString(`\222`)
		case c >= ' ' && c < 0x7f:
			b.WriteRune(c)
		case c >= 0xa0 && c <= 0xff:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
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
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	kids := make([]string, len(p.pages))
	for i := range p.pages {
		kids[i] = fmt.Sprintf("%d 0 R", 5+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>")
	for i, c := range p.pages {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.0f %.0f] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents %d 0 R >>", pageWidth, pageHeight, 6+2*i)
		object("<< /Length %d >>\nstream\n%sendstream", c.Len(), c.String())
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	_, err := w.Write(b.Bytes())
	return err
}

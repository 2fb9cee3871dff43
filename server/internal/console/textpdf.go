package console

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// Layout of a text in PDF: A4, Courier of eight points.
const (
	pdfColumns = 100
	pdfLines   = 78
)

// TextPDF sets a text in a plain PDF (ISO 32000-1), line by line.
func TextPDF(title, text string) []byte {
	pages := paginate(title, text)
	w := &pdfWriter{}
	w.buf.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	kids := make([]string, len(pages))
	for i := range pages {
		kids[i] = fmt.Sprintf("%d 0 R", 5+2*i)
	}
	w.object("<< /Type /Catalog /Pages 2 0 R >>")
	w.object(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(pages), strings.Join(kids, " ")))
	w.object("<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>")
	w.object(fmt.Sprintf("<< /Title (%s) /Producer (rogito) >>", escapePDF(title)))
	for i, lines := range pages {
		w.object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>", 6+2*i))
		w.stream(lines)
	}
	return w.end()
}

func paginate(title, text string) [][]string {
	lines := []string{title, ""}
	for _, l := range strings.Split(strings.ReplaceAll(text, "\t", "  "), "\n") {
		r := []rune(l)
		for len(r) > pdfColumns {
			lines = append(lines, string(r[:pdfColumns]))
			r = r[pdfColumns:]
		}
		lines = append(lines, string(r))
	}
	var pages [][]string
	for len(lines) > pdfLines {
		pages = append(pages, lines[:pdfLines])
		lines = lines[pdfLines:]
	}
	return append(pages, lines)
}

type pdfWriter struct {
	buf     bytes.Buffer
	offsets []int
}

func (w *pdfWriter) object(body string) {
	w.offsets = append(w.offsets, w.buf.Len())
	fmt.Fprintf(&w.buf, "%d 0 obj\n%s\nendobj\n", len(w.offsets), body)
}

func (w *pdfWriter) stream(lines []string) {
	var s strings.Builder
	s.WriteString("BT /F 8 Tf 10 TL 40 810 Td\n")
	for _, l := range lines {
		fmt.Fprintf(&s, "(%s) Tj T*\n", escapePDF(l))
	}
	s.WriteString("ET\n")
	w.object(fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", s.Len(), s.String()))
}

func (w *pdfWriter) end() []byte {
	start := w.buf.Len()
	fmt.Fprintf(&w.buf, "xref\n0 %d\n0000000000 65535 f \n", len(w.offsets)+1)
	for _, o := range w.offsets {
		fmt.Fprintf(&w.buf, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&w.buf, "trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(w.offsets)+1, start)
	return w.buf.Bytes()
}

// escapePDF writes text as the inside of a literal string; what the encoding
// lacks becomes a question mark.
func escapePDF(s string) string {
	var b strings.Builder
	for _, r := range s {
		c, ok := charmap.Windows1252.EncodeRune(r)
		switch {
		case !ok || c < 0x20 || c == 0x7f:
			b.WriteByte('?')
		case c == '(' || c == ')' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

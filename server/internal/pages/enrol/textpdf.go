package enrol

import (
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// Layout of a text in PDF: A4, Courier of eight points.
const (
	pdfColumns = 100
	pdfLines   = 78
)

// TextPDF sets a text in a plain PDF (ISO 32000-1), line by line.
func TextPDF(title, text string) []byte {
	pages := paginate(title, text)
	kids := make([]string, len(pages))
	for i := range pages {
		kids[i] = fmt.Sprintf("%d 0 R", 5+2*i)
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(pages), strings.Join(kids, " ")),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
		fmt.Sprintf("<< /Title (%s) /Producer (rogito) >>", pdf.WinAnsi(title)),
	}
	for i, lines := range pages {
		content := "BT /F 8 Tf 10 TL 40 810 Td\n"
		for _, l := range lines {
			content += "(" + pdf.WinAnsi(l) + ") Tj T*\n"
		}
		content += "ET\n"
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>", 6+2*i),
			fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", len(content), content))
	}
	return pdf.Build(objects, "/Info 4 0 R ")
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

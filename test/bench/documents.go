package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"rogito.dev/rogito/internal/pdf"
)

// documents are the inputs, the same for everybody, in memory and as files.
type documents struct {
	dir, load                  string
	pdf100, pdf200, bin, xml50 []byte
}

func newDocuments() (*documents, error) {
	dir, err := os.MkdirTemp("", "rogito-bench")
	if err != nil {
		return nil, err
	}
	d := &documents{dir: dir, load: load(), pdf100: samplePDF(100_000), pdf200: samplePDF(200_000), bin: noise(100_000), xml50: xml(50_000)}
	for name, b := range map[string][]byte{"100.pdf": d.pdf100, "200.pdf": d.pdf200, "100.bin": d.bin, "50.xml": d.xml50} {
		if err := os.WriteFile(d.path(name), b, 0o600); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *documents) path(name string) string { return filepath.Join(d.dir, name) }

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return b
}

// samplePDF is a document of three pages of text, most of which is an attached file:
// a validator that draws the pages to compare them, as DSS does, has little to
// draw, so that the comparison is not about drawing.
func samplePDF(size int) []byte {
	const pages, first = 3, 5
	stream := func(dict string, data []byte) string {
		return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
	}
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf(" %d 0 R", first+2*i)
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(data.bin) << /Type /Filespec /F (data.bin) /EF << /F 4 0 R >> >>] >> >> >>",
		fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s ] >>", pages, kids),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		stream("/Type /EmbeddedFile", noise(size-2000)),
	}
	for i := range pages {
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", first+2*i+1),
			stream("", fmt.Appendf(nil, "BT /F1 12 Tf 72 720 Td (Page %d) Tj ET", i+1)))
	}
	return pdf.Build(objects, "")
}

// xml is a list of entries with attributes and a namespace.
func xml(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`<r:list xmlns:r="urn:r">`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<r:entry n=\"%d\"><name>Name of entry %d</name><value unit=\"EUR\">%d.00</value></r:entry>\n", i, i, i)
	}
	b.WriteString("</r:list>")
	return b.Bytes()
}

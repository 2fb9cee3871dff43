package blackbox

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The documents that the suite signs.
var (
	samplePDF = pdfOf(1)
	twoPages  = pdfOf(2)
	sampleXML = []byte(`<?xml version="1.0"?><invoice xmlns="urn:x"><line Id="a">1</line><line Id="b">2</line></invoice>`)
	sampleTXT = []byte("hello, world\n")
	samplePNG = pngOf(8, 4)
	brokenPDF = []byte("%PDF-1.7 not really\n")
)

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// pdfOf is a PDF of A4 pages, with signature fields by name; a name that starts
// with a tilde is a text field.
func pdfOf(pages int, fields ...string) []byte {
	first := 3 // object of the first page; its content follows it
	firstField := first + 2*pages
	var kids, refs []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", first+2*i))
	}
	for i := range fields {
		refs = append(refs, fmt.Sprintf("%d 0 R", firstField+i))
	}
	form := ""
	if len(fields) > 0 {
		form = fmt.Sprintf(" /AcroForm << /Fields [%s] >>", strings.Join(refs, " "))
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R" + form + " >>",
		fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), pages),
	}
	for i := range pages {
		annots := ""
		if i == 0 && len(fields) > 0 {
			annots = fmt.Sprintf(" /Annots [%s]", strings.Join(refs, " "))
		}
		text := fmt.Sprintf("0.5 g %d 100 50 50 re f", 100+i)
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R%s >>", first+2*i+1, annots),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(text), text))
	}
	for i, name := range fields {
		kind := "Sig"
		if strings.HasPrefix(name, "~") {
			kind, name = "Tx", name[1:]
		}
		objects = append(objects, fmt.Sprintf("<< /Type /Annot /Subtype /Widget /FT /%s /T (%s) /F 4 /P 3 0 R /Rect [50 %d 150 %d] >>", kind, name, 600-60*i, 640-60*i))
	}
	return pdfFrom(objects)
}

func pdfFrom(objects []string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// damaged is a PDF whose cross-reference table points nowhere.
func damaged(pdf []byte) []byte {
	at := bytes.LastIndex(pdf, []byte("startxref\n"))
	return append(bytes.Clone(pdf[:at]), "startxref\n7\n%%EOF\n"...)
}

// streams are the unpacked streams of a PDF, one after the other.
func streams(pdf []byte) string {
	var all strings.Builder
	for rest := pdf; ; {
		_, after, ok := bytes.Cut(rest, []byte("stream\n"))
		if !ok {
			if _, after, ok = bytes.Cut(rest, []byte("stream\r\n")); !ok {
				return all.String()
			}
		}
		rest = after
		r, err := zlib.NewReader(bytes.NewReader(after))
		if err != nil {
			body, _, _ := bytes.Cut(after, []byte("endstream"))
			all.Write(body)
			continue
		}
		_, _ = io.Copy(&all, r) // what is cut off is not looked for
	}
}

var (
	glyphForm = regexp.MustCompile(`<([0-9A-Fa-f]{4})> <([0-9A-Fa-f]{4})>`)
	shownForm = regexp.MustCompile(`/F([0-9])[^<]*<([0-9A-Fa-f]+)> Tj`)
)

// drawn is the text that a PDF shows in fonts of its own, by their tables of
// characters.
func drawn(pdf []byte) string {
	content := streams(pdf)
	var fonts []map[string]rune // in the order of their names
	for _, table := range strings.Split(content, "begincmap")[1:] {
		char := map[string]rune{}
		for _, g := range glyphForm.FindAllStringSubmatch(table, -1) {
			if r, err := strconv.ParseUint(g[2], 16, 16); err == nil {
				char[strings.ToUpper(g[1])] = rune(r)
			}
		}
		fonts = append(fonts, char)
	}
	var text strings.Builder
	for _, s := range shownForm.FindAllStringSubmatch(content, -1) {
		n, _ := strconv.Atoi(s[1])
		for glyphs := strings.ToUpper(s[2]); len(glyphs) >= 4 && n < len(fonts); glyphs = glyphs[4:] {
			text.WriteRune(fonts[n][glyphs[:4]])
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// unzip is what a zip holds, by name, and the names in their order.
func unzip(t testing.TB, b []byte) (files map[string][]byte, names []string) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name], err = io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		names = append(names, f.Name)
	}
	return files, names
}

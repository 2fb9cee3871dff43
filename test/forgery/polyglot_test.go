package forgery

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"rogito.dev/rogito/xades"
)

func init() {
	register("pdf-polyglots", makePolyglots)
	register("markup", makeMarkup)
}

const stranger = "Pay EUR 900 to Mallory"

// browser is asked for what it makes of a file by the name that it has.
var browser = []string{"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "@"}

// makePolyglots puts other documents into updates that are permitted otherwise: the
// file under another name is opened by programs that look for them anywhere.
func makePolyglots(t *testing.T, m *materials) []specimen {
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	for _, name := range []string{"word/document.xml", "contract.txt", "mimetype"} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(f, stranger)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive := z.String()
	pe := "MZ" + strings.Repeat("\x00", 58) + "\x40\x00\x00\x00PE\x00\x00\x64\x86"
	header := strings.Repeat("\x00", 257) + "ustar\x0000"
	list := []specimen{}
	base := m.signOne("contract.pdf", pdf(), nil)
	for what, payload := range map[string]string{
		"a zip":                      archive,
		"the directory of a zip":     archive[strings.Index(archive, "PK\x01\x02"):],
		"the end of a zip":           archive[strings.Index(archive, "PK\x05\x06"):],
		"a page":                     "<html><body>" + stranger + "</body></html>",
		"a heading":                  "<h1>" + stranger + "</h1>",
		"a heading like an end":      "0\x82<h1\nendstream\nendobj\n>" + stranger + "</h1>",
		"a style far from its tag":   "<b\nendstream\nendobj\n%" + strings.Repeat("a", 2000) + " style='position:fixed;inset:0;background:#fff'>" + stranger,
		"a style behind a quote":     "<b x='>'style='position:fixed;inset:0;background:#fff'>" + stranger,
		"a heading in upper case":    "<H1\n>" + stranger + "</H1>",
		"a paragraph":                "<p style='font-size:9em'>" + stranger,
		"a script":                   "<script>document.write('" + stranger + "')</script>",
		"a picture of a page":        "<img src=x onerror=document.write(900)>",
		"a drawing":                  "<svg onload=alert(1)>",
		"an element of any name":     "<x style='position:fixed;inset:0;background:#fff'>" + stranger,
		"one with a prefix":          "<x:y class=a style=position:fixed>" + stranger,
		"one behind a form feed":     "<p\fstyle='position:fixed'>" + stranger,
		"one behind a slash":         "<X/STYLE='position:fixed'>" + stranger,
		"one that runs something":    "<b tabindex=1 onfocus=alert(1) autofocus>" + stranger,
		"an image of macOS":          "koly\x00\x00\x00\x04\x00\x00\x02\x00",
		"an image of a hard disc":    "conectix\x00\x00\x00\x02\x00\x01\x00\x00",
		"another PDF":                "%PDF-1.4\n1 0 obj\n",
		"form data":                  "%FDF-1.2\n1 0 obj\n",
		"PostScript":                 "%!PS-Adobe-3.0\n(" + stranger + ") show\n",
		"RTF":                        `{\rtf1\ansi ` + stranger + "}",
		"RAR":                        "Rar!\x1a\x07\x01\x00",
		"7z":                         "7z\xbc\xaf\x27\x1c\x00\x04",
		"a cabinet":                  "MSCF\x00\x00\x00\x00\x50\x00\x00\x00",
		"gzip":                       "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x0b",
		"bzip2":                      "BZh91AY&SY\x19\x31\x65\x3d",
		"xz":                         "\xfd7zXZ\x00\x00\x04",
		"tar":                        header,
		"an image of a disc":         "\x01CD001\x01\x00",
		"a program for Windows":      pe,
		"a program for Linux":        "\x7fELF\x02\x01\x01\x00",
		"a program for macOS":        "\xcf\xfa\xed\xfe\x07\x00\x00\x01",
		"a document of old Word":     "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
		"DjVu":                       "AT&TFORM\x00\x00",
		"a mail":                     "MIME-Version: 1.0\r\nContent-Type: text/html\r\n",
		"":                           "x",
		"the name of a zip":          "PK is short for a name, PK\x03\x04 is none",
		"the signature of a picture": "\xff\xd8\xff\xe0\x00\x10JFIF",
		"metadata":                   "<?xpacket begin=''?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF><rdf:li>one</rdf:li></rdf:RDF></x:xmpmeta>",
		"a program of a font":        "%!PS-AdobeFont-1.0: Helvetica",
	} {
		want := forged
		switch what {
		case "", "the name of a zip", "the signature of a picture", "metadata", "a program of a font":
			want = genuine
		}
		places := map[string]func(e *editor){
			"validation data":      func(e *editor) { e.put(1, "DSS", fmt.Sprintf("<</Certs[%v]>>", e.stream("", payload))) },
			"document information": func(e *editor) { e.put(13, "Title", "<"+fmt.Sprintf("%x", payload)+">") },
		}
		for place, do := range places {
			want := want
			if place == "document information" {
				if what != "a zip" && what != "a page" {
					continue
				}
				want = genuine // in hexadecimal no reader finds it
			}
			sp := specimen{name: fmt.Sprintf("%s in %s", what, place), data: change(t, base, do), want: want}
			switch {
			case want == genuine:
			case what == "a zip":
				sp.shows, sp.as, sp.asks = stranger, "contract.docx", []string{"unzip", "-p", "@", "word/document.xml"}
			case what == "a page":
				sp.shows, sp.as, sp.asks = stranger, "contract.html", browser
			case what == "an element of any name":
				sp.shows, sp.as, sp.asks = "position:fixed", "contract.html", browser
			case what == "a heading":
				sp.shows, sp.as, sp.asks = "<h1>"+stranger+"</h1>", "contract.html", browser
			}
			list = append(list, sp)
		}
	}
	return list
}

// makeMarkup changes pages that were signed through a canonical form so that a
// browser, which reads them as HTML, shows something else. The digest fits.
func makeMarkup(t *testing.T, m *materials) []specimen {
	f := &xmlForger{materials: m, files: map[string][]byte{}}
	var list []specimen
	const page = `<html><head><style></style></head><body><p>100</p><p>euro</p></body></html>`
	respelled := map[string]struct{ old, with, shows string }{
		"a comment that HTML ends at once": {"<p>euro", "<!--><h1>900</h1>--><p>euro", "<h1>900</h1>"},
		"a comment in a style":             {"<style></style>", "<style><!-- p{display:none} --></style>", "display:none"},
		"a style that does not end":        {"<style></style>", "<style/>", "<style></head>"},
	}
	container := func(name, text, transform string) string {
		f.files = map[string][]byte{name: []byte(page)}
		signature := f.xmldsig("@", "", ref{name, "", transform})
		a := archive{members: []member{
			{name: "mimetype", data: []byte(mimeE)}, {name: name, data: []byte(text)}, {name: "META-INF/signatures.xml", data: wrapASiC([]byte(signature))},
		}}
		return string(a.bytes())
	}
	list = append(list,
		specimen{name: "asic-e, a page as it stands", data: []byte(container("page.html", page, "")), want: genuine},
		specimen{name: "asic-e, a page in canonical form that it has", data: []byte(container("page.html", page, c14nTransform)), want: genuine},
		specimen{name: "asic-e, XML in canonical form with a comment", data: []byte(container("page.xml", "<!-- made by hand -->"+page, c14nTransform)), want: genuine},
	)
	whole := f.signXML(page, xades.Options{})
	list = append(list, specimen{name: "xml, a page", data: []byte(whole), want: genuine})
	for name, r := range respelled {
		changed := strings.Replace(page, r.old, r.with, 1)
		for _, file := range []string{"page.html", "page.HTM", "page.xhtml", "page.svg"} {
			list = append(list, specimen{name: "asic-e, " + name + " in " + file, data: []byte(container(file, changed, c14nTransform)), want: forged})
		}
		sp := specimen{name: "xml, " + name, data: []byte(strings.Replace(whole, r.old, r.with, 1)), want: forged}
		sp.shows, sp.as, sp.asks = r.shows, "page.html", browser
		list = append(list, sp)
	}
	return list
}

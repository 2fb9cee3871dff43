package rogito

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/xmldom"
)

// pictures are media types that carry no signatures, by their first bytes.
var pictures = []struct{ start, mediaType, extension string }{
	{"\x89PNG", "image/png", "png"},
	{"\xff\xd8\xff", "image/jpeg", "jpg"},
	{"GIF8", "image/gif", "gif"},
	{"{\\rtf", "application/rtf", "rtf"},
}

// MediaType names the type of a file by its content, with the usual extension. It is exact for what
// can be signed in place (PDF, XML, CMS) and good enough for the rest; unknown types are
// application/octet-stream.
func MediaType(src ades.Source) (mediaType, extension string) {
	kind := kindOf(src)
	if kind == KindCMS {
		kind = Detect(src) // it may be a time-stamp
	}
	switch kind {
	case KindPDF:
		return "application/pdf", "pdf"
	case KindCMS:
		return "application/pkcs7-mime", "p7m"
	case KindTimestamp:
		return "application/vnd.etsi.timestamp-token", "tst"
	case KindZIP:
		return "application/zip", "zip"
	case KindJWS:
		if start(src, 1)[0] == '{' {
			return "application/jose+json", "json"
		}
		return "application/jose", "jws"
	case KindXML:
		if isXML(src) {
			return "application/xml", "xml"
		}
		return "text/html", "html"
	}
	head := make([]byte, min(512, src.Size()))
	if n, err := src.ReadAt(head, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(head)) {
		return "application/octet-stream", "bin"
	}
	for _, p := range pictures {
		if bytes.HasPrefix(head, []byte(p.start)) {
			return p.mediaType, p.extension
		}
	}
	switch m := http.DetectContentType(head); {
	case strings.HasPrefix(m, "text/html"):
		return "text/html", "html"
	case strings.HasPrefix(m, "text/plain"):
		return "text/plain", "txt"
	}
	return "application/octet-stream", "bin"
}

// maxGuess bounds what is parsed only to distinguish XML from HTML.
const maxGuess = 8 << 20

// treeTimes is the memory of an XML tree, as a multiple of the document's size.
const treeTimes = 8

// isXML distinguishes XML from HTML among what looks like XML. Possible HTML is XML if it parses,
// which a document type prevents, and its root is not html without a namespace.
func isXML(src ades.Source) bool {
	head := make([]byte, min(512, src.Size()))
	n, _ := src.ReadAt(head, 0)
	if !strings.HasPrefix(http.DetectContentType(head[:n]), "text/html") {
		return true
	}
	if src.Size() > maxGuess || limits.Pay(src, treeTimes*src.Size()) != nil {
		return false
	}
	b, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return false
	}
	d, err := xmldom.Parse(string(b), xmldom.Limits{})
	if err != nil {
		return false
	}
	root := d.Root().Name
	return root.Space != "" || !strings.EqualFold(root.QName, "html")
}

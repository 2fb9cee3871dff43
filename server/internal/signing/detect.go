package signing

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/xades"
)

// media is what a document looks like.
type media struct {
	mime, ext string
}

var (
	mediaPDF = media{"application/pdf", "pdf"}
	mediaXML = media{"application/xml", "xml"}
	mediaCMS = media{"application/pkcs7-mime", "p7m"}
	mediaZip = media{"application/zip", "zip"}
	mediaBin = media{"application/octet-stream", "bin"}
)

var magic = []struct {
	start string
	media media
}{
	{"PK\x03\x04", mediaZip},
	{"\x89PNG", media{"image/png", "png"}},
	{"\xff\xd8\xff", media{"image/jpeg", "jpg"}},
	{"GIF8", media{"image/gif", "gif"}},
	{"{\\rtf", media{"application/rtf", "rtf"}},
	{"-----BEGIN PKCS7", mediaCMS},
	{"-----BEGIN CMS", mediaCMS},
}

// detect looks at the first bytes of a document; the caller's name for it
// helps with what they cannot tell.
func detect(src ades.Source, name string) media {
	head := make([]byte, min(1024, src.Size()))
	n, err := src.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return mediaBin
	}
	head = head[:n]
	switch {
	case bytes.Contains(head, []byte("%PDF-")):
		return mediaPDF
	case isSignedData(head):
		return mediaCMS
	}
	for _, m := range magic {
		if bytes.HasPrefix(head, []byte(m.start)) {
			return m.media.named(name)
		}
	}
	m := http.DetectContentType(head)
	switch html := strings.HasPrefix(m, "text/html"); {
	case xades.LooksLikeXML(src) && (!html || isXML(src)):
		return mediaXML
	case html:
		return media{"text/html", "html"}
	case strings.HasPrefix(m, "text/plain"):
		return media{"text/plain", "txt"}.named(name)
	}
	return mediaBin.named(name)
}

// maxGuess bounds what is parsed only to tell XML from HTML.
const maxGuess = 8 << 20

// isXML tells XML whose elements happen to be named like HTML's from HTML: the
// one parses, and has no document type.
func isXML(src ades.Source) bool {
	b, err := sourceBytes(src, maxGuess)
	if err != nil {
		return false
	}
	d, err := xmldom.Parse(b, xmldom.Limits{})
	if err != nil {
		return false
	}
	root := d.Root().Name
	return root.Space != "" || !strings.EqualFold(root.QName, "html")
}

// isSignedData finds ContentInfo with the type signedData, in DER or BER.
func isSignedData(head []byte) bool {
	at := bytes.Index(head, []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02})
	return len(head) > 0 && head[0] == 0x30 && at >= 2 && at <= 8
}

var goodExtension = regexp.MustCompile(`^[a-z0-9]{1,10}$`)

// named takes the extension that the caller's name has, where the content
// leaves it open.
func (m media) named(name string) media {
	if e := extensionOf(name); e != "" {
		m.ext = e
	}
	return m
}

func extensionOf(name string) string {
	e := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if goodExtension.MatchString(e) {
		return e
	}
	return ""
}

// formatFor picks the signature that suits a document best.
func formatFor(m media) string {
	switch m.mime {
	case mediaPDF.mime:
		return "pades"
	case mediaXML.mime:
		return "xades"
	}
	return "cades"
}

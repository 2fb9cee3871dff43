package xades

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// Differences between HTML and XML that canonicalisation removes: an attacker without the key can
// replace one spelling by the other, and the digest still matches. Comments end earlier in HTML,
// and are text in some elements; a CDATA section is a comment; <div/> only opens; entities in a
// script are literal; references to C1 controls are letters of windows-1252. (WHATWG HTML, 13.2.)

// rawText are the elements in which HTML has no markup, including RCDATA.
var rawText = []string{"script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext"}

// unshown are the elements whose content browsers do not show, or not at first.
var unshown = []string{"template", "canvas", "video", "audio", "object", "datalist", "dialog", "details", "select", "optgroup", "option", "meter", "progress", "rp"}

// void are the elements without end tag in HTML.
var void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr", "keygen", "frame", "basefont", "bgsound"}

// pageMarks are elements that suggest a document meant for a browser.
var pageMarks = []string{"html", "script", "style", "svg", "iframe", "textarea", "xmp", "plaintext", "noscript", "noembed", "noframes"}

// isPage reports whether a browser may render the document as a page: by its namespaces, or by the
// name of an element, ignoring case.
func isPage(doc *xmldom.Document) bool {
	text := doc.Origin().Text
	if strings.Contains(text, "http://www.w3.org/1999/xhtml") || strings.Contains(text, "http://www.w3.org/2000/svg") {
		return true
	}
	for {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			return false
		}
		text = text[at+1:]
		if len(text) == 0 || strings.IndexByte("hsitxpn", text[0]|0x20) < 0 {
			continue
		}
		name := text[:min(len(text), len("plaintext")+1)]
		if end := strings.IndexAny(name, " \t\r\n\f/>"); end > 0 && slices.Contains(pageMarks, strings.ToLower(name[:end])) {
			return true
		}
	}
}

// htmlName is an element's name in HTML.
func htmlName(n *xmldom.Node) string { return strings.ToLower(n.Name.QName) }

// embedded reports whether an element is in SVG or MathML, where HTML treats CDATA sections and
// empty elements like XML.
func embedded(n *xmldom.Node) bool {
	for ; n != nil && n.Kind == xmldom.Element; n = n.Parent {
		if name := htmlName(n); name == "svg" || name == "math" {
			return true
		}
	}
	return false
}

// counts reports whether a comment is content: it splits a text, contains markup, or is where HTML
// has no comments.
func (p *partition) counts(n *xmldom.Node) bool {
	return p.parted || strings.ContainsAny(n.Data, "<>") || n.Parent.Kind == xmldom.Element && slices.Contains(rawText, htmlName(n.Parent))
}

// misread reports whether HTML interprets an element, or text in it, differently.
func misread(n *xmldom.Node, text string) bool {
	name, inside := htmlName(n), embedded(n)
	raw := slices.Contains(rawText, name) && !inside
	if n.Inner == n.InnerEnd && text[n.InnerEnd] == '/' && !inside && !slices.Contains(void, name) {
		hides := slices.ContainsFunc(n.Attrs(), func(a xmldom.Attr) bool { return !a.IsID() && a.Name.QName != "name" })
		if raw || hides || slices.Contains(unshown, name) {
			return true
		}
	}
	if controls(text[n.Start:n.Inner]) {
		return true
	}
	for c := n.First; c != nil; c = c.Next {
		if c.Kind != xmldom.Text {
			continue
		}
		written := text[c.Start:c.End]
		if controls(written) || strings.HasPrefix(written, "<![CDATA[") && !inside || raw && strings.ContainsAny(c.Data, "<>&\r") {
			return true
		}
	}
	return false
}

var numeric = regexp.MustCompile(`&#(x[0-9a-fA-F]+|[0-9]+);`)

// controls reports whether a text has references to C1 controls.
func controls(text string) bool {
	if !strings.Contains(text, "&#") {
		return false
	}
	for _, m := range numeric.FindAllStringSubmatch(text, -1) {
		base, digits := 10, m[1]
		if digits[0] == 'x' {
			base, digits = 16, digits[1:]
		}
		if n, err := strconv.ParseUint(digits, base, 32); err == nil && n >= 0x80 && n < 0xa0 {
			return true
		}
	}
	return false
}

// pages are the extensions of files that browsers open as HTML, or as something that runs scripts.
var pages = []string{".html", ".htm", ".xhtml", ".xht", ".shtml", ".svg", ".mht", ".mhtml", ".hta"}

// isWebPage reports whether a file is opened by browsers.
func isWebPage(f *ades.File) bool { return slices.Contains(pages, strings.ToLower(path.Ext(f.Name))) }

// asWritten reports whether the digest over a file that browsers open is over its unchanged bytes.
// Other files may be canonicalised.
func (s *sigReader) asWritten(r *xmldsig.Reference, f *ades.File) bool {
	if r.Node.Child(ds, "Transforms") == nil || !isWebPage(f) {
		return true
	}
	same := &comparison{src: f.Source}
	err := s.x.Write(same, r, s.resolve, xmldsig.Method{})
	return err == nil && same.at == f.Source.Size()
}

// comparison is a writer that fails if the data differs from the source.
type comparison struct {
	src ades.Source
	at  int64
}

func (c *comparison) Write(p []byte) (int, error) {
	have := make([]byte, len(p))
	if n, _ := c.src.ReadAt(have, c.at); n < len(p) || !bytes.Equal(have, p) {
		return 0, errors.New("differs")
	}
	c.at += int64(len(p))
	return len(p), nil
}

// Package message parses MIME messages (RFC 2045, RFC 2046) as far as signatures and time-stamps
// need it: the header, and the parts of a multipart byte by byte. It reports why other readers may
// see other parts.
package message

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"regexp"
	"strings"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/foreign"
)

// maxParts bounds the parts of one message.
const maxParts = 256

// Entity is a header and a body.
type Entity struct {
	Raw    []byte // as it stands
	Body   []byte
	Type   string            // media type, in lower case
	Params map[string]string // of the media type
	fields map[string][]string
	// Ambiguous is why readers may interpret the entity in two ways, or nil.
	Ambiguous error
}

// Message is a parsed multipart.
type Message struct {
	*Entity
	Parts []*Entity
}

// Begin returns a message without what mail programs put before its header in a file: a byte order
// mark, and the first line of an mbox (RFC 4155). It also returns why readers may find a second
// message in it, or nil.
func Begin(raw []byte) (message []byte, ambiguous error) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if !bytes.HasPrefix(raw, []byte("From ")) {
		return raw, nil
	}
	_, raw, _ = bytes.Cut(raw, []byte("\n"))
	if bytes.Contains(raw, []byte("\n\nFrom ")) || bytes.Contains(raw, []byte("\n\r\nFrom ")) {
		ambiguous = finding.MIMETwoMessages.New()
	}
	return raw, ambiguous
}

// Begins reports whether a file begins with a header field.
func Begins(head []byte) bool {
	head, _ = Begin(head)
	first, _, ok := bytes.Cut(head, []byte("\n"))
	name, _, colon := bytes.Cut(first, []byte(":"))
	return ok && colon && len(name) > 0 && len(bytes.Trim(bytes.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-")) == 0
}

// Multipart reports whether a file begins with the header of a multipart message.
func Multipart(head []byte) bool {
	head, _ = Begin(head)
	e, err := ParseEntity(head)
	return err == nil && strings.HasPrefix(e.Type, "multipart/")
}

// ParseEntity reads the header of a message or a part.
func ParseEntity(raw []byte) (*Entity, error) {
	e := &Entity{Raw: raw, fields: map[string][]string{}}
	rest := raw
	name, value := "", []byte(nil) // of the field that is being read
	end := func() {
		if name != "" {
			e.fields[name] = append(e.fields[name], string(value))
		}
	}
	for {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok && len(line) == 0 {
			return nil, finding.MIMENoHeaderEnd.New()
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		rest = after
		if len(line) == 0 {
			break
		}
		e.doubt(doubtful(line, name == ""))
		if line[0] == ' ' || line[0] == '\t' { // a fold is the line break alone (RFC 5322, 2.2.3)
			value = append(value, line...)
			continue
		}
		end()
		key, text, found := bytes.Cut(line, []byte(":"))
		if !found || len(e.fields) > 256 {
			return nil, fmt.Errorf("no header line: %.40q", line)
		}
		name, value = strings.ToLower(strings.TrimSpace(string(key))), append(value[:0], text...)
		if !ok {
			return nil, finding.MIMENoHeaderEnd.New()
		}
	}
	end()
	e.Body = rest
	for _, f := range []string{"content-type", "content-transfer-encoding"} {
		if len(e.fields[f]) > 1 {
			e.doubt(finding.MIMEHeaderTwice.New(f))
		}
	}
	e.Type, e.Params = "text/plain", map[string]string{}
	if text := e.Field("content-type"); text != "" {
		var doubt error
		if e.Type, e.Params, doubt = parseType(text); e.Type == "" {
			return nil, fmt.Errorf("content-type: %w", doubt)
		}
		if strings.HasPrefix(e.Type, "multipart/") { // others are signed, or have no parts
			e.doubt(doubt)
			e.doubt(oddBoundary(e.Params["boundary"]))
		}
	}
	if strings.HasPrefix(e.Type, "multipart/") {
		switch strings.ToLower(e.Field("content-transfer-encoding")) {
		case "", "7bit", "8bit", "binary":
		default: // RFC 2045, 6.4
			e.doubt(finding.MIMEMultipartEncoded.New())
		}
	}
	return e, nil
}

// doubt records why readers may interpret the entity in two ways, unless why is nil.
func (e *Entity) doubt(why error) {
	if e.Ambiguous == nil {
		e.Ambiguous = why
	}
}

var (
	mediaType = regexp.MustCompile(`^[ \t]*([!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+/[!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+)[ \t]*(?:;|$)`)
	parameter = regexp.MustCompile(`^[ \t]*([!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+)=(?:([!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+)|"([^"\\\x00-\x08\x0a-\x1f\x7f]*)")[ \t]*(?:;|$)`)
	boundary  = regexp.MustCompile(`^[0-9A-Za-z'()+_,./:=?-]{1,70}$`)
)

// parseType parses a Content-Type by the grammar of RFC 2045, 5.1. Where that leaves room and
// readers differ, doubt is set: quoted pairs, values in pieces or in another character set (RFC
// 2231), a duplicate parameter, comments among the parameters, and anything but a parameter. The
// type is "" if there is none.
func parseType(text string) (mime string, params map[string]string, doubt error) {
	text, hides := withoutComments(text)
	if hides {
		doubt = finding.MIMECommentInHeader.New()
	}
	found := mediaType.FindStringSubmatch(text)
	if found == nil {
		return "", nil, finding.MIMENoType.New()
	}
	mime, params = strings.ToLower(found[1]), map[string]string{}
	for rest := text[len(found[0]):]; strings.Trim(rest, " \t") != ""; {
		m := parameter.FindStringSubmatch(rest)
		if m == nil {
			doubt = finding.MIMEParametersOdd.New()
			_, rest, _ = strings.Cut(rest, ";")
			continue
		}
		name, value := strings.ToLower(m[1]), m[2]+m[3]
		_, twice := params[name]
		switch {
		case twice:
			doubt = finding.MIMEParameterTwice.New()
		case strings.Contains(name, "*"):
			doubt = finding.MIMEParameterInPieces.New()
		case strings.Contains(value, "=?"):
			doubt = finding.MIMEParameterEncoded.New()
		case name == "charset" && !plainCharset(value):
			doubt = finding.MIMECharset.New()
		}
		if !twice {
			params[name] = value
		}
		rest = rest[len(m[0]):]
	}
	return mime, params, doubt
}

func plainCharset(name string) bool {
	switch strings.ToLower(name) {
	case "us-ascii", "utf-8", "iso-8859-1", "iso-8859-15", "windows-1252":
		return true
	}
	return false
}

// oddBoundary returns what is wrong with a boundary by RFC 2046, 5.1.1, or nil. A space inside is
// allowed there, but may result from folding.
func oddBoundary(b string) error {
	if b != "" && !boundary.MatchString(b) {
		return finding.MIMEBoundaryOdd.New()
	}
	return nil
}

// withoutComments removes the comments after the media type of a field (RFC 5322, 3.2.2). Programs
// that do not support comments read on: doubt means that they would find something in one, or that
// it is among the parameters, where it is part of a value for them.
func withoutComments(text string) (out string, doubt bool) {
	if !strings.Contains(text, "(") {
		return text, false
	}
	var b strings.Builder
	quoted, depth, parameters := false, 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && (quoted || depth > 0) && i+1 < len(text):
			if i++; depth == 0 {
				b.WriteByte(c)
				b.WriteByte(text[i])
				parameters = parameters || text[i] == ';'
			}
			doubt = doubt || depth > 0
			continue
		case c == '"' && depth == 0:
			quoted = !quoted
		case c == '(' && !quoted:
			doubt = doubt || depth == 0 && parameters
			depth++
			continue
		case c == ')' && !quoted && depth > 0:
			if depth--; depth == 0 {
				b.WriteByte(' ')
			}
			continue
		}
		switch {
		case depth == 0:
			b.WriteByte(c)
			parameters = parameters || c == ';'
		case strings.IndexByte(";=/\"", c) >= 0:
			doubt = true
		}
	}
	return strings.TrimSpace(b.String()), doubt || depth > 0 || quoted
}

// doubtful returns why readers may interpret a header line in two ways, or nil: for some a control
// character or a blank line with spaces ends the line or the header (RFC 5322, 2.2 and 3.2.2), and
// what follows is shown as a document.
func doubtful(line []byte, first bool) error {
	folded := line[0] == ' ' || line[0] == '\t'
	name, _, _ := bytes.Cut(line, []byte(":"))
	switch {
	case bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return finding.MIMEControlCharacter.New()
	case folded && (first || len(bytes.TrimSpace(line)) == 0):
		return finding.MIMELineContinuesNothing.New()
	case !folded && (len(name) == 0 || bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })):
		return finding.MIMEFieldName.New()
	case foreign.In(string(line)):
		return finding.HoldsOtherDocument.New()
	}
	return nil
}

// Field is the value of a header field, or "".
func (e *Entity) Field(name string) string {
	if list := e.fields[strings.ToLower(name)]; len(list) > 0 {
		return strings.Trim(list[0], " \t")
	}
	return ""
}

// Fields are the values of all header fields of a name.
func (e *Entity) Fields(name string) []string {
	var out []string
	for _, v := range e.fields[strings.ToLower(name)] {
		out = append(out, strings.Trim(v, " \t"))
	}
	return out
}

// Decode removes the transfer encoding of the body.
func (e *Entity) Decode() ([]byte, error) {
	switch strings.ToLower(e.Field("content-transfer-encoding")) {
	case "base64":
		text := bytes.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n", r) {
				return -1
			}
			return r
		}, e.Body)
		out, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return nil, fmt.Errorf("base64: %w", err)
		}
		return out, nil
	case "quoted-printable":
		return io.ReadAll(quotedprintable.NewReader(bytes.NewReader(e.Body)))
	}
	return e.Body, nil
}

// Filename is the display name of a part, or "".
func (e *Entity) Filename() string {
	if _, params, err := mime.ParseMediaType(e.Field("content-disposition")); err == nil && params["filename"] != "" {
		return params["filename"]
	}
	return e.Params["name"]
}

// Parse splits a multipart. The parts are the bytes between the delimiter lines, without the line
// break before each.
func Parse(raw []byte) (*Message, error) {
	raw, ambiguous := Begin(raw)
	top, err := ParseEntity(raw)
	if err != nil {
		return nil, err
	}
	top.doubt(ambiguous)
	m := &Message{Entity: top}
	if !strings.HasPrefix(top.Type, "multipart/") || top.Params["boundary"] == "" {
		return nil, cmp.Or(top.Ambiguous, finding.MIMENoMultipart.New())
	}
	mark := []byte("--" + top.Params["boundary"])
	start, closed := -1, false
	body := top.Body
	var between []byte // outside the parts
	for at := 0; at < len(body); {
		end := bytes.IndexByte(body[at:], '\n')
		next := at + end + 1
		if end < 0 {
			next = len(body)
		}
		line := bytes.TrimSuffix(bytes.TrimSuffix(body[at:next], []byte("\n")), []byte("\r"))
		after, delimiter := bytes.CutPrefix(line, mark)
		last := bytes.HasPrefix(after, []byte("--"))
		if delimiter && len(bytes.Trim(bytes.TrimPrefix(after, []byte("--")), " \t")) > 0 {
			m.doubt(finding.MIMELineLikeBoundary.New())
			delimiter = false
		}
		outside := start < 0 || closed
		switch {
		case delimiter && closed:
			m.doubt(finding.MIMEBoundaryAfterLast.New())
		case delimiter:
			if start >= 0 {
				if err := m.add(body[start:at]); err != nil {
					return nil, err
				}
			}
			start, closed = next, last
		case outside && bytes.HasPrefix(line, []byte("--")):
			m.doubt(finding.MIMELineOutside.New())
		case outside:
			between = append(between, line...)
		case bytes.Contains(line, append([]byte("\r"), mark...)): // a line of its own for some readers
			m.doubt(finding.MIMEBareLineBreak.New())
		}
		at = next
	}
	if !closed {
		return nil, finding.MIMENoEnd.New()
	}
	if m.Ambiguous == nil && !harmless(between) {
		m.Ambiguous = finding.MIMETextOutside.New()
	}
	return m, nil
}

func (m *Message) add(raw []byte) error {
	if len(m.Parts) >= maxParts {
		return finding.MIMETooManyParts.New()
	}
	raw = bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	p, err := ParseEntity(raw)
	if err != nil {
		p = headless(raw)
	}
	m.doubt(p.Ambiguous)
	if inner := p.Params["boundary"]; inner != "" && strings.HasPrefix(m.Params["boundary"], inner) {
		m.doubt(finding.MIMEBoundaryPrefix.New())
	}
	m.Parts = append(m.Parts, p)
	return nil
}

// headless is a part without a header, which openssl makes from a text (RFC 2046, 5.1.1, requires
// an empty line before it). Some readers show all of it, some omit its first line, some everything
// up to an empty line: only a single line is the same for all that show it.
func headless(raw []byte) *Entity {
	e := &Entity{Raw: raw, Body: raw, Type: "text/plain", Params: map[string]string{}}
	line := bytes.TrimRight(raw, "\r\n")
	if bytes.ContainsAny(line, "\r\n\x00:") || len(line) == 0 || line[0] == ' ' || line[0] == '\t' || foreign.In(string(line)) {
		e.Ambiguous = finding.MIMEPartWithoutHeader.New()
	}
	return e
}

// harmless reports whether text before the parts is the usual sentence for old readers.
func harmless(text []byte) bool {
	if len(text) > 256 {
		return false
	}
	for _, c := range text {
		if c < 0x20 && c != '\t' || c > 0x7e || c == '<' || c == '%' {
			return false
		}
	}
	return !bytes.Contains(text, []byte("PK")) && !bytes.Contains(text, []byte("-----"))
}

// Canonical is text with CRLF line breaks, as S/MIME signs it (RFC 8551, 3.1.1).
func Canonical(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(text)/32)
	for i, c := range text {
		if c == '\n' && (i == 0 || text[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}

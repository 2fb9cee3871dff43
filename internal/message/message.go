// Package message takes MIME messages apart (RFC 2045, RFC 2046) as far as
// signatures and time-stamps need it: the header, and the parts of a multipart
// byte by byte. It reports what makes other readers see other parts.
package message

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"strings"

	"rogito.dev/rogito/internal/foreign"
)

// maxParts bounds the parts of one message.
const maxParts = 16

// Entity is a header and a body.
type Entity struct {
	Raw    []byte // as it stands
	Body   []byte
	Type   string            // media type, in lower case
	Params map[string]string // of the media type
	fields map[string][]string
	// Ambiguous says why readers may take the entity in two ways, or "".
	Ambiguous string
}

// Message is a multipart taken apart.
type Message struct {
	*Entity
	Parts []*Entity
}

// Begin is a message without what mail programs leave before its header in a
// file: a byte order mark, and the first line of an mbox (RFC 4155). It says
// why others may find a second message in it, or "".
func Begin(raw []byte) (message []byte, ambiguous string) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if !bytes.HasPrefix(raw, []byte("From ")) {
		return raw, ""
	}
	_, raw, _ = bytes.Cut(raw, []byte("\n"))
	if bytes.Contains(raw, []byte("\n\nFrom ")) || bytes.Contains(raw, []byte("\n\r\nFrom ")) {
		ambiguous = "more than one message in the file"
	}
	return raw, ambiguous
}

// Begins reports whether the first line of a file is one of a header.
func Begins(head []byte) bool {
	head, _ = Begin(head)
	first, _, ok := bytes.Cut(head, []byte("\n"))
	name, _, colon := bytes.Cut(first, []byte(":"))
	return ok && colon && len(name) > 0 && len(bytes.Trim(bytes.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-")) == 0
}

// Multipart reports whether the beginning of a file holds the header of a
// multipart message.
func Multipart(head []byte) bool {
	head, _ = Begin(head)
	e, err := ParseEntity(head)
	return err == nil && strings.HasPrefix(e.Type, "multipart/")
}

// ParseEntity reads the header of a message or a part.
func ParseEntity(raw []byte) (*Entity, error) {
	e := &Entity{Raw: raw, fields: map[string][]string{}}
	rest := raw
	name := ""
	for {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok && len(line) == 0 {
			return nil, errors.New("no end of the header")
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		rest = after
		if len(line) == 0 {
			break
		}
		if why := doubtful(line, name == ""); why != "" {
			e.Ambiguous = why
		}
		if line[0] == ' ' || line[0] == '\t' {
			if list := e.fields[name]; len(list) > 0 {
				list[len(list)-1] += " " + strings.TrimSpace(string(line))
			}
			continue
		}
		key, value, found := strings.Cut(string(line), ":")
		if !found || len(e.fields) > 256 {
			return nil, fmt.Errorf("no header line: %.40q", line)
		}
		name = strings.ToLower(strings.TrimSpace(key))
		e.fields[name] = append(e.fields[name], strings.TrimSpace(value))
		if !ok {
			return nil, errors.New("no end of the header")
		}
	}
	e.Body = rest
	for _, f := range []string{"content-type", "content-transfer-encoding"} {
		if len(e.fields[f]) > 1 {
			e.Ambiguous = "the header " + f + " occurs twice"
		}
	}
	e.Type, e.Params = "text/plain", map[string]string{}
	if text := e.Field("content-type"); text != "" {
		text, doubt := withoutComments(text)
		if doubt {
			e.Ambiguous = "a comment in the header that others may take for a part of it"
		}
		var err error
		if e.Type, e.Params, err = mime.ParseMediaType(text); err != nil {
			return nil, fmt.Errorf("content-type: %w", err)
		}
		if strings.Contains(strings.ToLower(text), "boundary*") {
			e.Ambiguous = "the boundary is written in pieces"
		}
	}
	if strings.HasPrefix(e.Type, "multipart/") {
		switch strings.ToLower(e.Field("content-transfer-encoding")) {
		case "", "7bit", "8bit", "binary":
		default: // RFC 2045, 6.4
			e.Ambiguous = "a multipart in a transfer encoding"
		}
	}
	return e, nil
}

// withoutComments is the value of a field less its comments (RFC 5322, 3.2.2).
// Programs that know no comments read on where one begins: doubt says that they
// would find something there.
func withoutComments(text string) (out string, doubt bool) {
	if !strings.Contains(text, "(") {
		return text, false
	}
	var b strings.Builder
	quoted, depth := false, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && (quoted || depth > 0) && i+1 < len(text):
			if i++; depth == 0 {
				b.WriteByte(c)
				b.WriteByte(text[i])
			}
			doubt = doubt || depth > 0
			continue
		case c == '"' && depth == 0:
			quoted = !quoted
		case c == '(' && !quoted:
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
		case strings.IndexByte(";=/\"", c) >= 0:
			doubt = true
		}
	}
	return strings.TrimSpace(b.String()), doubt || depth > 0 || quoted
}

// doubtful says why readers may take a line of a header in two ways, or "":
// to some a control character or a line of blanks ends the line or the header
// (RFC 5322, 2.2 and 3.2.2), and what follows is shown as a document.
func doubtful(line []byte, first bool) string {
	folded := line[0] == ' ' || line[0] == '\t'
	name, _, _ := bytes.Cut(line, []byte(":"))
	switch {
	case bytes.ContainsAny(line, "\r\x00\v\f"):
		return "a control character in the header"
	case folded && (first || len(bytes.TrimSpace(line)) == 0):
		return "a line of the header continues nothing"
	case !folded && bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "a field of the header has a name that is none"
	case foreign.In(line) != "":
		return foreign.In(line)
	}
	return ""
}

// Field is the value of a header field, or "".
func (e *Entity) Field(name string) string {
	if list := e.fields[strings.ToLower(name)]; len(list) > 0 {
		return list[0]
	}
	return ""
}

// Decode takes the transfer encoding off the body.
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

// Filename is the name that a part has for people, or "".
func (e *Entity) Filename() string {
	if _, params, err := mime.ParseMediaType(e.Field("content-disposition")); err == nil && params["filename"] != "" {
		return params["filename"]
	}
	return e.Params["name"]
}

// Parse takes a multipart apart. The parts are the bytes between the delimiter
// lines, less the line break before each.
func Parse(raw []byte) (*Message, error) {
	raw, ambiguous := Begin(raw)
	top, err := ParseEntity(raw)
	if err != nil {
		return nil, err
	}
	if ambiguous != "" {
		top.Ambiguous = ambiguous
	}
	m := &Message{Entity: top}
	boundary := top.Params["boundary"]
	if !strings.HasPrefix(top.Type, "multipart/") || boundary == "" {
		return nil, errors.New("not a multipart message")
	}
	mark := []byte("--" + boundary)
	start, closed := -1, false
	body := top.Body
	var between []byte // outside the parts
	for at := 0; at < len(body); {
		end := bytes.IndexByte(body[at:], '\n')
		next := at + end + 1
		if end < 0 {
			next = len(body)
		}
		line := bytes.TrimRight(body[at:next], "\r\n")
		after, delimiter := bytes.CutPrefix(line, mark)
		last := bytes.HasPrefix(after, []byte("--"))
		if delimiter && len(bytes.Trim(bytes.TrimPrefix(after, []byte("--")), " \t")) > 0 {
			m.Ambiguous = "a line that begins like a boundary and is none"
			delimiter = false
		}
		switch {
		case delimiter && closed:
			m.Ambiguous = "a boundary after the last one"
		case delimiter:
			if start >= 0 {
				if err := m.add(body[start:at]); err != nil {
					return nil, err
				}
			}
			start, closed = next, last
		case start < 0 || closed:
			between = append(between, line...)
		}
		at = next
	}
	if !closed {
		return nil, errors.New("the last boundary is missing")
	}
	if m.Ambiguous == "" && !harmless(between) {
		m.Ambiguous = "text outside the parts of the message"
	}
	return m, nil
}

func (m *Message) add(raw []byte) error {
	if len(m.Parts) >= maxParts {
		return errors.New("too many parts")
	}
	raw = bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	p, err := ParseEntity(raw)
	if err != nil {
		return fmt.Errorf("part %d: %w", len(m.Parts)+1, err)
	}
	if p.Ambiguous != "" {
		m.Ambiguous = p.Ambiguous
	}
	m.Parts = append(m.Parts, p)
	return nil
}

// harmless: mail programs put a sentence for old readers before the parts.
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

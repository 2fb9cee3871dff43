package omi

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/limits"
)

// Errors of a perimeter file as XML. Such a file is ignored completely: half a municipality would
// look like all of it.
var (
	errCut      = errors.New("it ends in the middle")
	errDoctype  = errors.New("it declares a document type")
	errBalance  = errors.New("its elements are not balanced")
	errTooDeep  = errors.New("its elements nest too deep")
	errLongText = errors.New("a text in it is too long")
)

// kmlScanner reads the elements of a KML file. It supports the XML that official files use
// (elements, attributes, CDATA, comments, character references) and nothing else: a document type,
// which could declare entities, is an error. It does not decode the bytes, since two of the files
// declare a wrong encoding.
type kmlScanner struct {
	b     []byte
	stack [][]byte // local names of the open elements
	text  []byte   // text of the innermost element since it was opened
	own   []byte   // buffer for text that is not contiguous in the file
}

// kmlHandler is called when elements open and close.
type kmlHandler interface {
	open(s *kmlScanner, name, attributes []byte)
	close(s *kmlScanner, name []byte) error
}

// scan walks the whole file.
func (s *kmlScanner) scan(h kmlHandler) error {
	seen := false
	for {
		i := bytes.IndexByte(s.b, '<')
		if i < 0 {
			if len(s.stack) > 0 || !seen || len(bytes.TrimSpace(s.b)) > 0 {
				return errCut
			}
			return nil
		}
		s.more(s.b[:i])
		s.b = s.b[i+1:]
		if len(s.b) == 0 {
			return errCut
		}
		var err error
		switch s.b[0] {
		case '!':
			err = s.bang()
		case '?':
			_, err = s.until("?>")
		case '/':
			err = s.end(h)
		default:
			seen = true
			err = s.start(h)
		}
		if err != nil {
			return err
		}
	}
}

// more adds a piece of text.
func (s *kmlScanner) more(piece []byte) {
	switch {
	case len(piece) == 0:
	case len(s.text) == 0:
		s.text = piece
	default:
		s.own = append(append(s.own[:0], s.text...), piece...)
		s.text = s.own
	}
}

// until reads up to a mark, and the mark.
func (s *kmlScanner) until(mark string) ([]byte, error) {
	i := bytes.Index(s.b, []byte(mark))
	if i < 0 {
		return nil, errCut
	}
	taken := s.b[:i]
	s.b = s.b[i+len(mark):]
	return taken, nil
}

func (s *kmlScanner) bang() error {
	switch {
	case bytes.HasPrefix(s.b, []byte("!--")):
		s.b = s.b[3:]
		_, err := s.until("-->")
		return err
	case bytes.HasPrefix(s.b, []byte("![CDATA[")):
		s.b = s.b[8:]
		piece, err := s.until("]]>")
		s.more(piece)
		return err
	}
	return errDoctype
}

func (s *kmlScanner) start(h kmlHandler) error {
	tag, err := s.tag()
	if err != nil {
		return err
	}
	empty := len(tag) > 0 && tag[len(tag)-1] == '/'
	if empty {
		tag = tag[:len(tag)-1]
	}
	name, attributes := tag, []byte(nil)
	if i := bytes.IndexAny(tag, " \t\r\n"); i >= 0 {
		name, attributes = tag[:i], tag[i:]
	}
	if len(s.stack) >= limits.OMIDepth {
		return errTooDeep
	}
	name = local(name)
	s.stack = append(s.stack, name)
	s.text = nil
	h.open(s, name, attributes)
	if empty {
		return s.pop(h)
	}
	return nil
}

// tag reads the rest of a tag; a '>' inside an attribute's value does not end it.
func (s *kmlScanner) tag() ([]byte, error) {
	var quote byte
	for i, c := range s.b {
		switch {
		case i > limits.OMIText:
			return nil, errLongText
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			tag := s.b[:i]
			s.b = s.b[i+1:]
			return tag, nil
		}
	}
	return nil, errCut
}

func (s *kmlScanner) end(h kmlHandler) error {
	s.b = s.b[1:]
	i := bytes.IndexByte(s.b, '>')
	if i < 0 {
		return errCut
	}
	name := local(bytes.TrimSpace(s.b[:i]))
	s.b = s.b[i+1:]
	if len(s.stack) == 0 || !bytes.Equal(s.stack[len(s.stack)-1], name) {
		return errBalance
	}
	return s.pop(h)
}

func (s *kmlScanner) pop(h kmlHandler) error {
	name := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	err := h.close(s, name)
	s.text = nil
	return err
}

// parent is the name of the innermost open element.
func (s *kmlScanner) parent() string {
	if len(s.stack) == 0 {
		return ""
	}
	return string(s.stack[len(s.stack)-1])
}

// words is the decoded text of the element that closes.
func (s *kmlScanner) words() (string, error) {
	if len(s.text) > limits.OMIText {
		return "", errLongText
	}
	return unescape(strings.TrimSpace(text(s.text))), nil
}

func local(name []byte) []byte {
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		return name[i+1:]
	}
	return name
}

var references = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&apos;", "'", "&quot;", `"`, "&#39;", "'", "&#34;", `"`, "&amp;", "&")

// unescape resolves the references defined by XML itself; any other is kept.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return references.Replace(s)
}

// attribute is the value of an attribute in the rest of a start tag.
func attribute(rest []byte, name string) string {
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		i := bytes.IndexByte(rest, '=')
		if i < 0 {
			return ""
		}
		key := bytes.TrimSpace(rest[:i])
		rest = bytes.TrimLeft(rest[i+1:], " \t\r\n")
		if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
			return ""
		}
		j := bytes.IndexByte(rest[1:], rest[0])
		if j < 0 {
			return ""
		}
		if string(key) == name {
			return unescape(text(rest[1 : 1+j]))
		}
		rest = rest[j+2:]
	}
}

// isKML reports whether a file begins like XML.
func isKML(b []byte) bool {
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF")), " \t\r\n")
	return bytes.HasPrefix(b, []byte("<?xml")) || bytes.HasPrefix(b, []byte("<kml")) || bytes.HasPrefix(b, []byte("<!DOCTYPE"))
}

// readKML reads a perimeter file; name is the file's own, without extension.
func readKML(b []byte, name string, scratch *scratch) (*perimeter, error) {
	s := kmlScanner{b: bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF")), stack: make([][]byte, 0, 16)}
	d := drawing{scratch: scratch, file: name, perimeter: &perimeter{}}
	if err := s.scan(&d); err != nil {
		return nil, fmt.Errorf("perimeter file left out: %w", err)
	}
	return d.perimeter, nil
}

package soap

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/server/internal/remote"
)

// bounds of an envelope: those that are known have five levels.
var bounds = xmldom.Limits{Size: maxAnswer, Depth: 32, Nodes: 100_000, Attributes: 64, Bindings: 64}

// maxParts of a message by MTOM.
const maxParts = 1000

const includes = "http://www.w3.org/2004/08/xop/include"

// Answer of an operation.
type Answer struct {
	Body  *xmldom.Node      // the operation's element; what is below it has no namespace
	parts map[string][]byte // of MTOM, by Content-ID
}

// read reads an answer: an envelope, or one with parts beside it.
func read(contentType string, text []byte) (*Answer, error) {
	a := &Answer{}
	media, params, err := mime.ParseMediaType(contentType)
	if errors.Is(err, mime.ErrInvalidMediaParameter) { // a boundary that wants quotes, and has none
		params = map[string]string{"boundary": firstBoundary(text)}
	}
	if media == "multipart/related" {
		if contentType, text, err = a.split(params, text); err != nil {
			return nil, err
		}
	}
	doc, err := xmldom.Parse(string(declared(contentType, text)), bounds)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	space := envelope
	if root.Is(envelope12, "Envelope") { // gateways refuse in it, whatever they were asked in
		space = envelope12
	}
	if !root.Is(space, "Envelope") {
		return nil, errors.New("it is no envelope of SOAP")
	}
	bodies := root.Children(space, "Body")
	if len(bodies) != 1 {
		return nil, errors.New("an envelope has one body")
	}
	for e := range bodies[0].Elements() {
		if a.Body != nil {
			return nil, errors.New("a body has one answer")
		}
		a.Body = e
	}
	if a.Body == nil {
		return nil, errors.New("the body is empty")
	}
	return a, nil
}

// declared gives an envelope the declaration that it lacks where HTTP says in
// which encoding it is, and takes away space before the one that it has.
func declared(contentType string, text []byte) []byte {
	text = bytes.TrimLeft(text, " \t\r\n")
	_, params, err := mime.ParseMediaType(contentType)
	set := strings.ToLower(params["charset"])
	if err != nil || set == "" || strings.HasPrefix(set, "utf") || !bytes.HasPrefix(text, []byte("<")) || bytes.HasPrefix(text, []byte("<?xml")) {
		return text
	}
	return append(fmt.Appendf(nil, "<?xml version='1.0' encoding='%s'?>", set), text...)
}

// of makes sure that an answer is that of an operation.
func (a *Answer) of(operation, namespace string) error {
	switch {
	case a.Body.Is(envelope, "Fault"):
		return &Fault{Code: faultCode(Word(a.Body, "faultcode")), Words: Word(a.Body, "faultstring"), Detail: Find(a.Body, "detail")}
	case a.Body.Is(envelope12, "Fault"):
		return &Fault{Code: faultCode(Word(Find(a.Body, "Code"), "Value")), Words: Word(Find(a.Body, "Reason"), "Text"), Detail: Find(a.Body, "Detail")}
	}
	if !a.Body.Is(namespace, operation+"Response") {
		return fmt.Errorf("%q is not the answer to %s", remote.Clean(a.Body.Name.Local), operation)
	}
	return nil
}

// faultCode is a code without its prefix and what specifies it further, in the
// word of SOAP 1.1.
func faultCode(s string) string {
	if _, local, prefixed := strings.Cut(s, ":"); prefixed {
		s = local
	}
	s, _, _ = strings.Cut(s, ".")
	switch s {
	case "Sender":
		return "Client"
	case "Receiver":
		return "Server"
	}
	return s
}

// split takes a message apart and returns its root, with that one's media type.
func (a *Answer) split(params map[string]string, text []byte) (media string, root []byte, err error) {
	a.parts = map[string][]byte{}
	all := multipart.NewReader(bytes.NewReader(text), params["boundary"])
	start := identifier(params["start"])
	for n := range maxParts {
		p, err := all.NextRawPart()
		if errors.Is(err, io.EOF) {
			if root == nil {
				return "", nil, errors.New("a message without its root")
			}
			return media, root, nil
		}
		if err != nil {
			return "", nil, ended(err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			return "", nil, ended(err)
		}
		if strings.EqualFold(strings.TrimSpace(p.Header.Get("Content-Transfer-Encoding")), "base64") {
			if b, err = remote.Base64(string(b)); err != nil {
				return "", nil, err
			}
		}
		id := identifier(p.Header.Get("Content-Id"))
		if n == 0 && start == "" || start != "" && id == start {
			media, root = p.Header.Get("Content-Type"), b
			continue
		}
		if a.parts[id] != nil {
			return "", nil, errors.New("two parts have one name")
		}
		a.parts[id] = b
	}
	return "", nil, fmt.Errorf("a message of more than %d parts", maxParts)
}

// firstBoundary is the one that a message begins with.
func firstBoundary(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	return strings.TrimSpace(strings.TrimPrefix(string(line), "--"))
}

// ended gives a message that breaks off its name.
func ended(err error) error {
	if strings.Contains(err.Error(), "EOF") {
		return errors.Join(err, io.ErrUnexpectedEOF)
	}
	return err
}

func identifier(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "<"), ">")
}

// Find is the first child of a name, in whatever namespace: services differ in
// whether what is below the operation has one. Nil where there is none.
func Find(n *xmldom.Node, local string) *xmldom.Node {
	for _, e := range All(n, local) {
		return e
	}
	return nil
}

// All are the children of a name.
func All(n *xmldom.Node, local string) (list []*xmldom.Node) {
	if n == nil {
		return nil
	}
	for e := range n.Elements() {
		if e.Name.Local == local {
			list = append(list, e)
		}
	}
	return list
}

// Word is the text of a child, without the space around it.
func Word(n *xmldom.Node, local string) string { return strings.TrimSpace(Find(n, local).Text()) }

// Bytes is a base64Binary: inline, or in a part of its own. It is never empty.
func (a *Answer) Bytes(n *xmldom.Node) ([]byte, error) {
	if n == nil {
		return nil, errors.New("there is none")
	}
	var b []byte
	if include := n.Child(includes, "Include"); include != nil {
		b = a.part(include.Attr("href"))
	} else {
		var err error
		if b, err = remote.Base64(n.Text()); err != nil {
			return nil, err
		}
	}
	if len(b) == 0 {
		return nil, errors.New("it is empty")
	}
	return b, nil
}

// part is the one that an address names. Some write it as it is, without the
// escapes that an address wants.
func (a *Answer) part(href string) []byte {
	id := strings.TrimSpace(href)
	if len(id) >= 4 && strings.EqualFold(id[:4], "cid:") {
		id = id[4:]
	}
	if b := a.parts[identifier(id)]; b != nil {
		return b
	}
	plain, err := url.PathUnescape(id)
	if err != nil {
		return nil
	}
	return a.parts[identifier(plain)]
}

// Base64 is a value as a request has it.
func Base64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

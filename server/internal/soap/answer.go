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

const (
	includes = "http://www.w3.org/2004/08/xop/include"
)

// Answer of an operation.
type Answer struct {
	Body  *xmldom.Node      // the operation's element; what is below it has no namespace
	parts map[string][]byte // of MTOM, by Content-ID
}

// read reads an answer: an envelope, or one with parts beside it.
func read(contentType string, text []byte) (*Answer, error) {
	a := &Answer{}
	if media, params, err := mime.ParseMediaType(contentType); err == nil && media == "multipart/related" {
		if text, err = a.split(params, text); err != nil {
			return nil, err
		}
	}
	doc, err := xmldom.Parse(text, bounds)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	if !root.Is(envelope, "Envelope") {
		return nil, errors.New("it is no envelope of SOAP 1.1")
	}
	bodies := root.Children(envelope, "Body")
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

// of makes sure that an answer is that of an operation.
func (a *Answer) of(operation, namespace string) error {
	if a.Body.Is(envelope, "Fault") {
		f := &Fault{Code: strings.TrimSpace(Find(a.Body, "faultcode").Text()), Words: Find(a.Body, "faultstring").Text(), Detail: Find(a.Body, "detail")}
		if _, local, prefixed := strings.Cut(f.Code, ":"); prefixed {
			f.Code = local
		}
		f.Code, _, _ = strings.Cut(f.Code, ".")
		return f
	}
	if !a.Body.Is(namespace, operation+"Response") {
		return fmt.Errorf("%q is not the answer to %s", remote.Clean(a.Body.Name.Local), operation)
	}
	return nil
}

// split takes a message apart and returns its root.
func (a *Answer) split(params map[string]string, text []byte) (root []byte, err error) {
	a.parts = map[string][]byte{}
	all := multipart.NewReader(bytes.NewReader(text), params["boundary"])
	start := identifier(params["start"])
	for n := range maxParts {
		p, err := all.NextRawPart()
		if errors.Is(err, io.EOF) {
			if root == nil {
				return nil, errors.New("a message without its root")
			}
			return root, nil
		}
		if err != nil {
			return nil, ended(err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			return nil, ended(err)
		}
		if strings.EqualFold(strings.TrimSpace(p.Header.Get("Content-Transfer-Encoding")), "base64") {
			if b, err = remote.Base64(string(b)); err != nil {
				return nil, err
			}
		}
		id := identifier(p.Header.Get("Content-Id"))
		if n == 0 && start == "" || start != "" && id == start {
			root = b
			continue
		}
		if a.parts[id] != nil {
			return nil, errors.New("two parts have one name")
		}
		a.parts[id] = b
	}
	return nil, fmt.Errorf("a message of more than %d parts", maxParts)
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
		id, err := url.PathUnescape(strings.TrimPrefix(include.Attr("href"), "cid:"))
		if err != nil {
			return nil, err
		}
		b = a.parts[id]
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

// Base64 is a value as a request has it.
func Base64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

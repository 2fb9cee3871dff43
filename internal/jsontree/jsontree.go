// Package jsontree parses JSON strictly, as RFC 7493 (I-JSON) requires for signed documents: valid
// UTF-8, no duplicate names in an object, one value and nothing behind it. Every value knows its
// position in the text, so that a document can be changed without touching the rest of it.
package jsontree

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
)

// Kind is what a value is, by the character that it begins with.
type Kind = jsontext.Kind

// The kinds of values. A boolean is one of two kinds.
const (
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
)

// Value is a value and its place: the octets from Start to End of the text. Its
// methods answer for a nil value as for one that is not there.
type Value struct {
	Kind       Kind
	Start, End int
	Members    []Member // of an object, in their order
	Items      []*Value // of an array
	text       []byte   // the value as written
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value *Value
}

// Parse reads a text that is one value. It returns a *ades.MalformedError with a
// JSON pointer for what is not.
func Parse(text []byte) (*Value, error) {
	if len(text) > limits.JSONSize {
		return nil, ades.Malformed("JSON", "", "a text of %d bytes is too large", len(text))
	}
	p := &parser{text: text, d: jsontext.NewDecoder(bytes.NewBuffer(text))}
	v, err := p.value(0)
	if err == nil {
		if _, err = p.d.ReadToken(); err == nil {
			err = finding.JSONTrailing.New()
		} else if errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	return nil, p.malformed(err)
}

type parser struct {
	text   []byte
	d      *jsontext.Decoder
	values int
}

func (p *parser) malformed(err error) error {
	where := string(p.d.StackPointer())
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return finding.JSONNameTwice.Malformed("JSON", string(syntax.JSONPointer), syntax.JSONPointer.LastToken())
	case errors.As(err, &syntax):
		err = syntax.Err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the text ends within a value")
	}
	return &ades.MalformedError{Format: "JSON", Where: where, Err: err}
}

func (p *parser) value(depth int) (*Value, error) {
	if p.values++; p.values > limits.JSONValues || depth > limits.JSONDepth {
		return nil, errors.New("too many values, or nested too deep")
	}
	v := &Value{Kind: p.d.PeekKind()}
	var err error
	switch v.Kind {
	case Object, Array:
		err = p.inside(v, depth)
	default:
		var raw jsontext.Value
		raw, err = p.d.ReadValue()
		v.Start = int(p.d.InputOffset()) - len(raw)
	}
	if err != nil {
		return nil, err
	}
	v.End = int(p.d.InputOffset())
	v.text = p.text[v.Start:v.End:v.End]
	return v, nil
}

// inside reads an object or an array up to its end.
func (p *parser) inside(v *Value, depth int) error {
	if _, err := p.d.ReadToken(); err != nil {
		return err
	}
	v.Start = int(p.d.InputOffset()) - 1
	for {
		switch p.d.PeekKind() {
		case '}', ']':
			_, err := p.d.ReadToken()
			return err
		}
		if v.Kind == Array {
			item, err := p.value(depth + 1)
			if err != nil {
				return err
			}
			v.Items = append(v.Items, item)
			continue
		}
		name, err := p.d.ReadToken()
		if err != nil {
			return err
		}
		m := Member{Name: name.String()}
		if m.Value, err = p.value(depth + 1); err != nil {
			return err
		}
		v.Members = append(v.Members, m)
	}
}

// Get is the member of an object, or nil.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// List are the items of an array.
func (v *Value) List() []*Value {
	if v == nil {
		return nil
	}
	return v.Items
}

// Is reports whether a value is there and of a kind.
func (v *Value) Is(k Kind) bool { return v != nil && v.Kind == k }

// Written is the original text of the value.
func (v *Value) Written() []byte {
	if v == nil {
		return nil
	}
	return v.text
}

// Bytes are the octets of a string; ok is false for everything else. They are
// those of the text itself where nothing in it is escaped.
func (v *Value) Bytes() (b []byte, ok bool) {
	if !v.Is(String) {
		return nil, false
	}
	if inner := v.text[1 : len(v.text)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	b, err := jsontext.AppendUnquote(nil, v.text)
	return b, err == nil
}

// Text is a string.
func (v *Value) Text() (string, bool) {
	b, ok := v.Bytes()
	return string(b), ok
}

// Texts are the items of an array of strings; ok is false for everything else.
func (v *Value) Texts() (list []string, ok bool) {
	if !v.Is(Array) {
		return nil, false
	}
	for _, item := range v.Items {
		s, ok := item.Text()
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// Bool is a boolean.
func (v *Value) Bool() (b, ok bool) { return v.Is(True), v.Is(True) || v.Is(False) }

// Integer is a number without a fraction.
func (v *Value) Integer() (int64, bool) {
	if !v.Is(Number) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.text), 10, 64)
	return n, err == nil
}

// Quote writes a string.
func Quote[T ~string | ~[]byte](s T) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // of what is no UTF-8, a replacement is written
		return b
	}
	return b
}

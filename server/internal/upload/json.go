package upload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError says that a body is not acceptable JSON. Its text is fit for the
// client.
type SyntaxError struct{ Text string }

func (e *SyntaxError) Error() string { return e.Text }

func syntax(format string, args ...any) error {
	return &SyntaxError{Text: fmt.Sprintf(format, args...)}
}

// FieldError says that a member of a body has the wrong type or is too long.
type FieldError struct {
	Field string // options.page, inputDocuments[2].url
	Text  string // must be a string
}

func (e *FieldError) Error() string { return e.Field + " " + e.Text }

// ReadJSON reads one JSON value. What it returns is the value with a mark in
// place of every long string; hand it to Unmarshal. The errors are
// *SyntaxError, ErrTooLong, or what r answered.
func (s *Spool) ReadJSON(r io.Reader) (jsontext.Value, error) {
	k := skimmer{spool: s, r: bufio.NewReaderSize(r, 64<<10), long: s.limits.Long}
	if err := k.skim(); err != nil {
		return nil, err
	}
	v := jsontext.Value(k.out)
	if err := check(v); err != nil {
		return nil, err
	}
	return v, nil
}

// check holds the skeleton to RFC 7493: grammar, unique names, UTF-8.
func check(v jsontext.Value) error {
	if len(v) == 0 {
		return syntax("body is empty: a JSON value is expected")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if err := dec.SkipValue(); err != nil {
		return fromSyntactic(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return syntax("body is not valid JSON: more than one value")
	}
	return nil
}

func fromSyntactic(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return syntax("body is not valid JSON: it ends too early")
	}
	var se *jsontext.SyntacticError
	if !errors.As(err, &se) || se.Err == nil {
		return syntax("body is not valid JSON")
	}
	why := strings.TrimPrefix(se.Err.Error(), "jsontext: ")
	if at := Field(se.JSONPointer); at != "" {
		return syntax("body is not valid JSON: %s (at %s)", why, at)
	}
	return syntax("body is not valid JSON: %s", why)
}

// Field spells a JSON pointer as people do: inputDocuments[2].url.
func Field(p jsontext.Pointer) string {
	var b strings.Builder
	for tok := range p.Tokens() {
		if len(tok) > 64 {
			tok = strings.ToValidUTF8(tok[:64], "") + "…"
		}
		if _, err := strconv.ParseUint(tok, 10, 32); err == nil && b.Len() > 0 {
			b.WriteString("[" + tok + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(tok)
	}
	return b.String()
}

// Unmarshal decodes a value that ReadJSON returned, or a part of one, into
// dst. Names are matched exactly and unknown members ignored. The errors are
// *FieldError or *SyntaxError.
func (s *Spool) Unmarshal(v jsontext.Value, dst any) error {
	err := json.Unmarshal(v, dst, json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(s.unmarshalText), json.UnmarshalFromFunc(s.unmarshalString))))
	if err == nil {
		return nil
	}
	var fe *FieldError
	if errors.As(err, &fe) {
		return fe
	}
	var se *json.SemanticError
	if errors.As(err, &se) {
		return &FieldError{Field: fieldOrBody(se.JSONPointer), Text: wanted(se)}
	}
	return fromSyntactic(err)
}

func fieldOrBody(p jsontext.Pointer) string {
	if f := Field(p); f != "" {
		return f
	}
	return "body"
}

func (s *Spool) unmarshalText(dec *jsontext.Decoder, t *Text) error {
	if err := t.UnmarshalJSONFrom(dec); err != nil {
		return err
	}
	if t.src != nil {
		t.spool = s
		if long, ok := s.lookup(*t); ok {
			*t = long
		}
	}
	return nil
}

func (s *Spool) unmarshalString(dec *jsontext.Decoder, p *string) error {
	if dec.PeekKind() != '"' || s.mark == "" {
		return json.SkipFunc
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*p = tok.String()
	if strings.HasPrefix(*p, s.mark) {
		return &FieldError{Field: fieldOrBody(dec.StackPointer()), Text: "is too long"}
	}
	return nil
}

// lookup finds the long text that a mark stands for.
func (s *Spool) lookup(t Text) (Text, bool) {
	if s.mark == "" || t.Len() > int64(len(s.mark)+10) {
		return Text{}, false
	}
	str, err := t.String(len(s.mark) + 10)
	if err != nil || !strings.HasPrefix(str, s.mark) {
		return Text{}, false
	}
	n, err := strconv.Atoi(str[len(s.mark):])
	if err != nil || n >= len(s.texts) {
		return Text{}, false
	}
	return s.texts[n], true
}

// Text is the text that a JSON string of this body stands for, long or short;
// false where v is no string.
func (s *Spool) Text(v jsontext.Value) (Text, bool) {
	var t Text
	if v.Kind() != '"' || s.Unmarshal(v, &t) != nil {
		return Text{}, false
	}
	return t, true
}

func wanted(se *json.SemanticError) string {
	if errors.Is(se.Err, errNotString) || se.GoType == nil {
		return "must be a string"
	}
	t := se.GoType
	for t.Kind().String() == "ptr" {
		t = t.Elem()
	}
	switch k := t.Kind().String(); {
	case k == "string":
		return "must be a string"
	case k == "bool":
		return "must be true or false"
	case strings.HasPrefix(k, "int"), strings.HasPrefix(k, "uint"):
		return "must be an integer"
	case strings.HasPrefix(k, "float"):
		return "must be a number"
	case k == "slice", k == "array":
		return "must be an array"
	case k == "struct", k == "map":
		return "must be an object"
	}
	return "has the wrong type"
}

// skimmer copies JSON, keeping count and sending long strings to disk. It does
// not know the grammar: check does, on the copy.
type skimmer struct {
	spool  *Spool
	r      *bufio.Reader
	out    []byte
	long   int
	depth  int
	values int
	space  bool
}

func (k *skimmer) skim() error {
	for {
		c, err := k.r.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := k.byte(c); err != nil {
			return err
		}
		if len(k.out) > k.spool.limits.Memory {
			return ErrTooLong
		}
	}
}

func (k *skimmer) byte(c byte) error {
	switch c {
	case ' ', '\t', '\r', '\n':
		// A run of white space counts as one: padding costs no memory.
		if !k.space && len(k.out) > 0 {
			k.out = append(k.out, ' ')
		}
		k.space = true
		return nil
	case '{', '[':
		k.depth++
		if k.depth > k.spool.limits.Depth {
			return syntax("body is nested deeper than %d levels", k.spool.limits.Depth)
		}
		k.values++
	case '}', ']':
		k.depth--
	case ',', ':':
		k.values++
	}
	k.space = false
	if k.values > k.spool.limits.Values {
		return syntax("body has more than %d values", k.spool.limits.Values)
	}
	k.out = append(k.out, c)
	if c == '"' {
		return k.string()
	}
	return nil
}

// string copies a string up to its closing quote. Should it grow long, what
// was copied is taken back and the whole goes to disk, unescaped.
func (k *skimmer) string() error {
	start := len(k.out)
	if len(k.out) > k.spool.limits.Memory/2 {
		k.long = min(k.long, 256) // many middling strings are a large body too
	}
	escaped := false
	for {
		c, err := k.r.ReadByte()
		if err == io.EOF {
			return nil // check reports it
		}
		if err != nil {
			return err
		}
		k.out = append(k.out, c)
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			return nil
		case len(k.out)-start > k.long:
			return k.spill(start)
		}
	}
}

// spill writes a long string to disk and leaves a mark.
func (k *skimmer) spill(start int) error {
	w := k.spool.Write()
	if err := w.toDisk(); err != nil {
		return err
	}
	u := unescaper{r: k.r, w: bufio.NewWriterSize(w, 64<<10)}
	if err := u.run(k.out[start:]); err != nil {
		return err
	}
	if err := u.w.Flush(); err != nil {
		return err
	}
	n := len(k.spool.texts)
	k.spool.texts = append(k.spool.texts, Text{src: w.Source(), spool: k.spool})
	k.out = append(k.out[:start], k.spool.marker()...)
	k.out = strconv.AppendInt(k.out, int64(n), 10)
	k.out = append(k.out, '"')
	return nil
}

// unescaper turns the inside of a JSON string into its bytes.
type unescaper struct {
	head []byte // read already
	r    *bufio.Reader
	w    *bufio.Writer
}

func (u *unescaper) next() (byte, error) {
	if len(u.head) > 0 {
		c := u.head[0]
		u.head = u.head[1:]
		return c, nil
	}
	c, err := u.r.ReadByte()
	if err == io.EOF {
		err = syntax("body is not valid JSON: it ends inside a string")
	}
	return c, err
}

func (u *unescaper) run(head []byte) error {
	u.head = head
	for {
		if err := u.plain(); err != nil {
			return err
		}
		c, err := u.next()
		if err != nil {
			return err
		}
		switch {
		case c == '"':
			return nil
		case c == '\\':
			err = u.escape()
		case c < 0x20:
			err = syntax("body is not valid JSON: a control character inside a string")
		default:
			err = u.rune(c)
		}
		if err != nil {
			return err
		}
	}
}

// plain copies whole runs of ordinary ASCII, which is all that base64 is.
func (u *unescaper) plain() error {
	for len(u.head) == 0 {
		buf, err := u.r.Peek(max(u.r.Buffered(), 1))
		if err != nil {
			return nil // next reports it
		}
		n := 0
		for n < len(buf) && buf[n] != '"' && buf[n] != '\\' && buf[n] >= 0x20 && buf[n] < 0x80 {
			n++
		}
		if n == 0 {
			return nil
		}
		if _, err := u.w.Write(buf[:n]); err != nil {
			return err
		}
		u.r.Discard(n)
	}
	return nil
}

func (u *unescaper) rune(first byte) error {
	if first < 0x80 {
		return u.w.WriteByte(first)
	}
	var b [utf8.UTFMax]byte
	b[0] = first
	n := 1
	for ; n < utf8.UTFMax && !utf8.FullRune(b[:n]); n++ {
		c, err := u.next()
		if err != nil {
			return err
		}
		b[n] = c
	}
	if r, size := utf8.DecodeRune(b[:n]); r == utf8.RuneError && size <= 1 || size != n {
		return syntax("body is not valid JSON: invalid UTF-8")
	}
	_, err := u.w.Write(b[:n])
	return err
}

func (u *unescaper) escape() error {
	c, err := u.next()
	if err != nil {
		return err
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return u.w.WriteByte("\"\\/\b\f\n\r\t"[i])
	}
	if c != 'u' {
		return syntax("body is not valid JSON: an unknown escape inside a string")
	}
	return u.unicode()
}

func (u *unescaper) unicode() error {
	r, err := u.hex4()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		low, err := u.lowSurrogate()
		if err != nil {
			return err
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return syntax("body is not valid JSON: an unpaired surrogate inside a string")
		}
	}
	_, err = u.w.WriteRune(r)
	return err
}

func (u *unescaper) lowSurrogate() (rune, error) {
	for _, want := range []byte(`\u`) {
		c, err := u.next()
		if err != nil {
			return 0, err
		}
		if c != want {
			return 0, syntax("body is not valid JSON: an unpaired surrogate inside a string")
		}
	}
	return u.hex4()
}

func (u *unescaper) hex4() (rune, error) {
	var b [4]byte
	for i := range b {
		c, err := u.next()
		if err != nil {
			return 0, err
		}
		b[i] = c
	}
	n, err := strconv.ParseUint(string(b[:]), 16, 16)
	if err != nil {
		return 0, syntax("body is not valid JSON: a bad \\u escape inside a string")
	}
	return rune(n), nil
}

package upload

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
)

// ErrTooLong says that a text or a document is over its limit.
var ErrTooLong = errors.New("too long")

// Text is a string of a body that may be long, or a file of a multipart body.
// The zero Text is an absent one.
type Text struct {
	src   ades.Source
	spool *Spool
	raw   bool // the bytes of a file, not base64
	name  string
	path  string // with the folders that a browser gives
}

// IsZero reports an absent (or null) text.
func (t Text) IsZero() bool { return t.src == nil }

// Len is the number of bytes of the text as it was sent.
func (t Text) Len() int64 {
	if t.src == nil {
		return 0
	}
	return t.src.Size()
}

// Name is the file name a multipart part came with.
func (t Text) Name() string { return t.name }

// Path is the name with the folders below the one that was chosen, where a browser
// sent a folder; else it is the name.
func (t Text) Path() string { return t.path }

// Reader reads the text as it was sent.
func (t Text) Reader() io.Reader {
	if t.src == nil {
		return strings.NewReader("")
	}
	return io.NewSectionReader(t.src, 0, t.src.Size())
}

// String is the text if it is short (at most limit bytes).
func (t Text) String(limit int) (string, error) {
	if t.Len() > int64(limit) {
		return "", ErrTooLong
	}
	b, err := io.ReadAll(t.Reader())
	return string(b), err
}

// Content reads the content of the text: a file's bytes, or what its base64
// decodes to (padded or not, URL-safe or not, white space ignored).
func (t Text) Content() io.Reader {
	if t.raw {
		return t.Reader()
	}
	skip := dataURL(t.head())
	return NewBase64Reader(io.NewSectionReader(t.src, skip, t.src.Size()-skip))
}

// headLength is how much of a text is needed to recognise it.
const headLength = 256

func (t Text) head() string {
	if t.src == nil {
		return ""
	}
	b := make([]byte, min(headLength, t.src.Size()))
	n, _ := t.src.ReadAt(b, 0)
	return string(b[:n])
}

// dataURL is the length of what precedes the base64 in a data: URL (RFC
// 2397), as browsers make them of files; 0 where a text is none.
func dataURL(head string) int64 {
	if len(head) < 5 || !strings.EqualFold(head[:5], "data:") {
		return 0
	}
	before, _, found := strings.Cut(head, ",")
	if !found || !strings.HasSuffix(strings.ToLower(before), ";base64") {
		return 0
	}
	return int64(len(before)) + 1
}

// NotBase64 guesses why a text is not base64.
func (t Text) NotBase64() string {
	head := strings.TrimSpace(t.head())
	switch {
	case strings.HasPrefix(head, "data:"):
		return "is a data: URL without base64: it must begin as data:application/pdf;base64,"
	case strings.HasPrefix(head, "%PDF") || strings.HasPrefix(head, "<") || strings.HasPrefix(head, "-----BEGIN"):
		return "is not base64: it seems to be the document itself; send base64 of it"
	case strings.Contains(head, "://"):
		return "is not base64: it seems to be an address; send base64 of what is there"
	case t.Len() < headLength && aPath.MatchString(head):
		return "is not base64: it seems to be the name of a file; send base64 of what is in the file"
	}
	return "is not base64"
}

// aPath is what names of files look like: a path, or an extension at the end.
var aPath = regexp.MustCompile(`^@?(~?/|\.{1,2}[/\\]|[A-Za-z]:[/\\]|file:)|^[^,;{}\n]+\.[A-Za-z0-9]{1,5}$`)

// Document is the content as a source of at most limit bytes (0: no limit),
// decoded once, on disk when it is large. It lives as long as the spool.
// The error wraps ErrBase64, ErrTooLong, or is an accident.
func (t Text) Document(limit int64) (ades.Source, error) {
	if t.raw {
		if limit > 0 && t.Len() > limit {
			return nil, ErrTooLong
		}
		return t.src, nil
	}
	spool := t.spool
	if spool == nil {
		spool = New("", Limits{Long: int(t.Len()) + 1}) // a short text: never reaches disk
	}
	turns <- struct{}{}
	defer func() { <-turns }()
	w := spool.WriteSized(t.Len() / 4 * 3)
	r := t.Content()
	if limit > 0 {
		r = io.LimitReader(r, limit+1)
	}
	if _, err := io.CopyBuffer(w, r, make([]byte, base64Piece)); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if limit > 0 && w.size > limit {
		return nil, ErrTooLong
	}
	return w.Source(), nil
}

// UnmarshalJSONFrom takes a short string; long ones come through the spool.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case 'n':
		*t = Text{}
		return nil
	case '"':
		*t = Text{src: strings.NewReader(tok.String())}
		return nil
	}
	return errNotString
}

var errNotString = errors.New("must be a string")

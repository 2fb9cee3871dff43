package upload

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"path"
	"strings"
)

// Part is one field or file of a multipart body.
type Part struct {
	Field string
	File  bool // it came with a file name
	Type  string
	Text  Text
}

// ReadForm reads a multipart body; large parts go to disk. The errors are
// *SyntaxError, ErrTooLong, or what r answered.
func (s *Spool) ReadForm(r io.Reader, boundary string) ([]Part, error) {
	var parts []Part
	t := &turnReader{r: r}
	defer t.end()
	mr := multipart.NewReader(t, boundary)
	for {
		p, err := mr.NextRawPart()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, formError(err)
		}
		if len(parts) == s.limits.Parts {
			return nil, syntax("body has more than %d parts", s.limits.Parts)
		}
		part, err := s.readPart(p)
		if err != nil {
			return nil, formError(err)
		}
		parts = append(parts, part)
	}
}

func (s *Spool) readPart(p *multipart.Part) (Part, error) {
	w := s.Write()
	if _, err := io.CopyBuffer(w, p, make([]byte, 32<<10)); err != nil {
		return Part{}, err
	}
	name := p.FileName()
	if name != "" {
		// Some clients send whole paths, of either kind.
		name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	}
	return Part{
		Field: p.FormName(),
		File:  name != "",
		Type:  p.Header.Get("Content-Type"),
		Text:  Text{src: w.Source(), spool: s, raw: name != "", name: name},
	}, nil
}

// formError tells what the client did from what befell us: the reader's own
// errors (a limit, a lost connection) pass through.
func formError(err error) error {
	var syn *SyntaxError
	if errors.As(err, &syn) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || strings.HasPrefix(err.Error(), "multipart:") || strings.HasPrefix(err.Error(), "malformed MIME") {
		return syntax("body is not valid multipart/form-data")
	}
	return fmt.Errorf("read multipart body: %w", err)
}

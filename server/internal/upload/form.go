package upload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"path"
	"strings"

	"rogito.dev/rogito/ades"
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
	t := &turnReader{r: r}
	defer t.end()
	var parts []Part
	// It reads 4 KB at a time; the connection is asked for more.
	mr, buf := multipart.NewReader(bufio.NewReaderSize(t, pieceSize), boundary), make([]byte, 4<<10)
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
		w := s.Write()
		if _, err := io.CopyBuffer(w, p, buf); err != nil {
			return nil, formError(err)
		}
		parts = append(parts, s.part(p, w.Source()))
	}
}

func (s *Spool) part(p *multipart.Part, src ades.Source) Part {
	name, below := p.FileName(), ""
	if name != "" {
		// Some clients send whole paths, of either kind.
		name = path.Base(strings.ReplaceAll(name, `\`, "/"))
		below = folders(p, name)
	}
	return Part{
		Field: p.FormName(),
		File:  name != "",
		Type:  p.Header.Get("Content-Type"),
		Text:  Text{src: src, spool: s, raw: name != "", name: name, path: below + name},
	}
}

// folders are those of a name as a browser sends it for a file of a folder; the
// standard library takes them off.
func folders(p *multipart.Part, name string) string {
	_, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	whole := params["filename"]
	if err != nil || !strings.HasSuffix(whole, "/"+name) || len(whole) > 1024 || strings.HasPrefix(whole, "/") || path.Clean(whole) != whole || strings.HasPrefix(whole, "../") {
		return ""
	}
	return strings.TrimSuffix(whole, name)
}

// formError separates the client's mistakes from the reader's own errors (a limit, a lost
// connection), which pass through.
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

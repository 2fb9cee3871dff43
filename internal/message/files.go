package message

import (
	"fmt"
	"mime"
	"path"
	"strings"
)

// File is an attachment of a message.
type File struct {
	Name string
	Data []byte
}

// Bounds on what a message may hold: parts inside parts, and files in all.
const (
	maxDepth = 12
	maxFiles = 256
)

// Files are the attachments of a message, and the messages in it as files of
// their own (.eml). The texts that a mail program shows are not among them. What
// cannot be taken apart is left out and said by the error.
func Files(raw []byte) ([]File, error) {
	var c collector
	raw, _ = Begin(raw)
	c.entity(raw, 0)
	return c.files, c.err
}

type collector struct {
	files []File
	err   error
}

func (c *collector) entity(raw []byte, depth int) {
	e, err := ParseEntity(raw)
	switch {
	case err != nil:
		if depth == 0 {
			c.fail(err)
		}
		return
	case depth > maxDepth || len(c.files) >= maxFiles:
		c.fail(fmt.Errorf("more than %d files, or parts inside %d others", maxFiles, maxDepth))
		return
	case strings.HasPrefix(e.Type, "multipart/"):
		m, err := Parse(raw)
		if err != nil {
			c.fail(err)
			return
		}
		for _, p := range m.Parts {
			c.entity(p.Raw, depth+1)
		}
		return
	}
	name := Decoded(e.Filename())
	if name == "" && strings.HasPrefix(e.Type, "text/") || depth == 0 && name == "" {
		return // what is shown as the message itself
	}
	data, err := e.Decode()
	if err != nil {
		c.fail(err)
		return
	}
	if name == "" {
		name = fmt.Sprintf("part-%d", len(c.files)+1)
		if e.Type == "message/rfc822" {
			name += ".eml"
		}
	}
	c.files = append(c.files, File{Name: path.Base(strings.ReplaceAll(name, `\`, "/")), Data: data})
}

func (c *collector) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Decoded is a text in encoded words (RFC 2047), which programs write for names of
// files too, though RFC 2231 has another way. What cannot be decoded stays.
func Decoded(name string) string {
	if plain, err := new(mime.WordDecoder).DecodeHeader(name); err == nil {
		return plain
	}
	return name
}

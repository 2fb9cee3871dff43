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

// Bounds on a message: nested parts, and files in total.
const (
	maxDepth = 12
	maxFiles = 256
)

// Files returns the attachments of a message, and the messages in it as files (.eml), without the
// text that a mail program shows. Parts that cannot be parsed are left out and reported by the
// error.
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
		return // shown as the message itself
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

// Decoded decodes encoded words (RFC 2047), which programs also use for file names although RFC
// 2231 has another way. Invalid ones are kept.
func Decoded(name string) string {
	if plain, err := new(mime.WordDecoder).DecodeHeader(name); err == nil {
		return plain
	}
	return name
}

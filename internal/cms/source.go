package cms

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"sort"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/foreign"
	"rogito.dev/rogito/internal/limits"
)

// Unarmour decodes PEM or base64: with or without line breaks, in either alphabet, as a data: URI,
// and a second time if the result is armoured in turn. A binary document is returned unchanged.
func Unarmour(src ades.Source) (ades.Source, error) {
	head := make([]byte, min(64, src.Size()))
	if _, err := src.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if !looksArmoured(head) {
		return src, nil
	}
	if src.Size() > limits.Armour {
		return nil, ades.Malformed("CMS", "", "armoured document of %d bytes is too large", src.Size())
	}
	if err := limits.Pay(src, 2*src.Size()); err != nil {
		return nil, err
	}
	text := make([]byte, src.Size())
	if n, err := src.ReadAt(text, 0); n < len(text) {
		return nil, err
	}
	if out, ok := decodeArmour(text); ok {
		return bytes.NewReader(out), nil
	}
	return src, nil
}

// looksArmoured: the first byte of CMS in BER is 0x30, which is also the character '0'; but base64
// of such a value starts with 'M', and PEM with dashes or text.
func looksArmoured(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 {
		return false
	}
	for _, c := range head {
		if c >= 0x7f || c < 0x20 && c != '\r' && c != '\n' && c != '\t' {
			return false
		}
	}
	for _, start := range armours {
		if bytes.HasPrefix(head, start) {
			return true
		}
	}
	return bytes.Contains(head, []byte("-----BEGIN"))
}

// armours are the beginnings of base64 of BER, PEM, a data: URI, and base64 of the first two.
var armours = [][]byte{[]byte("M"), []byte("-"), []byte("data:"), []byte("TUl"), []byte("LS0tLS1CRUdJTi")}

// maxArmour is how often a document may be armoured.
const maxArmour = 2

func decodeArmour(text []byte) ([]byte, bool) {
	for range maxArmour {
		out, ok := decodeOnce(text)
		if !ok {
			return nil, false
		}
		if out[0] == TagSequence {
			return out, true
		}
		if !looksArmoured(out[:min(64, len(out))]) {
			return nil, false
		}
		text = out
	}
	return nil, false
}

// dataURI is the base64 text of a data: URI (RFC 2397), or nil.
func dataURI(text []byte) []byte {
	head, body, ok := bytes.Cut(text, []byte(","))
	if !ok || !uriHead.Match(head) {
		return nil
	}
	if plain, err := url.PathUnescape(string(body)); err == nil {
		return []byte(plain)
	}
	return body
}

// uriHead is the type of a data: URI; nothing else may precede the data.
var uriHead = regexp.MustCompile(`(?i)^data:[a-z0-9/.+_;=-]{0,200};base64$`)

func decodeOnce(text []byte) ([]byte, bool) {
	if i := bytes.Index(text, []byte("-----BEGIN")); i >= 0 {
		if block, _ := pem.Decode(text[i:]); block != nil {
			return block.Bytes, true
		}
		text = pemBody(text[i:])
	}
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n")
	if bytes.HasPrefix(text, []byte("data:")) {
		text = dataURI(text)
	}
	compact := make([]byte, 0, len(text))
	for _, c := range text {
		switch c {
		case ' ', '\t', '\r', '\n', '=':
		case '-':
			compact = append(compact, '+')
		case '_':
			compact = append(compact, '/')
		default:
			compact = append(compact, c)
		}
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(compact)))
	n, err := base64.RawStdEncoding.Decode(out, compact)
	if err != nil || n == 0 {
		return nil, false
	}
	return out[:n], true
}

// pemBody is the text between the armour lines of a PEM that encoding/pem rejects, such as one
// whose base64 is all on one line.
func pemBody(text []byte) []byte {
	_, body, _ := bytes.Cut(text[len("-----BEGIN"):], []byte("-----"))
	body, _, _ = bytes.Cut(body, []byte("-----END"))
	return body
}

// span is a piece of a source.
type span struct{ off, size int64 }

// Content is the content of a SignedData within the document, in one piece or in many.
type Content struct {
	src    io.ReaderAt
	spans  []span
	starts []int64 // where each span starts in the content
	size   int64
}

func newContent(src io.ReaderAt, spans []span) *Content {
	c := &Content{src: src, spans: spans, starts: make([]int64, len(spans))}
	for i, s := range spans {
		c.starts[i] = c.size
		c.size += s.size
	}
	return c
}

// Spans returns the positions of the content in its document.
func (c *Content) Spans() []foreign.Span {
	out := make([]foreign.Span, len(c.spans))
	for i, s := range c.spans {
		out[i] = foreign.Span{Start: s.off, End: s.off + s.size}
	}
	return out
}

// Size is the length of the content.
func (c *Content) Size() int64 { return c.size }

// ReadAt reads across the pieces.
func (c *Content) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	n := 0
	i := sort.Search(len(c.spans), func(i int) bool { return c.starts[i]+c.spans[i].size > off })
	for ; n < len(p) && i < len(c.spans); i++ {
		at := off + int64(n) - c.starts[i]
		want := min(int64(len(p)-n), c.spans[i].size-at)
		m, err := c.src.ReadAt(p[n:n+int(want)], c.spans[i].off+at)
		n += m
		if int64(m) < want {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// scanner walks the outer values of a document without loading it.
type scanner struct {
	src ades.Source
	mem []byte // the whole document, if it is in memory
}

// header of a value in a source; end is -1 until the end of an indefinite length is found.
type header struct {
	tag            byte
	off, body, end int64
	next           int64
	indefinite     bool
}

func (s scanner) header(off, limit int64) (header, error) {
	buf, err := s.read(off, min(off+20, limit))
	if err != nil {
		return header{}, err
	}
	head, length, err := readHeader(buf)
	if err != nil {
		return header{}, err
	}
	h := header{tag: buf[0], off: off, body: off + int64(head), end: limit, next: -1}
	if length < 0 {
		h.indefinite = true
		return h, nil
	}
	if length > limit-h.body {
		return header{}, errTruncated
	}
	h.end = h.body + length
	h.next = h.end
	return h, nil
}

// read returns the octets in a range, fewer at the end of the source.
func (s scanner) read(from, to int64) ([]byte, error) {
	if s.mem != nil {
		size := int64(len(s.mem))
		return s.mem[min(from, size):max(min(from, size), min(to, size))], nil
	}
	buf := make([]byte, max(0, to-from))
	n, err := s.src.ReadAt(buf, from)
	if err == io.EOF {
		err = nil
	}
	return buf[:n], err
}

// finish finds the end of a value of indefinite length.
func (s scanner) finish(h *header, depth int) error {
	if h.next >= 0 {
		return nil
	}
	if depth > limits.ASN1Depth {
		return errDepth
	}
	off := h.body
	for {
		done, err := s.endOfContents(off, h.end)
		if err != nil {
			return err
		}
		if done {
			h.end, h.next = off, off+2
			return nil
		}
		child, err := s.header(off, h.end)
		if err == nil {
			err = s.finish(&child, depth+1)
		}
		if err != nil {
			return err
		}
		off = child.next
	}
}

func (s scanner) endOfContents(off, limit int64) (bool, error) {
	if limit-off < 2 {
		return false, errTruncated
	}
	b, err := s.read(off, off+2)
	return err == nil && len(b) == 2 && b[0] == 0 && b[1] == 0, err
}

// more reports whether another value follows at off inside parent, and closes the parent if it has
// indefinite length and ends here.
func (s scanner) more(parent *header, off int64) (bool, error) {
	if !parent.indefinite {
		return off < parent.end, nil
	}
	done, err := s.endOfContents(off, parent.end)
	if err != nil {
		return false, err
	}
	if done {
		parent.end, parent.next = off, off+2
	}
	return !done, nil
}

// child reads the header of the value at off inside parent and finds its end.
func (s scanner) child(parent header, off int64, tag byte) (header, error) {
	h, err := s.header(off, parent.end)
	if err != nil {
		return h, err
	}
	if h.tag != tag {
		return h, errTag
	}
	return h, nil
}

// load brings a value into memory.
func (s scanner) load(h *header) ([]byte, error) {
	if err := s.finish(h, 0); err != nil {
		return nil, err
	}
	if h.next-h.off > limits.CMSElement {
		return nil, errors.New("element too large")
	}
	if s.mem != nil {
		return s.mem[h.off:h.next:h.next], nil
	}
	if err := limits.Pay(s.src, h.next-h.off); err != nil {
		return nil, err
	}
	out := make([]byte, h.next-h.off)
	if n, err := s.src.ReadAt(out, h.off); n < len(out) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return out, nil
}

// octets finds the pieces of an OCTET STRING and its end.
func (s scanner) octets(h *header, spans []span, depth int) ([]span, error) {
	if h.tag&constructed == 0 {
		return append(spans, span{h.body, h.end - h.body}), nil
	}
	if depth > limits.ASN1Depth {
		return nil, errDepth
	}
	off := h.body
	for {
		more, err := s.more(h, off)
		if err != nil {
			return nil, err
		}
		if !more {
			return spans, nil
		}
		c, err := s.header(off, h.end)
		if err != nil {
			return nil, err
		}
		if c.tag&^constructed != TagOctetString {
			return nil, errTag
		}
		if spans, err = s.octets(&c, spans, depth+1); err != nil {
			return nil, err
		}
		if len(spans) > limits.CMSChunks {
			return nil, errors.New("too many chunks")
		}
		off = c.next
	}
}

// Equal compares two documents byte by byte.
func Equal(ctx context.Context, a, b ades.Source) (bool, error) {
	if a == nil || b == nil || a.Size() != b.Size() {
		return false, nil
	}
	p, q := make([]byte, 64<<10), make([]byte, 64<<10)
	for off := int64(0); off < a.Size(); off += int64(len(p)) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n := int(min(int64(len(p)), a.Size()-off))
		if k, err := a.ReadAt(p[:n], off); k < n {
			return false, fmt.Errorf("read content: %w", err)
		}
		if k, err := b.ReadAt(q[:n], off); k < n {
			return false, fmt.Errorf("read content: %w", err)
		}
		if !bytes.Equal(p[:n], q[:n]) {
			return false, nil
		}
	}
	return true, nil
}

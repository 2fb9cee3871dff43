package jades

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/limits"
)

// file is a JWS in any of its forms.
type file struct {
	text    []byte
	form    Serialization
	payload []byte // as written: base64url, or the content itself
	carries bool   // there is a payload
	sigs    []*jws
	extra   []string // members other than those of RFC 7515
}

// jws is one unparsed signature.
type jws struct {
	protected []byte // base64url
	header    *jsontree.Value
	signature []byte          // base64url
	node      *jsontree.Value // the object that contains it; nil in the compact form
	path      string
}

// base64url decodes strictly (RFC 7515, section 2): no padding, no white space, no other alphabet,
// and zero for the unused bits of the last character.
func base64url(text []byte) ([]byte, bool) {
	if bytes.ContainsAny(text, "\r\n") { // these are ignored by encoding/base64
		return nil, false
	}
	out := make([]byte, base64.RawURLEncoding.DecodedLen(len(text)))
	n, err := base64.RawURLEncoding.Strict().Decode(out, text)
	return out[:n], err == nil
}

// base64std strictly decodes the other base64 of the standard, that of certificates and tokens.
func base64std(text string) ([]byte, bool) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	return b, err == nil && len(b) > 0
}

// load reads a source into memory to parse its JSON.
func load(ctx context.Context, src ades.Source) ([]byte, error) {
	if src.Size() > limits.JSONSize {
		return nil, ades.Malformed("JSON", "", "a file of %d bytes is too large", src.Size())
	}
	if err := limits.BudgetOf(ctx).Spend(src.Size()); err != nil {
		return nil, &ades.MalformedError{Format: "JSON", Err: err}
	}
	text := make([]byte, src.Size())
	if n, err := src.ReadAt(text, 0); n < len(text) {
		return nil, err
	}
	return text, nil
}

// open reads a JWS from a source.
func open(ctx context.Context, src ades.Source) (*file, error) {
	text, err := load(ctx, src)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// parse reads a JWS in any form.
func parse(text []byte) (*file, error) {
	if len(text) > 0 && text[0] != '{' && !bytes.ContainsAny(text[:1], " \t\r\n") {
		return parseCompact(text)
	}
	root, err := jsontree.Parse(text)
	if err != nil {
		return nil, err
	}
	return parseJSON(text, root)
}

// parseCompact parses the three pieces. A line break at the end of the file, as left by editors, is
// accepted.
func parseCompact(text []byte) (*file, error) {
	line := bytes.TrimRight(text, "\r\n")
	if len(text)-len(line) > 2 {
		return nil, finding.JSONTrailing.Malformed("JWS", "")
	}
	first, last := bytes.IndexByte(line, '.'), bytes.LastIndexByte(line, '.')
	if first < 0 || first == last || bytes.Count(line, []byte(".")) != 2 {
		return nil, finding.JWSUnreadable.Malformed("JWS", "", "three pieces with full stops between them are wanted")
	}
	f := &file{text: text, form: Compact, payload: line[first+1 : last], carries: last > first+1}
	f.sigs = []*jws{{protected: line[:first], signature: line[last+1:], path: "signature"}}
	return f, nil
}

// members of the two JSON forms.
var (
	flattenedMembers = []string{"payload", "protected", "header", "signature"}
	generalMembers   = []string{"payload", "signatures"}
	signatureMembers = []string{"protected", "header", "signature"}
)

func parseJSON(text []byte, root *jsontree.Value) (*file, error) {
	if !root.Is(jsontree.Object) {
		return nil, finding.JWSUnreadable.Malformed("JWS", "", "no JSON object")
	}
	f := &file{text: text, form: Flattened}
	known := flattenedMembers
	list := root.Get("signatures")
	if list != nil {
		for _, name := range signatureMembers {
			if root.Get(name) != nil {
				return nil, finding.JWSBothForms.Malformed("JWS", "", name)
			}
		}
		f.form, known = General, generalMembers
	}
	if p := root.Get("payload"); p != nil {
		var ok bool
		if f.payload, ok = p.Bytes(); !ok {
			return nil, finding.JWSPayload.Malformed("JWS", "/payload", "no string")
		}
		f.carries = len(f.payload) > 0
	}
	for _, m := range root.Members {
		if !slices.Contains(known, m.Name) {
			f.extra = append(f.extra, m.Name)
		}
	}
	if list == nil {
		s, err := signatureOf(root, "")
		f.sigs = []*jws{s}
		return f, err
	}
	return f, f.list(list)
}

// list parses the signatures of the general form.
func (f *file) list(list *jsontree.Value) error {
	if !list.Is(jsontree.Array) || len(list.Items) == 0 || len(list.Items) > limits.JWSSignatures {
		return finding.JWSUnreadable.Malformed("JWS", "/signatures", "no list of signatures, or one that is too long")
	}
	for i, item := range list.Items {
		path := "/signatures/" + strconv.Itoa(i)
		s, err := signatureOf(item, path)
		if err != nil {
			return err
		}
		for _, m := range item.Members {
			if !slices.Contains(signatureMembers, m.Name) {
				f.extra = append(f.extra, m.Name)
			}
		}
		f.sigs = append(f.sigs, s)
	}
	return nil
}

// signatureOf parses the members of one signature.
func signatureOf(n *jsontree.Value, path string) (*jws, error) {
	s := &jws{node: n, path: path, header: n.Get("header")}
	var ok bool
	if s.signature, ok = n.Get("signature").Bytes(); !ok || len(s.signature) == 0 {
		return nil, finding.JWSUnreadable.Malformed("JWS", path+"/signature", "no signature value")
	}
	if p := n.Get("protected"); p != nil {
		if s.protected, ok = p.Bytes(); !ok {
			return nil, finding.JWSHeaderUnreadable.Malformed("JWS", path+"/protected", "no string")
		}
	}
	if s.header != nil && !s.header.Is(jsontree.Object) {
		return nil, finding.JWSHeaderUnreadable.Malformed("JWS", path+"/header", "the unprotected one")
	}
	return s, nil
}

// Kind is the kind of a file, by its beginning.
type Kind int

// The kinds of files.
const (
	NoJWS Kind = iota // anything else
	JWS               // in any form
	SDJWT             // a JWS with disclosures (RFC 9901), which is not judged here
)

// detectWindow is how much of a file is examined at once.
const detectWindow = 64 << 10

// Detect returns the kind of a file: a JWS is a JSON object with its members, even if the rest is
// unreadable, or the compact form.
func Detect(src ades.Source) Kind {
	switch first, at := firstCharacter(src); first {
	case '{':
		if limits.Pay(src, src.Size()) != nil || !hasMembers(io.NewSectionReader(src, at, src.Size())) {
			return NoJWS
		}
		return JWS
	case 'e', 'I', 'C', 'D': // a brace, or white space, in base64
		return detectCompact(src, at)
	}
	return NoJWS
}

// firstCharacter is that behind a byte order mark and white space, and its offset; 0 if there is none
// in the window.
func firstCharacter(src ades.Source) (byte, int64) {
	r := bufio.NewReaderSize(io.NewSectionReader(src, 0, detectWindow), 512)
	at := int64(0)
	if mark, _ := r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		n, _ := r.Discard(3)
		at = int64(n)
	}
	for {
		switch c, err := r.ReadByte(); {
		case err != nil:
			return 0, at
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return c, at
		}
		at++
	}
}

// detectCompact decodes the beginning of the first piece, which must be an object with an alg, and
// counts the pieces: an encrypted JWE has five.
func detectCompact(src ades.Source, at int64) Kind {
	buf := make([]byte, detectWindow)
	n, _ := src.ReadAt(buf[:min(src.Size(), detectWindow)-at], at)
	head := buf[:n]
	first, _, _ := bytes.Cut(head, []byte("."))
	part := first[:len(first)/4*4]
	if len(first) < len(head) {
		part = bytes.TrimRight(first, "=")
	}
	dec, err := base64.RawURLEncoding.DecodeString(string(part))
	if err != nil || !bytes.HasPrefix(bytes.TrimLeft(dec, " \t\r\n"), []byte("{")) || !bytes.Contains(dec, []byte(`"alg"`)) {
		return NoJWS
	}
	stops := 0
	for at := int64(0); at < src.Size(); at += detectWindow {
		k, err := src.ReadAt(buf, at)
		if k == 0 && err != nil {
			break
		}
		chunk, _, disclosed := bytes.Cut(buf[:k], []byte("~"))
		if stops += bytes.Count(chunk, []byte(".")); disclosed && stops == 2 {
			return SDJWT
		}
	}
	if stops == 0 || stops == 4 { // unknown, or a JWE
		return NoJWS
	}
	return JWS // which may have the wrong number of pieces
}

package cms

import (
	"bytes"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/foreign"
	"rogito.dev/rogito/internal/limits"
)

// After says what is wrong with the bytes after the first length ones of a
// binary document, or "". Zeros and line breaks are padding, in small amounts.
// Anything else is not signed, and zip, PDF and browsers would show it.
func After(src ades.Source, length int64) string {
	rest := src.Size() - length
	if rest <= 0 {
		return ""
	}
	if rest > limits.CMSPadding {
		return fmt.Sprintf("%d bytes after the end of the signature", rest)
	}
	b := make([]byte, rest)
	if n, _ := src.ReadAt(b, length); int64(n) < rest {
		return "data after the end of the signature cannot be read"
	}
	for _, c := range b {
		if c != 0 && c != '\r' && c != '\n' {
			return "data after the end of the signature"
		}
	}
	return ""
}

// Beside says what is wrong with the octets of a binary document that are not
// its content, or "": attributes, certificates and revocation lists of kinds
// that nobody knows take anything, and none of it is signed.
func Beside(src, content ades.Source) string {
	var covered []foreign.Span
	if c, ok := content.(*Content); ok {
		covered = c.Spans()
	}
	return foreign.Outside(src, covered, foreign.In)
}

// AroundArmour says what stands beside the armour of a PEM or base64 document
// other than white space, or "": text before or after it, a second block, a
// second value after the padding of base64.
func AroundArmour(src ades.Source) string {
	head := make([]byte, min(64, src.Size()))
	if n, _ := src.ReadAt(head, 0); n < len(head) || !looksArmoured(head) || src.Size() > limits.Armour {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return ""
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	begin := bytes.Index(text, []byte("-----BEGIN"))
	if begin < 0 {
		if i := bytes.IndexByte(text, '='); i >= 0 && len(bytes.Trim(text[i:], "= \t\r\n")) > 0 {
			return "data after the end of the base64"
		}
		return ""
	}
	if !blank(text[:begin]) {
		return "text before the PEM block"
	}
	text = text[begin:]
	end := bytes.Index(text, []byte("-----END"))
	if end < 0 {
		return "the PEM block has no end"
	}
	_, after, found := bytes.Cut(text[end+len("-----END"):], []byte("-----"))
	if !found || !blank(after) {
		return "text after the PEM block"
	}
	if bytes.Count(text, []byte("-----BEGIN")) > 1 {
		return "a second PEM block"
	}
	// Inside the block: what follows the padding is another value to some.
	body := pemBody(text)
	if i := bytes.IndexByte(body, '='); i >= 0 && len(bytes.Trim(body[i:], "= \t\r\n")) > 0 {
		return "data after the end of the base64"
	}
	return ""
}

func blank(b []byte) bool {
	return len(b) <= limits.CMSPadding && len(bytes.Trim(b, " \t\r\n\x00")) == 0
}

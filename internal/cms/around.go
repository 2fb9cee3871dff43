package cms

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/foreign"
	"rogito.dev/rogito/internal/limits"
)

// After returns what is wrong with the bytes of a binary document after the first length ones, or
// nil. Zeros and line breaks are accepted as padding, in small amounts. Anything else is unsigned,
// and ZIP, PDF and browsers would show it.
func After(src ades.Source, length int64) error {
	rest := src.Size() - length
	if rest <= 0 {
		return nil
	}
	if rest > limits.CMSPadding {
		return finding.CMSBytesAfter.New(rest)
	}
	b := make([]byte, rest)
	if n, _ := src.ReadAt(b, length); int64(n) < rest {
		return finding.CMSDataAfter.New()
	}
	for _, c := range b {
		if c != 0 && c != '\r' && c != '\n' {
			return finding.CMSDataAfter.New()
		}
	}
	return nil
}

// Beside returns what is wrong with the octets of a binary document outside its content, or nil:
// attributes, certificates and revocation lists of unknown kinds can hold any data, and none of it
// is signed. signed are the signed attributes of the only signer, or nil: they may hold the header
// of a message (RFC 5126, 5.10.3), but no PDF and no archive that is found by its end.
func Beside(src, content ades.Source, signed []byte) error {
	var covered []foreign.Span
	if c, ok := content.(*Content); ok {
		covered = c.Spans()
	}
	blank := strings.Repeat("\x00", len(signed))
	if foreign.Outside(src, covered, func(b string) bool {
		without := strings.Replace(b, string(signed), blank, 1)
		return foreign.InBinary(without) || without != b && foreign.In(b)
	}) {
		return finding.HoldsOtherDocument.New()
	}
	return nil
}

// AroundArmour returns what is wrong with a PEM or base64 document outside its armour, or nil. Only
// white space is accepted: no text before or after it, second block, or second value after the
// padding of base64.
func AroundArmour(src ades.Source) error {
	head := make([]byte, min(64, src.Size()))
	if n, _ := src.ReadAt(head, 0); n < len(head) || !looksArmoured(head) || src.Size() > limits.Armour {
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return nil
	}
	for range maxArmour {
		if err := checkArmour(text); err != nil {
			return err
		}
		out, ok := decodeOnce(text)
		if !ok || out[0] == TagSequence {
			return nil
		}
		text = out // armoured twice
	}
	return nil
}

// checkArmour checks one layer of armour.
func checkArmour(text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); bytes.HasPrefix(trimmed, []byte("data:")) {
		text = dataURI(trimmed)
	}
	begin := bytes.Index(text, []byte("-----BEGIN"))
	if begin < 0 {
		if i := bytes.IndexByte(text, '='); i >= 0 && len(bytes.Trim(text[i:], "= \t\r\n")) > 0 {
			return finding.ArmourDataAfter.New()
		}
		return nil
	}
	if !blank(text[:begin]) {
		return finding.ArmourTextAround.New()
	}
	text = text[begin:]
	end := bytes.Index(text, []byte("-----END"))
	if end < 0 {
		return finding.ArmourNoEnd.New()
	}
	label, after, found := bytes.Cut(text[end+len("-----END"):], []byte("-----"))
	if !found || !blank(after) {
		return finding.ArmourTextAround.New()
	}
	if bytes.Count(text, []byte("-----BEGIN")) > 1 {
		return finding.ArmourSecondBlock.New()
	}
	// Inside the block: a label and a header (RFC 1421, 4.6) can hold any text, and some readers
	// decode what follows the padding.
	body := pemBody(text)
	first, _, _ := bytes.Cut(text[len("-----BEGIN"):], []byte("-----"))
	if !armourLabel.Match(first) || !armourLabel.Match(label) || bytes.IndexByte(body, ':') >= 0 {
		return finding.ArmourTextAround.New()
	}
	if i := bytes.IndexByte(body, '='); i >= 0 && len(bytes.Trim(body[i:], "= \t\r\n")) > 0 {
		return finding.ArmourDataAfter.New()
	}
	return nil
}

// armourLabel is what products write: CMS, PKCS7, PKCS #7 SIGNED DATA.
var armourLabel = regexp.MustCompile(`^[A-Z0-9 #]{0,40}$`)

func blank(b []byte) bool {
	return len(b) <= limits.CMSPadding && len(bytes.Trim(b, " \t\r\n\x00")) == 0
}

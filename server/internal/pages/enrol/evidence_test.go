package enrol

import (
	"strings"
	"testing"
	"unicode/utf16"
)

func inUTF16(s string) string {
	var b strings.Builder
	b.WriteString("\xff\xfe")
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

// Nothing that a browser or a program would run is taken for a film or a
// picture, however it begins, and nothing is kept under a name that it chose.
func TestEvidenceIsNoPage(t *testing.T) {
	page := "<html><script>alert(1)</script></html>"
	for name, content := range map[string]string{
		"a page":                   page,
		"with blanks":              "\n\t   " + page,
		"with a byte order mark":   "\xef\xbb\xbf" + page,
		"in UTF-16":                inUTF16(page),
		"behind a NUL":             "\x00" + page,
		"behind a comment":         "<!-- " + strings.Repeat("film ", 300) + "-->" + page,
		"behind a kilobyte":        strings.Repeat("film ", 300) + page,
		"a picture that is a page": `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`,
		"XHTML":                    `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`,
		"an archive of a page":     "From: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related\r\n\r\n",
		"a program":                "MZ\x90\x00",
		"another":                  "\x7fELF\x02",
		"a script":                 "#!/bin/sh\n",
		"an archive":               "PK\x03\x04....",
		"capitals":                 "<HtMl>",
	} {
		for _, field := range []string{"video", "photo", "organization"} {
			if acceptable(field, []byte(content)) {
				t.Errorf("%s is taken as %s", name, field)
			}
		}
	}
	for field, all := range map[string]map[string]string{
		"video": {
			"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00": ".mp4", "\x00\x00\x00\x14ftypqt  ": ".mp4", "\x1a\x45\xdf\xa3\x01\x00\x00\x00": ".webm",
			"RIFF\x00\x00\x00\x00AVI LIST": ".avi", "moving": ".bin", "OggS\x00\x02": ".ogv",
		},
		"photo": {
			"\xff\xd8\xff\xe0\x00\x10JFIF": ".jpeg", "\x89PNG\r\n\x1a\n": ".png", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00": ".heic", "%PDF-1.7": ".pdf",
			"GIF89a<script>alert(1)</script>": ".gif", "still": ".bin",
		},
	} {
		for content, ext := range all {
			if !acceptable(field, []byte(content)) {
				t.Errorf("%q is refused as %s", content, field)
			}
			if got := extension([]byte(content)); got != ext {
				t.Errorf("%q is kept as %s, want %s", content, got, ext)
			}
		}
	}
	if acceptable("video", []byte("\x89PNG\r\n\x1a\n")) || acceptable("photo", []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00")) || acceptable("video", []byte("%PDF-1.7")) {
		t.Error("one thing is taken for another")
	}
}

package enrol

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"unicode/utf16"

	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
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

// What a reviewer could not look at is refused before anybody waits for it.
func TestEvidenceCanBeLookedAt(t *testing.T) {
	p := &Pages{}
	wide := func(w, h int) []byte {
		var b bytes.Buffer
		_ = png.Encode(&b, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White}))
		return b.Bytes()
	}
	for name, one := range map[string]struct {
		field   string
		content []byte
		good    bool
	}{
		"a film":                {"video", filmtest.MP4("vide", 4200), true},
		"a film of a browser":   {"video", filmtest.WebM(30), true},
		"40 bytes":              {"video", append([]byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"), make([]byte, 16)...), false},
		"sound":                 {"video", filmtest.MP4("soun", 4200), false},
		"words":                 {"video", []byte("moving"), false},
		"a picture":             {"photo", filmtest.Photo(), true},
		"a picture that is cut": {"photo", filmtest.Photo()[:300], false},
		"the head of a picture": {"photo", []byte("\x89PNG\r\n\x1a\n"), false},
		"no picture":            {"photo", []byte("still"), false},
		"too many pixels":       {"photo", wide(25_001, 1000), false},
	} {
		err := p.looks(one.field, one.content)(bytes.NewReader(one.content))
		if (err == nil) != one.good || err != nil && (!errors.Is(err, fault.BadField) || look.Sentence(err).Italian == look.Sentence(err).English) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p.looks("photo", []byte("%PDF-1.7")) != nil || p.looks("organization", []byte("x")) != nil {
		t.Error("what only a person can look at is judged")
	}
	for name, want := range map[string]string{"fake.mp4": "fake.mp4", "IMG 1.MOV": "IMG_1.mp4", "": ".mp4", "../../x": ".._.._.mp4"} {
		if got := called(name, ".mp4"); got != want && name != "../../x" || strings.ContainsAny(got, "/\\ ") {
			t.Errorf("%q is called %q", name, got)
		}
	}
}

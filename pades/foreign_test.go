package pades

import (
	"strings"
	"testing"
)

func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"stream\nPK\x05\x06\x00\x00\x00\x00\x01": "ZIP", "PK\x03\x04\x14\x00\x00\x00\x08\x00abcdef": "ZIP", "x<HTML>": "HTML",
		"\n<script src=x>": "HTML", "%PDF-1.4": "PDF", "{\\rtf1": "RTF",
		"PK\x05\x06abcdef": "", "<rdf:RDF>": "", "PK and more": "", "<x:xmpmeta>": "", "%PDF is a format": "",
	} {
		got := ""
		for i := range len(text) - 1 {
			if mayMark(text[i], text[i+1]) && marks.MatchString(text[i:]) {
				if what, ok := markOf([]byte(text[i:])); ok {
					got = what
				}
			}
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

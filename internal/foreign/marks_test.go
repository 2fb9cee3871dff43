package foreign

import (
	"cmp"
	"crypto/rand"
	"strings"
	"testing"
)

func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"stream\nPK\x05\x06\x00\x00\x00\x00\x01": "ZIP", "PK\x03\x04\x14\x00\x00\x00\x08\x00abcdef": "ZIP", "x<HTML>": "HTML",
		"\n<script src=x>": "HTML", "%PDF-1.4": "PDF", "{\\rtf1": "RTF", "<h1>Pay EUR 900 to Mallory": "HTML", "<P class=x>and more text": "HTML",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03": "gzip", "BZh91AY&SY": "bzip2", "ustar\x0000": "tar", "\x01CD001\x01": "ISO 9660",
		"MZ" + strings.Repeat("\x00", 58) + "\x80\x00\x00\x00" + strings.Repeat("x", 64) + "PE\x00\x00": "PE",
		"\x7fELF\x02\x01\x01": "ELF", "%!PS-Adobe-3.0": "PostScript", "7z\xbc\xaf\x27\x1c": "7z", "mime-version": "",
		"PK\x05\x06abcdef": "", "<rdf:RDF>": "", "PK and more": "", "<x:xmpmeta>": "", "%PDF is a format": "", "%!PS-AdobeFont-1.0": "",
		"<x style=a": "HTML", "<x:y \x01 onfocus=a": "HTML", "<x title='" + strings.Repeat("x", 99) + "' onload=a": "HTML",
		"<a \x01" + strings.Repeat("x", 99) + " onload=": "HTML", "<b\nendstream\nendobj\n%" + strings.Repeat("a", 999) + " style=x": "HTML",
		"<b <1 STYLE \n = x": "HTML", "<b x='>'style=x": "HTML", "<b/onbegin=x": "HTML", "(only = 5, restyle=x, /Once, style: none, /OnClick)": "",
		"\x80<p\nendstream\nendobj\n": "", "\x80<Q\r\nendstream\r\nendobj\r\n": "", "\x80<td\rendstream\rendobj ": "",
		"\x80<p\n\nendstream\nendobj\n": "", "\x80<b>\nendstream\nendobj\n": "", "\x80<h1>\nendstream\nendobj\n": "HTML",
		"<p\nendless stream of it": "HTML", "<p>endstream\nendobj\n ": "HTML", "<p\nendstream>Pay EUR 900": "HTML", "<p endstream endobj >": "HTML",
		"<h1\nendstream\nendobj\n>Pay": "HTML", "<title\nendstream\nendobj\n>": "HTML", "<p\nendstream\nendobj\n style=x>": "HTML",
		"<h1>\x80\x81": "", "<dd> is a string of a PDF": "", "<abc0>": "", "MZ is nothing": "", "\x1f\x8b\x08\xff": "", "BZh9": "", "\x7fELF!!!": "",
	} {
		got := ""
		for _, what := range Documents(append([]byte(text), make([]byte, Sight)...), len(text)) {
			got = cmp.Or(got, what)
		}
		if got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Data that are compressed or encrypted hold no document by chance.
func TestMarksInNoise(t *testing.T) {
	b := make([]byte, 16<<20)
	_, _ = rand.Read(b) // never fails
	found := 0
	for range Documents(b, len(b)-Sight) {
		found++
	}
	if found > 1 {
		t.Errorf("%d documents in noise", found)
	}
}

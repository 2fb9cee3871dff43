package cms

import (
	"strings"
	"testing"
)

// TestBeside: in an unsigned attribute, anything that a browser or an archiver would show. Signed
// attributes may describe the content by the header of a message.
func TestBeside(t *testing.T) {
	for text, want := range map[string]bool{
		"<script>document.write(900)</script>": false, "<svg onload=alert(1)>": false, "<x style='position:fixed'>": false, "Rar!\x1a\x07\x00": false,
		"%PDF-1.7": false, "a < b, <o>": true,
	} {
		if err := Beside(strings.NewReader("\x30\x80"+text+"\x00"), nil, nil); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	const hints = "\xa0\x22MIME-Version: 1.0\nContent-Type: text/xml"
	for file, want := range map[string]bool{
		hints: true, hints + hints: false, hints[2:] + hints: false, hints + "<script>": false,
	} {
		if err := Beside(strings.NewReader("\x30\x80"+file+"\x00"), nil, []byte(hints)); (err == nil) != want {
			t.Errorf("signed, %q: %v", file, err)
		}
	}
	if Beside(strings.NewReader("\x30\x80\xa0\x08%PDF-1.7\x00"), nil, []byte("\xa0\x08%PDF-1.7")) == nil {
		t.Error("a PDF in signed attributes")
	}
}

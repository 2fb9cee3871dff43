package cms

import (
	"strings"
	"testing"
)

// TestBeside: in an unsigned attribute, anything that a browser or an archiver would show.
func TestBeside(t *testing.T) {
	for text, want := range map[string]bool{
		"<script>document.write(900)</script>": false, "<svg onload=alert(1)>": false, "<x style='position:fixed'>": false, "Rar!\x1a\x07\x00": false,
		"%PDF-1.7": false, "a < b, <o>": true,
	} {
		if err := Beside(strings.NewReader("\x30\x80"+text+"\x00"), nil); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package audit

import (
	"bytes"
	"strings"
	"testing"
)

// Every text comes back as it was, whatever it looks like.
func FuzzCondense(f *testing.F) {
	for _, text := range []string{
		"", `{"log":"a"}`, `"sha256":"` + strings.Repeat("0a", 32) + `"`, strings.Repeat("f", 17), strings.Repeat("F", 64), strings.Repeat("A", 31), strings.Repeat("A", 33),
		strings.Repeat("A", 34) + "==", strings.Repeat("A", 33) + "B==", strings.Repeat("A", 35) + "=", strings.Repeat("A", 36) + "=", "\xff\x00", "\xfe", strings.Repeat("a", 32) + "=",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = expand(text) // of any content, without an accident
		small, ok := condense(text)
		if marked := bytes.IndexByte(text, 0xfe) >= 0 || bytes.IndexByte(text, 0xff) >= 0; ok == marked {
			t.Fatalf("%q: %v", text, ok)
		}
		if !ok {
			return
		}
		if got, err := expand(small); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q became %q, %v", text, got, err)
		}
		if len(small) > len(text) {
			t.Errorf("%q is longer than %q", small, text)
		}
	})
}

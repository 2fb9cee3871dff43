package upload

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"testing"
)

// A body whose length is known is used where it lies, and means the same as one
// that comes in pieces, whatever the length was said to be.
func TestKnownLengthMeansTheSame(t *testing.T) {
	long := strings.Repeat("QUJD", 30_000)
	doc, err := base64.StdEncoding.DecodeString(long)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"one":     `{"docs":["` + long + `"]}`,
		"several": `{"docs":["` + long + `", "short", "` + long + `"]}`,
		"escaped": `{"docs":["` + long[:80_000] + `\u0051` + long[80_001:] + `"]}`,
		"last":    `["` + long + `"]`,
	} {
		for _, expect := range []int{-1, 1, len(body) - 100_000, len(body) - 1, len(body), len(body) + 1, 2 * len(body), 1 << 20} {
			s := New(t.TempDir(), Limits{})
			s.Expect(int64(expect))
			v, err := s.ReadJSON(strings.NewReader(body))
			if err != nil {
				t.Fatalf("%s, %d: %v", name, expect, err)
			}
			if len(v) > 1000 {
				t.Errorf("%s, %d: %d bytes in the skeleton", name, expect, len(v))
			}
			for i, text := range s.texts {
				src, err := text.Document(0)
				if err != nil {
					t.Fatalf("%s, %d: %v", name, expect, err)
				}
				got, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
				if err != nil || !bytes.Equal(got, doc) {
					t.Errorf("%s, %d: text %d has %d bytes (%v)", name, expect, i, len(got), err)
				}
			}
			if len(s.texts) == 0 {
				t.Errorf("%s, %d: nothing was set aside", name, expect)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := held.Load(); n != 0 {
		t.Errorf("%d bytes are held after all", n)
	}
}

// A body that ends before its length says so.
func TestBodyShorterThanItSays(t *testing.T) {
	s := New(t.TempDir(), Limits{})
	defer s.Close()
	s.Expect(200_000)
	if _, err := s.ReadJSON(strings.NewReader(`{"docs":["` + strings.Repeat("A", 100_000))); err == nil {
		t.Error("half a body was taken")
	}
}

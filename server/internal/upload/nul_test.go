package upload

import (
	"errors"
	"strings"
	"testing"
)

// PostgreSQL keeps no U+0000 in a text: it is refused where it comes in, on
// every engine alike, and what only looks like it is not.
func TestNUL(t *testing.T) {
	for text, refused := range map[string]bool{
		`{"a":"\u0000"}`: true, `{"\u0000":1}`: true, `["x\\\u0000"]`: true, `["\\\\\u0000 "]`: true, `["\\u0000","\u0000"]`: true,
		`{"a":"\\u0000"}`: false, `["\\\\u0000"]`: false, `["u0000"]`: false, `["\u00001"]`: true, `["\u0001"]`: false,
	} {
		s := New(t.TempDir(), Limits{})
		_, err := s.ReadJSON(strings.NewReader(text))
		var no *SyntaxError
		if errors.As(err, &no) != refused {
			t.Errorf("%s: %v", text, err)
		}
		s.Close()
	}
}

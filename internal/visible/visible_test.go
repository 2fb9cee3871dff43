package visible

import (
	"strings"
	"testing"
	"unicode"
)

// harmful are characters that are not seen and do something.
var harmful = []rune{0, 7, 8, '\r', 0x1b, 0x7f, 0x85, 0x9b, 0x9d, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2028, 0x2029, 0x2066, 0x2069, 0x061c}

func TestText(t *testing.T) {
	for _, r := range harmful {
		got := Text("a" + string(r) + "b")
		if strings.ContainsRune(got, r) || !strings.HasPrefix(got, `a\`) || !strings.HasSuffix(got, "b") || Line(got) != got {
			t.Errorf("%U: %q", r, got)
		}
	}
	for in, want := range map[string]string{
		"a\nb\tc\r": `a\nb\tc\r`, "x\u202ey\u200d": `x\u202ey\u200d`, "\xffè": `\xffè`, "\U000e0041": `\U000e0041`, "\u3164": `\u3164`, "città": "città",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, good := range []string{"", "plain", "città\tè\nperché", "漢字", "שלום", "👩\u200d👩"} {
		if got := Text(good); got != good {
			t.Errorf("%q became %q", good, got)
		}
	}
}

func TestName(t *testing.T) {
	for _, r := range append([]rune(`/\:*?"<>|`+"\n\t"), append(harmful, 0xad, 0x200b, 0x200d, 0x2060, 0xfeff, 0xe0041, 0xe000)...) {
		if got := Name("a" + string(r) + "b"); got != "a_b" {
			t.Errorf("%U: %q", r, got)
		}
	}
	for in, want := range map[string]string{
		"contratto è 1": "contratto è 1", " .. ": "", "a. ": "a", "\xff\xfe": "__", strings.Repeat("è", 300): strings.Repeat("è", 100),
	} {
		if got := Name(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestWriter(t *testing.T) {
	text := "a\x1b[31mè\u202e漢\n👍\t"
	for cut := range len(text) {
		var b strings.Builder
		w := Writer(&b)
		for _, part := range []string{text[:cut], text[cut:]} {
			if n, err := w.Write([]byte(part)); err != nil || n != len(part) {
				t.Fatal(n, err)
			}
		}
		if b.String() != Text(text) {
			t.Errorf("cut at %d: %q", cut, b.String())
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Text(s) {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q", s)
			}
		}
		var b strings.Builder
		w := Writer(&b)
		for i := range len(s) {
			_, _ = w.Write([]byte{s[i]})
		}
		if strings.ContainsRune(b.String(), 0x1b) {
			t.Errorf("%q", s)
		}
	})
}

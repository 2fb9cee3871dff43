package jsontree

import (
	"errors"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
)

func TestParseKnowsPlaces(t *testing.T) {
	text := " {\"a\" : [1, true,\"x\\u0041\"] ,\n\"b\":{\"c\":null} } \n"
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := text[v.Start:v.End]; got != strings.TrimSpace(text) {
		t.Errorf("the object is %q", got)
	}
	a := v.Get("a")
	if got := text[a.Start:a.End]; got != `[1, true,"x\u0041"]` {
		t.Errorf("a is %q", got)
	}
	if n, ok := a.Items[0].Integer(); !ok || n != 1 {
		t.Errorf("number %d", n)
	}
	if b, ok := a.Items[1].Bool(); !ok || !b {
		t.Error("boolean")
	}
	if s, ok := a.Items[2].Text(); !ok || s != "xA" {
		t.Errorf("string %q", s)
	}
	if !v.Get("b").Get("c").Is(Null) || v.Get("b").Get("d") != nil || v.Get("x").Get("y") != nil {
		t.Error("members")
	}
	if _, ok := a.Texts(); ok {
		t.Error("an array of several kinds is no list of strings")
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a name twice":            `{"a":1,"a":2}`,
		"a name twice, escaped":   `{"a":1,"\u0061":2}`,
		"a name twice, deep":      `{"x":[{"a":1,"a":2}]}`,
		"two values":              `{} {}`,
		"something behind":        `{}x`,
		"no UTF-8":                "{\"a\":\"\xff\"}",
		"half a surrogate":        `{"a":"\ud800"}`,
		"a byte order mark":       "\xef\xbb\xbf{}",
		"a comment":               `{/**/}`,
		"a comma at the end":      `[1,]`,
		"single quotes":           `{'a':1}`,
		"cut off":                 `{"a":[1,2`,
		"nothing":                 ``,
		"a control character":     "[\"\x01\"]",
		"nested too deep":         strings.Repeat("[", 70) + strings.Repeat("]", 70),
		"a number that is no one": `[01]`,
	} {
		var malformed *ades.MalformedError
		if v, err := Parse([]byte(text)); !errors.As(err, &malformed) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,true,"x\u0041",{"b":null}]}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(v.Written())
		if err != nil || again.Kind != v.Kind || len(again.Members) != len(v.Members) || len(again.Items) != len(v.Items) {
			t.Fatalf("the value as written reads otherwise: %v", err)
		}
	})
}

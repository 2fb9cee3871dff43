package verification

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/report"
)

// texts are strings of all kinds that JSON writes in a way of its own.
var texts = []string{"", "plain", "a \"quoted\" one, long enough for words", `back\slash`, "tab\tnew\nline\rfeed\fbell\b\x00\x1f\x7f", "Žluťoučký kůň, and more of it", "\u2028<&>", "1234567\"", "12345678\\", "1234567\x1f"}

// fill sets every field of a value, or leaves it empty, by chance. It panics for
// a kind that a view never had: then both are to be taught.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[rand.IntN(len(texts))])
	case reflect.Int:
		v.SetInt(rand.Int64N(3) - 1)
	case reflect.Bool:
		v.SetBool(rand.IntN(2) == 0)
	case reflect.Pointer:
		if rand.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth)
		}
	case reflect.Slice:
		n := rand.IntN(3)
		if depth > 3 {
			n = 0
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth)
		}
	default:
		panic(v.Kind().String())
	}
}

// A view writes itself as reflection would, whatever is in it.
func TestViewWritesItself(t *testing.T) {
	for range 500 {
		var view report.View
		fill(reflect.ValueOf(&view).Elem(), 0)
		want, err := json.Marshal(&view, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if got := view.AppendJSON(nil); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
	empty, err := json.Marshal(&report.View{})
	if got := new(report.View).AppendJSON(nil); err != nil || string(got) != string(empty) {
		t.Errorf("an empty one: %s, want %s, %v", got, empty, err)
	}
}

package xmldsig

import (
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/xmldom"
)

func TestBound(t *testing.T) {
	for value, want := range map[string]string{
		"cur:unit": "cur", " cur:unit ": "cur", "a b cur:unit": "cur", "x/cur:unit[alt:y]": "cur alt", "ancestor::cur:unit": "cur", "cur:*": "cur",
		"[cur:unit]": "cur", "2cur:unit": "cur", "cur:unit cur:other": "cur", "unit": "-",
		"acur:unit": "", "cur: unit": "", "cur:": "", "cur": "-", "urn:cur:unit": "", "http://cur": "", "12:30": "", "xml:lang": "", "": "", "two words": "",
	} {
		d, err := xmldom.Parse(`<p:r xmlns:p="urn:p" xmlns="urn:d" xmlns:cur="urn:c" xmlns:alt="urn:a"><p:m>`+value+`</p:m></p:r>`, xmldom.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		look := Lookup{Spend: func(int) bool { return true }}
		m := d.Root().First
		got := look.Bound(m, true)
		if s := strings.Join(slices.Clone(got), " "); s != strings.TrimPrefix(want, "-") || (want == "-") != slices.Contains(got, "") {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
		for method, declared := range map[*Method]bool{
			{}: true, {Exclusive: true}: false, {Exclusive: true, Prefixes: []string{"cur", "alt", ""}}: true,
		} {
			g := &Region{Set: NodeSet{Apex: d.Node}, Method: *method}
			for _, prefix := range got {
				if look.Declared(g, m, prefix) != declared {
					t.Errorf("%q: prefix %q by %+v: declared %v", value, prefix, method, !declared)
				}
			}
		}
		if look.Declared(&Region{Set: NodeSet{Apex: d.Node}, Method: Method{Exclusive: true}}, m, "p") != true {
			t.Errorf("%q: a prefix of a name is not declared", value)
		}
	}
}

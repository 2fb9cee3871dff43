package xmldom

import (
	"strings"
	"testing"
)

// TestReleaseClears has a tree leave nothing behind in memory that is used
// again, whatever ran out first while it was read.
func TestReleaseClears(t *testing.T) {
	for name, doc := range map[string]string{
		"nodes run out":      "<r>" + strings.Repeat("<a/>", 4300) + "</r>",
		"attributes run out": "<r>" + strings.Repeat(`<a b="1" c="2" d="3"/>`, 900) + "</r>",
		"bindings run out":   "<r>" + strings.Repeat(`<a xmlns="urn:x" xmlns:b="urn:y"/>`, 700) + "</r>",
		"nothing runs out":   "<r>" + strings.Repeat(`<a b="1" xmlns="urn:x">t</a>`, 100) + strings.Repeat("<c/>", 500) + "</r>",
		"several memories":   "<r>" + strings.Repeat(`<a b="1">t</a>`, 9000) + "</r>",
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse([]byte(doc), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			kept := d.memory
			if len(kept) == 0 {
				t.Fatal("the document is too small for the test")
			}
			d.Release()
			for i, m := range kept {
				for k := range m.nodes {
					if m.nodes[k] != (Node{}) {
						t.Fatalf("memory %d: node %d is left", i, k)
					}
				}
				for k := range m.extras {
					if m.extras[k].attrs != nil || m.extras[k].bindings != nil {
						t.Fatalf("memory %d: extra %d is left", i, k)
					}
				}
				for k := range m.attrs {
					if m.attrs[k] != (Attr{}) {
						t.Fatalf("memory %d: attribute %d is left", i, k)
					}
				}
				for k := range m.binds {
					if m.binds[k] != (Binding{}) {
						t.Fatalf("memory %d: binding %d is left", i, k)
					}
				}
			}
		})
	}
}

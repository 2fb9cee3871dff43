package policy

import (
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// TestCoverage judges made-up facts: which verdict do valid signatures give
// that cover these parts?
func TestCoverage(t *testing.T) {
	part := func(name string, by ...string) ades.Part {
		return ades.Part{Kind: ades.FilePart, Name: name, CoveredBy: by}
	}
	expected := func(p ades.Part) ades.Part { p.Expected = true; return p }
	sig := func(id string, layer int) *report.Conclusion {
		return &report.Conclusion{ID: id, Layer: layer, Indication: report.TotalPassed, Signature: &ades.Signature{
			ID: id, ValueIntact: ades.Yes, References: []ades.Reference{{Found: true, Intact: ades.Yes}},
		}}
	}
	full := func(c *report.Conclusion) *report.Conclusion { c.Signature.ContentIsWhole = true; return c }
	failed := func(c *report.Conclusion) *report.Conclusion { c.Indication = report.Indeterminate; return c }
	pdf := func(c *report.Conclusion, changes ...ades.Change) *report.Conclusion {
		c.Signature.PDF = &ades.PDFFacts{Changes: changes}
		return c
	}
	layer := func(level int, name string, format ades.Format, parts ...ades.Part) *report.Layer {
		return &report.Layer{Level: level, Name: name, Document: &ades.Document{Format: format, Parts: parts}}
	}
	for _, row := range []struct {
		name      string
		layers    []*report.Layer
		sigs      []*report.Conclusion
		whole     bool // of the first signature
		uncovered int
	}{
		{"all files by one", []*report.Layer{layer(0, "", ades.ASiCE, part("a", "1"), part("b", "1"))}, []*report.Conclusion{full(sig("1", 0))}, true, 0},
		{"all of it, in an element that is not", []*report.Layer{layer(0, "", ades.XAdES, ades.Part{Kind: ades.XMLPart, Name: "/a/b", CoveredBy: []string{"1"}})}, []*report.Conclusion{sig("1", 0)}, false, 0},
		{"all files by two together", []*report.Layer{layer(0, "", ades.ASiCE, part("a", "1"), part("b", "2"))}, []*report.Conclusion{sig("1", 0), sig("2", 0)}, false, 0},
		{"one file by nobody", []*report.Layer{layer(0, "", ades.ASiCE, part("a", "1"), part("b"))}, []*report.Conclusion{sig("1", 0)}, false, 1},
		{"one file by an invalid one", []*report.Layer{layer(0, "", ades.ASiCE, part("a", "1"), part("b", "2"))}, []*report.Conclusion{sig("1", 0), failed(sig("2", 0))}, false, 1},
		{"the expected file", []*report.Layer{layer(0, "", ades.ASiCE, expected(part("a", "1")), part("b"))}, []*report.Conclusion{sig("1", 0)}, false, 0},
		{"another than the expected file", []*report.Layer{layer(0, "", ades.ASiCE, part("a", "1"), expected(part("b")))}, []*report.Conclusion{sig("1", 0)}, false, 1},
		{"a PDF", []*report.Layer{layer(0, "", ades.PAdES)}, []*report.Conclusion{pdf(sig("1", 0), ades.Change{Permitted: true})}, true, 0},
		{"a PDF with another change", []*report.Layer{layer(0, "", ades.PAdES)}, []*report.Conclusion{pdf(sig("1", 0), ades.Change{Unexplained: true})}, false, 1},
		{"a format without parts", []*report.Layer{layer(0, "", ades.XAdES)}, []*report.Conclusion{sig("1", 0)}, false, 1},
		{
			"a container inside a signed file",
			[]*report.Layer{layer(0, "", ades.CAdES, ades.Part{Kind: ades.ContentPart, CoveredBy: []string{"1"}}), layer(1, "", ades.ASiCE, part("a"))},
			[]*report.Conclusion{full(sig("1", 0)), sig("2", 1)},
			true, 0,
		},
		{
			"a container inside a file that is signed invalidly",
			[]*report.Layer{layer(0, "", ades.CAdES, ades.Part{Kind: ades.ContentPart, CoveredBy: []string{"1"}}), layer(1, "", ades.ASiCE, part("a"))},
			[]*report.Conclusion{failed(full(sig("1", 0))), sig("2", 1)},
			true, 2,
		},
		{
			"an archive of signed files",
			[]*report.Layer{layer(0, "", ades.ZIP, part("x"), part("y")), layer(1, "x", ades.PAdES), layer(1, "y", ades.CAdES, ades.Part{Kind: ades.ContentPart, CoveredBy: []string{"2"}})},
			[]*report.Conclusion{pdf(sig("1", 1)), sig("2", 2)},
			true, 0,
		},
		{
			"an archive with an unsigned file",
			[]*report.Layer{layer(0, "", ades.ZIP, part("x"), part("y")), layer(1, "x", ades.PAdES)},
			[]*report.Conclusion{pdf(sig("1", 1))},
			true, 1,
		},
	} {
		out := &report.Conclusions{Signatures: row.sigs}
		coverage(&report.Facts{Layers: row.layers}, Default(), out)
		if got := row.sigs[0].CoversWhole; got != row.whole {
			t.Errorf("%s: covers the whole document %v, want %v", row.name, got, row.whole)
		}
		if len(out.Uncovered) != row.uncovered {
			t.Errorf("%s: uncovered %q, want %d", row.name, out.Uncovered, row.uncovered)
		}
	}
}

// TestPartial: what is left uncovered lowers the verdict of the document.
func TestPartial(t *testing.T) {
	facts := &report.Facts{Layers: []*report.Layer{{Document: &ades.Document{Format: ades.TST}}}}
	if c := Judge(facts, Default(), time.Now()); c.Indication != report.Indeterminate || c.Partial || c.TimestampsVerified {
		t.Errorf("nothing signed: %+v", c)
	}
}

// TestCoverageOfOneName: archives inside one another, each with many entries of one name, are
// judged once each. Judging the inner one for each entry would take 100^15 steps.
func TestCoverageOfOneName(t *testing.T) {
	facts := new(report.Facts)
	for level := range 16 {
		parts := make([]ades.Part, 100)
		for i := range parts {
			parts[i] = ades.Part{Kind: ades.FilePart, Name: "a"}
		}
		facts.Layers = append(facts.Layers, &report.Layer{Level: level, Name: "a", Document: &ades.Document{Format: ades.ZIP, Parts: parts}})
	}
	facts.Layers[0].Name = ""
	out := new(report.Conclusions)
	coverage(facts, Default(), out)
	if len(out.Uncovered) != 1600 {
		t.Errorf("%d files are uncovered, not 1600", len(out.Uncovered))
	}
}

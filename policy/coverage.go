package policy

import (
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// coverage decides, for every signature, which parts of its document it covers, and notes what the
// valid signatures together leave uncovered. If the caller expects a certain part, only that part
// counts.
//
// Layers are nested. What a valid signature of an outer layer covers is covered with everything
// inside it; a plain archive or message is covered by the signatures of the files inside it.
func coverage(facts *report.Facts, p *Policy, out *report.Conclusions) {
	t := &tree{facts: facts, policy: p, of: make([][]*report.Conclusion, len(facts.Layers)), passed: map[string]bool{}, splits: make([]*division, len(facts.Layers))}
	for _, c := range out.Signatures {
		t.of[c.Layer] = append(t.of[c.Layer], c)
		if c.Indication == report.TotalPassed {
			t.passed[t.key(c.Layer, c.ID)] = true
		}
	}
	for i, list := range t.of {
		if len(list) > 0 {
			cover(list, facts.Layers[i].Document)
		}
	}
	for i, l := range facts.Layers {
		if l.Document == nil {
			continue
		}
		if len(t.of[i]) == 0 && !bundle(l.Document) {
			continue // only time-stamps, or broken: never valid
		}
		parts := t.split(i)
		if l.Level == 0 {
			out.SignedFiles, out.UnsignedFiles = files(parts.signed), files(parts.unsigned)
		}
		if t.enclosed(i) {
			continue
		}
		for _, part := range parts.unsigned {
			out.Uncovered = append(out.Uncovered, describePart(l, part))
		}
	}
}

// cover records what each signature of a document covers, whether or not it is valid.
func cover(list []*report.Conclusion, d *ades.Document) {
	parts := make(map[string][]int, len(list)) // by the covering signature
	for i, p := range d.Parts {
		for _, id := range p.CoveredBy {
			if mine := parts[id]; len(mine) == 0 || mine[len(mine)-1] != i {
				parts[id] = append(mine, i)
			}
		}
	}
	for _, c := range list {
		s := c.Signature
		intact := s.Intact() == ades.Yes && !ades.Fatal(s.Problems)
		mine := parts[s.ID]
		if !intact {
			mine = nil
		}
		switch {
		case s.PDF != nil:
			c.CoversWhole = intact && onlyPermitted(s.PDF.Changes)
		case len(d.Parts) == 0: // its reader does not distinguish parts
			c.CoversWhole = intact && s.ContentIsWhole
		default:
			c.CoversWhole = len(mine) == len(d.Parts) && s.ContentIsWhole
		}
		for i, p := range d.Parts {
			covered := len(mine) > 0 && mine[0] == i
			if covered {
				mine = mine[1:]
			}
			switch {
			case p.Kind == ades.FilePart && covered:
				c.SignedFiles = append(c.SignedFiles, p.Name)
			case p.Kind == ades.FilePart:
				c.UnsignedFiles = append(c.UnsignedFiles, p.Name)
			case p.Kind == ades.XMLPart && covered && !p.Expected && !within(p.Name, c.SignedElements):
				c.SignedElements = append(c.SignedElements, p.Name)
			}
		}
	}
}

// within reports whether an XPath leads to something inside a listed element.
func within(path string, listed []string) bool {
	return slices.ContainsFunc(listed, func(l string) bool { return strings.HasPrefix(path, l+"/") })
}

func onlyPermitted(changes []ades.Change) bool {
	return !slices.ContainsFunc(changes, func(c ades.Change) bool { return !c.Permitted })
}

func files(parts []ades.Part) []string {
	var out []string
	for _, p := range parts {
		if p.Kind == ades.FilePart {
			out = append(out, p.Name)
		}
	}
	return out
}

// describePart names an uncovered part; "" is the document itself.
func describePart(l *report.Layer, p ades.Part) string {
	return strings.TrimPrefix(l.Name+"/"+p.Name, "/")
}

// tree is the nesting of layers with the conclusions on their signatures.
type tree struct {
	facts  *report.Facts
	policy *Policy
	of     [][]*report.Conclusion // by layer
	passed map[string]bool        // valid signatures, by key
	splits []*division            // by layer, once known
}

// division is which relevant parts of a layer valid signatures cover, and which they do not.
type division struct{ signed, unsigned []ades.Part }

func (t *tree) key(layer int, id string) string { return strconv.Itoa(layer) + " " + id }

// split divides the relevant parts of a layer. It does so once: an archive may have many entries of
// one name, and so may the archive behind that name.
func (t *tree) split(i int) *division {
	if t.splits[i] != nil {
		return t.splits[i]
	}
	in := new(division)
	t.splits[i] = in
	d := t.facts.Layers[i].Document
	expected := slices.ContainsFunc(d.Parts, func(p ades.Part) bool { return p.Expected })
	for _, p := range d.Parts {
		switch {
		case expected && !p.Expected:
		case t.covered(i, p):
			in.signed = append(in.signed, p)
		default:
			in.unsigned = append(in.unsigned, p)
		}
	}
	if len(d.Parts) == 0 && !t.whole(i) {
		in.unsigned = append(in.unsigned, ades.Part{})
	}
	return in
}

// covered reports whether a valid signature of the layer covers the part; in a plain archive,
// whether the signatures of the file itself do.
func (t *tree) covered(i int, p ades.Part) bool {
	l := t.facts.Layers[i]
	if bundle(l.Document) {
		for k := i + 1; k < len(t.facts.Layers) && t.facts.Layers[k].Level > l.Level; k++ {
			if in := t.facts.Layers[k]; in.Level == l.Level+1 && in.Name == p.Name && in.Document != nil {
				return (len(t.of[k]) > 0 || bundle(in.Document)) && len(t.split(k).unsigned) == 0
			}
		}
		return false
	}
	return slices.ContainsFunc(p.CoveredBy, func(id string) bool { return t.passed[t.key(i, id)] })
}

// bundle reports whether the document holds others with their own signatures: a plain archive, or
// an unsigned message.
func bundle(d *ades.Document) bool { return d.Format == ades.ZIP || d.Format == ades.Mail }

// whole is for documents without parts: a PDF, where changes after signing count instead, and
// documents whose reader does not distinguish parts.
func (t *tree) whole(i int) bool {
	for _, c := range t.of[i] {
		tolerated := c.Signature.PDF != nil && t.policy.PDF.Changes == "warn"
		if c.Indication == report.TotalPassed && (c.CoversWhole || tolerated) {
			return true
		}
	}
	return bundle(t.facts.Layers[i].Document) // an empty bundle
}

// enclosed reports whether the layer is inside content that valid signatures of outer layers cover.
func (t *tree) enclosed(i int) bool {
	level := t.facts.Layers[i].Level
	name := t.facts.Layers[i].Name
	for k := i - 1; k >= 0 && level > 0; k-- {
		l := t.facts.Layers[k]
		if l.Level >= level {
			continue
		}
		level = l.Level
		if l.Document == nil || bundle(l.Document) {
			name = l.Name
			continue
		}
		for _, p := range l.Document.Parts {
			if (p.Name == name || p.Kind == ades.ContentPart) && t.covered(k, p) {
				return true
			}
		}
		name = l.Name
	}
	return false
}

package corpus

import (
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
)

// Verdict is DSS's verdict on a case, offline and without anchors.
type Verdict struct {
	ID         string
	Count      int
	Exception  *string
	Signatures []struct {
		Level, Indication, SubIndication string
		Intact                           *bool
	}
}

// DSS are the verdicts of DSS by the id of the case.
func DSS(t testing.TB) map[string]Verdict {
	t.Helper()
	out := map[string]Verdict{}
	for _, v := range Lines[Verdict](t, "dss.jsonl") {
		out[v.ID] = v
	}
	return out
}

// Integrity sums up in the words of the manifest what DSS says.
func (v Verdict) Integrity() string {
	var sum Sum
	for _, s := range v.Signatures {
		intact := ades.Unknown
		if s.Intact != nil {
			intact = ades.TriOf(*s.Intact)
		}
		sum.Add(intact)
	}
	return sum.String()
}

// Sum counts signatures by their integrity.
type Sum struct{ Yes, No, Unknown int }

// Add counts one signature.
func (s *Sum) Add(intact ades.Tri) {
	switch intact {
	case ades.Yes:
		s.Yes++
	case ades.No:
		s.No++
	default:
		s.Unknown++
	}
}

// Count of all signatures.
func (s *Sum) Count() int { return s.Yes + s.No + s.Unknown }

// String is the manifest's word: "intact", "broken", "mixed", "undetermined"
// or "no-signature".
func (s *Sum) String() string {
	switch {
	case s.Count() == 0:
		return "no-signature"
	case s.Yes == s.Count():
		return "intact"
	case s.Yes > 0:
		return "mixed"
	case s.No > 0:
		return "broken"
	}
	return "undetermined"
}

// Integrity sums up what a reader said: signatures and counter-signatures, and
// "refuse" where it gave an error. Form does not matter here: see [Deformed].
func Integrity(doc *ades.Document, err error) (string, int) {
	if err != nil {
		return "refuse", 0
	}
	var sum Sum
	walk(doc.Signatures, func(s *ades.Signature) { sum.Add(s.Intact()) })
	return sum.String(), sum.Count()
}

// Deformed reports whether the form of a signature is broken: it is not valid,
// whatever its arithmetic.
func Deformed(doc *ades.Document) bool {
	found := false
	walk(doc.Signatures, func(s *ades.Signature) {
		for _, p := range s.Problems {
			found = found || p.Fatal
		}
	})
	return found
}

func walk(list []*ades.Signature, f func(*ades.Signature)) {
	for _, s := range list {
		f(s)
		walk(s.CounterSignatures, f)
	}
}

// Same compares words for integrity. Data that is missing makes a signature
// undetermined with us and with DSS, broken in the manifest; a document that
// is refused is neither: none of them is ever valid.
func Same(got, want string) bool {
	notIntact := func(s string) bool { return s == "broken" || s == "undetermined" || s == "refuse" }
	return got == want || notIntact(got) && notIntact(want)
}

// Describe says what is wrong in a document, without names of people.
func Describe(doc *ades.Document, err error) string {
	if err != nil {
		return err.Error()
	}
	var out []string
	walk(doc.Signatures, func(s *ades.Signature) {
		for _, p := range s.Problems {
			out = append(out, p.Where+": "+p.Text)
		}
		for _, ref := range s.References {
			if ref.Intact != ades.Yes {
				out = append(out, ref.Kind+" "+ref.URI+" "+ref.Detail)
			}
		}
		if s.ValueIntact != ades.Yes {
			out = append(out, "value not intact")
		}
	})
	return strings.Join(out, "; ")
}

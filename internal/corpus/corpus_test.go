package corpus

import (
	"testing"

	"rogito.dev/rogito/ades"
)

func TestWords(t *testing.T) {
	for _, row := range []struct {
		sum  Sum
		want string
	}{
		{Sum{}, "no-signature"},
		{Sum{Yes: 2}, "intact"},
		{Sum{Yes: 1, No: 1}, "mixed"},
		{Sum{Yes: 1, Unknown: 1}, "mixed"},
		{Sum{No: 1, Unknown: 1}, "broken"},
		{Sum{Unknown: 1}, "undetermined"},
	} {
		if got := row.sum.String(); got != row.want {
			t.Errorf("%+v is %s, want %s", row.sum, got, row.want)
		}
	}
	if Same("intact", "broken") || Same("mixed", "broken") || !Same("refuse", "undetermined") {
		t.Error("what is intact is like nothing else, what is not valid is alike")
	}
}

// TestCounters: counter-signatures count, in number, verdict and form.
func TestCounters(t *testing.T) {
	counter := &ades.Signature{ValueIntact: ades.No, Problems: []ades.Problem{{Fatal: true}}}
	doc := &ades.Document{Signatures: []*ades.Signature{{
		ValueIntact: ades.Yes, References: []ades.Reference{{Intact: ades.Yes}}, CounterSignatures: []*ades.Signature{counter},
	}}}
	if got, n := Integrity(doc, nil); got != "mixed" || n != 2 || !Deformed(doc) {
		t.Errorf("%s of %d, deformed %v", got, n, Deformed(doc))
	}
}

// TestWhole: the lists are read whole, and lead to files.
func TestWhole(t *testing.T) {
	for name, list := range map[string][]Case{"manifest": Manifest(t), "mutations": Mutations(t), "attacks": Attacks(t)} {
		if len(list) < 50 {
			t.Errorf("%s: %d cases", name, len(list))
		}
		for _, c := range list {
			if len(c.Bytes(t)) == 0 && c.Expect.Integrity != "refuse" {
				t.Errorf("%s is empty", c.ID)
			}
			c.Reading(t)
		}
	}
	if n := len(DSS(t)); n < 300 {
		t.Errorf("%d verdicts of DSS", n)
	}
}

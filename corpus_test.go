package rogito_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

var corpusNow = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// verifyCase verifies a case of the corpus; none may take long.
func verifyCase(t testing.TB, c corpus.Case, v *rogito.Verifier, o rogito.VerifyOptions) (*report.View, *report.Report, error) {
	t.Helper()
	in, src := c.Reading(t), c.Source(t)
	o.Detached, o.Password = in.Detached, in.Password
	if v.Now == nil {
		v.Now = func() time.Time { return corpusNow }
	}
	start := yardstick.Processor()
	r, err := v.Verify(t.Context(), src, o)
	if d := yardstick.Processor() - start; d > time.Second && d > 5*yardstick.Second() {
		t.Errorf("%s took %v", c.ID, d)
	}
	if err != nil {
		return nil, nil, err
	}
	view, err := r.View(false, "en")
	return view, r, err
}

// all lists the signatures of a layer with their counter-signatures.
func all(list []report.SignatureView, level int) []report.SignatureView {
	var out []report.SignatureView
	for _, s := range list {
		if s.Level == level {
			out = append(append(out, s), all(s.CounterSignatures, level)...)
		}
	}
	return out
}

// integrity is the manifest's word for what we found.
func integrity(sigs []report.SignatureView) string {
	var sum corpus.Sum
	for _, s := range sigs {
		switch {
		case s.Integrity:
			sum.Add(ades.Yes)
		case s.Indication == report.Indeterminate:
			sum.Add(ades.Unknown)
		default:
			sum.Add(ades.No)
		}
	}
	return sum.String()
}

// tally counts agreement by format.
type tally map[string]*[2]int

func (t tally) add(key string, ok bool) {
	if t[key] == nil {
		t[key] = new([2]int)
	}
	t[key][1]++
	if ok {
		t[key][0]++
	}
}

func (t tally) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	keys := make([]string, 0, len(t))
	for k := range t {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(w, "%s\t%d of %d\t%.1f %%\n", k, t[k][0], t[k][1], 100*float64(t[k][0])/float64(t[k][1]))
	}
	w.Flush()
	return b.String()
}

func (t tally) share(key string) float64 { return float64(t[key][0]) / float64(t[key][1]) }

// same takes the words of two judges as one where they only differ in how a
// missing file or a refused document is called: neither is ever valid.
func same(want, got string) bool {
	switch want {
	case "refuse":
		return got != "intact"
	case "broken":
		return got == "broken" || got == "undetermined"
	}
	return want == got
}

func TestCorpusManifest(t *testing.T) {
	dss := corpus.DSS(t)
	byFormat, byAgreement, counts, levels := tally{}, tally{}, tally{}, tally{}
	for _, c := range corpus.Manifest(t) {
		view, _, err := verifyCase(t, c, new(rogito.Verifier), rogito.VerifyOptions{})
		if err != nil {
			t.Errorf("%s: no report: %v", c.ID, err)
			continue
		}
		sigs := all(view.Signatures, 0)
		got := integrity(sigs)
		d := dss[c.ID]
		ok := same(c.Expect.Integrity, got) || (c.Agreement == "oracle" || c.Agreement == "contested") && d.Integrity() == got
		countOK := c.Expect.Signatures == nil || *c.Expect.Signatures == len(sigs) ||
			(c.Agreement == "oracle" || c.Agreement == "contested") && d.Count == len(sigs)
		if reason := divergences[c.ID]; reason != "" {
			if ok && countOK {
				t.Errorf("%s: no divergence any more, take it off the list", c.ID)
			}
			ok = true // told and counted in docs/divergences.md
		} else if c.Agreement != "oracle" && c.Agreement != "contested" && !(ok && countOK) {
			t.Errorf("%s (%s): we say %s of %d signatures, the manifest %s of %d, DSS %s; %s", c.ID, c.Agreement, got, len(sigs), c.Expect.Integrity, *c.Expect.Signatures, d.Integrity(), why(view))
		} else if !(ok && countOK) {
			t.Logf("%s (%s): we say %s of %d signatures, the manifest %s of %d, DSS %s; %s", c.ID, c.Agreement, got, len(sigs), c.Expect.Integrity, *c.Expect.Signatures, d.Integrity(), why(view))
		}
		byFormat.add(c.Format, ok)
		byAgreement.add(c.Agreement, ok)
		counts.add(c.Agreement, countOK)
		if view.OverallVerified {
			t.Errorf("%s: valid although nobody is trusted", c.ID)
		}
		compareLevels(t, c, sigs, d, levels)
	}
	t.Logf("integrity by format\n%s", byFormat)
	t.Logf("integrity by kind of agreement\n%s", byAgreement)
	t.Logf("number of signatures\n%s", counts)
	t.Logf("levels\n%s", levels)
	if byAgreement.share("oracle") < 0.98 || counts.share("oracle") < 0.98 {
		t.Error("less than 98 % of the cases with an oracle")
	}
}

func why(v *report.View) string {
	for _, s := range v.Signatures {
		if len(s.Errors) > 0 {
			return strings.Join(s.Errors, " ")[:min(160, len(strings.Join(s.Errors, " ")))]
		}
	}
	return ""
}

// compareLevels compares with the asserted level, or with that of DSS where
// none is.
func compareLevels(t *testing.T, c corpus.Case, sigs []report.SignatureView, d corpus.Verdict, levels tally) {
	for i, s := range sigs {
		want := c.Expect.Level
		if i == 0 && c.Expect.LevelOfFirst != "" {
			want = c.Expect.LevelOfFirst
		}
		if l, ok := c.Expect.LevelsByIndex[fmt.Sprint(i)]; ok {
			want = l
		}
		theirs := ""
		if len(d.Signatures) == len(sigs) {
			theirs = d.Signatures[i].Level
		}
		if want == "" && theirs == "" {
			continue
		}
		got := ""
		if s.SignatureLevel != nil {
			got = *s.SignatureLevel
		}
		ok := got == spell(want) || got == theirs
		levels.add("all", ok)
		if want != "" {
			levels.add("asserted", got == spell(want))
			if got != spell(want) {
				t.Logf("asserted level of %s #%d: we say %s, the manifest %s, DSS %s", c.ID, i, got, want, theirs)
			}
		}
		levels.add(c.Format, ok)
		if ok == (levelDivergences[c.ID] != "") {
			t.Errorf("level of %s #%d: we say %s, the manifest %s, DSS %s", c.ID, i, got, want, theirs)
		}
	}
}

func spell(level string) string { return strings.ReplaceAll(level, "_", "-") }

func TestCorpusMutations(t *testing.T) {
	n := 0
	for _, c := range corpus.Mutations(t) {
		n++
		view, _, err := verifyCase(t, c, new(rogito.Verifier), rogito.VerifyOptions{})
		if err != nil {
			continue // no report at all is no "valid"
		}
		if got := integrity(all(view.Signatures, 0)); got == "intact" && !tampered(view) {
			t.Errorf("%s: a changed byte goes unnoticed (%s)", c.ID, got)
		}
	}
	t.Logf("%d mutations", n)
	if n == 0 {
		t.Error("no mutation ran")
	}
}

// tampered: arithmetic holds, but the verdict already says that it is not the
// document that was signed.
func tampered(v *report.View) bool { return v.Indication == report.TotalFailed }

// TestCorpusAttacks trusts every signer of the attack files, so that only the
// attack itself can be the reason for not saying valid.
func TestCorpusAttacks(t *testing.T) {
	byClass := tally{}
	for _, c := range corpus.Attacks(t) {
		view, _, err := verifyCase(t, c, trusting(t, c), rogito.VerifyOptions{})
		if err != nil {
			t.Logf("%s: no report: %v", c.ID, err)
			byClass.add(c.Class, true)
			continue
		}
		ok := true
		switch {
		case c.Refused():
			ok = !view.OverallVerified
		case c.Control && c.Expect.Valid != nil:
			ok = integrity(all(view.Signatures, 0)) == "intact"
		case c.Expect.Scope != "" && view.OverallVerified:
			ok = scoped(view)
		}
		if reason := divergences[c.ID]; reason != "" && !view.OverallVerified {
			if ok {
				t.Errorf("%s: no divergence any more, take it off the list", c.ID)
			}
			ok = true
		}
		if !ok {
			t.Errorf("%s (%s, control %v): valid %v, %s, %s", c.ID, c.Class, c.Control, view.OverallVerified, integrity(all(view.Signatures, 0)), why(view))
		}
		byClass.add(c.Class, ok)
	}
	t.Logf("attacks\n%s", byClass)
}

// scoped: the report says that not all of what is shown is signed.
func scoped(v *report.View) bool {
	for _, s := range v.Signatures {
		if !s.CoversWhole || len(s.Warnings) > 0 || len(s.Changes) > 0 {
			return true
		}
	}
	return len(v.Notes) > 0
}

// trusting is a verifier that trusts the signer of the file, whoever it is.
func trusting(t testing.TB, c corpus.Case) *rogito.Verifier {
	store := new(trust.Store)
	v := &rogito.Verifier{Trust: store}
	view, r, err := verifyCase(t, c, new(rogito.Verifier), rogito.VerifyOptions{})
	if err != nil || view == nil {
		return v
	}
	for _, s := range r.Conclusions.Signatures {
		if s.Signature.SigningCertificate != nil {
			if err := store.AddAnchor(s.Signature.SigningCertificate); err != nil {
				t.Logf("%s: %v", c.ID, err)
			}
		}
	}
	return v
}

// TestCorpusNested opens layers inside layers.
func TestCorpusNested(t *testing.T) {
	for _, c := range corpus.Manifest(t) {
		if len(c.Expect.Nested) == 0 {
			continue
		}
		view, r, err := verifyCase(t, c, new(rogito.Verifier), rogito.VerifyOptions{Recursive: true})
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		for i, want := range c.Expect.Nested {
			sigs := all(view.Signatures, i)
			if got := integrity(sigs); got != want.Integrity || len(sigs) != want.Signatures || string(r.Facts.Layers[i].Document.Format) != want.Format {
				t.Errorf("%s layer %d: %s of %d, want %+v", c.ID, i, got, len(sigs), want)
			}
		}
	}
}

// TestCorpusNeverValid trusts every signer: what may not be reported valid is
// not, for a reason other than trust.
func TestCorpusNeverValid(t *testing.T) {
	n := 0
	for _, c := range corpus.Manifest(t) {
		if !c.Refused() {
			continue
		}
		n++
		view, _, err := verifyCase(t, c, trusting(t, c), rogito.VerifyOptions{Recursive: len(c.Expect.Nested) > 0})
		if err == nil && view.OverallVerified {
			t.Errorf("%s is reported valid: %s", c.ID, c.Note)
		}
	}
	if n == 0 {
		t.Error("no case ran")
	}
}

// TestCorpusReports compares the verdicts that tests of others state with
// anchors of their own. Those given for trusted lists that are not here can
// only be compared where they are failures of the signature itself.
func TestCorpusReports(t *testing.T) {
	agree := tally{}
	for _, c := range corpus.Manifest(t) {
		for _, want := range c.Expect.Reports {
			if want.TrustAnchors == nil && want.Sub != "HASH_FAILURE" && want.Sub != "SIG_CRYPTO_FAILURE" && want.Sub != "SIGNED_DATA_NOT_FOUND" {
				continue
			}
			store := new(trust.Store)
			if want.TrustAnchors != nil {
				for _, file := range *want.TrustAnchors {
					if err := store.AddAnchors(corpus.Read(t, file)); err != nil {
						t.Fatal(err)
					}
				}
			}
			view, _, err := verifyCase(t, c, &rogito.Verifier{Trust: store}, rogito.VerifyOptions{At: want.Time})
			if err != nil {
				t.Errorf("%s: %v", c.ID, err)
				continue
			}
			i := 0
			if n, ok := want.Of.(float64); ok {
				i = int(n)
			}
			sigs := all(view.Signatures, 0)
			if i >= len(sigs) {
				t.Errorf("%s: no signature %d", c.ID, i)
				continue
			}
			s := sigs[i]
			got := ""
			if s.SubIndication != nil {
				got = *s.SubIndication
			}
			ok := string(s.Indication) == want.Indication && (want.Sub == "" || got == want.Sub)
			agree.add("reports", ok)
			if !ok {
				t.Logf("%s #%d at %v: %s %s, want %s %s %s; %v", c.ID, i, want.Time, s.Indication, got, want.Indication, want.Sub, want.Context, s.Errors)
			}
		}
	}
	t.Logf("verdicts stated by others\n%s", agree)
}

// divergences are the cases where we depart from manifest and DSS alike, with
// the reason; docs/divergences.md tells more.
var divergences = map[string]string{
	"dd4j-asic-e-xades-b0aad466": "the signature names a file in a folder that the container does not have",
	"signxml-xmldsig-7d2b412c":   "the certificate is named by its digest only and is not in the file: the value cannot be checked",
}

// levelDivergences are the cases whose level we name otherwise.
var levelDivergences = map[string]string{
	"dd4j-asic-e-xades-a46ec108": "DSS cannot read the signer's key, and so finds no certificate in KeyInfo",
	"siva-asic-e-xades-fefb0be5": "the same key",
	"dss-asic-e-xades-59504e41":  "no reference covers the SignedProperties, which DSS finds by their place",
}

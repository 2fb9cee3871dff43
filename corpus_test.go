package rogito_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

// corpus finds the given data, which is not part of the module.
func corpus(t testing.TB) string {
	t.Helper()
	root := os.Getenv("ROGITO_SHARED")
	if root == "" {
		root = filepath.Join("..", "shared")
	}
	dir := filepath.Join(root, "corpus")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED: the corpus is not there: %v", err)
	}
	return dir
}

type corpusInput struct{ File, Name string }

type corpusCase struct {
	ID     string
	File   string
	Format string
	Inputs struct {
		Detached []corpusInput
		Password string
	}
	Agreement string
	Note      string
	Class     string
	Control   bool
	Edit      *struct {
		Offset   int
		Old, New byte
	}
	Expect struct {
		Integrity     string
		Signatures    *int
		MayBeValid    *bool `json:"may_be_reported_valid"`
		Scope         string
		Level         string
		LevelOfFirst  string            `json:"level_of_first"`
		LevelsByIndex map[string]string `json:"levels_by_index"`
		Nested        []struct {
			Format, Integrity string
			Signatures        int
		}
		Reports []struct {
			Of           any
			Indication   string
			Sub          string    `json:"sub_indication"`
			TrustAnchors *[]string `json:"trust_anchors"`
			Time         time.Time `json:"validation_time"`
			Context      string
		}
	}
}

type dssCase struct {
	ID         string
	Count      int
	Exception  *string
	Signatures []struct {
		Level, Indication, SubIndication string
		Intact                           *bool
	}
}

func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 8<<20)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

var corpusNow = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func (c *corpusCase) verify(t testing.TB, dir string, v *rogito.Verifier, o rogito.Verification) (*report.View, *report.Report, error) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, c.File))
	if err != nil {
		t.Fatal(err)
	}
	if c.Edit != nil {
		if b[c.Edit.Offset] != c.Edit.Old {
			t.Fatalf("%s: the file is not the one the mutation is for", c.ID)
		}
		b[c.Edit.Offset] = c.Edit.New
	}
	for _, d := range c.Inputs.Detached {
		content, err := os.ReadFile(filepath.Join(dir, d.File))
		if err != nil {
			t.Fatal(err)
		}
		o.Detached = append(o.Detached, ades.File{Name: d.Name, Source: bytes.NewReader(content)})
	}
	o.Password = c.Inputs.Password
	if v.Now == nil {
		v.Now = func() time.Time { return corpusNow }
	}
	start := time.Now()
	r, err := v.Verify(context.Background(), bytes.NewReader(b), o)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("%s took %v", c.ID, d)
	}
	if err != nil {
		return nil, nil, err
	}
	view, err := r.View(false)
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
	yes, no, unknown := 0, 0, 0
	for _, s := range sigs {
		switch {
		case s.Integrity:
			yes++
		case s.Indication == report.Indeterminate:
			unknown++
		default:
			no++
		}
	}
	switch {
	case len(sigs) == 0:
		return "no-signature"
	case yes == len(sigs):
		return "intact"
	case yes > 0:
		return "mixed"
	case no > 0:
		return "broken"
	}
	return "undetermined"
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

func dssVerdicts(t testing.TB, dir string) map[string]dssCase {
	out := map[string]dssCase{}
	for _, d := range lines[dssCase](t, filepath.Join(dir, "dss.jsonl")) {
		out[d.ID] = d
	}
	return out
}

func dssIntegrity(d dssCase) string {
	var sigs []report.SignatureView
	for _, s := range d.Signatures {
		v := report.SignatureView{Indication: report.TotalFailed}
		if s.Intact == nil {
			v.Indication = report.Indeterminate
		} else {
			v.Integrity = *s.Intact
		}
		sigs = append(sigs, v)
	}
	return integrity(sigs)
}

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
	dir := corpus(t)
	dss := dssVerdicts(t, dir)
	byFormat, byAgreement, counts, levels := tally{}, tally{}, tally{}, tally{}
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl")) {
		view, _, err := c.verify(t, dir, new(rogito.Verifier), rogito.Verification{})
		if err != nil {
			t.Errorf("%s: no report: %v", c.ID, err)
			continue
		}
		sigs := all(view.Signatures, 0)
		got := integrity(sigs)
		d := dss[c.ID]
		ok := same(c.Expect.Integrity, got) || (c.Agreement == "oracle" || c.Agreement == "contested") && dssIntegrity(d) == got
		countOK := c.Expect.Signatures == nil || *c.Expect.Signatures == len(sigs) ||
			(c.Agreement == "oracle" || c.Agreement == "contested") && d.Count == len(sigs)
		if reason := divergences[c.ID]; reason != "" {
			if ok && countOK {
				t.Errorf("%s: no divergence any more, take it off the list", c.ID)
			}
		} else if c.Agreement != "oracle" && c.Agreement != "contested" && !(ok && countOK) {
			t.Errorf("%s (%s): we say %s of %d signatures, the manifest %s of %d, DSS %s; %s", c.ID, c.Agreement, got, len(sigs), c.Expect.Integrity, *c.Expect.Signatures, dssIntegrity(d), why(view))
		} else if !(ok && countOK) {
			t.Logf("%s (%s): we say %s of %d signatures, the manifest %s of %d, DSS %s; %s", c.ID, c.Agreement, got, len(sigs), c.Expect.Integrity, *c.Expect.Signatures, dssIntegrity(d), why(view))
		}
		byFormat.add(c.Format, ok)
		byAgreement.add(c.Agreement, ok)
		counts.add(c.Agreement, countOK)
		if view.OverallVerified {
			t.Errorf("%s: valid although nobody is trusted", c.ID)
		}
		c.level(t, sigs, d, levels)
	}
	t.Logf("integrity by format\n%s", byFormat)
	t.Logf("integrity by kind of agreement\n%s", byAgreement)
	t.Logf("number of signatures\n%s", counts)
	t.Logf("levels\n%s", levels)
	if byAgreement.share("oracle") < 0.98 || counts.share("oracle") < 0.98 {
		t.Error("less than 98 % of the cases with an oracle")
	}
	if levels.share("all") < 0.97 {
		t.Error("less than 97 % of the levels")
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

// level compares with the asserted level, or with that of DSS where none is.
func (c *corpusCase) level(t *testing.T, sigs []report.SignatureView, d dssCase, levels tally) {
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
		if !ok {
			t.Logf("level of %s #%d: we say %s, the manifest %s, DSS %s", c.ID, i, got, want, theirs)
		}
	}
}

func spell(level string) string { return strings.ReplaceAll(level, "_", "-") }

func TestCorpusMutations(t *testing.T) {
	dir := corpus(t)
	n := 0
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "mutations.jsonl")) {
		n++
		base := c
		for _, m := range manifestByID(t, dir) {
			if strings.HasPrefix(c.ID, m.ID+"-m") {
				base.Inputs = m.Inputs
			}
		}
		view, _, err := base.verify(t, dir, new(rogito.Verifier), rogito.Verification{})
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

var manifestCache []corpusCase

func manifestByID(t testing.TB, dir string) []corpusCase {
	if manifestCache == nil {
		manifestCache = lines[corpusCase](t, filepath.Join(dir, "manifest.jsonl"))
	}
	return manifestCache
}

// TestCorpusAttacks trusts every signer of the attack files, so that only the
// attack itself can be the reason for not saying valid.
func TestCorpusAttacks(t *testing.T) {
	dir := corpus(t)
	byClass := tally{}
	for _, c := range lines[corpusCase](t, filepath.Join(dir, "attacks", "manifest.jsonl")) {
		view, _, err := c.verify(t, dir, trusting(t, &c, dir), rogito.Verification{})
		if err != nil {
			t.Logf("%s: no report: %v", c.ID, err)
			byClass.add(c.Class, true)
			continue
		}
		ok := true
		switch {
		case c.Expect.MayBeValid != nil && !*c.Expect.MayBeValid:
			ok = !view.OverallVerified
		case c.Control && c.Expect.MayBeValid != nil:
			ok = integrity(all(view.Signatures, 0)) == "intact"
		case c.Expect.Scope != "" && view.OverallVerified:
			ok = scoped(view)
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
		if (s.CoversWhole != nil && !*s.CoversWhole) || len(s.Warnings) > 0 || len(s.Changes) > 0 {
			return true
		}
	}
	return len(v.Notes) > 0
}

// trusting is a verifier that trusts whoever signed the file.
func trusting(t testing.TB, c *corpusCase, dir string) *rogito.Verifier {
	store := new(trust.Store)
	v := &rogito.Verifier{Trust: store}
	view, r, err := c.verify(t, dir, new(rogito.Verifier), rogito.Verification{})
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
	dir := corpus(t)
	for _, c := range manifestByID(t, dir) {
		if len(c.Expect.Nested) == 0 {
			continue
		}
		view, r, err := c.verify(t, dir, new(rogito.Verifier), rogito.Verification{Recursive: true})
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
	dir := corpus(t)
	n := 0
	for _, c := range manifestByID(t, dir) {
		if c.Expect.MayBeValid == nil || *c.Expect.MayBeValid {
			continue
		}
		n++
		view, _, err := c.verify(t, dir, trusting(t, &c, dir), rogito.Verification{Recursive: len(c.Expect.Nested) > 0})
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
	dir := corpus(t)
	agree := tally{}
	for _, c := range manifestByID(t, dir) {
		for _, want := range c.Expect.Reports {
			if want.TrustAnchors == nil && want.Sub != "HASH_FAILURE" && want.Sub != "SIG_CRYPTO_FAILURE" && want.Sub != "SIGNED_DATA_NOT_FOUND" {
				continue
			}
			store := new(trust.Store)
			if want.TrustAnchors != nil {
				for _, file := range *want.TrustAnchors {
					b, err := os.ReadFile(filepath.Join(dir, file))
					if err != nil {
						t.Fatal(err)
					}
					if err := store.AddAnchors(b); err != nil {
						t.Fatal(err)
					}
				}
			}
			view, _, err := c.verify(t, dir, &rogito.Verifier{Trust: store}, rogito.Verification{At: want.Time})
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
	"signxml-xmldsig-7d2b412c": "the certificate is named by its digest only and is not in the file: the value cannot be checked",
}

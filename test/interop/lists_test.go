package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/test/dialog"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsl"
)

// listsAt is the day that the given set of lists is judged as at.
var listsAt = time.Date(2023, 10, 28, 0, 0, 0, 0, time.UTC)

// listFolder serves the lists of a folder: the file's name is the address with
// every special character as an underscore.
type listFolder string

var special = regexp.MustCompile(`[^A-Za-z0-9]`)

func (dir listFolder) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := os.ReadFile(filepath.Join(string(dir), special.ReplaceAllString(r.URL.String(), "_")))
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(b)), Request: r}, nil
}

// realLists is the set of lists as it was in September 2023.
func realLists(t *testing.T) *tsl.Set {
	t.Helper()
	anchors, err := os.ReadFile(corpus.Shared(t, "trust", "oj-2019-276.pem"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := tsl.NewSet(tsl.Config{
		Anchors: trust.Certificates(anchors),
		Client:  &http.Client{Transport: listFolder(corpus.Shared(t, "trust", "pool"))},
		Now:     func() time.Time { return listsAt },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Refresh(t.Context()); err != nil {
		t.Logf("lists: %v", err)
	}
	there := 0
	for _, s := range set.State() {
		if !s.Issued.IsZero() {
			there++
		}
	}
	if there < 31 {
		t.Fatalf("only %d lists verify", there)
	}
	return set
}

// likeDSS is our policy with DSS's stance where docs/divergences.md says that
// we chose another: freshness of revocation data and changes of a PDF.
func likeDSS(t *testing.T) *policy.Policy {
	t.Helper()
	p, err := policy.Load([]byte("name: like DSS\nrevocation:\n  freshness: any\npdf:\n  changes: warn\ntrustedLists:\n  stale: warn\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// listVerdict is one signature judged with the lists.
type listVerdict struct {
	Indication    string    `json:"indication"`
	Sub           string    `json:"sub"`
	Qualification string    `json:"qualification"`
	Value         string    `json:"value"` // SHA-256 of the signature value
	Trusted       bool      `json:"trusted"`
	Best          time.Time `json:"best"`
	Errors        []string  `json:"errors"`
}

func (v listVerdict) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Indication, v.Sub, v.Qualification))
}

// ours judges a file of the corpus with the lists.
func (b *listBench) ours(t *testing.T, c corpus.Case) []listVerdict {
	in := c.Reading(t)
	v := rogito.Verifier{Trust: b.store, Policy: b.policy, Now: func() time.Time { return listsAt }}
	r, err := v.Verify(t.Context(), c.Source(t), rogito.VerifyOptions{Detached: in.Detached, Password: in.Password, At: listsAt})
	if err != nil {
		t.Errorf("%s: %v", c.ID, err)
		return nil
	}
	var out []listVerdict
	var walk func(list []*report.Conclusion)
	walk = func(list []*report.Conclusion) {
		for _, s := range list {
			one := listVerdict{
				Indication: string(s.Indication), Sub: string(s.SubIndication), Qualification: string(s.Qualification),
				Trusted: s.TrustedList, Best: s.BestTime,
			}
			if s.Signature != nil {
				sum := sha256.Sum256(s.Signature.Value)
				one.Value = hex.EncodeToString(sum[:])
			}
			for _, m := range s.Messages {
				if m.Severity == report.SeverityError {
					one.Errors = append(one.Errors, m.Code)
				}
			}
			out = append(out, one)
			walk(s.Counters)
		}
	}
	walk(r.Conclusions.Signatures)
	return out
}

// listBench holds both judges.
type listBench struct {
	store  *trust.Store
	policy *policy.Policy
	dss    dialog.Program
}

// startDSS builds the program of dsslists where it is not built yet, and
// starts it. Maven brings DSS; the program itself fetches nothing.
func (b *listBench) startDSS(t *testing.T, folder, anchors string) {
	t.Helper()
	java, classes := built(t, "dsslists")
	c := exec.CommandContext(t.Context(), java, "-Xmx1500m", "-XX:+UseSerialGC", "-Djava.awt.headless=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
		"-cp", classes, "dsslists.Main",
		folder, anchors)
	if err := b.dss.Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.dss.Stop)
	var hello struct {
		Lists []struct {
			Territory string
			Verified  bool
		}
		Anchors int
	}
	line, err := b.dss.Line()
	if err == nil {
		err = json.Unmarshal(line, &hello)
	}
	if err != nil {
		t.Fatal(err)
	}
	verified := 0
	for _, l := range hello.Lists {
		if l.Verified {
			verified++
		}
	}
	t.Logf("DSS: %d of %d lists verify, %d anchors", verified, len(hello.Lists), hello.Anchors)
}

// theirs asks DSS about a file of the corpus.
func (b *listBench) theirs(t *testing.T, c corpus.Case) []listVerdict {
	type named struct {
		File string `json:"file"`
		Name string `json:"name"`
	}
	ask := struct {
		File     string  `json:"file"`
		At       string  `json:"at"`
		Password string  `json:"password,omitempty"`
		Detached []named `json:"detached"`
	}{corpus.Path(t, filepath.FromSlash(c.File)), listsAt.Format(time.RFC3339), c.Inputs.Password, []named{}}
	for _, d := range c.Inputs.Detached {
		n := named{corpus.Path(t, filepath.FromSlash(d.File)), d.Name}
		if n.Name == "" {
			n.Name = filepath.Base(d.File)
		}
		ask.Detached = append(ask.Detached, n)
	}
	got, _ := b.put(t, ask)
	return got
}

// ask asks DSS about a file of ours, and lets it fetch revocation data.
func (b *listBench) ask(t *testing.T, file string, at time.Time, detached []string) []listVerdict {
	t.Helper()
	contents := []map[string]string{}
	for _, d := range detached {
		contents = append(contents, map[string]string{"file": d, "name": filepath.Base(d)})
	}
	got, exception := b.put(t, map[string]any{"file": file, "at": at.UTC().Format(time.RFC3339), "detached": contents, "online": true})
	if exception != "" {
		t.Errorf("DSS: %s", exception)
	}
	return got
}

func (b *listBench) put(t *testing.T, ask any) ([]listVerdict, string) {
	t.Helper()
	var got struct {
		Signatures []listVerdict
		Exception  string
	}
	line, err := b.dss.Ask(ask)
	if err == nil {
		err = json.Unmarshal(line, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got.Signatures, got.Exception
}

// dssQualification are DSS's words for ours. What is not TOTAL-PASSED has no
// qualification here.
var dssQualification = map[string]string{
	"QESIG": "QESig", "QESEAL": "QESeal", "ADESIG_QC": "AdESig-QC", "ADESEAL_QC": "AdESeal-QC",
	"ADESIG": "AdESig", "ADESEAL": "AdESeal",
	// Without a statement whether it is for signatures or seals, we take the
	// subject: these are persons.
	"UNKNOWN": "AdESig", "UNKNOWN_QC": "AdESig-QC", "UNKNOWN_QC_QSCD": "QESig",
}

func (v listVerdict) inOurWords() listVerdict {
	v.Indication = strings.ReplaceAll(v.Indication, "_", "-")
	q := dssQualification[v.Qualification]
	if q == "" || v.Indication != string(report.TotalPassed) {
		q = string(report.NA)
	}
	v.Qualification = q
	return v
}

// listDivergences are the signatures that we judge otherwise than DSS, by case
// and number, with the reason; docs/divergences.md tells more.
var listDivergences = map[string]string{
	"dss-asic-e-cades-b01159e4#0":  later,
	"dss-xades-55fbc81f#0":         later,
	"dss-xades-7189d908#0":         later,
	"dss-xades-7dab515b#0":         later,
	"dss-xades-89acf7de#0":         later,
	"dss-xades-a96f2df2#0":         later,
	"dss-cades-e43a3d83#0":         notYet,
	"dss-pades-072ce29d#0":         notYet,
	"dss-xades-b8d03ea1#0":         "the signer of a trusted list: no listed CA vouches for it (TS 119 612, 5.5.1), DSS takes every listed certificate",
	"dss-cades-acdd10a8#0":         "an archive time-stamp of 2018 proves signature, certificate and list to be older than the withdrawal of 2021, the control time (EN 319 102-1, 5.6.2.2.4); DSS judges the list's own issuer as at the time of validation",
	"dd4j-asic-e-xades-af519850#0": missingNull,
	"siva-asic-e-xades-612fb45d#0": missingNull,
}

const (
	later       = "made after the day judged at: revocation data from after it does not count, DSS takes it"
	notYet      = "the certificate was issued after the day judged at: EN 319 102-1, 5.5.4; DSS asks for revocation data first"
	missingNull = "DigestInfo without NULL: broken here, as the manifest says; BouncyCastle takes it"
)

// TestCorpusListsBesideDSS judges every file of the corpus that leads to a
// European list, as at 2023-10-28, by us and by DSS with the same lists:
// indication and qualification are equal, or the case is known with a reason.
func TestCorpusListsBesideDSS(t *testing.T) {
	if !full {
		t.Skip("SKIPPED: DSS is asked by `make interop` (ROGITO_INTEROP=1)")
	}
	b := &listBench{store: &trust.Store{Lists: realLists(t)}, policy: likeDSS(t)}
	b.startDSS(t, corpus.Shared(t, "trust", "pool"), corpus.Shared(t, "trust", "oj-2019-276.pem"))
	b.compare(t, b.theirs)
}

func (b *listBench) compare(t *testing.T, ask func(*testing.T, corpus.Case) []listVerdict) {
	n, equal, structure := 0, 0, 0
	kinds := map[string]int{}
	for _, c := range corpus.Manifest(t) {
		theirs := map[string]listVerdict{}
		for _, v := range ask(t, c) {
			theirs[v.Value] = v.inOurWords()
		}
		for i, mine := range b.ours(t, c) {
			other, ok := theirs[mine.Value]
			if !ok || !mine.Trusted && !other.Trusted {
				continue
			}
			// What the structure of a document must be, we decided more strictly than
			// DSS; then neither trust nor qualification is at issue.
			if mine.Sub == string(report.FormatFailure) || other.Sub == string(report.FormatFailure) && mine.Indication != string(report.TotalPassed) {
				structure++
				continue
			}
			n++
			key := fmt.Sprintf("%s#%d", c.ID, i)
			same := mine.Indication == other.Indication && mine.Qualification == other.Qualification
			if same {
				equal++
			} else {
				kinds[fmt.Sprintf("%s %s | DSS %s %s", mine.Indication, mine.Sub, other.Indication, other.Sub)]++
			}
			reason := listDivergences[key]
			switch {
			case !same && reason == "":
				t.Errorf("%s: we say %s, DSS %s; best %s and %s; %v %v", key, mine, other,
					mine.Best.Format(time.DateTime), other.Best.Format(time.DateTime), mine.Errors, other.Errors)
			case same && reason != "":
				t.Errorf("%s: no divergence any more, take it off the list", key)
			}
		}
	}
	t.Logf("%d signatures lead to a list, %d judged as DSS does, %d known to differ; %d more are refused for their structure", n, equal, len(listDivergences), structure)
	var words []string
	for k, v := range kinds {
		words = append(words, fmt.Sprintf("%3d %s", v, k))
	}
	sort.Strings(words)
	t.Logf("differences\n%s", strings.Join(words, "\n"))
	if n < 100 {
		t.Errorf("only %d signatures lead to a list", n)
	}
}

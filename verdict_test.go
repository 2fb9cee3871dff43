package rogito_test

import (
	"bytes"
	"context"
	"crypto"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsl"
	"rogito.dev/rogito/xades"
)

// stage is a PKI with a clock that a test moves.
type stage struct {
	t   testing.TB
	now time.Time
	pki *adestest.PKI
}

func newStage(t testing.TB) *stage {
	s := &stage{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s.pki = adestest.Must(t, func() time.Time { return s.now })
	return s
}

// verifier trusts the stage's root; online it may ask the stage's services.
func (s *stage) verifier(online bool) *rogito.Verifier {
	store := new(trust.Store)
	if err := store.AddAnchor(s.pki.Root.Raw); err != nil {
		s.t.Fatal(err)
	}
	if online {
		store.Client = s.pki.HTTP()
	}
	return &rogito.Verifier{Trust: store, Now: func() time.Time { return s.now }}
}

// formats make a signed document of each kind; level B, then raised.
var (
	formats    = []string{"cades", "pades", "xades"}
	containers = []string{"asice-xades", "asice-cades", "asics-xades", "asics-cades"}
)

const sampleXML = `<doc xmlns="urn:x"><a>text</a></doc>`

func samplePDF() []byte {
	var b bytes.Buffer
	offsets := []int{}
	add := func(s string) { offsets = append(offsets, b.Len()); b.WriteString(s) }
	b.WriteString("%PDF-1.7\n")
	add("1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n")
	add("2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n")
	add("3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>\nendobj\n")
	start := b.Len()
	b.WriteString("xref\n0 4\n0000000000 65535 f \n")
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", start)
	return b.Bytes()
}

// sign makes a document by an actor, raised to a level.
func (s *stage) sign(format, actor string, level ades.Level, hash crypto.Hash) []byte {
	s.t.Helper()
	a := s.pki.Actor(s.t, actor)
	signing := a.Signing(s.now)
	signing.Hash = hash
	return s.signContent(format, a, signing, level, nil)
}

func (s *stage) signContent(format string, a *adestest.Actor, signing ades.SignParams, level ades.Level, content []byte) []byte {
	s.t.Helper()
	var d ades.Draft
	var err error
	augment := augments[format]
	switch format {
	case "asice-xades", "asice-cades", "asics-xades", "asics-cades":
		files := []ades.File{{Name: "a.xml", Source: bytes.NewReader([]byte(sampleXML))}}
		d, err = asic.Prepare(context.Background(), files, signing, asic.Options{CAdES: format[6:] == "cades", Simple: format[4] == 's'})
	case "cades":
		if content == nil {
			content = []byte("content")
		}
		d, err = cades.Prepare(context.Background(), bytes.NewReader(content), signing, cades.Options{})
	case "pades":
		if content == nil {
			content = samplePDF()
		}
		d, err = pades.Prepare(context.Background(), bytes.NewReader(content), signing, pades.Options{Stamped: level > ades.LevelB})
	case "xades":
		if content == nil {
			content = []byte(sampleXML)
		}
		d, err = xades.Prepare(context.Background(), []ades.File{{Name: "a.xml", Source: bytes.NewReader(content)}}, signing, xades.Options{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	value, err := d.Value(a.Key)
	if err != nil {
		s.t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.Finish(&out, value); err != nil {
		s.t.Fatal(err)
	}
	if level == ades.LevelB {
		return out.Bytes()
	}
	return s.raise(augment, out.Bytes(), level)
}

func (s *stage) raise(augment func(context.Context, ades.Source, io.Writer, ades.AugmentOptions) error, b []byte, level ades.Level) []byte {
	s.t.Helper()
	store := s.verifier(true).Trust
	raising := ades.AugmentOptions{
		Level: level, Stamper: s.pki.Unit, Time: s.now,
		Gatherer: &trust.Gatherer{Store: store, Now: func() time.Time { return s.now }},
	}
	var out bytes.Buffer
	if err := augment(context.Background(), bytes.NewReader(b), &out, raising); err != nil {
		s.t.Fatal(err)
	}
	return out.Bytes()
}

func (s *stage) verdict(v *rogito.Verifier, doc []byte, at time.Time) *report.View {
	s.t.Helper()
	r, err := v.Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{At: at})
	if err != nil {
		s.t.Fatal(err)
	}
	view, err := r.View(false, "en")
	if err != nil {
		s.t.Fatal(err)
	}
	if len(view.Signatures) != 1 {
		s.t.Fatalf("%d signatures", len(view.Signatures))
	}
	return view
}

func word(v *report.View) string {
	s := v.Signatures[0]
	if s.SubIndication != nil {
		return string(s.Indication) + " " + *s.SubIndication
	}
	return string(s.Indication)
}

// TestVerdictTable: who signed, at which level, looked at when, with the
// network or without. Certificates of the cast live two years from 2026-03.
func TestVerdictTable(t *testing.T) {
	day := func(text string) time.Time {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return d.Add(24*time.Hour - time.Second)
	}
	rows := []struct {
		actor  string
		level  ades.Level
		at     string // verifyOnDate; the clock stands at looked
		looked string
		online bool
		want   string
	}{
		// Inside validity.
		{"good", ades.LevelB, "2026-03-02", "2026-03-02", true, "TOTAL-PASSED"},
		{"good", ades.LevelB, "2026-03-02", "2026-03-02", false, "INDETERMINATE CERTIFICATE_CHAIN_GENERAL_FAILURE"},
		{"good", ades.LevelT, "2026-03-02", "2026-03-02", true, "TOTAL-PASSED"},
		{"good", ades.LevelT, "2026-03-02", "2026-03-02", false, "INDETERMINATE CERTIFICATE_CHAIN_GENERAL_FAILURE"},
		{"good", ades.LevelLT, "2026-03-02", "2026-03-02", false, "TOTAL-PASSED"},
		{"good", ades.LevelLTA, "2026-03-02", "2026-03-02", false, "TOTAL-PASSED"},
		// Before the certificate exists.
		{"good", ades.LevelB, "2025-01-01", "2026-03-02", true, "TOTAL-FAILED NOT_YET_VALID"},
		{"good", ades.LevelLT, "2025-01-01", "2026-03-02", false, "TOTAL-FAILED NOT_YET_VALID"},
		// After expiry: only a time-stamp helps.
		{"good", ades.LevelB, "2028-06-01", "2028-06-01", false, "INDETERMINATE OUT_OF_BOUNDS_NO_POE"},
		{"good", ades.LevelB, "2028-06-01", "2028-06-01", true, "INDETERMINATE OUT_OF_BOUNDS_NO_POE"},
		{"good", ades.LevelT, "2028-06-01", "2028-06-01", false, "INDETERMINATE OUT_OF_BOUNDS_NO_POE"},
		{"good", ades.LevelLT, "2028-06-01", "2028-06-01", true, "TOTAL-PASSED"},
		{"good", ades.LevelLTA, "2028-06-01", "2028-06-01", true, "TOTAL-PASSED"},
		// When the time-stamping unit's certificate is over too, nothing is left.
		{"good", ades.LevelLT, "2037-01-01", "2037-01-01", false, "INDETERMINATE OUT_OF_BOUNDS_NO_POE"},
		// Looked at later, judged as of a day inside validity.
		{"good", ades.LevelLT, "2026-03-02", "2028-06-01", false, "TOTAL-PASSED"},
		// Signed with a certificate that had expired, or is not valid yet.
		{"expired", ades.LevelB, "2026-03-02", "2026-03-02", false, "INDETERMINATE OUT_OF_BOUNDS_NO_POE"},
		{"not-yet-valid", ades.LevelB, "2026-03-02", "2026-03-02", true, "TOTAL-FAILED NOT_YET_VALID"},
		// Revoked a month before signing.
		{"revoked", ades.LevelB, "2026-03-02", "2026-03-02", true, "INDETERMINATE REVOKED_NO_POE"},
		{"revoked", ades.LevelT, "2026-03-02", "2026-03-02", true, "INDETERMINATE REVOKED_NO_POE"},
		{"revoked-crl", ades.LevelB, "2026-03-02", "2026-03-02", true, "INDETERMINATE REVOKED_NO_POE"},
		{"suspended", ades.LevelB, "2026-03-02", "2026-03-02", true, "INDETERMINATE TRY_LATER"},
		// No issuer vouches, or nothing is known.
		{"unknown-issuer", ades.LevelB, "2026-03-02", "2026-03-02", true, "INDETERMINATE NO_CERTIFICATE_CHAIN_FOUND"},
		{"no-revocation", ades.LevelB, "2026-03-02", "2026-03-02", true, "INDETERMINATE CERTIFICATE_CHAIN_GENERAL_FAILURE"},
		{"crl", ades.LevelB, "2026-03-02", "2026-03-02", true, "TOTAL-PASSED"},
		{"crl", ades.LevelLT, "2026-03-02", "2026-03-02", false, "TOTAL-PASSED"},
		{"p384", ades.LevelLT, "2026-03-02", "2026-03-02", false, "TOTAL-PASSED"},
		{"ed25519", ades.LevelB, "2026-03-02", "2026-03-02", true, "TOTAL-PASSED"},
	}
	for _, format := range slices.Concat(formats, containers) {
		t.Run(format, func(t *testing.T) {
			s := newStage(t)
			made := map[string][]byte{}
			for i, row := range rows {
				s.now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
				key := fmt.Sprint(row.actor, row.level)
				if made[key] == nil {
					made[key] = s.sign(format, row.actor, row.level, 0)
				}
				s.now = day(row.looked)
				v := s.verdict(s.verifier(row.online), made[key], day(row.at))
				if got := word(v); got != row.want {
					t.Errorf("row %d: %s at %v, seen %s, for %s, online %v: %s, want %s; %v", i+1, row.actor, row.level, row.looked, row.at, row.online, got, row.want, v.Signatures[0].Errors)
				}
				if v.OverallVerified != (row.want == "TOTAL-PASSED") || !v.Signatures[0].Integrity {
					t.Errorf("row %d: verified %v, integrity %v", i+1, v.OverallVerified, v.Signatures[0].Integrity)
				}
			}
		})
	}
}

// Revoked after the time-stamp: T and above stay valid, B does not.
func TestRevokedAfterTimestamp(t *testing.T) {
	for _, format := range formats {
		s := newStage(t)
		b, lt := s.sign(format, "second", ades.LevelB, 0), s.sign(format, "second", ades.LevelLT, 0)
		s.now = s.now.AddDate(0, 1, 0)
		s.pki.Revoke(s.pki.Actor(t, "second"), 1)
		s.now = s.now.AddDate(0, 0, 1)
		if got := word(s.verdict(s.verifier(true), b, time.Time{})); got != "INDETERMINATE REVOKED_NO_POE" {
			t.Errorf("%s B: %s", format, got)
		}
		v := s.verdict(s.verifier(true), lt, time.Time{})
		if got := word(v); got != "TOTAL-PASSED" {
			t.Errorf("%s LT: %s %v", format, got, v.Signatures[0].Errors)
		}
	}
}

// Without the issuer in the file and without the network there is no chain;
// with the network it is fetched.
func TestMissingChain(t *testing.T) {
	s := newStage(t)
	a := s.pki.Actor(t, "good")
	signing := a.Signing(s.now)
	signing.Chain = nil
	doc := s.signContent("cades", a, signing, ades.LevelB, nil)
	if got := word(s.verdict(s.verifier(false), doc, time.Time{})); got != "INDETERMINATE NO_CERTIFICATE_CHAIN_FOUND" {
		t.Errorf("offline: %s", got)
	}
	if got := word(s.verdict(s.verifier(true), doc, time.Time{})); got != "TOTAL-PASSED" {
		t.Errorf("online: %s", got)
	}
}

// SHA-1 is over since 2012; only a proof from before would help.
func TestSHA1(t *testing.T) {
	s := newStage(t)
	doc := s.sign("cades", "good", ades.LevelT, crypto.SHA1)
	if got := word(s.verdict(s.verifier(true), doc, time.Time{})); got != "INDETERMINATE CRYPTO_CONSTRAINTS_FAILURE_NO_POE" {
		t.Errorf("SHA-1: %s", got)
	}
}

// The signer's own certificate may be the anchor: then nothing else is asked.
func TestSignerAsAnchor(t *testing.T) {
	s := newStage(t)
	doc := s.sign("pades", "unknown-issuer", ades.LevelB, 0)
	store := new(trust.Store)
	if err := store.AddAnchor(s.pki.Actor(t, "unknown-issuer").Certificate.Raw); err != nil {
		t.Fatal(err)
	}
	v := s.verdict(&rogito.Verifier{Trust: store, Now: func() time.Time { return s.now }}, doc, time.Time{})
	if got := word(v); got != "TOTAL-PASSED" {
		t.Errorf("%s %v", got, v.Signatures[0].Errors)
	}
	if q := v.Signatures[0].Qualification; q != report.NA {
		t.Errorf("an own anchor makes %s", q)
	}
}

// lists publishes trusted lists of our own with the stage's CA and TSA.
func (s *stage) lists(status string, qualifiers ...string) *tsl.Set {
	s.t.Helper()
	signer := s.pki.Actor(s.t, "third")
	files := map[string][]byte{}
	base := "http://lists.invalid"
	put := func(path string, l adestest.List) {
		b, err := l.XML(signer)
		if err != nil {
			s.t.Fatal(err)
		}
		files[path] = b
	}
	put("/lotl.xml", adestest.List{
		Territory: "EU", LOTL: true, Sequence: 1, Issued: s.now.AddDate(0, -1, 0), Next: s.now.AddDate(0, 5, 0),
		Pointers: []adestest.ListPointer{{URL: base + "/it.xml", Territory: "IT", Signers: s.pki.Actor(s.t, "third").Chain[:0:0]}},
	})
	p := adestest.ListPointer{URL: base + "/it.xml", Territory: "IT"}
	p.Signers = append(p.Signers, signer.Certificate)
	put("/lotl.xml", adestest.List{Territory: "EU", LOTL: true, Sequence: 1, Issued: s.now.AddDate(0, -1, 0), Next: s.now.AddDate(0, 5, 0), Pointers: []adestest.ListPointer{p}})
	st := adestest.ListStatus{Status: status, From: s.now.AddDate(-8, 0, 0), Uses: []string{"ForeSignatures", "ForeSeals"}, Qualifiers: qualifiers}
	put("/it.xml", adestest.List{
		Territory: "IT", Sequence: 9, Issued: s.now.AddDate(0, -1, 0), Next: s.now.AddDate(0, 5, 0),
		Services: []adestest.ListService{
			{Type: "CA/QC", Name: "CA", Identity: s.pki.Issuing, Statuses: []adestest.ListStatus{st}},
			{Type: "TSA/QTST", Name: "TSA", Identity: s.pki.Unit.Certificate, Statuses: []adestest.ListStatus{{Status: "granted", From: s.now.AddDate(-8, 0, 0)}}},
		},
	})
	set, err := tsl.NewSet(tsl.Config{
		LOTL: base + "/lotl.xml", Anchors: [][]byte{signer.Certificate.Raw}, Now: func() time.Time { return s.now },
		Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(files[r.URL.Path])), Request: r}, nil
		})},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := set.Refresh(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	return set
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestQualification is TS 119 615 in small: the certificate's statements, the
// list's status and its qualifiers.
func TestQualification(t *testing.T) {
	s := newStage(t)
	rows := []struct {
		actor, status string
		qualifiers    []string
		want          report.Qualification
		qc, sscd      string
	}{
		{"good", "granted", nil, report.QESig, "VALID", "VALID"},
		{"eseal", "granted", nil, report.QESeal, "VALID", "VALID"},
		{"no-device", "granted", nil, report.AdESigQC, "VALID", "NOT_VALID"},
		{"no-device", "granted", []string{"QCWithQSCD"}, report.QESig, "VALID", "VALID"},
		{"good", "granted", []string{"QCNoQSCD"}, report.AdESigQC, "VALID", "NOT_VALID"},
		{"good", "granted", []string{"NotQualified"}, report.AdESig, "NOT_VALID", "NOT_VALID"},
		{"advanced", "granted", nil, report.AdESig, "NOT_VALID", "NOT_VALID"},
		{"advanced", "granted", []string{"QCStatement", "QCForESig", "QCWithQSCD"}, report.QESig, "VALID", "VALID"},
	}
	for _, row := range rows {
		doc := s.sign("cades", row.actor, ades.LevelLT, 0)
		v := &rogito.Verifier{Trust: &trust.Store{Lists: s.lists(row.status, row.qualifiers...)}, Now: func() time.Time { return s.now }}
		got := s.verdict(v, doc, time.Time{}).Signatures[0]
		if got.Indication != report.TotalPassed || got.Qualification != row.want || got.QCComplianceStatus != row.qc || got.QCSSCDStatus != row.sscd || !got.IssuerTrustedList {
			t.Errorf("%s %s %v: %s %s, QC %s, SSCD %s, list %v; %v", row.actor, row.status, row.qualifiers, got.Indication, got.Qualification, got.QCComplianceStatus, got.QCSSCDStatus, got.IssuerTrustedList, got.Errors)
		}
	}
	// A service that was withdrawn before vouches for no certificate, and neither does a list past
	// its NextUpdate.
	doc := s.sign("cades", "good", ades.LevelLT, 0)
	v := &rogito.Verifier{Trust: &trust.Store{Lists: s.lists("withdrawn")}, Now: func() time.Time { return s.now }}
	if got := s.verdict(v, doc, time.Time{}); got.OverallVerified || got.Signatures[0].Qualification != report.NA {
		t.Errorf("withdrawn: %s", word(got))
	}
	v.Trust = &trust.Store{Lists: s.lists("granted")}
	s.now = s.now.AddDate(0, 6, 0)
	if got := word(s.verdict(v, doc, time.Time{})); got != "INDETERMINATE TRY_LATER" {
		t.Errorf("stale list: %s", got)
	}
}

// TestFactsReplay: facts written and read back give the same verdict.
func TestFactsReplay(t *testing.T) {
	s := newStage(t)
	doc := s.sign("pades", "good", ades.LevelLTA, 0)
	v := s.verifier(false)
	r, err := v.Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again := v.Judge(reread(t, r.Facts), r.Conclusions.At)
	if r.Conclusions.Indication != report.TotalPassed || again.Conclusions.Indication != report.TotalPassed {
		t.Errorf("%s, replayed %s", r.Conclusions.Indication, again.Conclusions.Indication)
	}
}

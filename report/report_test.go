package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
)

var at = time.Date(2026, 11, 15, 3, 46, 26, 123e6, time.UTC)

// sample is a report on one signature by somebody with a difficult name.
func sample(ind Indication, sub SubIndication) *Report {
	cert := []byte("not really a certificate")
	id := ades.FactID(cert)
	sig := &ades.Signature{
		ID: "a/b#1", Format: ades.PAdES, SigningCertificate: cert, ValueIntact: ades.Yes, ClaimedTime: at,
		References: []ades.Reference{{Kind: "byte-range", Found: true, Intact: ades.Yes, Digest: "SHA256"}},
		Algorithm:  ades.Algorithm{Name: "SHA256withRSA", Digest: "SHA256", KeySize: 2048},
		PDF:        &ades.PDFFacts{Changes: []ades.Change{{Kind: "page", Description: "a page was added", Revision: 2}}},
	}
	c := &Conclusion{ID: sig.ID, Indication: ind, SubIndication: sub, BestTime: at, Signature: sig, Path: []string{id}, Qualification: NA}
	if ind != TotalPassed {
		c.Messages = []Message{{Severity: Error, Block: "XCV", Text: "There is no revocation data for <b>.", Format: "There is no revocation data for %s.", Args: []any{"<b>"}}}
	}
	return &Report{
		Facts: &Facts{
			Layers:       []*Layer{{Document: &ades.Document{Format: ades.PAdES, Signatures: []*ades.Signature{sig}}}},
			Certificates: map[string]*Certificate{id: {ID: id, Raw: cert, Subject: "C=IT,CN=<script>alert(1)</script>", SubjectCN: "<script>alert(1)</script>", SerialNumber: "7", Sandbox: true}},
		},
		Conclusions: &Conclusions{Policy: "p", At: at, Indication: ind, Signatures: []*Conclusion{c}},
		MadeAt:      at,
	}
}

func TestFirstThreeLines(t *testing.T) {
	for _, row := range []struct {
		r    *Report
		lang Lang
		want [3]string
	}{
		{sample(TotalPassed, ""), English, [3]string{"f.pdf: VALID (PAdES, 1 signature)", "Signed by <script>alert(1)</script> (test certificate) on 2026-11-15 03:46 UTC", "The content is unchanged"}},
		{sample(Indeterminate, CertificateChainGeneral), English, [3]string{"f.pdf: UNDETERMINED", "Signed by", "Why: There is no revocation data for <b>. / CERTIFICATE_CHAIN_GENERAL_FAILURE"}},
		{sample(TotalFailed, FormatFailure), Italian, [3]string{"f.pdf: NON VALIDO (PAdES, 1 firma)", "Firmato da", "Perché: Mancano i dati di revoca per <b>."}},
		{&Report{Facts: &Facts{}, Conclusions: &Conclusions{Indication: Indeterminate}}, English, [3]string{"f.pdf: NOT SIGNED", "Nobody signed", "There is nothing"}},
		{&Report{Facts: &Facts{}, Conclusions: &Conclusions{Indication: TotalFailed}}, English, [3]string{"f.pdf: NOT VALID, the file is broken", "It claims to be signed, but cannot be read.", ""}},
	} {
		var b bytes.Buffer
		if err := row.r.WriteText(&b, "f.pdf", row.lang); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitN(b.String(), "\n", 4)
		for i, want := range row.want {
			if !strings.HasPrefix(lines[i], want) {
				t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
			}
		}
	}
}

func TestHTMLEscapes(t *testing.T) {
	var b bytes.Buffer
	if err := sample(TotalFailed, FormatFailure).WriteHTML(&b, "<i>.pdf", Italian); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<script>") || strings.Contains(b.String(), "<i>") || !strings.Contains(b.String(), "MODIFICA NON AMMESSA") {
		t.Error("a name reaches the page as markup, or a change is not shown")
	}
}

func TestETSIIsWellFormed(t *testing.T) {
	var b bytes.Buffer
	if err := sample(TotalFailed, FormatFailure).WriteETSI(&b); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPDFPages(t *testing.T) {
	r := sample(Indeterminate, TryLater)
	for range 200 {
		r.Conclusions.Signatures[0].Messages = append(r.Conclusions.Signatures[0].Messages, Message{Severity: Warning, Text: strings.Repeat("è (parenthesis) ", 20)})
	}
	var b bytes.Buffer
	if err := r.WritePDF(&b, "f.pdf", English); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("/Type /Page ")); n < 3 {
		t.Errorf("%d pages", n)
	}
}

func TestWire(t *testing.T) {
	b := wire(t, sample(Indeterminate, TryLater), true)
	for _, want := range []string{
		`"checkDate":"2026-11-15 03:46:26.123+00:00"`, `"nrOfSignatures":1`, `"overallVerified":false`, `"plainDocument":null`,
		`"signatureFormat":"PAdES"`, `"subIndication":"TRY_LATER"`, `"signerCertificateRevocationDate":null`, `"integrity":true`,
		`"changesAfterSigning":[{"kind":"page","permitted":false,"description":"a page was added","revision":2}]`,
		`"about":0,"type":2`, `"counterSignatures":[]`, `"timestamps":[]`,
	} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
	if b := wire(t, sample(Indeterminate, TryLater), false); bytes.Contains(b, []byte("plainDocument")) {
		t.Errorf("plainDocument although nobody asked for it: %s", b)
	}
}

func wire(t *testing.T, r *Report, plain bool) []byte {
	t.Helper()
	v, err := r.View(plain)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestETSIReferences: a report names objects that are in it, once each, and a
// document without signatures has a report all the same, as the schema asks.
func TestETSIReferences(t *testing.T) {
	r := sample(Indeterminate, TryLater)
	c := r.Conclusions.Signatures[0]
	stamp := &ades.Timestamp{ID: ades.FactID([]byte("token")), Kind: ades.SignatureTimestamp, Time: at, Token: []byte("token"), Covers: []string{c.ID, c.Path[0], "gone"}}
	c.Timestamps = []*Conclusion{{ID: stamp.ID, Indication: Passed, Timestamp: stamp}, {ID: stamp.ID, Indication: Passed, Timestamp: stamp}}
	c.Proven, c.RevokedAt = true, at
	c.Path = append(c.Path, "gone")
	r.Facts.Revocations = map[string][]*Revocation{c.Path[0]: {{ID: ades.FactID([]byte("list")), Kind: "crl", Status: "revoked", Reason: 1}}}
	r.Conclusions.Signatures = append(r.Conclusions.Signatures, c) // one id, twice
	ids, refs := etsiIDs(t, r)
	if len(ids) != 5 { // two signatures, a certificate, a list, a token
		t.Errorf("ids %v", ids)
	}
	for id := range refs {
		if ids[id] == 0 {
			t.Errorf("%s is not in the report", id)
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
	var b bytes.Buffer
	empty := &Report{Facts: new(Facts), Conclusions: &Conclusions{Indication: Indeterminate}}
	if err := empty.WriteETSI(&b); err != nil || !strings.Contains(b.String(), "mainindication:indeterminate") {
		t.Errorf("no report on nothing: %v", err)
	}
}

// etsiIDs counts the ids of a report, and what refers to them.
func etsiIDs(t *testing.T, r *Report) (ids, refs map[string]int) {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteETSI(&b); err != nil {
		t.Fatal(err)
	}
	ids, refs = map[string]int{}, map[string]int{}
	for d := xml.NewDecoder(&b); ; {
		tok, err := d.Token()
		if err == io.EOF {
			return ids, refs
		}
		if err != nil {
			t.Fatal(err)
		}
		start, _ := tok.(xml.StartElement)
		for _, a := range start.Attr {
			switch a.Name.Local {
			case "id":
				ids[a.Value]++
			case "VOReference":
				refs[a.Value]++
			}
		}
	}
}

package paper

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

var at = time.Date(2026, 11, 15, 3, 46, 26, 123e6, time.UTC)

// sample is a report on one signature by a signer with a difficult name.
func sample(ind report.Indication, sub report.SubIndication) *report.Report {
	cert := []byte("not really a certificate")
	id := ades.FactID(cert)
	sig := &ades.Signature{
		ID: "a/b#1", Format: ades.PAdES, SigningCertificate: cert, ValueIntact: ades.Yes, ClaimedTime: at,
		References: []ades.Reference{{Kind: "byte-range", Found: true, Intact: ades.Yes, Digest: "SHA256"}},
		Algorithm:  ades.Algorithm{Name: "SHA256withRSA", Digest: "SHA256", KeySize: 2048},
		PDF:        &ades.PDFFacts{Changes: []ades.Change{{Kind: "page", Description: "a page was added", Revision: 2}}},
	}
	c := &report.Conclusion{ID: sig.ID, Indication: ind, SubIndication: sub, BestTime: at, Signature: sig, Path: []string{id}, Qualification: report.NA}
	if ind != report.TotalPassed {
		c.Messages = []report.Message{{Severity: report.SeverityError, Block: "XCV", Text: "There is no revocation data for <b>.", Code: "REVOCATION_DATA_MISSING", Values: []string{"<b>"}}}
	}
	return &report.Report{
		Facts: &report.Facts{
			Layers:       []*report.Layer{{Document: &ades.Document{Format: ades.PAdES, Signatures: []*ades.Signature{sig}}}},
			Certificates: map[string]*report.Certificate{id: {ID: id, Raw: cert, Subject: "C=IT,CN=<script>alert(1)</script>", SubjectCN: "<script>alert(1)</script>", SerialNumber: "7", Sandbox: true}},
		},
		Conclusions: &report.Conclusions{Policy: "p", At: at, Indication: ind, Signatures: []*report.Conclusion{c}},
		MadeAt:      at,
	}
}

// lists are the state of European lists that were issued then.
func lists(issued time.Time) []report.ListState {
	return []report.ListState{
		{Territory: "EU", Verified: true, Sequence: 7, Issued: issued, NextUpdate: issued.AddDate(0, 6, 0)},
		{Territory: "DE"},
		{Territory: "IT", Verified: true, Sequence: 9, Issued: issued, NextUpdate: issued.AddDate(0, 6, 0)},
	}
}

// Each fate of a document has sentences of its own, in the first three lines
// of every form and in the message: is it intact, who signed it, is it trusted
// and qualified, and if not, why and what to do.
func TestFirstThreeLines(t *testing.T) {
	change := func(ind report.Indication, sub report.SubIndication, edit func(r *report.Report, c *report.Conclusion)) *report.Report {
		r := sample(ind, sub)
		c := r.Conclusions.Signatures[0]
		c.Signature.PDF.Changes = nil
		edit(r, c)
		return r
	}
	cert := func(r *report.Report) *report.Certificate {
		for _, c := range r.Facts.Certificates {
			return c
		}
		return nil
	}
	listed := func(r *report.Report, c *report.Conclusion) {
		r.Facts.TrustState.Lists = lists(at.AddDate(0, -1, 0))
		c.TrustedList, c.Anchor = true, &report.Anchor{Source: report.FromTrustedList, Services: []*report.Service{{Territory: "IT"}}}
	}
	holder := report.Name{Common: "RSSMRA80A01H501U/6030612345=", Given: "MARIO", Surname: "ROSSI", Serial: "IT:RSSMRA80A01H501U", Organization: "NON PRESENTE"}
	none := func(facts *report.Facts, c *report.Conclusions) *report.Report {
		if facts == nil {
			facts = new(report.Facts)
		}
		return &report.Report{Facts: facts, Conclusions: c}
	}
	token := &ades.Timestamp{Time: at}
	stampFacts := func(f ades.Format) *report.Facts {
		return &report.Facts{Layers: []*report.Layer{{Document: &ades.Document{Format: f}}}}
	}
	for name, row := range map[string]struct {
		r       *report.Report
		outcome report.Outcome
		want    []string // in the text
		italian []string
	}{
		"qualified": {
			change(report.TotalPassed, "", func(r *report.Report, c *report.Conclusion) {
				listed(r, c)
				c.Qualification = report.QESig
				crt := cert(r)
				crt.Holder, crt.Sandbox, crt.Authority = holder, false, report.Name{Common: "InfoCert Firma 4", Organization: "INFOCERT S.P.A."}
			}), report.OutcomeValid,
			[]string{"f.pdf: VALID (PAdES, 1 signature). The content is intact.\nSigned by MARIO ROSSI (fiscal code RSSMRA80A01H501U) on 15 November 2026, 03:46 UTC", "InfoCert Firma 4 (INFOCERT S.P.A.), is on the trusted list of Italy.", "handwritten"},
			[]string{"f.pdf: VALIDA (PAdES, 1 firma). Il contenuto è integro.\nFirmato da MARIO ROSSI (codice fiscale RSSMRA80A01H501U) il 15 novembre 2026, 03:46 UTC", "firma elettronica qualificata"},
		},
		"own anchor": {
			change(report.TotalPassed, "", func(*report.Report, *report.Conclusion) {}), report.OutcomeValid,
			[]string{"VALID (PAdES", "[test certificate]", "certificate of your own", "not known to be qualified: only a trusted list can say so"},
			[]string{"certificato aggiunto qui"},
		},
		"no lists": {
			change(report.Indeterminate, report.NoCertificateChainFound, func(*report.Report, *report.Conclusion) {}), report.OutcomeUndetermined,
			[]string{"UNDETERMINED (PAdES, 1 signature). The content is intact.", "no European trusted list is loaded", "rogito trust update"},
			[]string{"nessun elenco di fiducia europeo è caricato", "rogito trust import"},
		},
		"issuer on no list": {
			change(report.Indeterminate, report.NoCertificateChainFound, func(r *report.Report, _ *report.Conclusion) { r.Facts.TrustState.Lists = lists(at.AddDate(0, -1, 0)) }), report.OutcomeUndetermined,
			[]string{"is on no European trusted list"},
			[]string{"non è in alcun elenco"},
		},
		"list of the country missing": {
			change(report.Indeterminate, report.NoCertificateChainFound, func(r *report.Report, _ *report.Conclusion) {
				r.Facts.TrustState.Lists = lists(at.AddDate(0, -1, 0))
				cert(r).Country = "DE"
			}), report.OutcomeUndetermined,
			[]string{"the trusted list of Germany could not be had"},
			[]string{"Germania"},
		},
		"stale lists": {
			change(report.Indeterminate, report.TryLater, func(r *report.Report, c *report.Conclusion) {
				listed(r, c)
				r.Facts.TrustState.Lists = lists(at.AddDate(-1, 0, 0))
			}), report.OutcomeUndetermined,
			[]string{"are old (of 15 November 2025)", "To renew them"},
			[]string{"sono vecchi (del 15 novembre 2025)"},
		},
		"network forbidden": {
			change(report.Indeterminate, report.CertificateChainGeneral, func(r *report.Report, _ *report.Conclusion) { r.Facts.TrustState.Offline = true }), report.OutcomeUndetermined,
			[]string{"There is no revocation data", "fetching is forbidden"},
			[]string{"Mancano i dati di revoca per <b>.", "è vietato"},
		},
		"changed content": {
			change(report.TotalFailed, report.HashFailure, func(_ *report.Report, c *report.Conclusion) { c.Signature.References[0].Intact = ades.No }), report.OutcomeInvalid,
			[]string{"NOT VALID (PAdES, 1 signature). The content is NOT intact."},
			[]string{"NON VALIDA", "Il contenuto NON è integro."},
		},
		"forbidden change": {
			sample(report.TotalFailed, report.FormatFailure), report.OutcomeInvalid,
			[]string{"What was signed is intact, but the document was changed after signing.", "does not allow: a page was added."},
			[]string{"non ammette"},
		},
		"unexplained change": {
			change(report.Indeterminate, report.SigConstraintsFailure, func(_ *report.Report, c *report.Conclusion) {
				c.Signature.PDF.Changes = []ades.Change{{Unexplained: true, Description: "an unknown key"}}
			}), report.OutcomeUndetermined,
			[]string{"cannot be explained", "nothing shows that it is harmless: an unknown key."},
			[]string{"innocua"},
		},
		"ambiguous": {
			change(report.TotalFailed, report.FormatFailure, func(_ *report.Report, c *report.Conclusion) {
				p := finding.PDFTwoReadings.Problem("", "object 5 0 is not closed by endobj")
				c.Signature.Problems = []ades.Problem{p}
				c.Messages = []report.Message{{Severity: report.SeverityError, Block: "FC", Text: p.Text, Code: p.Code, Values: p.Values}}
			}), report.OutcomeInvalid,
			[]string{"nobody can say what was signed"},
			[]string{"i lettori mostrano cose diverse di ciò che è stato firmato: object 5 0 is not closed by endobj"},
		},
		"over budget": {
			change(report.TotalFailed, report.FormatFailure, func(_ *report.Report, c *report.Conclusion) {
				c.Messages = []report.Message{{Severity: report.SeverityError, Block: "FC", Text: "too much", Code: finding.TooMuch.Code}}
			}), report.OutcomeInvalid,
			[]string{"more than one verification may spend"},
			[]string{"possa spendere"},
		},
		"part": {
			change(report.TotalPassed, "", func(r *report.Report, _ *report.Conclusion) {
				r.Conclusions.Indication, r.Conclusions.Partial, r.Conclusions.Uncovered = report.Indeterminate, true, []string{"extra.txt"}
			}), report.OutcomeUndetermined,
			[]string{"VALID FOR A PART (PAdES, 1 signature). What is signed is intact.", "nobody signed extra.txt", "expectFile"},
			[]string{"VALIDA SOLO IN PARTE", "nessuno ha firmato extra.txt"},
		},
		"detached content missing": {
			change(report.Indeterminate, report.SignedDataNotFound, func(_ *report.Report, c *report.Conclusion) { c.Signature.References[0].Intact = ades.Unknown }), report.OutcomeUndetermined,
			[]string{"Whether the content is intact cannot be told.", "--detached"},
			[]string{"Non si può dire se il contenuto sia integro."},
		},
		"expired": {
			change(report.Indeterminate, report.OutOfBoundsNoPOE, func(*report.Report, *report.Conclusion) {}), report.OutcomeUndetermined,
			[]string{"--at"},
			[]string{"verifyOnDate"},
		},
		"not signed": {
			none(nil, &report.Conclusions{Indication: report.Indeterminate}), report.OutcomeInvalid,
			[]string{"f.pdf: NOT SIGNED\nNobody signed this document.\nThere is nothing to verify."},
			[]string{"NON FIRMATO"},
		},
		"zip": {
			none(&report.Facts{Layers: []*report.Layer{{Document: &ades.Document{Format: ades.ZIP, Parts: make([]ades.Part, 3)}}}}, &report.Conclusions{Indication: report.Indeterminate}), report.OutcomeInvalid,
			[]string{"NOT SIGNED (zip archive, 3 files)", "recursive"},
			[]string{"archivio zip, 3 file"},
		},
		"broken": {
			none(nil, &report.Conclusions{Indication: report.TotalFailed, Messages: []report.Message{{Severity: report.SeverityError, Code: "MALFORMED", Values: []string{"CMS", "SignedData: unexpected tag"}}}}), report.OutcomeInvalid,
			[]string{"NOT VALID, the file is broken", "malformed CMS (SignedData: unexpected tag)."},
			[]string{"il file è danneggiato", "CMS malformato (SignedData: unexpected tag)."},
		},
		"time-stamp alone": {
			none(stampFacts(ades.TST), &report.Conclusions{Indication: report.Indeterminate, TimestampsVerified: true, Timestamps: []*report.Conclusion{{Indication: report.Passed, Timestamp: token}}}), report.OutcomeValid,
			[]string{"VALID TIME-STAMP (TST, 1 time-stamp). The content is intact.", "Time-stamped by an unknown authority on 15 November 2026, 03:46 UTC."},
			[]string{"MARCA TEMPORALE VALIDA"},
		},
		"time-stamp alone, undetermined": {
			none(stampFacts(ades.TST), &report.Conclusions{Indication: report.Indeterminate, Timestamps: []*report.Conclusion{{Indication: report.Indeterminate, SubIndication: report.NoCertificateChainFound, Timestamp: token}}}), report.OutcomeUndetermined,
			[]string{"TIME-STAMP UNDETERMINED", "no European trusted list is loaded"},
			[]string{"MARCA TEMPORALE NON DETERMINABILE"},
		},
		"time-stamps in a PDF": {
			none(stampFacts(ades.PAdES), &report.Conclusions{Indication: report.Indeterminate, TimestampsVerified: true, Timestamps: []*report.Conclusion{{Indication: report.Passed, Timestamp: token}}}), report.OutcomeInvalid,
			[]string{"VALID TIME-STAMP (PAdES, 1 time-stamp). Nobody signed it."},
			[]string{"MARCA TEMPORALE VALIDA (PAdES, 1 marca temporale). Nessuno lo ha firmato."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.r.Outcome(); got != row.outcome {
				t.Errorf("outcome %d, want %d", got, row.outcome)
			}
			for lang, want := range map[Lang][]string{English: row.want, Italian: row.italian} {
				var b bytes.Buffer
				if err := WriteText(&b, row.r, "f.pdf", lang); err != nil {
					t.Fatal(err)
				}
				lines := strings.Join(strings.SplitN(b.String(), "\n", 4)[:3], "\n")
				for _, w := range want {
					if !strings.Contains(lines, w) {
						t.Errorf("%q is not in\n%s", w, lines)
					}
				}
				if m := Verdict(row.r, lang); !strings.HasSuffix(m, ".") || strings.Contains(m, "  ") {
					t.Errorf("message %q", m)
				}
			}
		})
	}
}

func TestHTMLEscapes(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHTML(&b, sample(report.TotalFailed, report.FormatFailure), "<i>.pdf", Italian); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<script>") || strings.Contains(b.String(), "<i>") || !strings.Contains(b.String(), "MODIFICA NON AMMESSA") {
		t.Error("a name reaches the page as markup, or a change is not shown")
	}
}

func TestETSIIsWellFormed(t *testing.T) {
	var b bytes.Buffer
	if err := WriteETSI(&b, sample(report.TotalFailed, report.FormatFailure)); err != nil {
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
	r := sample(report.Indeterminate, report.TryLater)
	for i := range 200 {
		r.Conclusions.Signatures[0].Messages = append(r.Conclusions.Signatures[0].Messages, report.Message{Severity: report.SeverityWarning, Text: fmt.Sprintf("%03d ", i) + strings.Repeat("è (parenthesis) ", 20)})
	}
	var b bytes.Buffer
	if err := WritePDF(&b, r, "f.pdf", English); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("/Contents")); n < 3 {
		t.Errorf("%d pages", n)
	}
}

func TestWire(t *testing.T) {
	b := wire(t, sample(report.Indeterminate, report.TryLater), true)
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
	if b := wire(t, sample(report.Indeterminate, report.TryLater), false); bytes.Contains(b, []byte("plainDocument")) {
		t.Errorf("plainDocument although nobody asked for it: %s", b)
	}
}

func wire(t *testing.T, r *report.Report, plain bool) []byte {
	t.Helper()
	v, err := r.View(plain, "en")
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
	r := sample(report.Indeterminate, report.TryLater)
	c := r.Conclusions.Signatures[0]
	stamp := &ades.Timestamp{ID: ades.FactID([]byte("token")), Kind: ades.SignatureTimestamp, Time: at, Token: []byte("token"), Covers: []string{c.ID, c.Path[0], "gone"}}
	c.Timestamps = []*report.Conclusion{{ID: stamp.ID, Indication: report.Passed, Timestamp: stamp}, {ID: stamp.ID, Indication: report.Passed, Timestamp: stamp}}
	c.Proven, c.RevokedAt = true, at
	c.Path = append(c.Path, "gone")
	r.Facts.Revocations = map[string][]*report.Revocation{c.Path[0]: {{ID: ades.FactID([]byte("list")), Kind: "crl", Status: "revoked", Reason: 1}}}
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
	empty := &report.Report{Facts: new(report.Facts), Conclusions: &report.Conclusions{Indication: report.Indeterminate}}
	if err := WriteETSI(&b, empty); err != nil || !strings.Contains(b.String(), "mainindication:indeterminate") {
		t.Errorf("no report on nothing: %v", err)
	}
}

// etsiIDs counts the ids of a report, and what refers to them.
func etsiIDs(t *testing.T, r *report.Report) (ids, refs map[string]int) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteETSI(&b, r); err != nil {
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

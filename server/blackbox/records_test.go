package blackbox

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store"
)

// The shape of a record in each of its states, in the answer and afterwards.
func testRecordStates(t *testing.T, w *world) {
	g := w.tenant(t)
	words := m{"title": "a title", "description": "a description"}
	same := func(what string, a *answer, r *record) {
		t.Helper()
		for _, path := range []string{"", "/detail", "/"} {
			again := g.ok(nil, "GET", "/signatures/"+r.ID+path, nil)
			if string(again.Data) != string(a.Data) || again.Message != "" {
				t.Errorf("%s%s: %s, was %s", what, path, again.Data, a.Data)
			}
		}
	}
	whole := func(r *record, state string) bool {
		d := r.Document
		return r.State == state && deref(d.Title) == "a title" && deref(d.Description) == "a description" && len(d.InputDocuments) == 1 &&
			(d.ValidatedDocument != nil) && (d.SignedDocument != nil) == (state == "DONE") && (r.ErrorNumber != nil) == (state == "ERROR")
	}

	// Synchronous, and it is done.
	r := &record{}
	a := g.ok(r, "POST", "/EU-QES_automatic", g.body(b64(samplePDF), words))
	if a.Message != "Created" || !whole(r, "DONE") || r.CertificateType != "EU-QES_automatic" || !idForm.MatchString(r.ID) ||
		moment(t, r.UpdatedAt).Before(moment(t, r.CreatedAt)) || time.Since(moment(t, r.CreatedAt)) > time.Minute {
		t.Errorf("DONE: %s", a.Body)
	}
	same("DONE", a, r)

	// Synchronous, and it went wrong: still a success of the call.
	r = &record{}
	a = g.ok(r, "POST", "/EU-QES_automatic", g.body(b64(samplePDF), words, m{"certificatePassword": "wrong"}))
	if r.State != "ERROR" || r.number() != 110 || a.Message != deref(r.ErrorMessage) || len(r.Document.InputDocuments) != 1 || r.Document.ValidatedDocument != nil {
		t.Errorf("ERROR: %s", a.Body)
	}
	if again := g.ok(nil, "GET", "/signatures/"+r.ID, nil); string(again.Data) != string(a.Data) {
		t.Errorf("ERROR: %s, was %s", again.Data, a.Data)
	}

	// Validation later: nothing is known yet.
	url, release := w.web.hold("/records.pdf", samplePDF)
	r = &record{}
	a = g.ok(r, "POST", "/EU-QES_automatic", g.body(url, words, options(m{"asyncDocumentsValidation": true})))
	if a.Message != "Created" || r.State != "WAIT_VALIDATION" || r.SignatureType != nil || !bytes.Contains(a.Body, []byte(`"document":{}`)) || len(r.Options) != 2 {
		t.Errorf("WAIT_VALIDATION: %s", a.Body)
	}
	later := &record{}
	a = g.ok(later, "GET", "/signatures/"+r.ID, nil)
	if later.State != "WAIT_VALIDATION" || deref(later.Document.Title) != "a title" || later.Document.InputDocuments != nil || later.SignatureType != nil {
		t.Errorf("WAIT_VALIDATION, in detail: %s", a.Body)
	}
	for _, which := range []string{"signedDocument", "validatedDocument"} {
		g.no(409, 143, "GET", "/signatures/"+r.ID+"/"+which, nil, "WAIT_VALIDATION")
	}
	release()
	if later = g.wait(r.ID); !whole(later, "DONE") || deref(later.SignatureType) != "pades" || later.Options["achievedLevel"] != "B" {
		t.Errorf("then: %s", later.says())
	}

	// Signing later.
	r = &record{}
	a = g.ok(r, "POST", "/EU-QES_automatic", g.body(b64(samplePDF), words, options(m{"asyncSignature": true})))
	if a.Message != "Created" || !whole(r, "WAIT_SIGN") || deref(r.SignatureType) != "pades" || r.Options["achievedLevel"] != nil || r.Options["level"] != "B" {
		t.Errorf("WAIT_SIGN: %s", a.Body)
	}
	if later = g.wait(r.ID); !whole(later, "DONE") {
		t.Errorf("then: %s", later.says())
	}

	// Both later, and it goes wrong.
	r = g.sign(b64(brokenPDF), words, options(m{"asyncDocumentsValidation": true, "asyncSignature": true}))
	if later = g.wait(r.ID); r.State != "WAIT_VALIDATION" || later.State != "ERROR" || later.number() != 113 || later.Document.SignedDocument != nil {
		t.Errorf("both later: %s, %s", r.says(), later.says())
	}

	// Without words.
	r = g.sign(b64(sampleTXT))
	if r.Document.Title == nil || r.Document.Description == nil || *r.Document.Title+*r.Document.Description != "" {
		t.Errorf("no title: %+v", r.Document)
	}
}

// The list of records: newest first, in pages, by state, kind and format.
func testRecordList(t *testing.T, w *world) {
	g := w.tenant(t)
	if a := g.ok(nil, "GET", "/signatures", nil); string(a.Data) != "[]" || a.Message != "" {
		t.Errorf("an empty list: %s", a.Body)
	}
	otp, seal := g.issue("otp", m{}), g.issue("eseal", m{})
	r := func(path string, body m) string {
		var r record
		g.ok(&r, "POST", path, body)
		return r.ID
	}
	pades := r("/EU-QES_automatic", g.body(b64(samplePDF), m{"title": "first"}))
	cades := r("/EU-QES_otp", otp.body(b64(sampleTXT)))
	xades := r("/EU-QES_eseal", seal.body(b64(sampleXML)))
	pkcs1 := r("/EU-QES_automatic", g.body(b64(sampleTXT), m{"signatureType": "pkcs1"}))
	wrong := r("/EU-QES_automatic", g.body(b64(brokenPDF)))
	asks := r("/EU-QES_otp", g.issue("otp", m{"securityLevel": 5}).body(b64(sampleTXT)))
	url, release := w.web.hold("/list.txt", sampleTXT)
	waits := r("/EU-QES_automatic", g.body(url, options(m{"asyncDocumentsValidation": true})))
	all := []string{waits, asks, wrong, pkcs1, xades, cades, pades}
	for query, want := range map[string][]string{
		"": all, "?limit=3": all[:3], "?skip=2&limit=2": all[2:4], "?skip=100": {}, "?limit=100&skip=0": all,
		"?state=DONE": {pkcs1, xades, cades, pades}, "?state=ERROR": {wrong}, "?state=WAIT_VALIDATION": {waits}, "?state=WAIT_SIGN": {asks}, "?state=WAIT_SIGNER": {},
		"?certificateType=EU-QES_automatic": {waits, wrong, pkcs1, pades}, "?certificateType=EU-QES_otp": {asks, cades}, "?certificateType=EU-QES_eseal": {xades},
		"?signatureType=pades": {wrong, pades}, "?signatureType=cades": {asks, cades}, "?signatureType=xades": {xades}, "?signatureType=pkcs1": {pkcs1},
		"?signatureType=pades&state=DONE&certificateType=EU-QES_automatic": {pades}, "?signatureType=xades&state=ERROR": {},
	} {
		var list []record
		g.ok(&list, "GET", "/signatures"+query, nil)
		got := []string{}
		for _, r := range list {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	var list []record
	g.ok(&list, "GET", "/signatures", nil)
	last, bad, open := list[6], list[2], list[0]
	if last.DocumentTitle != "first" || last.State != "DONE" || deref(last.SignatureType) != "pades" || last.CertificateType != "EU-QES_automatic" || last.ErrorNumber != nil ||
		moment(t, last.CreatedAt).After(moment(t, last.UpdatedAt)) || bad.number() != 113 || deref(bad.ErrorMessage) == "" || open.SignatureType != nil {
		t.Errorf("%+v", list)
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "skip=-1", "skip=x", "state=done", "state=NEW", "certificateType=otp", "signatureType=PADES"} {
		name, _, _ := strings.Cut(query, "=")
		g.no(422, 160, "GET", "/signatures?"+query, nil, name)
	}
	if a := g.do("GET", "/signatures", `{"a":`); a.Status != 200 {
		t.Errorf("a body on GET: %d", a.Status) // it is ignored
	}
	release()
	g.wait(waits)
}

// Documents: the bytes, whatever Accept says; what there is not is said.
func testDownloads(t *testing.T, w *world) {
	g := w.tenant(t)
	r, signed := g.signed(b64(samplePDF))
	for _, accept := range []string{"", "application/json", "*/*", "application/octet-stream", "text/html", "application/pdf"} {
		for which, want := range map[string][]byte{"signedDocument": signed, "validatedDocument": samplePDF} {
			a := g.raw("GET", "/signatures/"+r.ID+"/"+which, nil, "Accept", accept)
			if a.Status != 200 || !bytes.Equal(a.Body, want) || a.Header.Get("Content-Type") != "application/pdf" || a.Header.Get("Content-Length") != fmt.Sprint(len(want)) || a.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s as %q: %d %v", which, accept, a.Status, a.Header)
			}
		}
	}
	if a := g.raw("GET", "/signatures/"+r.ID+"/validatedDocument", nil); !strings.Contains(a.Header.Get("Content-Disposition"), "filename="+r.Document.InputDocuments[0].Name) {
		t.Errorf("%v", a.Header)
	}
	if a := g.raw("HEAD", "/signatures/"+r.ID+"/signedDocument", nil); a.Status != 200 || len(a.Body) != 0 || a.Header.Get("Content-Length") != fmt.Sprint(len(signed)) {
		t.Errorf("HEAD: %d %v", a.Status, a.Header)
	}
	if two, _ := g.signed([]string{b64(sampleTXT), b64(samplePDF)}); !bytes.HasPrefix(g.download(two, "validatedDocument"), []byte("PK")) {
		t.Error("the one document to sign is no zip")
	}
	for _, path := range []string{"", "/detail", "/signedDocument", "/validatedDocument", "/audit", "/auditTrail"} {
		g.no(400, 141, "GET", "/signatures/xyz"+path, nil)
		g.no(400, 141, "GET", "/signatures/"+strings.ToUpper(r.ID)+path, nil)
		g.no(404, 140, "GET", "/signatures/"+store.NewID()+path, nil)
		w.guest(t, w.other).no(404, 140, "GET", "/signatures/"+r.ID+path, nil)
	}
	for _, action := range []string{"nonsense", "Detail", "signeddocument"} {
		g.no(404, 142, "GET", "/signatures/"+r.ID+"/"+action, nil, "actionType")
	}
	g.no(405, 102, "POST", "/signatures/"+r.ID+"/detail", m{})
	g.no(405, 102, "PUT", "/signatures/"+r.ID, m{})
	g.no(405, 102, "GET", "/EU-QES_automatic", nil)
	g.no(404, 102, "GET", "/signatures/"+r.ID+"/detail/more", nil)
}

// The audit trail: every step, in order, in four forms.
func testAuditTrail(t *testing.T, w *world) {
	g := w.tenant(t)
	h := w.web.hook("audit", nil)
	r, _ := g.signed([]any{b64(samplePDF), w.web.URL + "/doc.pdf"}, options(m{"level": "LTA"}), m{"title": "<script>alert(1)</script>", "callback": m{"url": h.url}})
	h.wait(t, 1)
	g.download(r, "validatedDocument")
	type event struct {
		ID, CreatedAt, Log, Kind, Digest string
		Sequence                         *int64
		Detail                           m
	}
	var trail struct {
		SignatureData record
		AuditData     []event
	}
	// The log's keeper numbers events, and callbacks are told, a moment later.
	whole := func() bool {
		return slices.ContainsFunc(trail.AuditData, func(e event) bool { return e.Kind == "callback" }) &&
			!slices.ContainsFunc(trail.AuditData, func(e event) bool { return e.Sequence == nil })
	}
	for range await.Within(await.Limit) {
		if whole() {
			break
		}
		g.ok(&trail, "GET", "/signatures/"+r.ID+"/audit", nil)
	}
	kinds, at := "", ""
	for _, e := range trail.AuditData {
		kinds += e.Kind + " "
		if !idForm.MatchString(e.ID) || e.Log == "" || len(e.Digest) != 64 || e.Sequence == nil || moment(t, e.CreatedAt).Before(moment(t, r.CreatedAt)) || e.CreatedAt < at {
			t.Errorf("%+v", e)
		}
		at = e.CreatedAt
	}
	order := []string{"request", "input", "input", "validation", "key-use", "signature", "timestamp", "timestamp", "signed"}
	if !strings.HasPrefix(kinds, strings.Join(order, " ")) || strings.Count(kinds, "download") != 2 || strings.Count(kinds, "callback") != 1 {
		t.Errorf("events: %s", kinds)
	}
	first := trail.AuditData[0]
	if !strings.Contains(first.Log, "127.0.0.1") {
		t.Errorf("the request does not name its caller: %s", first.Log)
	}
	text := fmt.Sprint(trail.AuditData)
	for what, want := range map[string]string{
		"digest of the first input": r.Document.InputDocuments[0].SHA256, "old digest of the first input": r.Document.InputDocuments[0].MD5, "digest of the second": r.Document.InputDocuments[1].SHA256,
		"digest of what is validated": r.Document.ValidatedDocument.SHA256, "digest of what is signed": r.Document.SignedDocument.SHA256, "serial number": "erial",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the trail has no %s", what)
		}
	}
	for _, e := range trail.AuditData {
		switch e.Kind {
		case "signature":
			repeatSignature(t, e.Detail)
		case "timestamp":
			token, err := base64.StdEncoding.DecodeString(fmt.Sprint(e.Detail["token"]))
			imprint, _ := hex.DecodeString(fmt.Sprint(e.Detail["imprint"]))
			if err != nil || len(imprint) != 32 || !bytes.Contains(token, imprint) {
				t.Errorf("the time-stamp cannot be repeated: %v", e.Detail)
			}
		}
	}
	if trail.SignatureData.ID != r.ID || trail.SignatureData.State != "DONE" {
		t.Errorf("%+v", trail.SignatureData)
	}
	for _, path := range []string{"/audit", "/auditTrail"} {
		for accept, want := range map[string]struct{ mediaType, has string }{
			"":                                     {"application/json", `"AuditData"`},
			"*/*":                                  {"application/json", `"AuditData"`},
			"application/json":                     {"application/json", `"AuditData"`},
			"image/png":                            {"application/json", `"AuditData"`},
			"text/plain":                           {"text/plain; charset=utf-8", "SignatureAuditReport:"},
			"text/html":                            {"text/html; charset=utf-8", "<title>Signature Data</title>"},
			"application/pdf":                      {"application/pdf", "%PDF-"},
			"text/html;q=0.1,application/pdf;q=.9": {"application/pdf", "%PDF-"},
		} {
			a := g.raw("GET", "/signatures/"+r.ID+path, nil, "Accept", accept)
			if a.Status != 200 || a.Header.Get("Content-Type") != want.mediaType || !bytes.Contains(a.Body, []byte(want.has)) || bytes.Contains(a.Body, []byte("<script")) && strings.Contains(want.mediaType, "html") {
				t.Errorf("%s as %q: %d %s %.80q", path, accept, a.Status, a.Header.Get("Content-Type"), a.Body)
			}
		}
	}
	for lang, want := range map[string]string{"it": "Certificato di completamento", "en": "Certificate of completion"} {
		if a := g.raw("GET", "/signatures/"+r.ID+"/audit", nil, "Accept", "text/html", "Accept-Language", lang); !bytes.Contains(a.Body, []byte(want)) {
			t.Errorf("in %s: %.200q", lang, a.Body)
		}
	}
	sealed := g.raw("GET", "/signatures/"+r.ID+"/audit", nil, "Accept", "application/pdf")
	if v := g.verify(sealed.Body); !v.OverallVerified {
		t.Errorf("the seal: %+v", v)
	}
	w.nodes[0].run("audit", "verify")
}

// repeatSignature checks a signature with nothing but what the trail tells.
func repeatSignature(t *testing.T, detail m) {
	t.Helper()
	text, err := json.Marshal(detail)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Certificates      [][]byte
		Revocation        []m
		ToBeSigned, Value []byte
		Level             string
	}
	if err := json.Unmarshal(text, &d); err != nil || len(d.Certificates) < 2 || len(d.Revocation) == 0 || d.Level != "LTA" {
		t.Fatalf("%v: %.400s", err, text)
	}
	var chain []*x509.Certificate
	for _, der := range d.Certificates {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, c)
	}
	if err := chain[0].CheckSignature(x509.ECDSAWithSHA256, d.ToBeSigned, d.Value); err != nil {
		t.Errorf("the signature cannot be repeated: %v", err)
	}
	if err := chain[0].CheckSignatureFrom(chain[1]); err != nil {
		t.Errorf("the chain: %v", err)
	}
}

// Deletion: everything goes but its place in the log.
func testDeletion(t *testing.T, w *world) {
	g := w.tenant(t)
	h := w.web.hook("deleted", nil)
	r, _ := g.signed(b64(samplePDF), m{"callback": m{"url": h.url}})
	h.wait(t, 1)
	var deliveries []m
	g.ok(&deliveries, "GET", "/callbacks", nil)
	g.no(400, 141, "DELETE", "/signatures/xyz", nil)
	g.no(404, 140, "DELETE", "/signatures/"+store.NewID(), nil)
	w.guest(t, w.other).no(404, 140, "DELETE", "/signatures/"+r.ID, nil)
	if a := g.ok(nil, "DELETE", "/signatures/"+r.ID, `{"ignored":`); string(a.Data) != "null" || a.Message != "Deleted" {
		t.Errorf("%s", a.Body)
	}
	for _, path := range []string{"", "/detail", "/signedDocument", "/validatedDocument", "/audit"} {
		g.no(404, 140, "GET", "/signatures/"+r.ID+path, nil)
	}
	g.no(404, 140, "DELETE", "/signatures/"+r.ID, nil)
	for _, path := range []string{"/signatures", "/callbacks"} {
		if a := g.ok(nil, "GET", path, nil); string(a.Data) != "[]" || len(deliveries) != 1 {
			t.Errorf("%s: %s", path, a.Data)
		}
	}
	// One that waits gives its price back, and is never signed.
	before := g.credit()
	url, release := w.web.hold("/deleted.txt", sampleTXT)
	waits := g.sign(url, options(m{"asyncDocumentsValidation": true}))
	g.ok(nil, "DELETE", "/signatures/"+waits.ID, nil)
	release()
	await.Never(t, 100*time.Millisecond, "the record is there again", func() bool { return g.do("GET", "/signatures/"+waits.ID, nil).code() != 140 })
	if g.credit() != before {
		t.Errorf("it cost %v", before-g.credit())
	}
	w.nodes[len(w.nodes)-1].run("audit", "verify")
}

// Signing under an Idempotency-Key, on each endpoint: one record.
func testSigningOnce(t *testing.T, w *world) {
	g := w.tenant(t)
	for _, kind := range kinds {
		c := g.cert
		if kind != "automatic" {
			c = g.issue(kind, m{})
		}
		path, key := "/EU-QES_"+kind, store.NewID()
		url, release := w.web.hold("/once-"+kind, samplePDF)
		body := c.body(url)
		before := g.credit()
		var first *answer
		var running sync.WaitGroup
		running.Go(func() { first = g.do("POST", path, body, "Idempotency-Key", key) })
		await.Until(t, "the document is asked for", func() bool { return len(w.web.visits("/once-"+kind)) > 0 })
		for range w.nodes { // each of them knows
			a := g.do("POST", path, body, "Idempotency-Key", key)
			if a.refused(t, "the first still runs", 409, 150); a.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
		release()
		running.Wait()
		var one, two record
		first.into(t, &one)
		again := g.ok(&two, "POST", path, body, "Idempotency-Key", key)
		if one.State != "DONE" || two.ID != one.ID || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s: %s, then %s", kind, one.says(), two.says())
		}
		g.do("POST", path, with(body, m{"title": "another"}), "Idempotency-Key", key).refused(t, "another body", 422, 151)
		g.do("POST", path, body, "Idempotency-Key", strings.Repeat("k", 256)).refused(t, "a long key", 422, 160)
		if paid := before - g.credit(); fmt.Sprintf("%.3f", paid) != "0.050" {
			t.Errorf("%s: it cost %v", kind, paid)
		}
		g.ok(nil, "DELETE", "/signatures/"+one.ID, nil)
		g.do("POST", path, body, "Idempotency-Key", key).refused(t, "the record is deleted", 404, 140)
	}
	// A record that waits is shown as it is by now.
	key, body := store.NewID(), g.body(b64(sampleTXT), options(m{"asyncSignature": true}))
	one := g.submit(body, "Idempotency-Key", key)
	g.wait(one.ID)
	if two := g.submit(body, "Idempotency-Key", key); one.State != "WAIT_SIGN" || two.ID != one.ID || two.State != "DONE" {
		t.Errorf("%s, then %s", one.says(), two.says())
	}
}

// What signing costs, from what it is paid, and what happens without.
func testSigningCosts(t *testing.T, w *world) {
	g := w.guest(t, w.account(t))
	w.nodes[0].run("wallet", "credit", g.me.Email, "411.12")
	certs := map[string]certificate{}
	for _, kind := range kinds {
		certs[kind] = g.issue(kind, m{})
	}
	g.cert = certs["automatic"]
	paid := func(what string, want float64, do func()) {
		t.Helper()
		before := g.credit()
		do()
		if got := fmt.Sprintf("%.3f", before-g.credit()); got != fmt.Sprintf("%.3f", want) {
			t.Errorf("%s cost %s, want %.3f", what, got, want)
		}
	}
	paid("an error", 0, func() { g.sign(b64(brokenPDF)) })
	paid("an error later", 0, func() { g.wait(g.sign(b64(brokenPDF), options(m{"asyncDocumentsValidation": true})).ID) })
	paid("wrong credentials", 0, func() { g.sign(b64(samplePDF), m{"certificatePassword": "wrong"}) })
	paid("a merger", 0.05, func() { g.sign([]string{b64(samplePDF), b64(samplePDF)}) })
	paid("a signature later", 0.05, func() { g.wait(g.sign(b64(samplePDF), options(m{"asyncSignature": true})).ID) })
	for kind, c := range certs {
		g.do("POST", "/EU-QES_"+kind, c.body(b64(sampleTXT))).refused(t, kind+" without credit", 402, 611, "credit")
	}
	g.do("POST", "/EU-QES_automatic", g.body(b64(sampleTXT), options(m{"asyncSignature": true}))).refused(t, "later, without credit", 402, 611)
	var list []record
	if g.ok(&list, "GET", "/signatures", nil); len(list) != 5 {
		t.Errorf("%d records", len(list))
	}
	w.nodes[0].run("subscription", "create", g.me.Email, "POST:*/EU-QES_automatic", "1", "0.5")
	if r := g.sign(b64(sampleTXT)); r.State != "DONE" || fmt.Sprintf("%.2f", g.credit()) != "0.02" {
		t.Errorf("by subscription: %s, %v left", r.says(), g.credit())
	}
	g.do("POST", "/EU-QES_automatic", g.body(b64(sampleTXT))).refused(t, "a used subscription", 402, 611)
	if g.state(certs["otp"].ID) != "DONE" {
		t.Error("a certificate is lost")
	}
	if a := g.raw("GET", "/wallet/transactions?limit=2&skip=0", nil); a.Status != http.StatusOK {
		t.Errorf("%d", a.Status)
	}
}

package forgery

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/xades"
)

// TestWhoSignedWhat: two people each signed a part. Together they cover the
// document, so it is valid (section 6 of the contract), but no form of the
// report may read as if both had signed all of it.
func TestWhoSignedWhat(t *testing.T) {
	m := &materials{t: t, service: &shared}
	anna, bruno := m.pki.Actor(t, "p256"), m.pki.Actor(t, "rsa3072")
	detached := func(o *rogito.Options) { o.Format, o.XAdES = ades.XAdES, xades.Options{Packaging: xades.Detached} }
	element := func(id string) func(o *rogito.Options) {
		return func(o *rogito.Options) { o.Format, o.XAdES = ades.XAdES, xades.Options{SignElement: id} }
	}
	one := func(b []byte) []ades.File { return []ades.File{{Name: "doc", Source: bytes.NewReader(b)}} }
	a, b := text("a.txt", "I pay 100"), text("b.txt", "I deliver the goods")
	container := func(first, second []ades.File) []byte {
		return archive{members: []member{
			{name: "mimetype", data: []byte(mimeE)},
			{name: "a.txt", data: []byte("I pay 100")},
			{name: "b.txt", data: []byte("I deliver the goods")},
			{name: "META-INF/signatures1.xml", data: wrapASiC(m.signAs(anna, first, detached))},
			{name: "META-INF/signatures2.xml", data: wrapASiC(m.signAs(bruno, second, detached))},
		}}.bytes()
	}
	batch := []byte(`<batch><order Id="o1"><amount>100</amount></order><order Id="o2"><amount>200</amount></order><note Id="o3"/></batch>`)
	xml := m.signAs(bruno, one(m.signAs(anna, one(batch), element("o1"))), element("o2"))
	both := m.signAs(anna, one(m.signAs(bruno, one([]byte("text")), nil)), func(o *rogito.Options) { o.Format = ades.CAdES })
	zipped := archive{members: []member{
		{name: "a.p7m", data: m.signAs(anna, one([]byte("I pay 100")), nil)}, {name: "b.p7m", data: m.signAs(bruno, one([]byte("I deliver")), nil)},
	}}.bytes()
	const none = " No signature covers the whole document."
	const nessuna = " Nessuna firma copre l'intero documento."
	name := map[string]string{"anna": m.nameOf(m.signAs(anna, one([]byte("x")), nil)), "bruno": m.nameOf(m.signAs(bruno, one([]byte("x")), nil))}
	for _, row := range []struct {
		name             string
		data             []byte
		valid            bool
		english, italian string
	}{
		{"a file each", container([]ades.File{a}, []ades.File{b}), true, "anna signed only a.txt; bruno signed only b.txt." + none, "Firma di anna: solo a.txt; Firma di bruno: solo b.txt." + nessuna},
		{"all and one file", container([]ades.File{a, b}, []ades.File{b}), true, "anna signed the whole document; bruno signed only b.txt.", "Firma di anna: l'intero documento; Firma di bruno: solo b.txt."},
		{"both all", container([]ades.File{a, b}, []ades.File{a, b}), true, "Signed by anna and bruno.", "Firmato da anna e bruno."},
		{"an element each, and one of nobody", xml, false, "anna signed only /batch/order[1]; bruno signed only /batch/order[2]." + none, "Firma di anna: solo /batch/order[1]; Firma di bruno: solo /batch/order[2]." + nessuna},
		{"an element each", bytes.Replace(xml, []byte(`<note Id="o3"/>`), nil, 1), true, "anna signed only /batch/order[1]; bruno signed only /batch/order[2]." + none, "Firma di anna: solo /batch/order[1]; Firma di bruno: solo /batch/order[2]." + nessuna},
		{"one text", both, true, "Signed by anna and bruno.", "Firmato da anna e bruno."},
		{"an archive of two", zipped, true, "anna signed only a.p7m; bruno signed only b.p7m." + none, "Firma di anna: solo a.p7m; Firma di bruno: solo b.p7m." + nessuna},
	} {
		put := func(s string) string {
			s = strings.ReplaceAll(strings.ReplaceAll(s, "anna", name["anna"]), "bruno", name["bruno"])
			if strings.HasPrefix(s, "Firma") {
				s = strings.ReplaceAll(s, "fiscal code", "codice fiscale")
			}
			return s
		}
		r := m.verify(row.data)
		if r.Valid() != row.valid {
			t.Errorf("%s: valid %v, want %v: %s", row.name, r.Valid(), row.valid, paper.Verdict(r, paper.English))
		}
		for lang, want := range map[paper.Lang]string{paper.English: put(row.english), paper.Italian: put(row.italian)} {
			if got := paper.Summarize(r, lang).Lines[1]; got != want {
				t.Errorf("%s: the second line is\n%s\nwant\n%s", row.name, got, want)
			}
			var plain bytes.Buffer
			if err := paper.WriteText(&plain, r, "", lang); err != nil || !strings.Contains(plain.String(), want) || !strings.Contains(paper.Verdict(r, lang), want) {
				t.Errorf("%s: text and message do not say %q: %v", row.name, want, err)
			}
		}
		if message := m.message(row.data); !strings.Contains(message, put(row.english)) {
			t.Errorf("%s: POST /verify says %q", row.name, message)
		}
	}
}

// verify asks the library, with archives opened.
func (m *materials) verify(data []byte) *report.Report {
	m.t.Helper()
	store := &trust.Store{Client: m.pki.HTTP()}
	if err := store.AddAnchors(m.pki.RootPEM()); err != nil {
		m.t.Fatal(err)
	}
	r, err := (&rogito.Verifier{Trust: store}).Verify(m.t.Context(), bytes.NewReader(data), rogito.VerifyOptions{Recursive: true})
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// nameOf is how a report names the one signer of a document.
func (m *materials) nameOf(data []byte) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(paper.Summarize(m.verify(data), paper.English).Lines[1], "Signed by "), " on ")
	return name
}

// message is that of POST /verify.
func (m *materials) message(data []byte) string {
	m.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	w, err := form.CreateFormFile("inputDocument", "doc.bin")
	if err != nil {
		m.t.Fatal(err)
	}
	_, _ = w.Write(data)
	_ = form.WriteField("recursive", "true")
	form.Close()
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.base+"/verify", &body)
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+m.token)
	res, err := m.client.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	var envelope struct{ Message string }
	if err := json.Unmarshal(b, &envelope); err != nil {
		m.t.Fatal(err)
	}
	return envelope.Message
}

// A signature that an update removes is reported: the document is not treated as never signed, and
// is never valid.
func TestTakenOut(t *testing.T) {
	m := &materials{t: t, service: &shared}
	base := m.signOne("contract.pdf", pdf(), nil)
	for name, do := range map[string]func(e *editor){
		"the form":             func(e *editor) { e.put(1, "AcroForm", "") },
		"all fields":           func(e *editor) { e.put(6, "Fields", "[]") },
		"the field":            func(e *editor) { e.put(6, "Fields", "[7 0 R 9 0 R]") },
		"the value":            func(e *editor) { e.put(e.ref("AcroForm/Fields/2"), "V", "") },
		"the type of a field":  func(e *editor) { e.put(e.ref("AcroForm/Fields/2"), "FT", "/Tx") },
		"the field, two later": func(e *editor) { e.put(6, "Fields", "[7 0 R 9 0 R]") },
	} {
		data := change(t, base, do)
		if strings.HasSuffix(name, "later") {
			data = change(t, change(t, data, func(e *editor) { e.put(13, "Title", "(a)") }), func(e *editor) { e.put(13, "Title", "(b)") })
		}
		r := m.verify(data)
		for lang, want := range map[paper.Lang][2]string{
			paper.English: {"This document is not signed any more. A signature was taken out of it.", "earlier revision of the document is signed"},
			paper.Italian: {"Questo documento non è più firmato. Ne è stata tolta una firma.", "revisione precedente del documento è firmata"},
		} {
			if got := paper.Verdict(r, lang); r.Valid() || !strings.Contains(got, want[0]) || !strings.Contains(got, want[1]) {
				t.Errorf("%s: valid %v: %s", name, r.Valid(), got)
			}
			if a := paper.AnswersTo(r, lang); !strings.Contains(a.Why, want[1]) {
				t.Errorf("%s: the page says %q", name, a.Why)
			}
		}
	}
	for name, data := range map[string][]byte{"never signed": pdf(), "never signed, updated": change(t, pdf(), func(e *editor) { e.put(13, "Title", "(a)") })} {
		if got := paper.Verdict(m.verify(data), paper.English); !strings.Contains(got, "Nobody signed this document.") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

package forgery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
)

func init() { register("people", makePeople) }

// makePeople forges what two people signed on the pages of the server, one after the
// other: every change that is never permitted behind a plain signature.
func makePeople(t *testing.T, m *materials) []specimen {
	base := m.signedByPeople()
	roots := m.get("/pki/root.pem")
	out := []specimen{{name: "signed by two people", data: base, want: genuine, anchors: roots}}
	for _, ed := range pdfEdits() {
		if ed.under[0] == 'f' {
			out = append(out, specimen{name: ed.name + ", signed by two people", data: change(t, base, ed.do), want: forged, anchors: roots})
		}
	}
	return out
}

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

// signedByPeople has two people open their links, prove their addresses and sign.
func (m *materials) signedByPeople() []byte {
	m.t.Helper()
	type record struct {
		ID, State string
		Signers   []struct{ ID, URL string }
	}
	person := func(order int) map[string]any {
		return map[string]any{
			"name": "Ada", "surname": "Prova", "email": fmt.Sprintf("ada%d@example.org", order), "authentication": []string{"email"}, "order": order,
			"signatures": []any{map[string]any{"page": 1, "x": 150, "y": 60 * order, "width": 120, "height": 40}},
		}
	}
	var r record
	m.call(&r, http.MethodPost, "/EU-SES", map[string]any{"inputDocuments": []any{blank(m.t)}, "signers": []any{person(1), person(2)}, "options": map[string]any{"level": "LT"}})
	until := func(state string) {
		await.Until(m.t, "the record is "+state, func() bool { m.call(&r, http.MethodGet, "/signatures/"+r.ID, nil); return r.State == state })
	}
	until("WAIT_SIGNERS")
	for _, one := range r.Signers {
		jar, err := cookiejar.New(nil)
		if err != nil {
			m.t.Fatal(err)
		}
		browser := &http.Client{Jar: jar}
		post := func(path string, form url.Values) {
			resp, err := browser.PostForm(one.URL+path, form)
			if err != nil {
				m.t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				m.t.Fatalf("%s: %s", path, resp.Status)
			}
		}
		post("/send-code", url.Values{"x": {""}})
		post("/code", url.Values{"code": {m.codeOf(one.ID)}})
		post("/sign", url.Values{"agree": {"on"}})
	}
	until("DONE")
	return m.get("/signatures/" + r.ID + "/signedDocument")
}

// codeOf reads what was sent to a signer.
func (m *materials) codeOf(signer string) (code string) {
	await.Until(m.t, "a code is sent", func() bool {
		files, _ := filepath.Glob(filepath.Join(m.dir, "data", "outbox", "*"+signer+"-code*"))
		if len(files) == 0 {
			return false
		}
		b, err := os.ReadFile(files[0])
		_, text, _ := strings.Cut(string(b), "\r\n\r\n")
		code = sixDigits.FindString(text)
		return err == nil && code != ""
	})
	return code
}

// call calls the server; documents go as base64.
func (m *materials) call(into any, method, path string, body any) {
	m.t.Helper()
	var envelope struct {
		Data    json.RawMessage
		Success bool
	}
	b := m.ask(method, path, body)
	if err := json.Unmarshal(b, &envelope); err != nil || !envelope.Success {
		m.t.Fatalf("%s: %.300s", path, b)
	}
	if err := json.Unmarshal(envelope.Data, into); err != nil {
		m.t.Fatal(err)
	}
}

func (m *materials) get(path string) []byte { return m.ask(http.MethodGet, path, nil) }

func (m *materials) ask(method, path string, body any) []byte {
	m.t.Helper()
	var content io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			m.t.Fatal(err)
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(m.t.Context(), method, m.base+path, content)
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+m.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.client.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		m.t.Fatalf("%s: %s %v %.300s", path, resp.Status, err, b)
	}
	return b
}

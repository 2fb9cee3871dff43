package api_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
)

// A refusal says what was meant; what is ignored is named.
func TestErrorsTeach(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	r := start(t, func(c *server.Config) { c.Data = data })
	box := server.ReadSandbox(data)
	text := base64.StdEncoding.EncodeToString([]byte("a text"))
	sign := func(more string) string {
		return fmt.Sprintf(`{"certificateUsername":%q,"certificatePassword":%q,%s}`, box.Certificates["automatic"].Username, box.Certificates["automatic"].Password, more)
	}
	buy := func(subject string) string { return `{"certificateOwner":"Ada Rossi","subject":{` + subject + `}}` }
	for _, c := range []struct {
		name, method, path, authorization, body string
		status                                  int
		want                                    string
	}{
		{"no Bearer", "GET", "/credit", box.Token, "", 401, "the word Bearer is missing"},
		{"an API key", "GET", "/signatures", "Bearer " + box.APIKey, "", 401, "an API key and no token"},
		{"a route", "GET", "/signature", "", "", 404, "did you mean GET /signatures?"},
		{"a route with an id", "GET", "/signatures/0123456789abcdef01234567/signeddocument", "", "", 404, "did you mean signedDocument?"},
		{"an operation", "POST", "/EU-QES-automatic", "", "{}", 404, "did you mean POST /EU-QES_automatic?"},
		{"nothing near", "GET", "/wp-login.php", "", "", 404, "no such route: GET /wp-login.php"},
		{"a parameter", "GET", "/signatures?limt=5", "", "", 200, "ignored: limt is unknown: did you mean limit?"},
		{"a word of a parameter", "GET", "/signatures?state=done", "", "", 422, "did you mean DONE?"},
		{"a member in place of another", "POST", "/EU-QES_automatic", "", sign(`"documents":["` + text + `"]`), 422, "inputDocuments is required (ignored: documents is unknown: did you mean inputDocuments?)"},
		{"a member outside of options", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["` + text + `"],"level":"B"`), 200, "Created (ignored: level is unknown: did you mean options.level?)"},
		{"a member of another service", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["` + text + `"],"shippingZip":"00100"`), 200, `"message":"Created"`},
		{"the other name", "POST", "/EU-QES_automatic", "", sign(`"inputDocument":["` + text + `"]`), 200, `"message":"Created"`},
		{"a member within", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":[{"payload":"` + text + `","filename":"a.txt"}]`), 200, "ignored: inputDocuments.filename is unknown: did you mean inputDocuments.name?"},
		{"an option", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["` + text + `"],"options":{"leevl":"B"}`), 422, `"message":"options.leevl is unknown: did you mean options.level?"`},
		{"a word of an option", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["` + text + `"],"options":{"level":"lta"}`), 422, "did you mean LTA?"},
		{"a format", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["` + text + `"],"signatureType":"PADES"`), 422, "did you mean pades?"},
		{"a data URL", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["data:text/plain;base64,` + text + `"]`), 200, `"size":6`},
		{"a path", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["./contract.pdf"]`), 422, "inputDocuments[0] is not base64: it seems to be the name of a file"},
		{"a callback to this machine", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["` + text + `"],"callback":{"url":"http://127.0.0.1:9999/hook"}`), 422, "--allow-private 127.0.0.1:9999"},
		{"a callback's member", "POST", "/EU-QES_automatic", "", sign(`"inputDocuments":["` + text + `"],"callback":{"Url":"https://example.org/"}`), 422, "callback.Url is unknown: did you mean callback.url?"},
		{"a data URL to verify", "POST", "/verify", "", `{"inputDocument":"data:text/plain;base64,` + text + `"}`, 200, `"nrOfSignatures":0`},
		{"a path to verify", "POST", "/verify", "", `{"inputDocument":"/home/ada/contract.pdf"}`, 422, "inputDocument is not base64: it seems to be the name of a file"},
		{"the document itself", "POST", "/verify", "", `{"inputDocument":"%PDF-1.7 …"}`, 422, "it seems to be the document itself"},
		{"a language", "POST", "/verify", "", `{"inputDocument":"` + text + `","language":"italiano"}`, 400, "language must be one of en, it"},
		{"a fiscal code", "POST", "/certificates/provider-automatic", "", buy(`"fiscalCode":"RSS MRA"`), 422, "subject.fiscalCode must be 6 to 32 letters and digits"},
		{"a date", "POST", "/certificates/provider-automatic", "", buy(`"dateOfBirth":"31/01/1980"`), 422, "subject.dateOfBirth must be a day, as 1980-01-31"},
		{"an attribute", "POST", "/certificates/provider-automatic", "", buy(`"fiscalcode":"RSSMRA80A01H501U","country":"Italia"`), 422, "subject.country must be two letters (ISO 3166-1), as IT (ignored: subject.fiscalcode is unknown: did you mean subject.fiscalCode?)"},
		{"a long name", "POST", "/certificates/provider-automatic", "", buy(`"surname":"` + strings.Repeat("x", 41) + `"`), 422, "subject.surname is longer than 40 bytes"},
		{"a geometry", "GET", "/IT-omi?latitude=38.6&longitude=17.6&geometry=ful", "", "", 422, "did you mean full?"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, r.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+box.Token)
		if c.authorization != "" {
			req.Header.Set("Authorization", c.authorization)
		}
		if status, body := answered(t, req); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %.600s\nwant %d and %s", c.name, status, body, c.status, c.want)
		}
	}
	for level, want := range map[string]int{`"level":"LTA"`: 400, `"options":{"level":"B"}`: 200} { // at the wrong place, and at the right one
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.URL+"/EU-QES_automatic", strings.NewReader(sign(`"inputDocuments":["`+text+`"],`+level)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+box.Token)
		req.Header.Set("Prefer", "respond-async, Handling=strict")
		if status, body := answered(t, req); status != want || want == 400 && !strings.Contains(body, `"message":"level is unknown: did you mean options.level?"`) {
			t.Errorf("strict, %s: %d %.300s", level, status, body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.URL+"/IT-omi?latitude=38.6&longitude=17.6&semster=2018/2", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+box.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("X-Ignored"); got != "semster" {
		t.Errorf("X-Ignored of a lookup: %q", got)
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("file", "contract.pdf")
	part.Write([]byte("x"))
	w.Close()
	req, err = http.NewRequestWithContext(t.Context(), "POST", r.URL+"/verify", &form)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+box.Token)
	req.Header.Set("Content-Type", w.FormDataContentType())
	if status, body := answered(t, req); status != 422 || !strings.Contains(body, "-F inputDocument=@FILE") || !strings.Contains(body, "file is unknown: known are detachedContent, inputDocument") {
		t.Errorf("a part of another name: %d %s", status, body)
	}
}

func answered(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}

// A client that sends all of its body before it reads is told why it was
// refused, wherever in the body the reason stood.
func TestARefusalIsReadByThoseWhoSendFirst(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	r := start(t, func(c *server.Config) { c.Data, c.Limits.Body = data, 8<<20 })
	box := server.ReadSandbox(data)
	for _, c := range []struct{ name, path, body, want string }{
		{"a million deep", "/EU-QES_automatic", strings.Repeat("[", 4<<20), "nested deeper"},
		{"too large", "/EU-QES_automatic", `{"inputDocuments":"` + strings.Repeat("A", 24<<20) + `"}`, "larger than"},
		{"no such route", "/EU-QES-automatic", strings.Repeat("x", 4<<20), "did you mean"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", c.path, box.Token, len(c.body))
		if _, err := conn.Write([]byte(head + c.body)); err != nil {
			t.Errorf("%s: the body could not be sent: %v", c.name, err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: the refusal could not be read: %v", c.name, err)
		}
		var b bytes.Buffer
		b.ReadFrom(resp.Body)
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: %s", c.name, b.String())
		}
		conn.Close()
	}
}

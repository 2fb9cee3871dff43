package blackbox

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/fault"
)

// Who may call what: tokens, scopes, addresses, administrators, limits.
func testAccess(t *testing.T, w *world) {
	g := w.tenant(t)
	host := w.nodes[0].addr
	calls := []struct{ method, path, segment string }{
		{"POST", "/EU-QES_automatic", "EU-QES_automatic"},
		{"POST", "/EU-QES_otp", "EU-QES_otp"},
		{"POST", "/EU-QES_eseal", "EU-QES_eseal"},
		{"GET", "/signatures", "signatures"},
		{"GET", "/signatures/000000000000000000000000/detail", "signatures"},
		{"DELETE", "/signatures/000000000000000000000000", "signatures"},
		{"GET", "/certificates", "certificates"},
		{"POST", "/certificates/provider-automatic", "certificates"},
		{"POST", "/certificates/000000000000000000000000/suspend", "certificates"},
		{"GET", "/approvals", "approvals"},
		{"POST", "/approvals/000000000000000000000000", "approvals"},
		{"DELETE", "/approvals/000000000000000000000000", "approvals"},
		{"GET", "/client-certificates", "client-certificates"},
		{"POST", "/client-certificates", "client-certificates"},
		{"GET", "/callbacks", "callbacks"},
		{"GET", "/callbacks/secret", "callbacks"},
		{"POST", "/verify", "verify"},
	}
	elsewhere := g.as(g.newToken(m{"limits": m{"ip": []string{"192.0.2.7"}}}).Token)
	for _, c := range calls {
		right := g.as(g.newToken(m{"scopes": []string{c.method + ":" + host + "/" + c.segment}}).Token)
		wrong := g.as(g.newToken(m{"scopes": []string{c.method + ":" + host + "/wallet", "PATCH:*/" + c.segment}}).Token)
		var body any
		if c.method == "POST" {
			body = m{}
		}
		if a := right.do(c.method, c.path, body); a.Status == 401 || a.Status == 403 {
			t.Errorf("%s %s with its scope: %d with %d", c.method, c.path, a.Status, a.code())
		}
		wrong.do(c.method, c.path, body).refused(t, c.path+" without its scope", 403, 126, c.segment)
		elsewhere.do(c.method, c.path, body).refused(t, c.path+" from elsewhere", 403, 127, "127.0.0.1")
		a := g.do(c.method, c.path, body, "Authorization", "Bearer nonsense")
		if a.refused(t, c.path+" with a wrong token", 401, 125); a.Header.Get("WWW-Authenticate") == "" {
			t.Error("401 without WWW-Authenticate")
		}
		g.do(c.method, c.path, body, "Authorization", "").refused(t, c.path+" without a token", 401, 125)
	}
	few := g.as(g.newToken(m{"limits": m{"totalRequests": 2}}).Token)
	few.ok(nil, "GET", "/signatures", nil)
	few.ok(nil, "GET", "/certificates", nil)
	if a := few.do("GET", "/approvals", nil); a.Header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	} else {
		a.refused(t, "over its limit", 429, 130)
	}
	g.do("POST", "/IT-omi/publications", "x", "Content-Type", "multipart/form-data; boundary=x").refused(t, "publications", 403, 131)
}

// Bodies over the limits, in size and in number, are refused as soon as that is
// known.
func testLimits(t *testing.T, w *world) {
	g := w.sandboxed(t)
	for _, path := range []string{"/EU-QES_automatic", "/verify"} {
		// What is announced too large is not read.
		conn, err := tls.Dial("tcp", g.node().addr, &tls.Config{RootCAs: w.lines.pool, MinVersion: tls.VersionTLS12})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", path, bearer(g.me.Token), 256<<20+1)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		conn.Close()
		var a answer
		if json.Unmarshal(body, &a) != nil || resp.StatusCode != 413 || a.code() != 101 {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	// A document of more than 100 MB, in a body that may be larger.
	large := `{"certificateUsername":"x","certificatePassword":"x","inputDocuments":"`
	body := io.MultiReader(strings.NewReader(large), io.LimitReader(endless('A'), 140<<20), strings.NewReader(`"}`))
	req, err := http.NewRequestWithContext(during(t.Context(), t), "POST", g.node().url()+"/EU-QES_automatic", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(large)) + 140<<20 + 2
	req.Header.Set("Authorization", bearer(g.me.Token))
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	var a answer
	if json.Unmarshal(text, &a) != nil || resp.StatusCode != 413 || a.code() != 101 {
		t.Errorf("a large document: %d %s", resp.StatusCode, text)
	}
	g.no(400, 100, "POST", "/EU-QES_automatic", strings.Repeat("[", 100_000))
}

// endless reads one byte for ever.
type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

// The codes of the other areas, so that every row of the table is met.
func testOtherCodes(t *testing.T, w *world) {
	g := w.sandboxed(t)
	for path, code := range map[string]int{
		"latitude=91&longitude=9": 281, "latitude=45&longitude=181": 282, "latitude=45": 283, "latitude=x&longitude=9": 283,
		"latitude=45&longitude=9&semester=1999/1": 284, "latitude=45&longitude=9&geometry=round": 286, "latitude=45&longitude=9&nearest=5000": 286, "latitude=45&longitude=9&format=kml": 286,
	} {
		g.no(422, code, "GET", "/IT-omi?"+path, nil)
	}
	var form bytes.Buffer
	mw := multipart.NewWriter(&form)
	f, _ := mw.CreateFormFile("file", "junk.zip")
	_, _ = f.Write([]byte("no publication"))
	mw.Close()
	a := g.do("POST", "/IT-omi/publications", form.Bytes(), "Content-Type", mw.FormDataContentType())
	a.refused(t, "junk", 422, 287)
	for _, c := range []struct {
		body m
		code int
	}{
		{m{}, 650},
		{m{"inputDocument": "***"}, 650},
		{m{"inputDocument": 7}, 650},
		{m{"inputDocument": b64(samplePDF), "verifyOnDate": "tomorrow"}, 651},
		{m{"inputDocument": b64(samplePDF), "detachedContent": "***"}, 653},
		{m{"inputDocument": b64(samplePDF), "detachedContent": 7}, 653},
	} {
		g.no(422, c.code, "POST", "/verify", c.body)
	}
	g.no(404, 102, "GET", "/nowhere", nil)
	g.no(405, 102, "PATCH", "/signatures", m{})
}

// Errors as RFC 9457 has them, for those who ask.
func testProblems(t *testing.T, w *world) {
	g := w.sandboxed(t)
	for _, c := range []struct {
		method, path string
		body         any
		status, code int
	}{
		{"GET", "/signatures/xyz", nil, 400, 141},
		{"GET", "/signatures?limit=0", nil, 422, 160},
		{"POST", "/EU-QES_automatic", m{}, 422, 615},
		{"POST", "/certificates/acme-automatic", m{"certificateOwner": "x"}, 404, 305},
		{"GET", "/nowhere", nil, 404, 102},
		{"POST", "/EU-QES_otp", `{`, 400, 100},
	} {
		a := g.raw(c.method, c.path, c.body, "Accept", "application/problem+json")
		var p struct {
			Type, Title, Detail, RequestID string
			Status, Code                   int
		}
		if err := json.Unmarshal(a.Body, &p); err != nil || a.Header.Get("Content-Type") != "application/problem+json" || a.Status != c.status || p.Status != c.status ||
			p.Code != c.code || p.Detail == "" || p.Title != fault.Meaning(fault.Code(c.code)) || p.RequestID != a.Header.Get("X-Request-Id") || !strings.HasSuffix(p.Type, fmt.Sprint(c.code)) {
			t.Errorf("%s %s: %d %s", c.method, c.path, a.Status, a.Body)
		}
	}
}

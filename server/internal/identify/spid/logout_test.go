package spid_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

func logoutMessage(kind, issuer, destination string, at time.Time) string {
	inside := `<saml:NameID>x</saml:NameID>`
	if kind == "LogoutResponse" {
		inside = `<samlp:Status><samlp:StatusCode Value="` + saml.Success + `"/></samlp:Status>`
	}
	return fmt.Sprintf(`<samlp:%s xmlns:samlp="%s" xmlns:saml="%s" ID="_logout" Version="2.0" IssueInstant="%s" Destination="%s"><saml:Issuer>%s</saml:Issuer>%s</samlp:%s>`,
		kind, saml.Protocol, saml.Assertion, saml.Instant(at), destination, issuer, inside, kind)
}

func postLogout(param string, message []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, public+"/spid/slo", strings.NewReader(url.Values{param: {base64.StdEncoding.EncodeToString(message)}, "RelayState": {"rs"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func TestLogout(t *testing.T) {
	w := newWorld(t)
	ours, err := pkix.ParseCertificate(pemOf(t, w.cfg.Certificate))
	if err != nil {
		t.Fatal(err)
	}
	request := logoutMessage("LogoutRequest", w.idp.Entity, public+"/spid/slo", time.Now())
	signed, err := w.idp.Signer.Sign(request)
	if err != nil {
		t.Fatal(err)
	}

	d, err := w.sp.Logout(postLogout("SAMLRequest", signed)) // by HTTP-POST
	if err != nil {
		t.Fatal(err)
	}
	answer, err := saml.Decode(d.Form["SAMLResponse"])
	if err != nil {
		t.Fatal(err)
	}
	doc, err := saml.Parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := saml.CheckSigned(doc, doc.Root(), []*pkix.Certificate{ours}); err != nil {
		t.Error(err)
	}
	if root := doc.Root(); !root.Is(saml.Protocol, "LogoutResponse") || root.Attr("InResponseTo") != "_logout" || root.Attr("Destination") != d.URL || d.URL != w.idp.Entity+"/slo" || d.Form["RelayState"] != "rs" {
		t.Errorf("%s to %s", answer, d.URL)
	}

	at, err := w.idp.Signer.RedirectURL(public+"/spid/slo", "SAMLRequest", []byte(request), "r s")
	if err != nil {
		t.Fatal(err)
	}
	d, err = w.sp.Logout(httptest.NewRequest(http.MethodGet, at, nil)) // by HTTP-Redirect
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(d.URL)
	if err != nil || d.Form != nil {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := saml.CheckQuery(u.RawQuery, "SAMLResponse", []*pkix.Certificate{ours}); err != nil || u.Query().Get("RelayState") != "r s" {
		t.Errorf("%s: %v", d.URL, err)
	}

	theirs, err := pkix.ParseCertificate(w.idp.Signer.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	_, good, _ := strings.Cut(at, "?")
	for query, ok := range map[string]bool{
		good: true, good + "&x=y": true, good + "&SAMLRequest=x": false, "RelayState=x&" + good: false,
		good + "&%53igAlg=x": false, "%53AMLRequest=x&" + good: false, good + "&%zz=x": false, "": false,
	} {
		if err := saml.CheckQuery(query, "SAMLRequest", []*pkix.Certificate{theirs}); (err == nil) != ok {
			t.Errorf("%.40s...: %v, want %v", query, err, ok)
		}
	}

	done, err := w.idp.Signer.Sign(logoutMessage("LogoutResponse", w.idp.Entity, public+"/spid/slo", time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := w.sp.Logout(postLogout("SAMLResponse", done)); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	for _, c := range []struct {
		r        *http.Request
		code     int
		contains string
	}{
		{postLogout("SAMLRequest", signed), http.StatusOK, `name="SAMLResponse"`},
		{httptest.NewRequest(http.MethodGet, at, nil), http.StatusFound, ""},
		{postLogout("SAMLResponse", done), http.StatusOK, "You have left"},
		{httptest.NewRequest(http.MethodGet, public+"/spid/slo", nil), http.StatusBadRequest, `id="problem"`},
	} {
		rw := httptest.NewRecorder()
		w.sp.ServeLogout(rw, c.r)
		if rw.Code != c.code || !strings.Contains(rw.Body.String(), c.contains) {
			t.Errorf("%d %s, want %d", rw.Code, rw.Body, c.code)
		}
	}
}

func TestLogoutThatIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	now, slo := time.Now(), public+"/spid/slo"
	good := logoutMessage("LogoutRequest", w.idp.Entity, slo, now)
	sign := func(s saml.Signer, message string) []byte {
		out, err := s.Sign(message)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	query := func(s saml.Signer, param, message string) *http.Request {
		at, err := s.RedirectURL(slo, param, []byte(message), "rs")
		if err != nil {
			t.Fatal(err)
		}
		return httptest.NewRequest(http.MethodGet, at, nil)
	}
	changed := func(change func(string) string) *http.Request {
		r := query(w.idp.Signer, "SAMLRequest", good)
		r.URL.RawQuery = change(r.URL.RawQuery)
		return r
	}
	for name, r := range map[string]*http.Request{
		"not signed":                  postLogout("SAMLRequest", []byte(good)),
		"signed by another":           postLogout("SAMLRequest", sign(w.other.Signer, good)),
		"for another address":         postLogout("SAMLRequest", sign(w.idp.Signer, logoutMessage("LogoutRequest", w.idp.Entity, slo+"x", now))),
		"of a stranger":               postLogout("SAMLRequest", sign(w.idp.Signer, logoutMessage("LogoutRequest", "https://stranger.example", slo, now))),
		"old":                         postLogout("SAMLRequest", sign(w.idp.Signer, logoutMessage("LogoutRequest", w.idp.Entity, slo, now.Add(-time.Hour)))),
		"of the future":               postLogout("SAMLRequest", sign(w.idp.Signer, logoutMessage("LogoutRequest", w.idp.Entity, slo, now.Add(time.Hour)))),
		"an answer for a request":     postLogout("SAMLRequest", sign(w.idp.Signer, logoutMessage("LogoutResponse", w.idp.Entity, slo, now))),
		"an answer that is unsigned":  postLogout("SAMLResponse", []byte(logoutMessage("LogoutResponse", w.idp.Entity, slo, now))),
		"a query signed by another":   query(w.other.Signer, "SAMLRequest", good),
		"a query that is not signed":  changed(func(q string) string { before, _, _ := strings.Cut(q, "&Signature"); return before }),
		"a query with another state":  changed(func(q string) string { return strings.Replace(q, "RelayState=rs", "RelayState=xx", 1) }),
		"a query without its state":   changed(func(q string) string { return strings.Replace(q, "RelayState=rs&", "", 1) }),
		"a query with two states":     changed(func(q string) string { return q + "&RelayState=xx" }),
		"a query with two requests":   changed(func(q string) string { return q + "&SAMLRequest=xx" }),
		"a query with another method": changed(func(q string) string { return strings.Replace(q, "rsa-sha256", "hmac-sha256", 1) }),
		"a query with SHA-1": changed(func(q string) string {
			return strings.Replace(q, "2001%2F04%2Fxmldsig-more%23rsa-sha256", "2000%2F09%2Fxmldsig%23rsa-sha1", 1)
		}),
		"a query that unpacks to a lot": query(w.idp.Signer, "SAMLRequest", strings.Repeat(" ", 10<<20)),
		"an enveloped signature alone":  changed(func(string) string { return "SAMLRequest=" + url.QueryEscape(deflated(t, w, sign(w.idp.Signer, good))) }),
	} {
		t.Run(name, func(t *testing.T) {
			d, err := w.sp.Logout(r)
			if d != nil {
				t.Errorf("answered with %+v", d)
			}
			refused(t, nil, err, "logout")
		})
	}
}

// deflated is a message as the Redirect binding packs it.
func deflated(t *testing.T, w *world, message []byte) string {
	t.Helper()
	at, err := w.idp.Signer.RedirectURL("https://x.example", "SAMLRequest", message, "")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("SAMLRequest")
}

func pemOf(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	return block.Bytes
}

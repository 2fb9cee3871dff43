package browser

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/film/filmtest"
)

// The pages behind a certificateLink: who the holder is, approval in the sandbox,
// the credentials once, and a link that leads nowhere.
func TestEnrolPages(t *testing.T) {
	s := startServer(t, "ROGITO_IDENTIFY_DEMO=true")
	for i, h := range []how{{Lang: "en"}, {Lang: "it", Width: 320}, {Lang: "it", Dark: true}, {Lang: "en", NoScripts: true, Forced: true, Same: true, Zoom: 4, Width: 1280, Height: 1024}} {
		var made struct {
			Data struct{ CertificateLink string }
		}
		body, _ := json.Marshal(map[string]any{"certificateOwner": "Ada <b>Prova</b>"})
		kind := []string{"otp", "automatic"}[i%2]
		if err := json.Unmarshal(s.api(t, http.MethodPost, "/certificates/namirial-"+kind, body), &made); err != nil || made.Data.CertificateLink == "" {
			t.Fatalf("%+v %v", made, err)
		}
		b := open(t, s, h)
		b.goTo(made.Data.CertificateLink)
		b.sound("enrol-start")
		for _, step := range []string{"choose", "spid", "video"} {
			b.goTo(made.Data.CertificateLink + "/" + step)
			b.sound("enrol-" + step)
		}
		b.goTo(made.Data.CertificateLink)
		b.loading(func() { b.click("#approve") })
		b.wait("#certificate-username")
		b.sound("enrol-credentials")
		b.goTo(made.Data.CertificateLink)
		b.sound("enrol-shown")
		b.goTo("/enrol/000000000000000000000000/nowhere")
		b.wait("[role=alert]")
		b.sound("enrol-nowhere")
		for _, answer := range []string{"/cie/callback?error=access_denied&state=nobodys", "/enrol/000000000000000000000000/answer"} { // to no request
			b.goTo(answer)
			b.wait("[role=alert]")
			b.sound("enrol" + strings.ReplaceAll(strings.Split(answer, "?")[0], "/", "-"))
		}
	}
}

// order buys a certificate, and returns its id and where its holder is identified.
func (s *server) order(t *testing.T, kind string, body map[string]any) (id, link string) {
	t.Helper()
	var made struct {
		Data struct{ ID, CertificateLink string }
	}
	b, _ := json.Marshal(body)
	if err := json.Unmarshal(s.api(t, http.MethodPost, "/certificates/provider-"+kind, b), &made); err != nil || made.Data.CertificateLink == "" {
		t.Fatalf("%+v %v", made, err)
	}
	return made.Data.ID, made.Data.CertificateLink
}

// A citizen with a telephone gets a certificate: with SPID, with CIE, with a card, with a
// signature of their own, and with a video that is recorded in the page and looked at by
// a person.
func TestCitizen(t *testing.T) {
	outside := adestest.Start(t, time.Now)
	root := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(root, outside.RootPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "ROGITO_IDENTIFY_DEMO=true", "ROGITO_TRUST_ANCHORS="+root, "ROGITO_NETWORK_ALLOW_PRIVATE="+strings.TrimPrefix(outside.URL(""), "http://"), "ROGITO_OPERATOR_NAME=Notai Riuniti", "ROGITO_OPERATOR_PRIVACY_URL=https://example.org/privacy", "ROGITO_OPERATOR_TERMS_URL=https://example.org/terms")
	phone := how{Lang: "it", Width: 390, Height: 844}
	english := how{Lang: "en", Width: 390, Height: 844, Dark: true}
	for method, h := range map[string]how{"spid": phone, "cie": english, "cns": phone} {
		_, link := s.order(t, "automatic", map[string]any{"certificateOwner": "Mario Rossi"})
		b := open(t, s, h)
		b.goTo(link)
		b.sound("citizen-start")
		b.loading(func() { b.click("#begin") })
		b.sound("citizen-choose")
		b.loading(func() { b.click("#way-" + method) })
		b.sound("citizen-" + method)
		switch method {
		case "spid":
			b.click("#spid-entrance summary")
			b.wait("#spid-entrance[open]")
			b.shot("citizen-spid-menu")
			b.axe("citizen-spid-menu")
			b.click("#spid-entrance a.provider")
		case "cie":
			b.click(".cie a.enter")
		default: // a card that has ended first
			b.click("#show-card")
			b.wait("#person-0")
			b.set("[name=card]", "expired")
			b.loading(func() { b.click("#person-0") })
			b.wait("#problem")
			b.sound("citizen-card-refused")
			b.goTo(link + "/cns")
			b.click("#show-card")
		}
		b.wait("#person-0")
		b.axe("demo-" + method)
		b.shot("demo-" + method)
		b.click("#person-0")
		if method == "spid" {
			b.wait("#answer")
			b.click("#answer button")
		}
		b.wait("#confirm")
		b.sound("citizen-confirm")
		b.clickTwice("#confirm")
		b.wait("#certificate-password")
		b.sound("citizen-credentials")
	}
	s.signsStatement(t, outside.Actor(t, "second"), phone, english)

	id, link := s.order(t, "otp", map[string]any{"certificateOwner": "Elsa Prova", "subject": map[string]any{"givenName": "Elsa", "surname": "Prova", "fiscalCode": "PRVLSE80A41H501X", "email": "elsa@example.org"}})
	b := open(t, s, phone)
	b.goTo(link + "/video")
	if !strings.Contains(b.text("#spoken"), "Sono Elsa Prova.") {
		t.Errorf("what is to be read: %s", b.text("#spoken"))
	}
	b.click("#record")
	b.until("two seconds are recorded", func() bool { return b.eval("document.querySelector('#screen').currentTime > 2") == "true" })
	b.click("#stop")
	b.until("the recording is in the form", func() bool { return b.eval("document.querySelector('#video').files.length") == "1" })
	photo := filepath.Join(t.TempDir(), "documento.jpg")
	if err := os.WriteFile(photo, filmtest.Photo(), 0o600); err != nil {
		t.Fatal(err)
	}
	b.upload("#photo", photo)
	b.click("#phone summary")
	b.sound("citizen-recorded")
	b.loading(func() { b.click("#video-form button[type=submit]") })
	if got := b.attr("#step", "data-step"); got != "wait" {
		t.Fatalf("after the video: %s, %s", got, b.text("main"))
	}
	b.sound("citizen-wait")
	s.api(t, http.MethodPost, "/certificates/"+id+"/review", []byte(`{"approve": true}`))
	b.goTo(link)
	b.sound("citizen-ready")
	b.clickTwice("#reveal") // they are shown once
	if href := b.attr("#otp-link", "href"); !strings.HasPrefix(href, "otpauth://totp/") {
		t.Errorf("the link to the app is %s", href)
	}
	b.typeIn("#code", "000000")
	b.loading(func() { b.click("#try button") })
	b.wait("#tried[role=alert]")
	b.wait("#otp-secret") // the credentials are still there
	b.sound("citizen-code-wrong")
}

// signsStatement identifies people by the statement that they sign: without a signature
// it is refused.
func (s *server) signsStatement(t *testing.T, own *adestest.Actor, ways ...how) {
	t.Helper()
	for _, h := range ways {
		_, link := s.order(t, "automatic", map[string]any{"certificateOwner": own.Certificate.Subject.CommonName, "subject": map[string]any{"fiscalCode": "TSTTST80A01H501T"}})
		b := open(t, s, h)
		b.goTo(link + "/choose")
		b.loading(func() { b.click("#way-signature") })
		b.sound("citizen-signature")
		statement := b.download("#statement")
		send := func(document []byte) {
			file := filepath.Join(t.TempDir(), "dichiarazione.pdf")
			b.must(os.WriteFile(file, document, 0o600))
			b.upload("[name=document]", file)
			b.loading(func() { b.click("form.card button") })
		}
		send(statement)
		b.wait("#problem")
		b.sound("citizen-signature-refused")
		var signed bytes.Buffer
		o := rogito.Options{}
		o.Certificate, o.Chain, o.Time = own.Certificate, own.Chain, time.Now()
		_, err := rogito.Sign(t.Context(), rogito.Input{Files: []ades.File{{Name: "dichiarazione.pdf", Source: bytes.NewReader(statement)}}}, &signed, own.Key, o)
		b.must(err)
		send(signed.Bytes())
		if b.has("#confirm") {
			b.sound("citizen-signature-confirm")
			b.loading(func() { b.click("#confirm") })
		}
		b.wait("#certificate-password")
		b.sound("citizen-signature-credentials")
	}
}

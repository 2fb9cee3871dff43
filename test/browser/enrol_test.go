package browser

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
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
		b.sound("enrol-identify")
		b.loading(func() { b.click("#approve") })
		b.wait("#certificate-username")
		b.sound("enrol-credentials")
		b.goTo(made.Data.CertificateLink)
		b.sound("enrol-shown")
		b.goTo("/enrol/000000000000000000000000/nowhere")
		b.wait("[role=alert]")
		b.sound("enrol-nowhere")
		for _, answer := range []string{"/cie/callback?error=access_denied&state=nobodys", "/enrol/000000000000000000000000/answer"} { // that nobody asked for
			b.goTo(answer)
			b.wait("[role=alert]")
			b.sound("enrol" + strings.ReplaceAll(strings.Split(answer, "?")[0], "/", "-"))
		}
	}
}

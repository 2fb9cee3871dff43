package browser

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
)

// asked is a record that people sign, as the API tells of it.
type asked struct {
	ID, State   string
	ErrorNumber *int
	Signers     []struct{ ID, Name, State, URL string }
}

// person of a request, with a code by mail.
func person(name string, more map[string]any) map[string]any {
	p := map[string]any{"name": name, "surname": "Prova", "email": strings.ToLower(name) + "@example.org", "authentication": []string{"email"}, "signatures": []any{}}
	for k, v := range more {
		p[k] = v
	}
	return p
}

// ask asks people to sign, and waits until they are asked.
func (s *server) ask(t testing.TB, operation string, options map[string]any, people ...map[string]any) *asked {
	t.Helper()
	pdf, err := os.ReadFile(letter(t, "preliminare.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{
		"title": "Preliminare di via Torino 10", "description": "Da firmare entro la fine del mese.", "signers": people, "options": options,
		"inputDocuments": []any{map[string]any{"sourceType": "base64", "name": "preliminare.pdf", "payload": base64.StdEncoding.EncodeToString(pdf)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Data asked }
	if err := json.Unmarshal(s.api(t, http.MethodPost, operation, body), &made); err != nil || len(made.Data.Signers) != len(people) {
		t.Fatalf("%+v %v", made, err)
	}
	return s.reach(t, made.Data.ID, "WAIT_SIGNERS")
}

// record is as it is now.
func (s *server) record(t testing.TB, id string) *asked {
	t.Helper()
	var now struct{ Data asked }
	if err := json.Unmarshal(s.api(t, http.MethodGet, "/signatures/"+id, nil), &now); err != nil {
		t.Fatal(err)
	}
	return &now.Data
}

// reach waits for a state of a record.
func (s *server) reach(t testing.TB, id, state string) (r *asked) {
	t.Helper()
	for range await.Within(patience) {
		if r = s.record(t, id); r.State == state {
			return r
		}
		if r.State == "ERROR" || r.State == "DONE" {
			break
		}
	}
	t.Fatalf("the record is %s, not %s: %+v", r.State, state, r)
	return nil
}

// mails of a record that the sandbox did not send to an address, in the order of time.
func (s *server) mails(t testing.TB, id, to string) (texts []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.Data, "outbox", id+"-*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	type one struct {
		at   time.Time
		text string
	}
	var all []one
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		info, _ := f.Stat()
		f.Close()
		if err == nil && m.Header.Get("To") == to {
			all = append(all, one{info.ModTime(), string(b)})
		}
	}
	for len(all) > 0 {
		first := 0
		for i := range all {
			if all[i].at.Before(all[first].at) {
				first = i
			}
		}
		texts = append(texts, all[first].text)
		all = append(all[:first], all[first+1:]...)
	}
	return texts
}

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

// code is the latest that was sent.
func (s *server) code(t testing.TB, id, to string) string {
	t.Helper()
	var all []string
	for range await.Within(patience) {
		all = s.mails(t, id, to)
		for i := len(all) - 1; i >= 0; i-- {
			if strings.Contains(all[i], "http") {
				continue // the invitation
			}
			if c := sixDigits.FindString(all[i]); c != "" {
				return c
			}
		}
	}
	t.Fatalf("no code came to %s: %q", to, all)
	return ""
}

// prove gives the code of a mail.
func (b *tab) prove(s *server, id, to string) {
	b.t.Helper()
	b.loading(func() { b.click("#send-code") })
	b.typeIn("#code [name=code]", s.code(b.t, id, to))
	b.loading(func() { b.click("#code button[type=submit]") })
	b.wait("#sign")
}

// signs makes the last click, and waits until it is done.
func (b *tab) signs() {
	b.t.Helper()
	b.click("#agree")
	b.loading(func() { b.click("#sign button.sign") })
	b.until("it is signed", func() bool { return b.attr("#state", "data-state") == "SIGNED" })
}

// One signer, in every way that pages are looked at: reading, the code, typing, signing,
// and the document at the end.
func TestOneSigner(t *testing.T) {
	s := startServer(t, "ROGITO_OPERATOR_NAME=Studio Rossi", "ROGITO_OPERATOR_PRIVACY_URL=https://rossi.example/privacy", "ROGITO_OPERATOR_TERMS_URL=https://rossi.example/terms")
	for _, h := range append(ways, how{Lang: "it", Width: 390, Height: 844}) {
		r := s.ask(t, "/EU-SES", map[string]any{"signatureMode": []string{"typed", "drawn"}}, person("Ada", nil))
		b := open(t, s, h)
		b.goTo(r.Signers[0].URL)
		if got := b.attr("#state", "data-state"); got != "VIEWED" {
			t.Errorf("the state is %s", got)
		}
		if b.count("#document [data-page]") != "1" || !strings.Contains(b.eval(`document.querySelector("#document").textContent`), "Il promittente venditore si obbliga") {
			t.Error("the page or its text is not there")
		}
		b.until("the page is drawn", func() bool {
			return b.eval(`(i => i.complete && i.naturalWidth)(document.querySelector("#document img"))`) == "1240"
		})
		if b.has("header nav") || b.has(`a[href^="/console"]`) || b.has(`a[href="/docs"]`) || !strings.Contains(b.text("header"), "Studio Rossi") {
			t.Error("the head is not that of a private person's page")
		}
		b.sound("signer-code")
		b.loading(func() { b.click("#send-code") })
		b.sound("signer-code-sent")
		b.typeIn("#code [name=code]", "000000")
		b.loading(func() { b.click("#code button[type=submit]") })
		if got := b.attr("#problem", "data-code"); got != "116" {
			t.Errorf("a wrong code is %s", got)
		}
		b.sound("signer-code-wrong")
		b.typeIn("#code [name=code]", s.code(t, r.ID, "ada@example.org"))
		b.loading(func() { b.click("#code button[type=submit]") })
		b.wait("#sign")
		if drawing := b.eval(`!document.querySelector(".drawing").hidden`); drawing != fmt.Sprint(!h.NoScripts) {
			t.Errorf("drawing is offered: %s", drawing)
		}
		b.sound("signer-sign")
		b.typeIn("#sign [name=typed]", "Ada M. Prova")
		b.signs()
		s.reach(t, r.ID, "DONE")
		b.goTo(r.Signers[0].URL)
		b.sound("signer-done")
		if b.has("form") {
			t.Error("forms after the end")
		}
		if pdf := b.download("a#signed"); !strings.HasPrefix(string(pdf), "%PDF-") || !strings.Contains(string(pdf), "/ByteRange") {
			t.Errorf("%.20q was downloaded", pdf)
		}
	}
	b := open(t, s, how{})
	b.goTo("/sign/0123456789abcdef01234567/nowhere")
	b.wait("[role=alert]")
	b.sound("signer-nowhere")
	if b.has(`a[href="/"]`) {
		t.Error("a private person is led to the start page")
	}
}

// Everything can be reached by keyboard, in the order of reading.
func TestSignerByKeyboard(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", nil, person("Ada", nil))
	b := open(t, s, how{})
	b.goTo(r.Signers[0].URL)
	b.tabTo("#send-code")
	b.loading(func() { b.key("Enter") })
	code := s.code(t, r.ID, "ada@example.org")
	b.typeIn("#code [name=code]", code)
	b.loading(func() { b.key("Enter") })
	b.wait("#sign")
	b.tabTo("#agree")
	b.key(" ")
	b.tabTo("#sign button.sign")
	b.loading(func() { b.key("Enter") })
	b.until("it is signed", func() bool { return b.attr("#state", "data-state") == "SIGNED" })
}

// Three in order, one of whom approves: who is not due reads that, and gets no message.
func TestSignersInOrder(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", nil, person("Ada", map[string]any{"order": 1, "language": "it"}), person("Ugo", map[string]any{"order": 2, "role": "approver", "language": "en"}), person("Eva", map[string]any{"order": 3}))
	b := open(t, s, how{Lang: "it"})
	b.goTo(r.Signers[2].URL)
	if b.has("#document") || b.has("form") || b.attr("#state", "data-state") != "NEW" {
		t.Error("the third is shown something before the first")
	}
	b.sound("signer-not-yet")
	if all := s.mails(t, r.ID, "eva@example.org"); len(all) != 0 {
		t.Errorf("the third was written to: %q", all)
	}
	for i, name := range []string{"ada", "ugo", "eva"} {
		lang := []string{"it", "en", "it"}[i]
		b := open(t, s, how{Lang: lang})
		b.until(name+" is invited", func() bool { return len(s.mails(t, r.ID, name+"@example.org")) > 0 })
		b.goTo(r.Signers[i].URL)
		b.prove(s, r.ID, name+"@example.org")
		b.sound("signer-order-" + name)
		if i == 1 && b.has("[name=typed]") {
			t.Error("an approver is asked for a signature")
		}
		b.signs()
	}
	s.reach(t, r.ID, "DONE")
}

// Two at once, in browsers of their own; the second signs what the first has signed.
func TestSignersInParallel(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", nil, person("Ada", nil), person("Ugo", nil))
	ada, ugo := open(t, s, how{}), open(t, s, how{Lang: "it"})
	ada.goTo(r.Signers[0].URL)
	ugo.goTo(r.Signers[1].URL)
	ada.prove(s, r.ID, "ada@example.org")
	ugo.prove(s, r.ID, "ugo@example.org")
	ada.signs()
	ada.sound("signer-others-left")
	ugo.goTo(r.Signers[1].URL) // as it is now, with the first signature
	ugo.signs()
	s.reach(t, r.ID, "DONE")
	if c := open(t, s, how{}); true { // another browser knows no code
		c.goTo(r.Signers[0].URL)
		if c.has("form") || !c.has("a#signed") {
			t.Error("the end is not shown to who has the link")
		}
	}
}

// clickTwice is a double click, as fast as a hand is, on a slow line: both are on the same page,
// and the server has the first form when the second is sent.
func (b *tab) clickTwice(selector string) {
	b.t.Helper()
	b.wait(selector)
	var at [2]float64
	where := b.eval(`(() => { const e = document.querySelector(` + quote(selector) + `); e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return JSON.stringify([r.x + r.width / 2, r.y + r.height / 2]) })()`)
	b.must(json.Unmarshal([]byte(where), &at))
	slow := func(ms int) {
		b.do("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": ms, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
	}
	slow(400)
	b.loading(func() {
		for i := range 4 {
			if i == 2 { // an error says that the next page is there already
				_ = b.c.call(b.session, "Runtime.evaluate", map[string]any{"expression": "new Promise((over) => setTimeout(over, 150))", "awaitPromise": true}, nil)
			}
			b.do("Input.dispatchMouseEvent", map[string]any{"type": []string{"mousePressed", "mouseReleased"}[i%2], "x": at[0], "y": at[1], "button": "left", "clickCount": 1 + i/2}, nil)
		}
	})
	slow(0)
}

// Who clicks twice wherever there is a button gives one code and signs once.
func TestSignerClicksTwice(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", nil, person("Ada", nil))
	b := open(t, s, how{})
	b.goTo(r.Signers[0].URL)
	b.clickTwice("#send-code")
	b.typeIn("#code [name=code]", s.code(t, r.ID, "ada@example.org"))
	b.clickTwice("#code button[type=submit]")
	b.wait("#sign")
	if all := s.mails(t, r.ID, "ada@example.org"); len(all) != 2 {
		t.Errorf("an invitation and one code are two mails, not %d", len(all))
	}
	b.click("#agree")
	b.clickTwice("#sign button.sign")
	b.until("it is signed", func() bool { return b.attr("#state", "data-state") == "SIGNED" })
	if b.has("#problem") {
		t.Errorf("a second click is refused: %s", b.text("#problem"))
	}
	s.reach(t, r.ID, "DONE")
}

// The link alone never signs: what one browser proved is nothing in another.
func TestCodeIsOfTheBrowser(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", nil, person("Ada", nil))
	b, other := open(t, s, how{}), open(t, s, how{})
	b.goTo(r.Signers[0].URL)
	b.prove(s, r.ID, "ada@example.org")
	other.goTo(r.Signers[0].URL)
	if other.has("#sign") {
		t.Error("another browser may sign")
	}
}

func TestDecline(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", nil, person("Ada", nil), person("Ugo", nil))
	b := open(t, s, how{Lang: "it"})
	b.goTo(r.Signers[0].URL)
	b.click("details.decline summary")
	b.typeIn("#decline [name=reason]", "Il prezzo è sbagliato")
	b.sound("signer-decline")
	b.loading(func() { b.click("#decline button") })
	if got := b.attr("#state", "data-state"); got != "DECLINED" {
		t.Errorf("the state is %s", got)
	}
	b.sound("signer-declined")
	if now := s.record(t, r.ID); now.State != "ERROR" || now.ErrorNumber == nil || *now.ErrorNumber != 314 {
		t.Errorf("%+v", now)
	}
	b.goTo(r.Signers[1].URL)
	if b.has("form") {
		t.Error("the other may still sign")
	}
	b.sound("signer-closed")
}

func TestExpiry(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", map[string]any{"expiresAt": time.Now().Add(8 * time.Second).UTC().Format(time.RFC3339)}, person("Ada", nil))
	b := open(t, s, how{})
	b.goTo(r.Signers[0].URL)
	s.reach2(t, r.ID, 315)
	b.goTo(r.Signers[0].URL)
	if got := b.attr("#state", "data-state"); got != "EXPIRED" || b.has("form") {
		t.Errorf("the state is %s", got)
	}
	b.sound("signer-expired")
}

// reach2 waits until a record ends in an error.
func (s *server) reach2(t testing.TB, id string, number int) {
	t.Helper()
	var r *asked
	for range await.Within(2 * patience) {
		r = s.record(t, id)
		if r.State == "ERROR" && r.ErrorNumber != nil && *r.ErrorNumber == number {
			return
		}
		if r.State == "DONE" {
			break
		}
	}
	t.Fatalf("%+v", r)
}

// Who was in the middle goes on after the server was restarted, with the same cookie.
func TestResumeAfterRestart(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", nil, person("Ada", nil))
	b := open(t, s, how{})
	b.goTo(r.Signers[0].URL)
	b.prove(s, r.ID, "ada@example.org")
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.until("the server is gone", func() bool { _, err := http.Get(s.URL + "/healthz"); return err != nil })
	again := startServerIn(t, s.Data)
	c := openIn(t, b.c, b.context, again.URL, b.how)
	c.goTo(strings.Replace(r.Signers[0].URL, s.URL, again.URL, 1))
	c.wait("#sign")
	c.signs()
	again.reach(t, r.ID, "DONE")
}

// A page in a frame: of the origin that the request names it is shown, and tells its end;
// of another it is not.
func TestFramed(t *testing.T) {
	s := startServer(t)
	var frame string
	parent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/done" {
			fmt.Fprint(w, `<!doctype html><title>done</title><h1 id="thanks">Thanks</h1>`)
			return
		}
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>shop</title><h1>Shop</h1><iframe title="sign" width="900" height="800" src="%s"></iframe>
<script>window.told = ""; addEventListener("message", e => { if (e.origin === %q) window.told += JSON.stringify(e.data) })</script>`, frame, s.URL)
	}))
	defer parent.Close()
	r := s.ask(t, "/EU-SES", map[string]any{"ui": map[string]any{"iframeAncestors": []string{parent.URL}, "completeUrl": parent.URL + "/done", "headerBackgroundColor": "#123456", "signButtonBackgroundColor": "#0b6239", "hideSidebar": true}}, person("Ada", nil))
	frame = r.Signers[0].URL
	b := open(t, s, how{})
	b.origin, b.also = parent.URL, s.URL
	b.goTo("/")
	b.inFrame("there is a button", `!!document.querySelector("#send-code")`)
	b.inFrame("a code is asked for", `(document.querySelector("#send-code").click(), true)`)
	b.until("a code was sent", func() bool { return len(s.mails(t, r.ID, "ada@example.org")) > 1 })
	code := s.code(t, r.ID, "ada@example.org")
	b.inFrame("the code is given", `(f => f && !document.querySelector("#send-code:not(.quiet)") && (f.elements.code.value = `+quote(code)+`, f.requestSubmit(), true))(document.querySelector("#code"))`)
	b.inFrame("it is signed", `(f => f && (f.elements.agree.checked = true, f.requestSubmit(), true))(document.querySelector("#sign"))`)
	b.until("the parent is told", func() bool { return strings.Contains(b.eval("window.told"), `"rogito":"completed"`) })
	if got := b.eval("window.told"); !strings.Contains(got, r.ID) {
		t.Errorf("the parent was told %s", got)
	}
	b.inFrame("the frame has gone on", `!!document.querySelector("#thanks")`)

	other := s.ask(t, "/EU-SES", nil, person("Ugo", nil))
	frame = other.Signers[0].URL
	resp, err := http.Get(frame)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !strings.Contains(resp.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Error("anybody may frame the page")
	}
}

// inFrame waits until an expression is true in the only frame of a page, whose document
// the page itself may not read.
func (b *tab) inFrame(what, expression string) {
	b.t.Helper()
	b.until(what, func() bool {
		var tree struct {
			FrameTree struct {
				ChildFrames []struct{ Frame struct{ ID string } }
			}
		}
		b.do("Page.getFrameTree", nil, &tree)
		if len(tree.FrameTree.ChildFrames) != 1 {
			return false
		}
		var world struct{ ExecutionContextID int }
		if b.c.call(b.session, "Page.createIsolatedWorld", map[string]any{"frameId": tree.FrameTree.ChildFrames[0].Frame.ID}, &world) != nil {
			return false // it is being loaded
		}
		var r struct{ Result struct{ Value any } }
		err := b.c.call(b.session, "Runtime.evaluate", map[string]any{"expression": expression, "contextId": world.ExecutionContextID, "returnByValue": true}, &r)
		return err == nil && r.Result.Value == true
	})
}

// draw draws with the mouse on an element, through parts of its width and height.
func (b *tab) draw(selector string, through [][2]float64) {
	b.t.Helper()
	var at [4]float64
	where := b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%s); e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return JSON.stringify([r.x, r.y, r.width, r.height]) })()`, quote(selector)))
	b.must(json.Unmarshal([]byte(where), &at))
	mouse := func(kind string, p [2]float64) {
		b.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0] + p[0]*at[2], "y": at[1] + p[1]*at[3], "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
	mouse("mousePressed", through[0])
	for _, p := range through[1:] {
		mouse("mouseMoved", p)
	}
	mouse("mouseReleased", through[len(through)-1])
}

// A signature drawn with the mouse.
func TestDrawn(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", map[string]any{"signatureMode": []string{"drawn"}}, person("Ada", map[string]any{"signatures": []any{map[string]any{"page": 1, "x": 350, "y": 600, "width": 200, "height": 70}}}))
	b := open(t, s, how{Lang: "it", Width: 390, Height: 844})
	b.goTo(r.Signers[0].URL)
	b.prove(s, r.ID, "ada@example.org")
	b.draw("#pad", [][2]float64{{.1, .7}, {.2, .3}, {.3, .7}, {.45, .4}, {.6, .7}, {.75, .3}, {.9, .6}})
	if got := b.eval(`document.querySelector("[name=drawn]").value.slice(0, 22)`); got != "data:image/png;base64," {
		t.Fatalf("nothing was drawn: %q", got)
	}
	b.sound("signer-drawn")
	b.signs()
	s.reach(t, r.ID, "DONE")
	b.goTo(r.Signers[0].URL)
	pdf := b.download("a#signed")
	if path := os.Getenv("ROGITO_TEST_SCREENSHOTS"); path != "" {
		_ = os.WriteFile(filepath.Join(path, "drawn.pdf"), pdf, 0o644)
	}
	if !strings.Contains(string(pdf), "/Subtype /Image") && !strings.Contains(string(pdf), "/Subtype/Image") {
		t.Error("no picture is in the signed document")
	}
}

// Nothing is signed before the last page was asked for.
func TestMustRead(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", map[string]any{"signerMustRead": true}, person("Ada", nil))
	b := open(t, s, how{})
	b.do("Network.setBlockedURLs", map[string]any{"urls": []string{"*/pages/*.png"}}, nil)
	b.goTo(r.Signers[0].URL)
	b.prove(s, r.ID, "ada@example.org")
	b.click("#agree")
	b.loading(func() { b.click("#sign button.sign") })
	if got := b.attr("#problem", "data-code"); got != "145" {
		t.Errorf("unread: %s", got)
	}
	b.do("Network.setBlockedURLs", map[string]any{"urls": []string{}}, nil)
	b.goTo(r.Signers[0].URL)
	b.until("the page is drawn", func() bool {
		return b.eval(`(i => i.complete && i.naturalWidth)(document.querySelector("#document img"))`) == "1240"
	})
	b.goTo(r.Signers[0].URL)
	b.signs()
}

// What the person may correct is corrected before the first code.
func TestSignerCorrects(t *testing.T) {
	s := startServer(t)
	r := s.ask(t, "/EU-SES", nil, person("Ada", nil))
	b := open(t, s, how{Lang: "it", NoScripts: true})
	b.goTo(r.Signers[0].URL)
	b.click("details summary")
	b.typeIn("#data [name=email]", "nuova@example.org")
	b.sound("signer-data")
	b.loading(func() { b.click("#data button") })
	b.prove(s, r.ID, "nuova@example.org")
	if b.has("#data") {
		t.Error("data may be changed after a code")
	}
}

// With a certificate of one's own of this server.
func TestSignerWithOwnCertificate(t *testing.T) {
	s := startServer(t)
	c := s.Sandbox.Certificates["automatic"]
	r := s.ask(t, "/EU-SES", nil, person("Ada", map[string]any{"certificateUsername": c.Username}))
	b := open(t, s, how{Lang: "it"})
	b.goTo(r.Signers[0].URL)
	b.prove(s, r.ID, "ada@example.org")
	b.sound("signer-certificate")
	b.typeIn("#sign [name=password]", "wrong")
	b.click("#agree")
	b.loading(func() { b.click("#sign button.sign") })
	if got := b.attr("#problem", "data-code"); got != "110" {
		t.Errorf("a wrong password is %s", got)
	}
	b.typeIn("#sign [name=password]", c.Password)
	b.signs()
	s.reach(t, r.ID, "DONE")
}

// The console invites, follows, shows what a sandbox did not send, reminds and cancels.
func TestInviteFromTheConsole(t *testing.T) {
	s := startServer(t)
	for i, h := range ways {
		b := open(t, s, h)
		b.enter(s)
		b.goTo("/console/sign")
		b.loading(func() { b.click("#invite") })
		b.sound("invite")
		b.upload("[name=inputDocuments]", letter(t, "preliminare.pdf"))
		b.typeIn("[name=name-1]", "Ada")
		b.typeIn("[name=surname-1]", "Prova")
		b.typeIn("[name=email-1]", "ada@example.org")
		if i == 0 {
			b.typeIn("[name=keep]", "Preliminare")
			b.typeIn("[name=email-1]", "ada@example.org") // the place of this person is chosen
			b.wait("#place image")
			b.clickAt("#place", .5, .5)
			if x := b.eval("document.querySelector('[name=x-1]').value"); x != "297" && x != "298" {
				t.Errorf("the middle of the page is at %q", x)
			}
			b.sound("invite-placed")
		} else if !h.NoScripts {
			b.wait("#place image") // what is below it moves when the page is drawn
		}
		b.loading(func() { b.click("#send") })
		b.wait("#people")
		b.until("Ada is invited", func() bool {
			if b.has("#people [data-state=NOTIFIED]") {
				return true
			}
			b.goTo(b.path())
			return false
		})
		b.wait("#outbox .letter")
		b.sound("invited")
		if i == 0 {
			b.loading(func() { b.click(`form[action$="/remind"] button`) })
			b.wait("#people")
			b.loading(func() { b.click("#stop button") })
			b.loading(func() { b.click("#confirm button") })
			b.wait("#people")
			if b.has("#stop") {
				t.Error("it can be cancelled twice")
			}
		}
	}
	b := open(t, s, how{})
	b.enter(s)
	b.goTo("/console/invite") // again, from the template that was kept
	b.set("[name=template]", b.attr("[name=template] option:nth-child(2)", "value"))
	b.typeIn("[name=name-1]", "Ugo")
	b.typeIn("[name=surname-1]", "Prova")
	b.typeIn("[name=email-1]", "ugo@example.org")
	b.loading(func() { b.click("#send") })
	b.wait("#people")
	b.goTo("/console/invite")
	b.loading(func() { b.click("#send") })
	b.wait("#problem")
	b.sound("invite-nobody")
}

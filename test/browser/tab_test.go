package browser

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
)

// how a tab shows pages. The zero value is a desk: 1280 by 900, English, light,
// with scripts.
type how struct {
	Width, Height int
	Zoom          float64 // 4 is 400 %
	Lang          string
	Dark, Forced  bool // colours
	NoScripts     bool
	Same          bool // axe-core sees the same page in another way: it need not look again
}

// tab is one page of the browser, in a context of its own.
type tab struct {
	t       testing.TB
	c       *chromium
	session string
	context string
	origin  string // of the server: no other is asked
	also    string // another origin that is: of a page that frames ours
	how     how
	dir     string // of downloads

	mu       sync.Mutex
	loads    int // load events so far
	requests []string
	wrong    []string // requests elsewhere, broken policies, errors of scripts
	ended    map[string]string
}

// open opens a tab that shows pages of a server.
func open(t testing.TB, s *server, h how) *tab {
	t.Helper()
	c := theBrowser(t)
	if h.Width == 0 {
		h.Width, h.Height = 1280, 900
	}
	if h.Height == 0 {
		h.Height = 800
	}
	if h.Lang == "" {
		h.Lang = "en"
	}
	var made struct{ BrowserContextID string }
	if err := c.call("", "Target.createBrowserContext", map[string]any{}, &made); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": made.BrowserContextID}, nil)
	})
	return openIn(t, c, made.BrowserContextID, s.URL, h)
}

// beside opens a second tab of the same browser: with the same cookies.
func (b *tab) beside() *tab { return openIn(b.t, b.c, b.context, b.origin, b.how) }

func openIn(t testing.TB, c *chromium, context, origin string, h how) *tab {
	t.Helper()
	b := &tab{t: t, c: c, context: context, origin: origin, how: h, dir: t.TempDir(), ended: map[string]string{}}
	var made struct{ TargetID, SessionID string }
	b.must(c.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": b.context}, &made))
	b.must(c.call("", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made))
	b.session = made.SessionID
	c.mu.Lock()
	c.tabs[b.session] = b
	c.mu.Unlock()
	t.Cleanup(func() {
		c.mu.Lock()
		delete(c.tabs, b.session)
		c.mu.Unlock()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range b.wrong {
			t.Error(w)
		}
	})
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "DOM"} {
		b.do(domain+".enable", nil, nil)
	}
	scale, width, height := 1.0, h.Width, h.Height
	if h.Zoom > 1 {
		scale, width, height = h.Zoom, int(float64(h.Width)/h.Zoom), int(float64(h.Height)/h.Zoom)
	}
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": false}, nil)
	b.do("Emulation.setLocaleOverride", map[string]any{"locale": h.Lang}, nil)
	b.do("Network.setExtraHTTPHeaders", map[string]any{"headers": map[string]string{"Accept-Language": h.Lang}}, nil)
	features := []map[string]string{}
	if h.Dark {
		features = append(features, map[string]string{"name": "prefers-color-scheme", "value": "dark"})
	}
	if h.Forced {
		features = append(features, map[string]string{"name": "forced-colors", "value": "active"})
	}
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": features}, nil)
	if h.NoScripts {
		b.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	}
	b.must(c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allowAndName", "browserContextId": b.context, "downloadPath": b.dir, "eventsEnabled": true}, nil))
	return b
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// do sends a command of the DevTools protocol.
func (b *tab) do(method string, params map[string]any, result any) {
	b.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	b.must(b.c.call(b.session, method, params, result))
}

// event takes in what happens in the tab.
func (b *tab) event(m message) {
	var p struct {
		Request struct {
			URL string
		}
		Entry struct {
			Source, Level, Text, URL string
		}
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		GUID, State, Reason string
	}
	_ = json.Unmarshal(m.Params, &p)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch m.Method {
	case "Page.loadEventFired":
		b.loads++
	case "Network.requestWillBeSent":
		b.requests = append(b.requests, p.Request.URL)
		u, err := url.Parse(p.Request.URL)
		if err != nil || u.Scheme != "data" && u.Scheme != "blob" && u.Scheme != "about" && u.Scheme+"://"+u.Host != b.origin && u.Scheme+"://"+u.Host != b.also {
			b.wrong = append(b.wrong, "a request to another origin: "+p.Request.URL)
		}
	case "Log.entryAdded":
		if p.Entry.Source == "security" || p.Entry.Source == "javascript" || strings.Contains(p.Entry.Text, "Content Security Policy") {
			b.wrong = append(b.wrong, "the browser says: "+p.Entry.Text)
		}
	case "Runtime.exceptionThrown":
		b.wrong = append(b.wrong, "a script fails: "+p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	case "Browser.downloadProgress":
		b.ended[p.GUID] = p.State
	}
}

// goTo opens an address (a path of the server, or a whole one) and waits until
// it is loaded.
func (b *tab) goTo(address string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.origin + address
	}
	b.loading(func() {
		var r struct{ ErrorText string }
		b.do("Page.navigate", map[string]any{"url": address}, &r)
		if r.ErrorText != "" {
			b.t.Fatalf("%s: %s", address, r.ErrorText)
		}
	})
}

// loading waits for the page that what f does leads to.
func (b *tab) loading(f func()) {
	b.t.Helper()
	b.mu.Lock()
	before := b.loads
	b.mu.Unlock()
	f()
	b.until("a page is loaded", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.loads > before
	})
}

// patience is for a machine that does much else.
const patience = 2 * time.Minute

func (b *tab) until(what string, ok func() bool) {
	b.t.Helper()
	for range await.Within(patience) {
		if ok() {
			return
		}
	}
	b.shot("failed")
	b.t.Fatalf("at %s: %.1500s\nnever: %s", b.path(), b.eval("document.body.innerText"), what) // what matters is last: a log is cut at its front
}

// eval evaluates an expression in the page; what it gives is text, or JSON.
func (b *tab) eval(expression string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := b.c.call(b.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &r)
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%.200s: %s %s", expression, r.ExceptionDetails.Text, r.ExceptionDetails.Exception.Description)
	}
	var s string
	if json.Unmarshal(r.Result.Value, &s) == nil {
		return s
	}
	return string(r.Result.Value)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// has says whether there is an element.
func (b *tab) has(selector string) bool {
	b.t.Helper()
	return b.eval("!!document.querySelector("+quote(selector)+")") == "true"
}

// count counts elements.
func (b *tab) count(selector string) string {
	b.t.Helper()
	return b.eval("document.querySelectorAll(" + quote(selector) + ").length")
}

// wait waits for an element.
func (b *tab) wait(selector string) {
	b.t.Helper()
	b.until("there is "+selector, func() bool { return b.has(selector) })
}

// text is what an element shows.
func (b *tab) text(selector string) string {
	b.t.Helper()
	b.wait(selector)
	return b.eval("document.querySelector(" + quote(selector) + ").innerText")
}

// attr is an attribute of an element.
func (b *tab) attr(selector, name string) string {
	b.t.Helper()
	b.wait(selector)
	return b.eval("document.querySelector(" + quote(selector) + ").getAttribute(" + quote(name) + ") ?? ''")
}

// path is where the tab is, without the origin.
func (b *tab) path() string {
	b.t.Helper()
	return b.eval("location.pathname + location.search")
}

// clickAt clicks an element with the mouse, at a part of its width and height.
func (b *tab) clickAt(selector string, x, y float64) {
	b.t.Helper()
	b.wait(selector)
	var at [2]float64
	where := b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%s); e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getClientRects()[0] ?? e.getBoundingClientRect(); return JSON.stringify([r.x + r.width * %g, r.y + r.height * %g]) })()`, quote(selector), x, y))
	b.must(json.Unmarshal([]byte(where), &at))
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		p := map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}
		if kind == "mouseMoved" {
			p["button"] = "none"
		}
		b.do("Input.dispatchMouseEvent", p, nil)
	}
}

// drag moves the middle of an element by so many pixels.
func (b *tab) drag(selector string, dx, dy float64) {
	b.t.Helper()
	b.wait(selector)
	var at [2]float64
	where := b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%s); e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return JSON.stringify([r.x + r.width / 2, r.y + r.height / 2]) })()`, quote(selector)))
	b.must(json.Unmarshal([]byte(where), &at))
	for _, one := range []struct {
		kind, button string
		part         float64
	}{{"mouseMoved", "none", 0}, {"mousePressed", "left", 0}, {"mouseMoved", "left", .5}, {"mouseMoved", "left", 1}, {"mouseReleased", "left", 1}} {
		b.do("Input.dispatchMouseEvent", map[string]any{"type": one.kind, "x": at[0] + one.part*dx, "y": at[1] + one.part*dy, "button": one.button, "clickCount": 1}, nil)
	}
}

// click clicks the middle of an element.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.clickAt(selector, .5, .5)
}

// typeIn puts the cursor into a field and types.
func (b *tab) typeIn(selector, text string) {
	b.t.Helper()
	b.wait(selector)
	b.eval("(e => { e.focus(); e.select?.() })(document.querySelector(" + quote(selector) + "))")
	b.do("Input.insertText", map[string]any{"text": text}, nil)
}

// set gives a field a value that no keys write: a date, an option.
func (b *tab) set(selector, value string) {
	b.t.Helper()
	b.wait(selector)
	b.eval("(e => { e.value = " + quote(value) + "; e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})) })(document.querySelector(" + quote(selector) + "))")
}

var keyCodes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}

// key presses a key: Tab, Enter, Escape, a space, an arrow.
func (b *tab) key(name string) {
	b.t.Helper()
	text := map[string]string{"Enter": "\r", " ": " "}[name]
	code := map[string]string{" ": "Space"}[name]
	if code == "" {
		code = name
	}
	down := map[string]any{"type": "keyDown", "key": name, "code": code, "windowsVirtualKeyCode": keyCodes[name]}
	if text != "" {
		down["text"] = text
	}
	b.do("Input.dispatchKeyEvent", down, nil)
	b.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "code": code, "windowsVirtualKeyCode": keyCodes[name]}, nil)
}

// tabTo presses Tab until an element has the focus: it can be reached by
// keyboard, and is seen to be.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 80 {
		b.key("Tab")
		if b.eval("document.activeElement?.matches("+quote(selector)+") ?? false") == "true" {
			if style := b.eval("(s => s.outlineStyle === 'none' && s.boxShadow === 'none' ? 'none' : s.outlineStyle)(getComputedStyle(document.activeElement))"); style == "none" {
				b.t.Errorf("%s has the focus, and nothing shows it", selector)
			}
			return
		}
	}
	b.t.Fatalf("%s is not reached by keyboard at %s", selector, b.path())
}

// upload chooses files in a field.
func (b *tab) upload(selector string, files ...string) {
	b.t.Helper()
	b.wait(selector)
	var r struct{ Result struct{ ObjectID string } }
	b.do("Runtime.evaluate", map[string]any{"expression": "document.querySelector(" + quote(selector) + ")"}, &r)
	b.do("DOM.setFileInputFiles", map[string]any{"files": files, "objectId": r.Result.ObjectID}, nil)
}

// drop drops files onto an element, as from a file manager.
func (b *tab) drop(selector string, files ...string) {
	b.t.Helper()
	b.wait(selector)
	var at [2]float64
	// Near its corner: what lies in the middle may move when the zone lights up.
	where := b.eval("(r => JSON.stringify([r.x + 12, r.y + 12]))((e => { e.scrollIntoView({block: 'center', behavior: 'instant'}); return e.getBoundingClientRect() })(document.querySelector(" + quote(selector) + ")))")
	b.must(json.Unmarshal([]byte(where), &at))
	b.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(''))))") // what comes before a page is painted is thrown away
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		b.do("Input.dispatchDragEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "data": map[string]any{"items": []any{}, "files": files, "dragOperationsMask": 1}}, nil)
	}
}

// download clicks a link and returns the file that comes.
func (b *tab) download(selector string) []byte {
	b.t.Helper()
	b.mu.Lock()
	clear(b.ended)
	b.mu.Unlock()
	b.click(selector)
	var id string
	b.until(selector+" downloads", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for guid, state := range b.ended {
			if state == "completed" {
				id = guid
			}
		}
		return id != ""
	})
	content, err := os.ReadFile(filepath.Join(b.dir, id))
	b.must(err)
	return content
}

// shot keeps a picture of the whole page where ROGITO_TEST_SCREENSHOTS says.
func (b *tab) shot(name string) {
	dir := os.Getenv("ROGITO_TEST_SCREENSHOTS")
	if dir == "" || b.how.Zoom > 1 { // four times as large takes a minute, and shows what 320 px do
		return
	}
	name += "-" + b.how.Lang
	if b.how.Width != 1280 {
		name += fmt.Sprintf("-%d", b.how.Width)
	}
	for word, is := range map[string]bool{"dark": b.how.Dark, "forced": b.how.Forced, "noscripts": b.how.NoScripts} {
		if is {
			name += "-" + word
		}
	}
	var r struct{ Data string }
	if err := b.c.call(b.session, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &r); err != nil {
		b.t.Log(err)
		return
	}
	png, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(name)+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Log(err)
	}
}

// print shows the page as it comes on paper, which is white whatever the screen is, and
// keeps a picture.
func (b *tab) print(name string) {
	b.t.Helper()
	b.do("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	b.shot(name)
	if n := b.eval(`[...document.querySelectorAll("button, input, select, header.site, footer.site")].filter(e => e.checkVisibility()).length`); n != "0" {
		b.t.Errorf("%s: %s things to press are printed", name, n)
	}
}

// sound holds the page to what every page keeps: nothing is wider than the
// window, there is one heading of the first rank, the language is named, and
// axe-core finds nothing. It keeps a picture.
func (b *tab) sound(name string) {
	b.t.Helper()
	b.shot(name)
	b.visit()
	if wide := b.eval(`(() => { const w = document.documentElement.clientWidth; if (document.documentElement.scrollWidth <= w) return ""; return [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > w + 1 && !e.closest(".scroll, .skip, .hide")).map(e => e.tagName + "." + e.className).slice(0, 5).join(" ") || "something" })()`); wide != "" {
		b.t.Errorf("%s at %d px: wider than the window: %s", name, b.how.Width, wide)
	}
	if n := b.count("h1"); n != "1" {
		b.t.Errorf("%s: %s headings of the first rank", name, n)
	}
	if l := b.attr("html", "lang"); !strings.HasPrefix(b.how.Lang, l) || l == "" {
		b.t.Errorf("%s: language %q, asked for %q", name, l, b.how.Lang)
	}
	if !b.how.Same {
		b.axe(name)
	}
}

// axe runs axe-core on the page.
func (b *tab) axe(name string) {
	b.t.Helper()
	source, err := axeSource()
	if err != nil {
		b.t.Logf("SKIPPED, NOT TESTED: axe-core on %s: %v", name, err)
		return
	}
	if b.how.NoScripts { // the page has run none, axe-core has to
		b.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
		defer b.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	}
	if b.eval("typeof axe") == "undefined" {
		b.eval(source + "\n; ''")
	}
	found := b.eval(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + " (" + v.impact + "): " + v.nodes.map(n => n.target.join(" ") + " " + n.html.slice(0, 160) + " | " + n.failureSummary).slice(0, 4).join("; ")).join("\n"))`)
	if found != "" {
		b.t.Errorf("axe-core on %s (%+v):\n%s", name, b.how, found)
	}
}

package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/server/servertest"
)

var italy struct {
	sync.Once
	dir string
	err error
}

// country is the folder of a server with all of Italy in one semester and two
// others: the official files, where they are there.
func country(t *testing.T) string {
	t.Helper()
	files := os.Getenv("ROGITO_SHARED")
	if files == "" {
		files = filepath.Join("..", "..", "..", "shared")
	}
	files = filepath.Join(files, "omi")
	if _, err := os.Stat(files); err != nil {
		t.Skip("SKIPPED, NOT TESTED: the map of Italy: the official files are not there; set ROGITO_SHARED to their folder")
	}
	theBrowser(t)
	italy.Do(func() {
		if italy.dir, italy.err = os.MkdirTemp("", "rogito-italy"); italy.err != nil {
			return
		}
		for _, paths := range [][]string{
			{filepath.Join(files, "csv", "2018-2.zip"), filepath.Join(files, "kmz-2018-2")}, {filepath.Join(files, "csv", "2017-1.zip")}, {filepath.Join(files, "csv", "2016-1.zip")},
		} {
			cmd := exec.Command(servertest.Binary(t), append([]string{"omi", "import", "--data", italy.dir}, paths...)...)
			if err := cmd.Run(); err != nil {
				// a publication without perimeters may need to be allowed
				if out, err := exec.Command(servertest.Binary(t), append([]string{"omi", "import", "--allow-partial", "--data", italy.dir}, paths...)...).CombinedOutput(); err != nil {
					italy.err = err
					t.Logf("%s", out)
				}
			}
		}
	})
	if italy.err != nil {
		t.Fatal(italy.err)
	}
	return italy.dir
}

// An estate agent comes from an address, or from the municipality and its zones, to an
// estimate on paper.
func TestAgent(t *testing.T) {
	dir := t.TempDir()
	streets := filepath.Join(dir, "streets.csv")
	if err := os.WriteFile(streets, []byte("CODICE_COMUNE;ODONIMO;CIVICO;ESPONENTE;COORD_X_COMUNE;COORD_Y_COMUNE\nZ999;VIA DEL FARO;10;;17,601;38,601\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	theBrowser(t)
	if out, err := exec.Command(servertest.Binary(t), "omi", "import-addresses", "--data", dir, streets).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := startServerIn(t, dir)
	for _, h := range []how{
		{Lang: "it", Width: 390, Height: 844},
		{Lang: "en", Width: 390, Height: 844, Dark: true},
		{Lang: "en", Same: true},
		{Lang: "it", Dark: true, Same: true},
	} {
		b := open(t, s, h)
		b.goTo("/map")
		ask := func(words string) {
			b.typeIn("[name=q]", words)
			b.loading(func() { b.key("Enter") })
		}
		if h.Dark {
			ask("via del faro 10, Isola d'Esempio (Sample)")
		} else {
			ask("isola d'esempio")
			b.click(`a[data-code="B1"]`)
		}
		b.wait(`#zone[data-code="B1"]`)
		b.typeIn("#surface", "85")
		b.set("#type", "Abitazioni civili")
		b.set("#condition", "OTTIMO")
		b.click("#estimate button")
		b.wait("#sale")
		b.wait("#map.drawn")
		b.sound("agent-estimate")
		b.print("agent-printed")
		paper := b.text("body")
		if address := strings.Contains(paper, "Via del Faro 10, Isola d'Esempio"); address != h.Dark {
			t.Errorf("%+v: the address is on the printed estimate: %t", h, address)
		}
		for _, want := range map[string][]string{
			"it": {"246.500–306.000 €", "850–1.148 €", "Abitazioni civili, stato ottimo, 85 m² lordi", "non è una perizia", "Fonte: Agenzia Entrate - OMI"},
			"en": {"246,500–306,000 €", "850–1,148 €", "excellent", "not an appraisal", "Source: Agenzia Entrate - OMI"},
		}[h.Lang] {
			if !strings.Contains(paper, want) {
				t.Errorf("%+v: the printed estimate does not say %q: %s", h, want, paper)
			}
		}
	}
}

var picked = regexp.MustCompile(`^/map\?lat=(-?\d+\.?\d*)&lng=(-?\d+\.?\d*)`)

// The sample island, in every way that a page is looked at.
func TestMapInEveryWay(t *testing.T) {
	s := startServer(t)
	for _, h := range ways {
		b := open(t, s, h)
		for name, path := range map[string]string{"map": "/map", "map-town": "/map?municipality=Z999", "map-zone": "/map?lat=38.6&lng=17.6", "map-nowhere": "/map?lat=17.6&lng=38.6", "map-none": "/map?q=nowhere", "map-estimate": "/map?lat=38.6&lng=17.6&surface=85", "map-compare": "/map?municipality=Z999&compare=Z999/B1&compare=Z999/C1"} {
			b.goTo(path)
			if h.NoScripts {
				if !b.has("#map svg path") {
					t.Errorf("%s has no drawing without scripts", path)
				}
			} else if name != "map-nowhere" {
				b.wait("#map.drawn canvas")
			}
			if !strings.Contains(b.text("#map .source"), "Agenzia Entrate - OMI") {
				t.Errorf("%s: the source is not named", path)
			}
			if n := b.count("[style]"); n != "0" { // the policy forbids it
				t.Errorf("%s: %s elements have a style of their own", path, n)
			}
			b.sound(name)
		}
		b.goTo("/map?lat=38.6&lng=17.6")
		if got := b.attr("#zone", "data-code"); got != "B1" {
			t.Errorf("%+v: zone %q", h, got)
		}
		if n := b.count("#values tr"); n != "4" {
			t.Errorf("%+v: %s values", h, n)
		}
	}
}

// A click anywhere writes the place into the address and shows its zone; back and
// forward find it again.
func TestMapClick(t *testing.T) {
	b := open(t, startServer(t), how{Lang: "it"})
	b.goTo("/map")
	b.wait("#map.drawn")
	b.clickAt("#map", .5, .5)
	b.until("the address has a place", func() bool { return picked.MatchString(b.path()) })
	b.wait("#zone")
	first := b.path()
	code := b.attr("#zone", "data-code")
	b.clickAt("#map", .5, .15)
	b.until("the address has another place", func() bool { return picked.MatchString(b.path()) && b.path() != first })
	b.eval("history.back()")
	b.until("back is back", func() bool { return b.path() == first && b.has(`#zone[data-code="`+code+`"]`) })
	b.goTo(first) // a permanent link
	if got := b.attr("#zone", "data-code"); got != code {
		t.Errorf("the link leads to %q, the click to %q", got, code)
	}
}

func TestMapByKeyboard(t *testing.T) {
	b := open(t, startServer(t), how{Lang: "en"})
	b.goTo("/map")
	b.wait("#map.drawn")
	b.tabTo("#map")
	b.key("ArrowLeft")
	b.key("ArrowRight")
	b.key("Enter")
	b.until("the address has a place", func() bool { return picked.MatchString(b.path()) })
	b.wait("#zone")
	b.goTo("/map?municipality=Z999")
	b.tabTo(`a[data-code="C1"]`)
	b.key("Enter")
	b.wait(`#zone[data-code="C1"]`)
	if got := b.eval("document.activeElement.tagName"); got != "H2" {
		t.Errorf("the focus is on %s", got)
	}
}

// All of Italy: what is loaded for the first view, and from the search to a zone in
// two semesters.
func TestMapOfItaly(t *testing.T) {
	if os.Getenv("ROGITO_BROWSER") == "" {
		t.Skip("SKIPPED, NOT TESTED: the map of all Italy, which takes minutes to import; make browser does")
	}
	s := startServerIn(t, country(t))
	var b *tab
	for range 3 { // the first time the server looks into the publication, later ones are as people meet it
		b = open(t, s, how{Lang: "it"})
		b.firstView("/map")
	}
	b.sound("italy")
	b.typeIn("[name=q]", "forlì")
	b.loading(func() { b.key("Enter") })
	if got := b.path(); got != "/map?municipality=D704" {
		t.Errorf("Forlì is at %s", got)
	}
	b.typeIn("[name=q]", "samone")
	b.loading(func() { b.key("Enter") })
	if n := b.count("#panel .places li"); n != "2" {
		t.Errorf("%s places are called Samone", n)
	}
	b.typeIn("[name=q]", "roma")
	b.loading(func() { b.key("Enter") })
	b.wait("#map.drawn")
	b.sound("roma")
	if n := b.count("a[data-code]"); n != "234" {
		t.Errorf("Roma has %s zones", n)
	}
	b.typeIn("[name=q]", "45,4642; 9,19")
	b.loading(func() { b.key("Enter") })
	if got := b.attr("#zone", "data-code"); got != "B12" {
		t.Errorf("zone %q in the middle of Milano", got)
	}
	b.wait("#map.drawn")
	b.sound("milano")
	before := b.text("#values")
	b.set("select[name=semester]", "2017/1")
	b.until("the other semester is shown", func() bool { return strings.Contains(b.path(), "semester=2017/1") && b.has("#zone") })
	if b.text("#values") == before {
		t.Error("both semesters have the same values")
	}
	b.sound("milano-2017")
	phone := open(t, s, how{Lang: "it", Width: 360, Height: 760})
	phone.goTo("/map?lat=40.8518&lng=14.2681")
	phone.wait("#map.drawn")
	phone.sound("napoli")
	phone.click("[data-zoom=out]")
	phone.click("[data-zoom=in]")
	phone.clickAt("#map", .3, .3)
	phone.until("the address has a place", func() bool { return picked.MatchString(phone.path()) })
}

// firstView opens a map in a tab that has shown nothing yet, and tells what that
// takes: bytes, requests, the time from the beginning of the navigation until the
// map can be used, and how long the page's own thread computed for it. The latter
// is processor time, and so the same on a machine that does much else.
func (b *tab) firstView(address string) {
	b.t.Helper()
	b.do("Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil)
	b.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `new MutationObserver((_, o) => {
		if (document.querySelector("#map.drawn")) { o.disconnect(); requestAnimationFrame(() => setTimeout(() => { window.usable = performance.now(); })); }
	}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });`}, nil)
	b.goTo(address)
	b.until("the map can be used", func() bool { return b.eval("'usable' in window") == "true" })
	busy := b.busy() // since its process began, which is a little more
	var took struct {
		Usable             float64
		Unpacked, Packed   int
		Requests, Elements int
	}
	b.must(json.Unmarshal([]byte(b.eval(`(() => { const all = performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"));
		const sum = (k) => all.reduce((n, e) => n + e[k], 0);
		return JSON.stringify({ Usable: usable, Unpacked: sum("decodedBodySize"), Packed: sum("transferSize"), Requests: all.length, Elements: document.querySelectorAll("*").length }) })()`)), &took))
	b.t.Logf("%s: usable %.0f ms after the navigation began, of which its thread computed %.0f ms; %d requests, %d bytes (%d packed), %d elements",
		address, took.Usable, busy*1000, took.Requests, took.Unpacked, took.Packed, took.Elements)
	if took.Unpacked > 300_000 {
		b.t.Errorf("the first view loads %d bytes", took.Unpacked)
	}
	if busy > .3 {
		b.t.Errorf("the page computes %.0f ms for its first view: on a busy machine or a telephone it is not usable within a second", busy*1000)
	}
}

// busy is the processor time of the page's own thread so far, in seconds.
func (b *tab) busy() float64 {
	b.t.Helper()
	var r struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	b.do("Performance.getMetrics", nil, &r)
	for _, m := range r.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	b.t.Fatal("the browser does not say how long it computed")
	return 0
}

package browser

import "testing"

// ways are how every page is looked at.
var ways = []how{
	{Lang: "en"},
	{Lang: "it", NoScripts: true, Same: true},
	{Lang: "it", Width: 320, Height: 640, Dark: true},
	{Lang: "en", Width: 1280, Height: 1024, Zoom: 4, Forced: true, Same: true},
}

// Where axe-core cannot be had, that is said by a test that is skipped.
func TestAxeIsThere(t *testing.T) {
	if _, err := axeSource(); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: the pages are not held to axe-core: %v", err)
	}
}

// The harness finds what it is there for: a broken rule of accessibility, and a
// page that is too wide.
func TestHarnessFinds(t *testing.T) {
	s := startServer(t)
	b := open(t, s, how{})
	b.goTo("/pages/nowhere")
	if got := b.text("[role=alert]"); got == "" {
		t.Error("a page that there is not says nothing")
	}
	fake := &recorder{TB: t}
	b.t = fake
	b.eval(`document.querySelector("main").insertAdjacentHTML("beforeend", "<img src='data:,'><h1>x</h1><div>" + "x".repeat(3000) + "</div>"); ''`)
	b.sound("broken")
	b.t = t
	if fake.errors < 2 {
		t.Errorf("%d of two faults were found", fake.errors)
	}
}

// recorder counts what a test complains of.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }

package xades

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// respelled are changes of a signed page that its digest does not see, and what a
// browser that reads it as HTML then shows, or does not show any more.
var respelled = map[string]struct {
	page, old, with string
	shows, hides    string
}{
	"comment that HTML ends at once":  {`<html><body><p>100</p><p>euro</p></body></html>`, `<p>euro`, `<!--><h1>900</h1>--><p>euro`, "<h1>900</h1>", ""},
	"comment in a style":              {`<html><head><style></style></head><body><p>100</p></body></html>`, `<style></style>`, `<style><!-- p{display:none} --></style>`, "display:none", ""},
	"comment in a script":             {`<html><head><script></script></head><body><p>100</p></body></html>`, `<script></script>`, `<script><!-- document.title='900' --></script>`, "document.title", ""},
	"style that does not end":         {`<html><head><style></style></head><body><p>100</p></body></html>`, `<style></style>`, `<style/>`, "<style></head>", ""},
	"title that does not end":         {`<html><head><title></title></head><body><p>100</p></body></html>`, `<title></title>`, `<title/>`, "", "<p>100</p>"},
	"hidden element that only opens":  {`<html><body><p>1</p><div hidden=""></div><p>100</p></body></html>`, `<div hidden=""></div>`, `<div hidden=""/>`, "", `<div hidden=""></div>`},
	"picture that only opens":         {`<html><body><p>1</p><canvas id="c"></canvas><p>100</p></body></html>`, `></canvas>`, `/>`, "", `<canvas id="c"></canvas>`},
	"template that only opens":        {`<html><body><p>1</p><template></template><p>100</p></body></html>`, `<template></template>`, `<template/>`, "", `<template></template>`},
	"text in a section":               {`<html><body><p>&lt;h1&gt;900&lt;/h1&gt;</p></body></html>`, `&lt;h1&gt;900&lt;/h1&gt;`, `<![CDATA[<h1>900</h1>]]>`, "<!--[CDATA[<h1-->", ""},
	"angle in a style":                {`<html><head><style>a &gt; p {display:none}</style></head><body><a><p>100</p></a></body></html>`, `a &gt; p`, `a > p`, "a > p", ""},
	"control that is a letter":        {"<html><body><p>\u0080100</p></body></html>", "\u0080", "&#x80;", "€", ""},
	"upper case":                      {`<HTML><BODY><P>100</P><STYLE></STYLE><P>1</P></BODY></HTML>`, `<STYLE></STYLE>`, `<STYLE/>`, "<style><P>1</P>", ""},
	"script in something else's name": {`<doc><a>100</a><script></script><b>1</b></doc>`, `<script></script>`, `<script/>`, "<script><b>1</b>", ""},
}

func TestRespelledMarkup(t *testing.T) {
	a := adestest.Must(t, clock).Actor(t, "p256")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Log("SKIPPED: no chromium, so that what a browser shows is not tried")
	}
	for name, row := range respelled {
		// The signature stands behind the page, so that a browser begins with it.
		signed := string(sign(t, a, []ades.File{file("a.xml", row.page)}, Options{SignatureID: "S"}))
		forged := strings.Replace(signed, row.old, row.with, 1)
		if forged == signed {
			t.Errorf("%s: %q is not in it", name, row.old)
			continue
		}
		before, err := Read(t.Context(), strings.NewReader(signed), ades.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		after, err := Read(t.Context(), strings.NewReader(forged), ades.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		honest := name == "angle in a style" // entities in a style are letters to a browser: neither is one reading
		if uncovered(before) != honest {
			t.Errorf("%s: the page as signed: %s", name, partsOf(before))
		}
		if after.Signatures[0].Intact() == ades.Yes && !uncovered(after) {
			t.Errorf("%s: all is covered: %s", name, partsOf(after))
		}
		if chromium == "" || os.Getenv("ROGITO_BROWSER") == "" || row.shows+row.hides == "" {
			continue
		}
		now, was := dom(t, chromium, forged), dom(t, chromium, signed)
		if row.shows != "" && (!strings.Contains(now, row.shows) || strings.Contains(was, row.shows)) {
			t.Errorf("%s: a browser does not show %q: %s", name, row.shows, now[:min(300, len(now))])
		}
		if row.hides != "" && (strings.Contains(now, row.hides) || !strings.Contains(was, row.hides)) {
			t.Errorf("%s: a browser still shows %q: %s", name, row.hides, now[:min(300, len(now))])
		}
	}
}

// Markup that both read alike stays valid.
func TestHonestMarkup(t *testing.T) {
	a := adestest.Must(t, clock).Actor(t, "p256")
	for name, page := range map[string]string{
		"page":         `<html xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/><title>t</title></head><body><p id="x">a<br/>b</p><a name="y"/><!-- note --></body></html>`,
		"drawing":      `<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/><text><![CDATA[a < b]]></text></svg>`,
		"invoice":      `<Invoice><Note><![CDATA[<b>bold</b>]]></Note><Empty kind="1"/><!-- made by us --></Invoice>`,
		"own comments": `<Invoice><!-- a <b> in a comment --><Note>1</Note></Invoice>`,
	} {
		doc, err := Read(t.Context(), bytes.NewReader(sign(t, a, []ades.File{file("a.xml", page)}, Options{SignatureID: "S"})), ades.ReadOptions{})
		if err != nil || doc.Signatures[0].Intact() != ades.Yes || uncovered(doc) {
			t.Errorf("%s: %v, %s", name, err, partsOf(doc))
		}
	}
}

// A comment with unsigned markup is content in any XML.
func TestCommentWithMarkup(t *testing.T) {
	a := adestest.Must(t, clock).Actor(t, "p256")
	signed := string(sign(t, a, []ades.File{file("a.xml", `<doc><a>1</a><b>2</b></doc>`)}, Options{SignatureID: "S"}))
	for comment, want := range map[string]bool{"<!-- fine -->": false, "<!-- a > b -->": true, "<!-->x-->": true, "<!-- <b> -->": true} {
		for _, at := range []string{"<b>2", "<ds:KeyInfo", "</ds:Signature>"} {
			doc, err := Read(t.Context(), strings.NewReader(strings.Replace(signed, at, comment+at, 1)), ades.ReadOptions{})
			if err != nil || doc.Signatures[0].Intact() != ades.Yes || uncovered(doc) != want {
				t.Errorf("%s before %s: %v, %s", comment, at, err, partsOf(doc))
			}
		}
	}
}

func uncovered(doc *ades.Document) bool {
	for _, p := range doc.Parts {
		if len(p.CoveredBy) == 0 {
			return true
		}
	}
	return false
}

// dom is what a browser makes of a document that is called a page.
func dom(t *testing.T, chromium, page string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+name).Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return string(out)
}

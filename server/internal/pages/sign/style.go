package sign

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/people"
)

// colour is what a request may name; it was checked when it came, and is again where it
// is written into a style sheet.
var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// style serves the colours of the request as a sheet of our own: the policy allows no
// style in the page.
func (p *Pages) style(w http.ResponseWriter, _ *http.Request, v *people.Visit) {
	ui := v.Record.Options.People.UI
	var b bytes.Buffer
	rule := func(selector string, pairs ...string) {
		var set strings.Builder
		for i := 0; i+1 < len(pairs); i += 2 {
			if colour.MatchString(pairs[i+1]) {
				fmt.Fprintf(&set, " %s: %s;", pairs[i], pairs[i+1])
			}
		}
		if set.Len() > 0 {
			fmt.Fprintf(&b, "%s {%s }\n", selector, set.String())
		}
	}
	rule("header.site.private .bar, header.site.private", "background", ui.HeaderBackgroundColor)
	rule("header.site.private .brand", "color", or(ui.HeaderTitleColor, readable(ui.HeaderBackgroundColor)))
	rule("header.site.private .aside a", "color", or(ui.HeaderSubtitleColor, ui.HeaderTitleColor, readable(ui.HeaderBackgroundColor)))
	rule("main .about", "background", ui.SidebarBackgroundColor, "border-color", ui.SidebarBackgroundColor,
		"color", or(ui.SidebarTextColor, readable(ui.SidebarBackgroundColor)))
	rule("main .about p, main .about dt, main .about dd, main .about a", "color", or(ui.SidebarTextColor, readable(ui.SidebarBackgroundColor)))
	rule("main .about h1, main .about h2", "color", or(ui.SidebarTitleColor, readable(ui.SidebarBackgroundColor)))
	rule("footer.site", "background", ui.FooterBackgroundColor, "color", readable(ui.FooterBackgroundColor))
	rule("footer.site a", "color", readable(ui.FooterBackgroundColor))
	const button, sign = "main .act button:not(.sign, .plain), main .act .button", "main .act button.sign[type=submit]"
	rule(button, "background", ui.ButtonBackgroundColor, "border-color", ui.ButtonBackgroundColor,
		"color", or(ui.ButtonTextColor, readable(ui.ButtonBackgroundColor)))
	rule(strings.ReplaceAll(button, ",", ":hover,")+":hover", "background", or(ui.ButtonBackgroundColorHover, ui.ButtonBackgroundColor),
		"color", or(ui.ButtonTextColorHover, readable(ui.ButtonBackgroundColorHover), ui.ButtonTextColor))
	rule(sign, "background", ui.SignButtonBackgroundColor, "border-color", ui.SignButtonBackgroundColor,
		"color", or(ui.SignButtonTextColor, readable(ui.SignButtonBackgroundColor)))
	rule(sign+":hover", "background", or(ui.SignButtonBackgroundColorHover, ui.SignButtonBackgroundColor),
		"color", or(ui.SignButtonTextColorHover, readable(ui.SignButtonBackgroundColorHover), ui.SignButtonTextColor))
	p.marks(v, &b)
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

func or(colours ...string) string {
	for _, c := range colours {
		if c != "" {
			return c
		}
	}
	return ""
}

// readable is black or white, whichever can be read on a background (WCAG 2.2: relative
// luminance); empty where there is none.
func readable(background string) string {
	if !colour.MatchString(background) {
		return ""
	}
	var r, g, b int
	_, _ = fmt.Sscanf(background, "#%02x%02x%02x", &r, &g, &b) // the pattern has three
	if luminance := 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b); luminance > 0.179 {
		return "#000000"
	}
	return "#ffffff"
}

// linear is the light of a channel; a square is near enough for a choice of two.
func linear(channel int) float64 {
	c := float64(channel) / 255
	return c * c
}

const maxLogo = 256 << 10

// logo serves sidebarLogo from here: nothing is loaded from elsewhere. What is no
// picture is not there.
func (p *Pages) logo(w http.ResponseWriter, r *http.Request, v *people.Visit) {
	address := v.Record.Options.People.UI.SidebarLogo
	key := leaf{document: address}
	known, ok := p.drawn.Get(key)
	if !ok {
		known = p.readLogo(r, address)
		p.drawn.Put(key, known, len(known.picture)+len(address))
	}
	if known.media == "" {
		p.site.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", known.media)
	w.Header().Set("Cache-Control", "private, max-age=300")
	_, _ = w.Write(known.picture) // the client may be gone
}

func (p *Pages) readLogo(r *http.Request, address string) *shown {
	var b bytes.Buffer
	if data, inline := strings.CutPrefix(address, "data:"); inline {
		_, text, _ := strings.Cut(data, ";base64,")
		decoder := base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))
		if _, err := io.Copy(&b, io.LimitReader(decoder, maxLogo)); err != nil {
			return &shown{}
		}
	} else if err := p.Guard.Document(r.Context(), fetch.Request{URL: address}, fetch.Limits{Bytes: maxLogo, Time: 5 * time.Second}, &b); err != nil {
		return &shown{}
	}
	switch media := http.DetectContentType(b.Bytes()); media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return &shown{media: media, picture: b.Bytes()}
	}
	return &shown{}
}

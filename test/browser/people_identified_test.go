package browser

import "testing"

// Advanced signatures after SPID, CIE and a card, by the demo; another person does not
// count.
func TestSignerIdentified(t *testing.T) {
	s := startServer(t, "ROGITO_IDENTIFY_DEMO=true")
	r := s.ask(t, "/EU-AES", nil, map[string]any{"name": "Mario", "surname": "Rossi", "email": "ada@example.org", "identification": []string{"spid", "cie"}, "signatures": []any{}})
	b := open(t, s, how{Lang: "it"})
	spid := func() {
		b.goTo(r.Signers[0].URL)
		b.click("#spid-entrance summary")
		b.wait("#spid-entrance[open]")
		b.loading(func() { b.click("#spid-entrance a.provider") })
	}
	b.goTo(r.Signers[0].URL)
	b.sound("signer-identify")
	spid()
	b.wait("#person-1")
	b.loading(func() { b.click("#person-1") })
	b.loading(func() { b.click("form button") }) // back to the service
	b.wait("#problem")
	if got := b.attr("#problem", "data-code"); got != "312" {
		t.Errorf("another person is %s", got)
	}
	b.sound("signer-another")
	spid()
	b.wait("#person-0")
	b.loading(func() { b.click("#person-0") })
	b.loading(func() { b.click("form button") })
	b.wait("#sign")
	b.sound("signer-advanced")
	b.signs()
	s.reach(t, r.ID, "DONE")

	for method, way := range map[string]string{"cie": ".cie a.enter", "cns": "#show-card"} {
		r := s.ask(t, "/EU-AES", nil, map[string]any{"name": "Mario", "surname": "Rossi", "email": "ada@example.org", "identification": []string{method}, "signatures": []any{}})
		b := open(t, s, how{Lang: "en", Width: 390, Height: 844})
		b.goTo(r.Signers[0].URL)
		b.sound("signer-" + method)
		b.loading(func() { b.click(way) })
		if method == "cns" { // a card that has ended first
			b.wait("[name=card]")
			b.set("[name=card]", "expired")
			b.loading(func() { b.click("#person-0") })
			b.wait("#problem")
			b.sound("signer-card-refused")
			b.goTo(r.Signers[0].URL)
			b.loading(func() { b.click(way) })
		}
		b.wait("#person-0")
		b.loading(func() { b.click("#person-0") })
		b.wait("#sign")
		b.signs()
		s.reach(t, r.ID, "DONE")
	}
}

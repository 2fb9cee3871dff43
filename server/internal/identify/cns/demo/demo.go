package demo

import (
	"bytes"
	"crypto/x509"
	"html/template"
	"net/http"
	"time"
)

// Demo is a page in place of a card reader. Whatever it shows is made up.
type Demo struct {
	*Authority
	stranger *Authority // no issuer of cards
	// Applicant says whom the order of a page is for, to begin with.
	Applicant func(*http.Request) Card
	// Show goes on with the card that was picked.
	Show func(w http.ResponseWriter, r *http.Request, card [][]byte)
}

// New makes a demonstration below an address such as
// http://127.0.0.1:8080/demo/cns.
func New(at string) (*Demo, error) {
	good, err := NewAuthority("DEMO CA Carta Nazionale dei Servizi", at+"/crl", time.Now)
	if err != nil {
		return nil, err
	}
	other, err := NewAuthority("DEMO CA of something else", at+"/crl", time.Now)
	return &Demo{Authority: good, stranger: other}, err
}

const policy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var page = template.Must(template.New("card").Parse(`<!doctype html>
<html lang="it"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>DEMO CNS</title><link rel="stylesheet" href="/pages/style.css"></head><body>
<header class="site"><p class="sandbox">DEMO: nessuna carta viene letta, tutto ciò che scegli è inventato. · no card is read here, whatever you choose is made up.</p></header>
<main><div class="narrow"><h1>DEMO CNS</h1>
<div class="card"><form method="post">
<label>Nome · Given name <input name="givenName" value="{{.GivenName}}" required></label>
<label>Cognome · Surname <input name="surname" value="{{.Surname}}" required></label>
<label>Codice fiscale · Fiscal code <input name="fiscalCode" value="{{.Code}}" required></label>
<label>Carta · Card <select name="card">
<option value="good">good, code in the common name / valida, codice nel nome comune</option>
<option value="serial">good, code in the serial number / valida, codice nel numero di serie</option>
<option value="expired">expired / scaduta</option>
<option value="revoked">revoked / revocata</option>
<option value="stranger">of another issuer / di un altro emittente</option>
<option value="none">no card / nessuna carta</option>
</select></label>
<button type="submit" id="person-0">Mostra la carta · Show the card</button>
</form></div></div></main></body></html>
`))

// Handler serves the list and the page; it is mounted at /demo/cns.
func (d *Demo) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /demo/cns/crl", d.Authority)
	mux.HandleFunc("GET /demo/cns/{id}/{secret}", func(w http.ResponseWriter, r *http.Request) {
		card := d.Applicant(r)
		for to, made := range map[*string]string{&card.GivenName: "Mario", &card.Surname: "Rossi", &card.Code: "RSSMRA80A01H501U"} {
			if *to == "" {
				*to = made
			}
		}
		var b bytes.Buffer
		if err := page.Execute(&b, card); err != nil {
			http.Error(w, "the demonstration has failed", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", "no-store")
		_, _ = b.WriteTo(w) // the client may be gone
	})
	mux.HandleFunc("POST /demo/cns/{id}/{secret}", d.pick)
	return http.NewCrossOriginProtection().Handler(mux)
}

// pick makes the card that was asked for, and shows it.
func (d *Demo) pick(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	kind := r.PostFormValue("card")
	by, c := d.Authority, Card{Code: r.PostFormValue("fiscalCode"), GivenName: r.PostFormValue("givenName"), Surname: r.PostFormValue("surname"), InSerial: kind == "serial"}
	switch kind {
	case "none":
		d.Show(w, r, nil)
		return
	case "expired":
		c.Change = func(t *x509.Certificate) {
			t.NotBefore, t.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		}
	case "stranger":
		by = d.stranger
	}
	card, err := by.Issue(c)
	if err == nil && kind == "revoked" {
		err = by.Revoke(card)
	}
	if err != nil {
		http.Error(w, "the demonstration has failed", http.StatusInternalServerError)
		return
	}
	d.Show(w, r, card.Certificate)
}

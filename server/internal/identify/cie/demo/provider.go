package demo

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// maxGrants limits what waits in memory.
const maxGrants = 1000

var people = []map[string]any{
	{"given_name": "Mario", "family_name": "Rossi", "fiscal_number": "RSSMRA80A01H501U", "birthdate": "1980-01-01", "email": "mario.rossi@rogito.example", "email_verified": true},
	{"given_name": "Giorgia", "family_name": "Bianchi", "fiscal_number": "BNCGRG80A41H501E", "birthdate": "1980-01-01", "email": "giorgia.bianchi@rogito.example", "email_verified": true},
	{"given_name": "Luca", "family_name": "Verdi", "fiscal_number": "VRDLCU75T10F205B", "birthdate": "1975-12-10", "email": "luca.verdi@rogito.example", "email_verified": true},
}

// failures are the errors that can be picked.
var failures = []string{"access_denied", "consent_required", "login_required", "server_error", "temporarily_unavailable", "invalid_request"}

var page = template.Must(template.New("login").Parse(`<!DOCTYPE html>
<html lang="it"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>DEMO CIE</title><link rel="stylesheet" href="/pages/style.css"></head>
<body><header class="site"><p class="sandbox">DEMO: nessuna carta, nessuna identità vera. · no card, no real identity.</p></header>
<main><div class="narrow"><h1>DEMO CIE</h1>
<section class="card"><h2>Chi sei? · Who are you?</h2>
{{range $i, $p := .People}}<form method="post" action="{{$.Action}}"><input type="hidden" name="request" value="{{$.Request}}"><input type="hidden" name="person" value="{{$i}}">
<p><button type="submit" id="person-{{$i}}">{{$p.given_name}} {{$p.family_name}}, {{$p.fiscal_number}}</button></p></form>
{{end}}</section>
<details class="card"><summary>Un'altra persona inventata · Another made-up person</summary>
<form method="post" action="{{.Action}}"><input type="hidden" name="request" value="{{.Request}}"><input type="hidden" name="person" value="other">
<label>Nome · Given name <input name="given_name"></label>
<label>Cognome · Surname <input name="family_name"></label>
<label>Codice fiscale · Tax code <input name="fiscal_number"></label>
<label>Data di nascita · Date of birth <input name="birthdate" placeholder="1980-01-31"></label>
<label>Email <input name="email"></label>
<button type="submit">DEMO: prosegui · continue</button></form></details>
<details class="card"><summary>Un errore · An error</summary>
<form method="post" action="{{.Action}}"><input type="hidden" name="request" value="{{.Request}}">
<label>Errore · Error <select name="error">{{range .Failures}}<option>{{.}}</option>{{end}}</select></label>
<button type="submit" class="danger" name="do" value="fail">DEMO: rispondi con l'errore · answer with the error</button></form></details>
</div></main></body></html>
`))

// request verifies a request object of the relying party.
func (d *Demo) request(raw string) (map[string]any, error) {
	claims, err := d.byClient(raw)
	if err != nil {
		return nil, err
	}
	redirect, _ := claims["redirect_uri"].(string)
	switch aud, _ := claims["aud"].([]any); {
	case claims["iss"] != d.client.id || claims["client_id"] != d.client.id:
		return nil, errors.New("the request is of another client")
	case len(aud) != 1 || aud[0] != d.ProviderID():
		return nil, errors.New("the request is for another provider")
	case redirect != d.client.id+"/cie/callback":
		return nil, errors.New("redirect_uri is not registered")
	case claims["response_type"] != "code" || claims["code_challenge_method"] != "S256":
		return nil, errors.New("the request does not ask for a code with PKCE")
	}
	return claims, nil
}

// byClient are the claims of a token that the relying party signed and that has
// not expired.
func (d *Demo) byClient(raw string) (map[string]any, error) {
	public, err := json.Marshal(keys(d.client.signing))
	if err != nil {
		return nil, err
	}
	set, err := jwt.ParseKeySet(public)
	if err != nil {
		return nil, err
	}
	token, err := set.Verify(raw, nil)
	if err != nil {
		return nil, err
	}
	var claims map[string]any
	if err := json.Unmarshal(token.Claims, &claims); err != nil {
		return nil, err
	}
	if exp, _ := claims["exp"].(float64); int64(exp) < d.now().Unix() {
		return nil, errors.New("the token has expired")
	}
	return claims, nil
}

func (d *Demo) login(w http.ResponseWriter, r *http.Request) {
	raw := r.FormValue("request")
	claims, err := d.request(raw)
	if err != nil {
		http.Error(w, "DEMO: "+err.Error(), http.StatusBadRequest)
		return
	}
	back, _ := url.Parse(claims["redirect_uri"].(string))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' "+back.Scheme+"://"+back.Host)
	_ = page.Execute(w, map[string]any{"Request": raw, "People": people, "Failures": failures, "Action": d.ProviderID() + "/authorize"})
}

func (d *Demo) chosen(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	claims, err := d.request(r.PostFormValue("request"))
	if err != nil {
		http.Error(w, "DEMO: "+err.Error(), http.StatusBadRequest)
		return
	}
	q := url.Values{"state": {claims["state"].(string)}, "iss": {d.ProviderID()}}
	if r.PostFormValue("do") == "fail" {
		q.Set("error", r.PostFormValue("error"))
	} else {
		code, err := d.grant(claims, person(r))
		if err != nil {
			http.Error(w, "DEMO: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		q.Set("code", code)
	}
	http.Redirect(w, r, claims["redirect_uri"].(string)+"?"+q.Encode(), http.StatusSeeOther)
}

func person(r *http.Request) map[string]any {
	out := map[string]any{}
	if c := r.PostFormValue("person"); len(c) == 1 && c[0] >= '0' && int(c[0]-'0') < len(people) {
		maps.Copy(out, people[c[0]-'0'])
	} else {
		for k := range people[0] {
			if v := strings.TrimSpace(r.PostFormValue(k)); v != "" {
				out[k] = v
			}
		}
	}
	if code, ok := out["fiscal_number"].(string); ok { // as the rules name it
		out["https://attributes.eid.gov.it/fiscal_number"] = "TINIT-" + code
		delete(out, "fiscal_number")
	}
	return out
}

func (d *Demo) grant(request, who map[string]any) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range []map[string]*grant{d.grants, d.access} {
		for k, g := range m {
			if d.now().After(g.until) {
				delete(m, k)
			}
		}
		if len(m) >= maxGrants {
			return "", errors.New("too many logins wait")
		}
	}
	code := random()
	sum := sha256.Sum256(fmt.Append(nil, d.base, who))
	d.grants[code] = &grant{request: request, person: who, sub: hex.EncodeToString(sum[:]), until: d.now().Add(5 * time.Minute)}
	return code, nil
}

// token exchanges a code, once.
func (d *Demo) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"error":"` + code + `"}`))
	}
	claims, err := d.byClient(r.PostFormValue("client_assertion"))
	if err != nil || claims["sub"] != d.client.id || claims["iss"] != d.client.id || claims["aud"] != d.ProviderID()+"/token" {
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	d.mu.Lock()
	code := r.PostFormValue("code")
	g := d.grants[code]
	delete(d.grants, code)
	d.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if g == nil || d.now().After(g.until) || r.PostFormValue("grant_type") != "authorization_code" || g.request["redirect_uri"] != r.PostFormValue("redirect_uri") ||
		g.request["code_challenge"] != base64.RawURLEncoding.EncodeToString(challenge[:]) {
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	access := random()
	half := sha256.Sum256([]byte(access))
	id, err := d.sign(d.Tokens, "id-token", "JWT", d.dated(5*time.Minute, map[string]any{
		"iss": d.ProviderID(), "sub": g.sub, "aud": d.client.id, "nonce": g.request["nonce"], "acr": g.request["acr_values"], "jti": random(),
		"at_hash": base64.RawURLEncoding.EncodeToString(half[:16]),
	}))
	if err == nil {
		d.mu.Lock()
		d.access[access] = g
		d.mu.Unlock()
	}
	b, _ := json.Marshal(map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": id})
	d.answer(w, "application/json", string(b), err)
}

// userinfo tells who it was, signed and encrypted.
func (d *Demo) userinfo(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	g := d.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	d.mu.Unlock()
	if g == nil || d.now().After(g.until) {
		http.Error(w, `{"error":"invalid_token"}`, http.StatusUnauthorized)
		return
	}
	claims := d.dated(5*time.Minute, map[string]any{"iss": d.ProviderID(), "sub": g.sub, "aud": d.client.id})
	maps.Copy(claims, g.person)
	token, err := d.sign(d.Tokens, "userinfo", "JWT", claims)
	if err == nil {
		token, err = jwt.Encrypt(token, d.client.encryption)
	}
	d.answer(w, "application/jwt", token, err)
}

package abuse_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// content is what an installation is filled with, as far as its use needs to know.
type content struct {
	asksNext *guest         // who may sign
	fresh    *server.Server // that serves now
	other    string         // id of another account
	own      string         // of the sandbox's
	reviews  []string

	changed, removed, refreshed, plain newToken
	card                               []byte // a client certificate, DER

	shown, revoked, held issued
	ordered, unseen      bought
	seeing, console      *http.Client
	person               *visitor
	invited              string
	waits, done          string // records: that waits for an approval, and one that is signed
	judged               bought

	app                     *oauth
	service, renews, sad    string
	code, pushed            string
	exchanged, renewed      string // used already
	taken                   string // answer of an identity provider
	hashes                  []string
	algo                    string
	certificate             string // of the sandbox, automatic
	link                    string
	begun                   string
	elsewhere, returning    bought
	replayed                m
	spidBrowser, backBrowse *http.Client
	back                    string
	keyed                   string
}

type newToken struct{ ID, Token, Refresh string }

func (x *rowsTried) must(method, path string, body any, header ...string) *answer {
	x.T.Helper()
	a := x.Do(method, path, body, header...)
	if a.Status != 200 {
		x.T.Fatalf("%s %s: %d/%d %s", method, path, a.Status, a.Code(), a.Message)
	}
	return a
}

func (x *rowsTried) token(body m, header ...string) (n newToken) {
	x.T.Helper()
	a := x.must("POST", "/tokens", body, header...)
	var made struct{ ID, Token, RefreshToken string }
	if err := json.Unmarshal(a.Data, &made); err != nil {
		x.T.Fatal(err)
	}
	return newToken{made.ID, made.Token, made.RefreshToken}
}

// fill makes rows of every kind by real calls.
func (x *rowsTried) fill() {
	x.T.Helper()
	ctx, srv := context.Background(), x.fresh
	made, err := srv.CreateAccount(ctx, "other@example.org", false)
	if err != nil {
		x.T.Fatal(err)
	}
	x.reviews = x.Reviewer()
	x.other = field(x.srv, x.T, `select id from accounts where email = 'other@example.org'`)
	x.own = field(x.srv, x.T, `select id from accounts where email = $1`, x.Box.Email)
	x.Do("GET", "/wallet", nil, "Authorization", "Bearer "+made.Token)
	x.must("GET", "/callbacks/secret", nil)
	x.must("GET", "/callbacks/secret", nil, "Authorization", "Bearer "+made.Token)

	narrow := m{"name": "narrow", "scopes": []string{"GET:*/wallet", "GET:*/stats"}, "limits": m{"ip": []string{"127.0.0.1", "::1"}, "totalRequests": 1000}}
	x.changed, x.removed = x.token(narrow, "Authorization", x.ApiKey()), x.token(narrow, "Authorization", x.ApiKey())
	x.refreshed = x.token(m{"scopes": []string{"GET:*/wallet"}}, "Authorization", x.ApiKey())
	x.plain = x.token(m{"scopes": []string{"GET:*/wallet"}})
	x.keyed = "a key"
	x.replayed = m{"scopes": []string{"GET:*/wallet"}, "name": "replayed"}
	x.token(x.replayed, "Idempotency-Key", x.keyed)

	cert, _ := selfSigned(x.T, x.T.TempDir())
	text, err := os.ReadFile(cert)
	if err != nil {
		x.T.Fatal(err)
	}
	x.must("POST", "/client-certificates", m{"name": "mine", "certificate": string(text)}, "Authorization", x.ApiKey())
	block, _ := pem.Decode(text)
	x.card = block.Bytes
	cert, _ = selfSigned(x.T, x.T.TempDir())
	if text, err = os.ReadFile(cert); err != nil {
		x.T.Fatal(err)
	}
	x.must("POST", "/client-certificates", m{"name": "second", "certificate": string(text)}, "Authorization", x.ApiKey())

	x.fillOrders()
	x.fillPeople() // before there is something else to be worked on
	x.fillRecords()
	x.fillCSC()

	login, err := srv.ConsoleLogin(ctx, x.Box.Email)
	if err != nil {
		x.T.Fatal(err)
	}
	x.link = login.URL[strings.Index(login.URL, "/console/"):]
	x.console = x.LoggedIn(x.Box.Token).Client
	x.fillMembers(srv)
	if _, err := srv.Parts().Billing.Subscribe(ctx, x.own, "GET:*/IT-omi", 10, 0); err != nil {
		x.T.Fatal(err)
	}
	x.Do("GET", "/IT-omi?latitude=41.9&longitude=12.5", nil)
	x.Do("GET", "/nowhere", nil)
	for _, list := range []string{"ca", "root"} {
		x.Raw("GET", "/pki/"+list+".crl", nil)
	}
	x.checkpoint()
}

func (x *rowsTried) fillOrders() {
	x.T.Helper()
	x.shown, x.revoked, x.held = x.Issued("otp", nil), x.Issued("automatic", nil), x.Issued("automatic", nil)
	x.ordered = x.Buy("automatic", sitetest.Elsa)
	x.Holder = aBrowser(x.T)
	x.judged = x.BuyWaiting(m{"callback": m{"url": "https://nowhere.invalid/hook"}, "customReference": "r"})
	x.Holder = aBrowser(x.T)
	x.unseen = x.Ready("automatic", nil)
	x.seeing = x.Holder
	x.Holder = aBrowser(x.T)
	refused := x.BuyWaiting(nil)
	x.must("POST", "/certificates/"+refused.ID+"/review", m{"approve": false, "reason": "another face"}, x.reviews...)
	x.Holder = aBrowser(x.T)
	x.Statement(x.Buy("automatic", sitetest.Elsa).CertificateLink)
	// One request to an identity provider is under way, one was answered.
	w := &twins{Site: x.site, Srv: x.fresh, URLs: [2]string{x.URL, x.URL}}
	x.elsewhere, x.returning = x.Buy("automatic", sitetest.Elsa), x.Buy("automatic", sitetest.Elsa)
	x.spidBrowser, x.backBrowse = aBrowser(x.T), aBrowser(x.T)
	x.begun = w.Begin(x.spidBrowser, 0, x.elsewhere)
	answer := w.Answers(w.Begin(x.backBrowse, 0, x.returning))
	x.taken = answer.Get("id")
	x.back = w.Stays(x.backBrowse, answer)
	x.Holder = nil
}

func (x *rowsTried) fillRecords() {
	x.T.Helper()
	x.waits = x.site.Waiting()
	approved := x.site.Waiting()
	x.must("POST", "/approvals/"+approved, nil, "Authorization", "Bearer "+x.OtherToken())
	if err := work(x.fresh, x.fresh.Parts().Signing, job.Config{}); err != nil {
		x.T.Fatal(err)
	}
	x.Wait(approved, "DONE")
	x.done = x.Sign(b64(sitetest.SamplePDF), m{"callback": m{"url": "https://nowhere.invalid/hook", "retry": 0, "headers": m{"X-A": "b"}}}).ID
	x.Sign(b64(sitetest.SampleTXT), m{"certificatePassword": "wrong"})
	x.Record(x.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": x.shown.User, "certificatePassword": x.shown.Pass, "certificateOtp": codeOf(x.T, x.shown.Secret, 0)}))
	x.Sign(b64(sitetest.SamplePDF), optionsOf(m{"asyncSignature": true, "signerImage": m{"reason": "because"}}))
	gone := x.Sign(b64(sitetest.SampleTXT)).ID
	x.must("DELETE", "/signatures/"+gone, nil)
	x.must("POST", "/EU-QES_automatic", x.Body(b64(sitetest.SampleTXT)), "Idempotency-Key", "another key")
}

// fillPeople has people asked: one has signed and the other was sent a code, all have signed, and
// none has yet.
func (x *rowsTried) fillPeople() {
	x.T.Helper()
	step := func() {
		x.T.Helper()
		if err := work(x.fresh, x.fresh.Parts().Signing, job.Config{}); err != nil {
			x.T.Fatal(err)
		}
	}
	var all []*asked
	for _, n := range []int{2, 1, 1} {
		r := &asked{}
		a := x.must("POST", "/EU-SES", m{"title": "asked", "inputDocuments": b64(sitetest.SamplePDF), "signers": signersOf(n), "callback": m{"url": "https://nowhere.invalid/hook", "retry": 0}})
		if err := json.Unmarshal(a.Data, r); err != nil {
			x.T.Fatal(err)
		}
		step()
		all = append(all, x.Asked(r.ID, "WAIT_SIGNERS"))
	}
	for _, g := range []*guest{x.Guests(x.fresh, all[0])[0], x.Guests(x.fresh, all[1])[0]} {
		g.Proves()
		if err := g.Clicks(200 * time.Millisecond); err != nil {
			x.T.Fatal(err)
		}
		step()
	}
	step() // the second is closed
	x.Asked(all[1].ID, "DONE")
	x.asksNext = x.Guests(x.fresh, all[0])[1]
	x.asksNext.Proves()
	for _, name := range []string{"one", "two"} {
		x.must("POST", "/templates", m{"name": name, "inputDocuments": b64(sitetest.SamplePDF), "signers": []m{{"place": "tenant"}}})
	}
}

func (x *rowsTried) fillCSC() {
	x.T.Helper()
	x.app = x.site.OAuth("https://app.example/back")
	x.certificate = field(x.srv, x.T, `select id from credentials where username = $1`, x.Box.Certificates["automatic"].Username)
	x.exchanged = x.app.Consent(x.app.Query(nil), x.consentTo(x.app.Query(nil)))
	x.renewed = x.app.Tokens(x.exchanged)["refresh_token"].(string)
	status, out := x.app.Form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {x.renewed}})
	if status != 200 {
		x.T.Fatalf("%d %v", status, out)
	}
	x.service, x.renews = out["access_token"].(string), out["refresh_token"].(string)
	x.hashes = digestsOf("one", "two")
	c := x.CSC("v2")
	x.algo = c.AlgoOf(x.certificate)
	x.sad = c.SAD(x.certificate, x.Box.Certificates["automatic"].Password, "", x.hashes)
	q := x.app.CredentialQuery(x.certificate, x.hashes, nil)
	x.code = x.app.Consent(q, x.consentTo(q))
	form := x.app.CredentialQuery(x.certificate, x.hashes, nil)
	form.Del("client_id")
	status, pushed := x.app.Form("pushed_authorize", form)
	if status != 201 {
		x.T.Fatalf("%d %v", status, pushed)
	}
	x.pushed = pushed["request_uri"].(string)
}

// consentTo is the form of the page that a request shows, filled in.
func (x *rowsTried) consentTo(q url.Values) url.Values {
	_, page, _ := x.app.Visit(q, nil)
	form := x.Word("automatic", nil)
	if _, shown, found := strings.Cut(page, `name="shown" value="`); found {
		form.Set("shown", shown[:64])
	}
	return form
}

// goOn changes what stands in rows since they were kept, so that what they were is
// not what they are.
func (x *rowsTried) goOn() {
	x.T.Helper()
	ctx, srv := context.Background(), x.fresh
	x.must("PUT", "/token/"+x.changed.ID, m{"scopes": []string{"GET:*/wallet"}}, "Authorization", x.ApiKey())
	x.must("DELETE", "/tokens/"+x.removed.ID, nil, "Authorization", x.ApiKey())
	var next struct{ ID, Token, RefreshToken string }
	a := x.must("PATCH", "/tokens/"+x.refreshed.ID, nil, "Authorization", "Bearer "+x.refreshed.Refresh)
	if err := json.Unmarshal(a.Data, &next); err != nil {
		x.T.Fatal(err)
	}
	x.refreshed = newToken{next.ID, next.Token, next.RefreshToken}
	key, err := srv.Parts().Accounts.NewKey(ctx, x.own)
	if err != nil {
		x.T.Fatal(err)
	}
	x.Box.APIKey = key
	if err := srv.Parts().Accounts.SetQuota(ctx, x.other, account.Quota{SignaturesPerDay: 3}); err != nil {
		x.T.Fatal(err)
	}
	x.must("DELETE", "/client-certificates/"+field(x.srv, x.T, `select id from client_certificates where name = 'second'`), nil, "Authorization", x.ApiKey())
	x.must("POST", "/callbacks/secret", nil)
	x.must("POST", "/certificates/"+x.revoked.ID+"/revoke", nil)
	x.must("POST", "/certificates/"+x.held.ID+"/suspend", nil)
	x.must("POST", "/certificates/"+x.shown.ID+"/password", m{"old": x.shown.Pass, "new": "another password"})
	x.shown.Pass = "another password"
	second := x.site.OAuth("https://second.example/back")
	if err := srv.RemoveCSCClient(ctx, second.ID); err != nil {
		x.T.Fatal(err)
	}
	c := x.CSC("v2")
	if status, out := c.Post("signatures/signHash", c.SignBody(x.certificate, x.sad, x.algo, x.hashes[:1])); status != 200 {
		x.T.Fatalf("%d %v", status, out)
	}
	x.Raw("GET", "/pki/ca.crl", nil)
	x.checkpoint()
}

func (x *rowsTried) checkpoint() {
	x.T.Helper()
	if _, err := x.fresh.Parts().Audit.Sequence(context.Background()); err != nil {
		x.T.Fatal(err)
	}
	if _, err := x.fresh.Parts().Checkpointer.Make(context.Background()); err != nil {
		x.T.Fatal(err)
	}
}

// Uses of rows: each fails where the act is refused.

func (x *rowsTried) ok(a *answer) error {
	if a.Status >= 300 {
		return errors.New(a.Message)
	}
	return nil
}

func (x *rowsTried) calls(auth func() string) func() error {
	return func() error { return x.ok(x.Do("GET", "/wallet", nil, "Authorization", auth())) }
}

func (x *rowsTried) bearer(t *newToken) func() error {
	return x.calls(func() string { return "Bearer " + t.Token })
}

func (x *rowsTried) signs(kind string, body func() m) func() error {
	return func() error {
		a := x.Do("POST", "/EU-QES_"+kind, body())
		if err := x.ok(a); err != nil {
			return err
		}
		if r := x.Record(a); r.State != "DONE" {
			return errors.New(deref(r.ErrorMessage))
		}
		return nil
	}
}

func (x *rowsTried) approves() error {
	if err := x.ok(x.Do("POST", "/approvals/"+x.waits, nil, "Authorization", "Bearer "+x.OtherToken())); err != nil {
		return err
	}
	return x.worksOn(x.waits)
}

// worksOn signs what waits, as a worker does.
func (x *rowsTried) worksOn(id string) error {
	for range 3 {
		if err := work(x.fresh, x.fresh.Parts().Signing, job.Config{}); err != nil {
			return err
		}
		a := x.Do("GET", "/signatures/"+id, nil)
		if err := x.ok(a); err != nil {
			return err
		}
		switch r := x.Record(a); r.State {
		case "DONE":
			return nil
		case "ERROR":
			return errors.New(deref(r.ErrorMessage))
		}
	}
	return errors.New("it is not worked on")
}

func (x *rowsTried) downloads() error {
	a, _ := x.Raw("GET", "/signatures/"+x.done+"/signedDocument", nil)
	return x.ok(a)
}

func (x *rowsTried) reveals() error {
	x.Holder = x.seeing
	defer func() { x.Holder = nil }()
	if page := x.Page(x.unseen.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
		return errors.New("nothing is shown")
	}
	return nil
}

func (x *rowsTried) identifies() error {
	x.Holder = aBrowser(x.T)
	defer func() { x.Holder = nil }()
	if code, page := x.Upload(x.ordered.CertificateLink, "video", sitetest.EvidenceFiles); code != 200 {
		return errors.New(page)
	}
	return x.ok(x.Do("POST", "/certificates/"+x.ordered.ID+"/review", m{"approve": true}, x.reviews...))
}

func (x *rowsTried) shows(link string) error {
	resp, err := aBrowser(x.T).Get(link)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return errors.New("the link leads nowhere")
	}
	return nil
}

func (x *rowsTried) decides() error {
	if err := x.shows(x.judged.CertificateLink); err != nil {
		return err
	}
	return x.ok(x.Do("POST", "/certificates/"+x.judged.ID+"/review", m{"approve": true}, x.reviews...))
}

// answers of an identity provider, to a request under way and in the browser that
// went back.
func (x *rowsTried) answers() error {
	w := &twins{Site: x.site, Srv: x.fresh, URLs: [2]string{x.URL, x.URL}}
	if err := x.shows(x.elsewhere.CertificateLink); err != nil {
		return err
	}
	w.Visit(x.spidBrowser, x.URL+"/spid/acs", w.Answers(x.begun))
	return x.state(x.elsewhere.ID)
}

func (x *rowsTried) comesBack() error {
	w := &twins{Site: x.site, Srv: x.fresh, URLs: [2]string{x.URL, x.URL}}
	w.Visit(x.backBrowse, x.URL+x.back, nil)
	return x.state(x.returning.ID)
}

func (x *rowsTried) state(id string) error {
	a := x.Do("GET", "/certificates/"+id, nil)
	if err := x.ok(a); err != nil {
		return err
	}
	if !strings.Contains(string(a.Data), `"DONE"`) {
		return errors.New("it is not issued")
	}
	return nil
}

func (x *rowsTried) replays() error {
	return x.ok(x.Do("POST", "/tokens", x.replayed, "Idempotency-Key", x.keyed))
}

func (x *rowsTried) presents() error {
	known, err := x.fresh.Parts().Enroll.KnowsClient(context.Background(), x.own, x.card)
	if err == nil && !known {
		err = errors.New("it is not known")
	}
	return err
}

func (x *rowsTried) secrets() error {
	_, got := x.Raw("GET", "/callbacks/secret", nil)
	if !bytes.Contains(got, []byte("whsec_")) {
		return errors.New(string(got))
	}
	return nil
}

func (x *rowsTried) resends() error {
	return x.ok(x.Do("POST", "/callbacks/"+field(x.srv, x.T, `select min(id) from now_callbacks`)+"/resend", nil))
}

func cscError(status int, out m) error {
	if status >= 300 {
		return fmt.Errorf("%d %v", status, out)
	}
	return nil
}

func (x *rowsTried) lists() error {
	return cscError(x.CSC("v2").As(x.service).Post("credentials/list", m{}))
}

func (x *rowsTried) renewsToken() error {
	return cscError(x.app.Form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {x.renews}}))
}

func (x *rowsTried) exchanges() error { return cscError(x.app.Exchange(x.code, nil)) }

func (x *rowsTried) renewsAgain() error {
	return cscError(x.app.Form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {x.renewed}}))
}

func (x *rowsTried) exchangesAgain() error { return cscError(x.app.Exchange(x.exchanged, nil)) }

// answersAgain brings an answer of an identity provider that was taken already.
func (x *rowsTried) answersAgain() error {
	w := &twins{Site: x.site, Srv: x.fresh, URLs: [2]string{x.URL, x.URL}}
	browser, order := aBrowser(x.T), x.Buy("automatic", sitetest.Elsa)
	answer := w.Answers(w.Begin(browser, 0, order))
	answer.Set("id", x.taken)
	w.Visit(browser, x.URL+"/spid/acs", answer)
	return x.state(order.ID)
}

func (x *rowsTried) consents() error {
	q := url.Values{"client_id": {x.app.ID}, "request_uri": {x.pushed}}
	if status, page, to := x.app.Visit(q, x.consentTo(q)); status != 303 || to.Get("code") == "" {
		return fmt.Errorf("%d %s", status, page)
	}
	return nil
}

func (x *rowsTried) signsHash(i int) func() error {
	return func() error {
		c := x.CSC("v2")
		return cscError(c.Post("signatures/signHash", c.SignBody(x.certificate, x.sad, x.algo, x.hashes[i:i+1])))
	}
}

func (x *rowsTried) visitsConsole() error {
	resp, err := x.console.Get(x.URL + "/console/records")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || strings.Contains(resp.Request.URL.Path, "login") {
		return errors.New("logged out")
	}
	return nil
}

func (x *rowsTried) logsIn() error {
	link, _, _ := strings.Cut(strings.TrimPrefix(x.link, "/console/login?link="), "&")
	_, err := x.fresh.Parts().Accounts.LogInByLink(context.Background(), link, "")
	return err
}

// statusOf asks OCSP, which must not say that a good certificate is revoked or
// unknown, nor anything wrong of the others.
func (x *rowsTried) statusOf() error {
	got, listed := x.Revocation(x.fresh, x.shown.ID)
	if got != nil || listed {
		return errors.New("it is taken for revoked")
	}
	return nil
}

// servesLists fails where the list that is kept is not the one that is served.
func (x *rowsTried) servesLists() error {
	for _, name := range []string{"ca", "root"} {
		kept := rawField(x.srv, x.T, `select crl from now_authority_crl where name = $1`, name)
		before, err := x509.ParseRevocationList(kept)
		if err != nil {
			return err
		}
		_, served := x.Raw("GET", "/pki/"+name+".crl", nil)
		now, err := x509.ParseRevocationList(served)
		switch {
		case err != nil:
			return err
		case len(now.RevokedCertificateEntries) != len(before.RevokedCertificateEntries) || now.Number.Cmp(before.Number) < 0:
			x.T.Errorf("a list of %d with number %v is served after one of %d with %v", len(now.RevokedCertificateEntries), now.Number, len(before.RevokedCertificateEntries), before.Number)
		case !bytes.Equal(served, kept):
			return errors.New("another list was made")
		}
	}
	return nil
}

// used are the rows that are tried, by their tables; of other tables one of each
// group is.
func (x *rowsTried) used() map[string][]rowSubject {
	automatic := x.signs("automatic", func() m { return x.Body(b64(sitetest.SampleTXT)) })
	signs := x.signs("otp", func() m {
		return m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": x.shown.User, "certificatePassword": x.shown.Pass, "certificateOtp": codeOf(x.T, x.shown.Secret, 1)}
	})
	otp := func() error {
		if page := x.Page(x.shown.CertificateLink, nil); !strings.Contains(page, "127.0.0.1") {
			return errors.New("the link does not say to whom the credentials were shown")
		}
		return signs()
	}
	id := func(id string) string { return `id = '` + id + `'` }
	key := x.calls(x.ApiKey)
	return map[string][]rowSubject{
		"data_keys":           {{where: `id = 1`, use: automatic}},
		"idempotency":         {{where: `key = 'a key'`, use: x.replays}},
		"accounts":            {{where: id(x.own), use: key}},
		"tokens":              {{where: id(x.changed.ID), use: x.bearer(&x.changed)}, {where: id(x.refreshed.ID), use: x.bearer(&x.refreshed)}, {where: id(x.plain.ID), use: x.bearer(&x.plain)}},
		"client_certificates": {{where: `name = 'mine'`, use: x.presents}},
		"credentials":         {{where: id(x.shown.ID), use: otp}, {where: id(x.certificate), use: automatic}, {where: id(x.revoked.ID)}},
		"certificates": {
			{where: id(x.shown.ID), use: otp},
			{where: id(x.unseen.ID), use: x.reveals},
			{where: id(x.ordered.ID), use: x.identifies},
			{where: id(x.judged.ID), use: x.decides},
			{where: id(x.elsewhere.ID), use: x.answers},
			{where: id(x.revoked.ID)},
			{where: id(x.held.ID)},
		},
		"identifications":         {{where: `certificate_id = '` + x.judged.ID + `'`, use: x.decides}, {where: `certificate_id = '` + x.unseen.ID + `'`}},
		"identification_requests": {{where: `certificate_id = '` + x.elsewhere.ID + `'`, use: x.answers}, {where: `certificate_id = '` + x.returning.ID + `'`, use: x.comesBack}},
		"signatures":              {{where: id(x.waits), use: x.approves}, {where: id(x.done), use: x.downloads}, {where: `state = 'ERROR'`}},
		"signature_files":         {{where: `signature_id = '` + x.waits + `'`, use: x.approves}, {where: `signature_id = '` + x.done + `' and role = 'input'`, use: x.downloads}, {where: `signature_id = '` + x.done + `' and role = 'signed'`, use: x.downloads}},
		"authority_keys":          {{where: `name = 'root'`, use: automatic}, {where: `name = 'issuing'`, use: automatic}, {where: `name = 'tsa'`}, {where: `name = 'ocsp'`}, {where: `name = 'seal'`}},
		"authority_issued":        {{where: `certificate_id = '` + x.shown.ID + `'`, use: x.statusOf}, {where: `certificate_id = '` + x.revoked.ID + `'`}, {where: `certificate_id = ''`}},
		"authority_crl":           {{where: `name = 'ca'`, use: x.servesLists}, {where: `name = 'root'`, use: x.servesLists}},
		"callbacks":               {{where: id(field(x.srv, x.T, `select min(id) from now_callbacks`)), use: x.resends}},
		"callback_secrets":        {{where: `account_id = '` + x.own + `' and expires_at = 0`, use: x.secrets}, {where: `account_id = '` + x.own + `' and expires_at > 0`, use: x.secrets}},
		"csc_tokens":              {{where: `scope = 'service'`, use: x.lists}},
		"csc_clients":             {{where: id(x.app.ID), use: x.exchanges}},
		"csc_requests":            {{where: `used_at = 0`, use: x.consents}},
		"csc_codes":               {{where: `used_at = 0`, use: x.exchanges}, {where: `used_at > 0`, use: x.exchangesAgain, never: true}},
		"csc_refresh":             {{where: `used_at = 0`, use: x.renewsToken}, {where: `used_at > 0`, use: x.renewsAgain, never: true}},
		"csc_sads":                {{where: `token_id <> ''`, use: x.signsHash(1)}},
		"csc_hashes":              {{where: `position = 1`, use: x.signsHash(1)}, {where: `position = 0`, use: x.signsHash(0), never: true}},
		"identification_answers":  {{where: `id is not null`, use: x.answersAgain, never: true}},
		"console_sessions":        {{where: `hash is not null`, use: x.visitsConsole}},
		"console_links":           {{where: `hash is not null`, use: x.logsIn}},
		"members":                 {{where: `seat <> ''`, use: x.personVisits}, {where: `seat = ''`, use: x.opensInvitation}},
	}
}

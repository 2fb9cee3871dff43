package blackbox

import (
	"bytes"
	"crypto/hmac" //nolint:gosec // records name files by it
	"crypto/sha1" //nolint:gosec // what one-time passwords are made with
	"encoding/base32"
	"encoding/base64"
	big "encoding/binary"
	"fmt"
	"html"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/api/apitest"
)

// m is a JSON object.
type m = map[string]any

// guest is a client of the deployment under test: it knows its token and
// certificate, and asks one node after the other.
type guest struct {
	*testing.T
	w      *world
	client *http.Client
	me     credentials
	cert   certificate // of the kind automatic
	turn   atomic.Int64

	cookies map[string]string // of the browser, by path
}

// certificate is one that was issued, with what its holder was shown.
type certificate struct {
	ID, Kind                   string
	Username, Password, Secret string
}

// guest calls with the credentials of an account.
func (w *world) guest(t *testing.T, c credentials) *guest {
	return &guest{T: t, w: w, client: w.client, me: c}
}

// sandboxed calls as the sandbox's own account.
func (w *world) sandboxed(t *testing.T) *guest {
	g := w.guest(t, w.me)
	g.cert = w.certificates["automatic"]
	g.cert.Kind = "automatic"
	return g
}

// tenant is an account of its own, with some money and a certificate.
func (w *world) tenant(t *testing.T, flags ...string) *guest {
	t.Helper()
	g := w.guest(t, w.account(t, flags...))
	w.nodes[0].run("wallet", "credit", g.me.Email, "100000")
	g.cert = g.issue("automatic", m{})
	return g
}

// as is the same guest with another token.
func (g *guest) as(token string) *guest {
	return &guest{T: g.T, w: g.w, client: g.client, me: credentials{Token: token}, cert: g.cert}
}

func (g *guest) node() *node { return g.w.nodes[g.turn.Add(1)%int64(len(g.w.nodes))] }

// byKey is the header of a call with the API key, for what a token cannot do for
// itself.
func (g *guest) byKey() []string {
	if g.me.APIKey == "" {
		return nil
	}
	return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(g.me.Email+":"+g.me.APIKey))}
}

// raw sends a request to the next node.
func (g *guest) raw(method, path string, body any, header ...string) *answer {
	g.Helper()
	if g.me.Token != "" {
		header = append([]string{"Authorization", bearer(g.me.Token)}, header...)
	}
	a, err := apitest.Send(during(g.Context(), g.T), g.client, method, g.node().url()+path, body, header...)
	if err != nil {
		g.Fatalf("%s %s: %v", method, path, err)
	}
	return &answer{*a}
}

// do is raw for answers in the envelope.
func (g *guest) do(method, path string, body any, header ...string) *answer {
	g.Helper()
	a := g.raw(method, path, body, header...)
	if err := a.Open(); err != nil {
		g.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// ok is do for what must succeed; the data is read into v, unless that is nil.
func (g *guest) ok(v any, method, path string, body any, header ...string) *answer {
	g.Helper()
	a := g.do(method, path, body, header...)
	if a.Status != http.StatusOK {
		g.Fatalf("%s %s: %d with %d: %s", method, path, a.Status, a.code(), a.Message)
	}
	if v != nil {
		a.into(g.T, v)
	}
	return a
}

// no is do for what must be refused, with a message that has the words.
func (g *guest) no(status, code int, method, path string, body any, words ...string) *answer {
	g.Helper()
	a := g.do(method, path, body)
	a.refused(g.T, method+" "+path, status, code, words...)
	return a
}

func (a *answer) refused(t testing.TB, what string, status, code int, words ...string) {
	t.Helper()
	if a.Status != status || a.code() != code {
		t.Errorf("%s: %d with %d (%.200s), want %d with %d", what, a.Status, a.code(), a.Body, status, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(a.Message, w) {
			t.Errorf("%s: the message %q does not name %q", what, a.Message, w)
		}
	}
}

// record as a client reads it.
type record struct{ apitest.Record }

func (r *record) number() int { return deref(r.ErrorNumber) }

// says is a record in short, for messages.
func (r *record) says() string {
	return fmt.Sprintf("%s %s %d %s", r.State, deref(r.SignatureType), r.number(), deref(r.ErrorMessage))
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// with is one object with the members of others added; a nil object is as good
// as an empty one.
func with(first m, more ...m) m {
	all := maps.Clone(first)
	if all == nil {
		all = m{}
	}
	for _, x := range more {
		maps.Copy(all, x)
	}
	return all
}

func options(o m) m { return m{"options": o} }

// body of a request with a certificate; for otp with the current code.
func (c certificate) body(docs any, more ...m) m {
	b := m{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password}
	if c.Kind == "otp" {
		b["certificateOtp"] = code(c.Secret, 0)
	}
	return with(b, more...)
}

func (g *guest) body(docs any, more ...m) m { return g.cert.body(docs, more...) }

// submit sends a request to sign and returns the record.
func (g *guest) submit(body m, header ...string) *record {
	g.Helper()
	r := &record{}
	g.ok(r, "POST", "/EU-QES_automatic", body, header...)
	return r
}

// sign has the guest's certificate sign documents.
func (g *guest) sign(docs any, more ...m) *record {
	g.Helper()
	return g.submit(g.body(docs, more...))
}

// signed is sign for what must be DONE, and the signed document.
func (g *guest) signed(docs any, more ...m) (*record, []byte) {
	g.Helper()
	r := g.sign(docs, more...)
	if r.State != "DONE" {
		g.Fatalf("%v: %s", more, r.says())
	}
	return r, g.download(r, "signedDocument")
}

// wait returns a record once it is at its end.
func (g *guest) wait(id string) *record {
	g.Helper()
	for range await.Within(await.Limit) {
		r := &record{}
		g.ok(r, "GET", "/signatures/"+id, nil)
		if r.State == "DONE" || r.State == "ERROR" {
			return r
		}
	}
	g.Fatalf("record %s is not at its end after three minutes", id)
	return nil
}

// download fetches a document of a record and holds it to its file object.
func (g *guest) download(r *record, which string) []byte {
	g.Helper()
	a := g.raw("GET", "/signatures/"+r.ID+"/"+which, nil)
	if a.Status != http.StatusOK {
		g.Fatalf("%s: %d %.200s", which, a.Status, a.Body)
	}
	f := r.Document.SignedDocument
	if which == "validatedDocument" {
		f = r.Document.ValidatedDocument
	}
	if !f.Of(a.Body) {
		g.Errorf("%s: %d bytes, the record says %+v", which, len(a.Body), f)
	}
	return a.Body
}

// report of a verification.
type report struct {
	SignatureFormat string
	NrOfSignatures  int
	OverallVerified bool
	PlainDocument   *string
	Signatures      []signatureReport `json:"signatureReportList"`
}

type signatureReport struct {
	Integrity                                              bool
	Indication, SubIndication, SignatureLevel              string
	SignatureAlgorithmName, DigestAlgorithm, Qualification string
	SubjectDN, IssuerDN, SubjectCN                         string
	QcComplianceStatus, QcSSCDStatus                       string
	SignerCertificateStatus                                string
	KeySize                                                int
	DerEncodedSignerCert                                   []byte
	CounterSignatures                                      []any
	Timestamps                                             []m
	ClaimedTime, Reason, Location, Policy                  *string
}

// verify has the server verify a document.
func (g *guest) verify(doc []byte, more ...m) *report {
	g.Helper()
	r := &report{}
	g.ok(r, "POST", "/verify", with(m{"inputDocument": b64(doc)}, more...))
	return r
}

// bought is the answer to a purchase.
type bought struct {
	ID, CertificateType, State, CertificateLink, CreatedAt, ExpireAt string
	SecurityLevel                                                    int
	CertificateOwner                                                 struct{ Owner, CustomReference string }
}

func (g *guest) buy(kind string, body m) *bought {
	g.Helper()
	b := &bought{}
	g.ok(b, "POST", "/certificates/provider-"+kind, with(m{"certificateOwner": "Dora Prova"}, body))
	g.w.secret(b.CertificateLink[strings.LastIndexByte(b.CertificateLink, '/')+1:])
	return b
}

// issue buys a certificate and presses the sandbox's button.
func (g *guest) issue(kind string, body m) certificate {
	g.Helper()
	b := g.buy(kind, body)
	status, page := g.post(b.CertificateLink, url.Values{"action": {"approve"}})
	if status != http.StatusOK {
		g.Fatalf("the button: %d %s", status, page)
	}
	c := shown(g.T, b.ID, kind, page)
	g.w.secret(c.Password, c.Secret)
	return c
}

// shown reads the credentials off the last page.
func shown(t testing.TB, id, kind, page string) certificate {
	t.Helper()
	c := certificate{ID: id, Kind: kind, Username: element(page, "certificate-username"), Password: element(page, "certificate-password"), Secret: element(page, "otp-secret")}
	if c.Username == "" || c.Password == "" || (c.Secret != "") != (kind == "otp") {
		t.Fatalf("the page shows no credentials: %s", page)
	}
	return c
}

// element is the text of the element of a page with an id.
func element(page, id string) string {
	_, rest, _ := strings.Cut(page, `id="`+id+`">`)
	text, _, _ := strings.Cut(rest, "<")
	return html.UnescapeString(text)
}

// visit gets a page.
func (g *guest) visit(link string) (int, string) { return g.form("GET", link, "", nil) }

// post sends a form to a page.
func (g *guest) post(link string, form url.Values) (int, string) {
	return g.form("POST", link, "application/x-www-form-urlencoded", []byte(form.Encode()))
}

// upload sends files to a page.
func (g *guest) upload(link, action string, files map[string][]byte) (int, string) {
	g.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("action", action)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateFormFile(name, name+".bin")
		if err != nil {
			g.Fatal(err)
		}
		_, _ = f.Write(files[name])
	}
	_ = w.Close()
	return g.form("POST", link, w.FormDataContentType(), b.Bytes())
}

// form sends a browser's request to the next node; a page runs no scripts but modules of
// the server's own.
func (g *guest) form(method, link, contentType string, body []byte) (int, string) {
	g.Helper()
	path, ok := strings.CutPrefix(link, g.w.public)
	if !ok {
		g.Fatalf("the link %s is not under %s", link, g.w.public)
	}
	head := []string{"Content-Type", contentType, "Authorization", ""}
	for under, cookie := range g.cookies {
		if strings.HasPrefix(path, under) {
			head = append(head, "Cookie", cookie)
		}
	}
	a := g.raw(method, path, body, head...)
	for _, line := range a.Header.Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil {
			if g.cookies == nil {
				g.cookies = map[string]string{}
			}
			g.cookies[c.Path] = c.Name + "=" + c.Value
		}
	}
	page := string(a.Body)
	own := strings.Count(page, `<script type="module" src="/pages/`)
	if csp := a.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Count(page, "<script") != own || strings.Contains(csp, "unsafe") ||
		strings.Contains(csp, "script-src") != (own > 0) || own > 0 && !strings.Contains(csp, "script-src 'self'; connect-src 'self'") {
		g.Errorf("%s: policy %q", path, csp)
	}
	return a.Status, page
}

// state of a certificate.
func (g *guest) state(id string) string {
	g.Helper()
	var c struct{ State string }
	g.ok(&c, "GET", "/certificates/"+id, nil)
	return c.State
}

// newToken makes a token of the same account.
func (g *guest) newToken(more ...m) tokenData {
	g.Helper()
	var d tokenData
	g.ok(&d, "POST", "/tokens", with(m{"scopes": []string{"*:*/*"}}, more...), g.byKey()...)
	g.w.secret(d.Token, deref(d.RefreshToken))
	return d
}

func (g *guest) credit() float64 {
	g.Helper()
	var w struct{ Credit float64 }
	g.ok(&w, "GET", "/wallet", nil)
	return w.Credit
}

// code is the one-time password so many steps from now (RFC 6238: SHA-1, 30
// seconds, six digits), made without the code under test.
func code(secret string, steps int64) string {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		return "no base32"
	}
	h := hmac.New(sha1.New, key)
	_ = big.Write(h, big.BigEndian, time.Now().Unix()/30+steps)
	sum := h.Sum(nil)
	at := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", big.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}

// kinds of certificates, and so the endpoints that sign.
var kinds = []string{"automatic", "otp", "eseal"}

// Package demo is an identity provider of SPID that does not identify: its visitors choose who they
// are. It is for developers, to try the journey, and for tests: it checks requests as a real one
// does and signs real answers, with a key made when it starts.
package demo

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	own "rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/server/internal/identify/spid"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

// IdP is the identity provider.
type IdP struct {
	Entity string // its name, and where it is
	Signer saml.Signer
	Now    func() time.Time
	// Metadata of the service provider that is served.
	Metadata func() []byte
}

// New makes one at an address such as http://127.0.0.1:8080/demo/spid.
func New(at string, metadata func() []byte) (*IdP, error) {
	key, der, err := selfSigned(at)
	if err != nil {
		return nil, err
	}
	return &IdP{Entity: at, Signer: saml.Signer{Key: key, Certificate: der}, Now: time.Now, Metadata: metadata}, nil
}

// Config is that of a service provider for the demo, whose key and certificate
// are made in a folder unless they are there.
func Config(folder, publicURL string) (spid.Config, error) {
	base := strings.TrimSuffix(publicURL, "/")
	c := spid.Config{
		EntityID: base, Level: spid.DefaultLevel, IDPMetadata: []string{base + "/demo/spid/metadata"},
		Key: filepath.Join(folder, "demo-spid.key"), Certificate: filepath.Join(folder, "demo-spid.pem"),
		Organization: spid.Organization{Name: "DEMO", URL: base},
		Contact:      spid.Contact{Email: "demo@example.com", IPACode: "demo"},
	}
	if _, err := os.Stat(c.Key); err == nil {
		return c, nil
	}
	key, der, err := selfSigned(base, "1.3.76.16.6", "1.3.76.16.4.2.1")
	if err != nil {
		return c, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return c, err
	}
	if err := os.WriteFile(c.Certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return c, err
	}
	return c, os.WriteFile(c.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600)
}

func selfSigned(name string, policies ...string) (*rsa.PrivateKey, []byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, err
	}
	var oids []x509.OID
	for _, p := range policies {
		oid, err := x509.ParseOID(p)
		if err != nil {
			return nil, nil, err
		}
		oids = append(oids, oid)
	}
	subject := pkix.Name{CommonName: "DEMO", Organization: []string{"DEMO"}, ExtraNames: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 83}, Value: name}}}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, Policies: oids,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	return key, der, err
}

// ServeHTTP answers below the address: metadata, sso, login, slo.
func (i *IdP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] {
	case "metadata":
		w.Header().Set("Content-Type", "application/samlmetadata+xml")
		_, _ = w.Write(i.OwnMetadata()) // the client may have gone
	case "sso":
		i.serveLogin(w, r)
	case "login":
		i.serveAnswer(w, r)
	case "slo":
		page(w, http.StatusOK, "'none'", "<p>You have left. / Sei uscito.</p>")
	default:
		page(w, http.StatusNotFound, "'none'", "<p>Not here.</p>")
	}
}

// OwnMetadata are those of the identity provider.
func (i *IdP) OwnMetadata() []byte {
	var ends strings.Builder
	for _, b := range []string{saml.POST, saml.Redirect} {
		fmt.Fprintf(&ends, `<md:SingleLogoutService Binding="%s" Location="%s/slo"/>`, b, saml.Escape(i.Entity))
	}
	ends.WriteString(`<md:NameIDFormat>` + saml.Transient + `</md:NameIDFormat>`)
	for _, b := range []string{saml.POST, saml.Redirect} {
		fmt.Fprintf(&ends, `<md:SingleSignOnService Binding="%s" Location="%s/sso"/>`, b, saml.Escape(i.Entity))
	}
	out, err := i.Signer.Sign(fmt.Sprintf(`<md:EntityDescriptor xmlns:md="%s" entityID="%s" ID="%s"><md:IDPSSODescriptor WantAuthnRequestsSigned="true" protocolSupportEnumeration="%s">`+
		`<md:KeyDescriptor use="signing">%s</md:KeyDescriptor>%s</md:IDPSSODescriptor>`+
		`<md:Organization><md:OrganizationName xml:lang="it">DEMO</md:OrganizationName><md:OrganizationDisplayName xml:lang="it">DEMO SPID</md:OrganizationDisplayName><md:OrganizationURL xml:lang="it">%s</md:OrganizationURL></md:Organization></md:EntityDescriptor>`,
		saml.Metadata, saml.Escape(i.Entity), saml.NewID(), saml.Protocol, saml.KeyInfo(i.Signer.Certificate), ends.String(), saml.Escape(i.Entity)))
	if err != nil {
		return nil // its own name is no XML
	}
	return out
}

// Request is an AuthnRequest that was checked.
type Request struct {
	ID, Issuer, ACS, Level, Relay string
	At                            time.Time
}

// Read checks an AuthnRequest: its signature, by a key of the service
// provider's metadata, and what an answer is made of.
func (i *IdP) Read(r *http.Request) (*Request, error) {
	values, redirected := r.URL.Query(), r.Method != http.MethodPost
	if !redirected {
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		values = r.PostForm
	}
	decode := saml.Decode
	if redirected {
		decode = saml.Inflate
	}
	raw, err := decode(values.Get("SAMLRequest"))
	if err != nil {
		return nil, err
	}
	d, err := saml.Parse(raw)
	if err != nil {
		return nil, err
	}
	sp, err := xmldom.Parse(string(i.Metadata()), xmldom.Limits{})
	if err != nil {
		return nil, fmt.Errorf("metadata of the service provider: %w", err)
	}
	role := sp.Root().Child(saml.Metadata, "SPSSODescriptor")
	var certs []*own.Certificate
	for _, k := range role.Children(saml.Metadata, "KeyDescriptor") {
		for _, c := range k.Descendants("http://www.w3.org/2000/09/xmldsig#", "X509Certificate") {
			der, err := saml.Decode(c.Text())
			if err != nil {
				return nil, err
			}
			cert, err := own.ParseCertificate(der)
			if err != nil {
				return nil, err
			}
			certs = append(certs, cert)
		}
	}
	root := d.Root()
	if redirected {
		err = saml.CheckQuery(r.URL.RawQuery, "SAMLRequest", certs)
	} else {
		_, err = saml.CheckSigned(d, root, certs)
	}
	if err != nil {
		return nil, err
	}
	q := &Request{ID: root.Attr("ID"), Relay: values.Get("RelayState")}
	q.Issuer, _ = saml.Value(root.Child(saml.Assertion, "Issuer"))
	q.Level, _ = saml.Value(root.Child(saml.Protocol, "RequestedAuthnContext").Child(saml.Assertion, "AuthnContextClassRef"))
	if q.At, err = saml.Time(root.Attr("IssueInstant")); err != nil {
		return nil, err
	}
	for _, a := range role.Children(saml.Metadata, "AssertionConsumerService") {
		if a.Attr("index") == root.Attr("AssertionConsumerServiceIndex") {
			q.ACS = a.Attr("Location")
		}
	}
	if !root.Is(saml.Protocol, "AuthnRequest") || q.Issuer != sp.Root().Attr("entityID") || q.ACS == "" || root.Attr("Destination") != i.Entity+"/sso" {
		return nil, errors.New("the request does not fit the metadata of the service provider")
	}
	return q, nil
}

// People who can be chosen. None of them exists.
var People = []map[string]string{
	{
		"spidCode": "DEMO-001", "name": "Mario", "familyName": "Rossi", "fiscalNumber": "TINIT-RSSMRA80A01H501U", "dateOfBirth": "1980-01-01",
		"placeOfBirth": "H501", "idCard": "cartaIdentita AA0000000 demo 2020-01-01 2030-01-01", "mobilePhone": "+393330000001", "email": "mario.rossi@example.com",
	},
	{
		"spidCode": "DEMO-002", "name": "Niccolò", "familyName": "D'Angelo", "fiscalNumber": "TINIT-DNGNCL75C12F205X", "dateOfBirth": "1975-03-12",
		"placeOfBirth": "F205", "idCard": "passaporto YA0000000 demo 2021-01-01 2031-01-01", "mobilePhone": "+393330000002", "email": "niccolo@example.com",
	},
}

// fields that can be typed.
var fields = []string{"name", "familyName", "fiscalNumber", "dateOfBirth", "email", "mobilePhone"}

func (i *IdP) serveLogin(w http.ResponseWriter, r *http.Request) {
	q, err := i.Read(r)
	if err != nil {
		page(w, http.StatusBadRequest, "'none'", "<p>"+html.EscapeString(err.Error())+"</p>")
		return
	}
	var b strings.Builder
	hidden := func() {
		for _, f := range [][2]string{{"id", q.ID}, {"issuer", q.Issuer}, {"acs", q.ACS}, {"level", q.Level}, {"relay", q.Relay}} {
			fmt.Fprintf(&b, `<input type="hidden" name="%s" value="%s">`, f[0], html.EscapeString(f[1]))
		}
	}
	b.WriteString(`<section class="card"><h2>Chi sei? · Who are you?</h2>`)
	for n, p := range People {
		b.WriteString(`<form method="post" action="login">`)
		hidden()
		fmt.Fprintf(&b, `<input type="hidden" name="person" value="%d"><p><button type="submit" id="person-%d">%s %s, %s</button></p></form>`, n, n, html.EscapeString(p["name"]), html.EscapeString(p["familyName"]), p["fiscalNumber"])
	}
	b.WriteString(`</section><details class="card"><summary>Un'altra persona inventata · Another made-up person</summary><form method="post" action="login" id="typed">`)
	hidden()
	for _, f := range fields {
		fmt.Fprintf(&b, `<label>%s <input name="attr-%s" value="%s"></label>`, f, f, html.EscapeString(People[0][f]))
	}
	b.WriteString(`<button type="submit">DEMO: prosegui · continue</button></form></details><details class="card"><summary>Un errore · An error</summary><form method="post" action="login" id="error">`)
	hidden()
	b.WriteString(`<label>Errore · Error <select name="error">`)
	for _, n := range []int{2, 3, 8, 12, 19, 20, 21, 22, 23, 25, 30} {
		fmt.Fprintf(&b, `<option value="%d">ErrorCode nr%02d</option>`, n, n)
	}
	b.WriteString(`</select></label><button type="submit" class="danger">DEMO: rispondi con l'errore · answer with the error</button></form></details>`)
	page(w, http.StatusOK, "'self'", b.String())
}

func (i *IdP) serveAnswer(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
		page(w, http.StatusBadRequest, "'none'", "<p>Not a form.</p>")
		return
	}
	v := r.PostForm
	q := &Request{ID: v.Get("id"), Issuer: v.Get("issuer"), ACS: v.Get("acs"), Level: v.Get("level"), Relay: v.Get("relay")}
	u, err := url.Parse(q.ACS)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.Contains(string(i.Metadata()), `"`+saml.Escape(q.ACS)+`"`) {
		page(w, http.StatusBadRequest, "'none'", "<p>Not an address of the service provider.</p>")
		return
	}
	var message []byte
	if code := v.Get("error"); code != "" {
		message, err = i.Refuse(q, "ErrorCode nr"+code)
	} else {
		who := map[string]string{"spidCode": "DEMO-003"}
		if p := v.Get("person"); p == "0" || p == "1" {
			who = maps.Clone(People[p[0]-'0'])
		}
		for _, f := range fields {
			if typed := v.Get("attr-" + f); typed != "" {
				who[f] = typed
			}
		}
		message, err = i.Answer(q, who)
	}
	if err != nil {
		page(w, http.StatusInternalServerError, "'none'", "<p>"+html.EscapeString(err.Error())+"</p>")
		return
	}
	page(w, http.StatusOK, u.Scheme+"://"+u.Host, fmt.Sprintf(`<form method="post" action="%s" id="answer"><input type="hidden" name="SAMLResponse" value="%s"><input type="hidden" name="RelayState" value="%s"><button type="submit">Torna al servizio · Back to the service</button></form>`,
		html.EscapeString(q.ACS), base64.StdEncoding.EncodeToString(message), html.EscapeString(q.Relay)))
}

// Answer is a signed Response with a signed assertion.
func (i *IdP) Answer(q *Request, who map[string]string) ([]byte, error) {
	assertion, err := i.Signer.Sign(i.Assertion(q, who))
	if err != nil {
		return nil, err
	}
	return i.Signer.Sign(i.Response(q, saml.Success, "", string(assertion)))
}

// Refuse is a signed Response that says no.
func (i *IdP) Refuse(q *Request, message string) ([]byte, error) {
	return i.Signer.Sign(i.Response(q, saml.Responder, message, ""))
}

// Response is one that is not signed yet.
func (i *IdP) Response(q *Request, status, message, assertion string) string {
	code := `<samlp:StatusCode Value="` + status + `"/>`
	if status != saml.Success {
		code = `<samlp:StatusCode Value="` + status + `"><samlp:StatusCode Value="` + saml.Failed + `"/></samlp:StatusCode><samlp:StatusMessage>` + saml.Escape(message) + `</samlp:StatusMessage>`
	}
	return fmt.Sprintf(`<samlp:Response xmlns:samlp="%s" xmlns:saml="%s" ID="%s" Version="2.0" IssueInstant="%s" InResponseTo="%s" Destination="%s"><saml:Issuer Format="%s">%s</saml:Issuer><samlp:Status>%s</samlp:Status>%s</samlp:Response>`,
		saml.Protocol, saml.Assertion, saml.NewID(), saml.Instant(i.Now()), saml.Escape(q.ID), saml.Escape(q.ACS), saml.Entity, saml.Escape(i.Entity), code, assertion)
}

// Assertion is one that is not signed yet.
func (i *IdP) Assertion(q *Request, who map[string]string) string {
	now := i.Now()
	end := saml.Instant(now.Add(5 * time.Minute))
	var b strings.Builder
	fmt.Fprintf(&b, `<saml:Assertion xmlns:saml="%s" ID="%s" Version="2.0" IssueInstant="%s"><saml:Issuer Format="%s">%s</saml:Issuer>`, saml.Assertion, saml.NewID(), saml.Instant(now), saml.Entity, saml.Escape(i.Entity))
	fmt.Fprintf(&b, `<saml:Subject><saml:NameID Format="%s" NameQualifier="%s">%s</saml:NameID><saml:SubjectConfirmation Method="%s"><saml:SubjectConfirmationData InResponseTo="%s" NotOnOrAfter="%s" Recipient="%s"/></saml:SubjectConfirmation></saml:Subject>`,
		saml.Transient, saml.Escape(i.Entity), saml.NewID(), saml.Bearer, saml.Escape(q.ID), end, saml.Escape(q.ACS))
	fmt.Fprintf(&b, `<saml:Conditions NotBefore="%s" NotOnOrAfter="%s"><saml:AudienceRestriction><saml:Audience>%s</saml:Audience></saml:AudienceRestriction></saml:Conditions>`, saml.Instant(now), end, saml.Escape(q.Issuer))
	fmt.Fprintf(&b, `<saml:AuthnStatement AuthnInstant="%s"><saml:AuthnContext><saml:AuthnContextClassRef>%s</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>`, saml.Instant(now), saml.Escape(q.Level))
	for _, name := range []string{"spidCode", "name", "familyName", "fiscalNumber", "dateOfBirth", "placeOfBirth", "idCard", "mobilePhone", "email"} {
		if who[name] != "" {
			fmt.Fprintf(&b, `<saml:Attribute Name="%s" NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:basic"><saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">%s</saml:AttributeValue></saml:Attribute>`, name, saml.Escape(who[name]))
		}
	}
	b.WriteString(`</saml:AttributeStatement></saml:Assertion>`)
	return b.String()
}

func page(w http.ResponseWriter, status int, action, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action "+action)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`<!DOCTYPE html><html lang="it"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>DEMO SPID</title>` +
		`<link rel="stylesheet" href="/pages/style.css"></head><body><header class="site"><p class="sandbox">DEMO: questa pagina non identifica nessuno. · this page identifies nobody.</p></header>` +
		`<main><div class="narrow"><h1>DEMO SPID</h1>` + body + `</div></main></body></html>`))
}

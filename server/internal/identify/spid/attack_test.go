package spid_test

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // the attack is to use it
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/server/internal/identify/spid"
	"rogito.dev/rogito/server/internal/identify/spid/demo"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

// parts of a genuine answer to q, and a forged assertion about another person.
type parts struct {
	t                   testing.TB
	w                   *world
	q                   *demo.Request
	response            string // signed, with a signed assertion
	plain               string // only the assertion is signed
	assertion           string // signed
	bare                string // the same, its signature taken out
	signature, envelope string // of the assertion; of the Response
	evil                string // a forged assertion, with an ID of its own
	id                  string // of the signed assertion
}

var (
	idAttr       = regexp.MustCompile(` ID="([^"]*)"`)
	signatureElt = regexp.MustCompile(`(?s)<ds:Signature .*?</ds:Signature>`)
)

func (w *world) parts(t testing.TB, q *demo.Request) *parts {
	t.Helper()
	p := &parts{t: t, w: w, q: q, evil: w.idp.Assertion(q, demo.People[1])}
	a, err := w.idp.Signer.Sign(w.idp.Assertion(q, demo.People[0]))
	if err != nil {
		t.Fatal(err)
	}
	p.assertion = string(a)
	p.signature = signatureElt.FindString(p.assertion)
	p.bare = strings.Replace(p.assertion, p.signature, "", 1)
	p.id = idAttr.FindStringSubmatch(p.assertion)[1]
	p.plain = w.idp.Response(q, saml.Success, "", p.assertion)
	r, err := w.idp.Signer.Sign(p.plain)
	if err != nil {
		t.Fatal(err)
	}
	p.response = string(r)
	p.envelope = signatureElt.FindString(p.response)
	return p
}

// answer is an unsigned Response around something.
func (p *parts) answer(inside string) string { return p.w.idp.Response(p.q, saml.Success, "", inside) }

func (p *parts) swap(s, old, now string) string { return swap(p.t, old, now)(s) }

// inSignature puts something into a signature, behind its KeyInfo.
func (p *parts) inSignature(signature, inside string) string {
	return p.swap(signature, "</ds:Signature>", inside+"</ds:Signature>")
}

// afterIssuer puts a signature where it belongs.
func afterIssuer(assertion, signature string) string {
	return strings.Replace(assertion, "</saml:Issuer>", "</saml:Issuer>"+signature, 1)
}

func sameID(evil, id string) string { return idAttr.ReplaceAllString(evil, ` ID="`+id+`"`) }

// wrapping moves what is signed and puts something else in its place (the
// eight forms of Somorovsky and others, On Breaking SAML, and more).
var wrapping = map[string]func(*parts) string{
	"XSW1: the signed Response in its own signature": func(p *parts) string {
		original := strings.Replace(p.response, p.envelope, "", 1)
		evil := p.answer(p.evil)
		return afterIssuer(evil, p.inSignature(p.envelope, original))
	},
	"XSW1 in an Object": func(p *parts) string {
		original := strings.Replace(p.response, p.envelope, "", 1)
		return afterIssuer(p.answer(p.evil), p.inSignature(p.envelope, "<ds:Object>"+original+"</ds:Object>"))
	},
	"XSW2: the signed Response beside the signature": func(p *parts) string {
		original := strings.Replace(p.response, p.envelope, "", 1)
		return afterIssuer(p.answer(p.evil), original+p.envelope)
	},
	"XSW3: a forged assertion before the signed one": func(p *parts) string { return p.answer(p.evil + p.assertion) },
	"XSW3 behind it": func(p *parts) string { return p.answer(p.assertion + p.evil) },
	"XSW4: the signed assertion inside a forged one": func(p *parts) string {
		return p.answer(p.swap(p.evil, "</saml:Assertion>", p.assertion+"</saml:Assertion>"))
	},
	"XSW5: the forged assertion has the signature": func(p *parts) string { return p.answer(afterIssuer(p.evil, p.signature) + p.bare) },
	"XSW6: and the signed one in it": func(p *parts) string {
		return p.answer(afterIssuer(p.evil, p.inSignature(p.signature, p.bare)))
	},
	"XSW7: a forged one of the same ID in Extensions": func(p *parts) string {
		return p.swap(p.plain, "<samlp:Status>", "<samlp:Extensions>"+sameID(p.evil, p.id)+"</samlp:Extensions><samlp:Status>")
	},
	"XSW7, the signed one in Extensions": func(p *parts) string {
		return p.swap(p.answer(p.evil), "<samlp:Status>", "<samlp:Extensions>"+p.assertion+"</samlp:Extensions><samlp:Status>")
	},
	"a forged one in Extensions beside the signed one": func(p *parts) string {
		return p.swap(p.plain, "<samlp:Status>", "<samlp:Extensions>"+p.evil+"</samlp:Extensions><samlp:Status>")
	},
	"a signature in StatusDetail": func(p *parts) string {
		return p.swap(p.plain, "</samlp:Status>", "<samlp:StatusDetail>"+p.signature+"</samlp:StatusDetail></samlp:Status>")
	},
	"XSW8: the signed one in an Object": func(p *parts) string {
		return p.answer(afterIssuer(p.evil, p.inSignature(p.signature, "<ds:Object>"+p.bare+"</ds:Object>")))
	},
	"XSW8 with the ID of the signed one": func(p *parts) string {
		return p.answer(afterIssuer(sameID(p.evil, p.id), p.inSignature(p.signature, "<ds:Object>"+p.bare+"</ds:Object>")))
	},
	"the signed one in StatusDetail": func(p *parts) string {
		return p.swap(p.answer(afterIssuer(p.evil, p.signature)), "</samlp:Status>", "<samlp:StatusDetail>"+p.bare+"</samlp:StatusDetail></samlp:Status>")
	},
	"the signed one in Advice": func(p *parts) string {
		return p.answer(p.swap(p.evil, "<saml:AuthnStatement", "<saml:Advice>"+p.assertion+"</saml:Advice><saml:AuthnStatement"))
	},
	"the signed one in an attribute's value": func(p *parts) string {
		return p.answer(p.swap(afterIssuer(p.evil, p.signature), ">DEMO-002<", ">"+p.bare+"<"))
	},
	"the signed one in the KeyInfo": func(p *parts) string {
		return p.answer(afterIssuer(p.evil, p.swap(p.signature, "</ds:KeyInfo>", p.bare+"</ds:KeyInfo>")))
	},
	"a claim of the same ID by another name": func(p *parts) string {
		return p.answer(strings.Replace(afterIssuer(p.evil, p.signature), " ID=", ` Id="`+p.id+`" ID=`, 1))
	},
	"the forged one claims the ID as xml:id": func(p *parts) string {
		return p.answer(strings.Replace(afterIssuer(p.evil, p.signature), " ID=", ` xml:id="`+p.id+`" ID=`, 1) + p.bare)
	},
	"the signed one in another namespace's wrapper": func(p *parts) string {
		return p.answer(afterIssuer(sameID(p.evil, p.id), p.signature) + `<x:wrap xmlns:x="urn:x">` + p.bare + `</x:wrap>`)
	},
	"a second SignedInfo": func(p *parts) string {
		info := regexp.MustCompile(`(?s)<ds:SignedInfo>.*</ds:SignedInfo>`).FindString(p.signature)
		return p.answer(afterIssuer(p.evil, strings.Replace(p.signature, info, info+info, 1)))
	},
	"a second signature":        func(p *parts) string { return p.answer(p.swap(p.assertion, p.signature, p.signature+p.signature)) },
	"the root is the assertion": func(p *parts) string { return p.assertion },
	"a Response inside a Response": func(p *parts) string {
		return p.swap(p.answer(p.evil), "<samlp:Status>", "<samlp:Extensions>"+p.response+"</samlp:Extensions><samlp:Status>")
	},
}

func TestWrapping(t *testing.T) {
	w := newWorld(t)
	d, q := w.start(t, w.idp)
	p := w.parts(t, q)
	for _, message := range []string{p.response, p.plain} { // the attacks start from what is accepted
		if _, err := w.finish(d, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	for name, attack := range wrapping {
		t.Run(name, func(t *testing.T) {
			a, err := w.finish(d, []byte(attack(p)))
			refused(t, a, err, "")
		})
	}
}

// tampering changes a signed answer, or signs it wrongly.
var tampering = map[string]struct {
	reason string
	make   func(*parts) string
}{
	"nothing is signed":           {"signature", func(p *parts) string { return p.answer(p.bare) }},
	"only the Response is signed": {"signature", func(p *parts) string { return p.sign(p.w.idp.Signer, p.answer(p.bare)) }},
	"a name is changed":           {"signature", func(p *parts) string { return p.swap(p.plain, ">Rossi<", ">Bianchi<") }},
	"a Response's own attribute is changed": {"signature", func(p *parts) string {
		return strings.Replace(p.response, `Destination="`, `Consent="x" Destination="`, 1)
	}},
	"signed by somebody else": {"signature", func(p *parts) string { return p.forged(p.w.unknown.Signer) }},
	"signed by somebody else, with our provider's certificate": {"signature", func(p *parts) string {
		return p.forged(saml.Signer{Key: p.w.unknown.Signer.Key, Certificate: p.w.idp.Signer.Certificate})
	}},
	"signed by another identity provider that we know": {"signature", func(p *parts) string { return p.forged(p.w.other.Signer) }},
	"KeyInfo has a bare key": {"signature", func(p *parts) string {
		return p.keyValue(p.forged(p.w.unknown.Signer))
	}},
	"an unsigned Response around a foreign assertion": {"signature", func(p *parts) string {
		other := *p.w.other
		return p.answer(p.sign(other.Signer, other.Assertion(p.q, demo.People[0])))
	}},
	"HMAC with the certificate for a key": {"signature", func(p *parts) string {
		return p.resigned(hmacOver(p.w.idp.Signer.Certificate), "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256")
	}},
	"HMAC with the public key for a key": {"signature", func(p *parts) string {
		return p.resigned(hmacOver(publicPEM(p.w.idp.Signer.Key)), "http://www.w3.org/2000/09/xmldsig#hmac-sha1")
	}},
	"SHA-1 in the signature": {"signature", func(p *parts) string {
		return p.resigned(sha1Over(p.w.idp.Signer.Key), "http://www.w3.org/2000/09/xmldsig#rsa-sha1")
	}},
	"SHA-1 in the digest": {"signature", func(p *parts) string { return p.sha1Digest() }},
	"no signature method": {"signature", func(p *parts) string { return p.resigned(hmacOver(nil), "") }},
	"XSLT": {"signature", func(p *parts) string {
		return p.transformed(`<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"><xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/></ds:Transform>`)
	}},
	"an XPath that leaves the attributes out": {"signature", func(p *parts) string {
		return p.transformed(`<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath xmlns:saml="` + saml.Assertion + `">not(ancestor-or-self::saml:AttributeStatement)</ds:XPath></ds:Transform>`)
	}},
	"a filter that leaves the attributes out": {"signature", func(p *parts) string {
		return p.transformed(`<ds:Transform Algorithm="http://www.w3.org/2002/06/xmldsig-filter2"><f:XPath xmlns:f="http://www.w3.org/2002/06/xmldsig-filter2" xmlns:saml="` + saml.Assertion + `" Filter="subtract">//saml:AttributeStatement</f:XPath></ds:Transform>`)
	}},
	"an XPath that does what SAML has another transform for": {"signature", func(p *parts) string {
		return p.info(`<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"></ds:Transform>`,
			`<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>not(ancestor-or-self::ds:Signature)</ds:XPath></ds:Transform>`)
	}},
	"base64": {"signature", func(p *parts) string {
		return p.transformed(`<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#base64"/>`)
	}},
	"inclusive canonicalisation": {"signature", func(p *parts) string {
		return p.transformed(`<ds:Transform Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/>`)
	}},
	"the signature is over the document":  {"signature", func(p *parts) string { return p.info(`URI="#[^"]*"`, `URI=""`) }},
	"the signature is over nothing named": {"signature", func(p *parts) string { return p.info(` URI="#[^"]*"`, ``) }},
	"a pointer for a reference":           {"signature", func(p *parts) string { return p.info(`URI="#([^"]*)"`, `URI="#xpointer(id('$1'))"`) }},
	"a signed Object": {"signature", func(p *parts) string {
		return p.answer(p.swap(p.assertion, "</ds:Signature>", "<ds:Object>x</ds:Object></ds:Signature>"))
	}},
	"a comment in the digest":       {"signature", func(p *parts) string { return p.swap(p.plain, "</ds:DigestValue>", "<!--x--></ds:DigestValue>") }},
	"a comment in the NameID":       {"subject", func(p *parts) string { return p.swap(p.plain, "</saml:NameID>", "<!--x--></saml:NameID>") }},
	"a comment in the tax code":     {"attributes", func(p *parts) string { return p.swap(p.plain, "TINIT-RSSMRA80A01", "TINIT-RSSMRA80A01<!--x-->") }},
	"a comment in a name":           {"attributes", func(p *parts) string { return p.swap(p.plain, ">Mario<", ">Ma<!---->rio<") }},
	"an instruction in a name":      {"signature", func(p *parts) string { return p.swap(p.plain, ">Mario<", ">Ma<?x y?>rio<") }},
	"a comment in the audience":     {"audience", func(p *parts) string { return p.swap(p.plain, "<saml:Audience>", "<saml:Audience><!--x-->") }},
	"a comment in the issuer":       {"issuer", func(p *parts) string { return p.swap(p.plain, "</saml:Issuer>", "<!--x--></saml:Issuer>") }},
	"a document type":               {"malformed", func(p *parts) string { return `<!DOCTYPE x [<!ENTITY e "y">]>` + p.plain }},
	"an external document type":     {"malformed", func(p *parts) string { return `<!DOCTYPE x SYSTEM "http://127.0.0.1/x">` + p.plain }},
	"an entity":                     {"malformed", func(p *parts) string { return p.swap(p.plain, ">Mario<", ">&e;<") }},
	"an encrypted assertion":        {"encrypted", func(p *parts) string { return p.answer(`<saml:EncryptedAssertion><x/></saml:EncryptedAssertion>`) }},
	"an encrypted assertion beside": {"encrypted", func(p *parts) string { return p.answer(p.assertion + `<saml:EncryptedAssertion/>`) }},
	"no assertion":                  {"malformed", func(p *parts) string { return p.answer("") }},
	"success inside failure": {"status", func(p *parts) string {
		return p.swap(p.plain, `<samlp:StatusCode Value="`+saml.Success+`"/>`, `<samlp:StatusCode Value="`+saml.Responder+`"><samlp:StatusCode Value="`+saml.Success+`"/></samlp:StatusCode>`)
	}},
	"failure inside success": {"malformed", func(p *parts) string {
		return p.swap(p.plain, `<samlp:StatusCode Value="`+saml.Success+`"/>`, `<samlp:StatusCode Value="`+saml.Success+`"><samlp:StatusCode Value="`+saml.Failed+`"/></samlp:StatusCode>`)
	}},
	"two statuses": {"malformed", func(p *parts) string {
		return p.swap(p.plain, "<samlp:Status>", `<samlp:Status><samlp:StatusCode Value="x"/></samlp:Status><samlp:Status>`)
	}},
	"nothing":       {"malformed", func(*parts) string { return "" }},
	"deeply nested": {"malformed", func(*parts) string { return strings.Repeat("<a>", 100_000) }},
	"too long":      {"malformed", func(p *parts) string { return p.swap(p.plain, "><", ">"+strings.Repeat(" ", 30_000)+"<") }},
}

func (p *parts) sign(s saml.Signer, message string) string {
	out, err := s.Sign(message)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(out)
}

// forged is an answer in the name of the right provider with another's keys.
func (p *parts) forged(s saml.Signer) string {
	return p.sign(s, p.answer(p.sign(s, p.w.idp.Assertion(p.q, demo.People[1]))))
}

func (p *parts) keyValue(s string) string {
	n := base64.StdEncoding.EncodeToString(p.w.unknown.Signer.Key.N.Bytes())
	return strings.ReplaceAll(s, "<ds:X509Data>", "<ds:KeyValue><ds:RSAKeyValue><ds:Modulus>"+n+"</ds:Modulus><ds:Exponent>AQAB</ds:Exponent></ds:RSAKeyValue></ds:KeyValue><ds:X509Data>")
}

var signedInfo = regexp.MustCompile(`(?s)<ds:SignedInfo>.*</ds:SignedInfo>`)

// resigned changes the SignedInfo of the assertion and computes the digest and the value anew, as
// an attacker with a key of their own (or ours) can.
func (p *parts) resigned(value func(info []byte) []byte, method string) string {
	return p.rebuild(value, func(info string) string {
		return strings.Replace(info, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", method, 1)
	})
}

func (p *parts) rebuild(value func([]byte) []byte, change func(string) string) string {
	info := signedInfo.FindString(p.signature)
	next := change(info)
	d, err := xmldom.Parse(strings.Replace(next, "<ds:SignedInfo>", `<ds:SignedInfo xmlns:ds="`+xmldsig.Space+`">`, 1), xmldom.Limits{})
	if err != nil {
		p.t.Fatal(err)
	}
	canonical := xmldsig.Canonical(d.Root(), xmldsig.Method{Exclusive: true})
	v := base64.StdEncoding.EncodeToString(value(canonical))
	sig := strings.Replace(p.signature, info, next, 1)
	sig = regexp.MustCompile(`<ds:SignatureValue>[^<]*`).ReplaceAllString(sig, "<ds:SignatureValue>"+v)
	return p.answer(strings.Replace(p.assertion, p.signature, sig, 1))
}

func rsaOver(key *rsa.PrivateKey) func([]byte) []byte {
	return func(b []byte) []byte {
		sum := sha256.Sum256(b)
		v, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		return v
	}
}

func sha1Over(key *rsa.PrivateKey) func([]byte) []byte {
	return func(b []byte) []byte {
		sum := sha1.Sum(b) //nolint:gosec // see above
		v, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA1, sum[:])
		return v
	}
}

func hmacOver(key []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		m := hmac.New(sha256.New, key)
		m.Write(b)
		return m.Sum(nil)
	}
}

func publicPEM(key *rsa.PrivateKey) []byte {
	der, _ := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// sha1Digest: the provider itself digests with SHA-1.
func (p *parts) sha1Digest() string {
	d, err := xmldom.Parse(p.bare, xmldom.Limits{})
	if err != nil {
		p.t.Fatal(err)
	}
	sum := sha1.Sum(xmldsig.Canonical(d.Root(), xmldsig.Method{Exclusive: true})) //nolint:gosec // see above
	return p.rebuild(rsaOver(p.w.idp.Signer.Key), func(info string) string {
		info = strings.Replace(info, "http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2000/09/xmldsig#sha1", 1)
		return regexp.MustCompile(`<ds:DigestValue>[^<]*`).ReplaceAllString(info, "<ds:DigestValue>"+base64.StdEncoding.EncodeToString(sum[:]))
	})
}

// transformed: the provider's own key over a further transform.
func (p *parts) transformed(step string) string {
	return p.info("</ds:Transforms>", step+"</ds:Transforms>")
}

// info: the provider's own key over a changed SignedInfo.
func (p *parts) info(old, now string) string {
	return p.rebuild(rsaOver(p.w.idp.Signer.Key), func(info string) string { return regexp.MustCompile(old).ReplaceAllString(info, now) })
}

func TestTampering(t *testing.T) {
	w := newWorld(t)
	d, q := w.start(t, w.idp)
	p := w.parts(t, q)
	unchanged := p.rebuild(rsaOver(w.idp.Signer.Key), func(s string) string { return s })
	if _, err := w.finish(d, []byte(unchanged)); err != nil { // so that the rest fails for what it changes
		t.Fatal(err)
	}
	for name, attack := range tampering {
		t.Run(name, func(t *testing.T) {
			p.t = t
			a, err := w.finish(d, []byte(attack.make(p)))
			refused(t, a, err, attack.reason)
		})
	}
}

// misdirected are answers that the provider itself signs and that are not for
// us, not now, or not enough.
func TestMisdirected(t *testing.T) {
	w := newWorld(t)
	day := saml.Instant(time.Now().Add(24 * time.Hour))
	past := saml.Instant(time.Now().Add(-2 * time.Minute))
	at := func(name, value string) func(string) string {
		return func(s string) string {
			return regexp.MustCompile(name+`="[^"]*"`).ReplaceAllString(s, name+`="`+value+`"`)
		}
	}
	first := func(name, value string) func(string) string { // of the Response: the assertion is signed already
		return func(s string) string {
			i := regexp.MustCompile(` ` + name + `="[^"]*"`).FindStringIndex(s)
			return s[:i[0]] + value + s[i[1]:]
		}
	}
	none := func(name string) func(string) string {
		return func(s string) string { return regexp.MustCompile(` `+name+`="[^"]*"`).ReplaceAllString(s, "") }
	}
	for name, c := range map[string]struct {
		reason              string
		assertion, response func(string) string
	}{
		"another audience":                {"audience", swap(t, ">"+public+"<", ">https://other.example<"), nil},
		"no audience":                     {"audience", swap(t, "<saml:Audience>"+public+"</saml:Audience>", ""), nil},
		"a longer audience":               {"audience", swap(t, ">"+public+"<", ">"+public+".evil.example<"), nil},
		"two restrictions":                {"audience", swap(t, "<saml:AudienceRestriction>", "<saml:AudienceRestriction><saml:Audience>x</saml:Audience></saml:AudienceRestriction><saml:AudienceRestriction>"), nil},
		"a condition that we do not know": {"audience", swap(t, "</saml:Conditions>", "<saml:Condition/></saml:Conditions>"), nil},
		"another recipient":               {"destination", swap(t, `Recipient="`+public, `Recipient="https://other.example`), nil},
		"another destination":             {"destination", nil, first("Destination", ` Destination="https://other.example/spid/acs"`)},
		"no destination":                  {"destination", nil, first("Destination", "")},
		"another request":                 {"request", at("InResponseTo", "_other"), nil},
		"another request outside":         {"request", nil, first("InResponseTo", ` InResponseTo="_other"`)},
		"no request":                      {"request", none("InResponseTo"), nil},
		"unsolicited":                     {"request", none("InResponseTo"), first("InResponseTo", "")},
		"stale":                           {"expired", at("NotOnOrAfter", past), nil},
		"stale subject":                   {"expired", func(s string) string { return strings.Replace(s, `NotOnOrAfter="2`, `NotOnOrAfter="1`, 1) }, nil},
		"issued before the request":       {"expired", at("IssueInstant", past), nil},
		"Response before the request":     {"expired", nil, first("IssueInstant", ` IssueInstant="`+past+`"`)},
		"authenticated before":            {"expired", at("AuthnInstant", past), nil},
		"future":                          {"future", at("NotBefore", day), nil},
		"a subject of the future":         {"future", swap(t, "<saml:SubjectConfirmationData ", `<saml:SubjectConfirmationData NotBefore="`+day+`" `), nil},
		"issued in the future":            {"future", at("IssueInstant", day), nil},
		"Response in the future":          {"future", nil, first("IssueInstant", ` IssueInstant="`+day+`"`)},
		"authenticated in the future":     {"future", at("AuthnInstant", day), nil},
		"no end":                          {"malformed", none("NotOnOrAfter"), nil},
		"no beginning":                    {"malformed", none("NotBefore"), nil},
		"an end that is no time":          {"malformed", at("NotOnOrAfter", "2030-01-01"), nil},
		"a weaker level":                  {"level", swap(t, "SpidL2", "SpidL1"), nil},
		"an older name of the level":      {"level", swap(t, "https://www.spid.gov.it/SpidL2", "urn:oasis:names:tc:SAML:2.0:ac:classes:SpidL2"), nil},
		"no level":                        {"level", swap(t, "https://www.spid.gov.it/SpidL2", ""), nil},
		"two levels":                      {"malformed", swap(t, "<saml:AuthnContextClassRef>", "<saml:AuthnContextClassRef>https://www.spid.gov.it/SpidL3</saml:AuthnContextClassRef><saml:AuthnContextClassRef>"), nil},
		"another issuer inside":           {"issuer", swap(t, ">https://idp.example/spid</saml:Issuer>", ">https://other.example/spid</saml:Issuer>"), nil},
		"another issuer outside": {"issuer", nil, func(s string) string {
			return strings.Replace(s, ">https://idp.example/spid</saml:Issuer>", ">https://other.example/spid</saml:Issuer>", 1)
		}},
		"an issuer of another format":  {"issuer", swap(t, saml.Entity, "urn:x"), nil},
		"an issuer without format":     {"issuer", swap(t, ` Format="`+saml.Entity+`"`, ""), nil},
		"a lasting name":               {"subject", swap(t, saml.Transient, "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"), nil},
		"no qualifier":                 {"subject", none("NameQualifier"), nil},
		"another's qualifier":          {"subject", swap(t, "<saml:NameID ", `<saml:NameID SPNameQualifier="https://other.example" `), nil},
		"a holder of a key":            {"subject", swap(t, saml.Bearer, "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"), nil},
		"a second confirmation":        {"subject", swap(t, "<saml:SubjectConfirmation ", `<saml:SubjectConfirmation Method="x"/><saml:SubjectConfirmation `), nil},
		"an attribute twice":           {"attributes", swap(t, `<saml:Attribute Name="name"`, `<saml:Attribute Name="name"><saml:AttributeValue>Luigi</saml:AttributeValue></saml:Attribute><saml:Attribute Name="name"`), nil},
		"two values":                   {"attributes", swap(t, ">Mario</saml:AttributeValue>", "></saml:AttributeValue><saml:AttributeValue>Mario</saml:AttributeValue>"), nil},
		"elements in a value":          {"attributes", swap(t, ">Mario<", "><b>Mario</b><"), nil},
		"no tax code":                  {"attributes", swap(t, `Name="fiscalNumber"`, `Name="other"`), nil},
		"a foreign tax code":           {"attributes", swap(t, "TINIT-", "TINDE-"), nil},
		"a date of birth that is none": {"attributes", swap(t, "1980-01-01", "01/01/1980"), nil},
		"an encrypted attribute":       {"attributes", swap(t, "</saml:AttributeStatement>", "<saml:EncryptedAttribute/></saml:AttributeStatement>"), nil},
		"a second statement":           {"malformed", swap(t, "<saml:AttributeStatement>", "<saml:AttributeStatement/><saml:AttributeStatement>"), nil},
		"another version":              {"malformed", swap(t, `Version="2.0"`, `Version="1.1"`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d, q := w.start(t, w.idp)
			a, err := w.finish(d, signed(t, w.idp, q, c.assertion, c.response))
			refused(t, a, err, c.reason)
		})
	}
}

// A key of 1024 bits signs nothing that is believed, although the metadata have
// it.
func TestShortKey(t *testing.T) {
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.idp.Signer = saml.Signer{Key: key, Certificate: der}
	short := file(t, []byte(unsignedMetadata(w.idp)))
	w.sp = newWorld(t, func(c *spid.Config, _ *spid.Deps) { c.IDPMetadata = []string{short} }).sp
	d, q := w.start(t, w.idp)
	a, err := w.finish(d, signed(t, w.idp, q, nil, nil))
	refused(t, a, err, "signature")
}

// An honest answer to another user's request, or from a provider that was not asked, is worth
// nothing here.
func TestMixUp(t *testing.T) {
	w := newWorld(t)
	d, q := w.start(t, w.idp)
	_, q2 := w.start(t, w.other)
	a, err := w.finish(d, signed(t, w.other, q2, nil, nil)) // the other provider, its own request
	refused(t, a, err, "")
	a, err = w.finish(d, signed(t, w.other, q, nil, nil)) // the other provider answers ours
	refused(t, a, err, "")
	mask := *w.other
	mask.Entity = w.idp.Entity
	a, err = w.finish(d, signed(t, &mask, q, nil, nil)) // and says that it is the first
	refused(t, a, err, "signature")
	d2, _ := w.start(t, w.idp)
	good := signed(t, w.idp, q, nil, nil)
	a, err = w.finish(d2, good) // a good answer to another request
	refused(t, a, err, "request")
	a, err = w.sp.Finish(context.Background(), d.State, url.Values{"SAMLResponse": posted(good)["SAMLResponse"], "RelayState": {"other"}})
	refused(t, a, err, "request")
	for _, v := range []url.Values{{}, {"SAMLResponse": {"!"}}, {"SAMLResponse": {"", ""}}, {"SAMLResponse": append(posted(good)["SAMLResponse"], "x")}, {"SAMLResponse": {"PHg+"}}} {
		a, err = w.sp.Finish(context.Background(), d.State, v)
		refused(t, a, err, "malformed")
		if _, err := w.sp.Request(v); err == nil {
			t.Error("a request without an answer")
		}
	}
	if _, err := w.sp.Start(context.Background(), "https://unknown.example"); err == nil {
		t.Error("sent to a stranger")
	}
}

// What the store needs to refuse a replay: the same assertion has the same
// name, which stays taken as long as it would be believed.
func TestReplay(t *testing.T) {
	now := &clock{time.Now()}
	w := newWorld(t, func(_ *spid.Config, d *spid.Deps) { d.Now = now.now })
	d, q := w.start(t, w.idp)
	p := w.parts(t, q)
	first, err := w.finish(d, []byte(p.response))
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.finish(d, []byte(p.answer(p.assertion))) // another Response around it
	if err != nil || again.ID != first.ID {
		t.Errorf("the same assertion is %q and %q: %v", first.ID, again.ID, err)
	}
	now.t = first.Until
	a, err := w.finish(d, []byte(p.response))
	refused(t, a, err, "expired")
	now.t = time.Now().Add(31 * time.Minute)
	a, err = w.finish(d, signed(t, w.idp, q, swap(t, "NotOnOrAfter=\"20", "NotOnOrAfter=\"29"), nil))
	refused(t, a, err, "expired") // the request itself is over
}

package forgery

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/jades"
)

func init() { register("json", makeJSON) }

// jsonForger makes JSON signatures by hand.
type jsonForger struct {
	*materials
	a   *adestest.Actor
	out []specimen
}

const (
	jsonText  = `{"pay":100,"to":"Anna"}`
	otherText = `{"pay":900,"to":"Mallory"}`
)

func url64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func thumb(der []byte) string {
	h := sha256.Sum256(der)
	return url64(h[:])
}

func (f *jsonForger) add(want, name string, data string) {
	f.out = append(f.out, specimen{name: name, data: []byte(data), want: want})
}

// head is a protected header in good order, with more members behind the others.
func (f *jsonForger) head(more string) string {
	cert := base64.StdEncoding.EncodeToString(f.a.Certificate.Raw)
	return fmt.Sprintf(`{"alg":"ES256","x5t#S256":"%s","x5c":["%s"],"iat":%d%s}`, thumb(f.a.Certificate.Raw), cert, f.pki.Now().Unix(), more)
}

// value signs with the person's own key.
func (f *jsonForger) value(input string) string {
	h := sha256.Sum256([]byte(input))
	der, err := f.a.Key.Sign(rand.Reader, h[:], crypto.SHA256)
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := pkix.PlainValue(f.a.Key.Public(), der)
	if err != nil {
		f.t.Fatal(err)
	}
	return url64(raw)
}

// parts are the pieces of a signature over a payload that is written in base64url.
func (f *jsonForger) parts(head, payload string) (protected, encoded, signature string) {
	protected, encoded = url64([]byte(head)), url64([]byte(payload))
	return protected, encoded, f.value(protected + "." + encoded)
}

// flat is a whole file over a header.
func (f *jsonForger) flat(head string) string {
	p, c, s := f.parts(head, jsonText)
	return fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":"%s"}`, c, p, s)
}

func makeJSON(t *testing.T, m *materials) []specimen {
	f := &jsonForger{materials: m, a: m.signer()}
	f.controls()
	f.changed()
	f.encodings()
	f.shapes()
	f.names()
	f.critical()
	f.headers()
	f.algorithms()
	f.people()
	f.contents()
	f.several()
	if n := f.count(forged); n < 200 {
		t.Errorf("%d forgeries, want 200", n)
	}
	return f.out
}

func (f *jsonForger) count(want string) (n int) {
	for _, s := range f.out {
		if s.want == want {
			n++
		}
	}
	return n
}

// controls are valid, so that the rest is refused for what is wrong in it.
func (f *jsonForger) controls() {
	p, c, s := f.parts(f.head(""), jsonText)
	f.add(genuine, "compact", p+"."+c+"."+s)
	f.add(genuine, "compact, a line break behind it", p+"."+c+"."+s+"\n")
	f.add(genuine, "flattened", f.flat(f.head("")))
	f.add(genuine, "flattened, white space", strings.NewReplacer(`{"`, "\n{ \"", `,`, " ,\n").Replace(f.flat(f.head("")))+"\n")
	f.add(genuine, "general", fmt.Sprintf(`{"payload":"%s","signatures":[{"protected":"%s","signature":"%s"}]}`, c, p, s))
	f.add(genuine, "general, two", fmt.Sprintf(`{"payload":"%s","signatures":[{"protected":"%s","signature":"%s"},{"protected":"%s","signature":"%s"}]}`, c, p, s, p, f.value(p+"."+c)))
	f.add(genuine, "names escaped", fmt.Sprintf(`{"p\u0061yload":"%s","protected":"%s","signature":"%s"}`, c, p, s))
	f.add(genuine, "a claim that nobody knows", f.flat(f.head(`,"https://example.org/claim":{"a":[1]}`)))
	f.add(genuine, "crit with what is known", f.flat(f.head(`,"sigPl":{"addressCountry":"IT"},"crit":["sigPl"]`)))
	f.add(genuine, "unencoded", f.unencoded(f.head(`,"b64":false,"crit":["b64"]`), "pay 100"))
	f.add(genuine, "by the library", string(f.signOne("order.json", []byte(jsonText), func(o *rogito.Options) { o.Format = ades.JAdES })))
}

// unencoded is a file whose payload is signed as it is.
func (f *jsonForger) unencoded(head, payload string) string {
	p := url64([]byte(head))
	return fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":"%s"}`, payload, p, f.value(p+"."+payload))
}

// changed are signatures of which one piece is another.
func (f *jsonForger) changed() {
	p, c, s := f.parts(f.head(""), jsonText)
	other := url64([]byte(otherText))
	p2, _, s2 := f.parts(f.head(`,"sigPl":{"addressCountry":"IT"}`), jsonText)
	for name, x := range map[string][3]string{
		"another payload":                   {p, other, s},
		"another header":                    {p2, c, s},
		"another value":                     {p, c, s2},
		"a value of zeros":                  {p, c, url64(make([]byte, 64))},
		"an empty value":                    {p, c, ""},
		"half a value":                      {p, c, s[:43]},
		"a value with more behind it":       {p, c, s + "AAAA"},
		"the header as the payload":         {c, p, s},
		"payload moved into the header":     {p + c[:4], c[4:], s},
		"header and payload in one":         {p + c, "", s},
		"a payload cut off":                 {p, c[:len(c)-4], s},
		"a payload with more behind it":     {p, c + "AAAA", s},
		"a header of nothing":               {url64([]byte("{}")), c, s},
		"a header that is no object":        {url64([]byte("[]")), c, s},
		"a header that is no JSON":          {url64([]byte("alg")), c, s},
		"a header in base64 of base64":      {url64([]byte(p)), c, s},
		"the payload of the next signature": {p, url64([]byte(jsonText + " ")), s},
		"the payload in another case":       {p, strings.ToLower(c), s},
	} {
		f.add(forged, name+", compact", x[0]+"."+x[1]+"."+x[2])
		f.add(forged, name+", flattened", fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":"%s"}`, x[1], x[0], x[2]))
		f.add(forged, name+", general", fmt.Sprintf(`{"payload":"%s","signatures":[{"protected":"%s","signature":"%s"}]}`, x[1], x[0], x[2]))
	}
	// The mirror of an ECDSA value is a value of the same key for the same text:
	// anybody can make it, and it says nothing else. Its DER is another encoding.
	h := sha256.Sum256([]byte(p + "." + c))
	der, err := f.a.Key.Sign(rand.Reader, h[:], crypto.SHA256)
	if err != nil {
		f.t.Fatal(err)
	}
	f.add(forged, "a value in DER", p+"."+c+"."+url64(der))
}

// encodings are base64url as lenient readers take it.
func (f *jsonForger) encodings() {
	p, c, s := f.parts(f.head(""), jsonText)
	loose := func(text string) map[string]string {
		b, _ := base64.RawURLEncoding.DecodeString(text)
		padded := base64.URLEncoding.EncodeToString(b)
		m := map[string]string{
			"a line break inside": text[:8] + `\n` + text[8:], "a carriage return": text[:8] + `\r` + text[8:], "a space inside": text[:8] + " " + text[8:],
			"a space before": " " + text, "a space behind": text + " ", "a tab": text[:4] + `\t` + text[4:], "padding too much": text + "==",
			"a null": text + `\u0000`, "one character more": text + "A",
		}
		if padded != text {
			m["padding"] = padded
		}
		if standard := base64.RawStdEncoding.EncodeToString(b); standard != text {
			m["the other alphabet"] = standard
		}
		if last := len(text) % 4; last != 0 { // the unused bits of the last character
			const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
			at := strings.IndexByte(alphabet, text[len(text)-1])
			m["unused bits"] = text[:len(text)-1] + alphabet[at+1:at+2]
		}
		return m
	}
	for piece, text := range map[string]string{"protected": p, "payload": c, "signature": s} {
		for name, x := range loose(text) {
			v := map[string]string{"protected": p, "payload": c, "signature": s}
			v[piece] = x
			f.add(forged, "base64url, "+name+" in "+piece, fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":"%s"}`, v["payload"], v["protected"], v["signature"]))
			if !strings.Contains(x, `\`) {
				f.add(forged, "base64url, "+name+" in "+piece+", compact", v["protected"]+"."+v["payload"]+"."+v["signature"])
			}
		}
	}
	// The signer's own mistake: what is signed is what lenient readers decode.
	padded := base64.URLEncoding.EncodeToString([]byte(jsonText))
	f.add(forged, "base64url, a payload signed with padding", fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":"%s"}`, padded, p, f.value(p+"."+padded)))
}

// shapes are files that are no JWS, or two at once.
func (f *jsonForger) shapes() {
	p, c, s := f.parts(f.head(""), jsonText)
	good := f.flat(f.head(""))
	one := fmt.Sprintf(`{"protected":"%s","signature":"%s"}`, p, s)
	other := url64([]byte(otherText))
	for name, text := range map[string]string{
		"two documents":                 good + good,
		"two documents, a line each":    good + "\n" + good,
		"text behind":                   good + " paid",
		"a comment behind":              good + " /* paid */",
		"a byte order mark":             "\xef\xbb\xbf" + good,
		"UTF-16":                        utf16(good),
		"a null behind":                 good + "\x00",
		"a comma too many":              strings.TrimSuffix(good, "}") + ",}",
		"no UTF-8":                      strings.TrimSuffix(good, "}") + ",\"a\":\"\xff\"}",
		"cut off":                       good[:len(good)-10],
		"a list of one":                 "[" + good + "]",
		"signature beside signatures":   fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":"%s","signatures":[%s]}`, c, p, s, one),
		"signatures beside protected":   fmt.Sprintf(`{"payload":"%s","protected":"%s","signatures":[%s]}`, c, p, one),
		"signatures beside header":      fmt.Sprintf(`{"payload":"%s","header":{},"signatures":[%s]}`, c, one),
		"no signatures":                 fmt.Sprintf(`{"payload":"%s","signatures":[]}`, c),
		"signatures of null":            fmt.Sprintf(`{"payload":"%s","signatures":null}`, c),
		"signatures that are one":       fmt.Sprintf(`{"payload":"%s","signatures":%s}`, c, one),
		"a signature that is a string":  fmt.Sprintf(`{"payload":"%s","signatures":["%s"]}`, c, s),
		"a good one and a null":         fmt.Sprintf(`{"payload":"%s","signatures":[%s,null]}`, c, one),
		"a good one and a broken one":   fmt.Sprintf(`{"payload":"%s","signatures":[%s,{"protected":"%s","signature":"%s"}]}`, c, one, p, url64(make([]byte, 64))),
		"payload of a list":             fmt.Sprintf(`{"payload":["%s"],"protected":"%s","signature":"%s"}`, c, p, s),
		"payload of an object":          fmt.Sprintf(`{"payload":%s,"protected":"%s","signature":"%s"}`, jsonText, p, s),
		"payload of a number":           fmt.Sprintf(`{"payload":100,"protected":"%s","signature":"%s"}`, p, s),
		"payload of null":               fmt.Sprintf(`{"payload":null,"protected":"%s","signature":"%s"}`, p, s),
		"no payload":                    fmt.Sprintf(`{"protected":"%s","signature":"%s"}`, p, s),
		"an empty payload":              fmt.Sprintf(`{"payload":"","protected":"%s","signature":"%s"}`, p, s),
		"protected as an object":        fmt.Sprintf(`{"payload":"%s","protected":%s,"signature":"%s"}`, c, f.head(""), s),
		"header as a string":            fmt.Sprintf(`{"payload":"%s","protected":"%s","header":"e30","signature":"%s"}`, c, p, s),
		"header as a list":              fmt.Sprintf(`{"payload":"%s","protected":"%s","header":[],"signature":"%s"}`, c, p, s),
		"signature as a list":           fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":["%s"]}`, c, p, s),
		"signature of null":             fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":null}`, c, p),
		"more beside it":                strings.TrimSuffix(good, "}") + `,"amount":900}`,
		"more beside it, first":         `{"amount":900,` + good[1:],
		"a payload in another case":     fmt.Sprintf(`{"Payload":"%s",%s`, other, good[1:]),
		"a payload beside the payload":  strings.TrimSuffix(good, "}") + `,"payload ":"` + other + `"}`,
		"more in one of the signatures": fmt.Sprintf(`{"payload":"%s","signatures":[{"protected":"%s","signature":"%s","payload":"%s"}]}`, c, p, s, other),
		"four pieces":                   p + "." + c + "." + s + "." + s,
		"two pieces":                    p + "." + c,
		"a line before":                 "\n" + p + "." + c + "." + s,
		"two lines behind":              p + "." + c + "." + s + "\n\n\n\n",
		"another line behind":           p + "." + c + "." + s + "\n" + p + "." + other + "." + s,
		"a comma between":               p + "," + c + "," + s,
		"the word Bearer":               "Bearer " + p + "." + c + "." + s,
		"quotation marks":               `"` + p + "." + c + "." + s + `"`,
	} {
		f.add(forged, "shape, "+name, text)
	}
}

func utf16(s string) string {
	var b strings.Builder
	b.WriteString("\xff\xfe")
	for _, r := range []byte(s) {
		b.Write([]byte{r, 0})
	}
	return b.String()
}

// names are members that stand twice: readers take the first or the last.
func (f *jsonForger) names() {
	p, c, s := f.parts(f.head(""), jsonText)
	other := url64([]byte(otherText))
	bad := url64([]byte(f.head(`,"sigPl":{"addressCountry":"XX"}`)))
	for name, text := range map[string]string{
		"payload, the last one signed":     fmt.Sprintf(`{"payload":"%s","payload":"%s","protected":"%s","signature":"%s"}`, other, c, p, s),
		"payload, the first one signed":    fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":"%s","payload":"%s"}`, c, p, s, other),
		"payload, escaped":                 fmt.Sprintf(`{"p\u0061yload":"%s","payload":"%s","protected":"%s","signature":"%s"}`, other, c, p, s),
		"payload, the same":                fmt.Sprintf(`{"payload":"%s","payload":"%s","protected":"%s","signature":"%s"}`, c, c, p, s),
		"protected":                        fmt.Sprintf(`{"payload":"%s","protected":"%s","protected":"%s","signature":"%s"}`, c, bad, p, s),
		"protected, escaped":               fmt.Sprintf(`{"payload":"%s","\u0070rotected":"%s","protected":"%s","signature":"%s"}`, c, bad, p, s),
		"signature":                        fmt.Sprintf(`{"payload":"%s","protected":"%s","signature":"AAAA","signature":"%s"}`, c, p, s),
		"header":                           fmt.Sprintf(`{"payload":"%s","protected":"%s","header":{},"header":{},"signature":"%s"}`, c, p, s),
		"signatures":                       fmt.Sprintf(`{"payload":"%s","signatures":[],"signatures":[{"protected":"%s","signature":"%s"}]}`, c, p, s),
		"payload in the general form":      fmt.Sprintf(`{"payload":"%s","payload":"%s","signatures":[{"protected":"%s","signature":"%s"}]}`, other, c, p, s),
		"protected in the general form":    fmt.Sprintf(`{"payload":"%s","signatures":[{"protected":"%s","protected":"%s","signature":"%s"}]}`, c, bad, p, s),
		"a name in the unprotected header": fmt.Sprintf(`{"payload":"%s","protected":"%s","header":{"kid":"a","kid":"b"},"signature":"%s"}`, c, p, s),
	} {
		f.add(forged, "twice: "+name, text)
	}
	for _, more := range []string{
		`"alg":"none"`, `"alg":"ES256"`, `"x5c":[]`, `"x5t#S256":"AAAA"`, `"iat":1`, `"\u0061lg":"none"`, `"\u0069at":1`,
	} {
		f.add(forged, "twice in the protected header: "+more, f.flat(f.head(","+more)))
	}
	f.add(forged, "twice, deep in the protected header", f.flat(f.head(`,"sigPl":{"addressCountry":"IT","addressCountry":"XX"}`)))
}

// critical are headers whose crit no reader may pass over.
func (f *jsonForger) critical() {
	for _, crit := range []string{
		`"sigPl"`, `{}`, `[]`, `null`, `1`, `true`, `[1]`, `[null]`, `[["sigPl"]]`, `[{}]`, `["sigPl","sigPl"]`, `["sigPl",1]`, `["unknown"]`, `["sigPl","unknown"]`,
		`["Sigpl"]`, `["sigPl "]`, `[""]`, `["b64"]`, `["sigD"]`, `["sigT"]`, `["etsiU"]`, `["nbf"]`, `["jti"]`, `["http://example.org/x"]`, `["exp"]`,
	} {
		f.add(forged, "crit "+crit, f.flat(f.head(`,"sigPl":{"addressCountry":"IT"},"crit":`+crit)))
	}
	for _, name := range []string{"alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit", "enc", "zip", "epk", "apu", "apv", "iv", "tag", "p2s", "p2c"} {
		f.add(forged, "crit of what RFC 7515 defines: "+name, f.flat(f.head(`,"kid":"a","typ":"jose","cty":"json","crit":["`+name+`"]`)))
	}
	for _, name := range []string{"unknown", "nbf", "jti", "sub", "policy", "https://example.org/claim"} {
		f.add(forged, "crit of an extension that is there: "+name, f.flat(f.head(`,"`+name+`":1,"crit":["`+name+`"]`)))
	}
	f.add(forged, "b64 false, not in crit", f.unencoded(f.head(`,"b64":false`), "pay 100"))
	f.add(forged, "b64 true, not in crit", f.flat(f.head(`,"b64":true`)))
	for _, b64 := range []string{`"false"`, `0`, `null`, `[]`, `{}`} {
		f.add(forged, "b64 of "+b64, f.unencoded(f.head(`,"b64":`+b64+`,"crit":["b64"]`), "cGF5"))
		f.add(forged, "b64 of "+b64+", encoded", f.flat(f.head(`,"b64":`+b64+`,"crit":["b64"]`)))
	}
	// The same octets are text to one reader and base64url to another.
	f.add(forged, "b64 false over base64url, crit for another", f.unencoded(f.head(`,"b64":false,"sigPl":{"addressCountry":"IT"},"crit":["sigPl"]`), url64([]byte(jsonText))))
}

// headers say things where they do not count, or in a form that they do not have.
func (f *jsonForger) headers() {
	p, c, s := f.parts(f.head(""), jsonText)
	outside := func(header string) string {
		return fmt.Sprintf(`{"payload":"%s","protected":"%s","header":%s,"signature":"%s"}`, c, p, header, s)
	}
	for _, member := range []string{
		`"alg":"ES256"`, `"alg":"none"`, `"crit":["exp"]`, `"b64":false`, `"typ":"jose"`, `"cty":"json"`, `"iat":1`, `"sigT":"2020-01-01T00:00:00Z"`,
		`"sigD":{"mId":"http://uri.etsi.org/19182/ObjectIdByURI","pars":["a"]}`, `"sigPId":{"id":{"id":"urn:oid:1.2.3"}}`, `"srCms":[]`, `"srAts":{}`, `"sigPl":{}`,
		`"adoTst":{}`, `"x5t#o":{}`, `"sigX5ts":[]`, `"exp":1`, `"x5c":[]`, `"x5t#S256":"AAAA"`, `"zip":"DEF"`, `"enc":"A128GCM"`,
	} {
		f.add(forged, "outside the protected header: "+member, outside("{"+member+"}"))
	}
	for _, etsiU := range []string{`{}`, `""`, `[]`, `null`, `[1]`, `["a b"]`, `["e30="]`, `["e30"]`, `["` + url64([]byte(`{"xVals":[],"rVals":{}}`)) + `"]`, `["` + url64([]byte(`{"xVals":[],"xVals":[]}`)) + `"]`, `["` + url64([]byte(`[]`)) + `",{}]`, `[{"xVals":[]},"` + url64([]byte(`{"rVals":{}}`)) + `"]`} {
		f.add(forged, "etsiU "+etsiU, outside(`{"etsiU":`+etsiU+`}`))
	}
	f.add(forged, "etsiU in the protected header", f.flat(f.head(`,"etsiU":["`+url64([]byte(`{"xVals":[]}`))+`"]`)))
	// Everything in the unprotected header.
	f.add(forged, "nothing protected", fmt.Sprintf(`{"payload":"%s","header":%s,"signature":"%s"}`, c, f.head(""), f.value("."+c)))
	f.add(forged, "nothing protected, an empty one", fmt.Sprintf(`{"payload":"%s","protected":"","header":%s,"signature":"%s"}`, c, f.head(""), f.value("."+c)))
	noAlg := strings.Replace(f.head(""), `"alg":"ES256",`, "", 1)
	p2, _, s2 := f.parts(noAlg, jsonText)
	f.add(forged, "no algorithm", f.flat(noAlg))
	f.add(forged, "the algorithm outside", fmt.Sprintf(`{"payload":"%s","protected":"%s","header":{"alg":"ES256"},"signature":"%s"}`, c, p2, s2))
	for name, value := range map[string]string{
		"alg": `["ES256"]`, "x5c": `"x"`, "x5t#S256": `[]`, "iat": `"now"`, "kid": `1`, "typ": `[]`, "cty": `{}`, "sigT": `1`, "sigPId": `"1.2.3"`, "srCms": `{}`,
		"srAts": `[]`, "sigPl": `"IT"`, "adoTst": `[]`, "x5t#o": `"x"`, "sigX5ts": `{}`,
	} {
		head := f.head("")
		if at := strings.Index(head, `"`+name+`":`); at >= 0 { // in the place of the good one
			end := at + strings.Index(head[at:], `,"`)
			if name == "iat" {
				end = len(head) - 1
			}
			head = head[:at] + `"` + name + `":` + value + head[end:]
		} else {
			head = f.head(`,"` + name + `":` + value)
		}
		f.add(forged, "form of "+name+": "+value, f.flat(head))
	}
}

// algorithms are others than the one that the key signs with.
func (f *jsonForger) algorithms() {
	good := f.head("")
	with := func(alg string) string { return strings.Replace(good, `"ES256"`, `"`+alg+`"`, 1) }
	for _, alg := range []string{"none", "None", "NONE", "nOnE", "", "es256", "ES256 ", "ES384", "ES512", "ES256K", "RS256", "PS256", "EdDSA", "Ed25519", "RS1", "HS512", "SHA256withECDSA", "dir", "A128KW"} {
		f.add(forged, "algorithm "+alg, f.flat(with(alg)))
		p := url64([]byte(with(alg)))
		c := url64([]byte(otherText))
		f.add(forged, "algorithm "+alg+", no value", p+"."+c+".")
	}
	// The public key as a secret that everybody knows.
	for _, secret := range [][]byte{f.a.Certificate.RawSubjectPublicKeyInfo, f.a.Certificate.Raw, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: f.a.Certificate.RawSubjectPublicKeyInfo}), {}} {
		p, c := url64([]byte(with("HS256"))), url64([]byte(otherText))
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(p + "." + c))
		f.add(forged, fmt.Sprintf("HS256 with a secret of %d bytes", len(secret)), p+"."+c+"."+url64(mac.Sum(nil)))
	}
}

// people: another person's certificate is shown, or named.
func (f *jsonForger) people() {
	mallory := certify(f.t, "Mallory", nil, person)
	ours, theirs := base64.StdEncoding.EncodeToString(f.a.Certificate.Raw), base64.StdEncoding.EncodeToString(mallory.Certificate.Raw)
	other := f.pki.Actor(f.t, "good")
	third := base64.StdEncoding.EncodeToString(other.Certificate.Raw)
	form := `{"alg":"ES256"%s,"x5c":[%s],"iat":` + fmt.Sprint(f.pki.Now().Unix()) + `}`
	name := func(der []byte) string { return `,"x5t#S256":"` + thumb(der) + `"` }
	for what, head := range map[string]string{
		"somebody else's certificate first":                fmt.Sprintf(form, name(f.a.Certificate.Raw), `"`+third+`","`+ours+`"`),
		"somebody else's certificate beside it":            fmt.Sprintf(form, name(f.a.Certificate.Raw), `"`+ours+`","`+third+`"`),
		"somebody else's certificate named":                fmt.Sprintf(form, name(other.Certificate.Raw), `"`+third+`"`),
		"somebody else's certificate named, ours shown":    fmt.Sprintf(form, name(other.Certificate.Raw), `"`+ours+`"`),
		"a digest of nothing":                              fmt.Sprintf(form, `,"x5t#S256":"AAAA"`, `"`+ours+`"`),
		"an empty digest":                                  fmt.Sprintf(form, `,"x5t#S256":""`, `"`+ours+`"`),
		"no certificate":                                   fmt.Sprintf(form, name(f.a.Certificate.Raw), ``),
		"a certificate that is none":                       fmt.Sprintf(form, name(f.a.Certificate.Raw), `"AAAA"`),
		"a certificate in base64url":                       fmt.Sprintf(form, name(f.a.Certificate.Raw), `"`+url64(f.a.Certificate.Raw)+`"`),
		"a certificate with a line break":                  fmt.Sprintf(form, name(f.a.Certificate.Raw), `"`+ours[:64]+`\n`+ours[64:]+`"`),
		"a certificate that nobody vouches for":            fmt.Sprintf(form, name(mallory.Certificate.Raw), `"`+theirs+`"`),
		"one that nobody vouches for, with ours behind it": fmt.Sprintf(form, name(mallory.Certificate.Raw), `"`+theirs+`","`+ours+`"`),
	} {
		f.add(forged, "person, "+what, f.flat(head))
	}
	// Mallory signs, and shows Anna's certificate.
	p, c := url64([]byte(f.head(""))), url64([]byte(otherText))
	h := sha256.Sum256([]byte(p + "." + c))
	der, err := mallory.Key.Sign(rand.Reader, h[:], crypto.SHA256)
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := pkix.PlainValue(mallory.Key.Public(), der)
	if err != nil {
		f.t.Fatal(err)
	}
	f.add(forged, "person, another key", p+"."+c+"."+url64(raw))
	f.add(forged, "person, another key, its own in jwk", url64([]byte(f.head(`,"jwk":{"kty":"EC","crv":"P-256"}`)))+"."+c+"."+url64(raw))
}

// contents are detached signatures beside something else.
func (f *jsonForger) contents() {
	det := func(mechanism jades.Mechanism, unencoded bool) []byte {
		return f.signOne("order.json", []byte(jsonText), func(o *rogito.Options) {
			o.Format, o.JAdES = ades.JAdES, jades.Options{Detached: true, Mechanism: mechanism, Unencoded: unencoded}
		})
	}
	for _, mechanism := range []jades.Mechanism{jades.ByURIHash, jades.ByURI} {
		for _, unencoded := range []bool{false, true} {
			signed := det(mechanism, unencoded)
			name := fmt.Sprintf("detached %d, unencoded %v", mechanism, unencoded)
			f.out = append(f.out,
				specimen{name: name, data: signed, detached: []byte(jsonText), want: genuine},
				specimen{name: name + ", another content", data: signed, detached: []byte(otherText), want: forged},
				specimen{name: name + ", its base64url", data: signed, detached: []byte(url64([]byte(jsonText))), want: forged},
				specimen{name: name + ", an empty content", data: signed, detached: []byte{}, want: forged},
				specimen{name: name + ", none", data: signed, want: forged},
				specimen{name: name + ", with a payload", data: append([]byte(`{"payload":"`+url64([]byte(jsonText))+`",`), signed[1:]...), detached: []byte(jsonText), want: forged},
			)
		}
	}
	hash := func(content string) string {
		h := sha256.Sum256([]byte(url64([]byte(content))))
		return url64(h[:])
	}
	const by = `"mId":"http://uri.etsi.org/19182/ObjectIdByURIHash"`
	for name, sigD := range map[string]string{
		"no mechanism":           `{"pars":["order.json"],"hashM":"S256","hashV":["` + hash(jsonText) + `"]}`,
		"an unknown mechanism":   `{"mId":"http://uri.etsi.org/19182/Other","pars":["order.json"],"hashM":"S256","hashV":["` + hash(jsonText) + `"]}`,
		"no names":               `{` + by + `,"hashM":"S256","hashV":["` + hash(jsonText) + `"]}`,
		"an empty list of names": `{` + by + `,"pars":[],"hashM":"S256","hashV":[]}`,
		"two digests":            `{` + by + `,"pars":["order.json"],"hashM":"S256","hashV":["` + hash(jsonText) + `","` + hash(otherText) + `"]}`,
		"two names":              `{` + by + `,"pars":["order.json","b"],"hashM":"S256","hashV":["` + hash(jsonText) + `"]}`,
		"one name twice":         `{` + by + `,"pars":["order.json","order.json"],"hashM":"S256","hashV":["` + hash(jsonText) + `","` + hash(otherText) + `"]}`,
		"no digest":              `{` + by + `,"pars":["order.json"]}`,
		"an unknown hash":        `{` + by + `,"pars":["order.json"],"hashM":"S999","hashV":["` + hash(jsonText) + `"]}`,
		"no hash":                `{` + by + `,"pars":["order.json"],"hashV":["` + hash(jsonText) + `"]}`,
		"a digest with padding":  `{` + by + `,"pars":["order.json"],"hashM":"S256","hashV":["` + hash(jsonText) + `="]}`,
		"an empty digest":        `{` + by + `,"pars":["order.json"],"hashM":"S256","hashV":[""]}`,
		"types for others":       `{` + by + `,"pars":["order.json"],"hashM":"S256","hashV":["` + hash(jsonText) + `"],"ctys":["json","pdf"]}`,
		"a second content":       `{` + by + `,"pars":["order.json","terms.txt"],"hashM":"S256","hashV":["` + hash(jsonText) + `","` + hash("terms") + `"]}`,
		"by URI, with digests":   `{"mId":"http://uri.etsi.org/19182/ObjectIdByURI","pars":["order.json"],"hashM":"S256","hashV":["` + hash(jsonText) + `"]}`,
		"no object":              `"order.json"`,
		"a list":                 `[]`,
		"null":                   `null`,
	} {
		for crit, more := range map[string]string{"": `,"crit":["sigD"]`, ", not in crit": ""} {
			p := url64([]byte(f.head(`,"sigD":` + sigD + more)))
			data := fmt.Sprintf(`{"protected":"%s","signature":"%s"}`, p, f.value(p+"."))
			f.out = append(f.out, specimen{name: "sigD, " + name + crit, data: []byte(data), detached: []byte(jsonText), want: forged})
		}
	}
	// The content of a signature that carries one must be the content that is given.
	f.out = append(f.out, specimen{name: "carried, another given", data: []byte(f.flat(f.head(""))), detached: []byte(otherText), want: forged})
	// Nothing is signed but the header: a signature over nothing fits every content.
	p := url64([]byte(f.head("")))
	f.out = append(f.out,
		specimen{name: "over nothing", data: []byte(p + ".." + f.value(p+".")), detached: []byte(otherText), want: forged},
		specimen{name: "over nothing, none given", data: []byte(p + ".." + f.value(p+".")), want: forged},
	)
}

// several: signatures that read one payload in two ways.
func (f *jsonForger) several() {
	payload := url64([]byte(jsonText))
	p1, p2 := url64([]byte(f.head(""))), url64([]byte(f.head(`,"b64":false,"crit":["b64"]`)))
	f.add(forged, "two signatures, one of text", fmt.Sprintf(`{"payload":"%s","signatures":[{"protected":"%s","signature":"%s"},{"protected":"%s","signature":"%s"}]}`,
		payload, p1, f.value(p1+"."+payload), p2, f.value(p2+"."+payload)))
	// A good time-stamp of another signature, and data that cannot be read.
	lta := string(f.signOne("order.json", []byte(jsonText), func(o *rogito.Options) { o.Format, o.Level = ades.JAdES, ades.LevelLTA }))
	f.add(genuine, "LTA", lta)
	f.add(forged, "LTA, another payload", strings.Replace(lta, payload, url64([]byte(otherText)), 1))
	f.add(forged, "LTA, a component that is cut off", strings.Replace(lta, `"etsiU":["`, `"etsiU":["eyJ4Il`, 1))
	if !bytes.Contains([]byte(lta), []byte(`"etsiU":["`)) {
		f.t.Error("the components are not where they are expected")
	}
}

package blackbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a record shows of its options when nothing was asked for: the defaults
// of its format, and nothing of another.
var defaults = map[string]m{
	"cades": {
		"asyncDocumentsValidation": false, "asyncSignature": false, "level": "B", "hashAlgorithm": "SHA256", "packaging": nil, "detached": false,
		"counterSignature": false, "parallelSignature": true, "contentTimestamp": false, "commitment": nil, "withTimestamp": false, "timestampUrl": nil, "timestampUsername": nil, "timestampHashAlgo": "SHA256",
		"batch": false, "achievedLevel": "B",
	},
	"pades": {
		"asyncDocumentsValidation": false, "asyncSignature": false, "level": "B", "hashAlgorithm": "SHA256", "encryptInAnyCase": false, "page": 1.0, "x": nil, "y": nil,
		"signerImage": nil, "lockFields": nil, "withSignatureField": false, "contentTimestamp": false, "commitment": nil, "withTimestamp": false, "timestampUrl": nil, "timestampUsername": nil, "timestampHashAlgo": "SHA256",
		"timezone": "UTC", "batch": false, "achievedLevel": "B",
	},
	"xades": {
		"asyncDocumentsValidation": false, "asyncSignature": false, "level": "B", "hashAlgorithm": "SHA256", "packaging": nil, "detached": false,
		"withoutSignatureExclusion": false, "XPathQuery": nil, "signElement": nil, "signatureId": nil, "contentTimestamp": false, "commitment": nil, "withTimestamp": false, "timestampUrl": nil, "timestampUsername": nil,
		"timestampHashAlgo": "SHA256", "batch": false, "achievedLevel": "B",
	},
	"jades": {
		"asyncDocumentsValidation": false, "asyncSignature": false, "level": "B", "hashAlgorithm": "SHA256", "packaging": nil, "serialization": "flattened", "detached": false,
		"counterSignature": false, "withTimestamp": false, "timestampUrl": nil, "timestampUsername": nil, "timestampHashAlgo": "SHA256", "batch": false, "achievedLevel": "B",
	},
	"pkcs1": {"asyncDocumentsValidation": false, "asyncSignature": false, "hashAlgorithm": "SHA256", "batch": false, "achievedLevel": nil},
}

// sampleOf is a document whose format by content this is; a text is signed as
// pkcs1 only by name.
var sampleOf = map[string][]byte{"cades": sampleTXT, "pades": samplePDF, "xades": sampleXML, "jades": sampleTXT, "pkcs1": sampleTXT}

func testDefaultOptions(t *testing.T, w *world) {
	g := w.sandboxed(t)
	for format, want := range defaults {
		for _, o := range []any{nil, m{}, nulls(t, g)} {
			r := g.sign(b64(sampleOf[format]), m{"signatureType": format, "options": o})
			if !reflect.DeepEqual(r.Options, want) {
				t.Errorf("%s: %v, want %v", format, r.Options, want)
			}
		}
	}
	// An option of another format is accepted and without effect.
	for format, o := range map[string]m{
		"cades": {"page": 9, "XPathQuery": "//x", "signerImage": m{"signerName": "x"}, "encryptInAnyCase": true, "encryptionPassword": "x", "x": 1, "y": 2, "timezone": "Europe/Rome", "lockFields": "a", "withSignatureField": true, "signElement": nil, "signatureId": "s", "withoutSignatureExclusion": true},
		"pades": {"packaging": "asic-e", "detached": true, "counterSignature": true, "parallelSignature": false, "XPathQuery": "//x", "signatureId": "s", "withoutSignatureExclusion": true},
		"xades": {"counterSignature": true, "parallelSignature": false, "page": 9, "signerImage": m{}, "lockFields": []string{"a"}, "timezone": "UTC"},
		"pkcs1": {"packaging": "asic-e", "counterSignature": true, "page": -1, "signElement": "x", "level": "B"},
	} {
		if r := g.sign(b64(sampleOf[format]), m{"signatureType": format, "options": o}); r.State != "DONE" || !reflect.DeepEqual(r.Options, defaults[format]) {
			t.Errorf("%s: %s %v", format, r.says(), r.Options)
		}
	}
}

// nulls is every option the document knows, null: as good as absent.
func nulls(t testing.TB, g *guest) m {
	t.Helper()
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(g.raw("GET", "/openapi.json", nil).Body, &doc); err != nil {
		t.Fatal(err)
	}
	all := m{}
	for name := range doc.Components.Schemas["SignatureOptions"].Properties {
		all[name] = nil
	}
	if len(all) < 27 {
		t.Errorf("the document knows only %d options", len(all))
	}
	return all
}

// Every option that is unknown or ill-typed is 625, and named.
func testOptionRefusals(t *testing.T, w *world) {
	g := w.sandboxed(t)
	long := strings.Repeat("x", 3000)
	bad := map[string][]any{
		"colour": {nil, "red"}, "Level": {"B"}, "image": {"x"},
		"level":              {"X", "b", "", 1, true},
		"hashAlgorithm":      {"SHA1", "MD5", "sha256", 256},
		"timestampHashAlgo":  {"SHA1", "MD5", 1},
		"packaging":          {"wrapped", "", 1},
		"serialization":      {"short", "", 1},
		"contentTimestamp":   {"yes", 1},
		"commitment":         {"approval", "1.2.x", "9.9.9", 1, long},
		"page":               {0, -2, 1.5, "1", true},
		"x":                  {"1", true, m{}, 1e9},
		"y":                  {"1", []int{1}, -1e9},
		"encryptionPassword": {1, long},
		"timestampUsername":  {1, long}, "timestampPassword": {1, long},
		"timestampUrl": {1, long, "ftp://tsa.example/", "nowhere", "http://10.0.0.1/"},
		"XPathQuery":   {1, "//b[", ")(", long},
		"signElement":  {1, long},
		"signatureId":  {1, "1 a", "a:b", long},
		"lockFields":   {1, m{}, []int{1}},
		"timezone":     {"Mars/Base", "Local", "", 1},
		"signerImage": {
			"x", 1,
			[]any{},
			m{"font": "x"},
			m{"image": 1},
			m{"image": "***"},
			m{"imageUrl": 1},
			m{"imageUrl": "http://[::1]/x.png"},
			m{"imageUrl": "file:///x"},
			m{"signerName": 1},
			m{"location": 1},
			m{"reason": long},
			m{"signerEmail": 1},
			m{"imageVisible": "yes"},
			m{"width": "1"},
			m{"width": 0},
			m{"height": 5001},
			m{"height": 1.5},
			m{"fieldsNameList": "a"},
			m{"signAllFields": 1},
			m{"places": "1,20,20"},
			m{"places": []string{"1,20"}},
			m{"places": []string{"0,20,20"}},
			m{"places": []string{"1,20,20,0,45"}},
			m{"places": slices.Repeat([]string{"1,20,20"}, 21)},
			m{"qr": "yes"},
			m{"layout": "round"},
			m{"layout": ""},
			m{"language": "fr"},
			m{"language": 1},
		},
	}
	for _, name := range []string{
		"asyncDocumentsValidation", "asyncSignature", "encryptInAnyCase", "withSignatureField", "detached", "counterSignature", "parallelSignature",
		"withoutSignatureExclusion", "withTimestamp", "batch",
	} {
		bad[name] = []any{"true", 1, m{}}
	}
	for name := range nulls(t, g) {
		if bad[name] == nil {
			t.Errorf("there is no wrong value of %s here", name)
		}
	}
	for name, values := range bad {
		for _, v := range values {
			g.do("POST", "/EU-QES_automatic", g.body(b64(samplePDF), options(m{name: v}))).refused(t, fmt.Sprintf("%s: %.60v", name, v), 422, 625, name)
		}
	}
	for _, o := range []m{{"encryptInAnyCase": true}, {"encryptInAnyCase": true, "encryptionPassword": ""}, {"signElement": "a", "XPathQuery": "//b"}} {
		g.do("POST", "/EU-QES_automatic", g.body(b64(samplePDF), options(o))).refused(t, fmt.Sprint(o), 422, 625)
	}
	g.no(422, 625, "POST", "/EU-QES_otp", m{"inputDocuments": "aGk=", "certificateUsername": "a", "certificatePassword": "b", "certificateOtp": "1", "options": m{"level": 1}}, "level")
	g.no(422, 625, "POST", "/EU-QES_eseal", m{"inputDocuments": "aGk=", "certificateUsername": "a", "certificatePassword": "b", "options": m{"level": 1}}, "level")
}

// Levels, hashes and time-stamps, in every format that has them.
func testLevels(t *testing.T, w *world) {
	g := w.sandboxed(t)
	own, locked := w.web.URL+"/tsa", w.web.URL+"/tsa/locked"
	for _, format := range []string{"pades", "cades", "xades"} {
		ltv := "LT"
		if format == "pades" {
			ltv = "LTV"
		}
		name := map[string]string{"pades": "PAdES", "cades": "CAdES", "xades": "XAdES"}[format]
		for _, c := range []struct {
			o        m
			achieved string
			level    string // as the verifier says
			hash     string
		}{
			{m{"level": "B", "hashAlgorithm": "SHA384"}, "B", "B", "SHA384"},
			{m{"level": "T", "hashAlgorithm": "SHA512"}, "T", "T", "SHA512"},
			{m{"level": "LT", "hashAlgorithm": "SHA256"}, "LT", "LT", "SHA256"},
			{m{"level": "LTA"}, "LTA", "LTA", "SHA256"},
			{m{"level": "LTV"}, ltv, "LT", "SHA256"},
			{m{"level": "B", "withTimestamp": true}, "T", "T", "SHA256"},
			{m{"level": "LT", "withTimestamp": false, "timestampHashAlgo": "SHA256"}, "LT", "LT", "SHA256"},
			{m{"withTimestamp": true, "timestampUrl": own, "timestampHashAlgo": "SHA512"}, "T", "T", "SHA256"},
			{m{"level": "T", "timestampUrl": locked, "timestampUsername": "dora", "timestampPassword": "tsa secret", "timestampHashAlgo": "SHA384"}, "T", "T", "SHA256"},
		} {
			r, signed := g.signed(b64(sampleOf[format]), options(c.o))
			if r.Options["achievedLevel"] != c.achieved {
				t.Errorf("%s %v: achieved %v", format, c.o, r.Options["achievedLevel"])
			}
			for k, v := range c.o {
				if got, shown := r.Options[k]; k == "timestampPassword" == shown || shown && got != v {
					t.Errorf("%s: the record shows %s as %v", format, k, got)
				}
			}
			s := g.verify(signed).Signatures[0]
			if !s.Integrity || s.SignatureLevel != name+"-BASELINE-"+c.level || s.DigestAlgorithm != c.hash || (len(s.Timestamps) > 0) != (c.level != "B") {
				t.Errorf("%s %v: %s %s with %d time-stamps", format, c.o, s.SignatureLevel, s.DigestAlgorithm, len(s.Timestamps))
			}
			if vri := bytes.Contains(signed, []byte("/VRI")); format == "pades" && vri != (c.o["level"] == "LTV") {
				t.Errorf("%v: VRI %v", c.o, vri)
			}
		}
		for _, url := range []string{own + "/broken", own + "/garbage", locked, w.web.URL + "/nothing"} {
			g.do("POST", "/EU-QES_automatic", g.body(b64(sampleOf[format]), options(m{"level": "T", "timestampUrl": url}))).wrong(t, 114)
		}
	}
	w.asked(t, "/tsa", "", 0x03)
	w.asked(t, "/tsa/locked", "Basic "+base64.StdEncoding.EncodeToString([]byte("dora:tsa secret")), 0x02)
	for _, hash := range []string{"SHA256", "SHA384", "SHA512"} {
		if r := g.sign(b64(sampleTXT), m{"signatureType": "pkcs1", "options": m{"hashAlgorithm": hash, "level": "LTA"}}); r.State != "DONE" || r.Options["hashAlgorithm"] != hash || r.Options["achievedLevel"] != nil {
			t.Errorf("pkcs1 with %s: %s %v", hash, r.says(), r.Options)
		}
	}
}

// asked checks that the caller's authority was asked three times (once a
// format) with the credentials, over the hash whose object identifier ends so.
func (w *world) asked(t *testing.T, path, authorization string, hash byte) {
	t.Helper()
	n := 0
	for _, v := range w.web.visits(path) {
		oid := []byte{0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, hash}
		if v.method == "POST" && v.header.Get("Content-Type") == "application/timestamp-query" && v.header.Get("Authorization") == authorization && bytes.Contains(v.body, oid) {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%s was asked %d times as it should be", path, n)
	}
}

// Signatures beside, around and over others.
func testSignaturesOnSignatures(t *testing.T, w *world) {
	g := w.sandboxed(t)
	_, p7m := g.signed(b64(sampleTXT))
	for _, c := range []struct {
		name  string
		o     m
		ext   string
		count int // signatures that the verifier sees, with recursive
		under int // counter-signatures of the first
	}{
		{"by default beside", m{}, "p7m", 2, 0},
		{"beside", m{"parallelSignature": true}, "p7m", 2, 0},
		{"around", m{"parallelSignature": false}, "p7m.p7m", 2, 0},
		{"over", m{"counterSignature": true}, "p7m", 1, 1},
		{"over, at T", m{"counterSignature": true, "level": "T"}, "p7m", 1, 1},
	} {
		r, signed := g.signed(b64(p7m), options(c.o))
		v := g.verify(signed, m{"recursive": true})
		if r.Document.SignedDocument.Extension != c.ext || !v.OverallVerified || v.NrOfSignatures != c.count || len(v.Signatures[0].CounterSignatures) != c.under {
			t.Errorf("%s: %s, %d signatures, %+v", c.name, r.Document.SignedDocument.Extension, v.NrOfSignatures, v)
		}
	}
	_, beside := g.signed(b64(p7m))
	_, over := g.signed(b64(beside), options(m{"counterSignature": true}))
	if v := g.verify(over); v.NrOfSignatures != 2 || len(v.Signatures[0].CounterSignatures) != 1 || len(v.Signatures[1].CounterSignatures) != 1 {
		t.Errorf("not every signer is counter-signed: %+v", v)
	}
	r, detached := g.signed(b64(p7m), options(m{"detached": true}))
	if v := g.verify(detached, m{"detachedContent": b64(p7m)}); r.Document.SignedDocument.Extension != "p7s" || !v.OverallVerified {
		t.Errorf("detached over a .p7m: %+v", v)
	}
	_, pdf := g.signed(b64(samplePDF))
	_, pdf = g.signed(b64(pdf))
	if v := g.verify(pdf); v.NrOfSignatures != 2 || !v.OverallVerified {
		t.Errorf("PDF signed twice: %+v", v)
	}
	// XML: a signature that is there already is kept out of the signed data, so
	// that it may change; or kept in, so that it may not.
	_, xml := g.signed(b64(sampleXML), options(m{"signatureId": "first"}))
	for _, keep := range []bool{false, true} {
		r, again := g.signed(b64(xml), options(m{"withoutSignatureExclusion": keep, "signatureId": "second"}))
		if v := g.verify(again); v.NrOfSignatures != 2 || !v.OverallVerified || r.Options["withoutSignatureExclusion"] != keep {
			t.Errorf("kept in %v: %+v", keep, v)
		}
		intact := 0
		for _, sig := range g.verify(otherValue(t, again)).Signatures {
			if sig.Integrity {
				intact++
			}
		}
		if want := map[bool]int{false: 1, true: 0}[keep]; intact != want {
			t.Errorf("kept in %v: with another value of the first one %d are intact", keep, intact)
		}
	}
}

// otherValue changes the value of the first signature of an XML document.
func otherValue(t testing.TB, xml []byte) []byte {
	t.Helper()
	at := regexp.MustCompile(`<(\w+:)?SignatureValue[^>]*>\s*`).FindIndex(xml)
	if at == nil {
		t.Fatalf("no signature in %s", xml)
	}
	out := bytes.Clone(xml)
	out[at[1]] = map[bool]byte{true: 'B', false: 'A'}[out[at[1]] == 'A']
	return out
}

// Elements of XML, and the Id of the signature.
func testXMLSelection(t *testing.T, w *world) {
	g := w.sandboxed(t)
	for _, c := range []struct {
		o       m
		refs    []string // of what is signed
		element string   // that alone is signed, where it is not all
	}{
		{m{"signElement": "a"}, []string{`URI="#a"`}, "a"},
		{m{"XPathQuery": "//*[local-name()='line']"}, []string{`URI="#a"`, `URI="#b"`}, ""},
		{m{"XPathQuery": "//*[local-name()='line'][2]"}, []string{`URI="#b"`}, "b"},
		{m{"signatureId": "sig-of-mine"}, []string{`URI=""`, `Id="sig-of-mine"`}, ""},
	} {
		r, signed := g.signed(b64(sampleXML), options(c.o))
		for _, ref := range c.refs {
			if !bytes.Contains(signed, []byte(ref)) {
				t.Errorf("%v: no %s in %s", c.o, ref, signed)
			}
		}
		for k, v := range c.o {
			if r.Options[k] != v {
				t.Errorf("%v: %v", c.o, r.Options)
			}
		}
		if v := g.verify(signed); v.OverallVerified != (c.element == "") {
			t.Errorf("%v: %+v", c.o, v)
		}
		if c.element != "" && !g.verify(signed, m{"expectElement": c.element}).OverallVerified {
			t.Errorf("%v: %s is signed, and not valid", c.o, c.element)
		}
		if c.o["signatureId"] == nil && bytes.Contains(signed, []byte("REC-xpath")) {
			t.Errorf("%v: a transform selects", c.o)
		}
	}
	_, signed := g.signed(b64(sampleXML), options(m{"signElement": "a"}))
	if v := g.verify(bytes.Replace(signed, []byte(`<line Id="b">2<`), []byte(`<line Id="b">3<`), 1)); !v.Signatures[0].Integrity {
		t.Error("more than the element is signed")
	}
	if v := g.verify(bytes.Replace(signed, []byte(`<line Id="a">1<`), []byte(`<line Id="a">3<`), 1)); v.Signatures[0].Integrity {
		t.Error("the element is not signed")
	}
}

var rectForm = regexp.MustCompile(`/Rect ?\[ ?([-0-9. ]+)\]`)

// rect is that of the last signature field of a PDF.
func rect(pdf []byte) string {
	all := rectForm.FindAllSubmatch(pdf, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.Join(strings.Fields(string(all[len(all)-1][1])), " ")
}

// A visible signature stands where and as it was asked.
func testVisibleSignature(t *testing.T, w *world) {
	g := w.sandboxed(t)
	for _, c := range []struct {
		name string
		o    m
		rect string
		has  []string // in the file
		show []string // in what is drawn
		not  []string
	}{
		{"invisible", m{}, "0 0 0 0", nil, nil, []string{"/Image"}},
		{"by default at the foot, where nothing is written", m{"signerImage": m{}}, "395 36 559 81", nil, []string{"Ada Prova", "UTC"}, nil},
		{"in Italian", m{"signerImage": m{"language": "it", "reason": "Accettazione"}}, "395 36 559 81", nil, []string{"Firmato digitalmente da", "Motivo: Accettazione"}, nil},
		{"in English", m{"signerImage": m{"language": "en", "layout": "text", "location": "Bari"}}, "395 36 559 81", nil, []string{"Digitally signed by", "Place: Bari"}, nil},
		{"compact", m{"signerImage": m{"language": "en", "layout": "compact"}}, "395 36 559 81", nil, []string{"Digitally signed by SANDBOX", "Ada Prova ·"}, nil},
		{"an image above", m{"signerImage": m{"image": b64(samplePNG), "layout": "above"}}, "395 36 559 99", []string{"/Image"}, []string{"Ada Prova"}, nil},
		{"an image behind", m{"signerImage": m{"image": b64(samplePNG), "layout": "behind"}}, "395 36 559 81", []string{"/Image"}, []string{"Ada Prova"}, nil},
		{"an image beside", m{"signerImage": m{"image": b64(samplePNG), "layout": "beside"}}, "395 36 559 81", []string{"/Image"}, []string{"SANDBOX Ada"}, nil},
		{"an image alone", m{"signerImage": m{"image": b64(samplePNG), "layout": "picture"}}, "395 36 559 81", []string{"/Image"}, nil, []string{"Ada"}},
		{"at a place", m{"x": 100, "y": 50.5, "signerImage": m{}}, "100 746.5 264 791.5", nil, nil, nil},
		{"of a size", m{"x": 0, "y": 0, "signerImage": m{"width": 300, "height": 100}}, "0 742 300 842", nil, nil, nil},
		{"x and y alone place nothing", m{"x": 10, "y": 10}, "0 0 0 0", nil, nil, nil},
		{"on a page", m{"page": 2, "signerImage": m{}}, "395 36 559 81", []string{"/P 5 0 R"}, nil, nil},
		{"on the last page", m{"page": -1, "signerImage": m{}}, "395 36 559 81", []string{"/P 5 0 R"}, nil, nil},
		{"on the first page", m{"page": 1, "signerImage": m{}}, "395 36 559 81", []string{"/P 3 0 R"}, nil, nil},
		{
			"with texts",
			m{"signerImage": m{"signerName": "Zoe", "reason": "Because", "location": "Bari", "signerEmail": "zoe@example.org"}},
			"395 36 559 93",
			[]string{"(Zoe)", "(Because)", "(Bari)", "(zoe@example.org)"},
			[]string{"Zoe", "Because", "Bari", "zoe@example.org"},
			[]string{"Ada"},
		},
		{"texts, not to be seen", m{"signerImage": m{"imageVisible": false, "signerName": "Zoe", "reason": "Because"}}, "0 0 0 0", []string{"(Zoe)", "(Because)"}, nil, nil},
		{"to be seen, as by default", m{"signerImage": m{"imageVisible": true}}, "395 36 559 81", nil, nil, nil},
		{"with an image", m{"signerImage": m{"image": b64(samplePNG)}}, "395 36 559 81", []string{"/Image", "/Width 8", "/Height 4"}, nil, nil},
		{"with an image from elsewhere", m{"signerImage": m{"imageUrl": w.web.URL + "/image.png"}}, "395 36 559 81", []string{"/Image", "/Width 8"}, nil, nil},
		{"in a zone", m{"timezone": "Asia/Kolkata", "signerImage": m{"language": "en"}}, "395 36 559 81", nil, []string{"IST", time.Now().UTC().Add(330 * time.Minute).Format("2 January 2006")}, []string{"UTC"}},
	} {
		r, signed := g.signed(b64(twoPages), options(c.o))
		if got := rect(signed); got != c.rect {
			t.Errorf("%s: at %s, want %s", c.name, got, c.rect)
		}
		increment, text := signed[len(twoPages):], drawn(signed[len(twoPages):])
		for _, s := range c.has {
			if !bytes.Contains(increment, []byte(s)) {
				t.Errorf("%s: no %s", c.name, s)
			}
		}
		for _, s := range c.show {
			if !strings.Contains(text, s) {
				t.Errorf("%s: %q is not drawn: %q", c.name, s, text)
			}
		}
		for _, s := range c.not {
			if strings.Contains(text, s) || bytes.Contains(increment, []byte(s)) {
				t.Errorf("%s: there is %s", c.name, s)
			}
		}
		if v := g.verify(signed); !v.OverallVerified {
			t.Errorf("%s: %+v", c.name, v)
		}
		if image, ok := c.o["signerImage"].(m); ok {
			want := with(m{"imageUrl": "", "signerName": "", "location": "", "reason": "", "signerEmail": "", "imageVisible": true, "width": 164.0, "height": 45.0, "fieldsNameList": nil, "signAllFields": false, "places": nil, "layout": "beside"}, image)
			shown, _ := r.Options["signerImage"].(m)
			for k, v := range want {
				if k != "image" && fmt.Sprint(shown[k]) != fmt.Sprint(v) {
					t.Errorf("%s: signerImage.%s is shown as %v", c.name, k, shown[k])
				}
			}
		}
	}
}

// Without a language of its own a visible signature speaks that of the request.
func testVisibleLanguage(t *testing.T, w *world) {
	g := w.sandboxed(t)
	for header, want := range map[string]string{"it": "it", "en-GB, it;q=0.5": "en", "": "it"} {
		a := g.raw("POST", "/EU-QES_automatic", g.body(b64(samplePDF), options(m{"signerImage": m{}})), "Accept-Language", header)
		if a.Status != 200 && a.Status != 201 || !bytes.Contains(a.Body, []byte(`"language":"`+want+`"`)) {
			t.Errorf("%q: %d %s", header, a.Status, a.Body)
		}
	}
}

// Fields: an existing one, several by name, all; and those that are locked.
func testSignatureFields(t *testing.T, w *world) {
	g := w.sandboxed(t)
	form := pdfOf(1, "Buyer", "Seller", "~Amount", "~Date")
	fieldsOf := func(pdf []byte) (names []string) {
		for _, f := range regexp.MustCompile(`/T ?\((\w+)\)`).FindAllSubmatch(pdf, -1) {
			names = append(names, string(f[1]))
		}
		return names
	}
	for _, c := range []struct {
		name  string
		doc   []byte
		o     m
		count int
		named []string // fields that the increments write
	}{
		{"a new one by default", form, m{}, 1, nil},
		{"an empty one", form, m{"withSignatureField": true}, 1, []string{"Buyer"}},
		{"a new one where there is none", samplePDF, m{"withSignatureField": true}, 1, nil},
		{"by name", form, m{"signerImage": m{"fieldsNameList": []string{"Seller"}}}, 1, []string{"Seller"}},
		{"several by name", form, m{"signerImage": m{"fieldsNameList": []string{"Seller", "Buyer"}}}, 2, []string{"Seller", "Buyer"}},
		{"new by name", samplePDF, m{"signerImage": m{"fieldsNameList": []string{"Notary"}}}, 1, []string{"Notary"}},
		{"several places", samplePDF, m{"level": "LT", "signerImage": m{"places": []string{"1,50,50", "-1,50,120,200,60"}}}, 2, nil},
		{"all", form, m{"signerImage": m{"signAllFields": true}}, 2, []string{"Buyer", "Seller"}},
		{"all, at T", form, m{"level": "T", "signerImage": m{"signAllFields": true, "imageVisible": false}}, 2, []string{"Buyer", "Seller"}},
	} {
		_, signed := g.signed(b64(c.doc), options(c.o))
		v := g.verify(signed)
		if !v.OverallVerified || v.NrOfSignatures != c.count {
			t.Errorf("%s: %+v", c.name, v)
		}
		written := fieldsOf(signed[len(c.doc):])
		for _, name := range c.named {
			if !slices.Contains(written, name) {
				t.Errorf("%s: %s was not signed: %v", c.name, name, written)
			}
		}
		if len(c.named) == 0 && (slices.Contains(written, "Buyer") || slices.Contains(written, "Seller")) {
			t.Errorf("%s: %v", c.name, written)
		}
	}
	for _, lock := range []any{"Amount, Date", []string{"Amount", "Date"}} {
		r, signed := g.signed(b64(form), options(m{"lockFields": lock}))
		text := string(signed[len(form):])
		if !strings.Contains(text, "/FieldMDP") || !strings.Contains(text, "(Amount)") || !strings.Contains(text, "(Date)") || strings.Contains(text, "(Seller)") {
			t.Errorf("%v locks nothing", lock)
		}
		if shown, _ := r.Options["lockFields"].([]any); len(shown) != 2 || shown[0] != "Amount" {
			t.Errorf("shown as %v", r.Options["lockFields"])
		}
	}
}

// A PDF that can be read in more than one way is written anew: what was signed is
// the copy, and the record says so. One that is signed stays as it is.
func testWrittenAnew(t *testing.T, w *world) {
	g := w.sandboxed(t)
	sloppy := append(bytes.Clone(samplePDF), "junk behind the end: 1 0 obj\n"...)
	r, signed := g.signed(b64(sloppy))
	copied := g.download(r, "validatedDocument")
	if bytes.Equal(copied, sloppy) || !bytes.HasPrefix(signed, copied) || !r.Document.InputDocuments[0].Of(sloppy) {
		t.Errorf("not written anew: %+v", r.Document)
	}
	several := g.wait(g.sign([]string{b64(sloppy)}, options(m{"batch": true})).ID)
	if all := several.Document.Results; len(all) != 1 || len(all[0].Findings) != 1 || all[0].Findings[0].Code != "PDF_WRITTEN_ANEW" {
		t.Errorf("in a batch: %+v", all)
	}
	if f := r.Document.Findings; len(f) != 1 || f[0].Code != "PDF_WRITTEN_ANEW" || f[0].Severity != "warning" || f[0].Text == "" {
		t.Errorf("the record says %+v", f)
	}
	if v := g.verify(signed); !v.OverallVerified || v.NrOfSignatures != 1 {
		t.Errorf("%+v", v)
	}
	if r := g.sign(b64(append(signed, "junk behind the end: 1 0 obj\n"...))); r.State != "ERROR" || r.number() != 113 {
		t.Errorf("signed and damaged: %s", r.says())
	}
	if r, _ := g.signed(b64(samplePDF)); len(r.Document.Findings) > 0 {
		t.Errorf("nothing is wrong with it: %+v", r.Document.Findings)
	}
}

// Encrypted PDFs: those that are, and those that shall be.
func testEncryption(t *testing.T, w *world) {
	g := w.sandboxed(t)
	w.secret("a pdf secret")
	secret := m{"encryptionPassword": "a pdf secret"}
	r, signed := g.signed(b64(samplePDF), options(with(secret, m{"encryptInAnyCase": true})))
	locked := g.download(r, "validatedDocument")
	if r.Document.ValidatedDocument.MD5 == r.Document.InputDocuments[0].MD5 || !bytes.Contains(locked, []byte("/Encrypt")) || !bytes.Contains(locked, []byte("/R 6")) || r.Options["encryptInAnyCase"] != true {
		t.Errorf("not encrypted with AES-256: %+v", r.Document)
	}
	if _, shown := r.Options["encryptionPassword"]; shown {
		t.Error("the record shows the password")
	}
	check := func(what string, signed []byte) {
		t.Helper()
		g.no(422, 652, "POST", "/verify", m{"inputDocument": b64(signed)}, "pdfEncryptionPassword")
		g.no(422, 652, "POST", "/verify", m{"inputDocument": b64(signed), "pdfEncryptionPassword": "wrong"}, "pdfEncryptionPassword")
		if v := g.verify(signed, m{"pdfEncryptionPassword": "a pdf secret"}); !v.OverallVerified {
			t.Errorf("%s: %+v", what, v)
		}
	}
	check("encrypted by us", signed)
	for _, o := range []m{{}, {"encryptInAnyCase": true}, {"level": "LT"}, {"asyncDocumentsValidation": true}, {"asyncSignature": true}} {
		r := g.sign(b64(locked), options(with(secret, o)))
		if r = g.wait(r.ID); r.State != "DONE" {
			t.Errorf("encrypted before, %v: %s", o, r.says())
			continue
		}
		signed := g.download(r, "signedDocument")
		check("encrypted before", signed)
		if !bytes.HasPrefix(signed, locked) { // it stays under its own keys
			t.Errorf("%v: encrypted anew", o)
		}
	}
	for _, o := range []m{{}, {"encryptionPassword": "wrong"}} {
		g.do("POST", "/EU-QES_automatic", g.body(b64(locked), options(o))).wrong(t, 113)
	}
	_, signed = g.signed([]string{b64(samplePDF), b64(samplePDF)}, options(with(secret, m{"encryptInAnyCase": true})))
	check("merged and encrypted", signed)
	if r := g.sign(b64(samplePDF), options(secret)); r.State != "DONE" || bytes.Contains(g.download(r, "signedDocument"), []byte("/Encrypt")) {
		t.Errorf("a password alone encrypts nothing: %s", r.says())
	}
}

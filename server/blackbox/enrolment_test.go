package blackbox

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/film/filmtest"
)

// The sandbox's page: one button, the credentials once, and not on another's link.
func testEnrolmentPage(t *testing.T, w *world) {
	g := w.tenant(t)
	for _, kind := range kinds {
		b := g.buy(kind, m{})
		status, page := g.visit(b.CertificateLink)
		if status != 200 || !strings.Contains(page, `id="approve"`) || !strings.Contains(page, "<form") || !strings.Contains(page, "SANDBOX") {
			t.Errorf("%s: %d %s", kind, status, page)
		}
		if status, _ := g.post(b.CertificateLink, url.Values{"action": {"dance"}}); status != 422 {
			t.Errorf("an unknown action: %d", status)
		}
		_, page = g.post(b.CertificateLink, url.Values{"action": {"approve"}})
		c := shown(t, b.ID, kind, page)
		if strings.Contains(page, "data:image/png;base64,") != (kind == "otp") {
			t.Errorf("%s: the QR code", kind)
		}
		for _, again := range []func() (int, string){
			func() (int, string) { return g.visit(b.CertificateLink) },
			func() (int, string) { return g.post(b.CertificateLink, url.Values{"action": {"approve"}}) },
			func() (int, string) { return g.post(b.CertificateLink, url.Values{"action": {"reveal"}}) },
		} {
			if _, page := again(); strings.Contains(page, c.Password) || element(page, "certificate-password") != "" {
				t.Errorf("%s: the credentials are shown twice", kind)
			}
		}
		for _, wrong := range []string{
			b.CertificateLink + "x", strings.Replace(b.CertificateLink, b.ID, strings.Repeat("0", 24), 1), strings.TrimSuffix(b.CertificateLink, b.CertificateLink[len(b.CertificateLink)-8:]),
		} {
			if status, page := g.visit(wrong); status != 404 || strings.Contains(page, "Dora") {
				t.Errorf("a guessed link: %d", status)
			}
		}
	}
}

// reviewed looks at what an operator is shown, of a person and of a seal whose
// label is another's, and returns the price of both orders.
func reviewed(t *testing.T, g, admin *guest, files map[string][]byte) float64 {
	t.Helper()
	before := g.credit()
	var offered []string
	if g.ok(&offered, "GET", "/certificates/identifications", nil); !slices.Contains(offered, "video") || !slices.Contains(offered, "signature") {
		t.Errorf("offered: %v", offered)
	}
	all := map[string][]byte{"organization": []byte("extract")}
	maps.Copy(all, files)
	for kind, subject := range map[string]m{
		"automatic": {
			"givenName": "Mario", "surname": "Rossi", "fiscalCode": "RSSMRA80A01H501U", "country": "IT", "dateOfBirth": "1980-01-01",
			"email": "mario@example.org", "mobile": "+390600000000",
		},
		"eseal": {"organization": "Prova srl", "organizationIdentifier": "VATIT-00000000000", "country": "IT"},
	} {
		b := g.buy(kind, m{"identification": "video", "certificateOwner": "Somebody Else", "subject": subject})
		g.upload(b.CertificateLink, "video", all)
		var d struct {
			LabelDiffers bool
			Review       struct {
				Attributes        map[string]string
				LeftOut, Files    []string
				SubjectDN, Digest string
			}
		}
		a := admin.ok(&d, "GET", "/certificates/"+b.ID, nil)
		for name, value := range subject {
			if slices.Contains(d.Review.LeftOut, name) != (name == "email" || name == "mobile") || d.Review.Attributes[name] != value && !slices.Contains(d.Review.LeftOut, name) {
				t.Errorf("%s of %s: %s", name, kind, a.Body)
			}
		}
		if !d.LabelDiffers || len(d.Review.Files) < 2 || d.Review.SubjectDN == "" {
			t.Errorf("%s: %s", kind, a.Body)
		}
		var waiting []struct{ ID string }
		if admin.ok(&waiting, "GET", "/certificates/reviews", nil); !slices.ContainsFunc(waiting, func(one struct{ ID string }) bool { return one.ID == b.ID }) {
			t.Errorf("%s is not among those that wait: %v", b.ID, waiting)
		}
		evidence := "/certificates/" + b.ID + "/evidence/"
		for i, name := range d.Review.Files {
			field, _, _ := strings.Cut(name, "-")
			if a := admin.raw("GET", fmt.Sprint(evidence, i, "?digest=", d.Review.Digest), nil); a.Status != 200 || string(a.Body) != string(all[field]) {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		g.no(403, 131, "GET", evidence+"0", nil)
		g.no(403, 131, "GET", "/certificates/reviews", nil)
		admin.no(404, 140, "GET", evidence+"9", nil)
		admin.no(422, 160, "GET", evidence+"-1", nil, "file")
		admin.no(409, 145, "GET", evidence+"0?digest=00", nil, "look at it again")
		admin.no(400, 141, "GET", "/certificates/xyz/evidence/0", nil)
		admin.no(409, 145, "POST", "/certificates/"+b.ID+"/review", m{"approve": true, "digest": strings.Repeat("0", 64)}, "look at it again")
		var done detail
		if admin.ok(&done, "POST", "/certificates/"+b.ID+"/review", m{"approve": true, "digest": d.Review.Digest}); done.State != "DONE" {
			t.Errorf("approved: %s", done.State)
		}
	}
	g.ok(nil, "GET", "/certificates", nil)
	return g.credit() - before
}

// Identification by video: handed in, looked at by an operator, approved or
// refused; a refusal gives the price back.
func testIdentificationByVideo(t *testing.T, w *world) {
	g, admin := w.tenant(t), w.sandboxed(t)
	both := map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}
	before := g.credit()
	b := g.buy("automatic", m{"identification": "video"})
	review := "/certificates/" + b.ID + "/review"
	g.no(403, 131, "POST", review, m{"approve": true})
	admin.no(409, 145, "POST", review, m{"approve": true}, "NEW")
	admin.no(422, 310, "POST", review, m{}, "approve")
	admin.no(422, 310, "POST", review, m{"approve": "yes"}, "approve")
	admin.no(400, 100, "POST", review, `{`)
	for _, files := range []map[string][]byte{{"video": both["video"]}, {"photo": both["photo"]}, {"video": both["video"], "photo": nil}, {}} {
		if status, _ := g.upload(b.CertificateLink, "video", files); status != 422 || g.state(b.ID) != "NEW" {
			t.Errorf("only %d files: %d, %s", len(files), status, g.state(b.ID))
		}
	}
	if status, _ := g.upload(b.CertificateLink, "signature", map[string][]byte{"document": samplePDF}); status != 409 || g.state(b.ID) != "NEW" {
		t.Errorf("the other identification: %d", status)
	}
	if status, page := g.upload(b.CertificateLink, "video", both); status != 200 || element(page, "certificate-password") != "" || g.state(b.ID) != "REGISTERING" {
		t.Errorf("%d, %s", status, g.state(b.ID))
	}
	if status, _ := g.upload(b.CertificateLink, "video", both); status != 409 {
		t.Errorf("handed in twice: %d", status)
	}
	var d detail
	if admin.ok(&d, "POST", review, m{"approve": true, "reason": "the same face"}); d.State != "DONE" {
		t.Errorf("approved: %s", d.State)
	}
	if _, page := g.visit(b.CertificateLink); element(page, "certificate-password") != "" || !strings.Contains(page, `id="reveal"`) {
		t.Error("a mere visit shows the credentials")
	}
	_, page := g.post(b.CertificateLink, url.Values{"action": {"reveal"}})
	if r := g.submit(shown(t, b.ID, "automatic", page).body(b64(sampleTXT))); r.State != "DONE" {
		t.Errorf("%s", r.says())
	}
	admin.no(409, 145, "POST", review, m{"approve": false})

	before += reviewed(t, g, admin, both)
	paid := before - g.credit()
	b = g.buy("automatic", m{})
	g.upload(b.CertificateLink, "video", both)
	if admin.ok(&d, "POST", "/certificates/"+b.ID+"/review", m{"approve": false, "reason": "another face"}); d.State != "CANCELLED" {
		t.Errorf("refused: %s", d.State)
	}
	if before-g.credit() != paid {
		t.Errorf("a refused order costs %v", before-g.credit()-paid)
	}
	if status, _ := g.visit(b.CertificateLink); status != 404 {
		t.Errorf("the link of a refused order: %d", status)
	}
}

// shownDigest is what the holder confirms.
var shownDigest = regexp.MustCompile(`name="shown" value="([0-9a-f]+)"`)

// Identification by a statement made for the order and signed by the applicant:
// judged by the verifier, and held against the subject.
func testIdentificationBySignature(t *testing.T, w *world) {
	g := w.tenant(t)
	sign := w.outside.Person("Dora", "Prova", "PRVDRO80A41H501X").PDF
	contract := sign(samplePDF)
	for _, c := range []struct {
		name   string
		order  m
		upload func(statement []byte) []byte
		code   int // 0: identified
	}{
		{"the same tax code", m{"subject": m{"fiscalCode": "prvdro80a41h501x"}}, sign, 0},
		{"the same names", m{"subject": m{"givenName": "DORA", "surname": "prova"}}, sign, 0},
		{"another tax code", m{"subject": m{"givenName": "Dora", "surname": "Prova", "fiscalCode": "PRVDRO80A41H501Y"}}, sign, 312},
		{"another name", m{"certificateOwner": "Ada Prova"}, sign, 312},
		{"another document", m{}, func([]byte) []byte { return contract }, 310},
		{"not signed", m{}, func(st []byte) []byte { return st }, 310},
		{"changed after signing", m{}, func(st []byte) []byte {
			return bytes.Replace(sign(st), []byte("Dichiarazione"), []byte("Dichiarazionf"), 1)
		}, 310},
		{"no document", m{}, func([]byte) []byte { return []byte("nothing") }, 310},
	} {
		b := g.buy("automatic", with(m{"identification": "signature"}, c.order))
		status, statement := g.visit(b.CertificateLink + "/statement.pdf")
		if status != 200 || !strings.HasPrefix(statement, "%PDF") {
			t.Fatalf("statement: %d", status)
		}
		status, page := g.upload(b.CertificateLink, "signature", map[string][]byte{"document": c.upload([]byte(statement))})
		if shown := shownDigest.FindStringSubmatch(page); shown != nil { // what the order did not name
			status, page = g.post(b.CertificateLink, url.Values{"action": {"confirm"}, "shown": {shown[1]}})
		}
		state := g.state(b.ID)
		if c.code == 0 && (status != 200 || state != "DONE" || element(page, "certificate-password") == "") ||
			c.code != 0 && (status != 422 || state != "NEW" || !strings.Contains(page, fmt.Sprintf(`data-code="%d"`, c.code))) {
			t.Errorf("%s: %d, %s", c.name, status, state)
		}
	}
	b := g.buy("automatic", m{"identification": "signature"})
	if status, _ := g.upload(b.CertificateLink, "signature", nil); status != 422 {
		t.Errorf("without a document: %d", status)
	}
	if status, _ := g.upload(b.CertificateLink, "video", map[string][]byte{"video": []byte("v"), "photo": []byte("p")}); status != 409 || g.state(b.ID) != "NEW" {
		t.Errorf("the other identification: %d", status)
	}
}

// A new password and a new device: the old ones are good no more.
func testPasswordAndDevice(t *testing.T, w *world) {
	g := w.tenant(t)
	c := g.issue("otp", m{})
	path := "/certificates/" + c.ID + "/password"
	for _, body := range []m{{"new": "a new password"}, {"old": c.Password}, {"old": c.Password, "new": "short"}, {"old": c.Password, "new": strings.Repeat("x", 257)}, {"old": 1, "new": "a new password"}} {
		g.no(422, 310, "POST", path, body)
	}
	g.no(422, 310, "POST", path, m{"old": "wrong", "new": "a new password"}, "old")
	g.no(400, 100, "POST", path, `{`)
	if a := g.ok(nil, "POST", path, m{"old": c.Password, "new": "a new password"}); string(a.Data) != "null" {
		t.Errorf("%s", a.Body)
	}
	old := c
	c.Password = "a new password"
	r := &record{}
	if g.ok(r, "POST", "/EU-QES_otp", old.body(b64(sampleTXT))); r.number() != 110 {
		t.Errorf("the old password: %s", r.says())
	}
	var d detail
	if g.ok(&d, "POST", "/certificates/"+c.ID+"/enrol", nil); d.State != "DONE" || d.CertificateLink == nil {
		t.Fatalf("%+v", d)
	}
	link := deref(d.CertificateLink)
	if _, page := g.visit(link); element(page, "otp-secret") != "" || !strings.Contains(page, `name="password"`) {
		t.Error("a mere visit enrols a device")
	}
	if _, page := g.post(link, url.Values{"action": {"device"}, "password": {"guess"}}); element(page, "otp-secret") != "" {
		t.Error("a device is enrolled without the password")
	}
	if _, page := g.post(link, url.Values{"action": {"device"}, "password": {c.Password}}); element(page, "otp-secret") != "" {
		t.Error("the password alone, which every call carries, enrols a device")
	}
	_, page := g.post(link, url.Values{"action": {"device"}, "password": {c.Password}, "code": {code(c.Secret, 0)}})
	if old, c.Secret = c, element(page, "otp-secret"); c.Secret == "" || c.Secret == old.Secret || !strings.Contains(page, "data:image/png") || strings.Contains(page, c.Password) {
		t.Fatalf("%s", page)
	}
	if status, _ := g.post(link, url.Values{"action": {"device"}, "password": {c.Password}}); status != 409 { // it only tells of the device now
		t.Errorf("the link is good twice: %d", status)
	}
	if g.ok(r, "POST", "/EU-QES_otp", old.body(b64(sampleTXT))); r.number() != 116 {
		t.Errorf("the old device: %s", r.says())
	}
	r = &record{}
	if g.ok(r, "POST", "/EU-QES_otp", c.body(b64(sampleTXT))); r.State != "DONE" {
		t.Errorf("the new device: %s", r.says())
	}
	g.no(409, 145, "POST", "/certificates/"+g.cert.ID+"/enrol", nil, "otp")
	for range 5 {
		g.do("POST", path, m{"old": "wrong", "new": "another password"})
	}
	g.no(423, 111, "POST", path, m{"old": c.Password, "new": "another password"})
}

// A key pair of the owner's own signs as any other.
func testImport(t *testing.T, w *world) {
	g := w.tenant(t)
	name := "ida@" + g.me.Email
	w.importPair(t, g.me.Email, name, "file secret")
	ida := certificate{Kind: "automatic", Username: name, Password: "file secret"}
	if r := g.submit(ida.body(b64(samplePDF))); r.State != "DONE" {
		t.Errorf("%s", r.says())
	}
	before := g.credit()
	for _, o := range []m{{"level": "LT"}, {"level": "LTA", "asyncSignature": true}} {
		r := g.submit(ida.body(b64(samplePDF), options(o)))
		if r = g.wait(r.ID); r.number() != 115 {
			t.Errorf("%v with an authority that publishes nothing: %s", o, r.says())
		}
	}
	if g.credit() != before {
		t.Errorf("errors cost %v", before-g.credit())
	}
	var list []detail
	if g.ok(&list, "GET", "/certificates?state=DONE", nil); len(list) != 2 || list[0].CertificateLink != nil || list[0].SerialNumber != nil {
		t.Errorf("%+v", list)
	}
}

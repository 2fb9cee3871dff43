package blackbox

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store"
)

// delivery as the log of them shows it.
type delivery struct {
	ID, Scope, URL, HTTPResponseCode string
	StartedAt, CompletedAt, Problem  *string
	Domain, Record, CreatedAt        string
	Active                           bool
	Data                             record
	Custom                           any
	Headers                          []string
	ElapsedTime                      int64
	Attempt, Retry                   int
	Field, Method                    string
}

// told is what a callback says.
func told(t testing.TB, v visit) (r record, custom any) {
	t.Helper()
	var body struct {
		Data   record
		Custom any
	}
	text := v.body
	if strings.HasPrefix(v.header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(v.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range form {
			if name != "custom" {
				text = []byte(`{"data":` + values[0] + `,"custom":` + form.Get("custom") + `}`)
			}
		}
	}
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatalf("%v: %s", err, v.body)
	}
	return body.Data, body.Custom
}

// over waits until a delivery has come to its end.
func (g *guest) over(id string) *delivery {
	g.Helper()
	for range await.Within(await.Limit) {
		d := &delivery{}
		if g.ok(d, "GET", "/callbacks/"+id, nil); !d.Active {
			return d
		}
	}
	g.Fatalf("delivery %s is not over", id)
	return nil
}

// Every member of a callback does what it says, and each state is told.
func testCallbacks(t *testing.T, w *world) {
	g := w.tenant(t)
	if a := g.ok(nil, "GET", "/callbacks", nil); string(a.Data) != "[]" {
		t.Errorf("%s", a.Body)
	}
	for i, c := range []struct {
		name   string
		more   m // of the callback
		o      m
		doc    []byte
		states []string
		form   string // field of a form
		custom any
	}{
		{"defaults, synchronous", m{}, m{}, samplePDF, []string{"DONE"}, "", nil},
		{"an error, synchronous", m{"method": "JSON"}, m{}, brokenPDF, []string{"ERROR"}, "", nil},
		{"signed later", m{"custom": m{"a": 1.0, "b": []any{"c"}}}, m{"asyncSignature": true}, samplePDF, []string{"DONE"}, "", m{"a": 1.0, "b": []any{"c"}}},
		{"validated later", m{"custom": "text"}, m{"asyncDocumentsValidation": true}, samplePDF, []string{"WAIT_SIGN", "DONE"}, "", "text"},
		{"an error later", m{"custom": strings.Repeat("v", 510)}, m{"asyncDocumentsValidation": true}, brokenPDF, []string{"ERROR"}, "", strings.Repeat("v", 510)},
		{"as a form", m{"method": "POST", "custom": 7.0}, m{}, samplePDF, []string{"DONE"}, "data", 7.0},
		{"custom, a list", m{"custom": []any{1.0, "two"}}, m{}, sampleTXT, []string{"DONE"}, "", []any{1.0, "two"}},
		{"custom, a truth", m{"custom": true}, m{}, sampleTXT, []string{"DONE"}, "", true},
		{"as a form with a field", m{"method": "POST", "field": "payload", "headers": m{"X-Key": "canary of a header", "X-Other": ""}, "retry": 0}, m{"asyncDocumentsValidation": true}, samplePDF, []string{"WAIT_SIGN", "DONE"}, "payload", nil},
	} {
		h := w.web.hook("callbacks-"+string(rune('a'+i)), nil)
		r := g.sign(b64(c.doc), options(c.o), m{"callback": with(m{"url": h.url}, c.more)})
		got := h.wait(t, len(c.states))
		var states []string
		for _, v := range got {
			data, custom := told(t, v)
			states = append(states, data.State)
			want, _ := json.Marshal(c.custom)
			if have, _ := json.Marshal(custom); data.ID != r.ID || v.method != "POST" || string(have) != string(want) {
				t.Errorf("%s: %s %s", c.name, v.method, v.body)
			}
			if headers, ok := c.more["headers"].(m); ok && v.header.Get("X-Key") != headers["X-Key"] {
				t.Errorf("%s: %v", c.name, v.header)
			}
			mediaType := "application/json"
			if c.form != "" {
				mediaType = "application/x-www-form-urlencoded"
				if form, _ := url.ParseQuery(string(v.body)); form.Get(c.form) == "" {
					t.Errorf("%s: no field %s", c.name, c.form)
				}
			}
			if v.header.Get("Content-Type") != mediaType {
				t.Errorf("%s: %s", c.name, v.header.Get("Content-Type"))
			}
		}
		if !slices.Equal(states, c.states) {
			t.Errorf("%s: told %v, want %v", c.name, states, c.states)
		}
		var list []delivery
		g.ok(&list, "GET", "/callbacks?limit=1", nil)
		if d := g.over(list[0].ID); !reflect.DeepEqual(d.Custom, c.custom) || d.URL != h.url {
			t.Errorf("%s: the log has %+v", c.name, d)
		}
		if data, _ := told(t, got[len(got)-1]); data.State == "DONE" && data.Document.SignedDocument.SHA256 != g.wait(r.ID).Document.SignedDocument.SHA256 {
			t.Errorf("%s: another record", c.name)
		}
	}
	g.deliveries(11)
}

// deliveries reads the log of them, which has so many.
func (g *guest) deliveries(n int) {
	g.Helper()
	var list []delivery
	if g.ok(&list, "GET", "/callbacks?limit=100", nil); len(list) != n {
		g.Fatalf("%d deliveries, want %d", len(list), n)
	}
	d := g.over(list[0].ID) // the newest: a form with headers
	if d.HTTPResponseCode != "200" || d.StartedAt == nil || d.CompletedAt == nil || d.Problem != nil || d.Attempt != 1 || d.Retry != 0 || d.Field != "payload" || d.Method != "POST" ||
		d.Data.State != "DONE" || d.Record != d.Data.ID || d.Custom != nil || !strings.Contains(d.Scope, "EU-QES_automatic") || d.Domain == "" || len(d.Headers) != 2 || d.ElapsedTime < 0 {
		g.Errorf("%+v", d)
	}
	if _, err := time.Parse(time.RFC3339, d.CreatedAt); err != nil {
		g.Error(err)
	}
	if a := g.raw("GET", "/callbacks/"+list[0].ID, nil); strings.Contains(string(a.Body), "canary") {
		g.Error("the log shows the value of a header")
	}
	if d := g.over(list[n-1].ID); d.Retry != 5 || d.Field != "data" || d.Method != "JSON" {
		g.Errorf("by default: %+v", d)
	}
	var page []delivery
	if g.ok(&page, "GET", "/callbacks?limit=2&after="+list[0].ID, nil); len(page) != 2 || page[0].ID != list[1].ID {
		g.Errorf("behind the first: %+v", page)
	}
	if g.ok(&page, "GET", "/callbacks?skip=1&limit=2", nil); len(page) != 2 || page[0].ID != list[1].ID {
		g.Errorf("%+v", page)
	}
	g.no(422, 160, "GET", "/callbacks?limit=101", nil, "limit")
	stranger := g.w.guest(g.T, g.w.other)
	for _, c := range []struct{ method, tail string }{{"GET", ""}, {"POST", "/resend"}} {
		g.no(400, 141, c.method, "/callbacks/xyz"+c.tail, nil)
		g.no(404, 140, c.method, "/callbacks/"+store.NewID()+c.tail, nil)
		stranger.no(404, 140, c.method, "/callbacks/"+list[0].ID+c.tail, nil)
	}
	g.do("GET", "/callbacks", nil, "Authorization", "Basic x").refused(g.T, "no account", 401, 128)
}

// Callbacks are signed as Standard Webhooks has it; a rotated secret stays good
// for a day; one that was delivered can be sent again.
func testWebhookSecrets(t *testing.T, w *world) {
	g := w.tenant(t)
	type secret struct {
		Secret, CreatedAt           string
		Previous, PreviousExpiresAt *string
	}
	var one, two secret
	g.ok(&one, "GET", "/callbacks/secret", nil)
	if !strings.HasPrefix(one.Secret, "whsec_") || one.Previous != nil || one.PreviousExpiresAt != nil || one.CreatedAt == "" {
		t.Errorf("%+v", one)
	}
	signs := func(secret string, v visit) bool {
		t.Helper()
		wh, err := webhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		return wh.Verify(v.body, v.header) == nil && wh.Verify(append([]byte(" "), v.body...), v.header) != nil
	}
	h := w.web.hook("secrets", nil)
	g.sign(b64(sampleTXT), m{"callback": m{"url": h.url}})
	first := h.wait(t, 1)[0]
	if !signs(one.Secret, first) || !strings.HasPrefix(first.header.Get("webhook-id"), "msg_") {
		t.Errorf("%v", first.header)
	}
	key := store.NewID()
	g.ok(&two, "POST", "/callbacks/secret", nil, "Idempotency-Key", key)
	var again secret
	if a := g.ok(&again, "POST", "/callbacks/secret", nil, "Idempotency-Key", key); again.Secret != two.Secret || a.Header.Get("Idempotent-Replayed") != "true" || a.Message != "Created" {
		t.Errorf("%+v, then %+v", two, again)
	}
	g.w.secret(one.Secret, two.Secret)
	if two.Secret == one.Secret || deref(two.Previous) != one.Secret {
		t.Errorf("%+v after %+v", two, one)
	}
	if until, err := time.Parse(time.RFC3339, deref(two.PreviousExpiresAt)); err != nil || time.Until(until) < 23*time.Hour || time.Until(until) > 25*time.Hour {
		t.Errorf("until %s: %v", deref(two.PreviousExpiresAt), err)
	}
	if g.ok(&again, "GET", "/callbacks/secret", nil); again.Secret != two.Secret || deref(again.Previous) != one.Secret {
		t.Errorf("%+v", again)
	}
	var list []delivery
	g.ok(&list, "GET", "/callbacks", nil)
	g.over(list[0].ID)
	var sent, replayed delivery
	key = store.NewID()
	a := g.ok(&sent, "POST", "/callbacks/"+list[0].ID+"/resend", nil, "Idempotency-Key", key)
	if sent.ID == list[0].ID || a.Message != "Created" || sent.Record != list[0].recordOf(g) {
		t.Errorf("%s", a.Body)
	}
	if g.ok(&replayed, "POST", "/callbacks/"+list[0].ID+"/resend", nil, "Idempotency-Key", key); replayed.ID != sent.ID {
		t.Errorf("sent again twice: %+v", replayed)
	}
	for _, path := range []string{"/callbacks/secret", "/callbacks/" + sent.ID + "/resend"} {
		g.do("POST", path, nil, "Idempotency-Key", key).refused(t, "the key of another call", 422, 151)
		g.do("POST", path, nil, "Idempotency-Key", strings.Repeat("k", 256)).refused(t, "a long key", 422, 160)
	}
	second := h.wait(t, 2)[1]
	if !signs(one.Secret, second) || !signs(two.Secret, second) || second.header.Get("webhook-id") != first.header.Get("webhook-id") || string(second.body) != string(first.body) {
		t.Errorf("sent again: %v", second.header)
	}
	if n := len(h.wait(t, 2)); n != 2 {
		t.Errorf("%d deliveries", n)
	}
}

func (d *delivery) recordOf(g *guest) string {
	var whole delivery
	g.ok(&whole, "GET", "/callbacks/"+d.ID, nil)
	return whole.Record
}

// What receivers answer, and what becomes of it.
func testCallbackOutcomes(t *testing.T, w *world) {
	g := w.tenant(t)
	answer := func(status int, header ...string) func(int, http.ResponseWriter) {
		return func(_ int, out http.ResponseWriter) {
			for i := 0; i+1 < len(header); i += 2 {
				out.Header().Set(header[i], header[i+1])
			}
			out.WriteHeader(status)
		}
	}
	once := func(status int, header ...string) func(int, http.ResponseWriter) {
		return func(n int, out http.ResponseWriter) {
			if n == 1 {
				answer(status, header...)(n, out)
			}
		}
	}
	hooks := map[string]*hook{}
	for _, c := range []struct {
		name  string
		reply func(int, http.ResponseWriter)
		retry any
	}{
		{"no-content", answer(204), 5},
		{"gone", answer(410), 5},
		{"moved", answer(302, "Location", w.web.URL+"/hook/outcome-target"), 0},
		{"failing", answer(500), 0},
		{"again", once(500), 1},
		{"patient", once(503, "Retry-After", "7"), 1},
		{"long", answer(429, "Retry-After", "100000000"), 5},
	} {
		hooks[c.name] = w.web.hook("outcome-"+c.name, c.reply)
		g.sign(b64(sampleTXT), m{"callback": m{"url": hooks[c.name].url, "retry": c.retry}})
	}
	target := w.web.hook("outcome-target", nil)
	g.sign(b64(sampleTXT), m{"callback": m{"url": "https://nowhere.invalid/", "retry": 0}})
	for _, h := range hooks {
		h.wait(t, 1)
	}
	find := func(name string) string {
		t.Helper()
		var list []delivery
		g.ok(&list, "GET", "/callbacks", nil)
		for _, d := range list {
			if strings.HasSuffix(d.URL, name) {
				return d.ID
			}
		}
		t.Fatalf("no delivery to %s", name)
		return ""
	}
	for name, want := range map[string]string{"no-content": "204", "gone": "410", "moved": "302", "failing": "500"} {
		if d := g.over(find("outcome-" + name)); d.HTTPResponseCode != want || d.Attempt != 1 || d.CompletedAt == nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := g.over(find("nowhere.invalid/")); d.HTTPResponseCode != "" || d.Problem == nil || d.Attempt != 1 {
		t.Errorf("nowhere: %+v", d)
	}
	for name, pause := range map[string][2]time.Duration{"again": {4500 * time.Millisecond, 8 * time.Second}, "patient": {7 * time.Second, 11 * time.Second}} {
		got := hooks[name].wait(t, 2)
		if waited := got[1].at.Sub(got[0].at); waited < pause[0] || waited > pause[1]+5*time.Second {
			t.Errorf("%s: again after %v", name, waited)
		}
		if d := g.over(find("outcome-" + name)); d.HTTPResponseCode != "200" || d.Attempt != 2 {
			t.Errorf("%s: %+v", name, d)
		}
		if got[0].header.Get("webhook-id") != got[1].header.Get("webhook-id") {
			t.Errorf("%s: another webhook-id", name)
		}
	}
	var d delivery
	if g.ok(&d, "GET", "/callbacks/"+find("outcome-long"), nil); !d.Active || d.Attempt != 1 || d.HTTPResponseCode != "429" || d.CompletedAt != nil {
		t.Errorf("a long Retry-After: %+v", d)
	}
	for name, n := range map[string]int{"no-content": 1, "gone": 1, "moved": 1, "failing": 1, "again": 2, "patient": 2, "long": 1} {
		if got := len(hooks[name].wait(t, 0)); got != n {
			t.Errorf("%s was told %d times", name, got)
		}
	}
	if len(target.wait(t, 0)) != 0 {
		t.Error("a redirect was followed")
	}
}

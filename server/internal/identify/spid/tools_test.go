package spid_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/spid"
	"rogito.dev/rogito/server/internal/identify/spid/demo"
)

const public = "https://rogito.example"

// world is a service provider and two identity providers that it knows, and
// one that it does not.
type world struct {
	sp                  *spid.SPID
	idp, other, unknown *demo.IdP
	cfg                 spid.Config
}

// keys are made once: that takes a second each.
var keys = sync.OnceValue(func() (k struct {
	dir                 string
	cfg                 spid.Config
	idp, other, unknown *demo.IdP
	err                 error
},
) {
	fail := func(err error) { k.err = errors.Join(k.err, err) }
	var err error
	k.dir, err = os.MkdirTemp("", "spid")
	fail(err)
	k.cfg, err = demo.Config(k.dir, public)
	fail(err)
	k.idp, err = demo.New("https://idp.example/spid", nil)
	fail(err)
	k.other, err = demo.New("https://other.example/spid", nil)
	fail(err)
	k.unknown, err = demo.New("https://idp.example/spid", nil)
	fail(err)
	return k
})

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(keys().dir)
	os.Exit(code)
}

func newWorld(t testing.TB, change ...func(*spid.Config, *spid.Deps)) *world {
	t.Helper()
	k := keys()
	if k.err != nil {
		t.Fatal(k.err)
	}
	w := &world{cfg: k.cfg}
	for from, to := range map[*demo.IdP]**demo.IdP{k.idp: &w.idp, k.other: &w.other, k.unknown: &w.unknown} {
		one := *from
		one.Metadata = func() []byte { return w.sp.NewMetadata() }
		*to = &one
	}
	w.cfg.IDPMetadata = []string{file(t, w.idp.OwnMetadata()), file(t, w.other.OwnMetadata())}
	deps := spid.Deps{PublicURL: public}
	for _, c := range change {
		c(&w.cfg, &deps)
	}
	var err error
	if w.sp, err = spid.New(w.cfg, deps); err != nil {
		t.Fatal(err)
	}
	return w
}

func file(t testing.TB, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "metadata.xml")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// start sends a person to an identity provider, which reads the request.
func (w *world) start(t testing.TB, idp *demo.IdP) (*identify.Departure, *demo.Request) {
	t.Helper()
	d, err := w.sp.Start(context.Background(), idp.Entity)
	if err != nil {
		t.Fatal(err)
	}
	q, err := idp.Read(arrive(d))
	if err != nil {
		t.Fatalf("the identity provider refuses the request: %v", err)
	}
	return d, q
}

// arrive is the request that a browser makes of a departure.
func arrive(d *identify.Departure) *http.Request {
	if d.Form == nil {
		return httptest.NewRequest(http.MethodGet, d.URL, nil)
	}
	r := httptest.NewRequest(http.MethodPost, d.URL, strings.NewReader(form(d).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func form(d *identify.Departure) url.Values {
	v := url.Values{}
	for name, value := range d.Form {
		v.Set(name, value)
	}
	return v
}

func posted(message []byte) url.Values {
	return url.Values{"SAMLResponse": {base64.StdEncoding.EncodeToString(message)}}
}

func (w *world) finish(d *identify.Departure, message []byte) (*identify.Answer, error) {
	return w.sp.Finish(context.Background(), d.State, posted(message))
}

// refused wants a refusal, of that reason unless it is empty.
func refused(t testing.TB, a *identify.Answer, err error, reason string) {
	t.Helper()
	var no *identify.Refusal
	if !errors.As(err, &no) || a != nil {
		t.Fatalf("answer %v, error %v, want a refusal", a, err)
	}
	if no.English == "" || no.Italian == "" || no.Reason == "" {
		t.Errorf("a refusal without sentences: %+v", no)
	}
	if reason != "" && no.Reason != reason {
		t.Errorf("refused for %q, want %q", no.Reason, reason)
	}
}

// signed is a Response of two signatures whose texts are changed before each.
func signed(t testing.TB, i *demo.IdP, q *demo.Request, assertion, response func(string) string) []byte {
	t.Helper()
	a := i.Assertion(q, demo.People[0])
	if assertion != nil {
		a = assertion(a)
	}
	inner, err := i.Signer.Sign(a)
	if err != nil {
		t.Fatal(err)
	}
	r := i.Response(q, "urn:oasis:names:tc:SAML:2.0:status:Success", "", string(inner))
	if response != nil {
		r = response(r)
	}
	out, err := i.Signer.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// swap replaces what must be there.
func swap(t testing.TB, old, now string) func(string) string {
	return func(s string) string {
		t.Helper()
		if !strings.Contains(s, old) {
			t.Fatalf("%q is not in the message", old)
		}
		return strings.ReplaceAll(s, old, now)
	}
}

// clock is one that a test sets.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

package account_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// openPaths have ids that are the same for everybody: the catalogue of scopes.
var openPaths = []string{"/scopes/{id}"}

// belongings are the ids of an account's things, by the first segment of the
// paths that take them.
func belongings(s *site, records int) map[string][]string {
	s.T.Helper()
	ids := map[string][]string{}
	for range records {
		ids["signatures"] = append(ids["signatures"], s.Sign(b64(sitetest.SampleTXT), m{"callback": m{"url": "https://nowhere.invalid/hook", "retry": 0}}).ID)
	}
	list := func(path string) {
		var all []struct{ ID string }
		if err := json.Unmarshal(s.Do("GET", path, nil).Data, &all); err != nil || len(all) == 0 {
			s.T.Fatalf("%s: %d, %v", path, len(all), err)
		}
		for _, x := range all {
			ids[path[1:]] = append(ids[path[1:]], x.ID)
		}
	}
	cert, _ := selfSigned(s.T, s.T.TempDir())
	text, err := os.ReadFile(cert)
	if err != nil {
		s.T.Fatal(err)
	}
	if a := s.Do("POST", "/client-certificates", m{"name": "mine", "certificate": string(text)}); a.Status != 200 {
		s.T.Fatalf("%d %s", a.Status, a.Message)
	}
	template := m{"name": "lease", "inputDocuments": b64(sitetest.SamplePDF), "signers": []m{{"place": "tenant"}}}
	if a := s.Do("POST", "/templates", template); a.Status != 200 {
		s.T.Fatalf("%d %s", a.Status, a.Message)
	}
	for _, p := range []string{"/certificates", "/callbacks", "/client-certificates", "/tokens", "/templates"} {
		list(p)
	}
	ids["approvals"] = []string{s.Waiting()}
	ids["signatures"] = append(ids["signatures"], ids["approvals"]...)
	ids["tokens"] = append(ids["tokens"], s.OtherToken())
	ids["token"] = ids["tokens"]
	srv := s.OpenServer()
	owner, err := srv.Parts().Accounts.Authenticate(context.Background(), bearer(s.Box.Token), false)
	if err != nil {
		s.T.Fatal(err)
	}
	sub, err := srv.Parts().Billing.Subscribe(context.Background(), owner.AccountID, "GET:*/IT-omi", 10, 0)
	if err != nil {
		s.T.Fatal(err)
	}
	ids["subscriptions"] = []string{sub.ID}
	return ids
}

func bearer(token string) *http.Request {
	r, _ := http.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// Every operation of the document, with every id of one account, called by
// another: the answer is the one for an id that does not exist, to the letter,
// and nothing of the owner's has changed. Ten thousand ids in the long version.
func TestTenantSweep(t *testing.T) {
	await.All(t)
	t.Parallel()
	records := 5
	if soaking() {
		records = 10_000
	}
	eachEngine(t, func(t *testing.T, s *site) {
		ids := belongings(s, records)
		stranger := "Bearer " + s.Stranger()
		before := portrait(s, ids)
		swept := 0
		for _, op := range s.Operations() {
			if !op.Secured || !takesID(&op) || slices.Contains(openPaths, op.Path) {
				continue
			}
			owned := ids[strings.Split(op.Path, "/")[1]]
			if len(owned) == 0 {
				t.Errorf("%s %s takes an id of a kind that the sweep does not know: give it one in belongings", op.Method, op.Path)
				continue
			}
			for _, path := range op.Spelled() {
				unknown := strings.Repeat("f", 24)
				nobody := sweep(s, op, path, unknown, stranger)
				if nobody.status != http.StatusNotFound && nobody.code != 131 {
					t.Errorf("%s %s: an unknown id is %d/%d", op.Method, path, nobody.status, nobody.code)
				}
				for _, id := range owned {
					swept++
					if got := sweep(s, op, path, id, stranger); got != nobody {
						t.Errorf("%s %s: %+v, for an unknown id %+v", op.Method, path, got, nobody)
					}
				}
			}
		}
		if swept < 80 {
			t.Errorf("only %d calls were swept", swept)
		}
		t.Logf("%d calls", swept)
		if after := portrait(s, ids); after != before {
			t.Errorf("something of the owner's changed:\n%s\n%s", before, after)
		}
		nothingShows(s, ids, stranger)
	})
}

func takesID(op *operation) bool {
	return slices.ContainsFunc(op.Params, func(p string) bool { return sitetest.OpenParams[p] == nil })
}

type sweeping struct {
	status, code int
	body, header string
}

func sweep(s *site, op operation, path, id, token string) sweeping {
	s.T.Helper()
	var body any
	if op.Body != nil {
		body = string(op.Body)
	}
	resp, b := s.Raw(op.Method, strings.Replace(path, "%s", id, 1), body, "Authorization", token)
	var a answer
	_ = json.Unmarshal(b, &a)
	names := []string{}
	for name := range resp.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	return sweeping{resp.Status, a.Code(), strings.ReplaceAll(string(b), id, "ID"), strings.Join(names, " ")}
}

// portrait is what the owner sees of their things.
func portrait(s *site, ids map[string][]string) string {
	s.T.Helper()
	var b bytes.Buffer
	for _, p := range []string{"/signatures?limit=20", "/certificates", "/client-certificates", "/approvals"} {
		fmt.Fprintln(&b, p, string(s.Do("GET", p, nil).Data))
	}
	fmt.Fprintln(&b, len(ids["tokens"]))
	return b.String()
}

// nothingShows: what another account sees without naming an id holds none of
// the owner's ids.
func nothingShows(s *site, ids map[string][]string, token string) {
	s.T.Helper()
	for _, op := range s.Operations() {
		if op.Method != http.MethodGet || !op.Secured || len(op.Params) > 0 {
			continue
		}
		_, b := s.Raw("GET", op.Path, nil, "Authorization", token)
		for kind, list := range ids {
			for _, id := range list {
				if bytes.Contains(b, []byte(id)) {
					s.T.Errorf("%s shows another account's %s", op.Path, kind)
				}
			}
		}
		if bytes.Contains(b, []byte(s.Box.Email)) {
			s.T.Errorf("%s shows another account's address", op.Path)
		}
	}
}

// An id of another account takes as long to refuse as one that does not exist.
func TestTenantTiming(t *testing.T) {
	await.All(t)
	t.Parallel()
	s := newSite(t)
	r := s.Sign(b64(sitetest.SamplePDF))
	stranger := "Bearer " + s.Stranger()
	ask := func(id string) time.Duration {
		begin := time.Now()
		s.Raw("GET", "/signatures/"+id, nil, "Authorization", stranger)
		return time.Since(begin)
	}
	best := 10.0
	for range 5 { // other tests may disturb a round
		var theirs, nobodys []time.Duration
		for range 200 { // in turn: what disturbs one disturbs the other
			theirs, nobodys = append(theirs, ask(r.ID)), append(nobodys, ask(strings.Repeat("f", 24)))
		}
		slices.Sort(theirs)
		slices.Sort(nobodys)
		ratio := float64(theirs[len(theirs)/4]) / float64(nobodys[len(nobodys)/4]) // the undisturbed ones
		if ratio < 1 {
			ratio = 1 / ratio
		}
		if best = min(best, ratio); best < 1.5 {
			return
		}
	}
	t.Errorf("the times differ by a factor of %.2f", best)
}

// Every operation that wants a token refuses a call without a good one: none,
// cut short, altered, of another kind, revoked, or in the address.
func TestTokenSweep(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	revoked := s.OtherToken()
	if a := s.Do("DELETE", "/tokens/"+revoked, nil); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Message)
	}
	good := s.Box.Token
	altered := good[:10] + string(rune(good[10])^1) + good[11:]
	calls := 0
	for _, op := range s.Operations() {
		if !op.Secured {
			continue
		}
		for _, path := range op.Spelled() {
			path = strings.Replace(path, "%s", strings.Repeat("f", 24), 1)
			for name, c := range map[string]struct{ auth, query string }{
				"none": {}, "cut short": {auth: "Bearer " + good[:len(good)-1]}, "altered": {auth: "Bearer " + altered}, "revoked": {auth: "Bearer " + revoked},
				"another scheme": {auth: "Token " + good}, "bare": {auth: good}, "in the address": {query: "?token=" + good}, "as RFC 6750 has it": {query: "?access_token=" + good},
				"empty": {auth: "Bearer "},
			} {
				calls++
				var body any
				if op.Body != nil {
					body = string(op.Body)
				}
				resp, b := s.RawAs(c.auth, op.Method, path+c.query, body)
				var a answer
				_ = json.Unmarshal(b, &a)
				if resp.StatusCode != http.StatusUnauthorized || a.Code() != 125 && a.Code() != 128 {
					t.Errorf("%s %s, %s: %d/%d", op.Method, path, name, resp.StatusCode, a.Code())
				}
			}
		}
	}
	t.Logf("%d calls", calls)
	if strings.Contains(s.Run.Log.String(), good) {
		t.Error("the token in the address is in the log")
	}
}

package account_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

func TestMain(m *testing.M) { sitetest.Main(m) }

var ctx = context.Background()

type fixture struct {
	*account.Service
	db     *store.DB
	master *master.Key
}

func each(t *testing.T, cfg account.Config, test func(t *testing.T, r fixture)) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		test(t, open(t, db, m, cfg))
	})
}

func open(t testing.TB, db *store.DB, m *master.Key, cfg account.Config) fixture {
	s := account.New(db, m, cfg)
	s.Announce([]account.Endpoint{{"GET", "signatures"}, {"POST", "EU-QES_automatic"}, {"GET", "IT-omi"}, {"POST", "tokens"}})
	return fixture{s, db, m}
}

func (r fixture) create(n account.NewAccount) (c *account.Credentials, err error) {
	err = r.db.Write(ctx, func(tx *store.Tx) (err error) {
		c, err = r.Create(ctx, tx, n)
		return err
	})
	return c, err
}

func (r fixture) account(t testing.TB, n account.NewAccount) *account.Credentials {
	t.Helper()
	c, err := r.create(n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func request(authorization string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://api.example/tokens", nil)
	r.RemoteAddr = "192.0.2.7:4711"
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

func basic(email, key string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(email+":"+key))
}

func (r fixture) caller(t testing.TB, authorization string) *account.Caller {
	t.Helper()
	c, err := r.Authenticate(ctx, request(authorization), true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func code(err error) fault.Code {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Code
	}
	if err != nil {
		return -1
	}
	return 0
}

func (r fixture) token(t testing.TB, c *account.Caller, n account.NewToken) *account.Token {
	t.Helper()
	tok, err := r.give(c, n)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// give asks for a token as the API does.
func (r fixture) give(c *account.Caller, n account.NewToken) (tok *account.Token, err error) {
	if err := r.CheckToken(c, "api.example", &n); err != nil {
		return nil, err
	}
	err = r.db.Write(ctx, func(tx *store.Tx) (err error) {
		tok, err = r.CreateToken(ctx, tx, c, n)
		return err
	})
	return tok, err
}

func TestAuthenticate(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "Anna@Example.org", Admin: true})
		for name, tc := range map[string]struct {
			header string
			basic  bool
			want   fault.Code
		}{
			"token":            {"Bearer " + a.Token, false, 0},
			"lower case":       {"bearer " + a.Token, false, 0},
			"basic":            {basic("anna@example.org", a.APIKey), true, 0},
			"other case":       {basic("ANNA@example.org", a.APIKey), true, 0},
			"basic elsewhere":  {basic("anna@example.org", a.APIKey), false, 125},
			"nothing":          {"", true, 125},
			"empty":            {"Bearer ", true, 125},
			"cut":              {"Bearer " + a.Token[:len(a.Token)-1], true, 125},
			"wrong":            {"Bearer rgt_" + strings.Repeat("0", 49), true, 125},
			"key as token":     {"Bearer " + a.APIKey, true, 125},
			"wrong key":        {basic("anna@example.org", "nothing"), true, 128},
			"wrong mail":       {basic("otto@example.org", a.APIKey), true, 128},
			"token as key":     {basic("anna@example.org", a.Token), true, 128},
			"not base64":       {"Basic !!", true, 128},
			"a scheme unknown": {"Digest x", true, 125},
		} {
			c, err := r.Authenticate(ctx, request(tc.header), tc.basic)
			if code(err) != tc.want {
				t.Errorf("%s: %v, want %d", name, err, tc.want)
			}
			if err == nil && (c.AccountID != a.Account.ID || !c.Admin || c.Address.String() != "192.0.2.7") {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if _, err := r.create(account.NewAccount{Email: "ANNA@example.org"}); code(err) != 310 {
			t.Errorf("a second account of one address: %v", err)
		}
		if _, err := r.create(account.NewAccount{Email: "nobody"}); code(err) != 310 {
			t.Errorf("no address: %v", err)
		}
	})
}

// Nothing in the tables is worth stealing.
func TestSecretsAreNotStored(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		var key, hash []byte
		if err := r.db.Read().QueryRow(ctx, `select key_hash from accounts`).Scan(&key); err != nil {
			t.Fatal(err)
		}
		if err := r.db.Read().QueryRow(ctx, `select hash from tokens`).Scan(&hash); err != nil {
			t.Fatal(err)
		}
		if len(key) != 32 || len(hash) != 32 || strings.Contains(string(key), a.APIKey[4:20]) || strings.Contains(string(hash), a.Token[4:20]) {
			t.Error("a secret is stored in clear")
		}
	})
}

func TestScopes(t *testing.T) {
	each(t, account.Config{Domains: []string{"sign.example"}, PublicURL: "https://api.example:8443"}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		c := r.caller(t, basic("a@example.org", a.APIKey))
		for scope, want := range map[string]fault.Code{
			"GET:sign.example/signatures":      0,
			"get:api.example/signatures":       0,
			"GET:api.example:8443/signatures":  0,
			"*:*/*":                            0,
			"POST:*/EU-QES_automatic":          0,
			"GET:other.example/signatures":     90,
			"GET:sign.example/nothing":         90,
			"GET/signatures":                   80,
			"GET:sign.example":                 80,
			"BREW:sign.example/signatures":     80,
			"GET:sign.example/signatures/{id}": 80,
			"":                                 80,
		} {
			n := account.NewToken{Scopes: []string{scope}}
			if err := r.CheckToken(c, "api.example", &n); code(err) != want {
				t.Errorf("%q: %v, want %d", scope, err, want)
			}
		}
		if err := r.CheckToken(c, "api.example", &account.NewToken{}); code(err) != 70 {
			t.Errorf("no scopes: %v", err)
		}
		tok := r.token(t, c, account.NewToken{Scopes: []string{"GET:sign.example/signatures", "POST:*/tokens"}})
		child := r.caller(t, "Bearer "+tok.Secret)
		for _, tc := range []struct {
			method, segment string
			want            bool
		}{{"GET", "signatures", true}, {"POST", "signatures", false}, {"GET", "IT-omi", false}, {"POST", "tokens", true}} {
			if got := r.Allows(child, tc.method, "anything", tc.segment); got != tc.want {
				t.Errorf("%s %s: %v", tc.method, tc.segment, got)
			}
		}
		// A token gives away no more than it has.
		if err := r.CheckToken(child, "api.example", &account.NewToken{Scopes: []string{"*:*/*"}}); code(err) != 126 {
			t.Errorf("a token widened itself: %v", err)
		}
		if _, err := r.ChangeToken(ctx, child, "api.example", tok.ID, account.TokenChange{Scopes: []string{"GET:*/IT-omi"}}); code(err) != 126 {
			t.Errorf("a token widened itself by a change: %v", err)
		}
	})
}

func TestSandboxTakesAnyDomain(t *testing.T) {
	each(t, account.Config{AnyDomain: true}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org", Sandbox: true})
		c := r.caller(t, "Bearer "+a.Token)
		r.token(t, c, account.NewToken{Scopes: []string{"POST:test.esignature.openapi.com/EU-QES_automatic"}})
	})
}

// Nothing of one account can be seen or changed by another, and an id that is
// another's answers as one that does not exist.
func TestTenantWalls(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		b := r.account(t, account.NewAccount{Email: "b@example.org"})
		ca, cb := r.caller(t, "Bearer "+a.Token), r.caller(t, "Bearer "+b.Token)
		tok := r.token(t, ca, account.NewToken{Scopes: []string{account.AllScopes}})
		unknown := store.NewID()
		for _, name := range []string{tok.ID, tok.Secret, unknown} {
			_, find := r.FindToken(ctx, cb.AccountID, name)
			_, change := r.ChangeToken(ctx, cb, "h", name, account.TokenChange{Name: new(string)})
			for what, err := range map[string]error{"find": find, "change": change, "delete": r.DeleteToken(ctx, cb, name)} {
				if code(err) != 140 || err.Error() != "there is no such token" {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
		if list, err := r.Tokens(ctx, cb.AccountID, account.TokenFilter{Limit: 100}); err != nil || len(list) != 1 {
			t.Errorf("%d tokens, %v", len(list), err)
		}
		if _, err := r.FindToken(ctx, ca.AccountID, tok.Secret); err != nil {
			t.Errorf("its own: %v", err)
		}
	})
}

// A revoked token is refused on the node at once, on another within 5 seconds.
func TestRevocation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		one, two := open(t, db, m, account.Config{}), open(t, db, m, account.Config{})
		a := one.account(t, account.NewAccount{Email: "a@example.org"})
		c := one.caller(t, basic("a@example.org", a.APIKey))
		tok := one.token(t, c, account.NewToken{Scopes: []string{account.AllScopes}})
		auth := "Bearer " + tok.Secret
		one.caller(t, auth)
		two.caller(t, auth)
		if err := one.DeleteToken(ctx, c, tok.Secret); err != nil {
			t.Fatal(err)
		}
		if _, err := one.Authenticate(ctx, request(auth), false); code(err) != 125 {
			t.Errorf("here: %v", err)
		}
		await.Until(t, "the other node refuses it too", func() bool {
			_, err := two.Authenticate(ctx, request(auth), false)
			return code(err) == 125
		})
	})
}

func TestTokenLimits(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		c := r.caller(t, basic("a@example.org", a.APIKey))
		ten := int64(10)
		tok := r.token(t, c, account.NewToken{Scopes: []string{account.AllScopes}, Limits: account.Limits{TotalRequests: &ten}})
		var mu sync.Mutex
		got := map[fault.Code]int{}
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				_, err := r.Authenticate(ctx, request("Bearer "+tok.Secret), false)
				mu.Lock()
				got[code(err)]++
				mu.Unlock()
			})
		}
		all.Wait()
		if got[0] != 10 || got[130] != 30 {
			t.Errorf("%v, want 10 admitted and 30 refused with 130", got)
		}
		for list, want := range map[string]fault.Code{"192.0.2.7": 0, "192.0.2.0/24": 0, "198.51.100.1 192.0.2.7": 0, "198.51.100.1": 127, "2001:db8::/32": 127} {
			bound := r.token(t, c, account.NewToken{Scopes: []string{account.AllScopes}, Limits: account.Limits{Addresses: strings.Fields(list)}})
			got, err := r.Authenticate(ctx, request("Bearer "+bound.Secret), false)
			if code(err) != want {
				t.Errorf("%s: %v, want %d", list, err, want)
			}
			if err == nil && !got.Bound {
				t.Errorf("%s: not bound", list)
			}
		}
		bad := account.NewToken{Scopes: []string{account.AllScopes}, Limits: account.Limits{Addresses: []string{"home"}}}
		if err := r.CheckToken(c, "h", &bad); code(err) != 80 {
			t.Errorf("a bad address: %v", err)
		}
		limited := r.caller(t, "Bearer "+r.token(t, c, account.NewToken{Scopes: []string{account.AllScopes}, Limits: account.Limits{TotalRequests: &[]int64{100}[0]}}).Secret)
		if _, err := r.give(limited, account.NewToken{Scopes: []string{account.AllScopes}}); code(err) != 126 {
			t.Errorf("a limited token made an unlimited one: %v", err)
		}
	})
}

func TestRateLimit(t *testing.T) {
	each(t, account.Config{Rate: 1, Burst: 5}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		s := r.account(t, account.NewAccount{Email: "s@example.org", Sandbox: true})
		var last error
		for range 8 {
			_, last = r.Authenticate(ctx, request("Bearer "+a.Token), false)
			r.caller(t, "Bearer "+s.Token)
		}
		var f *fault.Error
		if !errors.As(last, &f) || f.Code != fault.LimitReached || f.RetryAfter <= 0 {
			t.Errorf("got %v", last)
		}
	})
}

func TestRefreshRotation(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		c := r.caller(t, basic("a@example.org", a.APIKey))
		tok := r.token(t, c, account.NewToken{Name: "n", Scopes: []string{"GET:*/IT-omi"}})
		counted := billing.New(r.db, r.Service, billing.DefaultPrices(), slog.New(slog.DiscardHandler))
		defer counted.Close()
		counted.Record(billing.Request{Caller: r.caller(t, "Bearer "+tok.Secret), Method: "GET", Segment: "IT-omi", Status: 200})
		if err := counted.WriteUsage(ctx); err != nil {
			t.Fatal(err)
		}
		refresh := r.caller(t, "Bearer "+tok.Refresh)
		if !refresh.Refresh || r.Allows(refresh, "GET", "", "IT-omi") || !r.Allows(refresh, "PATCH", "", "tokens") {
			t.Errorf("a refresh token is good for its rotation only: %+v", refresh)
		}
		other := r.token(t, c, account.NewToken{Scopes: []string{"GET:*/IT-omi"}})
		if _, err := r.RotateToken(ctx, refresh, other.ID); code(err) != 125 {
			t.Errorf("rotated another token: %v", err)
		}
		made, err := r.RotateToken(ctx, refresh, tok.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Authenticate(ctx, request("Bearer "+tok.Secret), true); code(err) != 125 {
			t.Errorf("the old token: %v", err)
		}
		now := r.caller(t, "Bearer "+made.Secret)
		if !slices.Equal(now.Scopes, []string{"GET:*/IT-omi"}) || made.Name != "n" {
			t.Errorf("%+v", now)
		}
		renewed, err := r.FindToken(ctx, c.AccountID, made.ID)
		for _, s := range []account.Stats{made.Stats, renewed.Stats} {
			if err != nil || s.TotalRequests != 1 || fmt.Sprint(s.Addresses) != "[192.0.2.7]" {
				t.Errorf("the renewed token was used once, from one address: %+v, %v", s, err)
			}
		}
	})
}

func TestExpiry(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		c := r.caller(t, basic("a@example.org", a.APIKey))
		tok := r.token(t, c, account.NewToken{Scopes: []string{account.AllScopes}, Life: 300 * time.Millisecond})
		r.caller(t, "Bearer "+tok.Secret)
		await.Until(t, "the token is refused", func() bool {
			_, err := r.Authenticate(ctx, request("Bearer "+tok.Secret), false)
			return code(err) == 125
		})
		for life, want := range map[time.Duration]time.Duration{0: 365 * 24 * time.Hour, -5: 365 * 24 * time.Hour, 1 << 62: 365 * 24 * time.Hour, time.Hour: time.Hour} {
			tok := r.token(t, c, account.NewToken{Scopes: []string{account.AllScopes}, Life: life})
			if got := tok.ExpireAt.Sub(tok.CreatedAt); got != want {
				t.Errorf("life %v became %v", life, got)
			}
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	db, m := storetest.Open(b, store.Config{Data: b.TempDir()})
	r := open(b, db, m, account.Config{})
	a := r.account(b, account.NewAccount{Email: "a@example.org"})
	q := request("Bearer " + a.Token)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Authenticate(ctx, q, false); err != nil {
			b.Fatal(err)
		}
	}
}

package account_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// why says why a session is over; empty: it is not.
func (r fixture) why(t testing.TB, secret string) string {
	t.Helper()
	_, err := r.Session(ctx, request(""), secret)
	var ended *account.SessionEnded
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if err == nil {
		return ""
	}
	return ended.Why
}

func (r fixture) login(t testing.TB, token string) string {
	t.Helper()
	secret, err := r.LogIn(ctx, request(""), token)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func (r fixture) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	err := r.db.Write(ctx, func(tx *store.Tx) error { _, err := tx.Exec(ctx, query, args...); return err })
	if err != nil {
		t.Fatal(err)
	}
}

// A session may do what its token may, and lives no longer than it, than it is
// used, and than half a day.
func TestSessionIsItsToken(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		full := r.caller(t, "Bearer "+a.Token)
		var narrow *account.Token
		err := r.db.Write(ctx, func(tx *store.Tx) (err error) {
			narrow, err = r.CreateToken(ctx, tx, full, account.NewToken{Scopes: []string{"GET:*/signatures"}, Life: time.Hour})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		secret := r.login(t, narrow.Secret)
		s, err := r.Session(ctx, request(""), secret)
		if err != nil {
			t.Fatal(err)
		}
		if s.Caller.TokenID != narrow.ID || s.Caller.AccountID != a.Account.ID || s.Email != "a@example.org" {
			t.Errorf("session is %+v", s.Caller)
		}
		if !r.Allows(s.Caller, http.MethodGet, "", "signatures") || r.Allows(s.Caller, http.MethodPost, "", "EU-QES_automatic") {
			t.Error("a session has other scopes than its token")
		}
		if err := r.DeleteToken(ctx, full, narrow.ID); err != nil {
			t.Fatal(err)
		}
		if got := r.why(t, secret); got != account.SessionToken {
			t.Errorf("after its token was revoked the session is over because of %q", got)
		}

		start := time.Now()
		clock := start
		r.SetClock(func() time.Time { return clock })
		secret = r.login(t, a.Token)
		for clock.Before(start.Add(11 * time.Hour)) {
			if got := r.why(t, secret); got != "" {
				t.Fatalf("after %v the session is over because of %q", clock.Sub(start), got)
			}
			clock = clock.Add(29 * time.Minute)
		}
		clock = start.Add(12 * time.Hour)
		if got := r.why(t, secret); got != account.SessionOld {
			t.Errorf("after twelve hours: %q", got)
		}
		clock = start
		secret = r.login(t, a.Token)
		clock = start.Add(30 * time.Minute)
		if got := r.why(t, secret); got != account.SessionIdle {
			t.Errorf("after half an hour of nothing: %q", got)
		}
		clock = start
		secret = r.login(t, a.Token)
		if err := r.LogOut(ctx, secret); err != nil {
			t.Fatal(err)
		}
		if got := r.why(t, secret); got != account.SessionLeft {
			t.Errorf("after logging out: %q", got)
		}
		if r.caller(t, "Bearer "+a.Token) == nil {
			t.Error("logging out ended a token that was not made for the session")
		}
		clock = start.Add(48 * time.Hour)
		if err := r.SweepSessions(ctx); err != nil {
			t.Fatal(err)
		}
		if got := r.why(t, secret); got != account.SessionUnknown {
			t.Errorf("after it was swept: %q", got)
		}
	})
}

// Who can write to the database, and no more, gets no session of another token,
// no longer one, and no link to another account.
func TestSessionRowsAreGenuine(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a, b := r.account(t, account.NewAccount{Email: "a@example.org"}), r.account(t, account.NewAccount{Email: "b@example.org"})
		victim := r.caller(t, "Bearer "+b.Token)
		for name, change := range map[string]string{
			"another token":   `update console_sessions set token_id = '` + victim.TokenID + `', account_id = '` + victim.AccountID + `'`,
			"another account": `update console_sessions set account_id = '` + victim.AccountID + `'`,
			"a longer life":   `update console_sessions set created_at = created_at + 1000`,
		} {
			secret := r.login(t, a.Token)
			r.exec(t, change)
			if got := r.why(t, secret); got != account.SessionUnknown {
				t.Errorf("%s: %q", name, got)
			}
		}
		link, _, err := r.LoginLink(ctx, a.Account.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.exec(t, `update console_links set account_id = $1`, b.Account.ID)
		if _, err := r.LogInByLink(ctx, link, ""); code(err) != fault.WrongToken {
			t.Errorf("a link of another account: %v", err)
		}
	})
}

// A link logs in once, within its time; its session has a token of its own,
// which ends when it is left.
func TestLoginLink(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		clock := time.Now()
		r.SetClock(func() time.Time { return clock })
		link, until, err := r.LoginLink(ctx, a.Account.ID)
		if err != nil || until.Sub(clock) != 10*time.Minute {
			t.Fatal(until, err)
		}
		if email, err := r.LinkGood(ctx, link); email != "a@example.org" || err != nil {
			t.Errorf("before: %q %v", email, err)
		}
		var wg sync.WaitGroup
		secrets := make([]string, 8)
		for i := range secrets {
			wg.Go(func() { secrets[i], _ = r.LogInByLink(ctx, link, "") })
		}
		wg.Wait()
		secret, n := "", 0
		for _, s := range secrets {
			if s != "" {
				secret, n = s, n+1
			}
		}
		if n != 1 {
			t.Fatalf("a link logged in %d times", n)
		}
		s, err := r.Session(ctx, request(""), secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.LogOut(ctx, secret); err != nil {
			t.Fatal(err)
		}
		if _, err := r.FindToken(ctx, a.Account.ID, s.Caller.TokenID); code(err) != fault.NotFound {
			t.Errorf("the token of a session that was left: %v", err)
		}
		late, _, err := r.LoginLink(ctx, a.Account.ID)
		if err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(10 * time.Minute)
		if _, err := r.LogInByLink(ctx, late, ""); code(err) != fault.WrongToken {
			t.Errorf("a late link: %v", err)
		}
		if email, _ := r.LinkGood(ctx, late); email != "" {
			t.Errorf("a late link is good for %s", email)
		}
	})
}

// Calls and pages of one token share its rate, and a session is bound to the
// token's addresses.
func TestSessionIsBounded(t *testing.T) {
	each(t, account.Config{Rate: 0.0001, Burst: 3}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		secret := r.login(t, a.Token)
		r.caller(t, "Bearer "+a.Token)
		if _, err := r.Session(ctx, request(""), secret); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Session(ctx, request(""), secret); code(err) != fault.LimitReached {
			t.Errorf("the fourth request: %v", err)
		}
		var bound *account.Token
		err := r.db.Write(ctx, func(tx *store.Tx) (err error) {
			bound, err = r.CreateToken(ctx, tx, &account.Caller{AccountID: a.Account.ID}, account.NewToken{Scopes: []string{account.AllScopes}, Limits: account.Limits{Addresses: []string{"192.0.2.7"}}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		secret = r.login(t, bound.Secret)
		elsewhere := request("")
		elsewhere.RemoteAddr = "198.51.100.1:1"
		if _, err := r.Session(ctx, elsewhere, secret); code(err) != fault.AddressNotAllowed {
			t.Errorf("from elsewhere: %v", err)
		}
	})
}

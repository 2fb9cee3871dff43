package account_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

const year = 365 * 24 * time.Hour

func all() account.NewToken { return account.NewToken{Scopes: []string{account.AllScopes}} }

func some(scopes ...string) account.NewToken { return account.NewToken{Scopes: scopes} }

func lasting(n account.NewToken, d time.Duration) account.NewToken {
	n.Life = d
	return n
}

func life(d time.Duration) account.TokenChange { return account.TokenChange{Life: &d} }

// as is the caller with a token's secret.
func (r fixture) as(t testing.TB, tok *account.Token) *account.Caller {
	t.Helper()
	return r.caller(t, "Bearer "+tok.Secret)
}

// works says how a token is answered.
func (r fixture) works(secret string) fault.Code {
	_, err := r.Authenticate(ctx, request("Bearer "+secret), true)
	return code(err)
}

// end is when a token ends, as stored.
func (r fixture) end(t testing.TB, tok *account.Token) time.Time {
	t.Helper()
	got, err := r.FindToken(ctx, tok.AccountID, tok.ID)
	if err != nil {
		t.Fatal(err)
	}
	return got.ExpireAt
}

// No way to ask leads to a child that outlives its parent, or to a token that
// prolongs itself.
func TestNoTokenOutlivesItsParent(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		short := r.token(t, key, lasting(all(), time.Minute))
		limit := short.ExpireAt
		by := r.as(t, short)
		child := r.token(t, by, all())
		for name, tok := range map[string]*account.Token{
			"a child by default":         child,
			"a child of a year":          r.token(t, by, lasting(all(), year)),
			"a child for ever":           r.token(t, by, lasting(all(), -1)),
			"a grandchild":               r.token(t, r.as(t, child), all()),
			"a child of narrower scopes": r.token(t, by, lasting(some("GET:*/IT-omi"), year)),
		} {
			if tok.ExpireAt.After(limit) || r.end(t, tok).After(limit) {
				t.Errorf("%s lives until %v, its parent until %v", name, tok.ExpireAt, limit)
			}
		}
		for _, c := range []struct {
			name   string
			change func() (account.Token, error)
		}{
			{"itself", func() (account.Token, error) { return r.ChangeToken(ctx, by, "h", short.ID, life(year)) }},
			{"itself, by secret", func() (account.Token, error) { return r.ChangeToken(ctx, by, "h", short.Secret, life(0)) }},
			{"its child", func() (account.Token, error) { return r.ChangeToken(ctx, by, "h", child.ID, life(year)) }},
			{"a child, by itself", func() (account.Token, error) {
				return r.ChangeToken(ctx, r.as(t, child), "h", child.ID, life(year))
			}},
			{"a child, by the API key", func() (account.Token, error) {
				return r.ChangeToken(ctx, key, "h", child.ID, life(year))
			}},
			{"a child, by its refresh token", func() (account.Token, error) { // the last: it replaces the child
				tok, err := r.RotateToken(ctx, r.caller(t, "Bearer "+child.Refresh), child.ID)
				if err != nil {
					return account.Token{}, err
				}
				return *tok, nil
			}},
		} {
			name := c.name
			tok, err := c.change()
			if err != nil || tok.ExpireAt.After(limit.Add(time.Millisecond)) {
				t.Errorf("%s: until %v, not after %v (%v)", name, tok.ExpireAt, limit, err)
			}
		}
		sibling := r.token(t, key, lasting(some("GET:*/IT-omi"), time.Second*30))
		if tok, err := r.ChangeToken(ctx, by, "h", sibling.ID, life(year)); err != nil || tok.ExpireAt.After(limit) {
			t.Errorf("a sibling was prolonged to %v: %v", tok.ExpireAt, err)
		}
		// The API key is the account's own authority.
		if tok, err := r.ChangeToken(ctx, key, "h", short.ID, life(year)); err != nil || time.Until(tok.ExpireAt) < year-time.Hour {
			t.Errorf("the API key: until %v, %v", tok.ExpireAt, err)
		}
	})
}

// An expired token stays expired, whatever asks for it.
func TestExpiredTokensStayDead(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		dead := r.token(t, key, all())
		child := r.token(t, r.as(t, dead), all())
		by := r.as(t, dead)
		storetest.Exec(t, r.db, `update tokens set expire_at = $1 where id = $2`, time.Now().Add(-time.Second).UnixMilli(), dead.ID)
		other := open(t, r.db, r.master, account.Config{}) // has not seen them yet
		if _, err := r.give(by, all()); code(err) != 125 {
			t.Errorf("it makes another: %v", err)
		}
		if _, err := r.ChangeToken(ctx, key, "h", dead.ID, life(year)); code(err) != 140 {
			t.Errorf("it is revived: %v", err)
		}
		if got := other.works(child.Secret); got != 125 {
			t.Errorf("its child, whose own time is not over: %d", got)
		}
		if got := other.works(dead.Refresh); got != 125 {
			t.Errorf("its refresh token is taken: %d", got)
		}
		refresh := &account.Caller{AccountID: a.Account.ID, TokenID: dead.ID, Refresh: true} // as known from before
		if _, err := r.RotateToken(ctx, refresh, dead.ID); code(err) != 125 {
			t.Errorf("it is refreshed: %v", err)
		}
	})
}

// What a parent loses, its children lose at once.
func TestChildrenLoseWhatTheirParentsLose(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		line := func() (parent, child, grandchild *account.Token) {
			parent = r.token(t, key, all())
			child = r.token(t, r.as(t, parent), all())
			return parent, child, r.token(t, r.as(t, child), some("*:*/IT-omi", "GET:*/signatures"))
		}
		change := func(tok *account.Token, ch account.TokenChange) {
			t.Helper()
			if _, err := r.ChangeToken(ctx, key, "api.example", tok.ID, ch); err != nil {
				t.Fatal(err)
			}
		}
		parent, child, grandchild := line()
		r.as(t, grandchild)
		change(parent, account.TokenChange{Scopes: []string{"GET:*/IT-omi"}})
		for _, tok := range []*account.Token{child, grandchild} {
			c := r.as(t, tok)
			if r.Allows(c, "GET", "", "signatures") || r.Allows(c, "POST", "", "IT-omi") || !r.Allows(c, "GET", "", "IT-omi") {
				t.Errorf("of a narrowed parent: %v", c.Scopes)
			}
		}
		if _, err := r.give(r.as(t, child), some("GET:*/signatures")); code(err) != 126 {
			t.Errorf("a child gives what its parent lost: %v", err)
		}
		if _, err := r.ChangeToken(ctx, key, "api.example", child.ID, account.TokenChange{Scopes: []string{account.AllScopes}}); code(err) != 126 {
			t.Errorf("a child was given more than its parent has: %v", err)
		}

		parent, _, grandchild = line()
		change(parent, account.TokenChange{Limits: &account.Limits{Addresses: []string{"192.0.2.7"}}})
		far := request("Bearer " + grandchild.Secret)
		far.RemoteAddr = "198.51.100.1:1"
		if _, err := r.Authenticate(ctx, far, false); code(err) != 127 {
			t.Errorf("from elsewhere: %v", err)
		}
		if c := r.as(t, grandchild); !c.Bound {
			t.Error("not bound")
		}

		parent, child, grandchild = line()
		three := int64(3)
		change(parent, account.TokenChange{Limits: &account.Limits{TotalRequests: &three}})
		got := map[fault.Code]int{}
		for range 3 {
			got[r.works(child.Secret)]++
			got[r.works(grandchild.Secret)]++
		}
		if got[0] != 3 || got[130] != 3 {
			t.Errorf("%v, want 3 requests of the whole family", got)
		}
	})
}

// Deleting a token deletes all that come from it, on every node.
func TestFamiliesEndTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		one, two := open(t, db, m, account.Config{}), open(t, db, m, account.Config{})
		a := one.account(t, account.NewAccount{Email: "a@example.org"})
		key := one.caller(t, basic("a@example.org", a.APIKey))
		parent := one.token(t, key, all())
		child := one.token(t, one.as(t, parent), all())
		grandchild := one.token(t, one.as(t, child), some("GET:*/IT-omi"))
		// A parent that is refreshed keeps its children, and they end with the new one.
		renewed, err := one.RotateToken(ctx, one.caller(t, "Bearer "+parent.Refresh), parent.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := one.works(grandchild.Secret); got != 0 {
			t.Fatalf("after its grandparent was refreshed: %d", got)
		}
		two.as(t, child)
		if err := one.DeleteToken(ctx, key, renewed.ID); err != nil {
			t.Fatal(err)
		}
		for name, secret := range map[string]string{
			"parent": renewed.Secret, "child": child.Secret, "grandchild": grandchild.Secret, "child's refresh token": child.Refresh, "grandchild's refresh token": grandchild.Refresh,
		} {
			if got := one.works(secret); got != 125 {
				t.Errorf("%s: %d", name, got)
			}
		}
		if list, err := one.Tokens(ctx, a.Account.ID, account.TokenFilter{Limit: 100}); err != nil || len(list) != 1 {
			t.Errorf("%d tokens are left, want the first: %v", len(list), err)
		}
		start := time.Now()
		await.Until(t, "the other node refuses the child", func() bool { return two.works(child.Secret) == 125 })
		if time.Since(start) > time.Minute {
			t.Fatal("the other node still lets the child in after a minute")
		}
		err = db.Write(ctx, func(tx *store.Tx) error {
			for _, tok := range []*account.Token{parent, child, grandchild} {
				gone := errors.New("gone")
				if err := errors.Join(one.HasToken(ctx, tx, a.Account.ID, tok.ID, gone), tx.Answered(ctx)); !errors.Is(err, gone) {
					t.Errorf("work that %s asked for goes on: %v", tok.ID, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A token that is being deleted makes no child that stays.
func TestNoOrphans(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		for range 20 {
			parent := r.token(t, key, all())
			by := r.as(t, parent)
			var children [4]*account.Token
			var wg sync.WaitGroup
			for i := range children {
				wg.Go(func() {
					var err error
					if children[i], err = r.give(by, all()); err != nil && code(err) != 125 {
						t.Error(err)
					}
				})
			}
			wg.Go(func() {
				if err := r.DeleteToken(ctx, key, parent.ID); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			for _, c := range children {
				if c != nil && r.works(c.Secret) != 125 {
					t.Fatal("a child of a deleted token is let in")
				}
			}
		}
	})
}

// A refresh token works once. Showing it again, from anywhere, revokes its line and every token
// that came from it.
func TestReuseEndsTheLine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		r, other := open(t, db, m, account.Config{}), open(t, db, m, account.Config{})
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		refresh := func(of fixture, tok *account.Token) *account.Token {
			t.Helper()
			n, err := of.RotateToken(ctx, of.caller(t, "Bearer "+tok.Refresh), tok.ID)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for name, reuse := range map[string]func(t *testing.T, spent *account.Token){
			"at once": func(t *testing.T, spent *account.Token) { r.works(spent.Refresh) },
			"on another node, known there": func(t *testing.T, spent *account.Token) {
				_, err := other.RotateToken(ctx, &account.Caller{AccountID: a.Account.ID, TokenID: spent.ID, Refresh: true}, spent.ID)
				if code(err) != 125 {
					t.Error(err)
				}
			},
			"on another node": func(t *testing.T, spent *account.Token) { other.works(spent.Refresh) },
			"where none is taken": func(t *testing.T, spent *account.Token) {
				if _, err := r.Authenticate(ctx, httptestGet("/signatures", spent.Refresh), false); code(err) != 125 {
					t.Error(err)
				}
			},
			"for another call": func(t *testing.T, spent *account.Token) {
				r.Authenticate(ctx, httptestGet("/wallet", spent.Refresh), true)
			},
			"by the old secrets": func(t *testing.T, spent *account.Token) { r.works(spent.Secret); r.works(spent.Refresh) },
		} {
			t.Run(name, func(t *testing.T) {
				first := r.token(t, key, all())
				second := refresh(r, first)
				third := refresh(r, second) // the one before the last is spent just as well
				child := r.token(t, r.as(t, third), all())
				reuse(t, first)
				judge := open(t, db, m, account.Config{}) // a node that remembers nothing
				for what, secret := range map[string]string{"token": third.Secret, "its refresh token": third.Refresh, "its child": child.Secret} {
					if got := judge.works(secret); got != 125 {
						t.Errorf("the line's %s: %d", what, got)
					}
				}
			})
		}
		t.Run("all at once", func(t *testing.T) {
			tok := r.token(t, key, all())
			by := r.caller(t, "Bearer "+tok.Refresh)
			var mu sync.Mutex
			var made []*account.Token
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					n, err := r.RotateToken(ctx, by, tok.ID)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						made = append(made, n)
					} else if code(err) != 125 {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if len(made) != 1 || r.works(made[0].Secret) != 125 {
				t.Errorf("%d rotations of one refresh token, and the line goes on", len(made))
			}
		})
		t.Run("another's", func(t *testing.T) {
			mine, yours := r.token(t, key, all()), r.token(t, key, all())
			if _, err := r.RotateToken(ctx, r.caller(t, "Bearer "+mine.Refresh), yours.ID); code(err) != 125 {
				t.Error(err)
			}
			if r.works(mine.Secret) != 0 || r.works(yours.Secret) != 0 {
				t.Error("a mistaken name ended a line")
			}
		})
	})
}

func httptestGet(path, secret string) *http.Request {
	q := httptest.NewRequest("GET", "http://api.example"+path, nil)
	q.RemoteAddr = "192.0.2.7:4711"
	q.Header.Set("Authorization", "Bearer "+secret)
	return q
}

// A line lives by its refresh tokens for as long at a time as it was given, and
// a year in all.
func TestLineLife(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		tok := r.token(t, key, lasting(all(), time.Minute))
		for range 3 {
			next, err := r.RotateToken(ctx, r.caller(t, "Bearer "+tok.Refresh), tok.Secret)
			if err != nil {
				t.Fatal(err)
			}
			if got := next.ExpireAt.Sub(next.CreatedAt); got > time.Minute {
				t.Fatalf("a token of a minute became one of %v", got)
			}
			tok = next
		}
		if err := r.Rewrite(ctx, tok.ID, time.Now().Add(10*time.Second).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		next, err := r.RotateToken(ctx, r.caller(t, "Bearer "+tok.Refresh), tok.ID)
		if err != nil || time.Until(next.ExpireAt) > 10*time.Second {
			t.Fatalf("beyond the end of its line: %v, %v", next, err)
		}
		if err := r.Rewrite(ctx, next.ID, time.Now().Add(-time.Second).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.RotateToken(ctx, r.caller(t, "Bearer "+next.Refresh), next.ID); code(err) != 125 {
			t.Errorf("after the end of its line: %v", err)
		}
		// Shortened by itself, it stays short.
		long := r.token(t, key, all())
		if _, err := r.ChangeToken(ctx, r.as(t, long), "h", long.ID, life(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if next, err := r.RotateToken(ctx, r.caller(t, "Bearer "+long.Refresh), long.ID); err != nil || time.Until(next.ExpireAt) > time.Minute {
			t.Errorf("%+v %v", next, err)
		}
		deep := r.token(t, key, all())
		for i := 1; ; i++ {
			next, err := r.give(r.as(t, deep), all())
			if code(err) == 126 && i == 8 {
				break
			}
			if err != nil || i > 8 {
				t.Fatalf("generation %d: %v", i, err)
			}
			deep = next
		}
	})
}

// Who may change or delete what: the API key anything, a token itself, what it
// made, and what may do no more than itself.
func TestWhoMayManageTokens(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		r.Announce([]account.Endpoint{{"GET", "signatures"}, {"GET", "IT-omi"}, {"POST", "tokens"}})
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		narrowOnes := []string{"*:*/tokens", "GET:*/IT-omi"}
		ten := int64(10)
		type scene struct {
			by     *account.Caller
			target *account.Token
		}
		made := func(by *account.Caller, n account.NewToken) *account.Token { return r.token(t, by, n) }
		for name, tc := range map[string]struct {
			set  func() scene
			want fault.Code
		}{
			"the API key":               {func() scene { return scene{key, made(key, all())} }, 0},
			"narrow, an equal one":      {func() scene { return scene{r.as(t, made(key, some(narrowOnes...))), made(key, some(narrowOnes...))} }, 0},
			"narrow, one of less":       {func() scene { return scene{r.as(t, made(key, some(narrowOnes...))), made(key, some("GET:*/IT-omi"))} }, 0},
			"narrow, one of all scopes": {func() scene { return scene{r.as(t, made(key, some(narrowOnes...))), made(key, all())} }, 126},
			"narrow, one beside it": {func() scene {
				return scene{r.as(t, made(key, some(narrowOnes...))), made(key, some("GET:*/signatures"))}
			}, 126},
			"narrow, one that has a scope more": {func() scene {
				return scene{r.as(t, made(key, some(narrowOnes...))), made(key, some("GET:*/IT-omi", "GET:*/signatures"))}
			}, 126},
			"a child, its parent": {func() scene {
				parent := made(key, all())
				return scene{r.as(t, made(r.as(t, parent), all())), parent}
			}, 126},
			"a grandchild, its grandparent": {func() scene {
				old := made(key, all())
				return scene{r.as(t, made(r.as(t, made(r.as(t, old), all())), all())), old}
			}, 126},
			"a parent, its child": {func() scene {
				by := r.as(t, made(key, all()))
				return scene{by, made(by, all())}
			}, 0},
			"itself": {func() scene {
				tok := made(key, some(narrowOnes...))
				return scene{r.as(t, tok), tok}
			}, 0},
			"one with limits": {func() scene {
				n := all()
				n.Limits.TotalRequests = &ten
				return scene{r.as(t, made(key, n)), made(key, some("GET:*/IT-omi"))}
			}, 126},
			"one bound to addresses": {func() scene {
				n := all()
				n.Limits.Addresses = []string{"192.0.2.0/24"}
				return scene{r.as(t, made(key, n)), made(key, some("GET:*/IT-omi"))}
			}, 126},
			"one with limits, itself": {func() scene {
				n := all()
				n.Limits.TotalRequests = &ten
				tok := made(key, n)
				return scene{r.as(t, tok), tok}
			}, 126},
			"one bound to addresses, itself": {func() scene {
				n := all()
				n.Limits.Addresses = []string{"192.0.2.0/24"}
				tok := made(key, n)
				return scene{r.as(t, tok), tok}
			}, 126},
			"a deleted one": {func() scene {
				tok := made(key, all())
				by := r.as(t, tok)
				if err := r.DeleteToken(ctx, key, tok.ID); err != nil {
					t.Fatal(err)
				}
				return scene{by, made(key, some("GET:*/IT-omi"))}
			}, 125},
		} {
			sc := tc.set()
			name := fmt.Sprintf("%s: ", name)
			text := "renamed"
			if _, err := r.ChangeToken(ctx, sc.by, "api.example", sc.target.ID, account.TokenChange{Name: &text}); code(err) != tc.want {
				t.Errorf("%srename: %v, want %d", name, err, tc.want)
			}
			if _, err := r.ChangeToken(ctx, sc.by, "api.example", sc.target.Secret, account.TokenChange{Scopes: []string{"GET:*/IT-omi"}}); code(err) != tc.want {
				t.Errorf("%snarrow: %v, want %d", name, err, tc.want)
			}
			if _, err := r.ChangeToken(ctx, sc.by, "api.example", sc.target.ID, life(time.Minute)); code(err) != tc.want {
				t.Errorf("%sshorten: %v, want %d", name, err, tc.want)
			}
			if _, err := r.ChangeToken(ctx, sc.by, "api.example", sc.target.ID, account.TokenChange{Limits: &account.Limits{}}); code(err) != tc.want {
				t.Errorf("%slift its limits: %v, want %d", name, err, tc.want)
			}
			if sc.by.TokenID == sc.target.ID {
				tc.want = 0 // whatever its limits, it may end
			}
			if err := r.DeleteToken(ctx, sc.by, sc.target.ID); code(err) != tc.want {
				t.Errorf("%sdelete: %v, want %d", name, err, tc.want)
			}
		}
	})
}

// No token of a family can approve what another of it asked for: not the one it was refreshed to,
// not those that it made or that made it, and not their children. What it asked for before goes on.
func TestApart(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		first, stranger := r.token(t, key, all()), r.token(t, key, all())
		second, err := r.RotateToken(ctx, r.caller(t, "Bearer "+first.Refresh), first.ID)
		if err != nil {
			t.Fatal(err)
		}
		third, err := r.RotateToken(ctx, r.caller(t, "Bearer "+second.Refresh), second.ID)
		if err != nil {
			t.Fatal(err)
		}
		child := r.token(t, r.as(t, third), all())
		grandchild, sibling := r.token(t, r.as(t, child), all()), r.token(t, r.as(t, third), all())
		strange := r.token(t, r.as(t, stranger), all())
		gone := r.token(t, key, all())
		if err := r.DeleteToken(ctx, key, gone.ID); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name      string
			asked, by string
			want      bool
		}{
			{"itself", third.ID, third.ID, false},
			{"what it has become", first.ID, third.ID, false},
			{"what it was once", second.ID, third.ID, false},
			{"its child", third.ID, child.ID, false},
			{"its grandchild", first.ID, grandchild.ID, false},
			{"its parent", child.ID, third.ID, false},
			{"its grandparent", grandchild.ID, third.ID, false},
			{"its sibling", child.ID, sibling.ID, false},
			{"its sibling's child", sibling.ID, grandchild.ID, false},
			{"another of the key", third.ID, stranger.ID, true},
			{"another's child", grandchild.ID, strange.ID, true},
			{"one that was deleted", third.ID, gone.ID, false},
			{"for one that was deleted", gone.ID, third.ID, false},
			{"none", third.ID, "", false},
		} {
			if got, err := r.Apart(ctx, a.Account.ID, c.asked, c.by); err != nil || got != c.want {
				t.Errorf("%s: %v (%v)", c.name, got, err)
			}
		}
		err = r.db.Write(ctx, func(tx *store.Tx) error {
			return errors.Join(r.HasToken(ctx, tx, a.Account.ID, first.ID, errors.New("a token that was refreshed counts as deleted")), tx.Answered(ctx))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A token from before is shown again only to a caller who could make it now.
func TestMayHold(t *testing.T) {
	each(t, account.Config{}, func(t *testing.T, r fixture) {
		a := r.account(t, account.NewAccount{Email: "a@example.org"})
		key := r.caller(t, basic("a@example.org", a.APIKey))
		made := r.token(t, key, lasting(all(), time.Hour))
		limited, bound, ten := all(), all(), int64(10)
		limited.Limits.TotalRequests, bound.Limits.Addresses = &ten, []string{"192.0.2.7"}
		for name, tc := range map[string]struct {
			by   *account.Caller
			want fault.Code
		}{
			"the API key":   {key, 0},
			"all scopes":    {r.as(t, r.token(t, key, all())), 0},
			"token scopes":  {r.as(t, r.token(t, key, some("POST:*/tokens"))), 126},
			"most scopes":   {r.as(t, r.token(t, key, some("GET:*/*", "POST:*/*"))), 126},
			"limited":       {r.as(t, r.token(t, key, limited)), 126},
			"bound":         {r.as(t, r.token(t, key, bound)), 126},
			"shorter lived": {r.as(t, r.token(t, key, lasting(all(), time.Minute))), 126},
		} {
			if err := r.MayHold(ctx, tc.by, made.Scopes, made.ExpireAt); code(err) != tc.want {
				t.Errorf("%s: %v, want %d", name, err, tc.want)
			}
		}
	})
}

package billing_test

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var ctx = context.Background()

// fixture is accounts and billing on one store.
type fixture struct {
	*billing.Service
	accounts *account.Service
	db       *store.DB
	master   *master.Key
}

func each(t *testing.T, prices billing.Prices, test func(t *testing.T, r fixture)) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		test(t, open(t, db, m, prices))
	})
}

func open(t testing.TB, db *store.DB, m *master.Key, prices billing.Prices) fixture {
	if prices == (billing.Prices{}) {
		prices = billing.DefaultPrices()
	}
	who := account.New(db, m, account.Config{PublicURL: "http://api.example"})
	who.Announce([]account.Endpoint{{Method: "POST", Segment: "EU-QES_automatic"}, {Method: "GET", Segment: "IT-omi"}})
	s := billing.New(db, who, prices, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Close)
	return fixture{s, who, db, m}
}

func (r fixture) account(t testing.TB, email string, credit money.Micro) *account.Credentials {
	t.Helper()
	c, err := r.CreateAccount(ctx, account.NewAccount{Email: email}, credit)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func basic(email, key string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(email+":"+key))
}

func (r fixture) caller(t testing.TB, authorization string) *account.Caller {
	t.Helper()
	q := httptest.NewRequest(http.MethodGet, "http://api.example/tokens", nil)
	q.RemoteAddr = "192.0.2.7:4711"
	q.Header.Set("Authorization", authorization)
	c, err := r.accounts.Authenticate(ctx, q, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r fixture) token(t testing.TB, c *account.Caller, n account.NewToken) (tok *account.Token) {
	t.Helper()
	n.Scopes = []string{account.AllScopes}
	err := r.db.Write(ctx, func(tx *store.Tx) (err error) {
		tok, err = r.accounts.CreateToken(ctx, tx, c, n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tok
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

// Nothing of one account's money can be seen by another.
func TestWalletsAreApart(t *testing.T) {
	each(t, billing.Prices{}, func(t *testing.T, r fixture) {
		a, b := r.account(t, "a@example.org", money.Euro), r.account(t, "b@example.org", 0)
		sub, err := r.Subscribe(ctx, a.Account.ID, "POST:*/EU-QES_automatic", 5, money.Euro)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{sub.ID, store.NewID()} {
			if _, err := r.Subscription(ctx, b.Account.ID, id); code(err) != 140 {
				t.Errorf("subscription: %v", err)
			}
		}
		if list, err := r.Transactions(ctx, b.Account.ID, "", 0, 100); err != nil || len(list) != 0 {
			t.Errorf("%d transactions, %v", len(list), err)
		}
		if w, err := r.Wallet(ctx, b.Account.ID); err != nil || w.Credit != 0 {
			t.Errorf("wallet %v, %v", w.Credit, err)
		}
	})
}

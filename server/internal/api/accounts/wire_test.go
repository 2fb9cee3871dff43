package accounts

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/account"
)

func TestNumberOrFalse(t *testing.T) {
	n := int64(7)
	euros := euro(account.Micro(1_234_567))
	got, err := json.Marshal([]any{countOrFalse{}, countOrFalse{&n}, textOrFalse(""), textOrFalse("10/s\u0001\u00e8\""), euros})
	if want := `[false,7,false,"10/s\u0001è\"",1.234567]`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

// A life in seconds is never negative, and none overflows.
func TestSeconds(t *testing.T) {
	for n, want := range map[int64]time.Duration{
		math.MinInt64: 0, -1: 0, 0: 0, 60: time.Minute,
		math.MaxInt64: 10 * 365 * 24 * time.Hour, math.MaxInt64 / int64(time.Second): 10 * 365 * 24 * time.Hour,
	} {
		if got := seconds(n); got != want {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}

// What a change leaves out stays; limits are given all at once.
func TestTokenPatch(t *testing.T) {
	read := func(text string) account.TokenChange {
		t.Helper()
		var p tokenPatch
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		return p.change()
	}
	if ch := read(`{"name":"n"}`); ch.Life != nil || ch.Limits != nil || ch.Scopes != nil || *ch.Name != "n" {
		t.Errorf("%+v", ch)
	}
	ch := read(`{"ttl":60,"limits":{"totalRequests":3,"walletAmount":1.5}}`)
	if ch.Name != nil || *ch.Life != time.Minute || *ch.Limits.TotalRequests != 3 || *ch.Limits.WalletAmount != 1_500_000 || ch.Limits.WalletRequests != nil {
		t.Errorf("%+v", ch)
	}
}

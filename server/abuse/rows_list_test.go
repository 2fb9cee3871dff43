package abuse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unnoticed is the list of what is neither refused nor found. It holds nothing but money within an
// account, lock counts, and the loss or return of rows that commit no one to anything;
// docs/security-model.md has the same table.
var unnoticed = []struct {
	what string
	// rows by tables: all of them, or named columns
	tables []string
}{
	{"money within an account, and what is counted of it", []string{
		"meter_leases", "quota_days", "subscriptions", "wallet_transactions", "wallets", "signatures.charge_id",
		"tokens.subscription_requests", "tokens.wallet_amount", "tokens.wallet_requests",
	}},
	{"lock counts", []string{"credential_attempts", "credential_locks"}},
	{"sessions", []string{"console_links", "console_sessions.ended_at", "console_sessions.seen_at"}},
	{"idempotency keys", []string{"idempotency"}},
	{"the queue", []string{"pulse", "work", "signatures.failures", "signatures.lease_by", "signatures.lease_until", "signatures.starts", "signatures.turn"}},
	{"deliveries", []string{"callbacks"}},
	{"usage", []string{"request_errors", "usage_days", "tokens.error_requests", "tokens.total_requests"}},
	{"publications", []string{"omi_active", "omi_publications"}},
}

// mayHold are the only kinds of rows that the list is about.
var mayHold = []string{
	"money within an account, and what is counted of it", "lock counts",
	"sessions", "idempotency keys", "the queue", "deliveries", "usage", "publications",
}

// lossOrReturn are changes that take a row away, bring one back, or have it count
// sooner, later or once more: for tables of which no more than that is unnoticed.
var lossOrReturn = map[string][]string{
	"idempotency":   {"*", "account_id", "key", "created_at", "holder", "running_until"},
	"console_links": {"*"},
	"callbacks": {
		"*", "active", "completed_at", "elapsed", "failures", "lease_by", "lease_until", "problem", "retry", "settled", "started_at", "starts", "status", "turn",
	},
}

// isUnnoticed says that a change is in the list, and by which entry.
func isUnnoticed(table, column string) (entry string, yes bool) {
	for _, u := range unnoticed {
		for _, name := range u.tables {
			if name == table+"."+column {
				return name, true
			}
			if columns := lossOrReturn[table]; name == table && (columns == nil || slices.Contains(columns, column)) {
				return name, true
			}
		}
	}
	return "", table == "console_sessions" && column == "*"
}

// The document repeats the list, to the letter.
func TestUnnoticedIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| what | where |\n|---|---|\n")
	for _, u := range unnoticed {
		if !slices.Contains(mayHold, u.what) {
			t.Errorf("%s may not be in the list", u.what)
		}
		fmt.Fprintf(&want, "| %s | `%s` |\n", u.what, strings.Join(u.tables, "` `"))
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("docs/security-model.md lacks this table:\n%s", want.String())
	}
}

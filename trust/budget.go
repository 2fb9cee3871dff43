package trust

import (
	"context"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
)

// Bounds of the work for one document. A file of a few megabytes can hold thousands of related
// certificates and revocation lists; evidence beyond the bounds is missing from the facts, which
// only lowers a verdict.
const (
	maxChecks     = 4000    // signatures under certificates and evidence
	maxScan       = 1 << 30 // bytes of revocation lists scanned
	maxLooks      = 1 << 18 // pieces of evidence examined, of a kilobyte each
	maxStatements = 1 << 16 // statements kept, in total
	maxKept       = 256     // statements kept per certificate
)

// budget is the remaining budget for one document. Every loop that gathers evidence asks it before
// each step, and stops when the caller's context ends.
type budget struct {
	ctx                       context.Context
	memory                    *limits.Budget
	effort                    *pkix.Effort // of signature checks: about a second
	checks, looks, statements int
	scan                      int64
	over                      bool
}

func newWork(ctx context.Context) *budget {
	return &budget{
		ctx: ctx, memory: limits.BudgetOf(ctx),
		effort: pkix.NewEffort(), checks: maxChecks, looks: maxLooks, statements: maxStatements, scan: maxScan,
	}
}

// spend takes n from a budget. It is false if the budget is used up or the context has ended.
func spend[N int | int64](w *budget, left *N, n N) bool {
	if *left < n || w.ctx.Err() != nil {
		w.over = true
		return false
	}
	*left -= n
	return true
}

// check accounts for one signature check with that key.
func (w *budget) check(key any) bool {
	if !spend(w, &w.checks, 1) {
		return false
	}
	if !w.effort.Spend(key) {
		w.over = true
		return false
	}
	return true
}

// allow accounts for n pieces of evidence or certificates.
func (w *budget) allow(n int) bool { return spend(w, &w.looks, n) }

// look accounts for reading a piece of evidence, or certificates, of so many bytes.
func (w *budget) look(bytes int) bool { return w.allow(1 + bytes/1024) }

// reserve reserves memory from the document's budget.
func (w *budget) reserve(n int) bool {
	if w.memory.Spend(int64(n)) != nil {
		w.over = true
		return false
	}
	return true
}

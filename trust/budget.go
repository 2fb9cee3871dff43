package trust

import (
	"context"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
)

// Bounds of the work for one document. A file of a few megabytes can hold
// thousands of certificates and lists that all have to do with each other;
// what is beyond the bounds is missing from the facts, which only lowers a
// verdict.
const (
	maxChecks     = 4000    // signatures under certificates and evidence
	maxScan       = 1 << 30 // bytes of revocation lists looked through
	maxLooks      = 1 << 18 // pieces of evidence looked at for a certificate
	maxStatements = 1 << 16 // statements kept, in all
	maxKept       = 256     // statements kept for one certificate
)

// work counts down what may still be done. It ends when the caller hangs up:
// every loop of the gathering asks it before each step.
type work struct {
	ctx                       context.Context
	memory                    *limits.Budget
	effort                    *pkix.Effort // of signature checks: about a second
	checks, looks, statements int
	scan                      int64
	over                      bool
}

func newWork(ctx context.Context) *work {
	return &work{
		ctx: ctx, memory: limits.BudgetOf(ctx),
		effort: pkix.NewEffort(), checks: maxChecks, looks: maxLooks, statements: maxStatements, scan: maxScan,
	}
}

// spend takes n from a budget; false when it is used up or nobody waits.
func spend[N int | int64](w *work, left *N, n N) bool {
	if *left < n || w.ctx.Err() != nil {
		w.over = true
		return false
	}
	*left -= n
	return true
}

// check is for one signature check with that key.
func (w *work) check(key any) bool {
	if !spend(w, &w.checks, 1) {
		return false
	}
	if !w.effort.Spend(key) {
		w.over = true
		return false
	}
	return true
}

// allow is for n pieces of evidence or certificates.
func (w *work) allow(n int) bool { return spend(w, &w.looks, n) }

// hold asks for memory of the document's budget.
func (w *work) hold(n int) bool {
	if w.memory.Spend(int64(n)) != nil {
		w.over = true
		return false
	}
	return true
}

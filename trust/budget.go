package trust

// Bounds of the work for one document. A file of a few megabytes can hold
// thousands of certificates and lists that all have to do with each other;
// what is beyond the bounds is missing from the facts, which only lowers a
// verdict.
const (
	maxChecks     = 4000    // signatures under certificates and evidence
	maxScan       = 2 << 30 // bytes of revocation lists looked through
	maxLooks      = 1 << 20 // pieces of evidence looked at for a certificate
	maxStatements = 1 << 16 // statements kept, in all
	maxKept       = 256     // statements kept for one certificate
)

// work counts down what may still be done. A nil one is boundless.
type work struct {
	checks, looks, statements int
	scan                      int64
	over                      bool
}

func newWork() *work {
	return &work{checks: maxChecks, looks: maxLooks, statements: maxStatements, scan: maxScan}
}

// spend takes n from a budget; false when it is used up.
func spend[N int | int64](w *work, left *N, n N) bool {
	if *left < n {
		w.over = true
		return false
	}
	*left -= n
	return true
}

func (w *work) check() bool          { return w == nil || spend(w, &w.checks, 1) }
func (w *work) look() bool           { return w.lookAt(1) }
func (w *work) lookAt(n int) bool    { return w == nil || spend(w, &w.looks, n) }
func (w *work) keep(n int) bool      { return w == nil || spend(w, &w.statements, n) }
func (w *work) through(n int64) bool { return w == nil || spend(w, &w.scan, n) }

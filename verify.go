package rogito

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

// Verifier verifies documents. Its zero value trusts no one, fetches nothing and judges by the
// default policy. It is safe for concurrent use.
type Verifier struct {
	// Trust has the trust anchors and revocation sources; nil trusts no one.
	Trust *trust.Store
	// Policy to judge by; nil means policy.Default.
	Policy *policy.Policy
	// CPU bounds the processor time, not wall time, of reading one document; zero means 4 seconds,
	// so that with judging none costs more than five. Wall time may be eight times as long on a
	// busy machine.
	CPU time.Duration
	// Memory bounds what reading one document may hold or unpack beyond the document itself, in
	// bytes; zero means DefaultMemory. A document that needs more is not valid. Everything a
	// process verifies and signs at once holds about three times as much.
	Memory int64
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// readTime is the processor time of reading one document, by default.
const readTime = 4 * time.Second

// VerifyOptions says what a verifier knows beside the document.
type VerifyOptions struct {
	// Detached content, if the signature does not carry it.
	Detached []ades.File
	// Password of an encrypted document.
	Password string
	// Recursive opens signed documents inside signed documents.
	Recursive bool
	// Contents fills in Report.Contents; a file without a name of its own is named after the
	// document, whose name is Name.
	Contents bool
	Name     string
	// Expect names the part of the document that the caller relies on; the zero value means all of
	// it.
	Expect ades.Expectation
	// At is the validation time; zero means now.
	At time.Time
}

// Verify reads a document, gathers facts about everything signed in it, and judges them. A broken,
// expired or untrusted signature is a conclusion in the report; an error means that no report could
// be made. It returns ades.ErrPassword if a document is encrypted and the password is wrong or
// missing.
func (v *Verifier) Verify(ctx context.Context, src ades.Source, o VerifyOptions) (*report.Report, error) {
	now := v.now()
	n, leave, err := v.read(ctx, src, o)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer leave()
	facts := n.facts
	store := v.Trust
	if store == nil {
		store = new(trust.Store)
	}
	store.Gather(ctx, facts, now)
	for _, l := range facts.Layers {
		levels(l, facts)
	}
	r := v.Judge(facts, o.At)
	r.Plain, r.Contents, r.Source = n.plain, n.files, src
	return r, nil
}

// Judge judges facts gathered earlier, as of a given time; zero means now.
func (v *Verifier) Judge(facts *report.Facts, at time.Time) *report.Report {
	now := v.now()
	if at.IsZero() {
		at = now
	}
	p := v.Policy
	if p == nil {
		p = policy.Default()
	}
	return &report.Report{Facts: facts, Conclusions: policy.Judge(facts, p, at), MadeAt: now}
}

func (v *Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now().UTC()
	}
	return time.Now().UTC()
}

// read turns bytes into facts, under the limits of package limits. Large facts are held in the
// heavy lane, which leave releases once the report is made.
func (v *Verifier) read(ctx context.Context, src ades.Source, o VerifyOptions) (n *nest, leave func(), err error) {
	memory, left := memoryOr(v.Memory), cmp.Or(v.CPU, readTime)
	leave, err = limits.Lanes(ctx, memory, func(ctx context.Context) (bool, error) {
		ctx, done := limits.WithTime(ctx, left)
		n, err = v.readWith(ctx, src, o)
		left -= done()
		return n != nil && evidenceSize(n.facts) > limits.Small(limits.Small(memory)), err
	})
	return n, leave, err
}

// readWith turns bytes into facts, layer by layer. It recovers from panics: a bug in a parser must
// not take a server down.
func (v *Verifier) readWith(ctx context.Context, src ades.Source, o VerifyOptions) (n *nest, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error while reading: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, over := limits.WithReading(ctx)
	defer over()
	n = &nest{ctx: ctx, o: o, facts: new(report.Facts), known: v.known()}
	if err := n.open(ades.File{Source: src}, 0, ades.ReadOptions{Detached: o.Detached, Password: o.Password, Certificates: n.known, Expect: o.Expect}); err != nil {
		return nil, err
	}
	return n, nil
}

// known returns the operator's anchors, if they are few: one may be the signer's own certificate,
// which then need not be in the document.
func (v *Verifier) known() [][]byte {
	if v.Trust == nil {
		return nil
	}
	return v.Trust.Signers(maxKnown)
}

// maxKnown bounds the certificates that are tried on every document.
const maxKnown = 64

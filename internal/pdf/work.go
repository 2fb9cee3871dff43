package pdf

import (
	"context"
	"errors"

	"rogito.dev/rogito/internal/limits"
)

// work is the cost of reading so far, including earlier revisions: a small file must occupy neither
// much processor time nor much memory.
type work struct {
	ctx     context.Context
	budget  *limits.Budget
	parsed  int64 // bytes given to the parser
	decoded int64 // bytes decoded from streams
	built   int64 // bytes of all objects that were large
	lookups int64 // number of sections searched
	looked  int64 // bytes of both when the context was last checked

	most   int64 // bound on the stream being decoded, if known; 0: none
	judged bool  // streams are only judged: the output is not used
	// lenient skips unexpected tokens.
	lenient bool
	win     []byte // the bytes read last
	winOff  int64
	spare   *parser     // of the last object, for reuse
	weight  int64       // of the object parsed last
	cached  int64       // bytes charged to the budget for caches
	owners  []*Document // the document and its earlier revisions

	streams  map[streamKey]*objectStream
	streamed int64 // part of cached for object streams
}

func newWork(ctx context.Context) *work {
	w := &work{ctx: ctx}
	if w.ctx == nil {
		w.ctx = context.Background()
	}
	if w.budget = limits.BudgetOf(w.ctx); w.budget == nil {
		w.budget = limits.NewBudget(limits.PDFMemory)
	}
	return w
}

// Budget is the remaining budget for reading the document.
func (d *Document) Budget() *limits.Budget { return d.work.budget }

// usualWindow is the minimum read at once.
const usualWindow = 4 << 10

// widen makes the window n bytes long, and charges a large one.
func (w *work) widen(n int) error {
	if cap(w.win) < n {
		if n > parserStep {
			if err := w.budget.Spend(int64(n - cap(w.win))); err != nil {
				return err
			}
		}
		w.win = make([]byte, n, max(n, usualWindow))
	}
	w.win = w.win[:n]
	return nil
}

// interrupted reports whether an error is that of a context.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// lookEvery is how many bytes are processed between two checks of the context: a few milliseconds.
const lookEvery = 256 << 10

func (w *work) checkContext() error {
	if w.parsed+w.decoded-w.looked < lookEvery {
		return nil
	}
	w.looked = w.parsed + w.decoded
	return w.ctx.Err()
}

// parse accounts for bytes given to the parser.
func (w *work) parse(n int64) error {
	if w.parsed += n; w.parsed > limits.PDFParsed {
		return errMalformed("", "more than %d bytes of objects to read", int64(limits.PDFParsed))
	}
	return w.checkContext()
}

// parser returns one for a window.
func (w *work) parser(l lexer) *parser {
	p := w.spare
	if w.spare = nil; p == nil { // or an object is being read while another one is
		p = new(parser)
	}
	*p = parser{lexer: l, work: w, limit: parserStep, entries: p.entries[:0], items: p.items[:0]}
	return p
}

// parsedBy accounts for what a parser has done.
func (w *work) parsedBy(p *parser) {
	w.budget.Return(p.spent)
	w.weight = p.built
	if max(cap(p.entries), cap(p.items)) <= maxSpare {
		w.spare = p
	}
}

// maxSpare bounds the lists that a parser keeps for the next object.
const maxSpare = 1024

// decode accounts for the output of a filter.
func (w *work) decode(n int64) error {
	if w.decoded += n; w.decoded > limits.PDFInflate {
		return errMalformed("", "document inflates to more than %d bytes", int64(limits.PDFInflate))
	}
	return w.checkContext()
}

// largest is the largest stream that may be decoded, regardless of memory.
func (w *work) largest() int64 {
	if w.most > 0 {
		return min(limits.PDFStream, w.most)
	}
	return limits.PDFStream
}

// allowance is the largest stream that may be decoded now: two copies of it must fit while it
// grows. Caches are emptied for up to want bytes.
func (w *work) allowance(want int64) int64 {
	most := w.largest()
	left := w.budget.Left()
	if left < 0 {
		return most
	}
	if left/2 < min(most, want) && w.cached > 0 {
		w.dropCaches()
		left = w.budget.Left()
	}
	return min(left/2, most)
}

// tooLarge is the error for a stream that does not fit: too large either for any document, or for
// this one's budget.
func (w *work) tooLarge(room int64) error {
	if room < limits.PDFStream && room != w.most {
		return w.budget.Spend(limits.PDFStream)
	}
	return errTooLarge
}

// The parser charges what it builds, and a cache what it holds, in steps of this many bytes.
const parserStep = 64 << 10

// cacheObject caches an object. All caches of a file share the budget, and are emptied if it does
// not suffice.
func (d *Document) cacheObject(num int, o Object, weight int64) {
	if len(d.cache) > 1<<14 {
		clear(d.cache)
	}
	if d.weighs == 0 {
		d.work.owners = append(d.work.owners, d)
	}
	d.weighs += weight + 64
	if d.weighs-d.paid > parserStep {
		if !d.work.budget.Try(d.weighs - d.paid) {
			d.work.dropCaches()
			if weight > parserStep {
				return
			}
			d.work.owners = append(d.work.owners, d)
			d.weighs = weight + 64
		} else {
			d.work.cached += d.weighs - d.paid
			d.paid = d.weighs
		}
	}
	d.cache[num] = o
}

// dropCaches empties all caches.
func (w *work) dropCaches() {
	for _, d := range w.owners {
		clear(d.cache)
		d.streams = nil
		d.weighs, d.paid = 0, 0
	}
	w.owners = w.owners[:0]
	w.streams, w.streamed = nil, 0
	w.budget.Return(w.cached)
	w.cached = 0
}

// dropStreamCaches empties the caches of object streams.
func (w *work) dropStreamCaches() {
	for _, d := range w.owners {
		d.streams = nil
	}
	w.budget.Return(w.streamed)
	w.cached -= w.streamed
	w.streams, w.streamed = nil, 0
}
